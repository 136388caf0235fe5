"""What all screens that are lists share, and the one of the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from engine.state import EngineState
from tui.panes.base import LinesPane, face_of, highlighted, wrapped
from tui.panes.status import StatusLine
from tui.panes.system import check_sign
from tui.screens.live import FooterLine, HintLine

if TYPE_CHECKING:
    from tui.app import SecondseatApp


class ListPane(LinesPane):
    """Lines that scroll; ``selected`` is the highlighted one, or -1 when there is nothing to choose."""

    can_focus = True

    def __init__(self, id: str, title: str = "", keys: str = "", *, choose: bool = False) -> None:
        super().__init__(id, title, keys)
        self.choose = choose
        self.selected = 0
        self._top = 0

    def compose_all(self, state: EngineState) -> list[Text]:
        """Every line, top to bottom."""
        return []

    def show(self, state: EngineState) -> None:
        lines, height = self.compose_all(state), self.size.height
        if not height:
            return
        if self.choose:
            self.selected = max(0, min(self.selected, len(lines) - 1))
            if self.selected < self._top:
                self._top = self.selected
            elif self.selected >= self._top + height:
                self._top = self.selected - height + 1
        self._top = max(0, min(self._top, len(lines) - height))
        shown = lines[self._top : self._top + height]
        if self.choose and shown:
            row = self.selected - self._top
            shown[row] = highlighted(shown[row], self.size.width, self.look.palette.selected)
        self.set_lines(shown)

    def move(self, by: int) -> None:
        if self.choose:
            self.selected += by
        else:
            self._top += by
        self.show(self.face.newest)

    def on_key(self, event: events.Key) -> None:
        page = max(1, self.size.height - 1)
        by = {"up": -1, "down": 1, "k": -1, "j": 1, "pageup": -page, "pagedown": page, "home": -(10**6), "end": 10**6}.get(event.key)
        if by is not None:
            event.stop()
            self.move(by)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(3)


class ListScreen(Screen[None]):
    """A full-size list between the status line and the footer; escape leads back."""

    BINDINGS: ClassVar[list[BindingType]] = []

    @property
    def face(self) -> SecondseatApp:
        return face_of(self)

    def body(self) -> LinesPane:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield StatusLine("status")
        yield self.body()
        yield HintLine("hint")
        yield FooterLine("footer")

    def on_mount(self) -> None:
        self.query_one(".full-pane").focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss()


class DoctorPane(ListPane):
    def key_words(self) -> list[tuple[str, str]]:
        return [(self.key("doctor"), "look again"), ("esc", "back")]

    def compose_all(self, state: EngineState) -> list[Text]:
        palette = self.look.palette
        if not state.checks:
            return [Text("Looking at this machine.", palette.dim)]
        width = max(len(name) for name, _, _ in state.checks)
        out: list[Text] = []
        for name, check, text in state.checks:
            sign, style = check_sign(check, self.look)
            head = f" {sign} {name:<{width}}  {check:<8}"
            first, *more = wrapped(Text(text), self.size.width - len(head))
            out.append(Text.assemble((head, style), first))
            out += [Text.assemble(" " * len(head), part) for part in more]
        return out


class DoctorScreen(ListScreen):
    """The checks; opening it looks again."""

    def body(self) -> LinesPane:
        pane = DoctorPane("doctor", "Checks")
        pane.add_class("full-pane")
        return pane

    def on_mount(self) -> None:
        super().on_mount()
        self.face.send("doctor")
