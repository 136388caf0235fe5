"""Steps as columns: the one in-memory form that the recorder fills and every trainer reads.

Legend: T rows (ticks), N rows of tracks over all ticks (ragged, by ``track_offsets``), L levels, F flags,
C choices, K cooldowns, I input names (mouse buttons, then the profile's keys). Missing readings are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.profile import GameProfile
from data.schema import NO_TARGET, Action, Observation, Status, Step, Tracks
from data.vocabulary import ACTOR_KINDS, MODES, MOUSE_BUTTONS

NO_MODE: Final = -1
UNSAID_TARGET: Final = -2
"""In ``Steps.said_target``: nobody said which, as against NO_TARGET, "none"."""


def input_names(profile: GameProfile) -> tuple[str, ...]:
    """The names that ``onset_codes`` and the bits of ``held`` count: mouse buttons, then the profile's keys.

    At most 64, so that ``held`` fits one uint64.
    """
    names = (*MOUSE_BUTTONS, *profile.keys)
    if len(names) > 64:
        raise ValueError(f"games.{profile.name} keys: {len(profile.keys)} keys are too many; at most {64 - len(MOUSE_BUTTONS)}")
    return names


@dataclass(frozen=True, slots=True)
class Steps:
    """A run of steps of one session, in time order."""

    profile: GameProfile
    time_ns: NDArray[np.int64]  # [T] when the tick began
    frame_time_ns: NDArray[np.int64]  # [T] when its picture was taken
    frame_number: NDArray[np.int64]  # [T]
    focus: NDArray[np.bool_]  # [T]
    cursor: NDArray[np.float32]  # [T, 2] 0..1, NaN unknown
    levels: NDArray[np.float32]  # [T, L]
    flags: NDArray[np.float32]  # [T, F] 0, 1
    choices: NDArray[np.float32]  # [T, C] 1-based
    cooldowns: NDArray[np.float32]  # [T, K]
    track_offsets: NDArray[np.int64]  # [T + 1]
    track_ids: NDArray[np.int32]  # [N]
    track_classes: NDArray[np.int32]  # [N]
    track_boxes: NDArray[np.float32]  # [N, 4]
    track_confidences: NDArray[np.float32]  # [N]
    track_velocities: NDArray[np.float32]  # [N, 2]
    track_ages_s: NDArray[np.float32]  # [N]
    track_unseen_s: NDArray[np.float32]  # [N]
    action_xy: NDArray[np.float32]  # [T, 2]
    onset_offsets: NDArray[np.int64]  # [T + 1]
    onset_codes: NDArray[np.int16]  # [O] index into input_names(profile)
    held: NDArray[np.uint64]  # [T] bit i: input_names(profile)[i] is down at the tick's end
    actor: NDArray[np.int8]  # [T] index into ACTOR_KINDS
    model_version: NDArray[np.int32]  # [T]
    mode: NDArray[np.int8]  # [T] index into MODES, NO_MODE when unknown
    target_id: NDArray[np.int32]  # [T] NO_TARGET when none
    said_mode: NDArray[np.int8] | None = None  # [T] what the session's labels say, NO_MODE where nothing; None: not looked up
    said_target: NDArray[np.int32] | None = None  # [T] the track id the labels say, NO_TARGET none, UNSAID_TARGET nothing; None as above
    left_out: NDArray[np.bool_] | None = None  # [T] rows that nothing is learnt from, though they are a person's; None: there are none

    def __len__(self) -> int:
        return len(self.time_ns)

    def tracks(self, row: int) -> Tracks:
        """The tracks of one row (views, not copies)."""
        part = slice(int(self.track_offsets[row]), int(self.track_offsets[row + 1]))
        return Tracks(
            self.track_ids[part],
            self.track_classes[part],
            self.track_boxes[part],
            self.track_confidences[part],
            self.track_velocities[part],
            self.track_ages_s[part],
            self.track_unseen_s[part],
        )

    def onsets(self, row: int) -> tuple[str, ...]:
        names = input_names(self.profile)
        codes: list[int] = self.onset_codes[self.onset_offsets[row] : self.onset_offsets[row + 1]].tolist()
        return tuple(names[code] for code in codes)

    def status(self, row: int) -> Status:
        """The status of one row; NaN becomes None."""
        profile = self.profile
        return Status(
            {n: _value(v) for n, v in zip(profile.level_names(), self.levels[row], strict=True)},
            {n: None if np.isnan(v) else bool(v) for n, v in zip(profile.flag_names(), self.flags[row], strict=True)},
            {n: None if np.isnan(v) else int(v) for n, v in zip(profile.choice_sizes(), self.choices[row], strict=True)},
            {n: _value(v) for n, v in zip(profile.cooldown_names(), self.cooldowns[row], strict=True)},
        )

    def observation(self, row: int) -> Observation:
        """One row as the policy sees it live."""
        x, y = (float(v) for v in self.cursor[row])
        return Observation(
            int(self.time_ns[row]),
            int(self.frame_time_ns[row]),
            int(self.frame_number[row]),
            self.status(row),
            self.tracks(row),
            None if np.isnan(x) or np.isnan(y) else (x, y),
            bool(self.focus[row]),
        )

    def slice(self, start: int, stop: int) -> Steps:
        """Rows start..stop as Steps of their own (offsets counted from 0 again)."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        n0, n1 = int(self.track_offsets[start]), int(self.track_offsets[stop])
        o0, o1 = int(self.onset_offsets[start]), int(self.onset_offsets[stop])
        columns: dict[str, object] = {"profile": self.profile}
        for column in fields(self)[1:]:
            values = getattr(self, column.name)
            if values is None:
                columns[column.name] = None
            elif column.name == "track_offsets":
                columns[column.name] = values[start : stop + 1] - n0
            elif column.name == "onset_offsets":
                columns[column.name] = values[start : stop + 1] - o0
            elif column.name.startswith("track_"):
                columns[column.name] = values[n0:n1]
            elif column.name == "onset_codes":
                columns[column.name] = values[o0:o1]
            else:
                columns[column.name] = values[start:stop]
        return Steps(**columns)  # pyright: ignore[reportArgumentType]


class StepsBuilder:
    """Collects steps row by row and gives them as columns. Rows must come in time order."""

    def __init__(self, profile: GameProfile) -> None:
        self.profile = profile
        self._codes = {name: i for i, name in enumerate(input_names(profile))}
        self._rows: list[Step] = []

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, step: Step) -> None:
        if self._rows and step.observation.time_ns < self._rows[-1].observation.time_ns:
            raise ValueError(f"steps must come in time order: {step.observation.time_ns} after {self._rows[-1].observation.time_ns}")
        self._rows.append(step)

    def clear(self) -> None:
        self._rows.clear()

    def build(self) -> Steps:
        rows, profile = self._rows, self.profile
        seen = [r.observation for r in rows]
        tracks = [o.tracks for o in seen]
        onset_codes = [[self._codes[n] for n in r.action.onsets if n in self._codes] for r in rows]
        return Steps(
            profile=profile,
            time_ns=np.array([o.time_ns for o in seen], np.int64),
            frame_time_ns=np.array([o.frame_time_ns for o in seen], np.int64),
            frame_number=np.array([o.frame_number for o in seen], np.int64),
            focus=np.array([o.focus for o in seen], np.bool_),
            cursor=_grid([o.cursor if o.cursor is not None else (np.nan, np.nan) for o in seen], 2),
            levels=_grid([[o.status.levels.get(n) for n in profile.level_names()] for o in seen], len(profile.level_names())),
            flags=_grid([[o.status.flags.get(n) for n in profile.flag_names()] for o in seen], len(profile.flag_names())),
            choices=_grid([[o.status.choices.get(n) for n in profile.choice_sizes()] for o in seen], len(profile.choices)),
            cooldowns=_grid([[o.status.cooldowns.get(n) for n in profile.cooldown_names()] for o in seen], len(profile.cooldown_names())),
            track_offsets=_offsets([len(t) for t in tracks]),
            track_ids=_joined([t.ids for t in tracks], np.zeros(0, np.int32)),
            track_classes=_joined([t.classes for t in tracks], np.zeros(0, np.int32)),
            track_boxes=_joined([t.boxes for t in tracks], np.zeros((0, 4), np.float32)),
            track_confidences=_joined([t.confidences for t in tracks], np.zeros(0, np.float32)),
            track_velocities=_joined([t.velocities for t in tracks], np.zeros((0, 2), np.float32)),
            track_ages_s=_joined([t.ages_s for t in tracks], np.zeros(0, np.float32)),
            track_unseen_s=_joined([t.unseen_s for t in tracks], np.zeros(0, np.float32)),
            action_xy=_grid([(r.action.x, r.action.y) for r in rows], 2),
            onset_offsets=_offsets([len(c) for c in onset_codes]),
            onset_codes=np.array([c for codes in onset_codes for c in codes], np.int16),
            held=np.array([self._held_bits(r.action) for r in rows], np.uint64),
            actor=np.array([ACTOR_KINDS.index(r.actor) for r in rows], np.int8),
            model_version=np.array([r.model_version for r in rows], np.int32),
            mode=np.array([MODES.index(r.mode) if r.mode else NO_MODE for r in rows], np.int8),
            target_id=np.array([r.target_id for r in rows], np.int32),
        )

    def _held_bits(self, action: Action) -> int:
        return sum(1 << self._codes[name] for name in action.held if name in self._codes)


def empty_steps(profile: GameProfile) -> Steps:
    return StepsBuilder(profile).build()


def _value(number: np.float32) -> float | None:
    return None if np.isnan(number) else float(number)


def _grid(
    rows: list[list[float | None]] | list[tuple[float, float]] | list[list[bool | None]] | list[list[int | None]], width: int
) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32).reshape(len(rows), width)


def _offsets(counts: list[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))])


def _joined(parts: list[NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else empty


__all__ = ["NO_MODE", "NO_TARGET", "UNSAID_TARGET", "Steps", "StepsBuilder", "empty_steps", "input_names"]
