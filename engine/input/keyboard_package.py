"""The ``keyboard`` package as a second ear for hotkeys: on Windows, and on Linux as root with /dev/input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

_NAMES: Final = {
    "control": "ctrl",
    "left ctrl": "ctrl",
    "right ctrl": "ctrl_right",
    "left shift": "shift",
    "right shift": "shift_right",
    "left alt": "alt",
    "right alt": "alt_right",
    "alt gr": "alt_right",
    "windows": "meta",
    "left windows": "meta",
    "right windows": "meta_right",
    "scroll lock": "scroll_lock",
    "print screen": "print_screen",
}


class KeyboardPackage:
    """``on_key(name, press)`` is called from the package's thread."""

    def __init__(self, on_key: Callable[[str, bool], None]) -> None:
        self._on_key = on_key
        self._package: Any = None
        self._hook: Any = None

    def start(self) -> str:
        """Returns why it does not work here, empty when it does."""
        try:
            with warnings.catch_warnings():  # it warns that it could not make a device to type with: it is only to listen
                warnings.simplefilter("ignore")
                package: Any = import_module("keyboard")
                self._hook = package.hook(self._on_event)
        except ImportError as problem:
            return f"keyboard: {problem}"
        except AssertionError:
            return "keyboard: there is no /dev/input to read"
        except FileNotFoundError as problem:
            return f"keyboard: {problem.filename or problem} is missing"
        except OSError as problem:
            return f"keyboard: {problem}"
        self._package = package
        return "" if self.alive else "keyboard: it does not listen"

    def stop(self) -> None:
        if self._package is not None:
            self._package.unhook(self._hook)
        self._package = self._hook = None

    @property
    def alive(self) -> bool:
        """Its listening thread may die by itself (no dumpkeys program), without a word to us."""
        thread = getattr(getattr(self._package, "_listener", None), "listening_thread", None)
        return self._package is not None and (thread is None or bool(thread.is_alive()))

    def _on_event(self, event: Any) -> None:
        name = str(event.name or "").lower()
        self._on_key(_NAMES.get(name, name), event.event_type == "down")
