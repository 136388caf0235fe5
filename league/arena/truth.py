"""Everything that is visible in one world, as exact boxes: what renderer, detector training and scoring agree on.

Ids are the world's serials, so they are stable while a thing lives and never come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from league.arena import sizes
from league.arena.world import WorldState

_SHIP_BOX: Final = np.array(sizes.SHIP_BOX_PX, np.float32)
_LOOT_BOX: Final = np.array(sizes.LOOT_BOX_PX, np.float32)
_MAP: Final = np.array([sizes.MAP_WIDTH_PX, sizes.MAP_HEIGHT_PX], np.float32)
_MAP_TWICE: Final = np.concatenate([_MAP, _MAP])


@dataclass(frozen=True, slots=True)
class Objects:
    """M visible things. classes: int32 [M], index into ``sizes.CLASSES``. boxes_px: float32 [M, 4] centre x, centre
    y, width, height. velocities_px: float32 [M, 2] px/s. ids: int32 [M]."""

    ids: NDArray[np.int32]
    classes: NDArray[np.int32]
    boxes_px: NDArray[np.float32]
    velocities_px: NDArray[np.float32]

    def boxes(self) -> NDArray[np.float32]:
        """float32 [M, 4] centre x, centre y, width, height in 0..1 of the picture."""
        return self.boxes_px / _MAP_TWICE

    def velocities(self) -> NDArray[np.float32]:
        """float32 [M, 2] in pictures per second."""
        return self.velocities_px / _MAP


def objects(state: WorldState, i: int, size: float = 1.0) -> Objects:
    """What world ``i`` shows: ships, loot, rocks, portals, shots, then the player's lock ring and destination mark.

    ``size``: how large everything but rocks is drawn.
    """
    ships = state.ship_alive[i].nonzero()[0]
    loot = state.loot_alive[i].nonzero()[0]
    shots = state.shot_alive[i].nonzero()[0]
    rocks = (state.rock_radius[i] > 0.0).nonzero()[0]
    portals = state.portal_pos.shape[1]
    lock = int(state.ship_lock[i, 0])
    rings = np.array([lock] if lock >= 0 and state.ship_alive[i, lock] else [], np.int64)
    marks = np.zeros(1 if state.ship_has_dest[i, 0] and state.ship_alive[i, 0] else 0, np.int64)
    kinds = state.ship_kind[i, ships]
    s, k, r, q, p = len(ships), len(loot), len(rocks), portals, len(shots)
    m = s + k + r + q + p + len(rings) + len(marks)
    ids, classes = np.empty(m, np.int32), np.empty(m, np.int32)
    boxes, velocities = np.empty((m, 4), np.float32), np.zeros((m, 2), np.float32)
    part = slice(0, s)
    ids[part], classes[part] = state.ship_serial[i, ships], kinds
    boxes[part, :2], boxes[part, 2] = state.ship_pos[i, ships], _SHIP_BOX[kinds]
    velocities[part] = state.ship_vel[i, ships]
    part = slice(s, s + k)
    ids[part], classes[part] = state.loot_serial[i, loot], sizes.LOOT + state.loot_kind[i, loot]
    boxes[part, :2], boxes[part, 2] = state.loot_pos[i, loot], _LOOT_BOX[state.loot_kind[i, loot]]
    part = slice(s + k, s + k + r)
    # Rocks and portals take a world's first serials when it is laid out.
    ids[part], classes[part] = rocks + 1, sizes.ROCK
    boxes[part, :2], boxes[part, 2] = state.rock_pos[i, rocks], 2.0 * state.rock_radius[i, rocks] / size
    part = slice(s + k + r, s + k + r + q)
    ids[part], classes[part] = np.arange(q) + state.rock_pos.shape[1] + 1, sizes.PORTAL
    boxes[part, :2], boxes[part, 2] = state.portal_pos[i], sizes.BOX_PX["portal"]
    part = slice(s + k + r + q, s + k + r + q + p)
    hostile = state.ship_team[i, state.shot_owner[i, shots]] != state.ship_team[i, 0]
    ids[part], classes[part] = state.shot_serial[i, shots], np.where(hostile, sizes.HOSTILE_SHOT, sizes.SHOT)
    boxes[part, :2], boxes[part, 2] = state.shot_pos[i, shots], sizes.BOX_PX["shot"]
    velocities[part] = state.shot_vel[i, shots]
    at = part.stop
    if len(rings):
        ids[at], classes[at] = state.ship_lock_serial[i, 0], sizes.LOCK
        boxes[at, :2], boxes[at, 2] = state.ship_pos[i, lock], _SHIP_BOX[state.ship_kind[i, lock]] + sizes.LOCK_MARGIN_PX
        velocities[at] = state.ship_vel[i, lock]
        at += 1
    if len(marks):
        ids[at], classes[at] = state.ship_mark_serial[i, 0], sizes.MARK
        boxes[at, :2], boxes[at, 2] = state.ship_dest[i, 0], sizes.BOX_PX["mark"]
    boxes[:, 2] *= np.float32(size)
    boxes[:, 3] = boxes[:, 2]
    return Objects(ids, classes, boxes, velocities)
