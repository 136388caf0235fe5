"""How big everything in the arena is, in pixels at 1x: the one table that truth, renderer and rules share.

A detector is trained on boxes made from this table and judged against the same boxes, so nothing else may state
a size. The order of ``CLASSES`` is the order of the arena profile's classes; a ship's class is its ``ship_kind``.
"""

from __future__ import annotations

from typing import Final

CLASSES: Final = (
    "self", "drone", "raider", "mender", "bomber", "hunter", "loot", "cache", "rock", "portal", "shot", "hostile_shot", "lock", "mark",
)  # fmt: skip
SELF, DRONE, RAIDER, MENDER, BOMBER, HUNTER, LOOT, CACHE, ROCK, PORTAL, SHOT, HOSTILE_SHOT, LOCK, MARK = range(14)
SHIP_KINDS: Final = CLASSES[: HUNTER + 1]
"""By ``ship_kind``: the player's own ship first, then the NPCs."""

BOX_PX: Final[dict[str, float]] = {
    "self": 22.0,
    "drone": 18.0,
    "raider": 24.0,
    "mender": 20.0,
    "bomber": 18.0,
    "hunter": 30.0,
    "loot": 14.0,
    "cache": 20.0,
    "portal": 28.0,
    "shot": 6.0,
    "hostile_shot": 6.0,
    "mark": 26.0,
}
"""Side of the square box by class. A rock's box is twice its radius, a lock ring's the enemy's box + ``LOCK_MARGIN_PX``."""

LOCK_MARGIN_PX: Final = 12.0
SHIP_BOX_PX: Final = tuple(BOX_PX[name] for name in SHIP_KINDS)
"""Box by ``ship_kind``."""
SHIP_RADIUS_PX: Final = tuple(side / 2 for side in SHIP_BOX_PX)
"""Collision radius by ``ship_kind``: half its box."""
LOOT_BOX_PX: Final = (BOX_PX["loot"], BOX_PX["cache"])
"""Box by ``loot_kind``: 0 crate, 1 cache."""
CLICK_MARGIN_PX: Final = 6.0
"""A click this far outside a thing still counts as on it."""

MAP_WIDTH_PX: Final = 640.0
MAP_HEIGHT_PX: Final = 360.0
PLAY_AREA_PX: Final = (8.0, 40.0, 632.0, 340.0)
"""left, top, right, bottom that ships and shots stay within: gauges above and below are never covered."""
