"""How well eyes follow flying worlds: misses, errors, tracking and gauges against the truth, tick by tick.

Tracking is counted as in Bernardin and Stiefelhagen (2008): MOTA = 1 - (misses + false tracks + id switches) / true
things. A track counts as right within ``NEAR_PX`` of a true thing of its class; coasting tracks are tracks too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import F32, I32, Status, Tracks
from engine.perception.assignment import assign
from engine.perception.detections import Detections
from engine.perception.judging import kinds_in
from engine.perception.tracker import CERTAIN_AT

NEAR_PX: Final = 8.0
SETTLED_S: Final = 0.1
"""Velocities are judged from this age of a track on."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What one world shows. ids: int32 [M], never reused. boxes: [M, 4] in 0..1. velocities: [M, 2] in 1/s."""

    ids: I32
    classes: I32
    boxes: F32
    velocities: F32
    status: Status


@dataclass(slots=True)
class _Counts:
    things: int = 0
    unfound: int = 0
    sure: int = 0
    untracked: int = 0
    false_tracks: int = 0
    switches: int = 0
    offsets_px: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])
    velocity_errors_px: list[float] = field(default_factory=list[float])


class FlightJudge:
    """Collects over ticks; ``switched`` worlds need ``new_world`` between them."""

    def __init__(self, names: Sequence[str], picture_px: tuple[int, int] = (640, 360)) -> None:
        self._names, self._px = names, np.array(picture_px, np.float64)
        self._counts = [_Counts() for _ in names]
        self._track_of: dict[int, int] = {}
        self._levels: list[float] = []
        self._unread = self._readings = self._wrong = self._states = 0
        self._ticks = self._ghosts = 0
        self._false_finds = 0

    def new_world(self) -> None:
        self._track_of.clear()

    def look(self, truth: Truth, found: Detections, tracks: Tracks, status: Status) -> None:
        """One tick: what is there, what the detector found (its weakest finds included), the tracks and readings."""
        self._ticks += 1
        self._finds(truth, found)
        self._follow(truth, tracks)
        self._read(truth.status, status)

    def _finds(self, truth: Truth, found: Detections) -> None:
        rows, columns = self._pairs(truth.classes, truth.boxes, found.classes, found.boxes)
        for kind in kinds_in(truth.classes):
            counts = self._counts[kind]
            of_kind = truth.classes[rows] == kind
            counts.things += int((truth.classes == kind).sum())
            counts.unfound += int((truth.classes == kind).sum() - of_kind.sum())
            counts.sure += int((found.confidences[columns[of_kind]] >= CERTAIN_AT).sum())
            gap = found.boxes[columns[of_kind]].astype(np.float64) - truth.boxes[rows[of_kind]]
            counts.offsets_px.append(gap * np.concatenate([self._px, self._px]))
        self._false_finds += len(found) - len(rows)

    def _follow(self, truth: Truth, tracks: Tracks) -> None:
        rows, columns = self._pairs(truth.classes, truth.boxes, tracks.classes, tracks.boxes)
        followed = np.zeros(len(tracks), np.bool_)
        followed[columns] = True
        for kind in kinds_in(np.concatenate([truth.classes, tracks.classes])):
            counts = self._counts[kind]
            counts.untracked += int((truth.classes == kind).sum() - (truth.classes[rows] == kind).sum())
            counts.false_tracks += int(((tracks.classes == kind) & ~followed).sum())
        self._ghosts += int((~followed & (tracks.unseen_s == 0)).sum())
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            counts = self._counts[int(truth.classes[row])]
            thing, track = int(truth.ids[row]), int(tracks.ids[column])
            counts.switches += self._track_of.get(thing, track) != track
            self._track_of[thing] = track
            if tracks.ages_s[column] >= SETTLED_S:
                gap = (tracks.velocities[column].astype(np.float64) - truth.velocities[row]) * self._px
                counts.velocity_errors_px.append(float(np.hypot(*gap)))

    def _pairs(self, kinds: I32, boxes: F32, other_kinds: I32, other_boxes: F32) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        if not len(kinds) or not len(other_kinds):
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        gap = (boxes[:, None, :2].astype(np.float64) - other_boxes[None, :, :2]) * self._px
        distance = np.hypot(gap[..., 0], gap[..., 1])
        allowed = (distance <= NEAR_PX) & (kinds[:, None] == other_kinds[None])
        return assign(np.where(allowed, distance, np.inf).astype(np.float32))

    def _read(self, truth: Status, read: Status) -> None:
        for name, value in {**truth.levels, **truth.cooldowns}.items():
            seen = {**read.levels, **read.cooldowns}.get(name)
            self._readings += 1
            if seen is None:
                self._unread += 1
            elif value is not None:
                self._levels.append(seen - value)
        for name, state in {**truth.flags, **truth.choices}.items():
            self._states += 1
            self._wrong += {**read.flags, **read.choices}.get(name) != state

    def figures(self) -> dict[str, Any]:
        """Everything counted so far; sums over classes under ``all``."""
        classes: dict[str, dict[str, float]] = {}
        totals: defaultdict[str, float] = defaultdict(float)
        offsets: list[NDArray[np.float64]] = []
        velocities: list[float] = []
        for name, counts in zip(self._names, self._counts, strict=True):
            table = np.concatenate(counts.offsets_px) if counts.offsets_px else np.zeros((0, 4))
            faults = counts.untracked + counts.false_tracks + counts.switches
            classes[name] = {
                "things": counts.things,
                "miss": _share(counts.unfound, counts.things),
                "sure": _share(counts.sure, counts.things - counts.unfound),
                "centre_px": _rms(table[:, :2]),
                "size_px": _rms(table[:, 2:]),
                "mota": round(1 - faults / counts.things, 4) if counts.things else 0.0,
                "switches": counts.switches,
                "velocity_error_px_s": _rms(np.array(counts.velocity_errors_px)),
            }
            offsets.append(table)
            velocities.extend(counts.velocity_errors_px)
            for key, value in (("things", counts.things), ("faults", faults), ("switches", counts.switches)):
                totals[key] += value
        everything = np.concatenate(offsets)
        return {
            "ticks": self._ticks,
            "classes": classes,
            "all": {
                "mota": round(1 - totals["faults"] / max(1.0, totals["things"]), 4),
                "switches": int(totals["switches"]),
                "switch_share": _share(totals["switches"], totals["things"]),
                "centre_px": _rms(everything[:, :2]),
                "size_px": _rms(everything[:, 2:]),
                "velocity_error_px_s": _rms(np.array(velocities)),
                "false_finds_per_picture": _share(self._false_finds, self._ticks),
                "false_tracks_seen_per_picture": _share(self._ghosts, self._ticks),
            },
            "gauges": {
                "error": _rms(np.array(self._levels)),
                "unread": _share(self._unread, self._readings),
                "wrong_states": _share(self._wrong, self._states),
            },
        }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 5) if whole else 0.0


def _rms(values: NDArray[np.float64]) -> float:
    return round(float(np.sqrt(np.mean(np.square(values)))), 4) if values.size else 0.0
