"""``secondseat config``: which file, which values, what is wrong."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from tui.commands.invocation import invocation_of, new_app, say, say_json, say_notice

app = new_app("The settings in force and where they come from.")
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def path(context: typer.Context, as_json: Json = False) -> None:
    """Which settings file is read, and why that one."""
    from pathlib import Path

    from data.settings_io import find_settings_file

    config = invocation_of(context).config
    found, why = find_settings_file(Path(config) if config else None)
    if as_json:
        say_json({"path": str(found.absolute()) if found else None, "why": why})
    else:
        say(f"{found.absolute()}  ({why})" if found else f"no file: {why}")


@app.command()
def show(context: typer.Context, as_json: Json = False) -> None:
    """Every setting in force. A setting that is not at its default is marked with *."""
    from data.settings import Settings, plain

    settings, notices = invocation_of(context).load(strict=False)
    for notice in notices:
        say_notice(notice)
    values = plain(settings)
    if as_json:
        say_json(values)
        return
    games = cast(dict[str, Any], values.pop("games"))
    defaults = plain(Settings())
    for line in _lines(values, defaults, ""):
        say(line)
    say(f"  games = {', '.join(sorted(games))}")
    say(f"workspace: {settings.workspace().root}")


def _lines(values: dict[str, Any], defaults: dict[str, Any], table: str) -> list[str]:
    lines: list[str] = []
    for key, value in values.items():
        default = defaults.get(key) if isinstance(defaults, dict) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if isinstance(value, dict) and value:
            lines += _lines(cast(dict[str, Any], value), cast(dict[str, Any], default or {}), f"{table}{key}.")
        else:
            shown = "not set" if value is None else str(cast(object, value)) or '""'
            lines.append(f"{'*' if value != default else ' '} {table}{key} = {shown}")
    return lines


@app.command()
def check(context: typer.Context, as_json: Json = False) -> None:
    """Everything that is wrong in the settings; the exit status is 1 when something is."""
    _, notices = invocation_of(context).load(strict=False)
    if as_json:
        say_json({"ok": not notices, "problems": list(notices)})
    else:
        for notice in notices:
            say(notice)
        if not notices:
            say("the settings are in order")
    raise typer.Exit(1 if notices else 0)
