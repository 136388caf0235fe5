"""Between stages stands a mailbox of the newest value: nothing piles up, nothing waits."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Newest(Generic[T]):
    """One slot: a put replaces what nobody has taken. Any number of threads may put and read."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._value: T | None = None
        self._version = 0
        self.replaced = 0
        """Values that were overwritten before anybody read them."""
        self._read_version = 0

    def put(self, value: T) -> None:
        with self._condition:
            if self._version > self._read_version:
                self.replaced += 1
            self._value = value
            self._version += 1
            self._condition.notify_all()

    def peek(self) -> tuple[T | None, int]:
        """The newest value and its version (0: nothing yet). It stays in the slot."""
        with self._condition:
            self._read_version = self._version
            return self._value, self._version

    def look(self) -> T | None:
        """The newest value, for an onlooker: it does not count as read."""
        with self._condition:
            return self._value

    def wait_newer(self, version: int, timeout_s: float) -> tuple[T | None, int]:
        """Wait until something newer than ``version`` is there, or the time is over; then as ``peek``."""
        with self._condition:
            self._condition.wait_for(lambda: self._version > version, timeout_s)
            self._read_version = self._version
            return self._value, self._version

    def clear(self) -> None:
        with self._condition:
            self._value = None
