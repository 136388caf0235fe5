"""New sessions and files out of recorded ones: clip, cut, merge, compact. Ctrl-C leaves nothing half-made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, say, say_json, shown_bytes, shown_duration, workspace_of
from tui.commands.long_work import long_work
from tui.commands.options import Json
from tui.commands.session_times import AnyIds, From, Id, Ids, To, end_s, moment_s

if TYPE_CHECKING:
    from data.catalog import SessionInfo


def clip(
    context: typer.Context,
    session: Id,
    start: From,
    end: To,
    output: Annotated[str, typer.Option("--output", metavar="FILE.mp4", help="the file to write")],
    overlay: Annotated[bool, typer.Option("--overlay", help="draw the pointer, clicks and keys into the pictures")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="replace a file of that name")] = False,
    as_json: Json = False,
) -> None:
    """Write a stretch of a session as an mp4 that any player shows."""
    from data.catalog import find
    from data.clip import export_clip

    folder = find(workspace_of(context).root, session)
    path = Path(output).expanduser()
    with long_work() as report:
        pictures = export_clip(folder, moment_s(start), end_s(end), path, report, overlay=overlay, replace=replace)
    size = path.stat().st_size
    if as_json:
        say_json({"file": str(path), "pictures": pictures, "size_bytes": size})
    else:
        say(f"{path}: {pictures} pictures, {shown_bytes(size)}")


def cut(context: typer.Context, session: Id, start: From, end: To, as_json: Json = False) -> None:
    """Make a new session of a stretch of one. The original is kept."""
    from data import session_edit

    with long_work() as report:
        made = session_edit.cut(workspace_of(context).root, session, moment_s(start), end_s(end), report)
    _tell(made, as_json)


def merge(context: typer.Context, sessions: Ids, as_json: Json = False) -> None:
    """Join several sessions into a new one, oldest first. The originals are kept.

    They must be of one kind, game, profile and picture size. A gap is recorded at each seam.
    """
    from data import session_edit

    with long_work() as report:
        made = session_edit.merge(workspace_of(context).root, sessions, report)
    _tell(made, as_json)


def _tell(made: SessionInfo, as_json: bool) -> None:
    if as_json:
        say_json(made.to_json())
    else:
        say(f"{made.id}: {shown_duration(made.duration_s)}, {made.frames} pictures, {made.steps} steps, {shown_bytes(made.size_bytes)}")


def compact(
    context: typer.Context,
    sessions: AnyIds = None,
    all_: Annotated[bool, typer.Option("--all", help="every finished session")] = False,
    as_json: Json = False,
) -> None:
    """Pack the rows of finished sessions into smaller files. What they hold stays the same; it may be interrupted."""
    from data.catalog import find, list_sessions
    from data.compaction import FINISHED, Compacted, compact_session
    from data.progress import Progress

    if bool(sessions) == all_:
        raise UsageError("sessions compact: name sessions, or use --all")
    root = workspace_of(context).root
    names = [info.folder for info in list_sessions(root) if info.state in FINISHED and not info.live] if all_ else []
    folders = names or [find(root, name) for name in sessions or ()]
    done: list[Compacted] = []
    with long_work() as report:
        for number, folder in enumerate(folders):
            report(Progress("packing", number / len(folders), message=folder.name))
            done.append(compact_session(folder))
    if as_json:
        say_json([one.to_json() for one in done])
        return
    for one in done:
        if one.files:
            say(f"{one.id}: {', '.join(one.files)} packed, {shown_bytes(one.bytes_before)} -> {shown_bytes(one.bytes_after)}")
        else:
            say(f"{one.id}: nothing to gain")
    if len(done) > 1:
        say(f"saved: {shown_bytes(sum(one.bytes_before - one.bytes_after for one in done))}")
    if not done:
        say("there is no finished session yet")
