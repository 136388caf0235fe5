"""``secondseat fly``: hand the controls to a policy, from this terminal."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import invocation_of, new_app, say, say_json, settings_of, shown_duration
from tui.commands.options import For, Fps, Headless, Json, Look, Loop, Policy, Seed, Session, Source, Window, seconds_of, source_of

if TYPE_CHECKING:
    from engine.state import EngineState

app = new_app("Let a policy fly.")


@app.command()
def fly(
    context: typer.Context,
    policy: Policy = "",
    source: Source = None,
    window: Window = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="decide, but press nothing")] = False,
    seed: Seed = None,
    look: Look = None,
    fps: Fps = None,
    session: Session = None,
    loop: Loop = False,
    for_: For = None,
    headless: Headless = False,
    as_json: Json = False,
) -> None:
    """Arm a policy for one window (or the arena) and let it fly until the time is up, you touch the controls, or Ctrl-C.

    It presses keys only while that window has the focus. F8 stops it at once from anywhere. Use it where the game's
    terms allow it. Example: secondseat fly --source screen --window "My Game" --for 5m
    """
    from engine.headless import Plan, run_headless
    from tui.commands.running import StatusLine

    settings, for_s = settings_of(context), seconds_of(for_)
    spec = source_of(settings, source, window, None, None, "none", seed, fps, session, loop, look)
    dry_run = dry_run or spec.kind == "video"  # what is over can only be watched
    line = StatusLine(headless)
    flown: list[EngineState] = []  # the newest state in the air: on the ground the arena is gone

    def seen(state: EngineState) -> None:
        if state.bot.phase != "disarmed":
            flown[:] = [state]
        if line.rewrites:
            line.show(_line(state))

    outcome = run_headless(
        settings,
        Plan(spec, policy=policy, dry_run=dry_run, for_s=for_s, name="fly", exact_name=False),
        line.say,
        debug=invocation_of(context).debug,
        every_s=3600.0 if line.rewrites else 10.0,
        on_state=seen,
        ring=line.ring,
    )
    line.end()
    state = flown[-1] if flown else outcome.state
    if as_json:
        say_json({"ended": outcome.reason, "bot": dataclasses.asdict(state.bot), "arena": dataclasses.asdict(state.arena)})
        return
    bot = state.bot
    say(
        f"ended: {outcome.reason}; {bot.actions} actions, {bot.refused} refused, {bot.expired} expired, focus lost {bot.focus_losses} times"
    )
    if state.arena.running:
        kills, deaths = (f"{n} {what}{'s' * (n != 1)}" for n, what in ((state.arena.kills, "kill"), (state.arena.deaths, "death")))
        say(f"arena: score {state.arena.score:.1f}, {kills}, {state.arena.loot} loot, {deaths}")


def _line(state: EngineState) -> str:
    bot, tick, arena = state.bot, state.tick, state.arena
    score = f"  score {arena.score:.1f}" if arena.running else ""
    told = bot.reason or bot.hint
    where = f"  would go to {bot.place[0]}, {bot.place[1]} px" if bot.dry_run and bot.place is not None else ""
    return (
        f"▶ {bot.phase.upper()}{' (dry run)' if bot.dry_run else ''} {bot.policy} -> {bot.window}  {bot.mode} {bot.target}  "
        f"{tick.hz:.1f}/s, seen {tick.age_p50_ms:.0f} ms ago  {bot.actions} actions{score}{where}{f'  {told}' if told else ''}"
        f"{f'  {shown_duration(state.recorder.duration_s)} recorded' if state.recorder.phase == 'recording' else ''}"
    )
