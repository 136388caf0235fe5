"""Notices a game that puts the pointer back into the middle of its window again and again, as first-person games do.

The pointer's places then say nothing of what the hand did; relative motion (``dx``, ``dy`` of a move) does.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from data.geometry import Rect

NEAR_PX: Final = 3
TELL_COUNT: Final = 15
TELL_NS: Final = 2_000_000_000
"""So many times within this is a game's doing; a hand crosses the middle now and then."""


class CentreWatch:
    """``count``: how often the pointer came back into the middle; ``noticed``: whether that is a game's doing.

    One thread at a time calls ``see``; any may read.
    """

    def __init__(self) -> None:
        self.count = 0
        self.noticed = False
        self.has_motion = False
        """Whether relative motion comes with the moves."""
        self._near = True
        self._recent_ns: deque[int] = deque(maxlen=TELL_COUNT)

    def see(self, time_ns: int, x: int, y: int, rect: Rect, dx: int = 0, dy: int = 0) -> None:
        """The pointer is at ``x``, ``y`` of the screen, and has moved by ``dx``, ``dy`` since last seen (0: by nothing known)."""
        if dx or dy:
            self.has_motion = True
            self._at(time_ns, x - dx, y - dy, rect)  # where it was before the hand moved it
        self._at(time_ns, x, y, rect)

    def _at(self, time_ns: int, x: int, y: int, rect: Rect) -> None:
        before, self._near = self._near, _in_the_middle(x, y, rect)
        if before or not self._near:
            return
        self.count += 1
        self._recent_ns.append(time_ns)
        if len(self._recent_ns) == TELL_COUNT and time_ns - self._recent_ns[0] <= TELL_NS:
            self.noticed = True

    def remark(self, count: int) -> str:
        """For the metadata of a session during which it happened so often."""
        motion = "dx and dy of its moves hold what the hand did" if self.has_motion else "no relative motion is known on this platform"
        return f"the pointer was re-centred {count} times: its places say little, {motion}"


def _in_the_middle(x: int, y: int, rect: Rect) -> bool:
    return abs(x - rect.left - rect.width / 2) <= NEAR_PX and abs(y - rect.top - rect.height / 2) <= NEAR_PX
