"""``secondseat demo``: the whole way once, in the arena, on any machine."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.invocation import new_app, say, say_json, settings_of, shown_duration, table
from tui.commands.options import LARGEST_SEED, Json, Look

app = new_app("The whole way once.")


@app.command()
def demo(
    context: typer.Context,
    minutes: Annotated[float | None, typer.Option("--minutes", min=0.2, max=10_000.0, help="minutes of play to record")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=2, max=100_000, help="episodes to fly")] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, max=100_000, help="epochs of each level; without: the quick ones")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="picks the worlds and the training's randomness")] = 0,
    look: Look = None,
    as_json: Json = False,
) -> None:
    """Record a scripted pilot in the arena, train all three levels on it, let them fly, and say how well they flew.

    Ten to twelve minutes on two cores. Each run has a workspace of its own, in the folder `demo` of yours.
    """
    import time
    from dataclasses import replace

    from engine.demo import DemoSettings, run_demo
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    settings = settings_of(context)
    workspace = settings.workspace()
    folder = workspace.made(workspace.root / "demo" / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    asked = DemoSettings(seed=seed, epochs=epochs, look=look or settings.arena.look)
    if minutes is not None:
        asked = replace(asked, play_minutes=minutes)
    if episodes is not None:
        asked = replace(asked, episodes=episodes)
    line = StatusLine()
    line.say(f"the demo's workspace is {folder}")
    with TermAsInterrupt():
        result = run_demo(folder, ProgressLine(line), asked)
    line.end()
    if as_json:
        say_json(result.to_json())
        return
    say("  ".join(f"{name} {shown_duration(seconds)}" for name, seconds in result.phases_s.items()))
    say(table(("who", "score", "kills / loot / deaths", "normalised"), result.evaluation.rows()))
    say(f"the same as JSON: {result.file}")
    drawn = "" if asked.look == settings.arena.look else f" --look {asked.look}"
    say(f"see it fly: secondseat fly --workspace {folder}{drawn}")
    say(result.line())
