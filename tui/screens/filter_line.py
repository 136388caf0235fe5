"""The words of a list's filter while they are typed."""

from __future__ import annotations

from typing import Protocol, cast

from textual import events
from textual.widgets import Input


class Filtered(Protocol):
    """A pane whose rows can be filtered; the one of class ``full-pane`` of its screen."""

    def filter(self, words: str) -> None: ...

    def focus(self) -> object: ...


class FilterLine(Input):
    """The words of the filter while they are typed; enter keeps them, escape takes them back."""

    def __init__(self, placeholder: str = "words, #tags, states; -word leaves out") -> None:
        super().__init__(placeholder=placeholder, id="filter")
        self._before = ""
        self.display = False

    def begin(self, words: str) -> None:
        self._before = words
        self.display = True
        self.value = words
        self.focus()

    def end(self, keep: bool) -> None:
        pane = self._pane()
        if not keep:
            pane.filter(self._before)
        self.display = False
        pane.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self._pane().filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.end(True)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "up", "down"):
            event.stop()
            self.end(event.key != "escape")

    def _pane(self) -> Filtered:
        return cast("Filtered", self.screen.query_one(".full-pane"))
