"""Notices a game that shows nothing of what the bot does, so that nobody thinks the bot asleep.

Games may ignore injected input: one that runs with more rights, or one that refuses it on purpose. It is said, and
nothing here gets round it.
"""

from __future__ import annotations

import sys
import threading
import zlib
from typing import Final

import numpy as np

from data.schema import Image

UNMOVED_NS: Final = 5_000_000_000
_LOOK_NS: Final = 250_000_000
"""Adding up a picture of 1920x1080 takes about 2 ms."""

_WHY: Final = (
    "if it runs as administrator it gets no input from other programs, so start it without"
    if sys.platform == "win32"
    else "see whether it is paused or waits in a menu"
)
NO_REACTION: Final = (
    f"the picture has not changed for {UNMOVED_NS // 1_000_000_000} s while the bot acts, as if the game took no injected input;"
    f" {_WHY}; a game that refuses it is left alone"
)


class ReactionWatch:
    """``acted`` is told of each press or held key, ``see`` of each picture; they may come from different threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._picture: int | None = None
        self._next_look_ns = 0
        self._unanswered_ns: int | None = None  # the first act since the picture changed
        self._hint = ""

    @property
    def hint(self) -> str:
        """What to think of it; empty while the game reacts, or nothing was done."""
        return self._hint

    def forget(self) -> None:
        """A new flight begins, or one ends."""
        with self._lock:
            self._unanswered_ns, self._picture, self._hint = None, None, ""

    def acted(self, time_ns: int) -> None:
        with self._lock:
            if self._unanswered_ns is None:
                self._unanswered_ns = time_ns

    def see(self, image: Image, time_ns: int) -> bool:
        """Whether it has just become clear that nothing happens."""
        if time_ns < self._next_look_ns:
            return False
        self._next_look_ns = time_ns + _LOOK_NS
        picture = zlib.crc32(np.ascontiguousarray(image).data)
        with self._lock:
            if picture != self._picture:
                self._picture, self._unanswered_ns, self._hint = picture, None, ""
                return False
            if self._hint or self._unanswered_ns is None or time_ns - self._unanswered_ns < UNMOVED_NS:
                return False
            self._hint = NO_REACTION
            return True
