"""``secondseat engines``, ``status`` and ``stop``: talking to engines that run already."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tui.commands.invocation import duration_s, new_app, say, say_json, shown_duration, table

if TYPE_CHECKING:
    from engine.remote import Remote

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="which engine; without: the one called engine, or the only one that runs")
]

STOPPED_S = 60.0

status_app = new_app("What the running engine does.")
stop_app = new_app("Disarm, save and end the running engine.")
engines_app = new_app("The engines that run.")


def _remote(name: str) -> Remote:
    from engine.remote import Remote, choose

    return Remote(choose(name))


@status_app.command()
def status(
    name: Name = "",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON: everything; with --watch one object a line")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="again and again, until Ctrl-C or the engine's end")] = False,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="with --watch: how often")] = "1s",
) -> None:
    """What the running engine captures, records, learns and flies. The exit status is 1 when none runs."""
    remote, pause_s = _remote(name), duration_s(every)
    while True:
        state = remote.state()
        if as_json and watch:
            import json

            say(json.dumps(state))
        elif as_json:
            say_json(state)
        else:
            lines = "\n".join(status_lines(state))
            anew = watch and sys.stdout.isatty()
            if anew:
                sys.stdout.write("\x1b[H\x1b[J")
            say(f"{lines}\n" if watch and not anew else lines)
        if not watch:
            return
        sys.stdout.flush()
        time.sleep(pause_s)


def status_lines(state: dict[str, Any]) -> list[str]:
    """The snapshot of ``engine.state.EngineState`` in a few lines."""
    capture, tick, recorder, bot = state["capture"], state["tick"], state["recorder"], state["bot"]
    up = shown_duration(max(0.0, state["time_s"] - state["started_s"]))
    viewers = f", {state['viewers']} face{'s' * (state['viewers'] != 1)} attached" if state["viewers"] else ""
    lines = [
        f"engine     {state['name']}, process {state['pid']}, up {up}{viewers}",
        f"workspace  {state['workspace']}, {state['sessions']} session{'s' * (state['sessions'] != 1)}",
    ]
    if state["ending"]:
        lines.append(f"ending     {state['ending']}")
    if capture["source"] == "none":
        lines.append("capture    off")
    else:
        lines.append(
            f"capture    {capture['detail'] or capture['source']} {capture['width_px']}x{capture['height_px']}, "
            f"{capture['fps']:.1f} of {capture['asked_fps']:.0f} a second, {capture['dropped']} dropped"
        )
        lines.append(f"ticks      {tick['hz']:.1f} of {tick['asked_hz']:.0f} a second, age p50 {tick['age_p50_ms']:.0f} ms")
    said = [recorder["phase"]]
    if recorder["session"]:
        said += [recorder["session"], shown_duration(recorder["duration_s"])]
    lines.append(f"recorder   {', '.join([*said, *([recorder['note']] if recorder['note'] else [])])}")
    policy, reason = (f"{before}{text}" if text else "" for before, text in ((": ", bot["policy"]), (", ", bot["reason"])))
    lines.append(f"bot        {bot['phase']}{policy}{reason}")
    for job in state["jobs"]:
        if job["phase"] == "running":
            lines.append(f"job        {job['title']}: {job['stage']} {job['done']:.0%}")
    for service in state["services"]:
        if service["health"] in {"waiting", "failed"}:
            lines.append(f"service    {service['name']} {service['health']}: {service['reason']}")
    return lines


@stop_app.command()
def stop(
    name: Name = "",
    wait: Annotated[bool, typer.Option("--wait", help="until it has ended")] = False,
    as_json: Json = False,
) -> None:
    """Disarm the bot, save the recording, end the engine."""
    remote = _remote(name)
    text = remote.stop()
    if wait:
        from tui.commands.running import CommandError

        until_s = time.monotonic() + STOPPED_S
        while remote.alive():
            if time.monotonic() > until_s:
                raise CommandError(f"it has not ended within {STOPPED_S:g} s; logs/secondseat.log in its workspace says more")
            time.sleep(0.1)
        text = "the engine has ended"
    if as_json:
        say_json({"text": text})
    else:
        say(text)


@engines_app.command()
def engines(as_json: Json = False) -> None:
    """Every engine of yours that can be reached: headless ones, and those of a face, a recording or a flight."""
    from engine.remote import Remote, running
    from engine.state import EngineState

    found = running()
    if as_json:
        say_json([hello.to_json() for hello in found])
        return
    if not found:
        say("no engine runs; start one with: secondseat headless")
        return
    rows: list[tuple[object, ...]] = []
    for hello in found:
        from engine.remote import choose

        state = EngineState.from_json(Remote(choose(hello.name)).state())
        up = shown_duration(max(0.0, state.time_s - hello.started_s))
        rows.append((hello.name, hello.pid, up, state.viewers, ", ".join(state.doing()) or "idle", hello.workspace))
    say(table(("name", "process", "up", "faces", "doing", "workspace"), rows))
