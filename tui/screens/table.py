"""A table that fills a screen: rows are read by a thread, ordered, filtered, chosen and marked; only what is seen is made
into text. The screens of sessions, evaluations, statistics and the trash say what their rows are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult

from engine.state import EngineState
from tui.panes.base import LinesPane, cut, face_of, highlighted, wrapped
from tui.panes.status import StatusLine
from tui.screens.filter_line import FilterLine
from tui.screens.lists import ListScreen
from tui.screens.live import FooterLine, HintLine

T = TypeVar("T")
MARK_WIDTH = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading is its id. It is there from a width of the table on; a ``width`` of 0 takes what is left.

    ``words`` say what an order by it is ("longest first"); without them nothing is ordered by it. ``down``: the largest first.
    """

    id: str
    width: int
    right: bool = False
    from_width: int = 0
    narrow: int = 0
    words: str = ""
    down: bool = True


class TablePane(LinesPane, Generic[T]):
    """``selected`` counts the shown rows; ``marked`` holds their names. Subclasses fill in what is marked as theirs."""

    can_focus = True
    wide = 100
    """Below this width the columns are ``narrow``."""
    detail_lines = 2
    noun = "rows"
    always_counted = False
    """Whether the title counts also when there is no row."""

    def __init__(self, id: str, title: str) -> None:
        super().__init__(id, title)
        self.what = title
        self.all: list[T] | None = None
        self.problem = ""
        self.shown: list[T] = []
        self.selected = 0
        self.marked: list[str] = []
        self.words = ""
        self.reverse = False
        self.order = next(column for column in self.columns() if column.words)
        self._haystacks: Mapping[str, str] = {}
        self._version = 0
        self._top = 0
        self._pinned = 0
        self._drawn: tuple[object, ...] = ()

    # ---- what a subclass says of its rows

    def columns(self) -> Sequence[Column]:
        raise NotImplementedError

    def orders(self) -> Sequence[Column]:
        """The columns that can order the rows, one after the other."""
        return [column for column in self.columns() if column.words]

    def name_of(self, row: T) -> str:
        """What tells a row from all others."""
        raise NotImplementedError

    def haystack(self, row: T) -> str:
        """What the filter looks through."""
        return self.name_of(row)

    def sort_key(self, row: T, column: str) -> Any:
        raise NotImplementedError

    def cell(self, row: T, column: str, room: int) -> Text:
        raise NotImplementedError

    def empty(self, width: int) -> list[Text]:
        """What is said when there is no row at all: what will fill the table, and how."""
        raise NotImplementedError

    def details(self, width: int, height: int) -> list[Text]:
        """Below the rows: what is to be said of the chosen one."""
        return []

    def busy(self, width: int) -> Text | None:
        """A line at the very bottom while something goes on."""
        return None

    def title_word(self) -> str:
        """A word more for the title."""
        return ""

    def pinned(self, found: Sequence[T]) -> Sequence[T]:
        """Rows that stand above those that were found, whatever the order."""
        return ()

    # ---- drawing

    def room_for_details(self, height: int) -> int:
        return self.detail_lines

    def show(self, state: EngineState) -> None:
        width, height = self.size.width, self.size.height
        if not width or height < 4:
            return
        busy = self.busy(width)
        below = self.room_for_details(height - (busy is not None))
        room = max(1, height - 1 - below - (busy is not None))
        self.selected = max(0, min(self.selected, len(self.shown) - 1))
        self._top = min(max(self._top, self.selected - room + 1), self.selected)
        self._top = max(0, min(self._top, len(self.shown) - room))
        key = (self._version, self._top, self.selected, width, height, tuple(self.marked), busy and busy.plain, self.has_focus)
        if key == self._drawn:
            return
        self._drawn = key
        lines = self._body(width, room)
        lines += [Text()] * (room + 1 - len(lines))
        under = [cut(line, width, self.look.glyphs.ellipsis) for line in self.details(width, below)][:below] if self.all else []
        lines += under + [Text()] * (below - len(under))
        self.set_lines([*lines, *([busy] if busy is not None else [])])

    def _body(self, width: int, room: int) -> list[Text]:
        palette = self.look.palette
        if self.problem and not self.all:
            return wrapped(Text(f"{self.look.glyphs.failed} {self.problem}", palette.bad), width)
        if self.all is None:
            return [Text(f"{self.look.glyphs.waiting} Reading the {self.noun}.", palette.dim)]
        if not self.all:
            return [part for line in self.empty(width) for part in wrapped(line, width)]
        head = self._header(width)
        if not self.shown:
            key = next((a.first_key() for a in self.face.registry.in_scope(self.scope) if a.id.endswith("_filter")), "/")
            return [
                head,
                Text(f"None of {len(self.all):,} {self.noun} has {self.words!r}; {key} changes the filter, esc clears it.", palette.dim),
            ]
        lines, layout = [head], self.layout_of(width)
        for number in range(self._top, min(self._top + room, len(self.shown))):
            line = self._row(self.shown[number], width, layout)
            lines.append(highlighted(line, width, palette.selected) if number == self.selected else line)
        return lines

    def layout_of(self, width: int) -> list[tuple[Column, int]]:
        """The columns that are shown at this width, with their widths; several without a width share what is left."""
        columns = [column for column in self.columns() if width >= column.from_width]
        rooms = [column.narrow if column.narrow and width < self.wide else column.width for column in columns]
        open_ = sum(not room for room in rooms)
        rest = width - MARK_WIDTH - sum(rooms) - len(rooms) + 1
        share, more = divmod(max(0, rest), open_) if open_ else (0, 0)
        out: list[tuple[Column, int]] = []
        for column, room in zip(columns, rooms, strict=True):
            if not room:
                room, more = max(8, share + (more > 0)), more - 1
            out.append((column, room))
        return out

    def _header(self, width: int) -> Text:
        glyphs, palette = self.look.glyphs, self.look.palette
        arrow = glyphs.down if self.order.down != self.reverse else glyphs.up
        line = Text(" " * MARK_WIDTH, palette.dim, no_wrap=True)
        for column, room in self.layout_of(width):
            here = column is self.order
            name = f"{column.id[: room - 2]} {arrow}" if here else column.id[:room]
            line.append(name.rjust(room) if column.right else name.ljust(room), palette.accent if here else "")
            line.append(" ")
        return cut(line, width, "")

    def mark_of(self, row: T) -> str:
        return "*" if self.name_of(row) in self.marked else " "

    def _row(self, row: T, width: int, layout: Sequence[tuple[Column, int]]) -> Text:
        line = Text(self.mark_of(row).ljust(MARK_WIDTH), no_wrap=True)
        for column, room in layout:
            part = cut(self.cell(row, column.id, room), room, self.look.glyphs.ellipsis)
            pad = " " * (room - part.cell_len)
            line.append_text(Text.assemble(pad, part) if column.right else Text.assemble(part, pad))
            line.append(" ")
        return cut(line, width, "")

    def _titles(self) -> None:
        total, shown = len(self.all or ()), len(self.shown) - self._pinned
        count = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
        parts = [f"{self.what}  {count}", f"{self.order.words}, reversed" if self.reverse else self.order.words]
        parts = parts if total or self.always_counted else [self.what]
        parts += [f"/{self.words}"] if self.words else []
        parts += [f"{len(self.marked):,} marked"] if self.marked else []
        parts += [word for word in (self.title_word(),) if word]
        self.set_title("  ".join(parts))

    # ---- rows

    def take(self, rows: Iterable[T], haystacks: Mapping[str, str] | None = None) -> None:
        """New rows; what is chosen stays chosen, marks of what is gone go.

        ``haystacks``: what the filter looks through, by name and in lower case, where a thread has made it already.
        """
        self.all, self.problem = list(rows), ""
        self._haystacks = haystacks or {self.name_of(row): self.haystack(row).casefold() for row in self.all}
        self.marked = [name for name in self.marked if name in self._haystacks]
        self.rearrange()

    def rearrange(self) -> None:
        """Filter and order anew; the chosen row stays chosen while it is shown."""
        before, pinned_before = self.chosen, self._pinned
        words = [word for word in self.words.casefold().split() if word != "-"]
        without = [word[1:] for word in words if word.startswith("-")]
        words = [word for word in words if not word.startswith("-")]

        def wanted(text: str) -> bool:
            return all(word in text for word in words) and not any(word in text for word in without)

        found = [row for row in self.all or () if wanted(self._haystacks[self.name_of(row)])]
        found.sort(key=lambda row: self.sort_key(row, self.order.id), reverse=self.order.down != self.reverse)
        pinned = self.pinned(found) if found else ()
        self._pinned = len(pinned)
        self.shown = [*pinned, *found]
        first = self.selected == 0 and not pinned_before  # what is pinned now takes the place of the first row
        if before is not None and not (first and self._pinned):
            name = self.name_of(before)
            self.selected = next((i for i, row in enumerate(self.shown) if self.name_of(row) == name), self.selected)
        self.redraw()

    def redraw(self) -> None:
        self._version += 1
        if self.is_attached:
            self._titles()
            self.show(self.face.newest)

    @property
    def chosen(self) -> T | None:
        return self.shown[self.selected] if 0 <= self.selected < len(self.shown) else None

    def move(self, by: int) -> None:
        self.selected = max(0, min(self.selected + by, len(self.shown) - 1))
        self.show(self.face.newest)

    def filter(self, words: str) -> None:
        self.words = words
        self.rearrange()

    def order_by(self, column_id: str) -> None:
        """By this column; when it is that already, the other way round."""
        column = next((column for column in self.columns() if column.id == column_id and column.words), None)
        if column is not None:
            self.reverse = column is self.order and not self.reverse
            self.order = column
            self.rearrange()

    def next_order(self) -> None:
        orders = self.orders()
        self.order, self.reverse = orders[(orders.index(self.order) + 1) % len(orders)], False
        self.rearrange()

    def turn_round(self) -> None:
        self.reverse = not self.reverse
        self.rearrange()

    def begin_filter(self) -> None:
        face_of(self).screen.query_one(FilterLine).begin(self.words)

    def open_chosen(self) -> None:
        """What enter and a double click do."""

    # ---- keys and mouse

    def on_key(self, event: events.Key) -> None:
        if self.run_own_key(event):
            return
        page = max(1, self.size.height - 2 - self.room_for_details(self.size.height))
        by = {"up": -1, "down": 1, "k": -1, "j": 1, "pageup": -page, "pagedown": page, "home": -(10**9), "end": 10**9}.get(event.key)
        if by is not None:
            event.stop()
            self.move(by)
        elif event.key == "escape" and (self.words or self.marked):
            event.stop()
            self.marked.clear()
            self.filter("")

    def on_focus(self) -> None:
        self.show(self.face.newest)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(3)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or not self.all:
            return
        if at.y == 0:
            self.order_by(self._column_at(at.x))
            return
        number, below = self._top + at.y - 1, self.room_for_details(self.size.height)
        if at.y < self.size.height - below and number < len(self.shown):
            self.selected = number
            self.show(self.face.newest)
            if event.chain == 2:
                self.open_chosen()

    def _column_at(self, x: int) -> str:
        at = MARK_WIDTH
        for column, room in self.layout_of(self.size.width):
            if at <= x < at + room:
                return column.id
            at += room + 1
        return ""


class TableScreen(ListScreen):
    """A table with its filter line."""

    CSS: ClassVar[str] = """
    #filter { height: 1; border: none; padding: 0 1; background: $surface; }
    """
    placeholder = "words; -word leaves out"

    def compose(self) -> ComposeResult:
        yield StatusLine("status")
        yield self.body()
        yield FilterLine(self.placeholder)
        yield HintLine("hint")
        yield FooterLine("footer")
