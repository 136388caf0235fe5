"""``secondseat arena``: the embedded game, played in its window or flown off screen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, settings_of, table
from tui.commands.options import Json, Look, Pilot, Seed

app = new_app("The embedded game.")


@app.command()
def arena(
    context: typer.Context,
    pilot: Pilot = None,
    offscreen: Annotated[bool, typer.Option("--offscreen", help="no window: fly episodes as fast as the machine can")] = False,
    episodes: Annotated[int, typer.Option("--episodes", min=0, max=10_000, help="end after so many; 0: go on (off screen: 1)")] = 0,
    seed: Seed = None,
    look: Look = None,
    scale: Annotated[int, typer.Option("--scale", min=1, max=3, help="size of the window: 1 is 640x360")] = 2,
    as_json: Json = False,
) -> None:
    """Play in a window: click to fly, click an enemy to lock it, Space fires. With --pilot a scripted pilot plays.

    Off screen a scripted pilot flies whole episodes of a minute, and their scores are printed.
    """
    settings = settings_of(context)
    first = settings.arena.seed if seed is None else seed
    if offscreen:
        if look is not None:
            raise UsageError("--offscreen draws nothing: leave --look or --offscreen out")
        if pilot == "none":
            raise UsageError("--offscreen needs a pilot: expert, novice or random")
        _fly(pilot or "expert", list(range(first, first + max(1, episodes))), as_json)
        return
    _play(None if pilot in (None, "none") else pilot, first, scale, episodes, look or settings.arena.look, as_json)


def _fly(pilot: str, seeds: list[int], as_json: bool) -> None:
    from engine.lockstep import run_episode
    from league.arena.emulated import TruthObserver
    from league.arena.pilots import make_pilot
    from league.arena.skirmish import RULES_VERSION

    flown = [run_episode(TruthObserver(), make_pilot(pilot, seed), seed) for seed in seeds]
    if as_json:
        rows = [{"seed": e.seed, "score": e.score, "counters": e.counters} for e in flown]
        say_json({"pilot": pilot, "rules_version": RULES_VERSION, "episodes": rows})
        return
    say(table(("seed", "score", "kills", "loot", "deaths"), [(e.seed, f"{e.score:.2f}", *_counts(e.counters)) for e in flown]))
    mean, count = sum(e.score for e in flown) / len(flown), f"{len(flown)} episode{'s' * (len(flown) != 1)}"
    say(f"{pilot}: mean score {mean:.2f} of {count} of a minute, rules {RULES_VERSION}")


def _counts(counters: dict[str, Any]) -> tuple[int, int, int]:
    loot = counters.get("looted", 0) + counters.get("caches", 0)
    return int(counters.get("kills", 0)), int(loot), int(counters.get("deaths", 0))


def _play(pilot: str | None, seed: int, scale: int, episodes: int, look: str, as_json: bool) -> None:
    import subprocess

    from engine.arena_window import start_arena_window
    from league.arena.truth_socket import TruthSocketError
    from tui.commands.running import CommandError, Signals

    newest: dict[str, Any] = {}
    with (
        Signals() as signals,
        start_arena_window(seed, scale, pilot, episodes, look=look, cancelled=lambda: bool(signals.asked)) as window,
    ):
        while window.running and not signals.asked:
            try:
                if window.client is not None:
                    window.client.poll()
                    newest = dict(window.client.tick) or newest
            except TruthSocketError:
                window.client = None
            try:
                window.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        status, words = window.exit_status, window.last_words()
    if status not in (0, None):
        raise CommandError(words or f"the arena's window ended with status {status}")
    score, counters = float(newest.get("score", 0.0)), dict(newest.get("counters", {}))
    if as_json:
        say_json({"pilot": pilot or "person", "score": score, "episode": newest.get("episode", 0), "counters": counters})
    else:
        kills, loot, deaths = _counts(counters)
        say(f"score {score:.2f}, {kills} kill{'s' * (kills != 1)}, {loot} loot, {deaths} death{'s' * (deaths != 1)}")
