"""``secondseat sessions``: what was recorded, whether it is whole, and the trash.

What makes new sessions and files out of them stands in ``session_edits``, what is said of them in ``session_words``,
playing them back in ``session_play``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from data.text import printable
from tui.commands import session_edits, session_play, session_words
from tui.commands.invocation import UsageError, new_app, say, say_json, shown_bytes, shown_duration, table, workspace_of
from tui.commands.options import Json
from tui.commands.session_times import AnyIds, Id

if TYPE_CHECKING:
    from data.catalog import SessionInfo

app = new_app("Recorded sessions. ID is a session's id, a beginning that no other has, or `last`.")

_SPARE: Final = ("events", "steps", "frames", "labels", "kind", "game")
"""The columns that a narrow terminal does without, in this order."""
SortColumn = Literal["id", "started", "kind", "game", "state", "length", "frames", "events", "steps", "size", "labels", "title", "tags"]


@app.command("list")
def list_(
    context: typer.Context,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="only these: play, shadow or bot")] = "",
    game: Annotated[str, typer.Option("--game", metavar="GAME", help="only those of this game")] = "",
    state: Annotated[str, typer.Option("--state", metavar="STATE", help="only these: recording, unsaved, saved, recovered, corrupt")] = "",
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="only those with this tag (may be repeated)")] = None,
    text: Annotated[str, typer.Option("--text", metavar="WORDS", help="only those whose id, title, tags or note hold these words")] = "",
    since: Annotated[str, typer.Option("--since", metavar="DAY", help="begun on this day (UTC) or later: 2026-11-28, today, 7d")] = "",
    until: Annotated[str, typer.Option("--until", metavar="DAY", help="begun on this day (UTC) or before")] = "",
    sort: Annotated[SortColumn, typer.Option("--sort", help="the column that they are sorted by")] = "id",
    reverse: Annotated[bool, typer.Option("--reverse", help="the largest or latest first")] = False,
    as_json: Json = False,
) -> None:
    """Sessions, oldest first."""
    from data.catalog import list_sessions
    from data.session_filter import SessionFilter, chosen, day, ordered

    workspace = workspace_of(context)
    wanted = SessionFilter(kind, game, state, tuple(tag or ()), text, day(since) if since else None, day(until) if until else None)
    infos = list_sessions(workspace.root)
    found = ordered(chosen(infos, wanted), sort, reverse=reverse)
    none = (
        f"none of {len(infos)} sessions is like that" if infos else f"no sessions in {workspace.sessions}; record some: secondseat record"
    )
    _print_list(found, as_json, none)


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
            s.labels,
            " ".join((s.title, *(f"#{tag}" for tag in s.tags))).strip(),
        )
        for s in sessions
    ]
    say(_fitting(("id", "kind", "game", "state", "length", "frames", "events", "steps", "size", "labels", "title"), rows))
    for session in sessions:
        if session.reason:
            say(f"! {session.id}: {printable(session.reason)}")


def _fitting(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The table; in a terminal with as many columns as it is wide: the least telling ones are left out first."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    shown = list(headings)
    while True:
        text = table(shown, [[row[headings.index(name)] for name in shown] for row in rows])
        spare = next((name for name in _SPARE if name in shown), None)
        if width is None or spare is None or max(len(line) for line in text.splitlines()) <= width:
            return text
        shown.remove(spare)


@app.command()
def show(context: typer.Context, session: Id, as_json: Json = False) -> None:
    """One session: its facts, its timeline, and what is odd about it."""
    from data.catalog import find
    from tui.commands.session_page import page, page_json

    folder = find(workspace_of(context).root, session)
    if as_json:
        say_json(page_json(folder))
    else:
        page(folder)


@app.command()
def verify(
    context: typer.Context,
    session: Annotated[str, typer.Argument(metavar="[ID]", help="id, unambiguous beginning, or last; all when left out")] = "",
    all_: Annotated[bool, typer.Option("--all", help="all of them (as without an ID)")] = False,
    as_json: Json = False,
) -> None:
    """Check sessions against themselves; nothing is changed. The exit status is 1 when one has an error."""
    from data.catalog import find, session_folders
    from data.progress import Progress
    from data.verify import Finding
    from data.verify import verify as look
    from tui.commands.long_work import long_work

    root = workspace_of(context).root
    if session and all_:
        raise UsageError("sessions verify: name a session, or use --all")
    folders = [find(root, session)] if session else session_folders(root)
    found: dict[str, list[Finding]] = {}
    with long_work() as report:
        for number, folder in enumerate(folders):
            report(Progress("checking", number / len(folders), message=folder.name))
            found[folder.name] = look(folder)
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
    from data.progress import Progress
    from data.recovery import recover as repair
    from data.recovery import recover_all
    from tui.commands.long_work import long_work

    root = workspace_of(context).root
    with long_work() as tell:
        if session:
            reports = [repair(find(root, session))]
        else:
            reports = recover_all(root, lambda name: tell(Progress("repairing", 0.0, message=name)))
    if as_json:
        say_json([report.to_json() for report in reports])
    else:
        for report in reports:
            say(report.message)
        if not reports:
            say("nothing to repair")
    raise typer.Exit(1 if any(report.outcome == "refused" for report in reports) else 0)


@app.command()
def trash(context: typer.Context, sessions: AnyIds = None, as_json: Json = False) -> None:
    """Move sessions to the trash; without an ID, list what is in it."""
    from data import trash as bin_
    from data.catalog import describe, find

    root = workspace_of(context).root
    if not sessions:
        _print_list(bin_.list_trash(root), as_json, "the trash is empty")
        return
    folders = list(dict.fromkeys(find(root, name) for name in sessions))  # all are there, or none is moved
    bin_.refuse_live(folders)
    moved = [describe(bin_.trash_folder(folder)) for folder in folders]
    if as_json:
        say_json([info.to_json() for info in moved])
    else:
        say(f"in the trash: {', '.join(info.id for info in moved)}; back again: secondseat sessions undo")


@app.command()
def undo(
    context: typer.Context,
    session: Annotated[str, typer.Argument(metavar="[ID]", help="id or unambiguous beginning; else the one trashed last")] = "last",
    as_json: Json = False,
) -> None:
    """Bring a session back from the trash."""
    from data.trash import undo as bring_back

    back = bring_back(workspace_of(context).root, session)
    if as_json:
        say_json(back.to_json())
    else:
        say(f"back again: {back.id}")


@app.command()
def empty(
    context: typer.Context,
    days: Annotated[float, typer.Option("--older-than", metavar="DAYS", min=0.0, help="only what was trashed that long ago")] = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: Json = False,
) -> None:
    """Delete for good what is in the trash. This is not undone, so it asks."""
    from data import trash as bin_

    root = workspace_of(context).root
    if not yes:
        there = bin_.list_trash(root)
        what = f"{len(there)} session{'' if len(there) == 1 else 's'} in the trash, {shown_bytes(sum(info.size_bytes for info in there))}"
        if not typer.confirm(f"{what}: delete for good{f' those older than {days:g} days' if days else ''}?", err=True):
            raise typer.Exit(1)
    gone = bin_.empty(root, days)
    if as_json:
        say_json(gone.to_json())
    else:
        say(f"deleted for good: {gone.sessions} session{'' if gone.sessions == 1 else 's'}, {shown_bytes(gone.bytes)}")


app.command()(session_play.play)
app.command()(session_edits.clip)
app.command()(session_edits.cut)
app.command()(session_edits.merge)
app.command()(session_edits.compact)
app.command()(session_words.note)
app.command()(session_words.tag)
app.command()(session_words.rename)
