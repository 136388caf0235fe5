"""The keys that steer Secondseat, from any focus: one call per press, whichever way the press was heard.

Backends in this order: the platform's own listener (works while a game grabs the keyboard), then the ``keyboard``
package (Windows; on Linux as root with /dev/input). Without either, keys work in the terminal alone.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, Final

from data.vocabulary import CONTROL_HOTKEYS
from engine.platforms import current_port
from engine.platforms.keys import MODIFIERS
from engine.platforms.port import Listener, PlatformError, Port, RawInput

log = logging.getLogger(__name__)

SAME_PRESS_NS: Final = 250_000_000
"""One press heard globally and in the terminal comes within this time."""
REPEAT_NS: Final = 700_000_000
"""A terminal knows no releases: the same key again within the repeat delay is a held key."""

HOTKEY_NAMES: Final[frozenset[str]] = frozenset({*(f"f{n}" for n in range(1, 25)), "pause", "scroll_lock", "insert", "print_screen"})


def check_hotkey(name: str) -> str:
    """The name in lower case. Raises ValueError that lists what is possible."""
    key = name.strip().lower()
    if key not in HOTKEY_NAMES:
        listed = "f1 to f24, insert, pause, print_screen, scroll_lock"
        raise ValueError(f"{name!r} cannot be a hotkey; use one of {listed}")
    return key


class Hotkeys:
    """``on_hotkey(name)`` is called once per press, from a listener's thread or from the caller of ``terminal_press``.

    A key with Ctrl, Shift, Alt or Meta is another key, except those in ``even_with_modifiers`` (the emergency stop).
    """

    def __init__(
        self,
        on_hotkey: Callable[[str], None],
        keys: Collection[str] = CONTROL_HOTKEYS,
        even_with_modifiers: Collection[str] = ("f8",),
        make_port: Callable[[], Port] = current_port,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._on_hotkey = on_hotkey
        self._keys = frozenset(check_hotkey(key) for key in keys)
        self._any_modifier = frozenset(even_with_modifiers)
        self._make_port, self._clock_ns = make_port, clock_ns
        self._lock = threading.Lock()
        self._port: Port | None = None
        self._listener: Listener | None = None
        self._keyboard: tuple[Any, Any] | None = None  # the package and its hook
        self._backend, self._why_off = "", "not started"
        self._modifiers: set[str] = set()
        self._down: set[str] = set()
        self._global_ns: dict[str, int] = {}
        self._terminal_ns: dict[str, int] = {}
        self._last: tuple[str, int] | None = None

    @property
    def last(self) -> tuple[str, int] | None:
        """The newest hotkey and when it was pressed (monotonic ns)."""
        return self._last

    @property
    def state(self) -> str:
        """For the status line: the backend's name, or "off: why", or "dead: why"."""
        if self._listener is not None and self._listener.failure:
            return f"dead: {self._listener.failure}; keys work in this terminal only"
        if self._keyboard is not None and not self._keyboard_lives():
            return "dead: the keyboard package has stopped listening; keys work in this terminal only"
        return self._backend or f"off: {self._why_off}"

    def start(self) -> str:
        """Takes the first backend that works and returns ``state``. Never raises for a missing one."""
        if self._backend:
            return self.state
        try:
            port = self._make_port()
            try:
                self._listener = port.listener(self._on_raw)
                self._listener.start()
            except PlatformError:
                self._listener = None
                port.close()
                raise
            self._port, self._backend = port, port.name
        except PlatformError as problem:
            self._why_off = str(problem)
            second = self._start_keyboard()
            if second:
                self._why_off += f"; {second}"
        return self.state

    def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._keyboard is not None:
            package, hook = self._keyboard
            package.unhook(hook)
        if self._port is not None:
            self._port.close()
        self._listener = self._keyboard = self._port = None
        self._backend, self._why_off = "", "stopped"
        with self._lock:
            self._modifiers.clear()
            self._down.clear()

    def terminal_press(self, name: str) -> bool:
        """A hotkey as the terminal heard it. Fires unless the same press was heard globally; tells whether it did."""
        key = name.lower()
        if key not in self._keys:
            return False
        now_ns = self._clock_ns()
        with self._lock:
            before_ns, self._terminal_ns[key] = self._terminal_ns.get(key), now_ns
            if key in self._down or _within(self._global_ns.get(key), now_ns, SAME_PRESS_NS):
                return False
            if _within(before_ns, now_ns, REPEAT_NS) and not self._globally():
                return False
        self._fire(key, now_ns)
        return True

    def _globally(self) -> bool:
        return bool(self._backend) and not self.state.startswith("dead")

    def _on_raw(self, raw: RawInput) -> None:
        if raw.kind in ("press", "release"):
            self._on_key(raw.name, raw.kind == "press", raw.time_ns)

    def _on_key(self, name: str, press: bool, time_ns: int) -> None:
        with self._lock:
            if name in MODIFIERS:
                (self._modifiers.add if press else self._modifiers.discard)(name)
                return
            if name not in self._keys:
                return
            if not press:
                self._down.discard(name)
                return
            if name in self._down:
                return
            self._down.add(name)
            if self._modifiers and name not in self._any_modifier:
                return
            now_ns = self._clock_ns()
            self._global_ns[name] = now_ns
            if _within(self._terminal_ns.get(name), now_ns, SAME_PRESS_NS):
                return
        self._fire(name, time_ns)

    def _fire(self, name: str, time_ns: int) -> None:
        self._last = (name, time_ns)
        try:
            self._on_hotkey(name)
        except Exception:
            log.exception("the hotkey %s was heard but not carried out", name.upper())

    def _start_keyboard(self) -> str:
        """The ``keyboard`` package. Returns why it does not work here, empty when it does."""
        try:
            with warnings.catch_warnings():  # it warns that it could not make a device to type with: it is only to listen
                warnings.simplefilter("ignore")
                package: Any = import_module("keyboard")
                hook = package.hook(self._on_keyboard_event)
        except ImportError as problem:
            return f"keyboard: {problem}"
        except AssertionError:
            return "keyboard: there is no /dev/input to read"
        except FileNotFoundError as problem:
            return f"keyboard: {problem.filename or problem} is missing"
        except OSError as problem:
            return f"keyboard: {problem}"
        self._keyboard, self._backend = (package, hook), "keyboard"
        return "" if self._keyboard_lives() else "keyboard: it does not listen"

    def _keyboard_lives(self) -> bool:
        """Its listening thread may die by itself (no dumpkeys program), without a word to us."""
        assert self._keyboard is not None
        thread = getattr(getattr(self._keyboard[0], "_listener", None), "listening_thread", None)
        return thread is None or bool(thread.is_alive())

    def _on_keyboard_event(self, event: Any) -> None:
        name = str(event.name or "").lower()
        name = {"control": "ctrl", "left windows": "meta", "right windows": "meta_right", "right ctrl": "ctrl_right"}.get(name, name)
        self._on_key(name, event.event_type == "down", self._clock_ns())


def _within(before_ns: int | None, now_ns: int, span_ns: int) -> bool:
    return before_ns is not None and now_ns - before_ns < span_ns
