"""Windows over a session, the split into training and validation, and folds.

count = floor((T - H) / S) + 1 with stride S = max(1, round(H / 4)); every place that prints a count prints
``WindowCount``. Windows never bridge a recorded gap. Splits are by session and fixed by a seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.steps import Steps
from data.vocabulary import ACTOR_KINDS, LEARNABLE_ACTORS

I64 = NDArray[np.int64]
GAP_S: Final = 0.5
"""Two rows further apart than this have a gap between them."""


def stride_of(history: int) -> int:
    return max(1, round(history / 4))


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many windows fit: the numbers of the formula and its result."""

    rows: int
    history: int
    stride: int

    @property
    def count(self) -> int:
        return 0 if self.rows < self.history else (self.rows - self.history) // self.stride + 1

    def __str__(self) -> str:
        return f"floor(({self.rows} - {self.history}) / {self.stride}) + 1 = {self.count}"


def window_count(rows: int, history: int, stride: int | None = None) -> WindowCount:
    if history < 1:
        raise ValueError(f"a window of {history} rows is not a window; use 1 or more")
    return WindowCount(rows, history, stride or stride_of(history))


def window_starts(rows: int, history: int, stride: int | None = None) -> I64:
    """First rows of all windows over ``rows`` rows without a gap."""
    counted = window_count(rows, history, stride)
    return np.arange(counted.count, dtype=np.int64) * counted.stride


def stretches(steps: Steps, gap_s: float = GAP_S) -> list[tuple[int, int]]:
    """Runs of rows [start, stop) without a gap, in focus, by a learnable actor and not ``left_out``."""
    if not len(steps):
        return []
    learnable = np.isin(steps.actor, [ACTOR_KINDS.index(kind) for kind in ACTOR_KINDS if kind in LEARNABLE_ACTORS])
    usable = learnable & steps.focus if steps.left_out is None else learnable & steps.focus & ~steps.left_out
    cut = np.concatenate([[True], (np.diff(steps.time_ns) > gap_s * 1e9) | (usable[1:] != usable[:-1]), [True]])
    edges = np.flatnonzero(cut)
    return [(a, b) for a, b in itertools.pairwise(edges.tolist()) if usable[a]]


def sample_rows(times_ns: NDArray[np.int64], hz: float, phase: float = 0.0) -> I64:
    """Rows that a clock of ``hz``, first due at ``phase`` (0..1 of a period) after the first row, would have used.

    For each due time the first row at or after it, as the live clocks do; no row twice.
    """
    if not len(times_ns):
        return np.zeros(0, np.int64)
    period = 1e9 / hz
    due = times_ns[0] + phase * period + period * np.arange(int((times_ns[-1] - times_ns[0]) / period) + 1)
    found = np.asarray(np.searchsorted(times_ns, due - 1e6), np.int64)
    return np.unique(found[found < len(times_ns)])


@dataclass(frozen=True, slots=True)
class Part:
    """Rows [start, stop) of one session."""

    session: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Split:
    """Which parts train and which validate."""

    train: tuple[Part, ...]
    validation: tuple[Part, ...]
    seed: int

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "train": [[p.session, p.start, p.stop] for p in self.train],
            "validation": [[p.session, p.start, p.stop] for p in self.validation],
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> Split:
        return Split(tuple(Part(*p) for p in values["train"]), tuple(Part(*p) for p in values["validation"]), int(values["seed"]))


def split_sessions(lengths: Sequence[int], seed: int, share: float = 0.2, gap_rows: int = 20) -> Split:
    """Whole sessions go to training or validation; a lone session is cut into two blocks, ``gap_rows`` dropped between.

    At least one session validates. Nothing of a validation session is seen in training.
    """
    if not lengths:
        raise ValueError("no sessions to split")
    rng = np.random.default_rng(seed)
    if len(lengths) == 1:
        total = lengths[0]
        held = max(1, round(total * share))
        if total - held - gap_rows < 1:
            return Split((Part(0, 0, total),), (), seed)
        if rng.random() < 0.5:
            return Split((Part(0, held + gap_rows, total),), (Part(0, 0, held),), seed)
        return Split((Part(0, 0, total - held - gap_rows),), (Part(0, total - held, total),), seed)
    order = rng.permutation(len(lengths))
    wanted, chosen = share * sum(lengths), list[int]()
    for session in order[:-1].tolist():
        if chosen and sum(lengths[i] for i in chosen) >= wanted:
            break
        chosen.append(int(session))
    train = tuple(Part(i, 0, n) for i, n in enumerate(lengths) if i not in chosen)
    return Split(train, tuple(Part(i, 0, lengths[i]) for i in sorted(chosen)), seed)


def folds(parts: Sequence[Part], count: int, seed: int) -> list[tuple[tuple[Part, ...], tuple[Part, ...]]]:
    """Out-of-fold pairs (learn from, predict on) over training parts: by session, or by contiguous blocks of a lone one."""
    pieces = list(parts)
    if len(pieces) == 1:
        only = pieces[0]
        edges = np.linspace(only.start, only.stop, count + 1).astype(int)
        pieces = [Part(only.session, a, b) for a, b in itertools.pairwise(edges.tolist()) if b > a]
    order = np.random.default_rng(seed).permutation(len(pieces))
    parts_of: list[list[int]] = [[int(i) for i in g] for g in np.array_split(order, min(count, len(pieces)))]
    groups = [sorted(g) for g in parts_of if g]
    if len(groups) < 2:
        return [(tuple(pieces), tuple(pieces))]
    return [(tuple(p for i, p in enumerate(pieces) if i not in g), tuple(pieces[i] for i in g)) for g in groups]
