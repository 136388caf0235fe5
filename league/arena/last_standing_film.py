"""A video file of matches of last man standing: what a window would show, as fast as it can be drawn."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from data.clip import ClipError, Mp4
from data.progress import Progress, Report, ignore
from league.arena import last_standing_rules as rules
from league.arena.last_standing_board import flyers
from league.arena.last_standing_match import Matches
from league.arena.last_standing_view import SIZE, Renderer
from league.arena.looks import CLASSIC, Look
from league.arena.world import DT_S

OVER_S: Final = 2.5
"""How long a result is shown."""
_STEPS_A_SECOND: Final = round(1 / DT_S)


def film(
    matches: Matches,
    count: int,
    path: Path,
    fps: int = 30,
    scale: int = 2,
    look: Look = CLASSIC,
    line: str = "",
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Play ``count`` matches and write them to ``path`` (mp4) in real time; the number of pictures.

    fps: 60, 30, 20, 15, 12 or 10, so that every picture is of a whole world step. Stopped, the matches so far stay in the file; when
    it fails nothing is left behind. Raises ClipError for another suffix or rate, a missing folder or a file that is there, OSError.
    """
    if path.suffix.lower() != ".mp4":
        raise ClipError(f"{path.name}: a video is an mp4; name it something.mp4")
    if path.exists():
        raise ClipError(f"{path} exists; name another file")
    if not path.parent.is_dir():
        raise ClipError(f"{path.parent}: there is no such folder")
    if fps < 10 or _STEPS_A_SECOND % fps:
        raise ClipError(f"{fps} pictures a second; use 60, 30, 20, 15, 12 or 10")
    new = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.tmp.mp4")
    try:
        shown = _write(matches, count, new, fps, Renderer(flyers(matches.names), scale, look, line), report, stop)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return shown


def _write(matches: Matches, count: int, path: Path, fps: int, renderer: Renderer, report: Report, stop: Callable[[], bool]) -> int:
    scale = renderer.painter.scale
    video = Mp4(path, SIZE[0] * scale, SIZE[1] * scale, fps)
    shown, every = 0, _STEPS_A_SECOND // fps
    longest = count * (rules.EPISODE_STEPS * rules.STEPS_PER_ACTION // every)
    try:
        for number in range(count):
            if number:
                matches.restart()
            rest = round(OVER_S * fps)
            while rest and not stop():
                rest -= matches.over
                video.add(renderer.picture(matches.state), shown * 1000 // fps)
                shown += 1
                for _ in range(every):
                    matches.advance()
                    renderer.notice(matches.state)
                if shown % fps == 0:
                    report(Progress("draws", min(1.0, shown / longest), message=f"match {number + 1} of {count}, {shown // fps} s"))
    finally:
        video.close()
    return shown
