"""Moments in a session as they are typed, and the sessions' names as the commands take them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from tui.commands.invocation import UsageError

Id = Annotated[str, typer.Argument(metavar="ID", help="id, unambiguous beginning, or last")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="ids, unambiguous beginnings, or last")]
AnyIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="ids, unambiguous beginnings, or last")]
From = Annotated[str, typer.Argument(metavar="FROM", help="from the session's start: 90, 90s, 1:30, or 90000000000ns")]
To = Annotated[str, typer.Argument(metavar="TO", help="likewise; end: the session's end")]

_FACTORS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


def moment_s(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``1.5m``, ``1:30``, ``1:02:03.5`` or ``90000000000ns``. Raises UsageError."""
    given = text.strip().lower()
    try:
        if given.endswith("ns"):
            value = int(given[:-2]) / 1e9
        elif ":" in given:
            value = 0.0
            for part in given.split(":"):
                value = value * 60 + float(part)
        else:
            factor = _FACTORS.get(given[-1:], 0.0)
            value = float(given[:-1]) * factor if factor else float(given)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a moment; write it as 90, 1.5m, 1:30 or 90000000000ns from the session's start") from error
    if not 0 <= value < 1e7:
        raise UsageError(f"{text!r} is not a moment of a session; they count from its start, 0")
    return value


def end_s(text: str) -> float | None:
    """As ``moment_s``; None for "end"."""
    return None if text.strip().lower() == "end" else moment_s(text)
