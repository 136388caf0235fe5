"""Which of the presses that are heard count: one per press, though several ears may hear it. No input or output here.

All times are monotonic nanoseconds. One caller at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from engine.platforms.keys import MODIFIERS

SAME_PRESS_NS: Final = 250_000_000
"""One press heard globally and in the terminal mostly comes within this time."""
ECHO_NS: Final = 1_500_000_000
"""A terminal that is slow may tell a press this much later than it was heard globally: it is told once for each."""
REPEAT_NS: Final = 700_000_000
"""A terminal knows no releases: the same key again within the repeat delay is a held key."""
BOUNCE_NS: Final = 40_000_000
"""A worn key that is let go and down again within this time was pressed once."""
DOUBTED_NS: Final = 2_000_000_000
"""A modifier that has been down for so long is looked at: a lock screen swallows its release."""


class Presses:
    """A key with Ctrl, Shift, Alt or Meta is another key, except those in ``even_with_modifiers``.

    ``really_down`` tells what is down now, None where that cannot be asked.
    """

    def __init__(
        self, keys: Collection[str], even_with_modifiers: Collection[str], really_down: Callable[[], Collection[str] | None]
    ) -> None:
        self._keys, self._any_modifier, self._really_down = frozenset(keys), frozenset(even_with_modifiers), really_down
        self._modifiers: dict[str, int] = {}
        self._down: set[str] = set()
        self._fired_ns: dict[str, int] = {}
        self._global_ns: dict[str, int] = {}  # the newest press or release heard globally
        self._terminal_ns: dict[str, int] = {}
        self._echo_due_ns: dict[str, int] = {}

    def forget(self) -> None:
        """Nothing is known to be down any more: the ear that heard it is gone."""
        self._modifiers.clear()
        self._down.clear()
        self._echo_due_ns.clear()

    def globally(self, name: str, press: bool, now_ns: int) -> bool:
        """A key as it was heard from any focus; whether it counts."""
        if name in MODIFIERS:
            if press:
                self._modifiers[name] = now_ns
            else:
                self._modifiers.pop(name, None)
            return False
        if name not in self._keys:
            return False
        if not press:
            if name in self._down:
                self._down.discard(name)
                self._global_ns[name] = now_ns
            return False
        if name in self._down:
            return False
        self._down.add(name)
        if name not in self._any_modifier and self._with_modifier(now_ns):
            return False
        bounced = _within(self._fired_ns.get(name), now_ns, BOUNCE_NS)
        told = _within(self._terminal_ns.get(name), now_ns, SAME_PRESS_NS)
        self._global_ns[name] = now_ns
        if told or bounced:
            return False
        self._fired_ns[name] = self._echo_due_ns[name] = now_ns
        return True

    def in_terminal(self, name: str, now_ns: int, heard_globally: bool) -> bool:
        """A key as the terminal heard it; ``heard_globally``: whether another ear is at work. Whether it counts."""
        if name not in self._keys:
            return False
        before_ns, self._terminal_ns[name] = self._terminal_ns.get(name), now_ns
        echo_of_ns = self._echo_due_ns.pop(name, None)
        if name in self._down or _within(self._global_ns.get(name), now_ns, SAME_PRESS_NS):
            return False
        if heard_globally and _within(echo_of_ns, now_ns, ECHO_NS):
            return False
        if _within(before_ns, now_ns, REPEAT_NS) and not heard_globally:
            return False
        self._fired_ns[name] = now_ns
        return True

    def _with_modifier(self, now_ns: int) -> bool:
        if any(now_ns - since_ns > DOUBTED_NS for since_ns in self._modifiers.values()):
            down = self._really_down()
            if down is not None:
                self._modifiers = {name: since_ns for name, since_ns in self._modifiers.items() if name in down}
        return bool(self._modifiers)


def _within(before_ns: int | None, now_ns: int, span_ns: int) -> bool:
    return before_ns is not None and now_ns - before_ns < span_ns
