"""``secondseat league record``: a league's policy at play, as an ordinary session."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from tui.commands.invocation import UsageError, say, say_json, settings_of, shown_duration
from tui.commands.league_options import one_thread, policy, stoppable_work
from tui.commands.options import Json, Look, Seed, seconds_of

_PLAYERS = "the demonstrator, then three opponents: expert, novice, random or a policy; without: pi_sup among two experts and a novice"
_USUAL = ("pi_sup", "expert", "expert", "novice")


def record(
    context: typer.Context,
    players: Annotated[list[str] | None, typer.Argument(metavar="[PLAYER]...", help=_PLAYERS)] = None,
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="so much play, such as 90s, 1.5m or 1:30")] = "5m",
    seed: Seed = None,
    look: Look = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="policies take what they think best, instead of drawing")] = False,
    as_json: Json = False,
) -> None:
    """Record last man standing with a policy, a snapshot or a script as the demonstrator, faster than real time.

    It plays with a person's keys and mouse: w a s d, the left button, e, 1 2 3. The session is like any other, of the game
    last-standing; its steps are exact, since no detector was made for that game. Learn from it with
    secondseat train executor --game last-standing. Ctrl-C saves.
    """
    from engine.record_last_standing import SEATS, record_matches
    from league.players import PERSON, load_player

    names = players or list(_USUAL)
    if len(names) == 1:
        names = [*names, *_USUAL[1:]]
    if len(names) != SEATS or PERSON in names:
        raise UsageError("league record: name the demonstrator alone, or with three opponents; a person is recorded by secondseat record")
    settings, for_s = settings_of(context), seconds_of(for_)
    workspace = settings.workspace()
    first = settings.arena.seed if seed is None else seed
    find = partial(policy, workspace)
    loaded = [load_player(name, 1, first + k, greedy=greedy, find=find) for k, name in enumerate(names)]
    names = [_shown(name) for name in names]
    one_thread()
    with stoppable_work() as (report, stop):
        made = record_matches(workspace.root, names, loaded, first, for_s or 300.0, look or settings.arena.look, report, stop)
    mean = sum(made.places) / len(made.places) if made.places else None
    if as_json:
        say_json({"session": made.session, "demonstrator": made.demonstrator, "duration_s": made.duration_s, "places": list(made.places)})
        return
    told = f", {len(made.places)} matches, mean place {mean:.2f}" if mean is not None else ""
    say(f"{made.session}: {shown_duration(made.duration_s)} of {made.demonstrator}{told}")


def _shown(name: str) -> str:
    """A player's name as the session keeps it: no folders of this machine."""
    bare = name.replace("\\", "/").removesuffix(".safetensors")
    return bare.rsplit("/", 1)[-1] if bare.startswith(("/", ".", "~")) or ":" in bare else bare
