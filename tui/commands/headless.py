"""``secondseat headless``: the engine without the face, reached by ``status`` and ``stop``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tui.commands.invocation import invocation_of, new_app, say, settings_of
from tui.commands.options import For, Fps, Monitor, Pilot, Policy, Region, Seed, Source, Window, seconds_of, source_of

app = new_app("The engine without the face.")


@app.command()
def headless(
    context: typer.Context,
    record: Annotated[bool, typer.Option("--record", help="record from the start")] = False,
    fly: Annotated[bool, typer.Option("--fly", help="arm a policy and let it fly from the start")] = False,
    policy: Policy = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="with --fly: press nothing")] = False,
    source: Source = None,
    window: Window = None,
    monitor: Monitor = None,
    region: Region = None,
    pilot: Pilot = None,
    seed: Seed = None,
    fps: Fps = None,
    display: Annotated[str, typer.Option("--display", metavar="NAME", help="X display of the game's screen, e.g. :0")] = "",
    for_: For = None,
) -> None:
    """Run until `secondseat stop`, Ctrl-C or the time is up; what is recorded is saved, the bot disarmed first."""
    from engine.headless import Plan, run_headless
    from tui.commands.running import StatusLine

    settings, for_s = settings_of(context), seconds_of(for_)
    spec = source_of(settings, source, window, monitor, region, "none" if fly else pilot, seed, fps)
    if display:
        os.environ["DISPLAY"] = display
    line = StatusLine(plain=True)
    line.say("the engine runs; secondseat status tells what it does, secondseat stop ends it")
    plan = Plan(spec if record or fly else None, record, policy if fly else None, dry_run, for_s, serve=True)
    outcome = run_headless(settings, plan, line.say, debug=invocation_of(context).debug, every_s=60.0)
    say(f"ended: {outcome.reason}{f'; saved {outcome.session}' if outcome.session else ''}")
