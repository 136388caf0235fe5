"""Dialogs: a question answered by a letter, and a line of text.

None of them stops anything: recording and the function keys go on while a dialog is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class AskLetter(ModalScreen[str]):
    """A question with one letter per answer; escape (and n) answer with an empty text. Enter does nothing, so that
    nobody confirms by habit."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, title: str, lines: Sequence[str], answers: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._answers = answers

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as box:
            box.border_title = self._title
            for line in self._lines:
                yield Static(Text(line))
            yield Static("")
            for letter, words in (*self._answers, ("esc", "back")):
                yield Static(Text.assemble((f" {letter:<4}", "bold"), words), id=f"answer-{letter}")

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "n"):
            event.stop()
            self.dismiss("")
        elif any(event.character == letter for letter, _ in self._answers):
            event.stop()
            self.dismiss(event.character or "")

    def on_click(self, event: events.Click) -> None:
        widget_id = (event.widget.id or "") if event.widget is not None else ""
        if widget_id.startswith("answer-"):
            event.stop()
            answer = widget_id.removeprefix("answer-")
            self.dismiss("" if answer == "esc" else answer)


class AskText(ModalScreen[str | None]):
    """One line of text; None when it was left by escape."""

    def __init__(self, title: str, value: str, help: str = "") -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._help = help

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as box:
            box.border_title = self._title
            yield Input(self._value, id="text")
            if self._help:
                yield Static(Text(self._help), classes="help")
            yield Static("enter takes it, esc goes back", classes="help")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
