"""Notices, from picture to picture, that the machine slept, or that its wall clock was set. Monotonic times never jump."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

STEP_NS: Final = 500_000_000
"""A wall clock that moves against the monotonic one by more than this at once was set; slewing is far slower."""


def _boot_ns() -> int | None:
    """Time since boot with sleep, where the system tells it apart (Linux); elsewhere the monotonic clock itself counts sleep."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock is None else time.clock_gettime_ns(clock)


@dataclass(frozen=True, slots=True)
class Jump:
    """What happened since the look before. ``wall_step_s``: how far the wall clock was set forward (or back)."""

    slept_s: float = 0.0
    wall_step_s: float = 0.0


class ClockWatch:
    """``look`` is cheap enough for every picture."""

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        boot_ns: Callable[[], int | None] = _boot_ns,
    ) -> None:
        self._wall_ns, self._monotonic_ns, self._boot_ns = wall_ns, monotonic_ns, boot_ns
        self._offsets_ns: tuple[int, int] | None = None

    def reset(self) -> None:
        """What happened until now is of no interest."""
        self._offsets_ns = None

    def look(self) -> Jump:
        now_ns, wall_ns, boot_ns = self._monotonic_ns(), self._wall_ns(), self._boot_ns()
        offsets_ns = (wall_ns - now_ns, 0 if boot_ns is None else boot_ns - now_ns)
        before_ns, self._offsets_ns = self._offsets_ns, offsets_ns
        if before_ns is None:
            return Jump()
        slept_ns = offsets_ns[1] - before_ns[1]
        slept_ns = slept_ns if slept_ns > STEP_NS else 0
        step_ns = offsets_ns[0] - before_ns[0] - slept_ns  # while the machine slept the wall clock went on rightly
        return Jump(slept_ns / 1e9, step_ns / 1e9 if abs(step_ns) > STEP_NS else 0.0)
