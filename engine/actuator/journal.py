"""What the actuator says it sent, so that the engine's listener can tell the bot's events from a person's."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from engine.actuator.protocol import JournalEntry

KEPT: Final = 8192
EARLY_NS: Final = 30_000_000
LATE_NS: Final = 200_000_000
"""How much earlier (servers stamp coarsely) or later (listeners wake late) than it was sent an event may be stamped."""


class Journal:
    """The newest entries. Thread-safe; each press and release accounts for one event only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[JournalEntry] = deque(maxlen=KEPT)
        self._open: deque[JournalEntry] = deque(maxlen=KEPT)

    def add(self, rows: Iterable[list[Any]]) -> None:
        """Rows as the actuator sends them."""
        entries = [JournalEntry(*row) for row in rows]
        with self._lock:
            self._entries.extend(entries)
            self._open.extend(entry for entry in entries if not entry.dry)

    def entries(self) -> list[JournalEntry]:
        with self._lock:
            return list(self._entries)

    def claim(self, kind: str, name: str, time_ns: int, place: tuple[int, int] | None = None) -> bool:
        """Whether an event is the bot's. A press or release is then used up; a move is matched by its place."""
        with self._lock:
            while self._open and time_ns - self._open[0].after_ns > 2_000_000_000:
                self._open.popleft()
            for entry in self._open:
                if not entry.before_ns - EARLY_NS <= time_ns <= entry.after_ns + LATE_NS:
                    continue
                if kind == "move" and entry.kind == "move" and place is not None:
                    if abs(place[0] - (entry.x or 0)) <= 1 and abs(place[1] - (entry.y or 0)) <= 1:
                        return True
                elif (entry.kind, entry.name) == (kind, name):
                    self._open.remove(entry)
                    return True
        return False
