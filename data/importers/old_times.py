"""When the pictures of the earlier scripts' recordings were taken, told by times of which some may be of no use. Times are in any unit."""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final, cast

UNITS: Final[Mapping[str, float]] = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
LONGEST_STEP_S: Final = 2.0
"""Times are in the largest unit in which their median step is no longer than this."""
SHORTEST_STEP_S: Final = 1e-4
"""Two pictures are further apart than this, whatever the unit."""
LEAST_TIMES: Final = 10
"""Of which the median step is taken for all, where most of a file's times are of no use."""


def growing(times: Sequence[float | None]) -> list[tuple[int, float]]:
    """The longest run of times that grow, as (row, time), whatever stands between them (patience sorting); of equal ones the first."""
    ends: list[tuple[float, int]] = []  # for each length of a run: the earliest time that ends one, and its row
    before = [-1] * len(times)
    for row, time in enumerate(times):
        if time is None:
            continue
        place = bisect_left(ends, (time, -1))
        if place == len(ends):
            ends.append((time, row))
        elif time < ends[place][0]:
            ends[place] = (time, row)
        else:
            continue
        before[row] = ends[place - 1][1] if place else -1
    found: list[tuple[int, float]] = []
    row = ends[-1][1] if ends else -1
    while row >= 0:
        found.append((row, cast("float", times[row])))
        row = before[row]
    return found[::-1]


def median_step(kept: Sequence[tuple[int, float]]) -> float:
    """Of one row, in the unit of the times, which grow; rows that are left out in between count."""
    return statistics.median((later - time) / (below - row) for (row, time), (below, later) in itertools.pairwise(kept))


def unit_of(step: float) -> str | None:
    """In which unit a step of this size is that of pictures; None: in none."""
    return next((unit for unit, a_second in UNITS.items() if SHORTEST_STEP_S <= step <= LONGEST_STEP_S * a_second), None)


def filled(kept: Sequence[tuple[int, float]], step_s: float, count: int) -> list[float]:
    """The times of all ``count`` rows in s from the first, of which some are kept. The others lie evenly between their neighbours, or where
    that takes them far apart a median step after one another before the pause that is there; so do those at both ends."""
    times = [kept[0][1] + (row - kept[0][0]) * step_s for row in range(kept[0][0])]
    for (row, time_s), (below, later_s) in itertools.pairwise(kept):
        even_s = (later_s - time_s) / (below - row)
        apart_s = even_s if even_s <= 2 * step_s else step_s
        times += [time_s + i * apart_s for i in range(below - row)]
    times += [kept[-1][1] + i * step_s for i in range(count - kept[-1][0])]
    return [time_s - times[0] for time_s in times]
