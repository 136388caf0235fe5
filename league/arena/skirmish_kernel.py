"""The compiled heart of skirmish: ``reset`` lays worlds out, ``advance`` moves every world by some steps of 1/60 s.

Imported only through ``world.kernels``. The argument lists follow ``world.FIELD_NAMES``, then the commands.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from league.arena import skirmish_rules as rules
from league.arena.physics import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    damage_ship,
    fire,
    move,
    new_serial,
    push_out_of_rock,
    steer_to,
    steer_velocity,
    uniform,
)
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.arena.skirmish_parts import click_left, enter_npc, enter_player, free_spot, kill, move_shots, press_key, think_npc
from league.arena.world import DT_S, signature


def _reset(
    tick, rng, next_serial, ship_alive, ship_kind, ship_team, ship_serial, ship_pos, ship_vel, ship_dest, ship_has_dest,
    ship_mark_serial, ship_heading, ship_hp, ship_shield, ship_lock, ship_lock_serial, ship_firing, ship_ammo, ship_heavy,
    ship_cooldowns, ship_boost_s, ship_jammed_s, ship_reload_s, ship_respawn_s, ship_calm_s, ship_portal_s, npc_angry, npc_anger_s,
    npc_timer_s, npc_side, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage, shot_life_s, shot_kind, shot_serial,
    loot_alive, loot_pos, loot_respawn_s, loot_serial, rock_pos, rock_radius, portal_pos, kills_drone, kills_raider, deaths, looted,
    damage_taken, damage_dealt,
):  # fmt: skip
    """Lay out freshly allocated worlds: rocks apart from one another, portals far apart, loot, the player, the NPCs."""
    spot = np.zeros(2)
    for w in range(tick.shape[0]):
        for r in range(rock_pos.shape[1]):
            rock_radius[w, r] = uniform(rng, w, 14.0, 26.0)
            for _ in range(60):
                x = uniform(rng, w, LEFT + 50.0, RIGHT - 50.0)
                y = uniform(rng, w, TOP + 45.0, BOTTOM - 45.0)
                rock_pos[w, r, 0] = x
                rock_pos[w, r, 1] = y
                clear = True
                for other in range(r):
                    gap = math.hypot(rock_pos[w, other, 0] - x, rock_pos[w, other, 1] - y)
                    if gap < rock_radius[w, r] + rock_radius[w, other] + 40.0:
                        clear = False
                if clear:
                    break
            next_serial[w] += 1
        for q in range(portal_pos.shape[1]):
            for _ in range(60):
                free_spot(rng, w, rock_pos, rock_radius, 40.0, spot)
                portal_pos[w, q, 0] = spot[0]
                portal_pos[w, q, 1] = spot[1]
                if q == 0 or math.hypot(portal_pos[w, 0, 0] - spot[0], portal_pos[w, 0, 1] - spot[1]) > 300.0:
                    break
            next_serial[w] += 1
        for k in range(loot_alive.shape[1]):
            free_spot(rng, w, rock_pos, rock_radius, 20.0, spot)
            loot_alive[w, k] = True
            loot_pos[w, k, 0] = spot[0]
            loot_pos[w, k, 1] = spot[1]
            loot_serial[w, k] = new_serial(next_serial, w)
        ship_ammo[w, 0] = 1
        ship_heavy[w, 0] = 0.5
        enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield, ship_lock,
                     ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s, rock_pos,
                     rock_radius, spot, w)  # fmt: skip
        for i in range(1, ship_alive.shape[1]):
            ship_team[w, i] = 1
            enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
                      ship_jammed_s, ship_reload_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, w, i)  # fmt: skip
            # At the start they are already about, not all at the border.
            for _ in range(30):
                free_spot(rng, w, rock_pos, rock_radius, 24.0, spot)
                ship_pos[w, i, 0] = spot[0]
                ship_pos[w, i, 1] = spot[1]
                if math.hypot(spot[0] - ship_pos[w, 0, 0], spot[1] - ship_pos[w, 0, 1]) > 150.0:
                    break


def _advance(
    tick, rng, next_serial, ship_alive, ship_kind, ship_team, ship_serial, ship_pos, ship_vel, ship_dest, ship_has_dest,
    ship_mark_serial, ship_heading, ship_hp, ship_shield, ship_lock, ship_lock_serial, ship_firing, ship_ammo, ship_heavy,
    ship_cooldowns, ship_boost_s, ship_jammed_s, ship_reload_s, ship_respawn_s, ship_calm_s, ship_portal_s, npc_angry, npc_anger_s,
    npc_timer_s, npc_side, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage, shot_life_s, shot_kind, shot_serial,
    loot_alive, loot_pos, loot_respawn_s, loot_serial, rock_pos, rock_radius, portal_pos, kills_drone, kills_raider, deaths, looted,
    damage_taken, damage_dealt, clicks, click_xy, keys, steps,
):  # fmt: skip
    """Apply each world's click (1 left, 2 right; place in 0..1) and key, then move it by ``steps`` steps of 1/60 s."""
    spot = np.zeros(2)
    for w in range(tick.shape[0]):
        if ship_alive[w, 0]:
            if clicks[w] == 1:
                click_left(next_serial, ship_alive, ship_kind, ship_pos, ship_dest, ship_has_dest, ship_mark_serial, ship_lock,
                           ship_lock_serial, ship_firing, loot_alive, loot_pos, rock_pos, rock_radius, w,
                           click_xy[w, 0] * MAP_WIDTH_PX, click_xy[w, 1] * MAP_HEIGHT_PX)  # fmt: skip
            elif clicks[w] == 2:
                ship_lock[w, 0] = -1
                ship_firing[w, 0] = False
            if keys[w] >= 0:
                press_key(ship_alive, ship_pos, ship_shield, ship_lock, ship_firing, ship_ammo, ship_heavy, ship_cooldowns,
                          ship_boost_s, ship_jammed_s, w, keys[w])  # fmt: skip
        for _ in range(steps):
            tick[w] += 1
            for c in range(3):
                ship_cooldowns[w, 0, c] = max(ship_cooldowns[w, 0, c] - DT_S / rules.COOLDOWN_S[c], 0.0)
            for i in range(ship_alive.shape[1]):
                if not ship_alive[w, i]:
                    ship_respawn_s[w, i] -= DT_S
                    if ship_respawn_s[w, i] <= 0.0:
                        if i == 0:
                            enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp,
                                         ship_shield, ship_lock, ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s,
                                         ship_calm_s, rock_pos, rock_radius, spot, w)  # fmt: skip
                        else:
                            enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp,
                                      ship_shield, ship_jammed_s, ship_reload_s, npc_angry, npc_anger_s,
                                      npc_timer_s, npc_side, w, i)  # fmt: skip
                    continue
                kind = ship_kind[w, i]
                ship_reload_s[w, i] = max(ship_reload_s[w, i] - DT_S, 0.0)
                ship_jammed_s[w, i] = max(ship_jammed_s[w, i] - DT_S, 0.0)
                ship_calm_s[w, i] = min(ship_calm_s[w, i] + DT_S, 60.0)
                if rules.SHIELD[kind] > 0.0 and ship_calm_s[w, i] > rules.SHIELD_CALM_S:
                    ship_shield[w, i] = min(ship_shield[w, i] + rules.SHIELD_REGEN * DT_S, 1.0)
                if ship_calm_s[w, i] > rules.HP_CALM_S:
                    ship_hp[w, i] = min(ship_hp[w, i] + rules.HP_REGEN * DT_S, 1.0)
                angle, speed, damage, ammo, target = 0.0, rules.SHOT_SPEED[kind], rules.DAMAGE[kind], kind + 3, -1
                shoots = False
                if i == 0:
                    ship_boost_s[w, 0] = max(ship_boost_s[w, 0] - DT_S, 0.0)
                    fastest = rules.SPEED[0] * (rules.BOOST_FACTOR if ship_boost_s[w, 0] > 0.0 else 1.0)
                    if ship_has_dest[w, 0]:
                        if steer_to(ship_pos, ship_vel, w, 0, ship_dest[w, 0, 0], ship_dest[w, 0, 1], fastest, rules.ACCEL[0], DT_S):
                            ship_has_dest[w, 0] = False
                    else:
                        steer_velocity(ship_vel, w, 0, 0.0, 0.0, rules.ACCEL[0], DT_S)
                    if math.hypot(ship_vel[w, 0, 0], ship_vel[w, 0, 1]) > 5.0:
                        ship_heading[w, 0] = math.atan2(ship_vel[w, 0, 1], ship_vel[w, 0, 0])
                    target = ship_lock[w, 0]
                    if target >= 0 and ship_firing[w, 0]:
                        dx, dy = ship_pos[w, target, 0] - ship_pos[w, 0, 0], ship_pos[w, target, 1] - ship_pos[w, 0, 1]
                        if math.hypot(dx, dy) <= rules.RANGE[0]:
                            angle = math.atan2(dy, dx)
                            ship_heading[w, 0] = angle
                            shoots = ship_reload_s[w, 0] <= 0.0
                            ammo = ship_ammo[w, 0]
                            damage = rules.AMMO_DAMAGE[ammo]
                else:
                    think_npc(rng, ship_alive, ship_kind, ship_pos, ship_vel, ship_dest, ship_has_dest, ship_heading, npc_angry,
                              npc_anger_s, npc_timer_s, npc_side, rock_pos, rock_radius, spot, w, i)  # fmt: skip
                    dx, dy = ship_pos[w, 0, 0] - ship_pos[w, i, 0], ship_pos[w, 0, 1] - ship_pos[w, i, 1]
                    distance = math.hypot(dx, dy)
                    if npc_angry[w, i] and distance <= rules.RANGE[kind] and ship_reload_s[w, i] <= 0.0 and ship_jammed_s[w, i] <= 0.0:
                        shoots = True
                        # Leads the aim by anything from nothing to full: standing still is hit, weaving often is not.
                        lead = uniform(rng, w, 0.0, 1.1) * distance / speed
                        angle = math.atan2(dy + ship_vel[w, 0, 1] * lead, dx + ship_vel[w, 0, 0] * lead)
                        angle += uniform(rng, w, -0.06, 0.06)
                if shoots:
                    life_s = 1.25 * rules.RANGE[kind] / speed
                    if fire(shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage, shot_life_s, shot_kind, shot_serial,
                            next_serial, w, i, target, ship_pos[w, i, 0], ship_pos[w, i, 1], angle, speed, damage,
                            life_s, ammo):  # fmt: skip
                        ship_reload_s[w, i] = rules.RELOAD_S[kind] * (1.0 if i == 0 else uniform(rng, w, 0.85, 1.15))
                        ship_calm_s[w, i] = 0.0
                        if i == 0 and ammo == 2:
                            ship_heavy[w, 0] = max(ship_heavy[w, 0] - rules.HEAVY_SHOT, 0.0)
                            if ship_heavy[w, 0] < rules.HEAVY_SHOT:
                                ship_ammo[w, 0] = 1
                move(ship_pos, ship_vel, w, i, rules.RADIUS[kind], DT_S)
                if push_out_of_rock(ship_pos, ship_vel, w, i, rules.RADIUS[kind], rock_pos, rock_radius) and i == 0:
                    taken = damage_ship(ship_hp, ship_shield, w, 0, rules.ROCK_DAMAGE_S * DT_S, rules.HP[0], rules.SHIELD[0], False)
                    damage_taken[w, 0] += taken / 100.0
                    ship_calm_s[w, 0] = 0.0
                    if ship_hp[w, 0] <= 0.0:
                        kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, rng, w, 0)
            move_shots(ship_alive, ship_kind, ship_team, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
                       ship_respawn_s, ship_calm_s, npc_anger_s, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage,
                       shot_life_s, shot_kind, rock_pos, rock_radius, kills_drone, kills_raider, deaths, damage_taken, damage_dealt,
                       rng, w)  # fmt: skip
            for k in range(loot_alive.shape[1]):
                if loot_alive[w, k]:
                    near = math.hypot(loot_pos[w, k, 0] - ship_pos[w, 0, 0], loot_pos[w, k, 1] - ship_pos[w, 0, 1]) <= rules.LOOT_REACH
                    if ship_alive[w, 0] and near:
                        loot_alive[w, k] = False
                        loot_respawn_s[w, k] = uniform(rng, w, 6.0, 12.0)
                        looted[w, 0] += 1
                        ship_heavy[w, 0] = min(ship_heavy[w, 0] + rules.LOOT_HEAVY, 1.0)
                        ship_shield[w, 0] = min(ship_shield[w, 0] + rules.LOOT_SHIELD, 1.0)
                else:
                    loot_respawn_s[w, k] -= DT_S
                    if loot_respawn_s[w, k] <= 0.0:
                        free_spot(rng, w, rock_pos, rock_radius, 20.0, spot)
                        loot_alive[w, k] = True
                        loot_pos[w, k, 0] = spot[0]
                        loot_pos[w, k, 1] = spot[1]
                        loot_serial[w, k] = new_serial(next_serial, w)
            if ship_alive[w, 0]:
                touching = -1
                for q in range(portal_pos.shape[1]):
                    if math.hypot(portal_pos[w, q, 0] - ship_pos[w, 0, 0], portal_pos[w, q, 1] - ship_pos[w, 0, 1]) <= rules.PORTAL_REACH:
                        touching = q
                if touching < 0:
                    ship_portal_s[w, 0] = max(ship_portal_s[w, 0] - DT_S, 0.0)
                elif ship_portal_s[w, 0] <= 0.0 and portal_pos.shape[1] > 1:
                    # The clock runs only away from portals, so that arriving in one does not throw the ship back.
                    exit_ = (touching + 1) % portal_pos.shape[1]
                    ship_pos[w, 0, 0] = portal_pos[w, exit_, 0]
                    ship_pos[w, 0, 1] = portal_pos[w, exit_, 1]
                    ship_vel[w, 0, 0] = 0.0
                    ship_vel[w, 0, 1] = 0.0
                    ship_has_dest[w, 0] = False
                    ship_portal_s[w, 0] = rules.PORTAL_S


_STATE = signature()
_COMMANDS = (
    types.Array(types.int8, 1, "C"),
    types.Array(types.float32, 2, "C"),
    types.Array(types.int8, 1, "C"),
    types.int64,
)
reset = njit(types.void(*_STATE), cache=True, error_model="numpy", fastmath=False, nogil=True)(_reset)
advance = njit(types.void(*_STATE, *_COMMANDS), cache=True, error_model="numpy", fastmath=False, nogil=True)(_advance)
