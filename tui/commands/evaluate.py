"""``secondseat evaluate``: how well a policy flies the arena, between random and the demonstrator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, table, workspace_of
from tui.commands.options import Json, Policy

if TYPE_CHECKING:
    from engine.evaluate import Rung

app = new_app("Score a policy.")


@app.command()
def evaluate(
    context: typer.Context,
    policy: Policy = "",
    episodes: Annotated[int, typer.Option("--episodes", min=2, max=100_000, help="episodes of a minute each, for everybody")] = 20,
    rungs: Annotated[str, typer.Option("--rungs", help="how it sees, with commas: state, emulated, pixels")] = "state,emulated,pixels",
    first_seed: Annotated[int | None, typer.Option("--first-seed", min=0, help="without: the arena's own list of test seeds")] = None,
    workers: Annotated[int, typer.Option("--workers", min=0, max=64, help="episodes flown at a time; 0: one per core, at most 8")] = 0,
    as_json: Json = False,
) -> None:
    """Fly episodes on the same seeds as random and the demonstrator, and say where the policy stands between them.

    Three rungs: from the world's state, with emulated perception, and from pixels. The last one is what counts.
    """
    from data.models import resolve_policy
    from engine.evaluate import RUNGS, keep
    from engine.evaluate import evaluate as run
    from tui.commands.running import ProgressLine, StatusLine

    workspace = workspace_of(context)
    asked = [name.strip() for name in rungs.split(",") if name.strip()]
    chosen: list[Rung] = [rung for rung in RUNGS if rung in asked]
    if len(chosen) != len(set(asked)) or not chosen:
        raise UsageError(f"--rungs {rungs}: use some of {','.join(RUNGS)}")
    line = StatusLine()
    result = run(
        resolve_policy(workspace.root, policy),
        episodes,
        chosen,
        first_seed,
        workers=workers or max(1, min(os.cpu_count() or 1, 8)),
        report=ProgressLine(line),
    )
    line.end()
    keep(workspace.root, result)
    if as_json:
        say_json(result.to_json())
        return
    say(table(("who", "score", "kills / loot / deaths", "normalised"), result.rows()))
    normalised = result.normalised
    say(f"normalised score: {normalised.value:.2f} [{normalised.low:.2f}, {normalised.high:.2f}]")
