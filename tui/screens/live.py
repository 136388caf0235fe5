"""The live screen: its panes, their sizes, and which of them are seen at the size of this terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, cast

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import QueryType
from textual.screen import Screen
from textual.widget import Widget

from engine.state import EngineState
from tui.actions import PANES
from tui.layout import Mode, Part, Sizes, mode_of
from tui.panes.actions import ActionsPane
from tui.panes.base import LinesPane, cut, face_of
from tui.panes.buffer import BufferPane
from tui.panes.log import LogPane
from tui.panes.losses import LossesPane
from tui.panes.now import NowPane
from tui.panes.status import StatusLine
from tui.panes.system import SystemPane, check_line

if TYPE_CHECKING:
    from tui.app import SecondseatApp

PANE_IDS = tuple(pane_id for _, pane_id, _, _ in PANES)
PARTS: Final[dict[str, Part]] = {
    "actions": "left",
    "losses": "middle",
    "now": "middle",
    "buffer": "right",
    "system": "right",
    "log": "log",
}
"""The column of each pane; the log is as wide as the screen and has rows instead."""


class TabLine(LinesPane):
    """The panes' names when only one of them is shown."""

    def show(self, state: EngineState) -> None:
        palette = self.look.palette
        line = Text(" ", no_wrap=True)
        current = cast("LiveScreen", self.screen).current
        for key, pane_id, _, short in PANES:
            here = pane_id == current
            line.append(f"[{key} {short}]" if here else f" {key} {short} ", palette.selected if here else palette.dim)
        self.set_lines([line])

    def on_click(self, event: events.Click) -> None:
        at = 1
        for key, pane_id, _, short in PANES:
            at_end = at + len(key) + len(short) + 3
            if at <= event.x < at_end:
                cast("LiveScreen", self.screen).focus_pane(pane_id)
                return
            at = at_end


class CheckLine(LinesPane):
    """The machine's checks on one line."""

    def show(self, state: EngineState) -> None:
        if not state.checks:
            text = "looking at this machine" if self.face.host.phase in ("starting", "ready") else ""
            self.set_lines([Text(f" {self.look.glyphs.waiting} {text}" if text else "", self.look.palette.dim)])
            return
        self.set_lines([check_line(state, self.look, self.size.width, self.key("doctor"))])


class HintLine(LinesPane):
    """The answer to the last command, or the one next step."""

    def show(self, state: EngineState) -> None:
        text = self.face.hint(state)
        cut(text, max(1, self.size.width), self.look.glyphs.ellipsis)
        self.set_lines([text])


class FooterLine(LinesPane):
    """Keys, from the registry: what always counts, then the focused pane's own, then the rest as far as there is room."""

    def show(self, state: EngineState) -> None:
        palette = self.look.palette
        focused = self.screen.focused
        scope = focused.scope if isinstance(focused, LinesPane) else "app"
        line = Text(" ", no_wrap=True)
        shown = self.face.registry.footer(scope, self.size.width - 2)
        for i, (key, word) in enumerate(shown):
            if i == len(shown) - 1:
                line.append(" " * max(0, self.size.width - line.cell_len - len(key) - len(word) - 2))
            line.append(key, palette.accent)
            line.append(f" {word}  " if i < len(shown) - 1 else f" {word}", palette.dim)
        self.set_lines([line])


class TooSmall(LinesPane):
    def show(self, state: EngineState) -> None:
        self.set_lines([Text("enlarge the terminal: 60x16 at least, 120x36 is comfortable", self.look.palette.warn)])


class LiveScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = ""
    """Textual would give the focus to the first pane; ``fit`` gives it to the current one."""

    def __init__(self, current: str) -> None:
        super().__init__()
        self.current = current if current in PANE_IDS else "actions"
        self.mode: Mode = "wide"
        self.full = False
        self.sizes = Sizes()

    @property
    def face(self) -> SecondseatApp:
        return face_of(self)

    def compose(self) -> ComposeResult:
        yield StatusLine("status")
        yield CheckLine("checks")
        yield TabLine("tabs")
        yield TooSmall("toosmall")
        with Horizontal(id="body"):
            yield ActionsPane("actions", "1 Actions")
            with Vertical(id="middle"):
                yield LossesPane("losses", "2 Losses")
                yield NowPane("now", "3 Now")
            with Vertical(id="right"):
                yield BufferPane("buffer", "4 Capture and buffer")
                yield SystemPane("system", "6 System")
        yield LogPane("log", "7 Log")
        yield HintLine("hint")
        yield FooterLine("footer")

    def on_mount(self) -> None:
        for pane_id in PANE_IDS:
            self.pane(pane_id).can_focus = True
        memory = self.face.memory
        self.full = memory.flag("full")
        start = Sizes()
        self.sizes = Sizes(
            memory.number("left_columns", start.left, 1, 1000),
            memory.number("right_columns", start.right, 1, 1000),
            memory.number("log_rows", start.log, 1, 1000),
        )
        self.fit()

    def on_resize(self, event: events.Resize) -> None:
        self.fit()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        widget_id = event.widget.id or ""
        if widget_id in PANE_IDS and widget_id != self.current and event.widget is self.focused:
            self.focus_pane(widget_id)

    def focus_next(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """The pane after the current one; where one is shown alone, among all of them."""
        return self._focus_beside(1) if self.mode == "single" else super().focus_next(selector)

    def focus_previous(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """The pane before the current one, likewise."""
        return self._focus_beside(-1) if self.mode == "single" else super().focus_previous(selector)

    def _focus_beside(self, by: int) -> Widget:
        self.focus_pane(PANE_IDS[(PANE_IDS.index(self.current) + by) % len(PANE_IDS)])
        return self.pane(self.current)

    def pane(self, pane_id: str) -> LinesPane:
        return self.query_one(f"#{pane_id}", LinesPane)

    def fit(self) -> None:
        """Decide by the size which widgets are seen; the current pane has the focus as soon as it is."""
        width, height = self.face.size
        self.mode = mode_of(width, height, self.full)
        small, single = self.mode == "small", self.mode == "single"
        sizes = self.sizes.fitted(width, height)
        self.query_one("#actions").styles.width = "1fr" if single else sizes.left
        self.query_one("#right").styles.width = "1fr" if single else sizes.right
        for name in ("wide", "single", "small"):
            self.set_class(self.mode == name, name)
        self.query_one("#tabs").display = single
        self.query_one("#checks").display = self.mode == "wide"
        self.query_one("#toosmall").display = small
        log_alone = single and self.current == "log"
        for pane_id in PANE_IDS:
            seen = not small and (not single or pane_id == self.current or (pane_id == "log" and not self.full))
            self.pane(pane_id).display = seen
        self.query_one("#body").display = not small and not log_alone
        self.query_one("#middle").display = not single or self.current in ("losses", "now")
        self.query_one("#right").display = not single or self.current in ("buffer", "system")
        log = self.query_one("#log")
        log.set_class(log_alone, "alone")
        log.styles.height = "1fr" if log_alone else 3 if single else sizes.log
        self.query_one("#hint").display = not small
        self.query_one("#footer").display = not small
        if not small and self.focused is not self.pane(self.current):
            self.pane(self.current).focus()

    def focus_pane(self, pane_id: str) -> None:
        self.current = pane_id
        self.face.remember_pane(pane_id)
        self.fit()
        self.query_one(TabLine).show(self.face.newest)

    def toggle_full(self) -> None:
        self.full = not self.full
        self.face.memory.keep(full=self.full)
        self.fit()

    def resize_column(self, by: int) -> bool:
        """The focused pane's column one step wider or narrower (the log: higher or lower); False where one pane is alone."""
        if self.mode != "wide":
            return False
        self._use_sizes(self.sizes.resized(PARTS[self.current], by, *self.face.size))
        return True

    def reset_sizes(self) -> None:
        self.full = False
        self.face.memory.keep(full=False)
        self._use_sizes(Sizes())

    def _use_sizes(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.face.memory.keep(left_columns=sizes.left, right_columns=sizes.right, log_rows=sizes.log)
        self.fit()
