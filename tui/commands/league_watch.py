"""``secondseat league watch``: matches of last man standing in a window or as a video, with a person in a seat if wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tui.commands.invocation import UsageError, say, say_json, settings_of, table
from tui.commands.league_options import policy
from tui.commands.options import Json, Look, Seed

if TYPE_CHECKING:
    from data.workspace import Workspace
    from league.arena.last_standing_match import Matches
    from league.arena.looks import Look as ArenaLook
    from league.play_log import PlayLog

_PLAYERS = "2 to 8 of: expert, novice, random, person, a policy (file, pi_sup, RUN/pi_sup, LEAGUE/SNAPSHOT)"
Video = Annotated[str, typer.Option("--video", metavar="FILE", help="write an mp4 and open no window")]
VideoFps = Annotated[int, typer.Option("--fps", help="pictures a second of a video: 60, 30, 20, 15, 12 or 10")]
Scale = Annotated[int, typer.Option("--scale", min=1, max=3, help="size of the picture: 1 is 640x360")]
_USUAL = ("expert", "expert", "novice", "random")


def watch(
    context: typer.Context,
    players: Annotated[list[str] | None, typer.Argument(metavar="[PLAYER]...", help=_PLAYERS)] = None,
    matches: Annotated[int, typer.Option("--matches", min=0, max=100_000, help="end after so many; 0: go on (a video: 1)")] = 0,
    seed: Seed = None,
    video: Video = "",
    fps: VideoFps = 30,
    scale: Scale = 2,
    look: Look = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="policies take what they think best, instead of drawing")] = False,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="keep what a person plays, for league imitate to learn from")] = True,
    as_json: Json = False,
) -> None:
    """Watch last man standing, or play it: one of the players may be a person.

    A person flies with w a s d, aims with the mouse, fires with the left button, takes items with e, and boosts, bursts and jams
    with 1, 2, 3. Space pauses, n is the next match, f goes faster, Escape leaves. Then everybody's places are told. What a person
    plays until their ship is lost is kept in data/processed, where league imitate finds it.
    """
    from league.arena.last_standing_match import tally
    from league.arena.looks import look_named
    from league.places import USUAL_FOLDERS
    from league.play_log import SUFFIX, PlayLog

    settings = settings_of(context)
    workspace = settings.workspace()
    names = players or list(_USUAL)
    made = _matches(workspace, names, settings.arena.seed if seed is None else seed, greedy, bool(video))
    if keep and made.person >= 0:
        made.log = PlayLog(workspace.resolve(USUAL_FOLDERS[0]) / f"played_{datetime.now(UTC):%Y%m%dT%H%M%SZ}{SUFFIX}")
    drawn = look_named(look or settings.arena.look)
    path = workspace.resolve(video, cwd=Path.cwd()) if video else None
    if path is None:
        play(made, matches, scale, drawn)
    else:
        write_film(made, max(1, matches), path, fps, scale, drawn)
    rows = tally(made.names, made.results)
    if as_json:
        shown: dict[str, Any] = {"video": workspace.relative(path)} if path is not None else {}
        if made.log is not None:
            shown["kept"] = {"file": workspace.relative(made.log.path), "matches": made.log.matches, "moves": made.log.moves}
            shown["kept"] |= {"error": made.log.error} if made.log.error else {}
        say_json({**shown, "players": rows, "matches": [result.to_json() for result in made.results]})
    elif made.results:
        lines = [(r["player"], r["matches"], r["first"], f"{r['mean_place']:.2f}", r["shot_down"]) for r in rows]
        say(table(("player", "matches", "first", "mean place", "shot down"), lines))
        if path is not None:
            say(f"video: {path}")
    else:
        say("no match was played to its end")
    if made.log is not None and not as_json:
        _say_kept(made.log)


def _say_kept(log: PlayLog) -> None:
    if log.matches:
        matches = f"{log.matches} match{'es' * (log.matches != 1)}"
        say(f"kept: {matches}, {log.moves:,} moves of yours, in {log.path}; league imitate learns from them")
    if log.error:
        say(f"note: {log.error}")


def _matches(workspace: Workspace, names: list[str], seed: int, greedy: bool, offscreen: bool) -> Matches:
    from league.arena.last_standing_match import Matches
    from league.arena.last_standing_rules import FEWEST_SHIPS, MOST_SHIPS
    from league.players import PERSON, load_player

    if not FEWEST_SHIPS <= len(names) <= MOST_SHIPS:
        raise UsageError(f"league watch: {len(names)} players; name {FEWEST_SHIPS} to {MOST_SHIPS}")
    if names.count(PERSON) > 1:
        raise UsageError("league watch: there is one keyboard, so one person can play")
    if offscreen and PERSON in names:
        raise UsageError("--video opens no window, so a person cannot play; name others, or leave --video out")

    find = partial(policy, workspace)
    seated = [None if name == PERSON else load_player(name, 1, seed + k, greedy=greedy, find=find) for k, name in enumerate(names)]
    return Matches(names, seated, seed)


def play(matches: Matches, count: int, scale: int, look: ArenaLook, line: str = "") -> None:
    """In a window, until it is closed or ``count`` matches are over."""
    from league.arena.last_standing_window import LastStandingWindow
    from tui.commands.running import Signals

    with Signals() as signals:
        window = LastStandingWindow(matches, count, scale, look, line)
        try:
            window.run(lambda: bool(signals.asked))
        finally:
            window.close()


def write_film(matches: Matches, count: int, path: Path, fps: int, scale: int, look: ArenaLook, line: str = "") -> None:
    """To a video, with a bar."""
    from league.arena.last_standing_film import film
    from tui.commands.long_work import long_work

    with long_work() as report:
        film(matches, count, path, fps, scale, look, line, report=report)
