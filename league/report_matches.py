"""Chosen matches on the league's page: each a picture in the page itself, and on demand a video beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.progress import Report as ReportProgress
from data.progress import ignore, part_of
from league.rewatch import PICKS, Replay, Rewatch, RewatchError
from league.store import MATCHES

if TYPE_CHECKING:
    from league.arena.looks import Look
    from league.report import Report

FOLDER: Final = "replays"
FPS, SCALE = 20, 1
_STILL_AT: Final = 0.55
"""Of a match's length: late enough that things happen, early enough that several are alive."""
_JPEG_QUALITY: Final = 82


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """One match on the page."""

    match: int
    why: str
    exact: bool
    told: str
    players: tuple[str, ...]
    """From the first place to the last."""
    video: str
    """The file, from the page's folder; empty when it was not filmed."""
    still: bytes
    """JPEG."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the picture."""
        told = asdict(self)
        del told["still"]
        return told

    def html(self) -> str:
        """For the page."""
        from base64 import b64encode

        picture = f"data:image/jpeg;base64,{b64encode(self.still).decode()}"
        players = ", ".join(self.players)
        size = 'width="640" height="360"'
        film = f'<video controls preload="none" {size} src="{escape(self.video)}" poster="{picture}"></video>'
        what = f"Shown is {escape(self.told)}."
        shown = film if self.video else f'<img {size} alt="a moment of it" src="{picture}">'
        return (
            f"<figure>{shown}"
            f"<figcaption><b>Match {self.match}</b>, {escape(self.why)}. From the first place: {escape(players)}. "
            f"{what if self.exact else f'<span class=note>{what}</span>'}</figcaption></figure>"
        )


def with_matches(
    found: Report,
    folder: Path,
    page_dir: Path,
    videos: bool = False,
    report: ReportProgress = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> Report:
    """The report of the league in ``folder`` with chosen matches; raises as ``show_matches``."""
    ratings = {player: rating.value for player, rating in found.ratings.items()}
    shown, notes = show_matches(folder, page_dir, ratings, videos=videos, report=report, stop=stop)
    return replace(found, shown=tuple(shown), notes=(*found.notes, *notes))


def show_matches(
    folder: Path,
    page_dir: Path,
    ratings: Mapping[str, float],
    picks: Sequence[str] = PICKS,
    videos: bool = False,
    look: Look | None = None,
    report: ReportProgress = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[ShownMatch], list[str]]:
    """Choose matches of the league in ``folder``, with ``videos`` film them under ``page_dir``; and notes on those that cannot be shown.

    Stopped, those that are ready are given. Raises StoreError when its matches cannot be read, OSError.
    """
    if not (folder / MATCHES).is_file():
        return [], []
    rewatch = Rewatch(folder)
    shown: list[ShownMatch] = []
    notes = list(rewatch.notes)
    for number, pick in enumerate(picks):
        chosen = rewatch.choose(pick, ratings)
        if chosen is None or chosen.number in [one.match for one in shown]:
            continue
        try:
            replay = rewatch.replay(chosen.number)
        except RewatchError as error:
            notes.append(str(error))
            continue
        name = f"{FOLDER}/match_{replay.number}.mp4" if videos else ""
        mine = part_of(report, number / len(picks), 1 / len(picks), f"match {replay.number}: ")
        if videos and not _film(replay, page_dir / name, look, mine, stop):
            notes.append("stopped; the other chosen matches are not shown")
            break
        row = rewatch.rows[replay.number]
        ranked = [player for _, player in sorted(zip(row["placements"], map(str, row["players"]), strict=True))]
        shown.append(ShownMatch(replay.number, chosen.why, replay.exact, replay.told, tuple(ranked), name, still(replay, look)))
    return shown, notes


def _film(replay: Replay, path: Path, look: Look | None, report: ReportProgress, stop: Callable[[], bool]) -> bool:
    """Whether it was written to its end; a video of an earlier report is replaced."""
    from league.arena.last_standing_film import film
    from league.arena.looks import CLASSIC

    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    matches = replay.matches()
    film(matches, 1, path, FPS, SCALE, look or CLASSIC, replay.line, report, stop)
    if matches.over:
        return True
    path.unlink(missing_ok=True)
    return False


def still(replay: Replay, look: Look | None = None) -> bytes:
    """A picture of the match as JPEG."""
    import cv2

    from league.arena.last_standing_board import flyers
    from league.arena.last_standing_rules import STEPS_PER_ACTION
    from league.arena.last_standing_view import Renderer
    from league.arena.looks import CLASSIC

    matches = replay.matches()
    renderer = Renderer(flyers(matches.names), SCALE, look or CLASSIC, replay.line)
    for _ in range(round(len(replay.moves) * STEPS_PER_ACTION * _STILL_AT)):
        matches.advance()
        renderer.notice(matches.state)
    picture = cv2.cvtColor(renderer.picture(matches.state), cv2.COLOR_RGB2BGR)
    encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])[1]
    return bytes(encoded.tobytes())
