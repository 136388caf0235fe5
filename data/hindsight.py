"""Modes and targets from what came next: the rules that label play where nobody else has.

A click on an enemy or on loot says what it is for, and so does everything up to ``LEAD_S`` before it, the time in which it was
decided and aimed. Row by row, the first that holds:

1. **no own ship**, where the game's profile has one: EXPLORE.
2. **flight from danger**: an enemy of a ``dangerous`` class in threat range that is not the one locked: FLEE.
3. **aimed at**: the next purposeful click comes within ``LEAD_S``: FIGHT for an enemy, LOOT for loot.
4. **under way to loot**: from a click on loot until it is taken or gone, or until another click leads elsewhere (a click that locks
   an enemy does not): LOOT.
5. **engaged**: an enemy is locked or fired at: FIGHT.
6. **threatened**: an enemy in threat range, and the ship stays or flies away from it over the next second: FLEE when hp is low, or
   is below half and falls while it flies away; else CAUTIOUS.
7. **clicked but not locked**: a game without locks: FIGHT for ``AHEAD_S`` after a click on an enemy. **Closing on loot**, where nothing
   is ever clicked: LOOT.
8. none of these: EXPLORE.

The target is the thing aimed at (3), else the loot under way to (4), else the enemy locked (5), else what is clicked or locked
next within ``AHEAD_S``. Only a track that is there in the row itself is a target of it. The arena's demonstrators tell their own
modes by the same words; ``benchmarks/labels.py`` says how far the rules agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import NO_TARGET
from data.steps import NO_MODE, Steps, input_names
from data.track_lookup import TrackIndex, clicked_track, locked_tracks, padded, scale, self_positions
from data.vocabulary import MODES

HINDSIGHT_VERSION: Final = 2
"""Grows with any change of the rules above; stored with what was learnt from them."""
AHEAD_S: Final = 2.0
LEAD_S: Final = 0.3
CHANGE_S: Final = 1.0
"""Over how long a range is seen to grow or hp to fall."""
CLOSING_WIDTHS: Final = 0.03
"""How much nearer, in picture widths, counts as closing on something or moving away from it."""
LOOT_RANGE_WIDTHS: Final = 0.1
"""Closing on loot counts only when it ends this near."""
HP_FALL: Final = 0.02
HALF: Final = 0.5
GONE_S: Final = 0.3
"""Loot that is not seen for so long has been taken or has vanished."""
LOOT_REACH_S: Final = 12.0
"""No way to loot takes longer."""
_CODE: Final = {mode: MODES.index(mode) for mode in MODES}


def label_modes(steps: Steps) -> NDArray[np.int8]:
    """[T] index into MODES for every row: what was said of it in the session's labels (``Steps.said_mode``), else what
    the rules say. Rows without a full look ahead use what there is."""
    total = len(steps)
    if not total:
        return np.zeros(0, np.int8)
    profile, clicks = steps.profile, _purposes(steps)
    second, ahead = _ahead(steps, CHANGE_S), _ahead(steps, AHEAD_S)
    locked = locked_ids(steps)
    engaged = (locked != NO_TARGET) | _flag(steps, "locked") | _flag(steps, "firing")
    distance, enemy = _nearest(steps, _classes(steps, "enemy"))
    change = _away(steps, second, enemy)
    hp = _level(steps, "hp")
    threatened = (distance < profile.threat_range) & (change > -CLOSING_WIDTHS)
    falling = (hp < HALF) & (hp[second] < hp - HP_FALL) & (change > CLOSING_WIDTHS)
    running = (hp < profile.low_hp) | falling
    danger_distance, danger = _nearest(steps, _dangerous(steps))
    in_danger = (danger_distance < profile.threat_range) & ((locked != danger) | (danger == NO_TARGET))
    _, loot_id = _way_to_loot(steps, clicks)

    ruled = np.full(total, _CODE["EXPLORE"], np.int8)
    ruled[_closes_on_loot(steps, ahead) if not len(clicks.rows) else loot_id != NO_TARGET] = _CODE["LOOT"]
    if not _has_locks(steps):
        ruled[_since(steps, clicks.rows[clicks.modes == _CODE["FIGHT"]], AHEAD_S)] = _CODE["FIGHT"]
    ruled[threatened] = _CODE["CAUTIOUS"]
    ruled[threatened & running] = _CODE["FLEE"]
    ruled[engaged] = _CODE["FIGHT"]
    ruled[loot_id != NO_TARGET] = _CODE["LOOT"]
    coming, _ = _coming(steps, clicks, LEAD_S)
    ruled[coming >= 0] = clicks.modes[coming[coming >= 0]]
    ruled[in_danger] = _CODE["FLEE"]
    ruled[_shipless(steps)] = _CODE["EXPLORE"]
    return ruled if steps.said_mode is None else np.where(steps.said_mode != NO_MODE, steps.said_mode, ruled).astype(np.int8)


def label_targets(steps: Steps) -> NDArray[np.int32]:
    """[T] track id of the target by the rules above, else NO_TARGET."""
    total = len(steps)
    if not total:
        return np.full(total, NO_TARGET, np.int32)
    clicks, locked = _purposes(steps), locked_ids(steps)
    _, loot_id = _way_to_loot(steps, clicks)
    new = np.flatnonzero((locked != NO_TARGET) & (locked != np.concatenate([locked[:1], locked[:-1]])))
    rows, ids = np.concatenate([clicks.rows, new]), np.concatenate([clicks.ids, locked[new]])
    order = np.argsort(rows, kind="stable")
    events = _Clicks(rows[order], ids[order], np.zeros(len(rows), np.int8))
    _, targets = _coming(steps, events, AHEAD_S)
    engaged = (locked != NO_TARGET) & (_flag(steps, "firing") | ~np.isin(targets, locked[new]))
    targets = np.where(engaged, locked, targets)
    targets = np.where(loot_id != NO_TARGET, loot_id, targets)
    _, aimed = _coming(steps, clicks, LEAD_S)
    targets = np.where(aimed != NO_TARGET, aimed, targets).astype(np.int32)
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


@dataclass(frozen=True, slots=True)
class _Clicks:
    """Clicks with a purpose, in order. rows int64 [C]; ids int32 [C] of what was clicked; modes int8 [C]."""

    rows: NDArray[np.int64]
    ids: NDArray[np.int32]
    modes: NDArray[np.int8]


def _purposes(steps: Steps) -> _Clicks:
    """The clicks on enemies and on loot."""
    rows, ids, modes = list[int](), list[int](), list[int]()
    roles = steps.profile.roles()
    for row in _left_clicks(steps).tolist():
        flat = clicked_track(steps, row, float(steps.action_xy[row, 0]), float(steps.action_xy[row, 1]))
        role = roles[int(steps.track_classes[flat])] if flat >= 0 else ""
        if role in ("enemy", "loot"):
            rows.append(row)
            ids.append(int(steps.track_ids[flat]))
            modes.append(_CODE["FIGHT" if role == "enemy" else "LOOT"])
    return _Clicks(np.array(rows, np.int64), np.array(ids, np.int32), np.array(modes, np.int8))


def _left_clicks(steps: Steps) -> NDArray[np.int64]:
    names = input_names(steps.profile)
    rows = np.repeat(np.arange(len(steps), dtype=np.int64), np.diff(steps.onset_offsets))
    return np.unique(rows[steps.onset_codes == names.index("mouse_left")])


def _coming(steps: Steps, clicks: _Clicks, within_s: float) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """[T] index of the next click at or after each row if it comes within so long and no gap is between, else -1; and its id."""
    total = len(steps)
    if not len(clicks.rows):
        return np.full(total, -1, np.int64), np.full(total, NO_TARGET, np.int32)
    following = np.searchsorted(clicks.rows, np.arange(total), side="left")
    safe = np.minimum(following, len(clicks.rows) - 1)
    near = (following < len(clicks.rows)) & (clicks.rows[safe] <= _ahead(steps, within_s))
    return np.where(near, safe, -1), np.where(near, clicks.ids[safe], NO_TARGET).astype(np.int32)


def _way_to_loot(steps: Steps, clicks: _Clicks) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """[T] is the ship on its way to loot that was clicked, and the id of that loot (else NO_TARGET)."""
    found = np.full(len(steps), NO_TARGET, np.int32)
    every, index, locks = _left_clicks(steps), TrackIndex(steps), _has_locks(steps)
    furthest = _ahead(steps, LOOT_REACH_S)
    for row, track_id, mode in zip(clicks.rows.tolist(), clicks.ids.tolist(), clicks.modes.tolist(), strict=True):
        if mode != _CODE["LOOT"]:
            continue
        last = int(furthest[row])
        other = every[np.searchsorted(every, row, side="right") :]
        other = other[other <= last]
        for click in other.tolist():
            at = np.searchsorted(clicks.rows, click)
            purposeful = at < len(clicks.rows) and clicks.rows[at] == click
            # A second click on the same loot changes nothing, and where enemies are locked, locking one keeps the course.
            if not purposeful or not (clicks.ids[at] == track_id or (locks and clicks.modes[at] == _CODE["FIGHT"])):
                last = click - 1
                break
        rows = np.arange(row, last + 1, dtype=np.int64)
        there = index.find(rows, np.full((len(rows), 1), track_id, np.int32))[:, 0] >= 0
        seen = np.flatnonzero(there)
        if len(seen):
            gaps = np.flatnonzero(np.diff(steps.time_ns[rows[seen]]) > GONE_S * 1e9)
            found[row : row + int(seen[gaps[0]] if len(gaps) else seen[-1]) + 1] = track_id
    return found != NO_TARGET, found


def _since(steps: Steps, rows: NDArray[np.int64], within_s: float) -> NDArray[np.bool_]:
    """[T] does one of ``rows`` lie at most so long before?"""
    if not len(rows):
        return np.zeros(len(steps), np.bool_)
    before = np.searchsorted(rows, np.arange(len(steps)), side="right") - 1
    safe = np.maximum(before, 0)
    return (before >= 0) & (steps.time_ns - steps.time_ns[rows[safe]] <= within_s * 1e9)


def _ahead(steps: Steps, within_s: float) -> NDArray[np.int64]:
    """[T] the last row within so long that no gap parts from this one."""
    times = steps.time_ns
    found = np.searchsorted(times, times + int(within_s * 1e9), side="right") - 1
    gaps = np.flatnonzero(np.diff(times) > 5e8)
    if len(gaps):
        following = np.searchsorted(gaps, np.arange(len(times)), side="left")
        last = np.where(following < len(gaps), gaps[np.minimum(following, len(gaps) - 1)], len(times) - 1)
        found = np.minimum(found, last)
    return np.maximum(found, np.arange(len(times)))


def _classes(steps: Steps, role: str) -> list[int]:
    return [i for i, r in enumerate(steps.profile.roles()) if r == role]


def _dangerous(steps: Steps) -> list[int]:
    return [i for i, c in enumerate(steps.profile.classes) if c.dangerous]


def _has_locks(steps: Steps) -> bool:
    return "lock" in steps.profile.roles() or "locked" in steps.profile.flag_names()


def _shipless(steps: Steps) -> NDArray[np.bool_]:
    """[T] is the own ship missing, in a game that shows one (and in a session in which it was ever seen)?"""
    if "self" not in steps.profile.roles():
        return np.zeros(len(steps), np.bool_)
    rows = np.arange(len(steps))
    missing = self_positions(steps, rows, padded(steps, rows))[2] > 0
    return missing if not missing.all() else np.zeros(len(steps), np.bool_)


def _nearest(steps: Steps, codes: list[int]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """[T] distance (picture widths) and id of the nearest track of some classes; inf and NO_TARGET when there is none."""
    rows = np.arange(len(steps))
    near = padded(steps, rows)
    if not near.shape[1] or not codes:
        return np.full(len(steps), np.inf), np.full(len(steps), NO_TARGET, np.int32)
    own, _, _ = self_positions(steps, rows, near)
    flat = np.where(near >= 0, near, 0)
    mine = (near >= 0) & np.isin(steps.track_classes[flat], codes)
    away = (steps.track_boxes[flat, :2] - own[:, None, :]) * scale(steps.profile)
    distance = np.where(mine, np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    ids = np.where(mine.any(1), steps.track_ids[flat[rows, best]], NO_TARGET)
    return distance[rows, best], ids.astype(np.int32)


def _away(steps: Steps, later: NDArray[np.int64], ids: NDArray[np.int32]) -> NDArray[Any]:
    """[T] how much farther from where that track is now the ship will be in a later row: whether it flies away from it, whatever
    the other does. 0 where either is not seen."""
    rows = np.arange(len(steps))
    flat = TrackIndex(steps).find(rows, ids[:, None])[:, 0]
    if not len(steps.track_ids):
        return np.zeros(len(rows))
    near = padded(steps, rows)
    now, _, missing = self_positions(steps, rows, near)
    then, missing_then = now[later], missing[later]
    there, sizes = steps.track_boxes[np.maximum(flat, 0), :2], scale(steps.profile)
    change = np.hypot(*((there - then) * sizes).T) - np.hypot(*((there - now) * sizes).T)
    return np.where((flat >= 0) & (missing == 0) & (missing_then == 0), change, 0.0)


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
    now, ids = _nearest(steps, _classes(steps, "loot"))
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
