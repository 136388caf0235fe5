"""Dialogs: a question answered by a letter, a line of text, a form made from a parameters model.

None of them stops anything: recording and the function keys go on while a dialog is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Select, Static

from tui.parameters import FORMS, Parameters, from_kept


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


class ParametersForm(ModalScreen[Parameters | None]):
    """A form made from a model of ``tui.parameters``: one row per field, its description under it."""

    def __init__(self, title: str, form: str, kept: Mapping[str, object]) -> None:
        super().__init__()
        self._title = title
        self._model = FORMS[form]
        self._start, self._notices = from_kept(form, kept)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="form") as box:
            box.border_title = self._title
            with VerticalScroll(id="fields"):
                for notice in self._notices:
                    yield Static(Text(f"! {notice}"), classes="error")
                for name, info in self._model.model_fields.items():
                    yield from self._field(name, info)
            yield Static("", id="error", classes="error")
            yield Button("ctrl+r  keep and run", id="run", variant="primary")
            yield Static("tab next field, ctrl+r or the button runs, esc goes back", classes="help")

    def _field(self, name: str, info: FieldInfo) -> ComposeResult:
        value: Any = getattr(self._start, name)
        label = name.replace("_", " ")
        yield Static(Text.assemble((label, "bold"), f"  {info.description or ''}"), classes="label")
        if info.annotation is bool or get_origin(info.annotation) is Literal:
            # A check box would tell its state by colour alone.
            choices = [("no", False), ("yes", True)] if info.annotation is bool else [(str(v), v) for v in get_args(info.annotation)]
            yield Select(choices, value=value, allow_blank=False, id=f"field-{name}")
        else:
            yield Input("" if value is None else str(value), id=f"field-{name}")

    def values(self) -> dict[str, Any]:
        """What stands in the fields; an empty text is None where the field allows it."""
        out: dict[str, Any] = {}
        for name, info in self._model.model_fields.items():
            widget = self.query_one(f"#field-{name}")
            if isinstance(widget, Input):
                text = widget.value.strip()
                out[name] = None if not text and type(None) in get_args(info.annotation) else text
            else:
                out[name] = cast("Select[Any]", widget).value
        return out

    def accept(self) -> None:
        try:
            model = self._model.model_validate(self.values())
        except ValidationError as error:
            detail = error.errors()[0]
            self.query_one("#error", Static).update(Text(f"{detail['loc'][0]}: {detail['msg']}, not {detail['input']!r}"))
            self.query_one(f"#field-{detail['loc'][0]}").focus()
            return
        self.dismiss(model)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.accept()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif event.key == "ctrl+r":
            event.stop()
            self.accept()
