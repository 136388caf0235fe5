"""The trash: sessions that were thrown away, to be brought back, or deleted for good after a question."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from data.text import printable
from engine.state import EngineState
from tui.moments import moment
from tui.panes.base import LinesPane, size
from tui.pump import one_line
from tui.screens import data_rows
from tui.screens.dialogs import AskLetter
from tui.screens.table import Column, TablePane, TableScreen

if TYPE_CHECKING:
    from data.catalog import SessionInfo

COLUMNS = (
    Column("trashed", 16, narrow=11, words="last trashed first"),
    Column("state", 11, words="by state", down=False),
    Column("recorded", 16, narrow=11, words="newest first"),
    Column("length", 8, right=True, words="longest first"),
    Column("size", 8, right=True, words="largest first"),
    Column("title", 0, words="by title", down=False),
)


class Trashed(NamedTuple):
    """A session, and when it was thrown away (seconds since 1970)."""

    session: SessionInfo
    at_s: float


def load_trash(workspace: Path) -> list[Trashed]:
    from data.trash import list_trash

    return [Trashed(session, session.folder.stat().st_mtime) for session in list_trash(workspace)]


class TrashPane(TablePane[Trashed]):
    scope = "trash"
    noun = "sessions"

    def __init__(self) -> None:
        super().__init__("trash", "Trash")
        self.order = COLUMNS[0]
        self._loaded_for: tuple[object, ...] = ()

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def name_of(self, row: Trashed) -> str:
        return row.session.id

    def haystack(self, row: Trashed) -> str:
        return data_rows.haystack(row.session)

    def sort_key(self, row: Trashed, column: str) -> Any:
        one = row.session
        keys: dict[str, Any] = {"trashed": row.at_s, "state": one.state, "length": one.duration_s, "size": one.size_bytes}
        keys["title"] = one.title.casefold() or "~"
        return (keys.get(column, one.id), one.id)

    def cell(self, row: Trashed, column: str, room: int) -> Text:
        palette, one = self.look.palette, row.session
        if column == "trashed":
            return Text(time.strftime("%Y-%m-%d %H:%M", time.localtime(row.at_s))[-room:])
        if column == "state":
            sign, style = data_rows.sign_of(one, self.look)
            return Text(f"{sign} {data_rows.word_of(one)}", style)
        if column == "recorded":
            return Text(data_rows.when(one)[-room:])
        if column == "length":
            return Text(moment(one.duration_s, fine=False))
        return Text(size(one.size_bytes), palette.dim) if column == "size" else data_rows.title_of(one, self.look)

    def empty(self, width: int) -> list[Text]:
        key = (self.key("sessions_trash"), self.look.palette.accent)
        words = Text.assemble("The trash is empty. ", key, " in the list of sessions throws one away;", style=self.look.palette.dim)
        return [words, Text("it then waits here until you bring it back or empty the trash.", self.look.palette.dim)]

    def details(self, width: int, height: int) -> list[Text]:
        chosen, palette = self.chosen, self.look.palette
        if chosen is None:
            return []
        row, total = chosen.session, size(sum(one.session.size_bytes for one in self.all or ()))
        facts = f"  {row.kind} of {printable(row.game)}  {row.frames:,} pictures  {row.labels:,} labels"
        first = Text.assemble((row.id, "bold"), (facts, palette.dim), no_wrap=True)
        return [first, Text(f"{total} in all; {self.key('trash_empty')} deletes it for good", palette.dim)]

    # ---- reading

    def show(self, state: EngineState) -> None:
        wanted = (state.workspace, state.sessions, state.recorder.phase)
        if state.workspace and wanted != self._loaded_for:
            self._loaded_for = wanted
            self.reload()
        super().show(state)

    def reload(self) -> None:
        workspace = Path(self.face.newest.workspace)

        def failed(error: Exception) -> None:
            self.problem = f"the trash of {workspace} cannot be read: {one_line(error)}"
            self.redraw()

        self.face.desk.quick(lambda: load_trash(workspace), self.take, failed)

    # ---- what the keys do

    def open_chosen(self) -> None:
        self.do_trash_restore()

    def do_trash_restore(self) -> None:
        from data.trash import undo

        names = [row.session.id for row in self.all or () if row.session.id in self.marked]
        names = names or ([self.chosen.session.id] if self.chosen is not None else [])
        if not names:
            return
        face, workspace = self.face, Path(self.face.newest.workspace)
        back: list[str] = []

        def work() -> None:
            for name in names:
                undo(workspace, name)
                back.append(name)

        def end(error: Exception | None) -> None:
            if error is not None:
                face.tell("error", f"bringing back: {one_line(error)}")
            else:
                face.tell("info", f"back again: {back[0] if len(back) == 1 else f'{len(back):,} sessions'}")
            self.marked = [name for name in self.marked if name not in back]
            self.reload()

        face.desk.quick(work, lambda _: end(None), end)

    def do_trash_mark(self) -> None:
        if self.chosen is not None:
            name = self.chosen.session.id
            self.marked = [one for one in self.marked if one != name] if name in self.marked else [*self.marked, name]
            self.move(1)
            self.redraw()

    def do_trash_empty(self) -> None:
        face, rows = self.face, list(self.all or ())
        if not rows:
            face.tell("info", "the trash is empty already", log=False)
            return
        total = size(sum(row.session.size_bytes for row in rows))
        count = f"{len(rows):,} session{'s' * (len(rows) != 1)}"
        lines = [f"{count}, {total}, are deleted for good.", "Nothing brings them back afterwards."]

        def answered(letter: str | None) -> None:
            if letter == "d":
                self._empty()

        face.push_screen(AskLetter("Empty the trash", lines, [("d", "delete them for good")]), answered)

    def _empty(self) -> None:
        from data.trash import empty
        from tui.screens.session_deeds import say

        workspace = Path(self.face.newest.workspace)

        def done(emptied: Any) -> None:
            self.face.tell("info", f"deleted for good: {emptied.sessions:,} session{'s' * (emptied.sessions != 1)}, {size(emptied.bytes)}")
            self.reload()

        self.face.desk.quick(lambda: empty(workspace), done, say(self.face, "emptying the trash"))

    def do_trash_filter(self) -> None:
        self.begin_filter()

    def do_trash_sort(self) -> None:
        self.next_order()

    def do_trash_reverse(self) -> None:
        self.turn_round()


class TrashScreen(TableScreen):
    def body(self) -> LinesPane:
        pane = TrashPane()
        pane.add_class("full-pane")
        return pane
