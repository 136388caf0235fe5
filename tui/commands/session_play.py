"""``secondseat sessions play``: a recording in the terminal, without the face."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands.invocation import workspace_of
from tui.commands.session_times import Id, end_s, moment_s


def play(
    context: typer.Context,
    session: Id,
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="from the session's start: 90, 1:30, or 90000000000ns")] = "0",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="where to stop")] = "end",
    speed: Annotated[float, typer.Option("--speed", help="0.125, 0.25, 0.5, 1, 2, 4 or 8")] = 1.0,
    marks: Annotated[bool, typer.Option("--marks/--no-marks", help="draw the pointer and clicks into the pictures")] = True,
) -> None:
    """Play a session in the terminal. space: pause; left, right: 5 s; - +: speed; , .: one picture; q: leave."""
    from data.catalog import find
    from tui.commands.terminal_player import play_session

    play_session(find(workspace_of(context).root, session), moment_s(start), end_s(end), speed, marks)
