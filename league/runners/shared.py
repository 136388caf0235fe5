"""Memory that an actor's process and the learner's see alike: one rollout's trajectories, and the actor's worlds twice.

Worlds are kept in two slots, written in turns: while a rollout runs, the worlds as they were before it stay whole, so that an actor
that dies can be started anew and plays the very same rollout again. The memory belongs to the processes alone and leaves nothing
behind when they are killed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from multiprocessing.context import BaseContext
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing as game
from league.codec import HEADS, LOGITS
from league.losses import REFERENCE_LOGITS
from league.privileged import TOLD_SIZE
from league.rollout import Played
from league.runners.base import RunnerSettings
from league.trajectories import TrajectorySequence

_ALIGNED: Final = 64
_COLUMNS: Final[dict[str, tuple[tuple[int, ...], Any]]] = {
    "observation": ((TOLD_SIZE,), np.float32),
    "action": ((len(HEADS),), np.int8),
    "head_mask": ((len(HEADS),), np.bool_),
    "behaviour_log_prob": ((len(HEADS),), np.float32),
    "reward": ((), np.float32),
    "terminated": ((), np.bool_),
    "truncated": ((), np.bool_),
    "living": ((), np.bool_),
}
_REFERENCE: Final = ((LOGITS,), np.float32)


class Summary(NamedTuple):
    """What an actor tells of a rollout whose arrays lie in the shared memory."""

    columns: int
    """0: nobody learnt."""
    steps: int
    """T of the sequence."""
    finals: int
    has_reference: bool
    version: int
    frames: int
    agent_steps: int
    played: tuple[Played, ...]


class Shared:
    """Arrays in one block of memory, which both processes map; see ``memory_of``."""

    def __init__(self, memory: Any, settings: RunnerSettings) -> None:
        self._bytes = np.frombuffer(memory, np.uint8)
        self._places, _ = _places(settings)
        self._worlds = _world_forms(settings)

    def _array(self, name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """The first part of a block, in that shape."""
        start = self._places[name]
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        return self._bytes[start : start + size].view(kind).reshape(shape)

    def worlds(self, slot: int) -> dict[str, NDArray[Any]]:
        """The actor's worlds in slot 0 or 1, in place."""
        return {name: self._array(f"{slot}/{name}", shape, kind) for name, (shape, kind) in self._worlds.items()}

    def write_worlds(self, slot: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        for name, place in self.worlds(slot).items():
            place[...] = arrays[name]

    def write_sequence(self, sequence: TrajectorySequence) -> None:
        """Copy a rollout's sequence into the memory."""
        shape = sequence.living.shape
        for name, (more, kind) in _COLUMNS.items():
            self._array(name, (*shape, *more), kind)[...] = getattr(sequence, name)
        if REFERENCE_LOGITS in sequence.extras:
            more, kind = _REFERENCE
            self._array(REFERENCE_LOGITS, (*shape, *more), kind)[...] = sequence.extras[REFERENCE_LOGITS]
        for name in ("bootstrap_observation", "final_observation", "final_at"):
            values = getattr(sequence, name)
            self._array(name, values.shape, values.dtype)[...] = values

    def read_sequence(self, told: Summary) -> TrajectorySequence | None:
        """A copy of the sequence that ``told`` is of."""
        if not told.columns:
            return None
        shape = (told.steps, told.columns)
        extras: dict[str, NDArray[Any]] = {}
        if told.has_reference:
            extras[REFERENCE_LOGITS] = self._array(REFERENCE_LOGITS, (*shape, *_REFERENCE[0]), _REFERENCE[1]).copy()
        return TrajectorySequence(
            **{name: self._array(name, (*shape, *more), kind).copy() for name, (more, kind) in _COLUMNS.items()},
            bootstrap_observation=self._array("bootstrap_observation", (told.columns, TOLD_SIZE), np.float32).copy(),
            final_at=self._array("final_at", (told.finals, 2), np.int32).copy(),
            final_observation=self._array("final_observation", (told.finals, TOLD_SIZE), np.float32).copy(),
            weights_version=told.version,
            extras=extras,
        )


def memory_of(context: BaseContext, settings: RunnerSettings) -> Any:
    """Memory for one actor; pages that are never touched cost nothing."""
    return context.RawArray(ctypes.c_byte, memory_bytes(settings))


def memory_bytes(settings: RunnerSettings) -> int:
    """What one actor's rollout takes at most, its worlds twice."""
    return _places(settings)[1]


def _world_forms(settings: RunnerSettings) -> dict[str, tuple[tuple[int, ...], Any]]:
    rollout = settings.rollout
    one = game.new_worlds(1, [0], rollout.ships, rollout.episode_steps)
    return {name: ((rollout.worlds, *getattr(one, name).shape[1:]), getattr(one, name).dtype) for name in game.FIELD_NAMES}


def _places(settings: RunnerSettings) -> tuple[dict[str, int], int]:
    """Where each block begins, and the size of all, in bytes."""
    seats = settings.rollout.worlds * settings.rollout.ships
    forms = {name: ((settings.unroll, seats, *more), kind) for name, (more, kind) in (_COLUMNS | {REFERENCE_LOGITS: _REFERENCE}).items()}
    forms |= dict.fromkeys(("bootstrap_observation", "final_observation"), ((seats, TOLD_SIZE), np.float32))
    forms["final_at"] = ((seats, 2), np.int32)
    forms |= {f"{slot}/{name}": form for slot in (0, 1) for name, form in _world_forms(settings).items()}
    places: dict[str, int] = {}
    end = 0
    for name, (shape, kind) in forms.items():
        places[name] = end
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        end += -(-size // _ALIGNED) * _ALIGNED
    return places, end
