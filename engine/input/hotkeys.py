"""The keys that steer Secondseat, from any focus: one call per press, whichever way the press was heard.

Backends in this order: the platform's own listener (works while a game grabs the keyboard), then the ``keyboard``
package (Windows; on Linux as root with /dev/input). Without either, keys work in the terminal alone.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from data.vocabulary import CONTROL_HOTKEYS
from engine.input.keyboard_package import KeyboardPackage
from engine.input.presses import Presses
from engine.platforms import current_port
from engine.platforms.port import Listener, PlatformError, Port, RawInput

log = logging.getLogger(__name__)

TERMINAL: Final = "terminal"
_FIRST_RETRY_NS: Final = 1_000_000_000
_LAST_RETRY_NS: Final = 30_000_000_000
_HERE_ONLY: Final = "keys work in this terminal only"

HOTKEY_NAMES: Final[frozenset[str]] = frozenset({*(f"f{n}" for n in range(1, 25)), "pause", "scroll_lock", "insert", "print_screen"})


def check_hotkey(name: str) -> str:
    """The name in lower case. Raises ValueError that lists what is possible."""
    key = name.strip().lower()
    if key not in HOTKEY_NAMES:
        listed = "f1 to f24, insert, pause, print_screen, scroll_lock"
        raise ValueError(f"{name!r} cannot be a hotkey; use one of {listed}")
    return key


@dataclass(frozen=True, slots=True)
class HotkeyPress:
    """A press that counted: ``by`` is the backend that heard it first; ``time_ns`` monotonic, ``time_s`` wall clock."""

    name: str
    by: str
    time_ns: int
    time_s: float

    @property
    def text(self) -> str:
        return f"{self.name.upper()} {time.strftime('%H:%M:%S', time.localtime(self.time_s))} ({self.by})"


class Hotkeys:
    """``on_hotkey(name)`` is called once per press, from a listener's thread or from the caller of ``terminal_press``.

    ``look`` is called about twice a second: it notices a listener that died and a focused window that cannot be heard.
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
        self._make_port, self._clock_ns = make_port, clock_ns
        self._lock = threading.Lock()
        self._port_lock = threading.Lock()
        self._presses = Presses(self._keys, even_with_modifiers, self._really_down)
        self._port: Port | None = None
        self._listener: Listener | None = None
        self._keyboard: KeyboardPackage | None = None
        self._backend, self._why_off = "", "not started"
        self._why_dead, self._next_try_ns, self._wait_ns = "", 0, _FIRST_RETRY_NS
        self._obstacle = ""
        self._last: HotkeyPress | None = None

    @property
    def last(self) -> HotkeyPress | None:
        """The newest hotkey."""
        return self._last

    @property
    def backend(self) -> str:
        """What listens, or listened before it died; empty when nothing does."""
        return self._backend

    @property
    def state(self) -> str:
        """For the status line: the backend's name, or "off: why", or "dead: why"."""
        dead = self._death()
        if dead:
            return f"dead: {dead}; {_HERE_ONLY}"
        if self._obstacle:
            return f"{self._backend}, but not now: {self._obstacle}"
        return self._backend or f"off: {self._why_off}"

    def start(self) -> str:
        """Takes the first backend that works and returns ``state``. Never raises for a missing one."""
        if self._backend:
            return self.state
        try:
            self._open_port()
        except PlatformError as problem:
            self._why_off = str(problem)
            keyboard = KeyboardPackage(lambda name, press: self._on_key(name, press, self._clock_ns()))
            second = keyboard.start()
            if second:
                self._why_off += f"; {second}"
            else:
                self._keyboard, self._backend = keyboard, "keyboard"
        return self.state

    def look(self) -> bool:
        """Quick; whether ``revive`` is due, which may take a moment. Neither is called from a listener's thread."""
        if not self._backend:
            return False
        dead = self._death()
        if not dead:
            self._look_for_obstacles()
            return False
        if not self._why_dead:
            self._why_dead, self._wait_ns = dead, _FIRST_RETRY_NS
            self._next_try_ns = self._clock_ns() + self._wait_ns
            with self._lock:  # what was down when it died would stay so
                self._presses.forget()
            log.warning("global hotkeys are dead: %s; %s", dead, _HERE_ONLY)
        return self._keyboard is None and self._clock_ns() >= self._next_try_ns

    def stop(self) -> None:
        self._close_port()
        if self._keyboard is not None:
            self._keyboard.stop()
        self._keyboard = None
        self._backend, self._why_off, self._why_dead, self._obstacle = "", "stopped", "", ""

    def terminal_press(self, name: str) -> bool:
        """A hotkey as the terminal heard it. Fires unless the same press was heard globally; tells whether it did."""
        key, now_ns = name.lower(), self._clock_ns()
        with self._lock:
            counts = self._presses.in_terminal(key, now_ns, bool(self._backend) and not self._death())
        if counts:
            self._fire(key, TERMINAL, now_ns)
        return counts

    def _death(self) -> str:
        """Why the backend that was started hears nothing any more; empty while it does."""
        if self._keyboard is not None:
            return "" if self._keyboard.alive else "the keyboard package has stopped listening"
        listener = self._listener
        return self._why_dead if listener is None else listener.failure

    def _open_port(self) -> None:
        port = self._make_port()
        listener = port.listener(self._on_raw)
        try:
            listener.start()
        except PlatformError:
            port.close()
            raise
        with self._port_lock:
            self._port, self._listener, self._backend = port, listener, port.name

    def _close_port(self) -> None:
        with self._port_lock:
            port, listener, self._port, self._listener = self._port, self._listener, None, None
        if listener is not None:
            listener.stop()
        if port is not None:
            port.close()
        with self._lock:
            self._presses.forget()

    def revive(self) -> None:
        """Starts a dead listener again, or waits longer before the next try."""
        self._close_port()
        try:
            self._open_port()
        except PlatformError as problem:
            self._why_dead = str(problem)
            self._wait_ns = min(2 * self._wait_ns, _LAST_RETRY_NS)
            self._next_try_ns = self._clock_ns() + self._wait_ns
            return
        self._why_dead = ""
        log.info("global hotkeys listen again: %s", self._backend)

    def _look_for_obstacles(self) -> None:
        found = ""
        with self._port_lock, contextlib.suppress(OSError):  # a screen that has gone is the listener's to tell
            found = self._port.obstacle() if self._port is not None else ""
        if found and not self._obstacle:
            log.warning("global hotkeys are not heard while this window has the focus: %s", found)
        self._obstacle = found

    def _really_down(self) -> Collection[str] | None:
        with self._port_lock, contextlib.suppress(OSError):
            return self._port.pressed() if self._port is not None else None
        return None

    def _on_raw(self, raw: RawInput) -> None:
        if raw.kind in ("press", "release"):
            self._on_key(raw.name, raw.kind == "press", raw.time_ns)

    def _on_key(self, name: str, press: bool, time_ns: int) -> None:
        with self._lock:
            counts = self._presses.globally(name, press, self._clock_ns())
        if counts:
            self._fire(name, self._backend, time_ns)

    def _fire(self, name: str, by: str, time_ns: int) -> None:
        self._last = HotkeyPress(name, by, time_ns, time.time())
        try:
            self._on_hotkey(name)
        except Exception:
            log.exception("the hotkey %s was heard but not carried out", name.upper())
