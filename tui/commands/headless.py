"""``secondseat headless``: the engine without the face, reached by ``status`` and ``stop``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import invocation_of, new_app, say, settings_of
from tui.commands.options import For, Fps, Monitor, Pilot, Policy, Region, Seed, Source, Window, seconds_of, source_of

if TYPE_CHECKING:
    from engine.state import EngineState

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
    from engine.remote import RemoteServer, endpoint_path
    from tui.commands.running import EngineRun

    settings, for_s = settings_of(context), seconds_of(for_)
    told = source_of(settings, source, window, monitor, region, "none" if fly else pilot, seed, fps)
    if display:
        os.environ["DISPLAY"] = display
    run = EngineRun(
        settings,
        debug=invocation_of(context).debug,
        plain=True,
        service_of=lambda center: RemoteServer(center, endpoint_path()),
    )
    with run:
        if record or fly:
            say(run.do("source", **told))
        if record:
            say(run.do("record_toggle"))
        if fly:
            say(run.do("arm", policy=policy, dry_run=dry_run))
            say(run.do("fly", for_s=for_s))
        say("the engine runs; secondseat status tells what it does, secondseat stop ends it")
        reason = run.watch(_line, lambda _: "", for_s)
    say(f"ended: {reason}")


def _line(state: EngineState) -> str:
    from dataclasses import asdict

    from tui.commands.engine_calls import status_lines

    return " | ".join(" ".join(line.split()) for line in status_lines(asdict(state))[1:4])
