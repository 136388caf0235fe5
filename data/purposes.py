"""Clicks with a purpose: what each was for, when the hand set out for it, and how long what it began holds.

The hand sets out when the cursor last left its rest before the click, ``REACH_S`` before it at the earliest and never before the
click before. What a click on open ground was for is read off what stood in the picture then. Legend: T rows, C clicks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import NO_TARGET
from data.steps import NO_MODE, Steps
from data.track_lookup import TrackIndex, click_rows, clicked_tracks, padded, scale
from data.vocabulary import MODES
from data.windows import GAP_S

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I8 = NDArray[np.int8]
Bool = NDArray[np.bool_]

REACH_S: Final = 2.0
"""No hand is longer under way to a click."""
UNSEEN_REACH_S: Final = 0.3
"""How long it is under way where the cursor is not known or did not move."""
REST_WIDTHS: Final = 0.001
"""A cursor that moves less in a tick rests."""
REST_S: Final = 0.12
"""A rest is so long; a shorter one is part of the reach."""
SEEN_S: Final = 0.2
"""The quickest player answers so long after what it sees."""
GONE_S: Final = 0.3
"""What is not seen for so long is gone."""
WAY_S: Final = 12.0
"""No way to loot takes longer."""
PAUSE_S: Final = 0.5
"""Of a shorter pause between a click and the next reach the second half goes to what comes."""
MISSED_WIDTHS: Final = 0.025
"""A click on open ground so near to the box of an enemy or of loot is meant for it."""
PLACE_WIDTHS: Final = 0.02
"""Loot of another id, so near to where loot was clicked, is that loot."""
FIGHT, LOOT, FLEE, EXPLORE, CAUTIOUS = (MODES.index(m) for m in ("FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"))


@dataclass(frozen=True, slots=True)
class Clicks:
    """Clicks in order. rows, begun, decided int64 [C]: the click's row, that in which the hand set out for it, and that from which
    all is done for it; ids int32 [C]: the enemy or loot clicked (NO_TARGET: ground or another thing); modes int8 [C]: FIGHT or LOOT
    for these, else NO_MODE; missed [C]: the click fell just beside it."""

    rows: I64
    begun: I64
    decided: I64
    ids: I32
    modes: I8
    missed: Bool

    def __len__(self) -> int:
        return len(self.rows)


def find_clicks(steps: Steps) -> Clicks:
    """Every click of the session."""
    rows = click_rows(steps)
    begun = _begun(steps, rows)
    roles = steps.profile.roles()
    wanted = np.array([FIGHT if role == "enemy" else LOOT if role == "loot" else NO_MODE for role in roles] or [NO_MODE], np.int8)
    flat, beside = clicked_tracks(steps, rows), _just_missed(steps, rows, wanted != NO_MODE)
    missed = (flat < 0) & (beside >= 0)
    flat = np.where(missed, beside, flat)
    ids, modes = np.full(len(rows), NO_TARGET, np.int32), np.full(len(rows), NO_MODE, np.int8)
    hit = flat >= 0
    modes[hit] = _of_class(wanted, steps.track_classes[flat[hit]])
    ids[hit] = np.where(modes[hit] != NO_MODE, steps.track_ids[flat[hit]], NO_TARGET)
    return Clicks(rows, begun, _decided(steps, rows, begun), ids, modes, missed)


def _just_missed(steps: Steps, rows: I64, wanted: Bool) -> I64:
    """int64 [C] flat index of the nearest track of a ``wanted`` class within ``MISSED_WIDTHS`` of the click, or -1."""
    near = padded(steps, rows)
    if not near.shape[1]:
        return np.full(len(rows), -1, np.int64)
    flat = np.where(near >= 0, near, 0)
    boxes = steps.track_boxes[flat]
    away = (boxes[..., :2] - steps.action_xy[rows][:, None, :]) * scale(steps.profile)
    beside = np.hypot(away[..., 0], away[..., 1]) - boxes[..., 2] / 2
    beside = np.where((near >= 0) & _of_class(wanted, steps.track_classes[flat]) & np.isfinite(beside), beside, np.inf)
    best = beside.argmin(1)
    places = np.arange(len(rows))
    return np.where(beside[places, best] <= MISSED_WIDTHS, near[places, best], -1)


def _of_class(values: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    return values[np.clip(classes, 0, len(values) - 1)]


def _begun(steps: Steps, rows: I64) -> I64:
    """int64 [C] the row in which the hand set out for each click."""
    if not len(rows):
        return rows
    times = steps.time_ns
    step = np.hypot(*(np.diff(steps.cursor, axis=0) * scale(steps.profile)).T)
    moving = np.concatenate([[False], step >= REST_WIDTHS])  # an unknown cursor does not move
    places = np.arange(len(times))
    last = np.maximum.accumulate(np.where(moving, places, -1))
    # A run of motion starts where the motion before ended longer ago than a rest.
    before = np.concatenate([[-1], last[:-1]])
    starts = moving & ((before < 0) | (times - times[np.maximum(before, 0)] > REST_S * 1e9))
    start = np.maximum.accumulate(np.where(starts, places, -1))
    at = last[rows]
    fresh = (at >= 0) & (times[rows] - times[np.maximum(at, 0)] <= UNSEEN_REACH_S * 1e9)
    # The row before the first motion seen: there the hand was told to move.
    begun = np.where(fresh, start[np.maximum(at, 0)] - 1, np.searchsorted(times, times[rows] - int(UNSEEN_REACH_S * 1e9)))
    begun = np.maximum(begun, np.searchsorted(times, times[rows] - int(REACH_S * 1e9)))
    begun = np.maximum(begun, np.concatenate([[0], rows[:-1] + 1]))
    gaps = np.concatenate([[0], np.flatnonzero(np.diff(times) > GAP_S * 1e9) + 1])
    return np.minimum(np.maximum(begun, gaps[np.searchsorted(gaps, rows, side="right") - 1]), rows)


def _decided(steps: Steps, rows: I64, begun: I64) -> I64:
    """int64 [C] the row from which all is done for a click: of a short pause before the reach, the second half too."""
    after = np.concatenate([[0], rows[:-1] + 1])
    short = steps.time_ns[begun] - steps.time_ns[after] <= PAUSE_S * 1e9
    return np.where(short & (np.arange(len(rows)) > 0), (begun + after + 1) // 2, begun)


def reaching(clicks: Clicks, total: int) -> I64:
    """int64 [T] the click that the hand is under way to, with the click's own row; -1 for none."""
    if not len(clicks):
        return np.full(total, -1, np.int64)
    rows = np.arange(total)
    following = np.searchsorted(clicks.rows, rows, side="left")
    safe = np.minimum(following, len(clicks) - 1)
    return np.where((following < len(clicks)) & (clicks.decided[safe] <= rows), safe, -1)


def latest(clicks: Clicks, total: int) -> I64:
    """int64 [T] the last click before each row, -1 for none."""
    return np.searchsorted(clicks.rows, np.arange(total), side="left") - 1


def way_to_loot(steps: Steps, clicks: Clicks, index: TrackIndex, keeps_course: Bool) -> I32:
    """int32 [T] the loot that the ship is on its way to: from a click on it until it is seen to be gone or another click leads elsewhere.

    keeps_course: [C] clicks that lead nowhere else (those that lock an enemy).
    """
    total = len(steps)
    leads = np.flatnonzero(~keeps_course)
    if not len(leads) or not (clicks.modes == LOOT).any():
        return np.full(total, NO_TARGET, np.int32)
    place = np.searchsorted(clicks.rows[leads], np.arange(total), side="right") - 1
    led = np.where(place >= 0, leads[np.maximum(place, 0)], 0)
    wanted = np.where((place >= 0) & (clicks.modes[led] == LOOT), clicks.ids[led], NO_TARGET).astype(np.int32)
    rows = np.arange(total)
    found = _same_loot(steps, index, wanted, clicks.rows[led])
    there = found >= 0
    times = steps.time_ns
    begin = clicks.rows[led]
    # Gone once and for all: later sights of the same id after a longer absence are another thing.
    seen = np.maximum.accumulate(np.where(there | (rows == begin), rows, -1))
    absent = times - times[np.maximum(seen, 0)] > GONE_S * 1e9
    lost = np.maximum.accumulate(np.where(absent & (wanted != NO_TARGET), rows, -1))
    under_way = (wanted != NO_TARGET) & (lost < begin) & (times - times[begin] <= WAY_S * 1e9)
    # It ends when the player can have seen that it is gone, not when its absence is sure.
    next_seen = np.minimum.accumulate(np.where(there & under_way, rows, total)[::-1])[::-1]
    same = (next_seen < total) & (led[np.minimum(next_seen, total - 1)] == led)
    same |= times - times[np.maximum(seen, 0)] <= SEEN_S * 1e9
    ids = steps.track_ids[np.maximum(found, 0)] if len(steps.track_ids) else wanted
    return np.where(under_way & same, np.where(there, ids, wanted), NO_TARGET).astype(np.int32)


def _same_loot(steps: Steps, index: TrackIndex, wanted: I32, clicked: I64) -> I64:
    """int64 [T] flat index of the track of that id, else of loot of its class where it was in the row ``clicked``; -1 for none."""
    rows = np.arange(len(wanted))
    found = index.find(rows, wanted[:, None])[:, 0]
    lost = np.flatnonzero((found < 0) & (wanted != NO_TARGET))
    origin = index.find(clicked[lost], wanted[lost][:, None])[:, 0]
    lost, origin = lost[origin >= 0], origin[origin >= 0]
    near = padded(steps, lost)
    if not near.size:
        return found
    flat = np.where(near >= 0, near, 0)
    away = (steps.track_boxes[flat, :2] - steps.track_boxes[origin, None, :2]) * scale(steps.profile)
    alike = (near >= 0) & (steps.track_classes[flat] == steps.track_classes[origin][:, None])
    distance = np.where(alike, np.hypot(away[..., 0], away[..., 1]), np.inf)
    best = distance.argmin(1)
    places = np.arange(len(lost))
    found[lost] = np.where(distance[places, best] <= PLACE_WIDTHS, near[places, best], -1)
    return found


def bridged(steps: Steps, ids: I32, longest_s: float) -> I32:
    """int32 [T] ``ids`` with absences of at most so long between two sights of the same id filled."""
    rows, times = np.arange(len(ids)), steps.time_ns
    have = ids != NO_TARGET
    before = np.maximum.accumulate(np.where(have, rows, -1))
    after = np.minimum.accumulate(np.where(have, rows, len(ids))[::-1])[::-1]
    inside = ~have & (before >= 0) & (after < len(ids))
    first, last = np.maximum(before, 0), np.minimum(after, len(ids) - 1)
    inside &= (ids[first] == ids[last]) & (times[last] - times[first] <= longest_s * 1e9)
    return np.where(inside, ids[first], ids).astype(np.int32)


def ahead(steps: Steps, within_s: float) -> I64:
    """int64 [T] the last row within so long that no gap parts from this one."""
    times = steps.time_ns
    found = np.searchsorted(times, times + int(within_s * 1e9), side="right") - 1
    gaps = np.flatnonzero(np.diff(times) > GAP_S * 1e9)
    if len(gaps):
        following = np.searchsorted(gaps, np.arange(len(times)), side="left")
        last = np.where(following < len(gaps), gaps[np.minimum(following, len(gaps) - 1)], len(times) - 1)
        found = np.minimum(found, last)
    return np.maximum(found, np.arange(len(times)))
