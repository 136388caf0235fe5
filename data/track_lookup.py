"""Finding tracks in ``Steps``: the nearest of a row, the same one in an earlier row, the one under a click.

Legend: R rows asked for, P tracks of a row (padded), K picked tracks. A flat index counts the rows of the track
columns; -1 stands for "none".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.class_tables import ClassTables, class_tables, strictly
from data.profile import GameProfile
from data.steps import Steps, input_names
from data.vocabulary import ROLES, Role
from data.windows import GAP_S

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F32 = NDArray[np.float32]
Bool = NDArray[np.bool_]

NEVER_S: Final = 1e6
CLICK_MARGIN: Final = 8 / 640
"""How far outside a box, in picture widths, a click still counts as on it."""


def padded(steps: Steps, rows: I64) -> I64:
    """[R, P] flat indices of each row's tracks, -1 past their end."""
    start, stop = steps.track_offsets[rows], steps.track_offsets[rows + 1]
    width = int((stop - start).max(initial=0))
    flat = start[:, None] + np.arange(width)[None, :]
    return np.where(flat < stop[:, None], flat, -1)


def scale(profile: GameProfile) -> F32:
    """What turns 0..1 positions into picture widths."""
    return class_tables(profile).scale


def take(columns: NDArray[Any], flat: I64) -> NDArray[Any]:
    """Rows of a track column by flat index; zeros when there is no track at all (so that index 0 is never out of range)."""
    return columns.take(flat, axis=0) if len(columns) else np.zeros((*flat.shape, *columns.shape[1:]), columns.dtype)


class Picked:
    """Some tracks of R rows by flat index, ``near`` [R, K] with -1 for none, and what is asked of them again and again. All [R, K]:
    ``here`` which there are, ``flat`` their index (0 for none), ``classes`` (of none: that of index 0), ``role_codes`` the index of
    their class's role (-1: not the profile's)."""

    __slots__ = ("classes", "flat", "here", "near", "role_codes", "steps", "tables")

    def __init__(self, steps: Steps, near: I64) -> None:
        self.steps, self.near = steps, near
        self.tables: ClassTables = class_tables(steps.profile)
        self.here: Bool = near >= 0
        self.flat: I64 = np.maximum(near, 0)
        self.classes: NDArray[Any] = take(steps.track_classes, self.flat)
        self.role_codes: I64 = strictly(self.tables.strict_roles, self.classes)

    def of_role(self, role: Role) -> Bool:
        """[R, K] which there are of a role."""
        return self.here & (self.role_codes == ROLES.index(role))


def _own_track(picked: Picked) -> I64:
    """[R] flat index of the ship itself: the surest track of role "self", or -1."""
    steps, near = picked.steps, picked.near
    if not near.shape[1] or not len(steps.track_classes):
        return np.full(len(near), -1, np.int64)
    confidence = steps.track_confidences.take(picked.flat) - steps.track_unseen_s.take(picked.flat)
    sure = np.where(picked.of_role("self"), confidence, -np.inf)
    rows, best = np.arange(len(near)), sure.argmax(1)
    return np.where(np.isfinite(sure[rows, best]), near[rows, best], -1)


def self_positions(steps: Steps, rows: I64, near: I64) -> tuple[F32, F32, F32]:
    """The ship's position [R, 2] and velocity [R, 2] (1/s), and whether it is missing [R] (then the middle, at rest)."""
    del rows
    return own_places(Picked(steps, near))


def own_places(picked: Picked) -> tuple[F32, F32, F32]:
    """``self_positions`` for tracks that are picked already."""
    steps, own = picked.steps, _own_track(picked)
    if not len(steps.track_boxes):
        half = np.full((len(own), 2), 0.5, np.float32)
        return half, np.zeros_like(half), np.ones(len(own), np.float32)
    here, flat = own >= 0, np.maximum(own, 0)
    where = np.where(here[:, None], steps.track_boxes[flat, :2], np.float32(0.5))
    velocity = np.where(here[:, None], steps.track_velocities.take(flat, axis=0), np.float32(0.0))
    return where.astype(np.float32, copy=False), velocity.astype(np.float32, copy=False), (~here).astype(np.float32)


def pick_tracks(steps: Steps, rows: I64, limit: int | None) -> I64:
    """[R, K] flat indices of the tracks that matter most, nearest first (enemies and loot count as nearer).

    ``limit`` None gives all of them, [R, P] unsorted; else K is always ``limit``.
    """
    everything = padded(steps, rows)
    if limit is None:
        return everything
    near = np.full((len(rows), limit), -1, np.int64)
    if not everything.shape[1] or not len(steps.track_classes):
        return near
    picked = Picked(steps, everything)
    tables, (own, _, _) = picked.tables, own_places(picked)
    away = (steps.track_boxes[picked.flat, :2] - own[:, None, :]) * tables.scale
    weight = tables.weights.take(picked.classes, mode="clip")
    rank = np.where(picked.here, weight * (np.float32(0.02) + np.hypot(away[..., 0], away[..., 1])), np.inf)
    order = rank.argsort(axis=1, kind="stable")[:, :limit]
    near[:, : order.shape[1]] = everything[np.arange(len(rows))[:, None], order]
    return near


def locked_tracks(steps: Steps, near: I64) -> Bool:
    """[R, P] which enemies carry a lock marker: the nearest enemy to a track of role "lock", if it lies within it."""
    return locked_among(Picked(steps, near))


def locked_among(picked: Picked) -> Bool:
    """``locked_tracks`` of tracks that are picked already."""
    steps, near = picked.steps, picked.near
    found = np.zeros(near.shape, np.bool_)
    if not near.shape[1] or not len(steps.track_classes):
        return found
    locks, enemies = picked.of_role("lock"), picked.of_role("enemy")
    rows = np.flatnonzero(locks.any(1) & enemies.any(1))
    if not len(rows):
        return found
    boxes, places = steps.track_boxes.take(picked.flat[rows], axis=0), np.arange(len(rows))
    lock = boxes[places, locks[rows].argmax(1)]
    away = (boxes[..., :2] - lock[:, None, :2]) * picked.tables.scale
    distance = np.where(enemies[rows], np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    close = distance[places, best] <= np.maximum(lock[:, 2], np.float32(0.02))
    found[rows[close], best[close]] = True
    return found


def lag_rows(steps: Steps, rows: I64, lags_s: Sequence[float], slack_s: float = 0.0125, stale_s: float = 0.15) -> I64:
    """[R, L] for each row the newest row at or before (its time - lag), or -1 when that is over ``stale_s`` older or lies before a gap in
    the play, at which a flight would have forgotten it.

    ``slack_s`` forgives a tick that came a little late; the resampler for training and live alike.
    """
    times = steps.time_ns
    wanted = times[rows][:, None] - np.array([int(lag * 1e9) for lag in lags_s], np.int64)[None, :]
    slack = np.array([0 if lag == 0 else int(slack_s * 1e9) for lag in lags_s], np.int64)
    found = np.searchsorted(times, (wanted + slack).ravel(), side="right").reshape(wanted.shape) - 1
    found = np.minimum(found, rows[:, None])
    stale = (found < 0) | (times[np.maximum(found, 0)] < wanted - int(stale_s * 1e9))
    resumed = resumed_rows(times)
    if len(resumed):
        before = np.concatenate([[0], resumed])[np.searchsorted(resumed, rows, side="right")]
        stale |= found < before[:, None]
    return np.where(stale, -1, found)


def resumed_rows(times_ns: I64) -> I64:
    """The rows with which play goes on after a gap."""
    return np.flatnonzero(np.diff(times_ns) > GAP_S * 1e9) + 1


class TrackIndex:
    """Finds a track of a given id in a given row, for many rows at once."""

    def __init__(self, steps: Steps) -> None:
        counts = np.diff(steps.track_offsets)
        keys = (np.repeat(np.arange(len(steps), dtype=np.int64), counts) << 32) + steps.track_ids.astype(np.int64)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, rows: I64, ids: I32) -> I64:
        """[R, K] flat indices of ``ids`` [R, K] in ``rows`` [R]; -1 where it is not (or row or id is -1)."""
        return self.find_at(rows[:, None], ids)[..., 0]

    def find_at(self, rows: I64, ids: I32) -> I64:
        """[R, K, L] flat indices of ``ids`` [R, K] in each of ``rows`` [R, L], as ``find``."""
        there, those = rows[:, None, :], ids[:, :, None]
        wanted = (there << 32) + those.astype(np.int64)
        if not len(self._keys):
            return np.full(wanted.shape, -1, np.int64)
        at = np.minimum(self._keys.searchsorted(wanted.ravel()).reshape(wanted.shape), len(self._keys) - 1)
        hit = (self._keys.take(at) == wanted) & (there >= 0) & (those >= 0)
        return np.where(hit, self._order.take(at), -1)


def clicked_track(steps: Steps, row: int, x: float, y: float) -> int:
    """The flat index of the track under a click at (x, y) in ``row``: an enemy, loot, a portal or another thing; -1 for ground.

    A point inside several boxes goes to the nearest centre.
    """
    start, stop = int(steps.track_offsets[row]), int(steps.track_offsets[row + 1])
    return under_point(steps.profile, steps.track_classes[start:stop], steps.track_boxes[start:stop], x, y, start)


def clicked_tracks(steps: Steps, rows: I64) -> I64:
    """[R] ``clicked_track`` of the place that each of ``rows`` acted on, for many rows at once."""
    near = padded(steps, rows)
    if not near.shape[1]:
        return np.full(len(rows), -1, np.int64)
    flat, sizes = np.where(near >= 0, near, 0), scale(steps.profile)
    boxes = steps.track_boxes[flat]
    away = np.abs(boxes[..., :2] - steps.action_xy[rows][:, None, :]) * sizes
    inside = (near >= 0) & (away <= boxes[..., 2:] * sizes / 2 + CLICK_MARGIN).all(2) & _clickable(steps.profile, steps.track_classes[flat])
    distance = np.where(inside, np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    places = np.arange(len(rows))
    return np.where(inside[places, best], near[places, best], -1)


def _clickable(profile: GameProfile, classes: NDArray[Any]) -> Bool:
    return class_tables(profile).clickable.take(classes, mode="clip")


def under_point(profile: GameProfile, classes: NDArray[Any], boxes: NDArray[Any], x: float, y: float, first: int = 0) -> int:
    """``clicked_track`` for columns of one row's tracks; the answer counts from ``first``."""
    if not len(classes) or not np.isfinite(x + y):
        return -1
    sizes = scale(profile)
    away = np.abs(boxes[:, :2] - np.array([x, y], np.float32)) * sizes
    inside = (away <= boxes[:, 2:] * sizes / 2 + CLICK_MARGIN).all(1) & _clickable(profile, classes)
    if not inside.any():
        return -1
    return first + int(np.where(inside, np.hypot(away[:, 0], away[:, 1]), np.inf).argmin())


def click_rows(steps: Steps) -> I64:
    """The rows in which a mouse button was newly pressed, in order."""
    names = input_names(steps.profile)
    buttons = [i for i, n in enumerate(names) if n.startswith("mouse_")]
    rows = np.repeat(np.arange(len(steps), dtype=np.int64), np.diff(steps.onset_offsets))
    return np.unique(rows[np.isin(steps.onset_codes, buttons)])


class ClickLog:
    """Which track was clicked when. Times are the clicking tick's; a click counts only for later ticks, and not beyond a gap.
    ``resumed_ns``: when play went on after each gap, in order."""

    def __init__(self, ids: NDArray[Any], times_ns: NDArray[Any], resumed_ns: NDArray[Any] | None = None) -> None:
        order = np.lexsort((times_ns, ids))
        self._resumed = np.zeros(0, np.int64) if resumed_ns is None else np.asarray(resumed_ns, np.int64)
        self._ids = np.asarray(ids, np.int64)[order]
        self._times = np.asarray(times_ns, np.int64)[order]

    @staticmethod
    def of(steps: Steps) -> ClickLog:
        """The clicks of a session."""
        rows = click_rows(steps)
        flat = clicked_tracks(steps, rows)
        hit = flat >= 0
        return ClickLog(steps.track_ids[flat[hit]], steps.time_ns[rows[hit]], steps.time_ns[resumed_rows(steps.time_ns)])

    def since(self, ids: I32, times_ns: I64) -> NDArray[np.float64]:
        """[R, K] seconds since each track was last clicked before ``times_ns`` [R]; ``NEVER_S`` when it never was."""
        if not len(self._ids):
            return np.full(ids.shape, NEVER_S)
        # One sorted key of id and time; microseconds keep id * span inside 63 bits for any session of hours.
        first = int(min(self._times.min(), times_ns.min(initial=self._times.min())))
        mine, asked = (self._times - first) // 1000, (times_ns - first) // 1000
        span = int(max(mine.max(), asked.max(initial=0))) + 1
        keys = self._ids * span + mine
        wanted = ids.astype(np.int64) * span + asked[:, None]
        at = np.searchsorted(keys, wanted.ravel(), side="left").reshape(wanted.shape) - 1
        safe = np.maximum(at, 0)
        hit = (at >= 0) & (self._ids[safe] == ids) & (ids >= 0)
        if len(self._resumed):
            places = np.searchsorted(self._resumed, times_ns, side="right") - 1
            hit &= (places < 0)[:, None] | (self._times[safe] >= self._resumed[np.maximum(places, 0)][:, None])
        return np.where(hit, (times_ns[:, None] - self._times[safe]) / 1e9, NEVER_S)
