"""Which keys a game uses: counted while a person plays it.

Privacy: only names are kept, and how often each was pressed; neither order nor time nor text. Keys count only while the
game's window has the focus, and the keys that steer Secondseat never do.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable

from data.vocabulary import CONTROL_HOTKEYS
from engine.platforms import current_port
from engine.platforms.keys import TWINS
from engine.platforms.port import Listener, PlatformError, Port, RawInput

log = logging.getLogger(__name__)

PRIVACY = "Only the names of keys are kept, and how often each was pressed while the game had the focus; no text, no order, no times."


class KeyCount:
    """Presses by key. A right-hand key counts as its left twin, as it does in recordings."""

    def __init__(self, control_keys: Collection[str] = ()) -> None:
        self._control = CONTROL_HOTKEYS | frozenset(control_keys)
        self._counts: Counter[str] = Counter()
        self.clicks = 0

    def wanted(self, raw: RawInput) -> bool:
        """Whether the event can count at all: asked before the focus is."""
        return raw.kind == "press" and raw.name not in self._control

    def press(self, name: str) -> None:
        if name in ("mouse_left", "mouse_right", "mouse_middle"):
            self.clicks += 1
        else:
            self._counts[TWINS.get(name, name)] += 1

    def most_used(self) -> list[tuple[str, int]]:
        """Keys and their presses, the most used first."""
        return sorted(self._counts.items(), key=lambda row: (-row[1], row[0]))


class KeyChoice:
    """The keys that were seen or typed, and which of them are the game's. New ones are taken until they are dropped."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.counts: dict[str, int] = dict.fromkeys(keys, 0)
        self._dropped: set[str] = set()

    def see(self, counts: Iterable[tuple[str, int]]) -> None:
        """What was counted by now."""
        self.counts.update(counts)

    def add(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.counts.setdefault(key, 0)
            self._dropped.discard(key)

    def toggle(self, key: str) -> None:
        self._dropped ^= {key}

    def rows(self) -> list[tuple[str, int, bool]]:
        """Each key, its presses, and whether it is taken, in the order in which they came up."""
        return [(key, count, key not in self._dropped) for key, count in self.counts.items()]

    def chosen(self) -> tuple[str, ...]:
        return tuple(key for key, _, taken in self.rows() if taken)


class KeyWatch:
    """Counts the keys of one window until it is stopped. ``counts()`` may be asked from any thread."""

    def __init__(self, window_id: int, control_keys: Collection[str] = (), make_port: Callable[[], Port] = current_port) -> None:
        self._window_id, self._make_port = window_id, make_port
        self._count = KeyCount(control_keys)
        self._lock = threading.Lock()
        self._port: Port | None = None
        self._listener: Listener | None = None

    def start(self) -> None:
        """Raises PlatformError when keys cannot be listened to here."""
        port = self._make_port()
        try:
            listener = port.listener(self._on_raw)
            self._port = port
            listener.start()
        except PlatformError:
            self._port = None
            port.close()
            raise
        self._listener = listener

    def stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()
        with self._lock:
            port, self._port = self._port, None
        if port is not None:
            port.close()

    @property
    def failure(self) -> str:
        """Why nothing is heard any more; empty while all is well."""
        return self._listener.failure if self._listener is not None else "not listening"

    def focus(self) -> bool:
        with self._lock:
            return self._has_focus()

    def counts(self) -> list[tuple[str, int]]:
        with self._lock:
            return self._count.most_used()

    @property
    def clicks(self) -> int:
        return self._count.clicks

    def _on_raw(self, raw: RawInput) -> None:
        """In the platform's thread. What was pressed elsewhere is dropped here, before it is counted."""
        if not self._count.wanted(raw):
            return
        with self._lock:
            if self._has_focus():
                self._count.press(raw.name)

    def _has_focus(self) -> bool:
        """The lock is held: a port belongs to one thread at a time."""
        try:
            return self._port is not None and self._port.has_focus(self._window_id)
        except Exception as problem:  # the window or the screen has gone: no focus, and nothing counts
            log.debug("the focus could not be asked for: %s", problem)
            return False
