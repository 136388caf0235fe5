"""``secondseat league replay``: a match of a league, looked at again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, say, say_json, settings_of
from tui.commands.league_run import LeagueName, find_league
from tui.commands.league_watch import Scale, Video, VideoFps, play, write_film
from tui.commands.options import Json, Look

if TYPE_CHECKING:
    from league.rewatch import Chosen, Rewatch

_MATCH = "number of a line of matches.jsonl, or closest, upset, latest"


def replay(
    context: typer.Context,
    match: Annotated[str, typer.Argument(metavar="[MATCH]", help=_MATCH)] = "latest",
    league: LeagueName = "",
    video: Video = "",
    fps: VideoFps = 30,
    scale: Scale = 2,
    look: Look = None,
    as_json: Json = False,
) -> None:
    """See a match of a league again: in a window (n: from the beginning, f: faster, Escape leaves) or as a video.

    Of one match in 32 all moves are kept, and those are shown exactly as they were; closest, upset and latest are chosen among
    them. Any other is flown anew in its world by the league's snapshots, and its learners as they are by now; that is said.
    """
    from league.arena.looks import look_named
    from league.rewatch import Rewatch

    settings = settings_of(context)
    workspace = settings.workspace()
    found = find_league(workspace, league)
    league_dir = found if found.is_dir() else found.parent
    rewatch = Rewatch(league_dir)
    chosen = _chosen(rewatch, match, league_dir)
    shown = rewatch.replay(chosen.number)
    drawn = look_named(look or settings.arena.look)
    path = workspace.resolve(video, cwd=Path.cwd()) if video else None
    if path is None:
        play(shown.matches(), 0, scale, drawn, shown.line)
    else:
        write_film(shown.matches(), 1, path, fps, scale, drawn, shown.line)
    if as_json:
        told = {"match": shown.number, "why": chosen.why, "exact": shown.exact, "told": shown.told}
        row = {name: rewatch.rows[shown.number][name] for name in ("players", "placements")}
        say_json({"league": workspace.relative(league_dir), **told, **row, **({"video": workspace.relative(path)} if path else {})})
        return
    say(f"match {shown.number}{f', {chosen.why}' if chosen.why else ''}: {shown.told}")
    if path is not None:
        say(f"video: {path}")


def _chosen(rewatch: Rewatch, word: str, folder: Path) -> Chosen:
    """Raises UsageError when the word means no match."""
    from league.report import make_report
    from league.rewatch import PICKS, Chosen

    if word.isdecimal() and len(word) < 19:
        return Chosen(int(word), "")
    if word not in PICKS:
        raise UsageError(f"league replay: {word!r} is no match; use its number, or one of {', '.join(PICKS)}")
    ratings = {p: r.value for p, r in make_report(folder, samples=0).ratings.items()} if word == "upset" else {}
    chosen = rewatch.choose(word, ratings)
    if chosen is None:
        raise UsageError(f"league replay: {folder.name} has no match yet that is {word}; name one by its number")
    return chosen
