"""Title and note of a session, in two fields."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class NoteForm(ModalScreen[tuple[str, str] | None]):
    """Gives (title, note), or None when it was left by escape. Enter goes from the title to the note, and keeps both."""

    CSS: ClassVar[str] = """
    NoteForm { align: center middle; background: $background 60%; }
    NoteForm #dialog { width: 76; }
    NoteForm #dialog Static { width: 1fr; }
    """

    def __init__(self, session: str, title: str, note: str) -> None:
        super().__init__()
        self._session = session
        self._title = title
        self._note = note

    def compose(self) -> ComposeResult:
        from data.annotations import LONGEST_NOTE, LONGEST_TITLE

        with Vertical(id="dialog") as box:
            box.border_title = self._session
            yield Static("Title: a few words for the list")
            yield Input(self._title, id="title", max_length=LONGEST_TITLE)
            yield Static("Note: what you want to remember of it")
            yield Input(self._note, id="note", max_length=LONGEST_NOTE)
            yield Static("enter goes on and keeps, esc goes back", classes="help")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "title":
            self.query_one("#note", Input).focus()
        else:
            self.dismiss((self.query_one("#title", Input).value, self.query_one("#note", Input).value))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
