"""``secondseat status`` and ``secondseat stop``: talking to the engine that runs already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tui.commands.invocation import new_app, say, say_json, shown_duration

if TYPE_CHECKING:
    from engine.remote import Remote

Json = Annotated[bool, typer.Option("--json", help="print JSON")]

status_app = new_app("What the running engine does.")
stop_app = new_app("Disarm, save and end the running engine.")


def _remote() -> Remote:
    from engine.remote import Remote, endpoint_path

    return Remote(endpoint_path())


@status_app.command()
def status(as_json: Json = False) -> None:
    """What the running engine captures, records, learns and flies. The exit status is 1 when none runs."""
    state = _remote().state()
    if as_json:
        say_json(state)
        return
    for line in status_lines(state):
        say(line)


def status_lines(state: dict[str, Any]) -> list[str]:
    """The snapshot of ``engine.state.EngineState`` in a few lines."""
    capture, tick, recorder, bot = state["capture"], state["tick"], state["recorder"], state["bot"]
    lines = [f"workspace  {state['workspace']}, {state['sessions']} sessions"]
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
def stop(as_json: Json = False) -> None:
    """Disarm the bot, save the recording, end the engine."""
    text = _remote().stop()
    if as_json:
        say_json({"text": text})
    else:
        say(text)
