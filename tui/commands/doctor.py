"""``secondseat doctor``: what this machine can do."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from data.settings import Settings
from tui.commands.invocation import invocation_of, new_app, say, say_error, say_json, say_notice

app = new_app("What this machine can do, and what to do about the rest.")
_SIGNS: Final = {"ok": "ok  ", "warn": "warn", "missing": "MISS"}


@app.command()
def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="also load the learning libraries and look for a GPU with them")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="test the hotkeys instead: press one, and see which way it was heard")] = False,
    wait_s: Annotated[float, typer.Option("--wait", min=1, max=600, metavar="SECONDS", help="how long --keys waits")] = 20.0,
) -> None:
    """Check the display, capture, hotkeys, injection, detector, GPU, disk, coach key, terminal and Python.

    Nothing is changed and nothing is looked up on the network. The exit status is 0 also when something is missing:
    most of it is optional. With --keys it is 1 when the key was not heard.
    """
    settings, notices = invocation_of(context).load(strict=False)
    if keys:
        raise typer.Exit(_test_keys(settings, wait_s, as_json))
    from engine.doctor import checks

    found = checks(settings, deep=deep)
    if as_json:
        rows = [{"name": c.name, "state": c.state, "text": c.text, "remedy": c.remedy} for c in found]
        say_json({"checks": rows, "notices": list(notices)})
        return
    for notice in notices:
        say_notice(notice)
    width = max(len(check.name) for check in found)
    for check in found:
        say(f"{_SIGNS[check.state]}  {check.name:<{width}}  {check.text}")
        if check.remedy:
            say(f"      {'':<{width}}  -> {check.remedy}")


def _test_keys(settings: Settings, wait_s: float, as_json: bool) -> int:
    from engine.input.key_test import run_key_test
    from tui.terminal_keys import reading_keys

    tell, wanted = (say_notice if as_json else say), settings.keys.record
    if _engine_runs():
        say_error(f"an engine runs and takes {wanted.upper()} as its order to record; end it first (secondseat stop), or leave the face")
        return 1
    tell(f"press {wanted.upper()} to test, here or with the game in focus; it records nothing now (at most {wait_s:g} s)")
    with reading_keys() as terminal:
        test = run_key_test(wanted, settings.control_keys(), wait_s, tell, terminal)
    if as_json:
        say_json(test.to_json(wanted))
    elif wanted not in test.heard:
        say(f"{wanted.upper()} was not heard. Where other programs take it, choose another key in [keys] record")
    elif not test.globally:
        say(f"{wanted.upper()} works in this terminal only")
    else:
        say(f"{wanted.upper()} works from any focus")
    return 0 if wanted in test.heard else 1


def _engine_runs() -> bool:
    from engine.endpoint import RemoteError, endpoints
    from engine.remote import Remote

    try:
        return any(Remote(path, 1.0).alive() for path in endpoints())
    except RemoteError:
        return False
