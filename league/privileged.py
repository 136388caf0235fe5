"""What only the value is told while a policy learns: numbers of the world that no ship sees.

A policy acts on 19 numbers. Whether an action was good shows in the value of what follows it, and much of what that value hangs on
is hidden from those 19: shots in flight, the other ships' hulls, who aims at whom. A value that knows them does not take such
luck for skill. It is asked in training alone, so that policies fly on what they see as before (asymmetric actor-critic: Pinto et
al., 2018; AlphaStar's value is shown the opponent's side too: Vinyals et al., 2019).

Names say how a number turns with the ship's own frame (``league.symmetry``): one that ends in ``_dx``, ``_vx`` or ``_x`` runs to the
right, one in ``_dy``, ``_vy`` or ``_y`` downwards, others have no direction. Ranges are what the numbers are scaled to.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from league.arena import last_standing_rules as rules
from league.codec import OBSERVATION, OBSERVATION_SIZE, Field

TOLD_SHOTS: Final = rules.SHOTS_PER_SHIP
"""Shots told: all that one has in flight, and as many of those that come."""
TOLD_ENEMIES: Final = 3
"""The nearest ones."""
MISS_PX: Final = 3.0 * (rules.RADIUS + rules.SHOT_RADIUS)
"""A shot that passes so far from a ship's middle, or farther, counts as a miss without degree."""
ZONE_EDGE_PX: Final = 220.0
"""Unit of distances to the zone's edge."""

_OWN: Final = (
    Field("gun_x", -1.0, 1.0, "unit vector along one's own gun, to the right"),
    Field("gun_y", -1.0, 1.0, "the same downwards"),
    Field("energy", 0.0, 1.0, "energy for shots, jammed or not"),
    Field("jam", 0.0, 1.0, f"time until one can fire again after a jam, in units of {rules.JAM_S} s"),
    Field("reload", 0.0, 1.0, f"time until one can fire again after a shot, in units of {rules.RELOAD_S} s"),
    Field("power", 0.0, 1.0, f"time that one's shots stay stronger, in units of {rules.POWER_S} s"),
    Field("boost", 0.0, 1.0, f"time that one's boost lasts, in units of {rules.BOOST_S} s"),
    Field("middle_dx", -1.0, 1.0, f"from the ship to the middle of the picture, to the right, in units of {rules.NEAR_RANGE:.0f} px"),
    Field("middle_dy", -1.0, 1.0, "the same downwards: where the walls are"),
)
_SHOT: Final = (
    Field("when", 0.0, 1.0, f"1 minus the time until it is nearest to its target, in units of {rules.SHOT_LIFE_S} s; 0 without a shot"),
    Field("near", 0.0, 1.0, f"1 minus the distance at which it will pass, in units of {MISS_PX:.0f} px, if both fly on as they do"),
    Field("damage", 0.0, 1.0, f"its damage, in units of {rules.SHOT_DAMAGE * rules.POWER_FACTOR:.1f} hit points"),
)
_ENEMY: Final = (
    Field("dx", -2.0, 2.0, f"from the ship to it, to the right, in units of {rules.NEAR_RANGE:.0f} px"),
    Field("dy", -2.0, 2.0, "the same downwards"),
    Field("vx", -1.0, 1.0, f"its velocity to the right, in units of {rules.TOP_SPEED:.0f} px/s, clipped"),
    Field("vy", -1.0, 1.0, "its velocity downwards"),
    Field("alive", 0.0, 1.0, "1; all of an enemy's numbers are 0 when there is none"),
    Field("hp", 0.0, 1.0, "its hull"),
    Field("shield", 0.0, 1.0, "its shield"),
    Field("energy", 0.0, 1.0, "its energy"),
    Field("cooldown", 0.0, 1.0, f"time until it can use an ability, in units of {rules.LONGEST_COOLDOWN_S:.0f} s"),
    Field("jam", 0.0, 1.0, "as one's own"),
    Field("power", 0.0, 1.0, "as one's own"),
    Field("zone_left", -1.0, 1.0, f"from it to the zone's edge, in units of {ZONE_EDGE_PX:.0f} px, negative outside, clipped"),
    Field("aims_here", -1.0, 1.0, "cosine between its gun and the line to the ship"),
    Field("aimed_at", -1.0, 1.0, "cosine between one's own gun and the line to it"),
    Field(
        "company", 0.0, 1.0, f"1 minus the distance from it to the nearest other enemy, in units of {rules.NEAR_RANGE:.0f} px; 0 from there"
    ),
    Field("under_fire", 0.0, 1.0, "the largest ``near`` of the other enemies' shots at it"),
)


def _numbered(prefix: str, count: int, told: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(Field(f"{prefix}_{k + 1}_{f.name}", f.low, f.high, f.meaning) for k in range(count) for f in told)


PRIVILEGED: Final = (
    *_OWN,
    *_numbered("own_shot", TOLD_SHOTS, _SHOT),
    *_numbered("shot_here", TOLD_SHOTS, _SHOT),
    *_numbered("enemy", TOLD_ENEMIES, _ENEMY),
)
"""In order. ``own_shot``: one's shots in flight, each told of the enemy it will pass nearest to. ``shot_here``: others' shots that
will pass nearest, the nearest first; those that miss are not told. ``enemy``: by distance. A lost ship is told zeros."""
TOLD: Final = (*OBSERVATION, *PRIVILEGED)
"""All that a value is told: what the ship sees, then what it does not."""
TOLD_SIZE: Final = len(TOLD)
TOLD_LOW: Final = np.array([f.low for f in TOLD], np.float32)
TOLD_HIGH: Final = np.array([f.high for f in TOLD], np.float32)
PLACE: Final = {f.name: OBSERVATION_SIZE + i for i, f in enumerate(PRIVILEGED)}
"""Index of each privileged number within ``TOLD``."""
