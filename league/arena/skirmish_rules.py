"""The numbers of skirmish's rules. Whoever changes one changes ``skirmish.RULES_VERSION``.

Tuples of three go by ``ship_kind``: 0 player, 1 drone, 2 raider. Plain constants, cheap to import.
"""

from __future__ import annotations

from league.arena.sizes import BOX_PX, CLICK_MARGIN_PX, SHIP_RADIUS_PX

RADIUS = SHIP_RADIUS_PX
SPEED = (145.0, 75.0, 105.0)
ACCEL = (520.0, 240.0, 320.0)
HP = (100.0, 30.0, 50.0)
SHIELD = (60.0, 0.0, 50.0)
RELOAD_S = (0.5, 1.3, 1.0)
DAMAGE = (10.0, 4.0, 8.0)
RANGE = (150.0, 105.0, 140.0)
NOTICE = (0.0, 130.0, 175.0)
SHOT_SPEED = (420.0, 230.0, 270.0)
AMMO_DAMAGE = (0.0, 10.0, 20.0, 7.0)

HEAVY_SHOT = 0.05
LOOT_HEAVY = 0.3
LOOT_SHIELD = 0.15
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
RAIDER_SHARE = 0.35
PORTAL_S = 1.5
LOOT_REACH = RADIUS[0] + BOX_PX["loot"] / 2
LOOT_CLICK = BOX_PX["loot"] / 2 + CLICK_MARGIN_PX
PORTAL_REACH = BOX_PX["portal"] / 2
