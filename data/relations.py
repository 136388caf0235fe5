"""Where things are to each other, for the features: from the ship, from the locked enemy, from danger, from the destination mark.

Legend: R rows, K picked tracks. Distances are in picture widths (y is scaled by the picture's height / width), so that a circle
stays a circle.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.class_tables import GOALS, strictly
from data.profile import GameProfile
from data.steps import Steps
from data.track_lookup import Picked, locked_among, own_places, take
from data.vocabulary import ROLES

MARKED_WIDTHS: Final = 0.012
"""A thing whose centre is nearer than this to the destination mark is where the ship is going."""
_MARK: Final = ROLES.index("mark")

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


class Scene:
    """Picked tracks and where they are to the ship. All [R, K] but ``own`` and ``own_velocity`` [R, 2] (0..1 and 1/s) and
    ``own_missing`` [R], by ``track_lookup.self_positions``; ``relative`` [R, K, 2] from the ship to each track, ``distance`` its
    length. What only some features need is made when it is first asked for, once."""

    def __init__(self, steps: Steps, near: I64) -> None:
        self.steps, self.profile = steps, steps.profile
        self.picked = picked = Picked(steps, near)
        self.near, self.here, self.flat, self.classes = near, picked.here, picked.flat, picked.classes
        self.tables = picked.tables
        self.rows = np.arange(len(near))
        self.own, self.own_velocity, self.own_missing = own_places(picked)
        self.boxes: F32 = take(steps.track_boxes, self.flat)
        self.relative: F32 = (self.boxes[..., :2] - self.own[:, None, :]) * self.tables.scale
        self.distance: F32 = length(self.relative)

    @cached_property
    def velocities(self) -> NDArray[Any]:
        """[R, K, 2] of the tracks in the picture, 1/s."""
        return take(self.steps.track_velocities, self.flat)

    @cached_property
    def roles(self) -> I64:
        """Index into ROLES; a class that the profile lacks has that of the nearest one."""
        return self.tables.roles.take(self.classes, mode="clip")

    @cached_property
    def locked(self) -> Bool:
        return locked_among(self.picked)

    @cached_property
    def dangerous(self) -> Bool:
        """Which are of a dangerous class."""
        return self.here & strictly(self.tables.dangerous, self.classes)

    @cached_property
    def closing(self) -> F32:
        """How fast the distance to the ship shrinks, in widths/s."""
        velocity = (self.velocities - self.own_velocity[:, None, :]) * self.tables.scale
        along = velocity * self.relative
        distance = np.maximum(self.distance, np.float32(1e-3))
        return bounded(-_sum(along[..., 0], along[..., 1]) / distance, 2).astype(np.float32, copy=False)

    @cached_property
    def mark(self) -> tuple[F32, Bool] | None:
        """[R, 2] where the destination mark is from the ship (0 where there is none) and [R] whether there is one; None: nowhere."""
        marks = self.here & (self.roles == _MARK)
        there = marks.any(1)
        if not there.any():
            return None
        return np.where(there[:, None], self.relative[self.rows, marks.argmax(1)], np.float32(0.0)), there

    @cached_property
    def marked(self) -> Bool:
        """Which one the destination mark lies on: the nearest to it of those that can be a goal."""
        found = np.zeros(self.near.shape, np.bool_)
        if self.mark is None:
            return found
        place, there = self.mark
        goals = self.here & self.tables.goals.take(self.roles)
        gap = np.where(goals & there[:, None], length(self.relative - place[:, None]), np.inf)
        best = gap.argmin(1)
        found[self.rows, best] = gap[self.rows, best] < MARKED_WIDTHS
        return found


def length(vectors: NDArray[Any]) -> NDArray[Any]:
    """Of vectors [..., 2]."""
    return np.hypot(vectors[..., 0], vectors[..., 1])


def _sum(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Zero is never negative, as with ``sum``."""
    return first + second + np.float32(0.0)


def bounded(values: NDArray[Any], most: int, least: int | None = None) -> NDArray[Any]:
    """In ``least`` (else -``most``) to ``most``, NaN staying NaN."""
    return np.minimum(np.maximum(values, -most if least is None else least), most)


def in_frame(scene: Scene) -> F32:
    """[R, K, 4] the picture's middle (from the ship) and the ship's velocity, along and across the line from track to ship."""
    distance, sizes = scene.distance[..., None], scene.tables.scale
    # The ship itself has no such line: zeros.
    along = np.where(distance > 0.01, -scene.relative / np.maximum(distance, np.float32(1e-6)), np.float32(0.0))
    x, y = along[..., 0], along[..., 1]
    middle, going = (np.float32(0.5) - scene.own) * sizes, scene.own_velocity * sizes
    found = np.empty((*x.shape, 4), np.float32)
    for i, vector in enumerate((middle, going)):
        u, v = vector[:, :1], vector[:, 1:]
        found[..., 2 * i], found[..., 2 * i + 1] = _sum(u * x, v * y), _sum(v * x, -u * y)
    return bounded(found, 1)


def nearness(distance: NDArray[Any]) -> F32:
    """1 here, 0.37 at a quarter of the picture's width, 0 for what is not there (infinitely far)."""
    return np.exp(-np.asarray(distance, np.float32) / np.float32(0.25))


def codes(profile: GameProfile, role: str) -> list[int]:
    """The classes of a role."""
    return [i for i, r in enumerate(profile.roles()) if r == role]


def of_danger(scene: Scene) -> F32:
    """[R, 3] how near the nearest dangerous enemy is, how fast it closes, whether it is in threat range."""
    danger = scene.dangerous
    if not danger.any():
        return np.zeros((len(danger), 3), np.float32)
    away = np.where(danger, scene.distance, np.inf)
    pick = scene.rows, away.argmin(1)
    nearest = away[pick]
    closing = np.where(np.isfinite(nearest), scene.closing[pick], 0.0)
    return np.stack([nearness(nearest), closing, nearest < scene.profile.threat_range], axis=1).astype(np.float32)


def of_loot(scene: Scene, mine: Bool) -> F32:
    """[R, 2] of one kind of loot: how near it is to both the ship and the locked enemy (the best one by the larger of the two ways;
    0 without a lock), and how near danger is to the one that is nearest to the ship."""
    if not mine.any():
        return np.zeros((len(mine), 2), np.float32)
    relative, distance, rows = scene.relative, scene.distance, scene.rows
    locked, any_mine = scene.locked, mine.any(1, keepdims=True)
    lock_gap = length(relative - relative[rows, locked.argmax(1)][:, None])
    both = np.where(mine & locked.any(1, keepdims=True), np.maximum(distance, lock_gap), np.inf).min(1)
    nearest = np.where(mine, distance, np.inf).argmin(1)
    danger_gap = length(relative - relative[rows, nearest][:, None])
    threat = np.where(scene.dangerous & any_mine, danger_gap, np.inf).min(1)
    return np.stack([nearness(both), nearness(threat)], axis=1)


def of_mark(scene: Scene, enemy_distance: NDArray[Any]) -> F32:
    """[R, 3 + goals] where the destination mark is from the ship, how much farther from the nearest enemy it is than the ship, and on
    which class it lies. All 0 without a mark."""
    goals = [i for i, r in enumerate(scene.profile.roles()) if r in GOALS]
    if scene.mark is None:
        return np.zeros((len(scene.near), 3 + len(goals)), np.float32)
    rows, (place, there) = scene.rows, scene.mark
    gap = length(scene.relative - place[:, None])
    nearest = enemy_distance.argmin(1)
    known = there & np.isfinite(enemy_distance[rows, nearest])
    change = np.where(known, gap[rows, nearest] - np.where(known, enemy_distance[rows, nearest], 0.0), 0.0)
    on = (scene.marked[..., None] & (scene.classes[..., None] == np.array(goals, np.int32))).any(1)
    return np.concatenate([bounded(place, 1), bounded(change, 1)[:, None], on], axis=1).astype(np.float32)


def low_hp(steps: Steps, rows: I64) -> F32:
    """[R, 1] is hp known and below what the profile calls low?"""
    names = steps.profile.level_names()
    if "hp" not in names:
        return np.zeros((len(rows), 1), np.float32)
    return (steps.levels[rows, names.index("hp")] < steps.profile.low_hp).astype(np.float32)[:, None]


def nearness_to(relative: F32, these: Bool) -> F32:
    """[R, K] how near each track is to the nearest of ``these`` [R, K]; 0 where there is none."""
    rows = np.flatnonzero(these.any(1))
    found = np.zeros(these.shape, np.float32)
    if len(rows):
        mine, them = relative[rows], these[rows]
        most = int(them.sum(1).max())
        order = (~them).argsort(axis=1, kind="stable")[:, :most]
        places = np.arange(len(rows))[:, None]
        gap = length(mine[:, :, None] - mine[places, order][:, None])
        found[rows] = nearness(np.where(them[places, order][:, None], gap, np.inf).min(2))
    return found
