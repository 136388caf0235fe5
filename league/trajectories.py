"""What was seen, done and paid: the one form in which play travels from actors, recordings and people to learners.

A ``TrajectorySequence`` holds B columns of T steps, time-major. A column is one seat of one world; it may hold the end of
one episode and the start of the next. Two things are easy to get wrong, and are kept by the form itself:

- What came after a step is told once, in ``bootstrap_observation`` for the last step of each column, and in ``final_*``
  for truncated steps before it: where a world resets by itself, the next row belongs to another episode.
- A frame that does not count (``living`` False: a lost ship, or filling) may only follow a step that is done, so that no
  trace runs into it.

Files are NPZ without pickles, written whole or not at all. Legend: T steps, B columns, H = 7 heads, K truncated steps before the last,
O = 19 numbers that the ship sees, or 88 with those that only a value is told (``league.privileged``): play that is recorded or
imitated has the 19, what a learner gets from its actors has all.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.files import write_whole
from league.codec import BINS, HEAD_NAMES, HEADS, OBSERVATION, OBSERVATION_SIZE
from league.privileged import TOLD, TOLD_HIGH, TOLD_LOW, TOLD_SIZE

FORMAT_VERSION: Final = 1
LARGEST_BYTES: Final = 4 * 1024**3
"""Of arrays read from one file, unpacked."""
ROUNDING: Final = 1e-4
"""An observation may lie so far outside its range."""
_HEADS: Final = len(HEADS)
_EXTRA: Final = "extras/"
Array = NDArray[Any]


class TrajectoryError(ValueError):
    """A sequence or its file cannot be used; the text says which field, where, and what to do."""


def observation_version() -> str:
    """Short digest of the observation's fields and the action's heads: networks and data fit when it is the same."""
    told = json.dumps([[[f.name, f.low, f.high] for f in OBSERVATION], list(HEADS.items())])
    return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, eq=False)
class TrajectorySequence:
    """B columns of T steps. Raises TrajectoryError when a field has the wrong shape or kind; ``check`` looks at the numbers."""

    observation: NDArray[np.float32]
    """[T, B, O], what was seen (and told) before acting."""
    action: NDArray[np.int8]
    """[T, B, H], bin indices."""
    head_mask: NDArray[np.bool_]
    """[T, B, H], False: the head had no effect, and counts nowhere."""
    behaviour_log_prob: NDArray[np.float32]
    """[T, B, H], of ``action`` under the policy that acted; 0 where masked or not known (people, scripts)."""
    reward: NDArray[np.float32]
    """[T, B], paid for the step."""
    terminated: NDArray[np.bool_]
    """[T, B], the seat's episode ended with the step: nothing comes after."""
    truncated: NDArray[np.bool_]
    """[T, B], it was cut there: the value of what came after counts."""
    living: NDArray[np.bool_]
    """[T, B], False: the frame does not count."""
    bootstrap_observation: NDArray[np.float32]
    """[B, O], the true successor of step T-1 (zeros where that step is terminated or does not count)."""
    final_at: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    """[K, 2], (t, b) of each truncated step with t < T-1."""
    final_observation: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, OBSERVATION_SIZE), np.float32))
    """[K, O], their true successors; none: of any width."""
    weights_version: int = 0
    """Of the weights that acted; of columns put together, the oldest."""
    episodes: tuple[str, ...] = ()
    """Which episode each column is from; all seats of one match share a name, and a split keeps them on one side. Or empty."""
    extras: dict[str, Array] = field(default_factory=dict)
    """Anything else known of each frame, [T, B, ...] by name: reference logits, figures read from the screen."""

    def __post_init__(self) -> None:
        if np.ndim(self.observation) != 3:
            raise TrajectoryError(f"trajectory: observation has shape {np.shape(self.observation)}; [T, B, {OBSERVATION_SIZE}] is needed")
        steps, columns = self.observation.shape[:2]
        if not steps or not columns:
            raise TrajectoryError(f"trajectory: {steps} steps of {columns} columns; at least one of each is needed")
        size = self.observation.shape[2]
        if size not in (OBSERVATION_SIZE, TOLD_SIZE):
            raise TrajectoryError(
                f"trajectory: observation has {size} numbers; {OBSERVATION_SIZE}, or {TOLD_SIZE} with privileged ones, are needed"
            )
        if not len(self.final_observation) and np.shape(self.final_observation)[1:] != (size,):
            object.__setattr__(self, "final_observation", np.zeros((0, size), np.float32))
        for name, (shape, kind) in _forms(steps, columns, len(np.atleast_1d(self.final_at)), size).items():
            values = getattr(self, name)
            if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != kind:
                found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
                raise TrajectoryError(f"trajectory: {name} is {found}; {np.dtype(kind)} {shape} is needed")
        if self.episodes and len(self.episodes) != columns:
            raise TrajectoryError(f"trajectory: {len(self.episodes)} episode names for {columns} columns; give one each, or none")
        for name, values in self.extras.items():
            if values.shape[:2] != (steps, columns) or values.dtype.hasobject:
                raise TrajectoryError(f"trajectory: extras[{name!r}] is {values.dtype} {values.shape}; [{steps}, {columns}, ...] is needed")

    @property
    def steps(self) -> int:
        return self.observation.shape[0]

    @property
    def columns(self) -> int:
        return self.observation.shape[1]

    @property
    def seen(self) -> NDArray[np.float32]:
        """[T, B, 19], the observation without privileged numbers (a view)."""
        return self.observation[..., :OBSERVATION_SIZE]

    @property
    def frames(self) -> int:
        """Frames that count."""
        return int(self.living.sum())

    @property
    def done(self) -> NDArray[np.bool_]:
        return self.terminated | self.truncated

    @property
    def nbytes(self) -> int:
        arrays = [getattr(self, name) for name in _forms(1, 1, 0)]
        return sum(a.nbytes for a in [*arrays, *self.extras.values()])

    def check(self, where: str = "trajectory") -> TrajectorySequence:
        """Itself, when every number is finite, in range and consistent. Raises TrajectoryError naming the first that is not."""
        for name in ("observation", "behaviour_log_prob", "reward", "bootstrap_observation", "final_observation"):
            values = getattr(self, name)
            _refuse(~np.isfinite(values), values, where, name, "is not a finite number; drop the frame (living False, its numbers 0)")
        for name in ("observation", "bootstrap_observation", "final_observation"):
            values = getattr(self, name)
            size = values.shape[-1]
            outside = (values < TOLD_LOW[:size] - ROUNDING) | (values > TOLD_HIGH[:size] + ROUNDING)
            _refuse(outside, values, where, name, "is out of the field's range; scale and clip it as league.codec says")
        _refuse(
            (self.action < 0) | (self.action >= BINS), self.action, where, "action", f"is no bin of {HEADS}; encode it with league.codec"
        )
        _refuse(self.behaviour_log_prob > ROUNDING, self.behaviour_log_prob, where, "behaviour_log_prob", "is above 0: no log-probability")
        _refuse(self.terminated & self.truncated, self.truncated, where, "truncated", "though the step is terminated; only one can be")
        self._check_ends(where)
        return self

    def _check_ends(self, where: str) -> None:
        into_dead = self.living[:-1] & ~self.living[1:] & ~self.done[:-1]
        _refuse(into_dead, self.living[:-1], where, "living", "but the next frame is not, and the step is not done; mark it terminated")
        at = self.final_at
        if len(at) and ((at < 0).any() or (at >= (self.steps - 1, self.columns)).any()):
            raise TrajectoryError(f"{where}: final_at names a step that is not before the last one of {self.steps} x {self.columns}")
        told = np.zeros_like(self.truncated)
        told[at[:, 0], at[:, 1]] = True
        if int(told.sum()) != len(at):
            raise TrajectoryError(f"{where}: final_at names a step twice; give each its one successor")
        lacking = (self.truncated & self.living & ~told)[:-1]
        _refuse(lacking, self.truncated[:-1], where, "truncated", "without a successor in final_at; give the observation it was cut at")
        _refuse(told & ~self.truncated, told, where, "final_at", "though the step is not truncated; leave it out")

    def next_observation(self) -> NDArray[np.float32]:
        """[T, B, O], the true successor of each step: never the first view of the next episode where a step is truncated."""
        following = np.concatenate([self.observation[1:], self.bootstrap_observation[None]])
        following[self.final_at[:, 0], self.final_at[:, 1]] = self.final_observation
        return following

    def take(self, columns: Sequence[int] | NDArray[np.integer[Any]]) -> TrajectorySequence:
        """Some columns, in the order asked for (views are not kept)."""
        index = np.asarray(columns, np.int64)
        rows = [(np.flatnonzero(self.final_at[:, 1] == old), new) for new, old in enumerate(index.tolist())]
        chosen = np.concatenate([r for r, _ in rows]) if rows else np.zeros(0, np.int64)
        at = self.final_at[chosen].copy()
        at[:, 1] = np.concatenate([np.full(len(r), new) for r, new in rows]) if rows else 0
        return TrajectorySequence(
            **{name: getattr(self, name)[:, index] for name in _TIMED},
            bootstrap_observation=self.bootstrap_observation[index],
            final_at=at,
            final_observation=self.final_observation[chosen],
            weights_version=self.weights_version,
            episodes=tuple(self.episodes[i] for i in index.tolist()) if self.episodes else (),
            extras={name: values[:, index] for name, values in self.extras.items()},
        )

    def split_columns(self, count: int) -> list[TrajectorySequence]:
        """Parts of at most ``count`` columns each."""
        return [self.take(range(start, min(start + count, self.columns))) for start in range(0, self.columns, count)]

    def split_steps(self, count: int) -> list[TrajectorySequence]:
        """Parts of at most ``count`` steps each, in order; what came after a cut stays each part's bootstrap."""
        following = self.next_observation()
        parts: list[TrajectorySequence] = []
        for start in range(0, self.steps, count):
            end = min(start + count, self.steps)
            inside = (self.final_at[:, 0] >= start) & (self.final_at[:, 0] < end - 1)
            parts.append(
                TrajectorySequence(
                    **{name: getattr(self, name)[start:end] for name in _TIMED},
                    bootstrap_observation=following[end - 1],
                    final_at=self.final_at[inside] - np.array([start, 0], np.int32),
                    final_observation=self.final_observation[inside],
                    weights_version=self.weights_version,
                    episodes=self.episodes,
                    extras={name: values[start:end] for name, values in self.extras.items()},
                )
            )
        return parts

    def padded(self, steps: int) -> TrajectorySequence:
        """The same with frames that do not count up to ``steps``. A column that went on is cut there: truncated, with its successor."""
        more = steps - self.steps
        if more < 0:
            raise TrajectoryError(f"trajectory: {self.steps} steps do not fit into {steps}; split them first")
        if not more:
            return self
        cut = np.flatnonzero(self.living[-1] & ~self.terminated[-1])
        timed = {name: _filled(getattr(self, name), more) for name in _TIMED}
        timed["truncated"][self.steps - 1, cut] = True
        at = np.stack([np.full(len(cut), self.steps - 1), cut], axis=1).astype(np.int32)
        return TrajectorySequence(
            **timed,
            bootstrap_observation=np.zeros_like(self.bootstrap_observation),
            final_at=np.concatenate([self.final_at, at]),
            final_observation=np.concatenate([self.final_observation, self.bootstrap_observation[cut]]),
            weights_version=self.weights_version,
            episodes=self.episodes,
            extras={name: _filled(values, more) for name, values in self.extras.items()},
        )

    def save(self, path: Path) -> None:
        """Write an NPZ, whole or not at all. Raises TrajectoryError when its numbers are no good, OSError."""
        self.check(path.name)
        head = {
            "format": FORMAT_VERSION,
            "observation_version": observation_version(),
            "weights_version": self.weights_version,
            "episodes": list(self.episodes),
        }
        arrays = {name: getattr(self, name) for name in _forms(1, 1, 0)}
        arrays |= {_EXTRA + name: values for name, values in self.extras.items()}
        write_arrays(path, arrays, head)


_TIMED: Final = ("observation", "action", "head_mask", "behaviour_log_prob", "reward", "terminated", "truncated", "living")


def _forms(steps: int, columns: int, finals: int, size: int = OBSERVATION_SIZE) -> dict[str, tuple[tuple[int, ...], Any]]:
    frame = (steps, columns)
    return {
        "observation": ((*frame, size), np.float32),
        "action": ((*frame, _HEADS), np.int8),
        "head_mask": ((*frame, _HEADS), np.bool_),
        "behaviour_log_prob": ((*frame, _HEADS), np.float32),
        "reward": (frame, np.float32),
        "terminated": (frame, np.bool_),
        "truncated": (frame, np.bool_),
        "living": (frame, np.bool_),
        "bootstrap_observation": ((columns, size), np.float32),
        "final_at": ((finals, 2), np.int32),
        "final_observation": ((finals, size), np.float32),
    }


def _filled(values: Array, more: int) -> Array:
    return np.concatenate([values, np.zeros((more, *values.shape[1:]), values.dtype)])


def _refuse(wrong: NDArray[np.bool_], values: Array, where: str, name: str, why: str) -> None:
    if not wrong.any():
        return
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    last = f" ({TOLD[place[-1]].name})" if "observation" in name else ""
    last = f" ({HEAD_NAMES[place[-1]]})" if name in ("action", "behaviour_log_prob") else last
    raise TrajectoryError(f"{where}: {name}{list(place)}{last} = {values[place]} {why}; {int(wrong.sum())} such in all")


def concatenate(sequences: Sequence[TrajectorySequence]) -> TrajectorySequence:
    """All columns side by side, shorter ones padded to the longest. Extras must have the same names.

    Raises TrajectoryError when there is nothing to put together, or extras or widths of observations differ.
    """
    if not sequences:
        raise TrajectoryError("trajectory: nothing to put together; give at least one sequence")
    names = set(sequences[0].extras)
    other = next((set(s.extras) for s in sequences if set(s.extras) != names), names)
    if other != names:
        raise TrajectoryError(f"trajectory: extras {sorted(names)} beside {sorted(other)}; give all the same, or drop them")
    sizes = sorted({s.observation.shape[2] for s in sequences})
    if len(sizes) > 1:
        raise TrajectoryError(f"trajectory: observations of {sizes[0]} numbers beside {sizes[1]} with privileged ones; give all the same")
    steps = max(s.steps for s in sequences)
    parts = [s.padded(steps) for s in sequences]
    starts = np.cumsum([0, *(s.columns for s in parts)])[:-1]
    shifts = [s.final_at + np.array([0, start], np.int32) for s, start in zip(parts, starts, strict=True)]
    named = any(s.episodes for s in parts)
    return TrajectorySequence(
        **{name: np.concatenate([getattr(s, name) for s in parts], axis=1) for name in _TIMED},
        bootstrap_observation=np.concatenate([s.bootstrap_observation for s in parts]),
        final_at=np.concatenate(shifts).astype(np.int32),
        final_observation=np.concatenate([s.final_observation for s in parts]),
        weights_version=min(s.weights_version for s in parts),
        episodes=tuple(name for i, s in enumerate(parts) for name in (s.episodes or (f"unnamed {i}",) * s.columns)) if named else (),
        extras={name: np.concatenate([s.extras[name] for s in parts], axis=1) for name in sorted(names)},
    )


def load(path: Path) -> TrajectorySequence:
    """What ``save`` wrote. Raises TrajectoryError for a torn, foreign or too new file or numbers that are no good, OSError."""
    arrays, head = read_arrays(path)
    if head.get("format") != FORMAT_VERSION:
        raise TrajectoryError(
            f"{path.name}: format {head.get('format')}, this reads {FORMAT_VERSION}; record it again, or update Secondseat"
        )
    if head.get("observation_version") != observation_version():
        raise TrajectoryError(f"{path.name}: its observation or action heads are others than here; record it again")
    wanted = {f.name for f in fields(TrajectorySequence)} & set(_forms(1, 1, 0))
    missing = sorted(wanted - set(arrays))
    if missing:
        raise TrajectoryError(f"{path.name}: {', '.join(missing)} missing; it is no trajectory of ours, or torn")
    extras = {name.removeprefix(_EXTRA): values for name, values in arrays.items() if name.startswith(_EXTRA)}
    try:
        version, episodes = int(head["weights_version"]), tuple(str(name) for name in head["episodes"])
        found = TrajectorySequence(**{n: arrays[n] for n in wanted}, weights_version=version, episodes=episodes, extras=extras)
    except (KeyError, TypeError, IndexError, TrajectoryError) as error:
        raise TrajectoryError(f"{path.name}: {error}") from error
    return found.check(path.name)


def write_arrays(path: Path, arrays: Mapping[str, Array], head: Mapping[str, Any]) -> None:
    """An NPZ of plain arrays and a JSON object ``head``, whole or not at all. Raises OSError."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(head, allow_nan=False).encode(), np.uint8)
    np.savez_compressed(buffer, allow_pickle=False, head=text, **arrays)  # pyright: ignore[reportArgumentType]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def read_arrays(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays and the head of an NPZ; nothing in it is run. Raises TrajectoryError when it is torn or not ours, OSError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST_BYTES:
                raise TrajectoryError(f"{path.name}: larger than {LARGEST_BYTES / 2**30:.0f} GB unpacked; split it")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(arrays.pop("head").tobytes())
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, NotImplementedError) as error:
        if isinstance(error, TrajectoryError):
            raise
        raise TrajectoryError(f"{path.name}: not a whole file of ours ({error}); use an earlier one, or record it again") from error
    if not isinstance(head, dict):
        raise TrajectoryError(f"{path.name}: its head is not an object; use an earlier one, or record it again")
    return arrays, head
