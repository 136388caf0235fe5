"""Sessions: the list of what was recorded. Read by a thread, so that a slow disk never stops the drawing; only the rows
that are seen are made into text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from data.text import printable
from engine.state import EngineState
from tui.panes.base import LinesPane
from tui.pump import one_line
from tui.screens import data_rows, session_deeds
from tui.screens.table import Column, TablePane, TableScreen

if TYPE_CHECKING:
    from data.catalog import SessionInfo


def load_sessions(workspace: Path) -> list[SessionInfo]:
    from data.catalog import list_sessions

    return list_sessions(workspace)


class SessionsPane(TablePane["SessionInfo"]):
    scope = "sessions"
    noun = "sessions"
    always_counted = True

    def __init__(self) -> None:
        super().__init__("sessions", "Sessions")
        self.order = data_rows.ORDERS[0]
        self.trashed: list[list[str]] = []
        self._loaded_for: tuple[object, ...] = ()

    # ---- its rows

    def columns(self) -> Sequence[Column]:
        return data_rows.COLUMNS

    def orders(self) -> Sequence[Column]:
        return data_rows.ORDERS

    def name_of(self, row: SessionInfo) -> str:
        return row.id

    def haystack(self, row: SessionInfo) -> str:
        return data_rows.haystack(row)

    def sort_key(self, row: SessionInfo, column: str) -> Any:
        return data_rows.sort_key(row, column)

    def cell(self, row: SessionInfo, column: str, room: int) -> Text:
        return data_rows.cell(row, column, room, self.look)

    def busy(self, width: int) -> Text | None:
        return session_deeds.busy_line(self.face, width)

    def show(self, state: EngineState) -> None:
        wanted = (state.workspace, state.sessions, state.recorder.phase)
        if state.workspace and wanted != self._loaded_for:
            self._loaded_for = wanted
            self.reload()
        super().show(state)

    def _body(self, width: int, room: int) -> list[Text]:
        # What cannot be read any more is said, also when there are rows of an earlier look.
        return [Text(self.problem, self.look.palette.bad)] if self.problem else super()._body(width, room)

    def empty(self, width: int) -> list[Text]:
        palette = self.look.palette
        keys = {name: (self.key(name), palette.accent) for name in ("record", "save", "demo")}
        return [
            Text.assemble("No sessions yet: ", keys["record"], " records, ", keys["save"], " saves.", style=palette.dim),
            Text.assemble("To see one being made: ", keys["demo"], " lets a pilot play in the arena.", style=palette.dim),
        ]

    def details(self, width: int, height: int) -> list[Text]:
        """The chosen session's id and sizes, and what is to be said of it."""
        session, palette, glyphs = self.chosen, self.look.palette, self.look.glyphs
        if session is None:
            return []
        facts = f"{session.kind} of {session.game}  {session.frames:,} pictures  {session.events:,} events  {session.steps:,} steps"
        first = Text.assemble((session.id, "bold"), no_wrap=True)
        if session.state != "corrupt":
            first.append(f"  {printable(facts)}", palette.dim)
        if session.reason:
            key = self.face.registry["sessions_recover"].first_key()
            cure = f"{key} repairs it: " if session.state in ("corrupt", "recording", "unsaved") else ""
            style = palette.bad if session.state == "corrupt" else palette.warn
            second = Text(f"{glyphs.needs} {cure}{data_rows.reason_of(session)}", style)
        elif session.note:
            second = Text(printable(session.note))
        else:
            second = Text(f"No note; {self.face.registry['sessions_note'].first_key()} writes one.", palette.dim)
        return [first, second]

    # ---- reading

    def reload(self) -> None:
        """Read the sessions anew; what is chosen and marked stays."""
        workspace = Path(self.face.newest.workspace)
        kept_for, kept = self.face.desk.kept.get("sessions", (None, ([], {})))
        if self.all is None and kept_for == workspace:
            self.take(*kept)

        def failed(error: Exception) -> None:
            self.problem = f"the sessions of {workspace} cannot be read: {one_line(error)}"
            self.rearrange()

        def work() -> tuple[list[SessionInfo], dict[str, str]]:
            sessions = load_sessions(workspace)
            return sessions, {session.id: data_rows.haystack(session) for session in sessions}

        def done(read: tuple[list[SessionInfo], dict[str, str]]) -> None:
            self.face.desk.kept["sessions"] = (workspace, read)
            self.take(*read)

        self.face.desk.quick(work, done, failed)

    def targets(self) -> list[SessionInfo]:
        """The marked sessions, oldest first; without marks the chosen one."""
        names = set(self.marked)
        marked = [session for session in self.all or () if session.id in names]
        return marked or ([self.chosen] if self.chosen is not None else [])

    def open_chosen(self) -> None:
        self.do_sessions_open()

    # ---- what the keys do

    def do_sessions_open(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.open_page(self.face, self.chosen)

    def do_sessions_play(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.play(self.face, self.chosen.folder, 0.0)

    def do_sessions_filter(self) -> None:
        self.begin_filter()

    def do_sessions_sort(self) -> None:
        self.next_order()

    def do_sessions_reverse(self) -> None:
        self.turn_round()

    def do_sessions_mark(self) -> None:
        if self.chosen is not None:
            name = self.chosen.id
            self.marked = [one for one in self.marked if one != name] if name in self.marked else [*self.marked, name]
            self.move(1)
            self.redraw()

    def do_sessions_mark_all(self) -> None:
        before = set(self.marked)
        new = [session.id for session in self.shown if session.id not in before]
        self.marked = [*self.marked, *new] if new else []
        self.redraw()

    def do_sessions_trash(self) -> None:
        session_deeds.trash(self, self.targets())

    def do_sessions_undo(self) -> None:
        session_deeds.untrash(self)

    def do_sessions_note(self) -> None:
        if self.chosen is not None:
            session_deeds.write_note(self.face, self.chosen.folder, self.reload)

    def do_sessions_tag(self) -> None:
        session_deeds.write_tags(self.face, [session.folder for session in self.targets()], self.reload)

    def do_sessions_use(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.use_as_source(self.face, self.chosen.id)

    def do_sessions_export(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.export(self.face, self.chosen.folder, 0.0, self.chosen.duration_s, whole=True)

    def do_sessions_merge(self) -> None:
        session_deeds.merge(self.face, self.targets(), self.reload)

    def do_sessions_verify(self) -> None:
        session_deeds.verify(self.face, [session.folder for session in self.targets()], self.reload)

    def do_sessions_recover(self) -> None:
        session_deeds.recover(self.face, [session.folder for session in self.targets()], self.reload)

    def do_sessions_cancel(self) -> None:
        session_deeds.cancel(self.face)


class SessionsScreen(TableScreen):
    placeholder = "words, #tags, states; -word leaves out"

    def body(self) -> LinesPane:
        pane = SessionsPane()
        pane.add_class("full-pane")
        return pane
