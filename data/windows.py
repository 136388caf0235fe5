"""Windows over a session, the split into training and validation, and folds.

count = floor((T - H) / S) + 1 with stride S = max(1, round(H / 4)); every place that prints a count prints
``WindowCount``. Windows never bridge a recorded gap. Splits are by session, where sessions are of a length that allows it, and
fixed by a seed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.steps import Steps
from data.vocabulary import ACTOR_KINDS, LEARNABLE_ACTORS

I64 = NDArray[np.int64]
GAP_S: Final = 0.5
"""Two rows further apart than this have a gap between them."""
STRATEGIST_HISTORY: Final = 32
"""Seconds of the Strategist's windows, in training and wherever they are counted."""
LEAST_HELD: Final = 0.5
MOST_HELD: Final = 1.75
"""Whole sessions hold out between so many times the rows that are to validate: of a fifth, between a tenth and a third."""
NEAR_HELD: Final = 0.1
"""A draw of sessions that is off by no more than this share of those rows is taken."""
DRAWS: Final = 100
TICKS_PER_S: Final = 20
LEAST_GAP: Final = 60
"""Rows between two blocks: labels look 2 s ahead, the Executor 0.8 s back."""


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


def learnt_windows(lengths: Sequence[int], history: int) -> tuple[int, str]:
    """How many windows are learnt from in stretches of these lengths, and the sum with its numbers. A stretch shorter than the
    history gives one window, filled up."""
    found = Counter(window_count(n, history) for n in lengths if n)
    short = sum(times for counted, times in found.items() if not counted.count)
    terms = [f"{counted}, {times} times" if times > 1 else str(counted) for counted, times in found.items() if counted.count]
    if short:
        terms.append(f"{short} of {'a stretch' if short == 1 else 'stretches'} shorter than {history} s")
    whole = sum(counted.count * times for counted, times in found.items()) + short
    return whole, " and ".join(terms) or "no stretch to learn from"


def stretches(steps: Steps, gap_s: float = GAP_S) -> list[tuple[int, int]]:
    """Runs of rows [start, stop) without a gap, in focus, by a learnable actor and not ``left_out``."""
    if not len(steps):
        return []
    learnable = np.isin(steps.actor, [ACTOR_KINDS.index(kind) for kind in ACTOR_KINDS if kind in LEARNABLE_ACTORS])
    usable = learnable & steps.focus if steps.left_out is None else learnable & steps.focus & ~steps.left_out
    cut = np.concatenate([[True], (np.diff(steps.time_ns) > gap_s * 1e9) | (usable[1:] != usable[:-1]), [True]])
    edges = np.flatnonzero(cut)
    return [(a, b) for a, b in itertools.pairwise(edges.tolist()) if usable[a]]


def play_s(sessions: Iterable[Steps]) -> float:
    """Seconds of play that is learnt from, in all: without pauses, and what was done out of focus or by others."""
    return sum(float(s.time_ns[b - 1] - s.time_ns[a]) / 1e9 for s in sessions for a, b in stretches(s))


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


def gap_between(rows: int) -> int:
    """Rows dropped between two blocks of a session of so many, of which one must know nothing of the other: a window of the Strategist, but
    at most a twentieth of the session. That labels look ahead and the Executor looks back costs more of a short one."""
    return max(min(LEAST_GAP, max(TICKS_PER_S, rows // 10)), min(STRATEGIST_HISTORY * TICKS_PER_S, rows // 20))


def split_sessions(
    lengths: Sequence[int],
    seed: int,
    share: float = 0.2,
    gap_rows: int | None = None,
    learnt: Sequence[Sequence[tuple[int, int]]] | None = None,
) -> Split:
    """Whole sessions whose rows come nearest to ``share`` of all validate, never more than about a third of them. Where none come near
    it (a lone session, or one that is most of the play), the longest session is cut into two blocks, ``gap_rows`` dropped between (without:
    ``gap_between``).

    learnt: the ``stretches`` of each session, where not all rows are learnt from: only those count, and sessions without any stand on
    neither side. Nothing of a validation session or block is seen in training. Nothing validates when there are too few rows for a block.
    """
    if not lengths:
        raise ValueError("no sessions to split")
    rows = [_rows_in(part, learnt) for part in (Part(i, 0, n) for i, n in enumerate(lengths))]
    counts = [len(mine) for mine in rows]
    there = [i for i, count in enumerate(counts) if count]
    rng = np.random.default_rng(seed)
    wanted = share * sum(counts)
    if near := _near([counts[i] for i in there], wanted, rng) if len(there) > 1 else []:
        chosen = [there[i] for i in near]
        train = tuple(Part(i, 0, lengths[i]) for i in there if i not in chosen)
        return Split(train, tuple(Part(i, 0, lengths[i]) for i in chosen), seed)
    everything = {i: Part(i, 0, lengths[i]) for i in there}
    longest = max(there, key=lambda i: counts[i], default=0)
    total, held = counts[longest], max(1, round(wanted))
    gap_rows = gap_between(total) if gap_rows is None else gap_rows
    if total - held - gap_rows < 1:
        return Split(tuple(everything.values()), (), seed)
    mine, end = rows[longest], lengths[longest]
    if rng.random() < 0.5:
        everything[longest], check = Part(longest, int(mine[held + gap_rows]), end), Part(longest, 0, int(mine[held - 1]) + 1)
    else:
        everything[longest] = Part(longest, 0, int(mine[total - held - gap_rows - 1]) + 1)
        check = Part(longest, int(mine[total - held]), end)
    return Split(tuple(everything.values()), (check,), seed)


def _rows_in(part: Part, learnt: Sequence[Sequence[tuple[int, int]]] | None) -> I64:
    """The rows of a part that are learnt from."""
    spans = [(part.start, part.stop)] if learnt is None else learnt[part.session]
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(max(a, part.start), min(b, part.stop)) for a, b in spans)])


def _near(lengths: Sequence[int], wanted: float, rng: np.random.Generator) -> list[int]:
    """Sessions drawn as long as each brings their rows nearer to ``wanted``: the first draw that comes near it, or the nearest of many;
    empty when none comes near enough to validate on."""
    best, least = list[int](), wanted
    for _ in range(DRAWS):
        chosen, held = list[int](), 0
        order: list[int] = rng.permutation(len(lengths)).tolist()
        for session in order:
            more = held + lengths[session]
            if abs(more - wanted) < abs(held - wanted) and more <= MOST_HELD * wanted:
                chosen, held = [*chosen, session], more
        if held >= LEAST_HELD * wanted and abs(held - wanted) < least:
            best, least = chosen, abs(held - wanted)
        if least <= NEAR_HELD * wanted:
            break
    return sorted(best)


def folds(
    parts: Sequence[Part], count: int, seed: int, learnt: Sequence[Sequence[tuple[int, int]]] | None = None
) -> list[tuple[tuple[Part, ...], tuple[Part, ...]]]:
    """Out-of-fold pairs (learn from, predict on) over training parts: by session, or by contiguous blocks of one that is most of them, with
    a gap (``gap_between``) before and after what is predicted on. ``learnt``: as for ``split_sessions``."""
    rows = [_rows_in(part, learnt) for part in parts]
    total = sum(map(len, rows))
    pieces: list[Part] = []
    for part, mine in zip(parts, rows, strict=True):
        blocks = count if 3 * len(mine) > 2 * total else 1
        inner = [int(mine[len(mine) * i // blocks]) for i in range(1, blocks)]
        pieces += [Part(part.session, a, b) for a, b in itertools.pairwise([part.start, *inner, part.stop]) if b > a]
    order = np.random.default_rng(seed).permutation(len(pieces))
    parts_of: list[list[int]] = [[int(i) for i in g] for g in np.array_split(order, min(count, len(pieces)))]
    groups = [sorted(g) for g in parts_of if g]
    if len(groups) < 2:
        return [(tuple(pieces), tuple(pieces))]
    pairs: list[tuple[tuple[Part, ...], tuple[Part, ...]]] = []
    for group in groups:
        tell = tuple(pieces[i] for i in group)
        apart = [_apart(piece, tell) for i, piece in enumerate(pieces) if i not in group]
        pairs.append((tuple(piece for piece in apart if piece.stop > piece.start), tell))
    return pairs


def _apart(piece: Part, others: Sequence[Part]) -> Part:
    """``piece`` without the rows that lie next to one of the others."""
    start, stop = piece.start, piece.stop
    for other in others:
        if other.session == piece.session:
            gap = min(gap_between(piece.stop - piece.start + other.stop - other.start), (piece.stop - piece.start) // 4)
            start = start + gap if other.stop == piece.start else start
            stop = stop - gap if other.start == piece.stop else stop
    return Part(piece.session, start, max(start, stop))
