"""What a listener knows to be down: folds auto-repeat, and survives a release that nobody told it.

Who holds a key belongs to what is held: a person who presses the key that the bot holds takes the controls back by it, and is no
auto-repeat of the bot's press.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

MISSED_NS: Final = 2_000_000_000
"""A held key repeats at least this often (the longest delay before repeating is one second). After a longer silence a
press is a new one: its release was lost, to a lock screen or a prompt of the system."""

What = TypeVar("What", bound=Hashable)


class Held(Generic[What]):
    """Keys and buttons that are down, each with the time of its newest press or repeat."""

    def __init__(self) -> None:
        self._pressed_ns: dict[What, int] = {}

    def changes(self, what: What, press: bool, time_ns: int) -> bool:
        """Notes an event; whether it is more than an auto-repeat. A release always counts."""
        if not press:
            self._pressed_ns.pop(what, None)
            return True
        before_ns, self._pressed_ns[what] = self._pressed_ns.get(what), time_ns
        return before_ns is None or time_ns - before_ns > MISSED_NS
