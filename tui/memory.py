"""What the face remembers between runs: the last pane, chart choices, each action's last parameters.

A small JSON file in the user's state folder. ``config.toml`` is the person's own and is never written here. Unknown
keys are kept; a file that cannot be read is set aside and said.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json

FILE_NAME: Final = "face.json"


class Memory:
    """Values by name. ``notices`` holds what could not be used, one line each."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.notices: list[str] = []
        self._values: dict[str, Any] = {}
        if path is not None:
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            self._set_aside(path, str(error))
            return
        try:
            values: object = from_json(text)
        except ValueError as error:
            self._set_aside(path, str(error))
            return
        if isinstance(values, dict):
            self._values = cast("dict[str, Any]", values)
        else:
            self._set_aside(path, "not a table")

    def _set_aside(self, path: Path, why: str) -> None:
        self.notices.append(f"{path}: {why}; it is kept as {path.name}.bad and the defaults are used")
        with contextlib.suppress(OSError):
            path.replace(path.with_name(path.name + ".bad"))

    def text(self, name: str, default: str, allowed: tuple[str, ...] = ()) -> str:
        value = self._values.get(name, default)
        if not isinstance(value, str) or (allowed and value not in allowed):
            self.notices.append(f"{FILE_NAME} {name}: {value!r} cannot be used; use {', '.join(allowed) or 'a text'}")
            return default
        return value

    def number(self, name: str, default: int, low: int, high: int) -> int:
        value = self._values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.notices.append(f"{FILE_NAME} {name}: {value!r} cannot be used; use {low} to {high}")
            return default
        return value

    def flag(self, name: str) -> bool:
        return self._values.get(name) is True

    def parameters(self, action_id: str) -> Mapping[str, object]:
        """The last parameters of an action, unchecked (``tui.parameters.from_kept`` checks them)."""
        forms = self._values.get("parameters")
        kept = cast("dict[str, Any]", forms).get(action_id) if isinstance(forms, dict) else None
        return cast("dict[str, object]", kept) if isinstance(kept, dict) else {}

    def keep(self, **values: str | int | bool) -> None:
        if any(self._values.get(name) != value for name, value in values.items()):
            self._values.update(values)
            self.save()

    def keep_parameters(self, action_id: str, values: Mapping[str, object]) -> None:
        forms = self._values.get("parameters")
        table: dict[str, Any] = cast("dict[str, Any]", forms) if isinstance(forms, dict) else {}
        old = table.get(action_id)
        table[action_id] = {**(cast("dict[str, Any]", old) if isinstance(old, dict) else {}), **values}
        self._values["parameters"] = table
        self.save()

    def save(self) -> None:
        """Written whole or not at all; failing to remember must not stop anybody, so it is a notice."""
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=FILE_NAME)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self._values, file, indent=2)
            Path(name).replace(self.path)
        except OSError as error:
            self.notices.append(f"{self.path}: {error.strerror or error}; the layout is not remembered")
            self.path = None
