"""Last man standing as a person's screen shows it, exactly: tracks and gauges of one seat, for recordings.

Tracks are of the classes of ``LAST_STANDING_PROFILE``. Ids belong to one thing each: an item that appears anew, and every shot, has
its own. The zone is a box round the part of its circle that lies in the picture.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from data.profile import LAST_STANDING_PROFILE
from data.schema import Observation, Status, Tracks
from league.arena import last_standing_rules as rules
from league.arena.last_standing import LastStandingState
from league.arena.last_standing_sprites import ITEM_PX
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.arena.world import DT_S

_CLASS: Final = {name: number for number, name in enumerate(LAST_STANDING_PROFILE.class_names())}
_ITEMS: Final = (_CLASS["heal"], _CLASS["shield"], _CLASS["power"])
_PICTURE: Final = np.array([MAP_WIDTH_PX, MAP_HEIGHT_PX], np.float32)
_SHIP_PX, _SHOT_PX = 2 * rules.RADIUS, 2 * rules.SHOT_RADIUS
Row = tuple[int, int, tuple[float, float, float, float], tuple[float, float]]
"""Id, class, box in px (centre x, y, width, height), velocity in px/s."""


def exact_status(state: LastStandingState, i: int, seat: int) -> Status:
    """What the seat's card shows: hull, shield and energy 0..1 (energy 0 while jammed, as its bar has another colour then)."""
    tick = int(state.tick[i])
    jammed = bool(state.ship_jam_end[i, seat] > tick)
    wait_s = max(0, int(state.ship_cooldown_end[i, seat]) - tick) * DT_S
    return Status(
        levels={
            "hp": max(0.0, float(state.ship_hp[i, seat])),
            "shield": max(0.0, float(state.ship_shield[i, seat])),
            "energy": 0.0 if jammed else max(0.0, float(state.ship_energy[i, seat])),
        },
        flags={"jammed": jammed},
        cooldowns={"ability": min(1.0, wait_s / rules.LONGEST_COOLDOWN_S)},
    )


class LastStandingObserver:
    """Exact observations of one seat, match after match: ids never come back."""

    def __init__(self) -> None:
        self._ids: dict[tuple[float, ...], int] = {}
        self._born_ns: dict[int, int] = {}
        self._next = 1

    def begin(self) -> None:
        """A new match: nothing in it was seen before."""
        self._ids.clear()
        self._born_ns.clear()

    def observe(
        self, state: LastStandingState, i: int, seat: int, times_ns: tuple[int, int], frame_number: int, cursor: tuple[float, float]
    ) -> Observation:
        """World ``i`` as it is. times_ns: of the tick and of the picture."""
        rows = self._rows(state, i, seat)
        born = self._born_ns
        self._born_ns = born = {row[0]: born.get(row[0], times_ns[1]) for row in rows}
        count = len(rows)
        boxes = np.array([row[2] for row in rows], np.float32).reshape(count, 4)
        tracks = Tracks(
            ids=np.array([row[0] for row in rows], np.int32),
            classes=np.array([row[1] for row in rows], np.int32),
            boxes=boxes / np.concatenate([_PICTURE, _PICTURE]),
            confidences=np.ones(count, np.float32),
            velocities=np.array([row[3] for row in rows], np.float32).reshape(count, 2) / _PICTURE,
            ages_s=np.array([(times_ns[1] - born[row[0]]) / 1e9 for row in rows], np.float32),
            unseen_s=np.zeros(count, np.float32),
        )
        return Observation(times_ns[0], times_ns[1], frame_number, exact_status(state, i, seat), tracks, cursor)

    def _id(self, *key: float) -> int:
        if key not in self._ids:
            self._ids[key] = self._next
            self._next += 1
        return self._ids[key]

    def _rows(self, state: LastStandingState, i: int, seat: int) -> list[Row]:
        rows: list[Row] = []
        for k in np.flatnonzero(state.ship_alive[i]).tolist():
            (x, y), (vx, vy) = state.ship_pos[i, k].tolist(), state.ship_vel[i, k].tolist()
            rows.append((self._id(0, k), _CLASS["self" if k == seat else "ship"], (x, y, _SHIP_PX, _SHIP_PX), (vx, vy)))
        for k in np.flatnonzero(state.item_alive[i]).tolist():
            x, y = state.item_pos[i, k].tolist()
            rows.append((self._id(1, k, x, y), _ITEMS[int(state.item_kind[i, k])], (x, y, 2 * ITEM_PX, 2 * ITEM_PX), (0.0, 0.0)))
        for k in np.flatnonzero(state.shot_end[i] > state.tick[i]).tolist():
            (x, y), (vx, vy) = state.shot_pos[i, k].tolist(), state.shot_vel[i, k].tolist()
            mine = _CLASS["shot" if k // rules.SHOTS_PER_SHIP == seat else "hostile_shot"]
            rows.append((self._id(2, k, int(state.shot_end[i, k])), mine, (x, y, _SHOT_PX, _SHOT_PX), (vx, vy)))
        zone = self._zone(state, i)
        return rows if zone is None else [*rows, zone]

    def _zone(self, state: LastStandingState, i: int) -> Row | None:
        radius, (x, y) = float(state.zone_radius[i]), state.zone_middle[i].tolist()
        left, right = max(0.0, x - radius), min(MAP_WIDTH_PX, x + radius)
        top, bottom = max(0.0, y - radius), min(MAP_HEIGHT_PX, y + radius)
        if radius < 1 or left >= right or top >= bottom:
            return None
        return self._id(3), _CLASS["zone"], ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top), (0.0, 0.0)
