"""Objects over time: stable ids, smoothed places, velocities.

One Kalman filter of constant velocity per track, all of them as columns. Both axes of a track share one covariance,
so it is three numbers: place, place-velocity, velocity. Lengths inside are in picture widths on both axes; outside
x and y are each 0..1 of the picture.

A thing that is not found is followed on along its velocity, so that it keeps its id: a full second and a picture or two while something
else covers the place where it should be, less where it should be seen. It is shown meanwhile only where such things came back more
often than not (``comebacks``): with a detector that misses little, what it does not find is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.schema import F32, I32, Tracks
from data.vocabulary import Role
from engine.perception.assignment import assign
from engine.perception.comebacks import Comebacks
from engine.perception.detections import Detections


@dataclass(frozen=True, slots=True)
class Motion:
    """How things of one role move. Lengths in picture widths. ``speed`` is the spread (standard deviation) of an
    unknown velocity per s; ``acceleration`` of its changes per s²; ``coast_s`` how long an unseen thing is followed
    on at all, ``exposed_s`` how long where nothing covers it."""

    speed: float
    acceleration: float
    coast_s: float = 1.1
    exposed_s: float = 0.3


_STILL: Final = Motion(speed=0.05, acceleration=0.02)
_MOVING: Final = Motion(speed=0.25, acceleration=0.6)
MOTIONS: Final[dict[Role, Motion]] = {
    "self": Motion(speed=0.25, acceleration=1.0),
    "enemy": _MOVING,
    "other": _MOVING,
    "loot": _STILL,
    "hazard": _STILL,
    "portal": _STILL,
    # a shot that is not found has mostly hit, and the next one comes the same way
    "shot": Motion(speed=0.25, acceleration=0.4, coast_s=0.3, exposed_s=0.06),
    "lock": Motion(speed=0.25, acceleration=0.6, coast_s=0.2, exposed_s=0.2),
    # a mark that is not found has mostly been reached: under the ship that arrives, it would be followed on for ever
    "mark": Motion(speed=0.01, acceleration=0.01, coast_s=0.1, exposed_s=0.1),
}

SET_ANEW: Final[tuple[Role, ...]] = ("lock", "mark")
"""Roles of what the player sets elsewhere: where one begins for sure, one of its class that is not seen any more was taken away."""

BEGIN_AT: Final = 0.35
"""Confidence that begins a track; weaker finds only continue one."""
CERTAIN_AT: Final = 0.75
"""A find this sure is shown at once; others after ``CONFIRM_HITS``."""
CONFIRM_HITS: Final = 2
GATE_SIGMAS: Final = 4.0
_NOISE: Final = 0.0016
_NOISE_BY_SIZE: Final = 0.03
_LONGEST_STEP_S: Final = 1.0


class Tracker:
    """Follows what a detector finds. Not safe for several threads."""

    def __init__(self, roles: Sequence[Role]) -> None:
        """roles: one per class of the profile."""
        motions = [MOTIONS[role] for role in roles]
        self._speed = np.array([m.speed for m in motions], np.float32)
        self._acceleration = np.array([m.acceleration for m in motions], np.float32)
        self._unique = np.array([role == "self" for role in roles], np.bool_)
        self._set_anew = np.array([role in SET_ANEW for role in roles], np.bool_)
        self._coast_s = np.array([m.coast_s for m in motions], np.float32)
        self._exposed_limit_s = np.array([m.exposed_s for m in motions], np.float32)
        self._next_id = 0
        self.reset()

    def reset(self) -> None:
        """Forget all tracks and what became of things that were not found (another source, another flight). Ids go on counting."""
        self.comebacks = Comebacks(trusted=self._unique)
        self._clear()

    def update(self, found: Detections, time_ns: int, aspect: float = 360 / 640) -> Tracks:
        """Take the finds of one picture and give the tracks at its time.

        time_ns: when the picture was taken; a picture older than the last one starts anew, one of the same time changes
        nothing. aspect: the picture's height / width.
        """
        if self._time_ns is not None:
            dt_s = (time_ns - self._time_ns) / 1e9
            if dt_s == 0:
                return self._shown(aspect)
            if dt_s < 0 or dt_s > _LONGEST_STEP_S:
                self._clear()
            else:
                self._predict(dt_s)
        else:
            dt_s = 0.0
        self._time_ns = time_ns
        measured = found.boxes.astype(np.float32, copy=True)
        measured[:, 1::2] *= np.float32(aspect)
        rows, columns = self._match(measured, found)
        self._correct(measured, found, rows, columns)
        self._expire(measured, found, rows, dt_s, aspect)
        self._begin(measured, found, columns)
        return self._shown(aspect)

    def _clear(self) -> None:
        self._time_ns: int | None = None
        self._ids: I32 = np.zeros(0, np.int32)
        self._classes: I32 = np.zeros(0, np.int32)
        self._place: F32 = np.zeros((0, 2), np.float32)
        self._velocity: F32 = np.zeros((0, 2), np.float32)
        self._covariance: F32 = np.zeros((0, 3), np.float32)  # place, place-velocity, velocity
        self._size: F32 = np.zeros((0, 2), np.float32)
        self._confidence: F32 = np.zeros(0, np.float32)
        self._hits: I32 = np.zeros(0, np.int32)
        self._confirmed: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._age_s: F32 = np.zeros(0, np.float32)
        self._unseen_s: F32 = np.zeros(0, np.float32)
        self._exposed_s: F32 = np.zeros(0, np.float32)
        self._pictures: I32 = np.zeros(0, np.int32)  # in a row, in which it was not found
        self._hidden: NDArray[np.bool_] = np.zeros(0, np.bool_)  # was it behind something in the first of them?

    def _predict(self, dt_s: float) -> None:
        dt = np.float32(dt_s)
        self._place += self._velocity * dt
        p, pv, v = self._covariance.T
        q = np.square(self._acceleration[self._classes])
        self._covariance = np.stack(
            [p + dt * (2 * pv + dt * v) + q * dt**4 / 4, pv + dt * v + q * dt**3 / 2, v + q * dt**2], axis=1
        ).astype(np.float32)
        self._age_s += dt

    def _noise(self, size: F32) -> F32:
        """Variance of a measured place, by the thing's size."""
        return np.square(np.maximum(np.float32(_NOISE), _NOISE_BY_SIZE * size.min(axis=1, initial=1.0))).astype(np.float32)

    def _match(self, measured: F32, found: Detections) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        if not len(self._ids) or not len(found):
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        gap = measured[None, :, :2] - self._place[:, None]
        variance = self._covariance[:, 0:1] + self._noise(self._size)[:, None]
        cost = np.square(gap).sum(2) / variance
        # half the thing's own size is always within reach: a ship that turns hard outruns its covariance
        within = np.square(gap).sum(2) <= np.square(0.5 * self._size.max(axis=1, initial=0.0))[:, None]
        allowed = (cost < GATE_SIGMAS**2) | within
        allowed &= self._classes[:, None] == found.classes[None]
        cost += np.square(np.log(np.maximum(measured[None, :, 2], 1e-4) / np.maximum(self._size[:, None, 0], 1e-4))) * 4
        cost += (~self._confirmed)[:, None] * GATE_SIGMAS**2  # a confirmed track wins over one that has just begun
        return assign(np.where(allowed, cost, np.inf).astype(np.float32))

    def _correct(self, measured: F32, found: Detections, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        if not len(rows):
            return
        p, pv, v = self._covariance[rows].T
        total = p + self._noise(self._size[rows])
        gain_place, gain_velocity = p / total, pv / total
        residual = measured[columns, :2] - self._place[rows]
        self._place[rows] += gain_place[:, None] * residual
        self._velocity[rows] += gain_velocity[:, None] * residual
        self._covariance[rows] = np.stack([p * (1 - gain_place), pv * (1 - gain_place), v - gain_velocity * pv], axis=1)
        self._size[rows] += np.float32(0.3) * (measured[columns, 2:] - self._size[rows])
        self._confidence[rows] = found.confidences[columns]
        self._hits[rows] += 1
        self._confirmed[rows] |= (self._hits[rows] >= CONFIRM_HITS) | (found.confidences[columns] >= CERTAIN_AT)

    def _expire(self, measured: F32, found: Detections, rows: NDArray[np.intp], dt_s: float, aspect: float) -> None:
        """Count how long tracks went unseen and drop those that are gone. rows: those just matched."""
        n = len(self._ids)
        if not n:
            return
        seen = np.zeros(n, np.bool_)
        seen[rows] = True
        self._unseen_s = np.where(seen, 0.0, self._unseen_s + dt_s).astype(np.float32)
        covered = self._covered(measured, found)
        again = seen & (self._pictures > 0) & self._confirmed
        self.comebacks.ended(self._classes[again], self._hidden[again], self._pictures[again], back=True)
        self._hidden = np.where(self._pictures == 0, covered, self._hidden) & ~seen
        self._pictures = np.where(seen, 0, self._pictures + 1).astype(np.int32)
        self._exposed_s = np.where(seen, 0.0, self._exposed_s + np.where(covered, 0.0, dt_s)).astype(np.float32)
        inside = ((self._place >= 0) & (self._place <= np.array([1.0, aspect], np.float32))).all(1)
        half = self._size * 0.5
        touching = (self._place - half <= 0).any(1) | (self._place + half >= np.array([1.0, aspect], np.float32)).any(1)
        given_up = (self._unseen_s > self._coast_s[self._classes]) | (self._exposed_s > self._exposed_limit_s[self._classes])
        gone = ~seen & ~inside
        gone |= ~seen & touching & self._outward(aspect)
        gone |= ~seen & ~self._confirmed
        lost = given_up & ~gone
        self.comebacks.ended(self._classes[lost], self._hidden[lost], self._pictures[lost], back=False)
        gone |= given_up
        own = self._unique[self._classes]
        if (own & seen & self._confirmed).any():  # there is one of it: it is where it was seen, not where it might be
            gone |= own & ~seen
        if gone.any():
            self._keep(~gone)

    def _covered(self, measured: F32, found: Detections) -> NDArray[np.bool_]:
        """Whether something else was found where a track should be."""
        if not len(found):
            return np.zeros(len(self._ids), np.bool_)
        gap = np.abs(measured[None, :, :2] - self._place[:, None])
        over = (gap <= 0.5 * measured[None, :, 2:]).all(axis=2) & (self._classes[:, None] != found.classes[None])
        return np.asarray(over.any(axis=1), np.bool_)

    def _outward(self, aspect: float) -> NDArray[np.bool_]:
        """Whether a track moves towards the border that it touches."""
        middle = self._place - np.array([0.5, 0.5 * aspect], np.float32)
        return np.asarray(((middle * self._velocity) > 0).any(axis=1), np.bool_)

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[rows])

    def _begin(self, measured: F32, found: Detections, used: NDArray[np.intp]) -> None:
        fresh = found.confidences >= BEGIN_AT
        fresh[used] = False
        fresh &= ~self._doubled(measured, found)
        rows = np.flatnonzero(fresh)
        m = len(rows)
        if not m:
            return
        size = measured[rows, 2:]
        classes = found.classes[rows].astype(np.int32)
        covariance = np.stack([self._noise(size), np.zeros(m, np.float32), np.square(self._speed[classes])], axis=1)
        confidence = found.confidences[rows].astype(np.float32)
        zeros = np.zeros(m, np.float32)
        new: dict[str, NDArray[np.generic]] = {
            "_ids": np.arange(self._next_id, self._next_id + m, dtype=np.int32),
            "_classes": classes,
            "_place": measured[rows, :2],
            "_velocity": np.zeros((m, 2), np.float32),
            "_covariance": covariance.astype(np.float32),
            "_size": size,
            "_confidence": confidence,
            "_hits": np.ones(m, np.int32),
            "_confirmed": confidence >= CERTAIN_AT,
            "_age_s": zeros,
            "_unseen_s": zeros,
            "_exposed_s": zeros,
            "_pictures": np.zeros(m, np.int32),
            "_hidden": np.zeros(m, np.bool_),
        }
        self._next_id += m
        taken = np.isin(self._classes, classes[(confidence >= CERTAIN_AT) & self._set_anew[classes]]) & (self._unseen_s > 0)
        if taken.any():
            self._keep(~taken)
        for name, values in new.items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def _doubled(self, measured: F32, found: Detections) -> NDArray[np.bool_]:
        """Unsure finds whose middle lies in a track of their class that was seen just now: the same thing twice."""
        if not len(self._ids):
            return np.zeros(len(found), np.bool_)
        gap = np.abs(measured[:, None, :2] - self._place[None])
        inside = (gap <= 0.5 * self._size[None]).all(axis=2) & (self._unseen_s == 0)[None]
        inside &= found.classes[:, None] == self._classes[None]
        return np.asarray(inside.any(axis=1) & (found.confidences < CERTAIN_AT), np.bool_)

    def _shown(self, aspect: float) -> Tracks:
        missed = self._pictures > 0
        shown = self._confirmed & (~missed | self.comebacks.likely(self._classes, self._hidden, self._pictures))
        own = np.flatnonzero(self._unique[self._classes] & shown)
        if len(own) > 1:  # there is one of it: the surest, and what was seen last
            shown[own] = False
            shown[own[int((self._confidence[own] - self._unseen_s[own]).argmax())]] = True
        rows = np.flatnonzero(shown)
        stretch = np.array([1.0, 1.0 / aspect], np.float32)
        unseen_s = self._unseen_s[rows]
        return Tracks(
            ids=self._ids[rows],
            classes=self._classes[rows],
            boxes=np.concatenate([self._place[rows] * stretch, self._size[rows] * stretch], axis=1),
            confidences=(self._confidence[rows] * np.exp(-2.0 * unseen_s)).astype(np.float32),
            velocities=self._velocity[rows] * stretch,
            ages_s=self._age_s[rows],
            unseen_s=unseen_s,
        )


_COLUMNS: Final = (
    "_ids",
    "_classes",
    "_place",
    "_velocity",
    "_covariance",
    "_size",
    "_confidence",
    "_hits",
    "_confirmed",
    "_age_s",
    "_unseen_s",
    "_exposed_s",
    "_pictures",
    "_hidden",
)
