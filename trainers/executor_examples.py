"""What the Executor learns from: for every row its slots, and the next click's point, onsets and keys held.

Legend: R rows, K slots, I buttons and keys. A choice is a slot (0..K-1), K for the ground, or -1 (no click is near).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.absences import without_absences
from data.features import SLOTS, SlotInputs, past_cursors, slot_inputs
from data.purposes import GONE_S
from data.schema import NO_TARGET
from data.steps import Steps, input_names
from data.track_lookup import TrackIndex, click_rows, clicked_track
from data.windows import Part
from trainers import executor_extras
from trainers.networks.shape import NO_EXTRAS, Extras
from trainers.prepare import Conditioning, usable_parts


@dataclass(frozen=True, slots=True)
class Horizons:
    """How far a row looks ahead for what it learns."""

    point_s: float = 0.6
    """A row learns the point of the next click within this time."""
    intent_s: float = 0.4
    """``intent``: a click within this time."""
    click_ticks: int = 1
    """A click's hazard is of an onset within so many ticks: 1, since the cursor tells its moment."""
    key_ticks: int = 3
    """A key's hazard is of an onset within so many ticks: a person's reaction is no more exact than that."""
    way_s: float = 5.0
    """The way-point, where it is learnt at all, is where the ship is after this time."""

    def __post_init__(self) -> None:
        ticks = self.click_ticks, self.key_ticks
        if not (0 <= self.point_s <= 10 and 0 <= self.intent_s <= 10 and 1 <= min(ticks) <= max(ticks) <= 100 and 0 < self.way_s <= 60):
            raise ValueError(f"{self}: times lie in 0..10 s (way_s up to 60), click_ticks and key_ticks in 1..100")


Arrays = dict[str, NDArray[Any]]


def examples(
    sessions: Sequence[Steps], parts: Sequence[Part], given: Conditioning, horizons: Horizons = Horizons(), extras: Extras = NO_EXTRAS
) -> Arrays:
    """All rows of the parts, in time order within each stretch; ``stretch`` numbers the stretches."""
    found: list[Arrays] = []
    count = 0
    for part in parts:
        steps = sessions[part.session]
        index, clicks = TrackIndex(steps), click_rows(steps)
        whole = without_absences(steps, GONE_S)
        for start, stop in usable_parts(steps, part):
            rows = np.arange(start, stop)
            inputs = slot_inputs(steps, rows, index)
            arrays = {"slots": inputs.slots, "present": inputs.present, "boxes": inputs.boxes, "own": inputs.own, "context": inputs.context}
            arrays |= _cursor(inputs.cursor)
            if extras.cursor_past:
                arrays["cursor_past"] = np.nan_to_num(past_cursors(steps, rows), nan=0.5)
            arrays |= _points(whole, start, stop, inputs, horizons) | _onsets(steps, rows, horizons)
            arrays |= executor_extras.labels(steps, start, stop, clicks, extras, horizons.way_s)
            modes, targets = given.modes[part.session][rows], given.targets[part.session][rows]
            arrays |= {"modes": modes, "target_slots": slots_of(inputs, targets), "stretch": np.full(len(rows), count)}
            found.append(arrays)
            count += 1
    return {name: np.concatenate([a[name] for a in found]) for name in found[0]} if found else {}


def slots_of(inputs: SlotInputs, targets: NDArray[np.int32]) -> NDArray[np.int64]:
    """[R, V] the slot that holds each target id [R, V]; -1 when it is in none."""
    match = (inputs.ids[:, None, :] == targets[..., None]) & inputs.present[:, None, :] & (targets[..., None] != NO_TARGET)
    return np.where(match.any(-1), match.argmax(-1), -1)


def _cursor(cursor: NDArray[np.float32]) -> Arrays:
    known = np.isfinite(cursor).all(1)
    return {"cursor": np.where(known[:, None], cursor, 0.5).astype(np.float32), "cursor_known": known}


def _points(steps: Steps, start: int, stop: int, inputs: SlotInputs, horizons: Horizons) -> Arrays:
    """The next click's choice, offsets and point for each row of a stretch, and whether it comes soon. ``steps`` without absences: what is
    lost in the very tick of the click was clicked all the same."""
    rows = np.arange(start, stop)
    clicks = click_rows(steps)
    clicks = clicks[(clicks >= start) & (clicks < stop) & np.isfinite(steps.action_xy[clicks]).all(1)]
    empty = {
        "choice": np.full(len(rows), -1, np.int64),
        "slot_offset": np.zeros((len(rows), 2), np.float32),
        "point": np.full((len(rows), 2), 0.5, np.float32),
        "intent": np.zeros(len(rows), np.float32),
    }
    if not len(clicks):
        return empty
    points = np.clip(steps.action_xy[clicks], 0, 1 - 1e-6)
    flat = np.array([clicked_track(steps, int(r), float(x), float(y)) for r, (x, y) in zip(clicks, points, strict=True)])
    hit = flat >= 0
    safe = np.maximum(flat, 0)
    ids = np.where(hit, steps.track_ids[safe] if len(steps.track_ids) else NO_TARGET, NO_TARGET)
    boxes = steps.track_boxes[safe] if len(steps.track_boxes) else np.zeros((len(clicks), 4), np.float32)
    offset = np.clip((points - boxes[:, :2]) / np.maximum(boxes[:, 2:] / 2, 1e-4), -1, 1)

    following = np.searchsorted(clicks, rows, side="left")
    inside = following < len(clicks)
    following = np.minimum(following, len(clicks) - 1)
    wait_s = (steps.time_ns[clicks[following]] - steps.time_ns[rows]) / 1e9
    soon = inside & (wait_s <= horizons.point_s)
    match = (inputs.ids == ids[following][:, None]) & inputs.present & hit[following][:, None]
    choice = np.where(match.any(1), match.argmax(1), SLOTS)
    return {
        "choice": np.where(soon, choice, -1),
        "slot_offset": offset[following].astype(np.float32),
        "point": np.where(soon[:, None], points[following], 0.5).astype(np.float32),
        "intent": (inside & (wait_s <= horizons.intent_s)).astype(np.float32),
    }


def _onsets(steps: Steps, rows: NDArray[np.int64], horizons: Horizons) -> Arrays:
    """Click onsets [R, 2] (left, right) and onsets [R, I] of all inputs, in this tick and soon (``click_soon`` within ``click_ticks``,
    ``soon`` within ``key_ticks``, same stretch); what is held [R, I] at the tick's end."""
    names = input_names(steps.profile)
    onsets = np.zeros((len(steps), len(names)), np.float32)
    onsets[np.repeat(np.arange(len(steps)), np.diff(steps.onset_offsets)), steps.onset_codes] = 1
    onsets = onsets[rows]
    held = ((steps.held[rows][:, None] >> np.arange(len(names), dtype=np.uint64)) & np.uint64(1)).astype(np.float32)
    soon, click_soon = _within(onsets, horizons.key_ticks), _within(onsets[:, :2], horizons.click_ticks)
    return {"click": onsets[:, :2], "click_soon": click_soon, "onsets": onsets, "soon": soon, "held": held}


def _within(onsets: NDArray[np.float32], ticks: int) -> NDArray[np.float32]:
    """[R, I] whether there is an onset in this tick or one of the ``ticks - 1`` after it."""
    found = onsets.copy()
    for ahead in range(1, min(ticks, len(onsets))):
        found[:-ahead] = np.maximum(found[:-ahead], onsets[ahead:])
    return found
