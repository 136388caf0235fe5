"""Modes and targets from what came next: the rules that label play where nobody else has.

A click says what the player is after, and so does everything from the moment in which the hand set out for it (``data.purposes``).
Clicks on an enemy are for FIGHT, on loot for LOOT, also those that just miss one (unless an enemy is locked or the player flees).
A click on open ground is judged by what stood in the picture ``SEEN_S`` before the hand set out, since nobody acts on what is not
seen yet; the first that holds:

- an enemy of a ``dangerous`` class in threat range that is not the one locked, or any in threat range with hp low: FLEE
- it lets go of the lock while an enemy is in threat range: CAUTIOUS
- an enemy is locked (the player circles): FIGHT, and its target the enemy locked
- an enemy in threat range, and the ship stays or flies away from it: CAUTIOUS; the ship comes nearer: it says nothing
- no enemy in threat range: EXPLORE

What holds in a row, the first of these:

1. **no ship**, in a game that shows the own ship: EXPLORE.
2. **reach**: the hand is under way to a click: what the click is for.
3. **danger**: a dangerous enemy in threat range that is not the one locked: FLEE.
4. **way**: from a click on loot until ``SEEN_S`` after it is taken or gone, or until another click leads elsewhere (one that locks an
   enemy does not): LOOT.
5. **engaged**: an enemy is locked or fired at: FIGHT.
6. **weak**: an enemy in threat range and hp below the profile's ``low_hp``: FLEE.
7. **stretch**: what the last click began: FIGHT for ``AHEAD_S`` while its target is there and no lock on it came and went; FLEE and
   CAUTIOUS while an enemy is in threat range.
8. **next**: between two stretches that are at most ``AHEAD_S`` apart, and ``LEAD_S`` before a click or a new lock: what comes.
   Where nothing is ever clicked, ``AHEAD_S`` before a new lock.
9. **closing on loot**, where nothing is ever clicked: LOOT.
10. **wary**: an enemy in threat range, and the ship stays or flies away from it over ``CHANGE_S``: CAUTIOUS.
11. none of these: EXPLORE.

A track that is lost for less than ``GONE_S`` was there all the time.
What is judged by threat range, hp and locks counts ``SEEN_S`` after it became so. The target is the enemy or loot of the rule that
holds; FLEE, CAUTIOUS and EXPLORE have none. Only a track that is there in the row itself is a target of it. A person's words
(``Steps.said_mode``, ``Steps.said_target``) hold before all rules. The arena's demonstrators tell their own modes by the same words;
``benchmarks/labels.py`` says how far the rules agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.absences import without_absences
from data.purposes import (
    CAUTIOUS,
    EXPLORE,
    FIGHT,
    FLEE,
    GONE_S,
    LOOT,
    SEEN_S,
    Clicks,
    ahead,
    bridged,
    find_clicks,
    latest,
    reaching,
    way_to_loot,
)
from data.schema import NO_TARGET
from data.steps import NO_MODE, UNSAID_TARGET, Steps
from data.track_lookup import TrackIndex, locked_tracks, padded, scale, self_positions

HINDSIGHT_VERSION: Final = 3
"""Grows with any change of the rules above; stored with what was learnt from them."""
AHEAD_S: Final = 2.0
"""How far the rules look ahead."""
LEAD_S: Final = 0.3
CHANGE_S: Final = 1.0
"""Over how long the ship is seen to fly away from an enemy."""
LETS_GO_S: Final = 0.5
"""A lock that is gone so long after a click was let go by it."""
CLOSING_WIDTHS: Final = 0.03
"""How much nearer, in picture widths, counts as closing on something."""
LOOT_RANGE_WIDTHS: Final = 0.1
"""Closing on loot counts only when it ends this near."""

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I8 = NDArray[np.int8]
Bool = NDArray[np.bool_]


def label_modes(steps: Steps) -> I8:
    """[T] index into MODES for every row: what was said of it in the session's labels (``Steps.said_mode``), else what
    the rules say. Rows without a full look ahead use what there is."""
    if not len(steps):
        return np.zeros(0, np.int8)
    ruled = _Rules(steps).modes
    return ruled if steps.said_mode is None else np.where(steps.said_mode != NO_MODE, steps.said_mode, ruled).astype(np.int8)


def label_targets(steps: Steps) -> I32:
    """[T] track id of the target: what was said of the row (``Steps.said_target``), else none where FLEE, CAUTIOUS or EXPLORE was
    said, else what the rules say; NO_TARGET for none."""
    total = len(steps)
    if not total:
        return np.zeros(0, np.int32)
    targets = _Rules(steps).targets
    if steps.said_mode is not None:
        targets = np.where(np.isin(steps.said_mode, (FLEE, CAUTIOUS, EXPLORE)), NO_TARGET, targets)
    if steps.said_target is not None:
        targets = np.where(steps.said_target != UNSAID_TARGET, steps.said_target, targets)
    here = TrackIndex(steps).find(np.arange(total), targets[:, None].astype(np.int32))[:, 0] >= 0
    return np.where(here, targets, NO_TARGET).astype(np.int32)


def locked_ids(steps: Steps) -> I32:
    """[T] id of the track that carries the lock marker, or NO_TARGET."""
    near = padded(steps, np.arange(len(steps)))
    locked = locked_tracks(steps, near)
    if not locked.size:
        return np.full(len(steps), NO_TARGET, np.int32)
    flat = near[np.arange(len(steps)), locked.argmax(1)]
    return np.where(locked.any(1), steps.track_ids[np.maximum(flat, 0)], NO_TARGET).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What stands in the picture, [T] each. All but ``locked`` and ``engaged`` as it was ``SEEN_S`` before."""

    locked: I32
    engaged: Bool
    in_danger: Bool
    threatened: Bool
    weak: Bool
    wary: Bool
    fights_ago: I32  # the enemy locked SEEN_S before


def _scene(steps: Steps) -> _Scene:
    profile = steps.profile
    locked = bridged(steps, locked_ids(steps), GONE_S)
    distance, enemy = _nearest(steps, [i for i, role in enumerate(profile.roles()) if role == "enemy"])
    danger_distance, danger = _nearest(steps, [i for i, kind in enumerate(profile.classes) if kind.dangerous])
    threatened = distance < profile.threat_range
    before = np.searchsorted(steps.time_ns, steps.time_ns - int(SEEN_S * 1e9))
    return _Scene(
        locked=locked,
        engaged=(locked != NO_TARGET) | _flag(steps, "locked") | _flag(steps, "firing"),
        in_danger=((danger_distance < profile.threat_range) & (locked != danger))[before],
        threatened=threatened[before],
        weak=(threatened & (_level(steps, "hp") < profile.low_hp))[before],
        wary=(threatened & (_flies_away(steps, ahead(steps, CHANGE_S), enemy) > -CLOSING_WIDTHS))[before],
        fights_ago=locked[before],
    )


class _Rules:
    """Modes int8 [T] and targets int32 [T] of a session by the rules alone. A later rule is written over an earlier one."""

    def __init__(self, steps: Steps) -> None:
        steps = without_absences(steps, GONE_S)
        total = len(steps)
        self.modes = np.full(total, EXPLORE, np.int8)
        self.targets = np.full(total, NO_TARGET, np.int32)
        clicks, scene, index = find_clicks(steps), _scene(steps), TrackIndex(steps)
        modes, ids = _purposes(steps, clicks, scene, index)
        loot = way_to_loot(steps, clicks, index, (clicks.modes == FIGHT) & _has_locks(steps))
        under_way, begun = _Began(reaching(clicks, total), modes, ids), _Began(latest(clicks, total), modes, ids)
        fought = _still_fought(steps, clicks, scene, index, begun)
        fled = np.isin(begun.modes, (FLEE, CAUTIOUS)) & scene.threatened
        holds = (under_way.modes != NO_MODE) | scene.in_danger | (loot != NO_TARGET) | scene.engaged | scene.weak
        holds |= fought | fled | (begun.modes == EXPLORE)

        self._put(scene.wary, CAUTIOUS)
        if not len(clicks):
            closing, nearest = _closes_on_loot(steps)
            self._put(closing, LOOT, nearest)
        coming = _next(steps, clicks, _Began(np.arange(len(clicks)), modes, ids), scene, holds)
        self._put((coming.modes != NO_MODE) & ~(scene.wary & (coming.modes == EXPLORE)), coming.modes, coming.ids)
        self._put(fought | fled, begun.modes, begun.ids)
        self._put(scene.weak, FLEE)
        self._put(scene.engaged, FIGHT, scene.locked)
        self._put(loot != NO_TARGET, LOOT, loot)
        self._put(scene.in_danger, FLEE)
        self._put(under_way.modes != NO_MODE, under_way.modes, under_way.ids)
        self._put(_shipless(steps), EXPLORE)

    def _put(self, where: Bool, modes: I8 | int, ids: I32 | int = NO_TARGET) -> None:
        self.modes[where] = modes if isinstance(modes, int) else modes[where]
        self.targets[where] = ids if isinstance(ids, int) else ids[where]


class _Began:
    """modes int8 [T], ids int32 [T] of the click of each row; NO_MODE and NO_TARGET where ``clicks`` is -1."""

    def __init__(self, clicks: I64, modes: I8, ids: I32) -> None:
        self.clicks = clicks
        some = clicks >= 0
        self.modes, self.ids = np.full(len(clicks), NO_MODE, np.int8), np.full(len(clicks), NO_TARGET, np.int32)
        self.modes[some], self.ids[some] = modes[clicks[some]], ids[clicks[some]]


def _purposes(steps: Steps, clicks: Clicks, scene: _Scene, index: TrackIndex) -> tuple[I8, I32]:
    """Mode int8 [C] (NO_MODE: says nothing) and target int32 [C] of every click."""
    at, rows = clicks.begun, clicks.rows
    later = ahead(steps, LETS_GO_S)[rows]
    held = scene.locked[rows]
    lets_go = (held != NO_TARGET) & (scene.locked[later] == NO_TARGET) & (index.find(later, held[:, None])[:, 0] >= 0)
    locked = scene.fights_ago[at]
    flees = scene.in_danger[at] | (scene.weak[at] & (lets_go | (locked == NO_TARGET)))
    on_thing = (clicks.modes != NO_MODE) & ~(clicks.missed & ((locked != NO_TARGET) | flees))
    rules = (
        (on_thing, clicks.modes),
        (flees, FLEE),
        (lets_go & scene.threatened[at], CAUTIOUS),
        (locked != NO_TARGET, FIGHT),
        (scene.wary[at], CAUTIOUS),
        (scene.threatened[at], NO_MODE),
    )
    modes = np.select([holds for holds, _ in rules], [mode for _, mode in rules], EXPLORE).astype(np.int8)
    ids = np.where(on_thing, clicks.ids, np.where(modes == FIGHT, locked, NO_TARGET))
    return modes, ids.astype(np.int32)


def _still_fought(steps: Steps, clicks: Clicks, scene: _Scene, index: TrackIndex, begun: _Began) -> Bool:
    """[T] does the fight that the last click began hold: its target is there, and no lock came and went since?"""
    some = np.flatnonzero(begun.modes == FIGHT)
    found = np.zeros(len(steps), np.bool_)
    clicked = clicks.rows[begun.clicks[some]]
    recent = steps.time_ns[some] - steps.time_ns[clicked] <= AHEAD_S * 1e9
    there = index.find(some, begun.ids[some][:, None])[:, 0] >= 0
    last_lock = np.maximum.accumulate(np.where(scene.locked != NO_TARGET, np.arange(len(steps)), -1))[some]
    found[some] = recent & there & (last_lock < clicked)
    return found


def _next(steps: Steps, clicks: Clicks, purposes: _Began, scene: _Scene, holds: Bool) -> _Began:
    """What the next click or new lock is for, in the rows without a stretch that belong to it."""
    total = len(steps)
    locked = scene.locked
    news = np.flatnonzero(scene.engaged & ~np.concatenate([[True], scene.engaged[:-1]]))
    said = purposes.modes != NO_MODE
    rows = np.concatenate([clicks.rows[said], news])
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    modes = np.concatenate([purposes.modes[said], np.full(len(news), FIGHT, np.int8)])[order]
    ids = np.concatenate([purposes.ids[said], locked[news]])[order]
    if not len(rows):
        return _Began(np.full(total, -1, np.int64), modes, ids)
    following = np.searchsorted(rows, np.arange(total), side="left")
    safe = np.minimum(following, len(rows) - 1)
    times = steps.time_ns
    mine = ~holds & (following < len(rows)) & (rows[safe] <= ahead(steps, AHEAD_S))
    last = np.maximum.accumulate(np.where(holds, np.arange(total), -1))
    between = (last >= 0) & (times[rows[safe]] - times[np.maximum(last, 0)] <= AHEAD_S * 1e9)
    soon = times[rows[safe]] - times <= (LEAD_S if len(clicks) else AHEAD_S) * 1e9
    return _Began(np.where(mine & (between | soon), safe, -1), modes, ids)


def _has_locks(steps: Steps) -> bool:
    return "lock" in steps.profile.roles() or "locked" in steps.profile.flag_names()


def _shipless(steps: Steps) -> Bool:
    """[T] is the own ship missing, in a game that shows one (and in a session in which it was ever seen)?"""
    if "self" not in steps.profile.roles():
        return np.zeros(len(steps), np.bool_)
    rows = np.arange(len(steps))
    missing = self_positions(steps, rows, padded(steps, rows))[2] > 0
    return missing if not missing.all() else np.zeros(len(steps), np.bool_)


def _nearest(steps: Steps, codes: list[int]) -> tuple[NDArray[Any], I32]:
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


def _flies_away(steps: Steps, later: I64, ids: I32) -> NDArray[Any]:
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


def _distance_to(steps: Steps, rows: I64, ids: I32) -> NDArray[Any]:
    """[T] distance to the track of that id in that row, NaN when it is not there."""
    flat = TrackIndex(steps).find(rows, ids[:, None])[:, 0]
    if not len(steps.track_ids):
        return np.full(len(rows), np.nan)
    own, _, _ = self_positions(steps, rows, padded(steps, rows))
    away = (steps.track_boxes[np.maximum(flat, 0), :2] - own) * scale(steps.profile)
    return np.where(flat >= 0, np.hypot(away[:, 0], away[:, 1]), np.nan)


def _closes_on_loot(steps: Steps) -> tuple[Bool, I32]:
    """[T] the nearest loot gets nearer and ends near, or it is gone after having been within reach (picked up); and its id."""
    now, ids = _nearest(steps, [i for i, role in enumerate(steps.profile.roles()) if role == "loot"])
    later = _distance_to(steps, ahead(steps, AHEAD_S), ids)
    nearer = np.isfinite(later) & (now - later > CLOSING_WIDTHS) & (later < LOOT_RANGE_WIDTHS)
    taken = (ids >= 0) & ~np.isfinite(later) & (now < LOOT_RANGE_WIDTHS)
    return nearer | taken, ids


def _flag(steps: Steps, name: str) -> Bool:
    names = steps.profile.flag_names()
    return np.nan_to_num(steps.flags[:, names.index(name)]) > 0.5 if name in names else np.zeros(len(steps), np.bool_)


def _level(steps: Steps, name: str) -> NDArray[np.float32]:
    names = steps.profile.level_names()
    return steps.levels[:, names.index(name)] if name in names else np.full(len(steps), np.nan, np.float32)
