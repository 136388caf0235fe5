"""What a policy would have said at each moment of recorded play: the levels at their own clocks, given what was recorded.

The play goes on as recorded whatever the policy says (teacher forcing), so that each answer can be judged by itself.
It runs what flies: the same features, normalisers and networks.

Legend: S seconds (1 Hz), D decisions (5 Hz), R ticks, N places of the Tactician's set, I buttons and keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.features import UNKNOWN_MODE, past_cursors, set_inputs, slot_inputs, summary_sequence, summary_vectors
from data.schema import NO_TARGET
from data.steps import Steps
from data.track_lookup import ClickLog, TrackIndex
from data.windows import sample_rows
from engine.policy import STRATEGIST_S, TACTICIAN_S, Policy

I64 = NDArray[np.int64]
F32 = NDArray[np.float32]
CHUNK: Final = 1200


@dataclass(frozen=True, slots=True)
class Modes:
    """rows [S] of the session, likely [S, modes], chosen [S]: what is decided."""

    rows: I64
    likely: F32
    chosen: I64


@dataclass(frozen=True, slots=True)
class Targets:
    """rows [D], ids int32 [D, N] of the tracks to choose from (-1 none), likely [D, N + 1] (the last: none)."""

    rows: I64
    ids: NDArray[np.int32]
    likely: F32

    def chosen(self) -> NDArray[np.int32]:
        """int32 [D] the track id of the likeliest, or NO_TARGET."""
        ids = np.concatenate([self.ids, np.full((len(self.ids), 1), NO_TARGET, np.int32)], axis=1)
        return ids[np.arange(len(ids)), self.likely.argmax(1)]


@dataclass(frozen=True, slots=True)
class Actions:
    """rows [R], point [R, 2] in 0..1, chosen int32 [R] the track it lies on (or NO_TARGET), intent [R], hazards [R, I] of onsets
    in this tick, held [R, I] how likely each input is down."""

    rows: I64
    point: F32
    chosen: NDArray[np.int32]
    intent: F32
    hazards: F32
    held: F32


def replay_modes(policy: Policy, steps: Steps, start: int, stop: int) -> Modes:
    """The Strategist once a second over rows [start, stop), with the history that it has there."""
    rows = sample_rows(steps.time_ns[start:stop], 1 / STRATEGIST_S) + start
    vectors, times = summary_vectors(steps, rows), steps.time_ns[rows]
    normaliser, history = policy.normalisers["strategist"]["summary"], policy.brains.history
    likely: list[F32] = []
    for i in range(1, len(rows) + 1):
        first = max(0, i - history - 1)
        seconds = summary_sequence(steps.profile, vectors[first:i], times[first:i])[-history:]
        likely.append(policy.brains.modes(normaliser.apply(seconds)))
    return Modes(rows, np.stack(likely), policy.brains.mode_of(np.stack(likely)))


def replay_targets(policy: Policy, steps: Steps, start: int, stop: int, modes: I64) -> Targets:
    """The Tactician five times a second over rows [start, stop). modes [stop - start]: what the level above says at each row."""
    rows = sample_rows(steps.time_ns[start:stop], 1 / TACTICIAN_S) + start
    inputs = set_inputs(steps, rows, ClickLog.of(steps))
    norms = policy.normalisers["tactician"]
    tracks, context = norms["tracks"].apply(inputs.tracks, inputs.present), norms["context"].apply(inputs.context)
    likely = [
        policy.brains.targets(tracks[i : i + 1], inputs.present[i : i + 1], context[i : i + 1], int(modes[row - start]))
        for i, row in enumerate(rows.tolist())
    ]
    return Targets(rows, np.where(inputs.present, inputs.ids, NO_TARGET), np.stack(likely))


def replay_actions(
    policy: Policy,
    steps: Steps,
    start: int,
    stop: int,
    modes: I64,
    targets: NDArray[np.int32],
    pictures_of: Callable[[I64], I64] | None = None,
    on_rows: Callable[[int], None] = lambda count: None,
) -> Actions:
    """The Executor at every tick of rows [start, stop). modes, targets [stop - start]: what the levels above say.

    pictures_of: gives every row another row whose picture it sees, its cursor kept (for the causality score).
    """
    index, norms, chunks = TrackIndex(steps), policy.normalisers["executor"], policy.new_chunks()
    points, chosen, intents, hazards = list[tuple[float, float]](), list[int](), list[float](), list[list[float]]()
    down: list[list[float]] = []
    for first in range(start, stop, CHUNK):
        rows = np.arange(first, min(first + CHUNK, stop))
        seen = rows if pictures_of is None else pictures_of(rows)
        inputs = slot_inputs(steps, seen, index)
        slots, context = norms["slots"].apply(inputs.slots, inputs.present), norms["context"].apply(inputs.context)
        past = past_cursors(steps, rows) if policy.brains.sees_past_cursors else None
        marked = (inputs.ids == targets[seen - start][:, None]) & inputs.present & (targets[seen - start] != NO_TARGET)[:, None]
        for i, row in enumerate(rows.tolist()):
            at, cursor = slice(i, i + 1), steps.cursor[row]
            look = policy.brains.look(
                slots[at],
                inputs.present[at],
                inputs.boxes[at],
                context[at],
                inputs.own[at],
                None if np.isnan(cursor).any() else (float(cursor[0]), float(cursor[1])),
                int(modes[seen[i] - start]),
                marked[at],
                past=None if past is None else past[at],
            )
            points.append(look.point)
            chosen.append(int(inputs.ids[i, look.choice]) if look.choice < inputs.ids.shape[1] else NO_TARGET)
            intents.append(look.intent)
            down.append(look.held)
            if chunks is not None and look.plan is not None:
                hazards.append(chunks.tick(look.plan).hazards[0].tolist())
            else:
                hazards.append([*look.clicks, *look.keys[len(look.clicks) :]])
        on_rows(len(rows))
    return Actions(
        np.arange(start, stop),
        np.array(points, np.float32).reshape(-1, 2),
        np.array(chosen, np.int32),
        np.array(intents, np.float32),
        np.array(hazards, np.float32),
        np.array(down, np.float32),
    )


def held(rows: I64, values: NDArray[np.generic], start: int, stop: int, before: int) -> NDArray[np.generic]:
    """[stop - start] the value said at the last of ``rows`` at or before each row; ``before`` where none was yet."""
    at = np.searchsorted(rows, np.arange(start, stop), side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], np.asarray(before, values.dtype))


def held_modes(said: Modes, start: int, stop: int) -> I64:
    """int64 [stop - start] the mode as it stands at each row."""
    return np.asarray(held(said.rows, said.chosen, start, stop, UNKNOWN_MODE), np.int64)


def held_targets(said: Targets, start: int, stop: int) -> NDArray[np.int32]:
    """int32 [stop - start] the target as it stands at each row."""
    return np.asarray(held(said.rows, said.chosen(), start, stop, NO_TARGET), np.int32)
