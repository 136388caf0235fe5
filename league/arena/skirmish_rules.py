"""The numbers of skirmish's rules. Whoever changes one changes ``skirmish.RULES_VERSION``.

Tuples of six go by ``ship_kind``: 0 player, 1 drone, 2 raider, 3 mender, 4 bomber, 5 hunter. Plain constants, cheap to
import.
"""

from __future__ import annotations

from league.arena.sizes import BOX_PX, CLICK_MARGIN_PX, LOOT_BOX_PX, SHIP_RADIUS_PX

PLAYER, DRONE, RAIDER, MENDER, BOMBER, HUNTER = range(6)
RADIUS = SHIP_RADIUS_PX
SPEED = (145.0, 75.0, 105.0, 85.0, 125.0, 112.0)
ACCEL = (520.0, 240.0, 320.0, 260.0, 300.0, 260.0)
HP = (100.0, 30.0, 50.0, 40.0, 20.0, 300.0)
SHIELD = (60.0, 0.0, 50.0, 0.0, 0.0, 150.0)
RELOAD_S = (0.5, 1.3, 1.0, 1.0, 1.0, 0.6)
DAMAGE = (10.0, 2.5, 5.0, 0.0, 0.0, 12.0)
"""Of a shot; 0: it has no gun. A player's shot goes by ``AMMO_DAMAGE``."""
RANGE = (150.0, 105.0, 140.0, 0.0, 0.0, 130.0)
NOTICE = (0.0, 110.0, 145.0, 120.0, 170.0, 1000.0)
"""An NPC nearer than this hunts the player; a mender runs from it."""
SHOT_SPEED = (420.0, 230.0, 270.0, 230.0, 230.0, 290.0)

STANDARD, HEAVY, PIERCING = 1, 2, 3
AMMO_DAMAGE = (0.0, 10.0, 20.0, 8.0)
ON_SHIELD = (0.0, 0.5, 1.0, 0.0)
"""How much of its damage an ammo does to a shield; 0: it passes through to the hull."""
HEAVY_SHOT = 0.05
LOOT_HEAVY = 0.3
LOOT_SHIELD = 0.15
CACHE_HP = 0.3
CACHE_SHIELD = 0.6
REPAIR_SHIELD = 0.4
COOLDOWN_S = (12.0, 9.0, 15.0)
BOOST_S = 2.0
BOOST_FACTOR = 1.6
JAM_S = 3.0
JAM_RANGE = 150.0
SHIELD_CALM_S = 3.0
SHIELD_REGEN = 0.10
HP_CALM_S = 6.0
HP_REGEN = 0.03
ROCK_DAMAGE_S = 5.0
PLAYER_RESPAWN_S = 3.0
PORTAL_S = 1.5

MEND_REACH = 60.0
MEND_S = 7.0
"""Hit points a second that a mender gives each other NPC in reach."""
BLAST_TRIGGER = 26.0
BLAST_REACH = 45.0
BLAST_DAMAGE = 30.0
"""What a bomber's blast takes from the player in reach; NPCs in reach lose half of it."""

WAVE_SIZE = (4, 7)
WAVE_LULL_S = (4.0, 7.0)
"""From when at most one NPC of a wave is left until the next comes in."""
WAVE_SPACING = 34.0
KIND_SHARES = (0.0, 0.42, 0.26, 0.14, 0.18, 0.0)
MOST_MENDERS = 2
MOST_BOMBERS = 2
HUNTER_FIRST_S = (9.0, 22.0)
HUNTER_WAIT_S = (22.0, 34.0)
HUNTER_STAY_S = (9.0, 14.0)
CACHE_WAIT_S = (9.0, 16.0)
CACHE_LIFE_S = 10.0
LOOT_WAIT_S = (9.0, 18.0)
CACHE_AWAY = 150.0
"""A cache appears at least this far from the player."""

FX_S = 0.8
"""How long an effect on the picture lives. Kinds: 1 hit points lost by an NPC, 2 by the player, 3 an NPC being mended
(value: its box), 4 an explosion (value: its radius), 5 something picked up (value: its points)."""
FX_HIT, FX_HURT, FX_MEND, FX_BLAST, FX_PICKUP = 1, 2, 3, 4, 5

LOOT_REACH = tuple(RADIUS[0] + side / 2 for side in LOOT_BOX_PX)
LOOT_CLICK = tuple(side / 2 + CLICK_MARGIN_PX for side in LOOT_BOX_PX)
PORTAL_REACH = BOX_PX["portal"] / 2
POINTS_LOOT = 0.5
POINTS_CACHE = 2.5
