"""Deadlines, not sleeps: a loop that is late skips turns and counts them; it never queues or drifts."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a paced loop. ``deadline_ns`` is when it should have begun, ``late_ns`` how much later it did;
    ``skipped`` turns were left out just before it."""

    number: int
    deadline_ns: int
    late_ns: int
    skipped: int


class Schedule:
    """Which turn is due when: pure arithmetic on a fixed grid, start + k * period."""

    def __init__(self, hz: float, start_ns: int) -> None:
        if not 0.0 < hz <= 1000.0:
            raise ValueError(f"{hz} Hz is not a rate; use more than 0 and at most 1000")
        self.period_ns = round(1e9 / hz)
        self._start_ns = start_ns
        self._last_slot = -1
        self.turns = 0
        self.skipped = 0

    @property
    def next_deadline_ns(self) -> int:
        return self._start_ns + (self._last_slot + 1) * self.period_ns

    def begin(self, now_ns: int) -> Turn:
        """Begin the turn that is due at ``now_ns`` (at or after ``next_deadline_ns``). When whole periods have
        passed, the newest slot is taken and those before it are counted as skipped."""
        slot = max(self._last_slot + 1, (now_ns - self._start_ns) // self.period_ns)
        skipped = slot - self._last_slot - 1 if self.turns else 0  # a grid may have begun long before its first turn
        self._last_slot = slot
        self.skipped += skipped
        turn = Turn(self.turns, self._start_ns + slot * self.period_ns, max(0, now_ns - (self._start_ns + slot * self.period_ns)), skipped)
        self.turns += 1
        return turn


class Pacer:
    """A Schedule on the real clock, from ``start_ns`` on (now by default): loops with one start keep step."""

    def __init__(self, hz: float, start_ns: int | None = None, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self.schedule = Schedule(hz, clock_ns() if start_ns is None else start_ns)

    def wait(self, stop: threading.Event) -> Turn | None:
        """Sleep until the next deadline; None when ``stop`` was set meanwhile. Ends at most one period (or
        50 ms) after ``stop``: plain sleeps are more exact than waits on an event."""
        while not stop.is_set():
            left_ns = self.schedule.next_deadline_ns - self._clock_ns()
            if left_ns <= 0:
                return self.schedule.begin(self._clock_ns())
            time.sleep(min(left_ns / 1e9, 0.05))
        return None


class Spread:
    """The last ``size`` measurements of one thing, with quantiles. One thread adds, any thread reads."""

    def __init__(self, size: int = 200) -> None:
        self._values: deque[float] = deque(maxlen=size)

    def add(self, value: float) -> None:
        self._values.append(value)

    def quantile(self, q: float) -> float:
        """The q-quantile (0..1); 0 when nothing was measured."""
        values = list(self._values)
        return float(np.quantile(values, q)) if values else 0.0

    def __len__(self) -> int:
        return len(self._values)


class Rate:
    """Turns a second over the last ``window_s``."""

    def __init__(self, window_s: float = 5.0) -> None:
        self._window_ns = round(window_s * 1e9)
        self._times: deque[int] = deque(maxlen=4096)

    def mark(self, now_ns: int) -> None:
        self._times.append(now_ns)

    def hz(self, now_ns: int) -> float:
        recent = [t for t in list(self._times) if now_ns - t <= self._window_ns]
        if len(recent) < 2:
            return 0.0
        span_ns = max(recent[-1] - recent[0], 1)
        # A loop that has stopped must not go on showing its old rate.
        if now_ns - recent[-1] > max(4 * span_ns // len(recent), 500_000_000):
            return 0.0
        return (len(recent) - 1) * 1e9 / span_ns
