"""The observations of the last moments as ``Steps``, written once each: what a policy reads its features from.

Rows lie in buffers that are longer than what is remembered; when they are full, what is remembered moves to their front.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.profile import GameProfile
from data.schema import NO_TARGET, Observation
from data.steps import NO_MODE, Steps

_ROWS: Final = 256
_TRACKS: Final = 8192


class Recent:
    """Observations of the last ``history_s`` seconds, in time order. Actions, actors and labels of its steps are empty."""

    def __init__(self, profile: GameProfile, history_s: float) -> None:
        self._profile, self._history_ns = profile, round(history_s * 1e9)
        names = (profile.level_names(), profile.flag_names(), tuple(profile.choice_sizes()), profile.cooldown_names())
        self._names = names
        ends = [2, *(2 + sum(len(n) for n in names[: i + 1]) for i in range(4))]
        self._parts = [slice(0, 2), *(slice(a, b) for a, b in itertools.pairwise(ends))]
        self._numbers = np.zeros((_ROWS, ends[-1]), np.float32)  # cursor, levels, flags, choices, cooldowns
        self._times = np.zeros((_ROWS, 3), np.int64)  # time, that of the picture, its number
        self._focus = np.zeros(_ROWS, np.bool_)
        self._offsets = np.zeros(_ROWS + 1, np.int64)
        self._tracks = _track_columns(_TRACKS)
        self._nothing, self._no_onsets = _no_actions(_ROWS), np.zeros(_ROWS + 1, np.int64)
        self.clear()

    def clear(self) -> None:
        self._first = self._end = 0
        self._offsets[0] = 0
        self._ticks: list[int] = []

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def times_ns(self) -> list[int]:
        """When each of them was made, in order."""
        return self._ticks

    def add(self, seen: Observation) -> None:
        """The newest observation; those that are older than ``history_s`` are forgotten."""
        tracks, count = seen.tracks, len(seen.tracks)
        self._make_room(count)
        at, status = self._end, seen.status
        start = int(self._offsets[at])
        stop = start + count
        columns = (tracks.ids, tracks.classes, tracks.boxes, tracks.confidences, tracks.velocities, tracks.ages_s, tracks.unseen_s)
        if count:
            for kept, column in zip(self._tracks, columns, strict=True):
                kept[start:stop] = column
        read = (status.levels, status.flags, status.choices, status.cooldowns)
        numbers: list[Any] = list(seen.cursor) if seen.cursor is not None else [None, None]
        for values, names in zip(read, self._names, strict=True):
            numbers += [values.get(name) for name in names]
        self._numbers[at] = np.array(numbers, np.float32)
        self._times[at] = (seen.time_ns, seen.frame_time_ns, seen.frame_number)
        self._focus[at] = seen.focus
        self._offsets[at + 1] = stop
        self._end = at + 1
        self._ticks.append(seen.time_ns)
        while seen.time_ns - self._ticks[0] > self._history_ns:
            del self._ticks[0]
            self._first += 1

    def _make_room(self, tracks: int) -> None:
        used = int(self._offsets[self._end])
        if self._end < _ROWS and used + tracks <= len(self._tracks[0]):
            return
        first, rows, base = self._first, len(self), int(self._offsets[self._first])
        if rows >= _ROWS:  # more rows than fit: the oldest goes, as after a slower clock
            first, base = first + 1, int(self._offsets[first + 1])
            rows -= 1
            del self._ticks[0]
        for column in (self._numbers, self._times, self._focus):
            column[:rows] = column[first : first + rows].copy()
        self._offsets[: rows + 1] = self._offsets[first : first + rows + 1] - base
        kept = used - base
        old = self._tracks
        if kept + tracks > len(old[0]):
            self._tracks = _track_columns(2 * (kept + tracks))
        for new, column in zip(self._tracks, old, strict=True):
            new[:kept] = column[base:used].copy()
        self._first, self._end = 0, rows

    def steps(self) -> Steps:
        """All of them. Views: good until the next ``add``."""
        rows = slice(self._first, self._end)
        base, used = int(self._offsets[self._first]), int(self._offsets[self._end])
        numbers, times = self._numbers[rows], self._times[rows]
        cursor, levels, flags, choices, cooldowns = (numbers[:, part] for part in self._parts)
        none = {name: column[: len(self)] for name, column in self._nothing.items()}
        return Steps(
            self._profile, times[:, 0], times[:, 1], times[:, 2], self._focus[rows], cursor, levels, flags, choices, cooldowns,
            self._offsets[self._first : self._end + 1] - base, *(column[base:used] for column in self._tracks),
            onset_offsets=self._no_onsets[: len(self) + 1], onset_codes=_NO_CODES, **none,
        )  # fmt: skip


_NO_CODES: Final = np.zeros(0, np.int16)


def _track_columns(size: int) -> tuple[NDArray[Any], ...]:
    """Ids, classes, boxes, confidences, velocities, ages and times unseen of ``size`` tracks, as in ``Steps``."""
    numbers = (np.zeros((size, *shape), np.float32) for shape in ((4,), (), (2,), (), ()))
    return (np.zeros(size, np.int32), np.zeros(size, np.int32), *numbers)


def _no_actions(rows: int) -> dict[str, NDArray[Any]]:
    """The columns of ``Steps`` that an observation does not fill."""
    return {
        "action_xy": np.full((rows, 2), 0.5, np.float32),
        "held": np.zeros(rows, np.uint64),
        "actor": np.zeros(rows, np.int8),
        "model_version": np.zeros(rows, np.int32),
        "mode": np.full(rows, NO_MODE, np.int8),
        "target_id": np.full(rows, NO_TARGET, np.int32),
    }
