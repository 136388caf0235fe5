"""Action chunks in flight: the next K ticks foretold at once, and what of them holds now (Zhao et al. 2023, ACT).

With temporal ensembling every tick foretells anew, and what is done now is the weighted mean of all that was foretold of now: weight
exp(-decay * i), i counting from the oldest. Else the first n ticks of a chunk are flown as they were foretold, and only then the next
one counts. Hazards are averaged as the network says them, with the weight that presses had in training (``trainers.pressing``): the mean
leans towards the smaller ones, which counting presses makes up for. A place is averaged only over chunks with the same aim: the mean
of two ways is neither.

Numpy only. Legend: T ticks, K ticks of a chunk, I buttons and keys.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
SAME_AIM: Final = 0.05
"""Points nearer to each other than this, in 0..1 of the picture, are one aim."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """``ticks``: how many are foretold at once; 1: only the present one, no chunks. ``first``: so many of them are flown before the next
    chunk counts; 0: temporal ensembling. ``decay``: how much less a newer chunk counts than one a tick older (0: alike)."""

    ticks: int = 1
    first: int = 0
    decay: float = 0.01

    def __post_init__(self) -> None:
        if not (1 <= self.ticks <= 40 and 0 <= self.first <= self.ticks and 0 <= self.decay <= 10):
            raise ValueError(f"{self}: ticks lie in 1..40, first in 0..ticks (0: ensembling), decay in 0..10")


@dataclass(frozen=True, slots=True)
class Plan:
    """A chunk. ``point`` [2]: where its click is to be; ``path`` [K, 2]: where the cursor is after each tick, all in 0..1 of the picture;
    ``hazards`` [K, I]: how likely each button or key goes down in each tick."""

    point: Floats
    path: Floats
    hazards: Floats


class Chunks:
    """The chunks that still hold, tick by tick. Not thread-safe."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._plans: deque[tuple[int, Plan]] = deque()  # with the tick each was made in
        self._tick = 0

    def forget(self) -> None:
        """What was foretold holds no more: a click changed the scene, or a flight begins."""
        self._plans.clear()

    def tick(self, plan: Plan) -> Plan:
        """What holds now, as a chunk of one tick, given what is foretold in this tick."""
        if self._chunk.first:
            if not self._plans or self._tick - self._plans[0][0] >= self._chunk.first:
                self._plans.clear()
                self._plans.append((self._tick, plan))
        else:
            self._plans.append((self._tick, plan))
            while self._tick - self._plans[0][0] >= self._chunk.ticks:
                self._plans.popleft()
        steps = [(self._tick - made, one) for made, one in self._plans]
        self._tick += 1
        newest = steps[-1][1]
        weights = np.exp(-self._chunk.decay * np.arange(len(steps))).astype(np.float32)
        same = np.array([np.abs(one.point - newest.point).max() < SAME_AIM for _, one in steps])
        path = np.stack([one.path[k] for k, one in steps])[same]
        hazards = np.stack([one.hazards[k] for k, one in steps])
        place = np.average(path, axis=0, weights=weights[same])
        return Plan(newest.point, place[None].astype(np.float32), np.average(hazards, axis=0, weights=weights)[None].astype(np.float32))


def flown(hazards_TKI: NDArray[Any], stretch_T: NDArray[Any], chunk: Chunk) -> Floats:
    """[T, I] the hazards that ``Chunks`` would fly by at every row, of rows in time order; ``stretch`` numbers the stretches."""
    total = len(hazards_TKI)
    rows = np.arange(total)
    age = rows - np.searchsorted(stretch_T, stretch_T)  # ticks since the stretch began
    if chunk.first:
        step = age % chunk.first
        return hazards_TKI[rows - step, step].astype(np.float32)
    held = np.minimum(age + 1, chunk.ticks)
    summed, weight = np.zeros_like(hazards_TKI[:, 0], np.float64), np.zeros(total)
    for step in range(chunk.ticks):
        some = rows[step < held]
        its = np.exp(-chunk.decay * (held[some] - 1 - step))
        summed[some] += its[:, None] * hazards_TKI[some - step, step]
        weight[some] += its
    return (summed / weight[:, None]).astype(np.float32)
