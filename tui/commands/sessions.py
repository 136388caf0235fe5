"""``secondseat sessions``: what was recorded, whether it is whole, and the trash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, shown_bytes, shown_duration, table, workspace_of

if TYPE_CHECKING:
    from data.catalog import SessionInfo

app = new_app("Recorded sessions. ID is a session's id, a beginning that no other has, or `last`.")
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Id = Annotated[str, typer.Argument(metavar="ID", help="id, unambiguous beginning, or last")]


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """All sessions, oldest first."""
    from data.catalog import list_sessions

    workspace = workspace_of(context)
    _print_list(list_sessions(workspace.root), as_json, f"no sessions in {workspace.sessions}; record some: secondseat record")


def _print_list(sessions: list[SessionInfo], as_json: bool, when_none: str) -> None:
    if as_json:
        say_json([session.to_json() for session in sessions])
        return
    if not sessions:
        say(when_none)
        return
    rows = [
        (
            s.id,
            s.kind,
            s.game,
            "recording" if s.live else s.state,
            shown_duration(s.duration_s),
            s.frames,
            s.events,
            s.steps,
            shown_bytes(s.size_bytes),
        )
        for s in sessions
    ]
    say(table(("id", "kind", "game", "state", "length", "frames", "events", "steps", "size"), rows))
    for session in sessions:
        if session.reason:
            say(f"! {session.id}: {session.reason}")


@app.command()
def show(context: typer.Context, session: Id, as_json: Json = False) -> None:
    """Everything that one session says of itself."""
    from data.catalog import describe, find
    from data.metadata import read_metadata

    folder = find(workspace_of(context).root, session)
    info, metadata = describe(folder), read_metadata(folder)
    if as_json:
        say_json({**info.to_json(), "metadata": metadata.model_dump(mode="json")})
        return
    rates = metadata.rates
    lines = {
        "id": info.id,
        "folder": folder,
        "kind": f"{info.kind} of {info.game}",
        "state": f"{info.state}{' (being recorded now)' if info.live else ''}{f': {info.reason}' if info.reason else ''}",
        "started": metadata.started_at,
        "length": f"{shown_duration(metadata.duration_s)}, {shown_bytes(info.size_bytes)}",
        "source": f"{metadata.source.kind}: {metadata.source.description}",
        "pictures": f"{metadata.counts.frames} of {metadata.width_px}x{metadata.height_px}, {metadata.counts.dropped_frames} dropped, "
        f"{rates.measured_fps:.1f} of {rates.asked_fps:.0f} a second",
        "events": f"{metadata.counts.events}",
        "steps": f"{metadata.counts.steps}, {rates.measured_hz:.1f} of {rates.asked_hz:.0f} a second",
        "gaps": ", ".join(gap.reason or "no reason given" for gap in metadata.gaps) or "none",
        "recovered": f"{metadata.recovery.message}" if metadata.recovery else "",
        "notes": "; ".join(metadata.notes),
    }
    for name, text in lines.items():
        if text:
            say(f"{name:<10} {text}")


@app.command()
def verify(
    context: typer.Context,
    session: Annotated[str, typer.Argument(metavar="[ID]", help="id, unambiguous beginning, or last; all when left out")] = "",
    as_json: Json = False,
) -> None:
    """Check sessions against themselves; nothing is changed. The exit status is 1 when one has an error."""
    from data.catalog import find, list_sessions
    from data.verify import verify as look

    root = workspace_of(context).root
    folders = [find(root, session)] if session else [info.folder for info in list_sessions(root)]
    found = {folder.name: look(folder) for folder in folders}
    if as_json:
        say_json([{"id": name, "findings": [finding.to_json() for finding in findings]} for name, findings in found.items()])
    else:
        for name, findings in found.items():
            say(f"{name}: {'in order' if not findings else ''}".rstrip())
            for finding in findings:
                say(f"  {finding}")
        if not found:
            say("there is no session yet")
    raise typer.Exit(1 if any(finding.severity == "error" for findings in found.values() for finding in findings) else 0)


@app.command()
def recover(
    context: typer.Context,
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="id, unambiguous beginning, or last; all unfinished ones when left out")
    ] = "",
    as_json: Json = False,
) -> None:
    """Repair sessions whose recording was cut off. Damaged originals are kept. The exit status is 1 when one refused."""
    from data.catalog import find
    from data.recovery import recover as repair
    from data.recovery import recover_all

    root = workspace_of(context).root
    reports = [repair(find(root, session))] if session else recover_all(root)
    if as_json:
        say_json([report.to_json() for report in reports])
    else:
        for report in reports:
            say(report.message)
        if not reports:
            say("nothing to repair")
    raise typer.Exit(1 if any(report.outcome == "refused" for report in reports) else 0)


@app.command()
def trash(
    context: typer.Context,
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="sessions to move to the trash")] = None,
    undo: Annotated[str, typer.Option("--undo", metavar="ID", help="bring this one back; last: the one trashed last")] = "",
    empty: Annotated[bool, typer.Option("--empty", help="delete for good what is in the trash")] = False,
    days: Annotated[
        float, typer.Option("--older-than", metavar="DAYS", min=0.0, help="with --empty: only what was trashed that long ago")
    ] = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="with --empty: do not ask")] = False,
    as_json: Json = False,
) -> None:
    """Move sessions to the trash, look into it, bring one back, or empty it. Without anything: list the trash."""
    from data import trash as bin_

    root = workspace_of(context).root
    if sum((bool(sessions), bool(undo), empty)) > 1:
        raise UsageError("sessions trash: name sessions, or use --undo, or --empty, one at a time")
    done: Any
    if sessions:
        moved = [bin_.trash(root, name) for name in sessions]
        done, text = [info.to_json() for info in moved], f"in the trash: {', '.join(info.id for info in moved)}; back: --undo last"
    elif undo:
        back = bin_.undo(root, undo)
        done, text = back.to_json(), f"back again: {back.id}"
    elif empty:
        if not yes and not typer.confirm("delete for good what is in the trash?", err=True):
            raise typer.Exit(1)
        gone = bin_.empty(root, days)
        done, text = (
            gone.to_json(),
            f"deleted for good: {gone.sessions} session{'' if gone.sessions == 1 else 's'}, {shown_bytes(gone.bytes)}",
        )
    else:
        _print_list(bin_.list_trash(root), as_json, "the trash is empty")
        return
    if as_json:
        say_json(done)
    else:
        say(text)
