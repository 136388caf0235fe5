"""The trash: sessions that were thrown away, to be brought back, or deleted for good after a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from engine.state import EngineState
from tui.moments import moment
from tui.panes.base import LinesPane, size
from tui.panes.log import printable
from tui.pump import one_line
from tui.screens import data_rows
from tui.screens.dialogs import AskLetter
from tui.screens.table import Column, TablePane, TableScreen

if TYPE_CHECKING:
    from data.catalog import SessionInfo

COLUMNS = (
    Column("state", 11, words="by state", down=False),
    Column("recorded", 16, narrow=11, words="newest first"),
    Column("length", 8, right=True, words="longest first"),
    Column("size", 8, right=True, words="largest first"),
    Column("title", 0, words="by title", down=False),
)


def load_trash(workspace: Path) -> list[SessionInfo]:
    from data.trash import list_trash

    return list_trash(workspace)


class TrashPane(TablePane["SessionInfo"]):
    scope = "trash"
    noun = "sessions"

    def __init__(self) -> None:
        super().__init__("trash", "Trash")
        self.order = COLUMNS[1]
        self._loaded_for: tuple[object, ...] = ()

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def name_of(self, row: SessionInfo) -> str:
        return row.id

    def haystack(self, row: SessionInfo) -> str:
        return data_rows.haystack(row)

    def sort_key(self, row: SessionInfo, column: str) -> Any:
        keys = {"state": row.state, "length": row.duration_s, "size": row.size_bytes, "title": row.title.casefold() or "~"}
        return (keys.get(column, row.id), row.id)

    def cell(self, row: SessionInfo, column: str, room: int) -> Text:
        palette = self.look.palette
        if column == "state":
            sign, style = data_rows.sign_of(row, self.look)
            return Text(f"{sign} {data_rows.word_of(row)}", style)
        if column == "recorded":
            return Text(data_rows.when(row)[-room:])
        if column == "length":
            return Text(moment(row.duration_s, fine=False))
        return Text(size(row.size_bytes), palette.dim) if column == "size" else data_rows.title_of(row, self.look)

    def empty(self, width: int) -> list[Text]:
        key = (self.key("sessions_trash"), self.look.palette.accent)
        words = Text.assemble("The trash is empty. ", key, " in the list of sessions throws one away;", style=self.look.palette.dim)
        return [words, Text("it then waits here until you bring it back or empty the trash.", self.look.palette.dim)]

    def details(self, width: int, height: int) -> list[Text]:
        row, palette = self.chosen, self.look.palette
        if row is None:
            return []
        total = size(sum(one.size_bytes for one in self.all or ()))
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

        names = [row.id for row in self.all or () if row.id in self.marked] or ([self.chosen.id] if self.chosen is not None else [])
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
            name = self.chosen.id
            self.marked = [one for one in self.marked if one != name] if name in self.marked else [*self.marked, name]
            self.move(1)
            self.redraw()

    def do_trash_empty(self) -> None:
        face, rows = self.face, list(self.all or ())
        if not rows:
            face.tell("info", "the trash is empty already", log=False)
            return
        total = size(sum(row.size_bytes for row in rows))
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
