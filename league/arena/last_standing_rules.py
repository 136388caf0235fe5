"""The numbers of last man standing. Whoever changes one changes ``RULES_VERSION``.

Plain constants, cheap to import. Units: px of the 640x360 picture at 1x, s, hit points; shares are 0..1.
"""

from __future__ import annotations

from typing import Final

RULES_VERSION: Final = 1
STEPS_PER_ACTION: Final = 3
"""World steps of 1/60 s that one action lasts: ships decide 20 times a second. Buttons act at an action's beginning."""
EPISODE_STEPS: Final = 1200
"""Actions of one episode at most (60 s): who is alive then shares the best place. The zone closes earlier."""
FEWEST_SHIPS, MOST_SHIPS = 2, 8

RADIUS: Final = 11.0
SPEED: Final = 140.0
ACCEL: Final = 420.0
TURN_STEP: Final = 0.6
"""rad that the gun turns towards the aim in one action."""
HP: Final = 100.0
SHIELD: Final = 50.0
SHIELD_CALM_S: Final = 3.0
SHIELD_REGEN: Final = 6.0
"""Hit points of shield a second that come back once a ship was calm (not hit, not firing) for ``SHIELD_CALM_S``."""

RELOAD_S: Final = 0.3
SHOT_SPEED: Final = 300.0
SHOT_LIFE_S: Final = 0.6
SHOT_RADIUS: Final = 3.0
SHOT_DAMAGE: Final = 6.0
SHOTS_PER_SHIP: Final = 2
"""A ship's shots in flight at most: what ``SHOT_LIFE_S`` and ``RELOAD_S`` allow."""
SHOT_ENERGY: Final = 0.08
"""Share of the energy that a shot takes."""
ENERGY_REGEN: Final = 0.1
"""Share of the energy a second: firing without pause lasts some 5 s, then a third as fast."""

NO_ABILITY, BOOST, BURST, JAM = range(4)
ABILITY_COOLDOWN_S: Final = (0.0, 4.0, 8.0, 8.0)
"""One cooldown for all three: whoever boosts can neither burst nor jam for 4 s. By ability: none, boost, burst, jam."""
LONGEST_COOLDOWN_S: Final = 8.0
BOOST_S: Final = 1.2
BOOST_FACTOR: Final = 1.7
BURST_SHIELD: Final = 22.0
"""Hit points of shield that a burst gives back."""
BURST_REACH: Final = 75.0
BURST_PUSH: Final = 260.0
"""px/s that a burst adds to ships in reach, straight away from it: enough to throw them out of the zone."""
JAM_REACH: Final = 150.0
JAM_S: Final = 1.5
"""Ships in reach cannot fire for so long."""

HEAL, SHIELD_ITEM, POWER = range(3)
ITEM_KINDS: Final = 3
ITEMS: Final = 3
ITEM_REACH: Final = 24.0
"""Interact picks up an item whose middle is so near."""
ITEM_HP: Final = 25.0
ITEM_SHIELD: Final = 30.0
"""Hit points that a heal or a shield item gives back."""
ITEM_WAIT_S: Final = (8.0, 15.0)
ITEM_MARGIN: Final = 20.0
POWER_S: Final = 6.0
POWER_FACTOR: Final = 1.6
"""A power item fills the energy, and shots do so much more damage for ``POWER_S``."""

ZONE_S: Final = (0.0, 4.0, 26.0, 38.0, 48.0)
ZONE_RADIUS: Final = (440.0, 340.0, 110.0, 60.0, 0.0)
"""Radius of the zone at ``ZONE_S``, linear between: it never stands still, so the radius tells the time."""
ZONE_DAMAGE_S: Final = (8.0, 16.0)
"""Hit points a second that the hull, not the shield, loses outside: at the start and from the zone's end on."""
ZONE_OFFSET: Final = (90.0, 30.0)
"""The zone's middle is at most so far from the middle of the play area."""
SPAWN_RADII: Final = (215.0, 105.0)
"""Ships begin on this ellipse, evenly spread, in an order and with a turn drawn for each world."""

NEAR_RANGE: Final = 320.0
"""Observation: offsets to enemies and items are in units of this; beyond it only the direction is told."""
TOP_SPEED: Final = SPEED * BOOST_FACTOR
"""Observation: velocities are in units of this."""
