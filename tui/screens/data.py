"""Sessions: the list of what was recorded. Read by a thread, so that a slow disk never stops the drawing; only the rows
that are seen are made into text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult

from engine.state import EngineState
from tui.panes.base import LinesPane, cut, face_of, highlighted
from tui.panes.log import printable
from tui.panes.status import StatusLine
from tui.pump import one_line
from tui.screens import data_rows, session_deeds
from tui.screens.filter_line import FilterLine
from tui.screens.lists import ListScreen
from tui.screens.live import FooterLine, HintLine

if TYPE_CHECKING:
    from data.catalog import SessionInfo

DETAIL_LINES = 2


def load_sessions(workspace: Path) -> list[SessionInfo]:
    from data.catalog import list_sessions

    return list_sessions(workspace)


class SessionsPane(LinesPane):
    """``selected`` counts the shown sessions; ``marked`` holds ids."""

    can_focus = True
    scope = "sessions"

    def __init__(self) -> None:
        super().__init__("sessions", "Sessions")
        self._all: list[SessionInfo] | None = None
        self._haystacks: list[str] = []
        self._problem = ""
        self._loaded_for: tuple[object, ...] = ()
        self._drawn: tuple[object, ...] = ()
        self._version = 0
        self._top = 0
        self.shown: list[SessionInfo] = []
        self.selected = 0
        self.marked: set[str] = set()
        self.trashed: list[list[str]] = []
        self.words = ""
        self.order = data_rows.ORDERS[0]
        self.reverse = False

    # ---- what is shown

    def show(self, state: EngineState) -> None:
        wanted = (state.workspace, state.sessions, state.recorder.phase)
        if state.workspace and wanted != self._loaded_for:
            self._loaded_for = wanted
            self.reload()
        busy = session_deeds.busy_line(self.face, self.size.width)
        width, height = self.size.width, self.size.height - 1 - DETAIL_LINES - (busy is not None)
        if height < 1 or not width:
            return
        self.selected = max(0, min(self.selected, len(self.shown) - 1))
        self._top = min(max(self._top, self.selected - height + 1), self.selected)
        self._top = max(0, min(self._top, len(self.shown) - height))
        key = (self._version, self._top, self.selected, width, height, frozenset(self.marked), busy and busy.plain, state.workspace)
        if key == self._drawn:
            return
        self._drawn = key
        lines = self._body(width, height)
        lines += [Text()] * (height + 1 - len(lines))
        self.set_lines([*lines, *self._details(width), *([busy] if busy is not None else [])])

    def _body(self, width: int, height: int) -> list[Text]:
        palette = self.look.palette
        if self._problem:
            return [Text(self._problem, palette.bad)]
        if self._all is None:
            return [Text("Reading the sessions.", palette.dim)]
        if not self._all:
            keys = {name: (self.face.registry[name].first_key(), palette.accent) for name in ("record", "save", "demo")}
            return [
                Text.assemble("No sessions yet: ", keys["record"], " records, ", keys["save"], " saves.", style=palette.dim),
                Text.assemble("To see one being made: ", keys["demo"], " lets a pilot play in the arena.", style=palette.dim),
            ]
        head = data_rows.header(width, self.order, self.reverse, self.look)
        if not self.shown:
            return [
                head,
                Text(f"None of {len(self._all):,} sessions has {self.words!r}; / changes the filter, esc clears it.", palette.dim),
            ]
        lines = [head]
        for number in range(self._top, min(self._top + height, len(self.shown))):
            session = self.shown[number]
            line = data_rows.row(session, session.id in self.marked, width, self.look)
            lines.append(highlighted(line, width, palette.selected) if number == self.selected else line)
        return lines

    def _details(self, width: int) -> list[Text]:
        """The chosen session's id and sizes, and what is to be said of it."""
        session, palette, glyphs = self.chosen, self.look.palette, self.look.glyphs
        if session is None:
            return [Text()] * DETAIL_LINES
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
        return [cut(first, width, glyphs.ellipsis), cut(second, width, glyphs.ellipsis)]

    def _titles(self) -> None:
        total, shown = len(self._all or ()), len(self.shown)
        count = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
        parts = [f"Sessions  {count}", self.order.words if not self.reverse else f"{self.order.words}, reversed"]
        parts += [f"/{self.words}"] if self.words else []
        parts += [f"{len(self.marked):,} marked"] if self.marked else []
        self.border_title = "  ".join(parts).replace("[", r"\[")

    # ---- reading

    def reload(self) -> None:
        """Read the sessions anew; what is chosen and marked stays."""
        workspace = Path(self.face.newest.workspace)
        kept_for, kept = self.face.desk.kept.get("sessions", (None, ([], [])))
        if self._all is None and kept_for == workspace:
            self._take(*kept)

        def failed(error: Exception) -> None:
            self._problem = f"the sessions of {workspace} cannot be read: {one_line(error)}"
            self.rearrange()

        def work() -> tuple[list[SessionInfo], list[str]]:
            sessions = load_sessions(workspace)
            return sessions, [data_rows.haystack(session) for session in sessions]

        def done(read: tuple[list[SessionInfo], list[str]]) -> None:
            self.face.desk.kept["sessions"] = (workspace, read)
            self._take(*read)

        self.face.desk.quick(work, done, failed)

    def _take(self, sessions: list[SessionInfo], haystacks: list[str]) -> None:
        self._all, self._haystacks, self._problem = sessions, haystacks, ""
        self.marked &= {session.id for session in sessions}
        self.rearrange()

    def rearrange(self) -> None:
        """Filter and order anew; the chosen session stays chosen while it is shown."""
        before = self.chosen
        self.shown = data_rows.chosen(self._all or (), self._haystacks, self.words, self.order, self.reverse)
        if before is not None:
            self.selected = next((i for i, s in enumerate(self.shown) if s.id == before.id), self.selected)
        self.redraw()

    def redraw(self) -> None:
        self._version += 1
        if self.is_attached:
            self._titles()
            self.show(self.face.newest)

    # ---- choosing

    @property
    def chosen(self) -> SessionInfo | None:
        return self.shown[self.selected] if 0 <= self.selected < len(self.shown) else None

    def targets(self) -> list[SessionInfo]:
        """The marked sessions, oldest first; without marks the chosen one."""
        marked = [session for session in self._all or () if session.id in self.marked]
        return marked or ([self.chosen] if self.chosen is not None else [])

    def move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(self.shown) - 1))
        self.show(self.face.newest)

    def filter(self, words: str) -> None:
        self.words = words
        self.rearrange()

    def order_by(self, column: str) -> None:
        """By this column; when it is that already, the other way round."""
        order = next((order for order in data_rows.ORDERS if order.column == column), None)
        if order is not None:
            self.reverse = order is self.order and not self.reverse
            self.order = order
            self.rearrange()

    def on_key(self, event: events.Key) -> None:
        if self.run_own_key(event):
            return
        page = max(1, self.size.height - 2 - DETAIL_LINES)
        by = {"up": -1, "down": 1, "k": -1, "j": 1, "pageup": -page, "pagedown": page, "home": -(10**9), "end": 10**9}.get(event.key)
        if by is not None:
            event.stop()
            self.move(by)
        elif event.key == "escape" and (self.words or self.marked):
            event.stop()
            self.marked.clear()
            self.filter("")

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(3)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        number = self._top + at.y - 1
        if at.y == 0:
            self.order_by(data_rows.column_at(at.x, self.size.width))
        elif number < min(len(self.shown), self._top + self.size.height - 1 - DETAIL_LINES):
            self.selected = number
            self.show(self.face.newest)
            if event.chain == 2:
                self.do_sessions_open()

    # ---- what the keys do

    def do_sessions_open(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.open_page(self.face, self.chosen)

    def do_sessions_play(self) -> None:
        if self.chosen is not None and session_deeds.readable(self.face, self.chosen):
            session_deeds.play(self.face, self.chosen.folder, 0.0)

    def do_sessions_filter(self) -> None:
        face_of(self).screen.query_one("#filter", FilterLine).begin(self.words)

    def do_sessions_sort(self) -> None:
        self.order = data_rows.ORDERS[(data_rows.ORDERS.index(self.order) + 1) % len(data_rows.ORDERS)]
        self.reverse = False
        self.rearrange()

    def do_sessions_reverse(self) -> None:
        self.reverse = not self.reverse
        self.rearrange()

    def do_sessions_mark(self) -> None:
        if self.chosen is not None:
            self.marked ^= {self.chosen.id}
            self.move(1)
            self.redraw()

    def do_sessions_mark_all(self) -> None:
        shown = {session.id for session in self.shown}
        self.marked = set() if shown <= self.marked else self.marked | shown
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
            session_deeds.export(self.face, self.chosen.folder, 0.0, self.chosen.duration_s)

    def do_sessions_merge(self) -> None:
        session_deeds.merge(self.face, self.targets(), self.reload)

    def do_sessions_verify(self) -> None:
        session_deeds.verify(self.face, [session.folder for session in self.targets()], self.reload)

    def do_sessions_recover(self) -> None:
        session_deeds.recover(self.face, [session.folder for session in self.targets()], self.reload)

    def do_sessions_cancel(self) -> None:
        session_deeds.cancel(self.face)


class SessionsScreen(ListScreen):
    CSS: ClassVar[str] = """
    #filter { height: 1; border: none; padding: 0 1; background: $surface; }
    """

    def compose(self) -> ComposeResult:
        yield StatusLine("status")
        yield self.body()
        yield FilterLine()
        yield HintLine("hint")
        yield FooterLine("footer")

    def body(self) -> LinesPane:
        pane = SessionsPane()
        pane.add_class("full-pane")
        return pane
