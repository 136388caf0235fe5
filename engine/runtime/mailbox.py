"""Between stages stands a mailbox of the newest value, or a bounded queue that drops and counts. Nothing piles up."""

from __future__ import annotations

import threading
from collections import deque
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


class BoundedQueue(Generic[T]):
    """A queue of at most ``limit`` values. When it is full, ``offer`` refuses and counts; it never blocks."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"a queue of {limit} values holds nothing; use 1 or more")
        self.limit = limit
        self.dropped = 0
        self._condition = threading.Condition()
        self._values: deque[T] = deque()

    def __len__(self) -> int:
        return len(self._values)

    def offer(self, value: T) -> bool:
        """Add a value; False when there was no room (then it is dropped and counted)."""
        with self._condition:
            if len(self._values) >= self.limit:
                self.dropped += 1
                return False
            self._values.append(value)
            self._condition.notify()
            return True

    def take_all(self, timeout_s: float) -> list[T]:
        """Everything in the queue, in order; waits up to ``timeout_s`` for a first value."""
        with self._condition:
            self._condition.wait_for(lambda: bool(self._values), timeout_s)
            values = list(self._values)
            self._values.clear()
            return values
