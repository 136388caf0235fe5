"""``secondseat headless``: the engine without the face, reached by ``attach``, ``status`` and ``stop``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, invocation_of, new_app, settings_of
from tui.commands.options import For, Fps, Look, Loop, Monitor, Pilot, Policy, Region, Seed, Session, Source, Window, seconds_of, source_of

if TYPE_CHECKING:
    from engine.source_spec import SourceSpec
    from tui.commands.running import StatusLine

app = new_app("The engine without the face.")

Name = Annotated[str, typer.Option("--name", metavar="NAME", help="what attach, status and stop call this engine")]


@app.command()
def headless(
    context: typer.Context,
    policy_to_fly: Annotated[str, typer.Argument(metavar="[POLICY]", help="with --fly: the policy, as --policy", show_default=False)] = "",
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
    look: Look = None,
    fps: Fps = None,
    session: Session = None,
    loop: Loop = False,
    display: Annotated[
        str, typer.Option("--display", metavar="NAME", help="X display of the game's screen, e.g. :0; without, it is looked for")
    ] = "",
    name: Name = "engine",
    for_: For = None,
    hand_over: Annotated[Path | None, typer.Option("--hand-over", metavar="FILE", hidden=True)] = None,
) -> None:
    """Run until `secondseat stop`, Ctrl-C or the time is up; what is recorded is saved, the bot disarmed first.

    It goes on when its terminal is closed. `secondseat attach` opens the face onto it. Example: secondseat headless --record
    """
    from engine.headless import Plan, run_headless
    from tui.commands.running import StatusLine

    if (policy or policy_to_fly) and not fly:
        raise UsageError(f"{policy or policy_to_fly}: a policy flies only with --fly")
    if policy and policy_to_fly:
        raise UsageError(f"{policy} and {policy_to_fly}: choose one of them")
    settings, for_s = settings_of(context), seconds_of(for_)
    spec = source_of(settings, source, window, monitor, region, "none" if fly else pilot, seed, fps, session, loop, look)
    chosen = loop or any(value is not None for value in (source, window, monitor, region, pilot, seed, look, fps, session))
    dry_run = dry_run or spec.kind == "video"  # what is over can only be watched
    wanted: SourceSpec | None = spec if record or fly or chosen else None
    if hand_over is not None:
        from engine.duties import Duties

        duties = Duties.take(hand_over)
        wanted, record = duties.spec, duties.record
    line = StatusLine(plain=True)
    _look_for_display(display, wanted, line)
    option = "" if name == "engine" else f" --name {name}"
    plan = Plan(wanted, record, (policy or policy_to_fly) if fly else None, dry_run, for_s, name, linger=True)
    line.say(f"the engine runs as {name}; secondseat attach{option} opens the face, secondseat stop{option} ends it")
    outcome = run_headless(settings, plan, line.say, debug=invocation_of(context).debug, every_s=60.0, ring=line.ring)
    line.say(f"ended: {outcome.reason}{f'; saved {outcome.session}' if outcome.session else ''}")
    line.leave_if_unread(0)


def _look_for_display(given: str, spec: SourceSpec | None, line: StatusLine) -> None:
    """The screen of the game: as given, as the environment says, else looked for. Only a screen source cannot do without."""
    from tui.commands.running import CommandError

    if given:
        os.environ["DISPLAY"] = given
    if os.environ.get("DISPLAY") or sys.platform in ("win32", "darwin"):
        return
    from engine.find_display import find_display, use

    found = find_display()
    if found.display:
        use(found)
        line.say(found.text)
    elif spec is not None and spec.kind in ("screen", "arena_window"):
        raise CommandError(found.text)
    else:
        line.say(f"{found.text}; the arena works without one")
