"""``secondseat doctor``: what this machine can do."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from tui.commands.invocation import invocation_of, new_app, say, say_json, say_notice

app = new_app("What this machine can do, and what to do about the rest.")
_SIGNS: Final = {"ok": "ok  ", "warn": "warn", "missing": "MISS"}


@app.command()
def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="also load the learning libraries and look for a GPU with them")] = False,
) -> None:
    """Check the display, capture, hotkeys, injection, detector, GPU, disk, coach key, terminal and Python.

    Nothing is changed and nothing is looked up on the network. The exit status is 0 also when something is missing:
    most of it is optional.
    """
    from engine.doctor import checks

    settings, notices = invocation_of(context).load(strict=False)
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
