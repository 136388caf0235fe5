"""Where things are to each other, for the features: from the ship, from the locked enemy, from danger, from the destination mark.

Legend: R rows, K picked tracks (``near``: their flat indices, -1 for none; ``flat``: the same with 0 for none). Distances are in
picture widths (y is scaled by the picture's height / width), so that a circle stays a circle.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.profile import GameProfile
from data.steps import Steps
from data.track_lookup import scale
from data.vocabulary import ROLES

MARKED_WIDTHS: Final = 0.012
"""A thing whose centre is nearer than this to the destination mark is where the ship is going."""
GOALS: Final = ("enemy", "loot", "portal")
"""Roles of what a destination mark can lie on."""

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


def take(columns: NDArray[Any], flat: I64) -> NDArray[Any]:
    """Rows of a track column by flat index; zeros when there is no track at all (so that index 0 is never out of range)."""
    return columns[flat] if len(columns) else np.zeros((*flat.shape, *columns.shape[1:]), columns.dtype)


def from_ship(steps: Steps, flat: I64, own: F32) -> F32:
    """[R, K, 2] from the ship (``own`` [R, 2], 0..1) to each track."""
    return (take(steps.track_boxes, flat)[..., :2] - own[:, None, :]) * scale(steps.profile)


def closing_speed(steps: Steps, flat: I64, relative: F32, own_velocity: F32) -> F32:
    """How fast the distance to the ship shrinks, in widths/s."""
    velocity = (take(steps.track_velocities, flat) - own_velocity[:, None, :]) * scale(steps.profile)
    distance = np.maximum(np.hypot(relative[..., 0], relative[..., 1]), 1e-3)
    return np.clip(-(velocity * relative).sum(-1) / distance, -2, 2).astype(np.float32)


def in_frame(profile: GameProfile, relative: F32, own: F32, own_velocity: F32) -> F32:
    """[R, K, 4] the picture's middle (from the ship) and the ship's velocity, along and across the line from track to ship."""
    distance = np.hypot(relative[..., 0], relative[..., 1])[..., None]
    # The ship itself has no such line: zeros.
    along = np.where(distance > 0.01, -relative / np.maximum(distance, 1e-6), np.float32(0.0))
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    middle = ((np.float32(0.5) - own) * scale(profile))[:, None, :]
    going = (own_velocity * scale(profile))[:, None, :]
    parts = [(vector * axis).sum(-1) for vector in (middle, going) for axis in (along, across)]
    return np.clip(np.stack(parts, axis=-1), -1, 1).astype(np.float32)


def nearness(distance: NDArray[Any]) -> F32:
    """1 here, 0.37 at a quarter of the picture's width, 0 for what is not there (infinitely far)."""
    return np.exp(-np.asarray(distance, np.float32) / np.float32(0.25))


def codes(profile: GameProfile, role: str) -> list[int]:
    """The classes of a role."""
    return [i for i, r in enumerate(profile.roles()) if r == role]


def dangerous(steps: Steps, near: I64, flat: I64) -> Bool:
    """[R, K] which of the picked tracks are of a dangerous class."""
    feared = [i for i, c in enumerate(steps.profile.classes) if c.dangerous]
    return np.asarray((near >= 0) & np.isin(take(steps.track_classes, flat), feared), np.bool_)


def of_danger(steps: Steps, flat: I64, relative: F32, danger: Bool, own_velocity: F32) -> F32:
    """[R, 3] how near the nearest dangerous enemy is, how fast it closes, whether it is in threat range."""
    if not danger.any():
        return np.zeros((len(danger), 3), np.float32)
    away = np.where(danger, np.hypot(relative[..., 0], relative[..., 1]), np.inf)
    pick = np.arange(len(away)), away.argmin(1)
    nearest = away[pick]
    closing = np.where(np.isfinite(nearest), closing_speed(steps, flat, relative, own_velocity)[pick], 0.0)
    return np.stack([nearness(nearest), closing, nearest < steps.profile.threat_range], axis=1).astype(np.float32)


def of_loot(mine: Bool, relative: F32, distance: F32, locked: Bool, danger: Bool) -> F32:
    """[R, 2] of one kind of loot: how near it is to both the ship and the locked enemy (the best one by the larger of the two ways;
    0 without a lock), and how near danger is to the one that is nearest to the ship."""
    if not mine.any():
        return np.zeros((len(mine), 2), np.float32)
    rows, any_lock, any_mine = np.arange(len(mine)), locked.any(1, keepdims=True), mine.any(1, keepdims=True)
    lock_gap = np.hypot(*np.moveaxis(relative - relative[rows, locked.argmax(1)][:, None], 2, 0))
    both = np.where(mine & any_lock, np.maximum(distance, lock_gap), np.inf).min(1)
    nearest = np.where(mine, distance, np.inf).argmin(1)
    danger_gap = np.hypot(*np.moveaxis(relative - relative[rows, nearest][:, None], 2, 0))
    threat = np.where(danger & any_mine, danger_gap, np.inf).min(1)
    return np.stack([nearness(both), nearness(threat)], axis=1)


def of_mark(steps: Steps, near: I64, flat: I64, relative: F32, enemy_distance: NDArray[Any]) -> F32:
    """[R, 3 + goals] where the destination mark is from the ship, how much farther from the nearest enemy it is than the ship, and on
    which class it lies. All 0 without a mark."""
    goals = [i for i, r in enumerate(steps.profile.roles()) if r in GOALS]
    mark = mark_place(steps, near, flat, relative)
    if mark is None:
        return np.zeros((len(near), 3 + len(goals)), np.float32)
    rows, (place, there) = np.arange(len(near)), mark
    gap = np.hypot(*np.moveaxis(relative - place[:, None], 2, 0))
    nearest = enemy_distance.argmin(1)
    known = there & np.isfinite(enemy_distance[rows, nearest])
    change = np.where(known, gap[rows, nearest] - np.where(known, enemy_distance[rows, nearest], 0.0), 0.0)
    marked, classes = lies_marked(steps, near, flat, relative), take(steps.track_classes, flat)
    on = np.stack([(marked & (classes == code)).any(1) for code in goals], axis=1) if goals else np.zeros((len(near), 0))
    return np.concatenate([np.clip(place, -1, 1), np.clip(change, -1, 1)[:, None], on], axis=1).astype(np.float32)


def mark_place(steps: Steps, near: I64, flat: I64, relative: F32) -> tuple[F32, Bool] | None:
    """[R, 2] where the destination mark is from the ship (0 where there is none) and [R] whether there is one; None: nowhere."""
    roles = roles_of(steps, flat)
    marks = (near >= 0) & (roles == ROLES.index("mark"))
    if not marks.any():
        return None
    there = np.asarray(marks.any(1), np.bool_)
    return np.where(there[:, None], relative[np.arange(len(near)), marks.argmax(1)], np.float32(0.0)), there


def lies_marked(steps: Steps, near: I64, flat: I64, relative: F32) -> Bool:
    """[R, K] which of the picked tracks the destination mark lies on: the nearest to it of those that can be a goal."""
    found = np.zeros(near.shape, np.bool_)
    mark = mark_place(steps, near, flat, relative)
    if mark is None:
        return found
    place, there = mark
    goals = (near >= 0) & np.isin(roles_of(steps, flat), [ROLES.index(r) for r in GOALS])
    gap = np.where(goals & there[:, None], np.hypot(*np.moveaxis(relative - place[:, None], 2, 0)), np.inf)
    rows, best = np.arange(len(near)), gap.argmin(1)
    found[rows, best] = gap[rows, best] < MARKED_WIDTHS
    return found


def low_hp(steps: Steps, rows: I64) -> F32:
    """[R, 1] is hp known and below what the profile calls low?"""
    names = steps.profile.level_names()
    if "hp" not in names:
        return np.zeros((len(rows), 1), np.float32)
    return (steps.levels[rows, names.index("hp")] < steps.profile.low_hp).astype(np.float32)[:, None]


def roles_of(steps: Steps, flat: I64) -> NDArray[Any]:
    """[R, K] index into ROLES of each picked track."""
    profile = steps.profile
    known = np.array([ROLES.index(r) for r in profile.roles()] or [0])
    return known[np.clip(take(steps.track_classes, flat), 0, max(len(profile.classes) - 1, 0))]


def nearness_to(relative: F32, these: Bool) -> F32:
    """[R, K] how near each track is to the nearest of ``these`` [R, K]; 0 where there is none."""
    rows = np.flatnonzero(these.any(1))
    found = np.zeros(these.shape, np.float32)
    if len(rows):
        mine, them = relative[rows], these[rows]
        most = int(them.sum(1).max())
        order = np.argsort(~them, axis=1, kind="stable")[:, :most]
        there = np.take_along_axis(them, order, axis=1)
        place = np.take_along_axis(mine, order[..., None], axis=1)
        gap = np.hypot(*np.moveaxis(mine[:, :, None] - place[:, None], 3, 0))
        found[rows] = nearness(np.where(there[:, None], gap, np.inf).min(2))
    return found
