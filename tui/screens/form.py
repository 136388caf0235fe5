"""The form of an action's parameters, made from their model: checked while one types, with what the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static

from data.settings import Settings
from tui.parameters import FORMS, Parameters, from_kept, in_force, refusal, scheduled, setting_of
from tui.registry import Action

RUN_KEY: Final = "ctrl+r"
USUAL_KEY: Final = "ctrl+n"
SETTINGS_KEY: Final = "ctrl+o"


class ParametersForm(ModalScreen[Parameters | None]):
    """Gives the values to keep and run with; None when it was left by escape. ``config.toml`` is written only when the
    person asks for it, by a key of its own."""

    BINDINGS: ClassVar[list[BindingType]] = []
    CSS: ClassVar[str] = """
    ParametersForm { align: center middle; background: $background 60%; }
    ParametersForm #dialog { width: 76; }
    ParametersForm #fields { height: auto; max-height: 60vh; }
    ParametersForm #fields Input, ParametersForm #fields Select { border-left: outer $border; }
    ParametersForm #fields Input:focus, ParametersForm #fields Select:focus { border-left: outer $primary; }
    ParametersForm #buttons { height: 1; margin-top: 1; }
    ParametersForm #buttons Button { margin-right: 1; }
    """

    def __init__(self, action: Action, kept: Mapping[str, object], settings: Settings) -> None:
        super().__init__()
        self._action = action
        self._level = str(action.fixed.get("level", ""))
        self._model = FORMS[action.form]
        self._settings = settings
        self._start, self._notices = from_kept(action.form, kept)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="form") as box:
            box.border_title = self._action.title
            with VerticalScroll(id="fields", can_focus=False):
                if about := self._about():
                    yield Static(about, classes="help")
                for notice in self._notices:
                    yield Static(Text(f"! {notice}"), classes="error")
                for name, info in self._model.model_fields.items():
                    yield from self._field(name, info)
            with Horizontal(id="buttons"):
                yield Button(f"{_shown(RUN_KEY)} run", id="run", variant="primary", compact=True)
                yield Button(f"{_shown(USUAL_KEY)} usual values", id="usual", compact=True)
                if self._has_settings:
                    yield Button(f"{_shown(SETTINGS_KEY)} into config.toml", id="settings", compact=True)
            yield Static("tab next field, shift+tab the one before, esc goes back", classes="help")

    def _about(self) -> str:
        """What the action does, as a sentence, and what its form has to add."""
        does = f"{self._action.help[:1].upper()}{self._action.help[1:]}." if self._action.help else ""
        return f"{does} {self._action.about}".strip()

    @property
    def _has_settings(self) -> bool:
        return any(setting_of(self._model, name, self._level, False) for name in self._model.model_fields)

    def _field(self, name: str, info: FieldInfo) -> ComposeResult:
        value: Any = getattr(self._start, name)
        yield Static(Text.assemble((name.replace("_", " "), "bold"), f"  {info.description or ''}"), classes="label", id=f"label-{name}")
        if info.annotation is bool or get_origin(info.annotation) is Literal:
            # A check box would tell its state by colour alone.
            choices = (
                [("no", False), ("yes", True)]
                if info.annotation is bool
                else [(str(v) or self._usual(name, info), v) for v in get_args(info.annotation)]
            )
            yield Select(choices, value=value, allow_blank=False, compact=True, id=f"field-{name}")
        else:
            yield Input(_typed(value), placeholder=self._usual(name, info), compact=True, id=f"field-{name}")
        yield Static("", id=f"error-{name}", classes="error")

    def _usual(self, name: str, info: FieldInfo) -> str:
        """What an empty field means."""
        path = setting_of(self._model, name, self._level, self._quick())
        if path:
            by_preset = scheduled(self._settings, path, self._preset()) if path.startswith(f"training.{self._level}.") else ""
            if by_preset:
                return by_preset
            said = in_force(self._settings, path)
            return f"{said}, as the settings say" if said else ""
        if info.default is None:
            if self._level == "all":
                schedule = "as the settings say" if self._quick() or name == "lr" else f"by the preset {self._preset()}"
                return f"each level's own, {schedule}"
            return "the usual"
        return f"{info.default}, the usual" if info.default else ""

    def _quick(self) -> bool:
        return bool(self.values().get("quick")) if self.is_mounted else bool(getattr(self._start, "quick", False))

    def _preset(self) -> str:
        """The schedule's preset, as the form or the settings say."""
        chosen = self.values().get("preset") if self.is_mounted else getattr(self._start, "preset", "")
        return str(chosen or self._settings.training.preset)

    def on_mount(self) -> None:
        for name in self._model.model_fields:
            self.query_one(f"#error-{name}").display = False
        self.query_one(f"#field-{next(iter(self._model.model_fields))}").focus()

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """A field is not brought into the middle: what it is called stands above it, and is seen with it."""
        super().set_focus(widget, scroll_visible=False, from_app_focus=from_app_focus)
        name = (widget.id or "").removeprefix("field-") if widget is not None else ""
        if scroll_visible and name in self._model.model_fields:
            self.call_after_refresh(self._bring_into_sight, name)

    def _bring_into_sight(self, name: str) -> None:
        for part in ("field", "label"):
            self.query_one(f"#{part}-{name}").scroll_visible(animate=False, immediate=True)

    def values(self) -> dict[str, Any]:
        """What stands in the fields; an empty text is the default."""
        out: dict[str, Any] = {}
        for name, info in self._model.model_fields.items():
            widget = self.query_one(f"#field-{name}")
            if isinstance(widget, Input):
                out[name] = widget.value.strip() or info.default
            else:
                out[name] = cast("Select[Any]", widget).value
        return out

    def _check(self) -> dict[str, str]:
        """Say beside each field what is wrong with it."""
        wrong = refusal(self._model, self.values())
        for name in self._model.model_fields:
            error = self.query_one(f"#error-{name}", Static)
            error.update(Text(f"  {wrong[name]}" if name in wrong else ""))
            error.display = name in wrong
        return wrong

    def _checked(self) -> Parameters | None:
        """The values when all can be used, else None with the focus on the first that cannot."""
        wrong = self._check()
        if wrong:
            self.query_one(f"#field-{next(name for name in self._model.model_fields if name in wrong)}").focus()
            return None
        return self._model.model_validate(self.values())

    def accept(self) -> None:
        values = self._checked()
        if values is not None:
            self.dismiss(values)

    def usual(self) -> None:
        """Every field as it is when nobody has changed it."""
        for name, info in self._model.model_fields.items():
            widget = self.query_one(f"#field-{name}")
            if isinstance(widget, Input):
                widget.value = _typed(info.default)
            else:
                cast("Select[Any]", widget).value = info.default
        self._check()

    def into_settings(self) -> None:
        """Write what stands in the fields to ``config.toml``, at the places that are behind them."""
        values = self._checked()
        if values is None:
            return
        changes: dict[str, Any] = {}
        for name, value in values.model_dump().items():
            path = setting_of(self._model, name, self._level, bool(getattr(values, "quick", False)))
            if path and value is not None and value != "":
                changes[path] = value
        from tui.panes.base import face_of

        face_of(self).save_settings(changes)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        {"run": self.accept, "usual": self.usual, "settings": self.into_settings}[event.button.id or ""]()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._check()

    def on_select_changed(self, event: Select.Changed) -> None:
        """A quick run, or another preset, has other usual values."""
        event.stop()
        self._check()
        for name, info in self._model.model_fields.items():
            widget = self.query_one(f"#field-{name}")
            if isinstance(widget, Input):
                widget.placeholder = self._usual(name, info)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
            return
        deed = {RUN_KEY: self.accept, USUAL_KEY: self.usual}.get(event.key)
        if event.key == SETTINGS_KEY and self._has_settings:
            deed = self.into_settings
        if deed is not None:
            event.stop()
            deed()


def _typed(value: Any) -> str:
    """A value as a person types it."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _shown(key: str) -> str:
    return key.replace("ctrl+", "^")
