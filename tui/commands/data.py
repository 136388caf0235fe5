"""``secondseat data``: making more of what was recorded."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, settings_of
from tui.commands.options import Json

app = new_app("Make more of what was recorded.")


@app.callback()
def group() -> None:
    """Make more of what was recorded."""


@app.command()
def perceive(
    context: typer.Context,
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="sessions: id, unambiguous beginning, or last")] = None,
    all_: Annotated[bool, typer.Option("--all", help="every finished session of the active game")] = False,
    device: Annotated[Literal["auto", "cpu", "cuda"] | None, typer.Option("--device", help="without: [live] device")] = None,
    as_json: Json = False,
) -> None:
    """Look at recorded pictures anew with the present detector; what was done in them stays.

    Also for sessions recorded without a detector: their steps are built from the events. The exit status is 1 when a
    session could not be perceived; it is then as it was.
    """
    from data.catalog import find, list_sessions
    from engine.perceive_session import PerceivedSession, perceive_session
    from engine.perception.card import DetectorError
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    if bool(sessions) == all_:
        raise UsageError("data perceive: name sessions, or use --all")
    settings = settings_of(context)
    root = settings.workspace().root
    infos = list_sessions(root)
    folders = [find(root, name) for name in sessions or []]
    if all_:
        folders = [info.folder for info in infos if info.game == settings.game and info.state in ("saved", "recovered")]
    done: list[PerceivedSession] = []
    failed = 0
    line = StatusLine()
    with TermAsInterrupt():
        for folder in folders:
            game = next((info.game for info in infos if info.folder == folder), "")
            try:
                result = perceive_session(folder, settings.games.get(game), device or settings.live.device, ProgressLine(line))
            except (OSError, ValueError, RuntimeError, DetectorError) as error:
                if len(folders) == 1:
                    raise
                failed += 1
                line.say(f"secondseat: {folder.name}: {error}")
                continue
            done.append(result)
            line.end()
            if not as_json:
                say(str(result))
    if as_json:
        say_json([dataclasses.asdict(result) for result in done])
    elif not folders:
        say("no finished session of this game yet")
    raise typer.Exit(1 if failed else 0)
