"""Replay of sequences: each column is learnt from ``reuse`` times, from memory of a size known beforehand.

Actors add blocks [T, B]; the learner draws batches of single columns, chosen evenly among those that are not used up.
What actors make faster than it is learnt from pushes out the oldest columns, which is counted. Everything, the random
stream included, is saved and restored exactly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.trajectories import Array, TrajectoryError, TrajectorySequence, read_arrays, write_arrays

LAG_BINS: Final = 32
"""Lags from this on share the last bin of the histogram."""
_FORMAT: Final = 1
_TIMED: Final = ("observation", "action", "head_mask", "behaviour_log_prob", "reward", "terminated", "truncated", "living")


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Raises ValueError naming the field that is out of range."""

    capacity: int = 512
    """Columns held at most."""
    sequences: int = 64
    """Columns in one batch."""
    reuse: int = 2
    """How often each column is learnt from."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("capacity", "sequences", "reuse"):
            if getattr(self, name) < 1:
                raise ValueError(f"replay settings: {name} {getattr(self, name)}; use a number above 0")
        if self.capacity < self.sequences:
            raise ValueError(f"replay settings: capacity {self.capacity} holds no batch of {self.sequences}; use a larger one")


class Batch(NamedTuple):
    """What the learner gets."""

    sequence: TrajectorySequence
    """[T, sequences]; its ``weights_version`` is the oldest of its columns'."""
    versions: NDArray[np.int64]
    """[sequences], of the weights that acted in each column."""


@dataclass(slots=True)
class LagStatistics:
    """By how many versions of the weights acting was behind learning, over all columns drawn."""

    count: int = 0
    total: int = 0
    largest: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * LAG_BINS)
    """Columns by lag; the last bin holds all lags from ``LAG_BINS - 1`` on."""

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def add(self, lags: NDArray[np.int64]) -> None:
        self.count += len(lags)
        self.total += int(lags.sum())
        self.largest = max(self.largest, int(lags.max(initial=0)))
        for i, more in enumerate(np.bincount(np.minimum(lags, LAG_BINS - 1), minlength=LAG_BINS).tolist()):
            self.histogram[i] += more

    def quantile(self, share: float) -> int:
        """The smallest lag that ``share`` (0..1) of the columns do not exceed."""
        reached = np.cumsum(self.histogram) >= share * self.count
        return min(int(np.argmax(reached)), self.largest)


@dataclass(slots=True)
class ReplayCounts:
    """Columns since the beginning."""

    added: int = 0
    drawn: int = 0
    used_up: int = 0
    pushed_out: int = 0
    """Overwritten before they were used up."""
    dead: int = 0
    """Without a frame that counts: not taken."""


class Replay:
    """Columns of one length and one set of extras, told by the first block that is added."""

    def __init__(self, settings: ReplaySettings | None = None) -> None:
        self.settings = settings or ReplaySettings()
        self.lag = LagStatistics()
        self.counts = ReplayCounts()
        self._rng = np.random.Generator(np.random.PCG64(self.settings.seed))
        capacity = self.settings.capacity
        self._left = np.zeros(capacity, np.int64)  # uses that remain, 0: free
        self._order = np.zeros(capacity, np.int64)  # when it came, to find the oldest
        self._version = np.zeros(capacity, np.int64)
        self._episode = [""] * capacity
        self._columns: dict[str, Array] = {}  # [capacity, T, ...]
        self._bootstrap = np.zeros((0, 0), np.float32)
        self._finals: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}

    def __len__(self) -> int:
        """Columns that can be drawn."""
        return int((self._left > 0).sum())

    @property
    def ready(self) -> bool:
        """Whether there is a whole batch."""
        return len(self) >= self.settings.sequences

    @property
    def nbytes(self) -> int:
        """Of what is held: fixed from the first block on, up to the successors of truncated steps."""
        finals = sum(a.nbytes + b.nbytes for a, b in self._finals.values())
        return sum(a.nbytes for a in self._columns.values()) + self._bootstrap.nbytes + finals

    def add(self, block: TrajectorySequence) -> None:
        """Take all columns that have a frame that counts. Raises TrajectoryError when length or extras differ from the first block's."""
        values = _columns_of(block)
        if not self._columns:
            self._make_room(values, block.bootstrap_observation.shape[1])
        self._refuse_other(values)
        living = np.flatnonzero(block.living.any(0))
        self.counts.dead += block.columns - len(living)
        for start in range(0, len(living), self.settings.capacity):
            self._put(block, values, living[start : start + self.settings.capacity])

    def _put(self, block: TrajectorySequence, values: dict[str, Array], columns: NDArray[np.int64]) -> None:
        slots = self._slots(len(columns))
        for name, held in self._columns.items():
            held[slots] = np.swapaxes(values[name][:, columns], 0, 1)
        self._bootstrap[slots] = block.bootstrap_observation[columns]
        self._left[slots] = self.settings.reuse
        self._version[slots] = block.weights_version
        self._order[slots] = self.counts.added + np.arange(len(slots))
        self.counts.added += len(slots)
        for slot, column in zip(slots.tolist(), columns.tolist(), strict=True):
            self._episode[slot] = block.episodes[column] if block.episodes else ""
            self._finals.pop(slot, None)
            mine = np.flatnonzero(block.final_at[:, 1] == column) if len(block.final_at) else ()
            if len(mine):
                self._finals[slot] = (block.final_at[mine, 0].copy(), block.final_observation[mine])

    def _slots(self, count: int) -> NDArray[np.int64]:
        """Where to put ``count`` columns: free places first, then the oldest."""
        free = np.flatnonzero(self._left == 0)[:count]
        if len(free) == count:
            return free
        held = np.flatnonzero(self._left > 0)
        oldest = held[np.argsort(self._order[held], kind="stable")][: count - len(free)]
        self.counts.pushed_out += len(oldest)
        return np.concatenate([free, oldest])

    def draw(self, current_version: int) -> Batch | None:
        """A batch of different columns, or None while there are too few. ``current_version``: of the learner's weights.

        Raises ValueError when a column was made by weights newer than that.
        """
        available = np.flatnonzero(self._left > 0)
        if len(available) < self.settings.sequences:
            return None
        slots = self._rng.choice(available, self.settings.sequences, replace=False)
        lags = current_version - self._version[slots]
        if lags.min() < 0:
            raise ValueError(
                f"replay: weights version {current_version} is older than {current_version - lags.min()}, which acted; clear it"
            )
        batch = Batch(self._gather(slots), self._version[slots].copy())
        self.lag.add(lags)
        self._left[slots] -= 1
        self.counts.drawn += len(slots)
        gone = slots[self._left[slots] == 0]
        self.counts.used_up += len(gone)
        for slot in gone.tolist():
            self._finals.pop(slot, None)
        return batch

    def clear(self) -> None:
        """Forget all columns (a learner that is set back to older weights must); counts and random stream go on."""
        self._left[:] = 0
        self._finals.clear()

    def _gather(self, slots: NDArray[np.int64]) -> TrajectorySequence:
        taken = {name: np.ascontiguousarray(np.swapaxes(held[slots], 0, 1)) for name, held in self._columns.items()}
        finals = [(column, *self._finals[slot]) for column, slot in enumerate(slots.tolist()) if slot in self._finals]
        at = [np.stack([steps, np.full_like(steps, column)], axis=1) for column, steps, _ in finals]
        size = self._bootstrap.shape[1]
        return TrajectorySequence(
            **{name: taken[name] for name in _TIMED},
            bootstrap_observation=self._bootstrap[slots],
            final_at=np.concatenate(at) if at else np.zeros((0, 2), np.int32),
            final_observation=np.concatenate([seen for _, _, seen in finals]) if finals else np.zeros((0, size), np.float32),
            weights_version=int(self._version[slots].min()),
            episodes=tuple(self._episode[slot] for slot in slots.tolist()),
            extras={name: values for name, values in taken.items() if name not in _TIMED},
        )

    def _make_room(self, values: dict[str, Array], size: int) -> None:
        capacity = self.settings.capacity
        self._columns = {n: np.zeros((capacity, v.shape[0], *v.shape[2:]), v.dtype) for n, v in values.items()}
        self._bootstrap = np.zeros((capacity, size), np.float32)

    def _refuse_other(self, values: dict[str, Array]) -> None:
        if values.keys() != self._columns.keys():
            raise TrajectoryError(f"replay: extras {sorted(values)} beside {sorted(self._columns)}; add blocks of one kind")
        for name, held in self._columns.items():
            theirs = (values[name].shape[0], *values[name].shape[2:])
            if theirs != held.shape[1:] or values[name].dtype != held.dtype:
                raise TrajectoryError(
                    f"replay: {name} is {values[name].dtype} {theirs} beside {held.dtype} {held.shape[1:]}; split or pad to one length"
                )

    def save(self, path: Path) -> None:
        """Everything, whole or not at all. Raises OSError."""
        arrays = {f"columns/{name}": values for name, values in self._columns.items()}
        arrays |= {"left": self._left, "order": self._order, "version": self._version, "bootstrap": self._bootstrap}
        for slot, (steps, seen) in self._finals.items():
            arrays |= {f"final_at/{slot}": steps, f"final_observation/{slot}": seen}
        head = {
            "replay_format": _FORMAT,
            "settings": asdict(self.settings),
            "random": self._rng.bit_generator.state,
            "episodes": self._episode,
            "counts": asdict(self.counts),
            "lag": asdict(self.lag),
        }
        write_arrays(path, arrays, head)


def _columns_of(block: TrajectorySequence) -> dict[str, Array]:
    clash = sorted(set(block.extras) & set(_TIMED))
    if clash:
        raise TrajectoryError(f"replay: extras named {', '.join(clash)}, as fields are; call them something else")
    return {name: getattr(block, name) for name in _TIMED} | block.extras


def restore(path: Path) -> Replay:
    """What ``Replay.save`` wrote: it goes on exactly as the saved one would have. Raises TrajectoryError for another file, OSError."""
    arrays, head = read_arrays(path)
    if head.get("replay_format") != _FORMAT:
        raise TrajectoryError(f"{path.name}: replay format {head.get('replay_format')}, this reads {_FORMAT}; start with an empty replay")
    try:
        replay = Replay(ReplaySettings(**head["settings"]))
        _fill(replay, arrays, head)
    except (KeyError, TypeError, ValueError) as error:
        raise TrajectoryError(f"{path.name}: not a whole replay ({error}); start with an empty one") from error
    return replay


def _fill(replay: Replay, arrays: dict[str, Array], head: dict[str, Any]) -> None:
    capacity = replay.settings.capacity
    replay._rng.bit_generator.state = head["random"]
    replay.counts = ReplayCounts(**head["counts"])
    replay.lag = LagStatistics(**head["lag"])
    replay._episode = [str(name) for name in head["episodes"]]
    replay._left, replay._order, replay._version = arrays["left"], arrays["order"], arrays["version"]
    replay._columns = {n.removeprefix("columns/"): v for n, v in arrays.items() if n.startswith("columns/")}
    replay._bootstrap = arrays["bootstrap"]
    lengths = {len(a) for a in (replay._episode, replay._left, replay._order, replay._version, *replay._columns.values())}
    if lengths != {capacity} or (replay._columns and not set(_TIMED) <= set(replay._columns)):
        raise ValueError(f"its arrays do not hold {capacity} columns")
    for name, steps in arrays.items():
        if name.startswith("final_at/"):
            slot = name.removeprefix("final_at/")
            replay._finals[int(slot)] = (steps, arrays[f"final_observation/{slot}"])
