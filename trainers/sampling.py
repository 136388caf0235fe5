"""Training sees what live sees: recorded rows put through a model of the live path, and the hand moved to what it answered.

A live tick comes a little early or late, now and then much too late or not at all; the picture may be one that was seen before;
the detector's boxes tremble, lose a thing for a moment or lose it altogether. ``resample`` gives every session such rows, drawn from
a seed. ``lagged`` pairs what is seen with what the hand does some ticks later: a person's reaction time, to be swept. Both keep the
labels that the original rows have and say which row each of theirs was made from.

Legend: T rows of the original, R rows that are kept, N rows of tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.steps import Steps
from data.windows import Part

I64 = NDArray[np.int64]
_VISUAL: Final = ("frame_time_ns", "frame_number", "levels", "flags", "choices", "cooldowns")
_HAND: Final = ("cursor", "action_xy", "held", "actor", "model_version")
_SAID: Final = ("mode", "target_id", "said_mode", "said_target", "left_out")


@dataclass(frozen=True, slots=True)
class LiveModel:
    """How unlike a clock the live path is. The defaults are those of the live path on two busy cores (``benchmarks/live.py``) and
    of the shipped detector (``benchmarks/eyes.py``); a share is per tick, or per track and tick."""

    jitter_s: float = 0.003
    """Standard deviation of a tick's start."""
    late: float = 0.02
    """Share of ticks that come up to ``late_s`` too late."""
    late_s: float = 0.035
    skipped: float = 0.01
    """Share of ticks that never come: the next one carries what was pressed."""
    stale: float = 0.02
    """Share of ticks that see the picture of the tick before once more."""
    centre_widths: float = 0.0008
    """Standard deviation of a box's centre and of its sides, in picture widths."""
    velocity: float = 0.004
    """Standard deviation of a track's velocity, in picture widths (heights) a second."""
    confidence: float = 0.03
    lost: float = 0.004
    """Share of tracks that are not there."""
    level: float = 0.004
    """Standard deviation of a gauge's reading."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """``live``: rows as the live path would have seen them (False: as recorded). ``reaction_lag_ticks``: how many ticks
    after what is seen the hand answers to it; 0: the hand of the same tick."""

    live: bool = True
    reaction_lag_ticks: int = 0
    model: LiveModel = field(default_factory=LiveModel)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sessions made from others. ``kept`` int64 [R] of each: the original row that each of its rows was made from."""

    sessions: list[Steps]
    kept: list[I64]

    def parts(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The same parts, in rows of these sessions."""
        found: list[Part] = []
        for part in parts:
            start, stop = np.searchsorted(self.kept[part.session], [part.start, part.stop]).tolist()
            found.append(Part(part.session, start, stop))
        return tuple(found)

    def rows(self, values: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """What stands for the original rows [T, ...] of each session, for these rows [R, ...]."""
        return [own[kept] for own, kept in zip(values, self.kept, strict=True)]


def resample(sessions: Sequence[Steps], model: LiveModel, seed: int) -> Sampled:
    """Every session as the live path might have seen it. The same seed gives the same rows."""
    done = [_resample(steps, model, np.random.default_rng([seed, i])) for i, steps in enumerate(sessions)]
    return Sampled([steps for steps, _ in done], [kept for _, kept in done])


def unchanged(sessions: Sequence[Steps]) -> Sampled:
    """The sessions as they are."""
    return Sampled(list(sessions), [np.arange(len(steps), dtype=np.int64) for steps in sessions])


def lagged(sessions: Sequence[Steps], ticks: int) -> list[Steps]:
    """Each row's picture with the hand (cursor, clicks, keys) of so many ticks later. As many rows as before: the last ones, and
    those before a gap, have no such hand and are left out of training. Raises ValueError on a negative lag."""
    if ticks < 0:
        raise ValueError(f"reaction_lag_ticks: {ticks} would answer to what is not yet seen; use 0 or more")
    return [_lagged(steps, ticks) if ticks else steps for steps in sessions]


def _resample(steps: Steps, model: LiveModel, rng: np.random.Generator) -> tuple[Steps, I64]:
    total = len(steps)
    if total < 3:
        return steps, np.arange(total, dtype=np.int64)
    came = rng.random(total) >= model.skipped
    came[[0, -1]] = True
    kept = np.flatnonzero(came).astype(np.int64)
    late = (rng.random(len(kept)) < model.late) * rng.random(len(kept)) * model.late_s
    delay_s = np.clip(rng.normal(0, model.jitter_s, len(kept)), -3 * model.jitter_s, 3 * model.jitter_s) + late
    delay_s[0] = 0.0
    # A tick never begins before the one before it: half the way between them is the least.
    times = steps.time_ns[kept]
    moved = np.maximum(times + (delay_s * 1e9).astype(np.int64), times - np.diff(times, prepend=times[0] - 1) // 2)
    moved = np.maximum.accumulate(moved)

    stale = rng.random(len(kept)) < model.stale
    stale[0] = False
    source = np.where(stale & (np.diff(kept, prepend=kept[0]) == 1), kept - 1, kept)
    columns: dict[str, Any] = {name: getattr(steps, name)[source] for name in _VISUAL}
    columns |= {name: getattr(steps, name)[kept] for name in ("focus", *_HAND)}
    columns |= {name: None if getattr(steps, name) is None else getattr(steps, name)[kept] for name in _SAID}
    columns["time_ns"] = moved
    levels = columns["levels"]
    columns["levels"] = np.clip(levels + rng.normal(0, model.level, levels.shape), 0, 1).astype(np.float32)
    columns |= _tracks(steps, source, (moved - times) / 1e9, model, rng)
    columns |= _onsets(steps, kept)
    return replace(steps, **columns), kept


def _tracks(steps: Steps, source: I64, delay_s: NDArray[Any], model: LiveModel, rng: np.random.Generator) -> dict[str, Any]:
    """The track columns of rows ``source``, each moved on by its tick's delay [R], trembling, some lost."""
    counts = np.diff(steps.track_offsets)[source]
    row = np.repeat(np.arange(len(source)), counts)
    flat = np.repeat(steps.track_offsets[source] - np.cumsum(counts) + counts, counts) + np.arange(len(row))
    there = rng.random(len(flat)) >= model.lost
    row, flat = row[there], flat[there]
    width, height = steps.profile.picture_size
    sizes = np.array([1.0, width / height]) * model.centre_widths  # in 0..1 of the picture
    boxes, velocities = steps.track_boxes[flat].astype(np.float64), steps.track_velocities[flat]
    boxes[:, :2] += velocities * delay_s[row, None] + rng.normal(0, 1, (len(flat), 2)) * sizes
    boxes[:, 2:] = np.maximum(boxes[:, 2:] + rng.normal(0, 1, (len(flat), 2)) * sizes, 1e-3)
    confidences = steps.track_confidences[flat] + rng.normal(0, model.confidence, len(flat))
    return {
        "track_offsets": np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(source)))]).astype(np.int64),
        "track_boxes": boxes.astype(np.float32),
        "track_velocities": (velocities + rng.normal(0, model.velocity, velocities.shape)).astype(np.float32),
        "track_confidences": np.clip(confidences, 0, 1).astype(np.float32),
        **{name: getattr(steps, name)[flat] for name in ("track_ids", "track_classes", "track_ages_s", "track_unseen_s")},
    }


def _onsets(steps: Steps, kept: I64) -> dict[str, Any]:
    """What is pressed in a tick that never came is pressed in the next one."""
    at = np.searchsorted(kept, np.repeat(np.arange(len(steps)), np.diff(steps.onset_offsets)))
    counts = np.bincount(at, minlength=len(kept))
    return {"onset_offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), "onset_codes": steps.onset_codes}


def _lagged(steps: Steps, ticks: int) -> Steps:
    total = len(steps)
    later = np.arange(total, dtype=np.int64) + ticks
    safe = np.minimum(later, total - 1)
    period_ns = float(np.median(np.diff(steps.time_ns))) if total > 1 else 5e7
    answered = (later < total) & (steps.time_ns[safe] - steps.time_ns < (ticks + 2) * period_ns)
    counts = np.where(later < total, np.diff(steps.onset_offsets)[safe], 0)
    columns: dict[str, Any] = {name: getattr(steps, name)[safe] for name in _HAND}
    columns["onset_offsets"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns["onset_codes"] = steps.onset_codes[int(steps.onset_offsets[min(ticks, total)]) :]
    columns["left_out"] = ~answered if steps.left_out is None else ~answered | steps.left_out
    return replace(steps, **columns)
