"""Modes and targets from what came next: the rules that label play where nobody else has.

Rules look ``AHEAD_S`` ahead; the first that holds wins.
FIGHT: locks, fires at or damages an enemy. LOOT: clicks loot or closes on it. FLEE: an enemy in threat range, moving
away from it, not firing, hp low or falling. CAUTIOUS: an enemy in threat range, not firing, range kept or growing.
EXPLORE: none of these. The target is the track next locked, clicked or fired at within the same time.
They use what stands in any session: tracks by role, clicks, the flag ``firing`` and the level ``hp`` where the profile has them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import NO_TARGET
from data.steps import NO_MODE, Steps
from data.track_lookup import TrackIndex, click_rows, clicked_track, locked_tracks, padded, scale, self_positions
from data.vocabulary import MODES

AHEAD_S: Final = 2.0
CLOSING_WIDTHS: Final = 0.03
"""How much nearer, in picture widths, counts as closing on something or moving away from it."""
LOOT_RANGE_WIDTHS: Final = 0.1
"""Closing on loot counts only when it ends this near."""
HP_FALL: Final = 0.02


def label_modes(steps: Steps) -> NDArray[np.int8]:
    """[T] index into MODES for every row: what was said of it in the session's labels (``Steps.said_mode``), else what
    the rules say. Rows without a full look ahead use what there is."""
    total = len(steps)
    if not total:
        return np.zeros(0, np.int8)
    profile = steps.profile
    ahead = _ahead(steps)
    events = fight_events(steps)
    firing = _flag(steps, "firing")
    fight = _any_within(events["locks"] | (firing & events["locked"]), ahead, after=True) | (firing & events["locked"])
    loot = _any_within(events["loot_clicks"], ahead, after=False) | _closes_on_loot(steps, ahead)
    enemy_id, enemy_distance = _nearest(steps, "enemy")
    later = _distance_to(steps, ahead, enemy_id)
    change = np.where(np.isfinite(later), later - enemy_distance, 0.0)
    threatened = enemy_distance < profile.threat_range
    quiet = ~_any_within(firing, ahead, after=False)
    hp = _level(steps, "hp")
    low = hp < profile.low_hp
    falling = hp[ahead] < hp - HP_FALL
    flee = threatened & quiet & (change > CLOSING_WIDTHS) & (low | falling)
    cautious = threatened & quiet & (change > -CLOSING_WIDTHS)
    code = {mode: MODES.index(mode) for mode in MODES}
    chosen = np.where(cautious, code["CAUTIOUS"], code["EXPLORE"])
    chosen = np.where(flee, code["FLEE"], chosen)
    chosen = np.where(loot, code["LOOT"], chosen)
    ruled = np.where(fight, code["FIGHT"], chosen).astype(np.int8)
    return ruled if steps.said_mode is None else np.where(steps.said_mode != NO_MODE, steps.said_mode, ruled)


def label_targets(steps: Steps) -> NDArray[np.int32]:
    """[T] track id of the track next locked, clicked or fired at within ``AHEAD_S``, else NO_TARGET.

    Only a track that is present in the row itself is a target of it.
    """
    total = len(steps)
    targets = np.full(total, NO_TARGET, np.int32)
    if not total:
        return targets
    ahead = _ahead(steps)
    hits: list[tuple[int, int]] = []  # (row, id) that names the target of the rows up to and with it
    for row in click_rows(steps).tolist():
        flat = clicked_track(steps, row, float(steps.action_xy[row, 0]), float(steps.action_xy[row, 1]))
        if flat >= 0:
            hits.append((row, int(steps.track_ids[flat])))
    locked_id = locked_ids(steps)
    new = np.flatnonzero((locked_id >= 0) & (locked_id != np.concatenate([[NO_TARGET], locked_id[:-1]])))
    hits += [(int(r), int(locked_id[r])) for r in new if r > 0]
    fired = np.flatnonzero(_flag(steps, "firing") & (locked_id >= 0))
    hits += [(int(r), int(locked_id[r])) for r in fired]
    hits.sort()
    if not hits:
        return targets
    rows = np.array([h[0] for h in hits])
    ids = np.array([h[1] for h in hits], np.int32)
    following = np.searchsorted(rows, np.arange(total), side="left")
    inside = following < len(rows)
    safe = np.where(inside, following, 0)
    inside &= rows[safe] <= ahead
    targets[inside] = ids[safe[inside]]
    seen = TrackIndex(steps).find(np.arange(total), targets[:, None])[:, 0] >= 0
    return np.where(seen, targets, NO_TARGET).astype(np.int32)


def locked_ids(steps: Steps) -> NDArray[np.int32]:
    """[T] id of the track that carries the lock marker, or NO_TARGET."""
    near = padded(steps, np.arange(len(steps)))
    locked = locked_tracks(steps, near)
    if not locked.size:
        return np.full(len(steps), NO_TARGET, np.int32)
    flat = near[np.arange(len(steps)), locked.argmax(1)]
    return np.where(locked.any(1), steps.track_ids[np.maximum(flat, 0)], NO_TARGET).astype(np.int32)


def fight_events(steps: Steps) -> dict[str, NDArray[np.bool_]]:
    """Per row: ``locks`` (a new lock appeared, or an enemy was clicked), ``locked``, ``loot_clicks``."""
    total = len(steps)
    locked_id = locked_ids(steps)
    before = np.concatenate([locked_id[:1], locked_id[:-1]]) if total else locked_id
    locks = (locked_id >= 0) & (locked_id != before)
    loot_clicks = np.zeros(total, np.bool_)
    roles = steps.profile.roles()
    for row in click_rows(steps).tolist():
        flat = clicked_track(steps, row, float(steps.action_xy[row, 0]), float(steps.action_xy[row, 1]))
        if flat >= 0:
            role = roles[int(steps.track_classes[flat])]
            locks[row] |= role == "enemy"
            loot_clicks[row] |= role == "loot"
    locked = (locked_id >= 0) | _flag(steps, "locked")
    return {"locks": locks, "locked": locked, "loot_clicks": loot_clicks}


def _ahead(steps: Steps) -> NDArray[np.int64]:
    """[T] the last row within ``AHEAD_S`` that no gap parts from this one."""
    times = steps.time_ns
    found = np.searchsorted(times, times + int(AHEAD_S * 1e9), side="right") - 1
    gaps = np.flatnonzero(np.diff(times) > 5e8)
    if len(gaps):
        following = np.searchsorted(gaps, np.arange(len(times)), side="left")
        last = np.where(following < len(gaps), gaps[np.minimum(following, len(gaps) - 1)], len(times) - 1)
        found = np.minimum(found, last)
    return np.maximum(found, np.arange(len(times)))


def _any_within(events: NDArray[np.bool_], ahead: NDArray[np.int64], *, after: bool) -> NDArray[np.bool_]:
    """[T] does an event fall between this row (without it when ``after``) and its ``ahead`` row?"""
    counted = np.concatenate([[0], np.cumsum(events)])
    first = np.arange(len(events)) + (1 if after else 0)
    return counted[ahead + 1] - counted[np.minimum(first, ahead + 1)] > 0


def _nearest(steps: Steps, role: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """[T] id and distance (picture widths) of the nearest track of a role; NO_TARGET and inf when there is none."""
    rows = np.arange(len(steps))
    near = padded(steps, rows)
    if not near.shape[1]:
        return np.full(len(steps), NO_TARGET, np.int32), np.full(len(steps), np.inf)
    own, _, _ = self_positions(steps, rows, near)
    flat = np.where(near >= 0, near, 0)
    codes = [i for i, r in enumerate(steps.profile.roles()) if r == role]
    mine = (near >= 0) & np.isin(steps.track_classes[flat], codes)
    away = (steps.track_boxes[flat, :2] - own[:, None, :]) * scale(steps.profile)
    distance = np.where(mine, np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    ids = np.where(mine.any(1), steps.track_ids[flat[rows, best]], NO_TARGET)
    return ids.astype(np.int32), distance[rows, best]


def _distance_to(steps: Steps, rows: NDArray[np.int64], ids: NDArray[np.int32]) -> NDArray[Any]:
    """[T] distance to the track of that id in that row, NaN when it is not there."""
    flat = TrackIndex(steps).find(rows, ids[:, None])[:, 0]
    if not len(steps.track_ids):
        return np.full(len(rows), np.nan)
    own, _, _ = self_positions(steps, rows, padded(steps, rows))
    away = (steps.track_boxes[np.maximum(flat, 0), :2] - own) * scale(steps.profile)
    return np.where(flat >= 0, np.hypot(away[:, 0], away[:, 1]), np.nan)


def _closes_on_loot(steps: Steps, ahead: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[T] the nearest loot gets nearer and ends near, or it is gone after having been within reach (picked up)."""
    ids, now = _nearest(steps, "loot")
    later = _distance_to(steps, ahead, ids)
    nearer = np.isfinite(later) & (now - later > CLOSING_WIDTHS) & (later < LOOT_RANGE_WIDTHS)
    taken = (ids >= 0) & ~np.isfinite(later) & (now < LOOT_RANGE_WIDTHS)
    return nearer | taken


def _flag(steps: Steps, name: str) -> NDArray[np.bool_]:
    names = steps.profile.flag_names()
    return np.nan_to_num(steps.flags[:, names.index(name)]) > 0.5 if name in names else np.zeros(len(steps), np.bool_)


def _level(steps: Steps, name: str) -> NDArray[np.float32]:
    names = steps.profile.level_names()
    return steps.levels[:, names.index(name)] if name in names else np.full(len(steps), np.nan, np.float32)
