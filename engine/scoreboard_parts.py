"""What a policy said of stretches of play, cut into parts, and how far a figure is to be trusted: how much it changes when each part of
the play is left out in turn.

Legend: S seconds (1 Hz), D decisions (5 Hz), R ticks, N places of the Tactician's set, M modes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from data.steps import Steps
from engine.replay import Actions
from engine.scores import jackknife_interval

PART_S: Final = 60.0
"""Play this far apart is taken for play by itself: the length of an arena episode."""
MOST_PARTS: Final = 30
"""Of longer play the parts are longer: each costs every figure once more."""


@dataclass(frozen=True, slots=True)
class Again:
    """What the demonstrator does in one row when it plays it again. ``mode``: index into MODES or NO_MODE; ``point`` in 0..1."""

    onsets: tuple[str, ...]
    mode: int
    target_id: int
    point: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Said:
    """Labels and answers of rows ``start`` to ``stop`` of a session: ``modes`` and ``targets`` by row of the session; mode_rows [S],
    mode_likely [S, M], mode_chosen [S], target_rows [D], target_ids [D, N], target_likely [D, N + 1], target_chosen [D]; ``actions`` and
    ``told`` [R] by what the Executor was told of the target, ``swapped`` [R] with other pictures, ``again`` [R] the second run. ``fired``
    keeps what was found once: the ticks in which each input would be pressed."""

    steps: Steps
    start: int
    stop: int
    modes: NDArray[np.int8]
    targets: NDArray[np.int32]
    mode_rows: NDArray[np.int64]
    mode_likely: NDArray[np.float32]
    mode_chosen: NDArray[np.int64]
    target_rows: NDArray[np.int64]
    target_ids: NDArray[np.int32]
    target_likely: NDArray[np.float32]
    target_chosen: NDArray[np.int32]
    actions: dict[str, Actions]
    told: dict[str, NDArray[np.int32]]
    swapped: Actions
    again: list[Again] | None
    fired: dict[tuple[str, int], NDArray[np.int64]] = dataclasses.field(default_factory=dict[tuple[str, int], NDArray[np.int64]])

    def cut(self, start: int, stop: int) -> Said:
        """The rows from ``start`` to ``stop`` of it alone, rows of the session both."""
        ticks = slice(start - self.start, stop - self.start)
        seconds, decisions = ((rows >= start) & (rows < stop) for rows in (self.mode_rows, self.target_rows))
        return replace(
            self,
            start=start,
            stop=stop,
            mode_rows=self.mode_rows[seconds],
            mode_likely=self.mode_likely[seconds],
            mode_chosen=self.mode_chosen[seconds],
            target_rows=self.target_rows[decisions],
            target_ids=self.target_ids[decisions],
            target_likely=self.target_likely[decisions],
            target_chosen=self.target_chosen[decisions],
            actions={name: _cut(actions, ticks) for name, actions in self.actions.items()},
            told={name: ids[ticks] for name, ids in self.told.items()},
            swapped=_cut(self.swapped, ticks),
            again=None if self.again is None else self.again[ticks],
            fired={},
        )


def _cut(actions: Actions, ticks: slice) -> Actions:
    return Actions(**{column.name: getattr(actions, column.name)[ticks] for column in dataclasses.fields(actions)})


def parts_of(said: Sequence[Said]) -> list[list[Said]]:
    """Play in order, ``MOST_PARTS`` parts at most: each stretch in equal ones of about ``PART_S`` or more, short stretches put together."""
    pieces: list[Said] = []
    length_s = max(PART_S, sum(map(_seconds, said)) / MOST_PARTS)
    for one in said:
        count = max(1, round(_seconds(one) / length_s))
        edges = np.linspace(one.start, one.stop, count + 1).astype(int).tolist()
        pieces += [one.cut(a, b) for a, b in pairwise(edges)]
    groups = min(len(pieces), MOST_PARTS)
    return [pieces[i * len(pieces) // groups : (i + 1) * len(pieces) // groups] for i in range(groups)]


def _seconds(said: Said) -> float:
    return float(said.steps.time_ns[said.stop - 1] - said.steps.time_ns[said.start]) / 1e9


F = TypeVar("F")


def with_intervals(figures_of: Callable[[Sequence[Said]], F], said: Sequence[Said], parts: Sequence[Sequence[Said]]) -> F:
    """The figures of all of the play, a dataclass, each share in it with its interval in ``intervals``, where the play tells one."""
    without: list[F] = []
    if len(parts) > 1:
        without = [figures_of([one for j, part in enumerate(parts) for one in part if j != i]) for i in range(len(parts))]
    return _spread(figures_of(said), without)


def _spread(figures: Any, without: Sequence[Any]) -> Any:
    """``figures`` with the intervals of its shares, and of those of its ``onsets``; ``without``: the same with each part left out."""
    changed, onsets = dict[str, Any](), dict[str, Any]()
    found: dict[str, tuple[float, float]] = {}
    for column in dataclasses.fields(figures):
        value = getattr(figures, column.name)
        if isinstance(value, float) and not column.name.endswith("_px"):  # a median does not bear it (Efron and Tibshirani 1993, 11.6)
            interval = jackknife_interval(value, [getattr(one, column.name) for one in without])
            if math.isfinite(interval.low) and interval.low < interval.high:  # all parts alike: nothing is known of what is rarer
                top = math.inf if column.name == "of_second_run" else 1.0
                found[column.name] = (max(0.0, interval.low), min(interval.high, top))
        elif column.name == "onsets":
            for name, one in figures.onsets.items():
                others = [rest.onsets.get(name) for rest in without]
                onsets[name] = _spread(one, [] if None in others else others)
            changed["onsets"] = onsets
    return replace(figures, intervals=found, **changed)
