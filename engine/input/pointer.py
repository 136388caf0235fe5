"""Notices a game that puts the pointer back into the middle of its window again and again, as first-person games do.

The pointer's places then say nothing of what the hand did; relative motion (``dx``, ``dy`` of a move) does.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from data.schema import InputEvent

NEAR: Final = 0.006
"""How close to the middle (in 0..1 of the picture) counts as in it: 4 px of 640."""
LEAST_MOTION: Final = 3
"""Device counts that a hand must have moved for a pointer found in the middle to have been put back there."""
TELL_COUNT: Final = 8
TELL_NS: Final = 2_000_000_000
"""So many times within this is a game's doing; a hand crosses the middle now and then."""


class CentreWatch:
    """``count``: how often the pointer was put back into the middle. ``noticed``: whether that is a game's doing."""

    def __init__(self) -> None:
        self.count = 0
        self.noticed = False
        self.has_motion = False
        """Whether relative motion came with the moves."""
        self._near = False
        self._recent_ns: deque[int] = deque(maxlen=TELL_COUNT)

    def see(self, event: InputEvent) -> bool:
        """Takes a move of a person; True once, when it is noticed."""
        if event.kind != "move" or event.actor == "bot" or event.x is None or event.y is None:
            return False
        self.has_motion |= bool(event.dx or event.dy)
        before, self._near = self._near, abs(event.x - 0.5) <= NEAR and abs(event.y - 0.5) <= NEAR
        if not self._near or (before and abs(event.dx) + abs(event.dy) < LEAST_MOTION):
            return False
        self.count += 1
        self._recent_ns.append(event.time_ns)
        often = len(self._recent_ns) == TELL_COUNT and event.time_ns - self._recent_ns[0] <= TELL_NS
        if self.noticed or not often:
            return False
        self.noticed = True
        return True

    def note(self) -> str:
        """For the session's metadata; empty when nothing was noticed."""
        if not self.noticed:
            return ""
        motion = "dx and dy of its moves hold what the hand did" if self.has_motion else "no relative motion is known on this platform"
        return f"the pointer was re-centred {self.count} times: its places say little, {motion}"
