"""``secondseat record``: one recording, from this terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tui.commands.invocation import invocation_of, new_app, say, say_json, settings_of, shown_bytes, shown_duration
from tui.commands.options import (
    For,
    Fps,
    Headless,
    Json,
    Look,
    Loop,
    Monitor,
    Pilot,
    Region,
    Seed,
    Session,
    Source,
    Window,
    seconds_of,
    source_of,
)

if TYPE_CHECKING:
    from engine.state import EngineState

app = new_app("Record play.")


@app.command()
def record(
    context: typer.Context,
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
    for_: For = None,
    headless: Headless = False,
    as_json: Json = False,
) -> None:
    """Record until the time is up, F6 or Ctrl-C; then save. F5 stops (F6 then saves) or begins anew, F7 discards.

    Only the keys of the game's profile are kept, and only while its window has the focus; while it has not, nothing is
    written. Example: secondseat record --source screen --window "My Game" --for 10m
    """
    from data.catalog import describe, find
    from engine.headless import Plan, run_headless
    from tui.commands.running import CommandError, StatusLine

    settings, for_s = settings_of(context), seconds_of(for_)
    spec = source_of(settings, source, window, monitor, region, pilot, seed, fps, session, loop, look)
    plan = Plan(spec, record=True, for_s=for_s, name="record", exact_name=False)
    line = StatusLine(headless)
    line.say(f"starting, then recording{f' for {shown_duration(for_s)}' if for_s else ' until Ctrl-C, which saves'}")
    outcome = run_headless(
        settings,
        plan,
        line.say,
        debug=invocation_of(context).debug,
        every_s=3600.0 if line.rewrites else 10.0,
        on_state=(lambda state: line.show(_line(state))) if line.rewrites else None,
        ring=line.ring,
    )
    line.end()
    if not outcome.session:
        raise CommandError(outcome.state.recorder.note or f"nothing was recorded: {outcome.reason}")
    info = describe(find(settings.workspace().root, outcome.session))
    if as_json:
        say_json({**info.to_json(), "ended": outcome.reason})
    else:
        facts = f"{shown_duration(info.duration_s)}, {info.frames} frames, {info.events} events, {shown_bytes(info.size_bytes)}"
        say(f"{info.id}: {info.state}, {facts}")


def _line(state: EngineState) -> str:
    recorder, capture = state.recorder, state.capture
    return (
        f"● {recorder.phase.upper()} {shown_duration(recorder.duration_s)}  {recorder.frames} frames ({capture.fps:.1f}/s)  "
        f"{recorder.events} events  {recorder.steps} steps  {shown_bytes(recorder.size_bytes)}"
        f"{f'  dropped {recorder.dropped_frames}' if recorder.dropped_frames else ''}{f'  {recorder.note}' if recorder.note else ''}"
    )
