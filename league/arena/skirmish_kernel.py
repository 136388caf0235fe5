"""The compiled rules of skirmish: one pass of ``advance`` moves every world by some steps of 1/60 s.

Imported only through ``world.kernels``. The argument lists follow ``world.FIELD_NAMES``; the numbers of the rules
stand in the tables at the top, by ``ship_kind`` (0 player, 1 drone, 2 raider).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from league.arena.physics import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    clamp,
    compiled,
    damage_ship,
    fire,
    home_in,
    move,
    new_serial,
    push_out_of_rock,
    rock_at,
    steer_to,
    steer_velocity,
    uniform,
)
from league.arena.sizes import BOX_PX, CLICK_MARGIN_PX, MAP_HEIGHT_PX, MAP_WIDTH_PX, SHIP_RADIUS_PX
from league.arena.world import DT_S, signature

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


@compiled
def free_spot(rng, w, rock_pos, rock_radius, margin, x_out):
    """A random place in the play area at least ``margin`` from rocks and border, into ``x_out[0:2]``."""
    for _ in range(40):
        x = uniform(rng, w, LEFT + margin, RIGHT - margin)
        y = uniform(rng, w, TOP + margin, BOTTOM - margin)
        x_out[0] = x
        x_out[1] = y
        if rock_at(rock_pos, rock_radius, w, x, y, margin) < 0:
            return


@compiled
def enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
              ship_jammed_s, ship_reload_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, w, i):  # fmt: skip
    """Bring a new NPC in at the border, away from the player if that can be had."""
    kind = 2 if uniform(rng, w, 0.0, 1.0) < RAIDER_SHARE else 1
    radius = RADIUS[kind]
    best = -1.0
    for _ in range(6):
        along = uniform(rng, w, 0.0, 1.0)
        side = uniform(rng, w, 0.0, 4.0)
        x = LEFT + radius + along * (RIGHT - LEFT - 2.0 * radius)
        y = TOP + radius + along * (BOTTOM - TOP - 2.0 * radius)
        if side < 1.0:
            x = LEFT + radius
        elif side < 2.0:
            x = RIGHT - radius
        elif side < 3.0:
            y = TOP + radius
        else:
            y = BOTTOM - radius
        distance = math.hypot(x - ship_pos[w, 0, 0], y - ship_pos[w, 0, 1])
        if distance > best:
            best = distance
            ship_pos[w, i, 0] = x
            ship_pos[w, i, 1] = y
        if distance > 220.0:
            break
    ship_alive[w, i] = True
    ship_kind[w, i] = kind
    ship_serial[w, i] = new_serial(next_serial, w)
    ship_vel[w, i, 0] = 0.0
    ship_vel[w, i, 1] = 0.0
    ship_has_dest[w, i] = False
    ship_hp[w, i] = 1.0
    ship_shield[w, i] = 1.0 if SHIELD[kind] > 0.0 else 0.0
    ship_jammed_s[w, i] = 0.0
    ship_reload_s[w, i] = uniform(rng, w, 0.3, RELOAD_S[kind])
    npc_angry[w, i] = False
    npc_anger_s[w, i] = 0.0
    npc_timer_s[w, i] = 0.0
    npc_side[w, i] = 1.0 if uniform(rng, w, 0.0, 1.0) < 0.5 else -1.0


@compiled
def enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield, ship_lock,
                 ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s, rock_pos, rock_radius, spot, w):  # fmt: skip
    """Put the player's ship where enemies are farthest, whole."""
    best = -1.0
    for _ in range(12):
        free_spot(rng, w, rock_pos, rock_radius, 30.0, spot)
        nearest = 1e9
        for j in range(1, ship_alive.shape[1]):
            if ship_alive[w, j]:
                nearest = min(nearest, math.hypot(ship_pos[w, j, 0] - spot[0], ship_pos[w, j, 1] - spot[1]))
        if nearest > best:
            best = nearest
            ship_pos[w, 0, 0] = spot[0]
            ship_pos[w, 0, 1] = spot[1]
    ship_alive[w, 0] = True
    ship_serial[w, 0] = new_serial(next_serial, w)
    ship_vel[w, 0, 0] = 0.0
    ship_vel[w, 0, 1] = 0.0
    ship_has_dest[w, 0] = False
    ship_hp[w, 0] = 1.0
    ship_shield[w, 0] = 1.0
    ship_lock[w, 0] = -1
    ship_firing[w, 0] = False
    ship_heavy[w, 0] = max(ship_heavy[w, 0], 0.3)
    ship_boost_s[w, 0] = 0.0
    ship_jammed_s[w, 0] = 0.0
    ship_reload_s[w, 0] = 0.0
    ship_calm_s[w, 0] = 0.0


@compiled
def click_left(next_serial, ship_alive, ship_kind, ship_pos, ship_dest, ship_has_dest, ship_mark_serial, ship_lock, ship_lock_serial,
               ship_firing, loot_alive, loot_pos, rock_pos, rock_radius, w, x, y):  # fmt: skip
    """Lock the NPC under the cursor, else fly to the loot under it, else fly there."""
    best = -1
    best_distance = 1e9
    for j in range(1, ship_alive.shape[1]):
        if ship_alive[w, j]:
            distance = math.hypot(ship_pos[w, j, 0] - x, ship_pos[w, j, 1] - y)
            if distance <= RADIUS[ship_kind[w, j]] + CLICK_MARGIN_PX and distance < best_distance:
                best = j
                best_distance = distance
    if best >= 0:
        if ship_lock[w, 0] != best:
            ship_lock[w, 0] = best
            ship_lock_serial[w, 0] = new_serial(next_serial, w)
            ship_firing[w, 0] = False
        return
    for k in range(loot_alive.shape[1]):
        if loot_alive[w, k] and math.hypot(loot_pos[w, k, 0] - x, loot_pos[w, k, 1] - y) <= LOOT_CLICK:
            x = loot_pos[w, k, 0]
            y = loot_pos[w, k, 1]
            break
    margin = RADIUS[0] + 1.0
    r = rock_at(rock_pos, rock_radius, w, x, y, margin)
    if r >= 0:
        dx = x - rock_pos[w, r, 0]
        dy = y - rock_pos[w, r, 1]
        distance = math.hypot(dx, dy)
        if distance < 1e-3:
            dx, dy, distance = 0.0, 1.0, 1.0
        x = rock_pos[w, r, 0] + dx / distance * (rock_radius[w, r] + margin)
        y = rock_pos[w, r, 1] + dy / distance * (rock_radius[w, r] + margin)
    ship_dest[w, 0, 0] = clamp(x, LEFT + RADIUS[0], RIGHT - RADIUS[0])
    ship_dest[w, 0, 1] = clamp(y, TOP + RADIUS[0], BOTTOM - RADIUS[0])
    ship_has_dest[w, 0] = True
    ship_mark_serial[w, 0] = new_serial(next_serial, w)


@compiled
def press_key(ship_alive, ship_pos, ship_shield, ship_lock, ship_firing, ship_ammo, ship_heavy, ship_cooldowns, ship_boost_s,
              ship_jammed_s, w, key):  # fmt: skip
    """0 space, 1 ctrl: engage; 2-4: ammo 1-3; 5 q: repair; 6 e: boost; 7 r: jam."""
    if key <= 1:
        if ship_lock[w, 0] >= 0:
            ship_firing[w, 0] = True
    elif key <= 4:
        if key != 3 or ship_heavy[w, 0] >= HEAVY_SHOT:
            ship_ammo[w, 0] = key - 1
    elif ship_cooldowns[w, 0, key - 5] <= 0.0:
        ship_cooldowns[w, 0, key - 5] = 1.0
        if key == 5:
            ship_shield[w, 0] = min(ship_shield[w, 0] + REPAIR_SHIELD, 1.0)
        elif key == 6:
            ship_boost_s[w, 0] = BOOST_S
        else:
            for j in range(1, ship_alive.shape[1]):
                if math.hypot(ship_pos[w, j, 0] - ship_pos[w, 0, 0], ship_pos[w, j, 1] - ship_pos[w, 0, 1]) <= JAM_RANGE:
                    ship_jammed_s[w, j] = JAM_S


@compiled
def think_npc(rng, ship_alive, ship_kind, ship_pos, ship_vel, ship_dest, ship_has_dest, ship_heading, npc_angry, npc_anger_s,
              npc_timer_s, npc_side, rock_pos, rock_radius, spot, w, i):  # fmt: skip
    """Steer one NPC: hunt the player at its own range while interested, else wander."""
    kind = ship_kind[w, i]
    x, y = ship_pos[w, i, 0], ship_pos[w, i, 1]
    dx, dy = ship_pos[w, 0, 0] - x, ship_pos[w, 0, 1] - y
    distance = math.hypot(dx, dy)
    npc_anger_s[w, i] = max(npc_anger_s[w, i] - DT_S, 0.0)
    npc_timer_s[w, i] -= DT_S
    reach = NOTICE[kind] * 1.6 if npc_angry[w, i] else NOTICE[kind]
    npc_angry[w, i] = ship_alive[w, 0] and (distance < reach or npc_anger_s[w, i] > 0.0)
    wish_x, wish_y = 0.0, 0.0
    if npc_angry[w, i]:
        if npc_timer_s[w, i] <= 0.0:
            npc_timer_s[w, i] = uniform(rng, w, 2.0, 5.0)
            npc_side[w, i] = -npc_side[w, i]
        ship_has_dest[w, i] = False
        keep = RANGE[kind] * 0.75
        ux, uy = dx / max(distance, 1e-3), dy / max(distance, 1e-3)
        # Straight in from afar, circling when at range, backing off when too near.
        inward = clamp((distance - keep) / 30.0, -1.0, 1.0)
        around = (1.0 - abs(inward)) * 0.7 * npc_side[w, i]
        wish_x = (ux * inward - uy * around) * SPEED[kind]
        wish_y = (uy * inward + ux * around) * SPEED[kind]
        ship_heading[w, i] = math.atan2(dy, dx)
    else:
        if not ship_has_dest[w, i] or npc_timer_s[w, i] <= 0.0:
            free_spot(rng, w, rock_pos, rock_radius, 24.0, spot)
            ship_dest[w, i, 0] = spot[0]
            ship_dest[w, i, 1] = spot[1]
            ship_has_dest[w, i] = True
            npc_timer_s[w, i] = uniform(rng, w, 3.0, 7.0)
        tx, ty = ship_dest[w, i, 0] - x, ship_dest[w, i, 1] - y
        away = math.hypot(tx, ty)
        if away < 6.0:
            ship_has_dest[w, i] = False
        else:
            wish_x = tx / away * SPEED[kind] * 0.55
            wish_y = ty / away * SPEED[kind] * 0.55
        if math.hypot(ship_vel[w, i, 0], ship_vel[w, i, 1]) > 5.0:
            ship_heading[w, i] = math.atan2(ship_vel[w, i, 1], ship_vel[w, i, 0])
    for j in range(1, ship_alive.shape[1]):
        if j != i and ship_alive[w, j]:
            sx, sy = x - ship_pos[w, j, 0], y - ship_pos[w, j, 1]
            apart = math.hypot(sx, sy)
            if 1e-3 < apart < 30.0:
                wish_x += sx / apart * (30.0 - apart) * 4.0
                wish_y += sy / apart * (30.0 - apart) * 4.0
    steer_velocity(ship_vel, w, i, wish_x, wish_y, ACCEL[kind], DT_S)


@compiled
def move_shots(ship_alive, ship_kind, ship_team, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
               ship_respawn_s, ship_calm_s, npc_anger_s, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage,
               shot_life_s, shot_kind, rock_pos, rock_radius, kills_drone, kills_raider, deaths, damage_taken, damage_dealt, rng, w):  # fmt: skip
    """Move all shots of a world, take them out at rocks and borders, and book their hits."""
    for p in range(shot_alive.shape[1]):
        if not shot_alive[w, p]:
            continue
        target = shot_target[w, p]
        if target >= 0:
            if ship_alive[w, target]:
                home_in(shot_pos, shot_vel, w, p, ship_pos[w, target, 0], ship_pos[w, target, 1], 5.0, DT_S)
            else:
                shot_target[w, p] = -1
        shot_pos[w, p, 0] += shot_vel[w, p, 0] * DT_S
        shot_pos[w, p, 1] += shot_vel[w, p, 1] * DT_S
        shot_life_s[w, p] -= DT_S
        x, y = shot_pos[w, p, 0], shot_pos[w, p, 1]
        inside = LEFT < x < RIGHT and TOP < y < BOTTOM
        if shot_life_s[w, p] <= 0.0 or not inside or rock_at(rock_pos, rock_radius, w, x, y, 0.0) >= 0:
            shot_alive[w, p] = False
            continue
        owner = shot_owner[w, p]
        for i in range(ship_alive.shape[1]):
            if not ship_alive[w, i] or ship_team[w, i] == ship_team[w, owner]:
                continue
            kind = ship_kind[w, i]
            dx, dy = ship_pos[w, i, 0] - x, ship_pos[w, i, 1] - y
            reach = RADIUS[kind] + 2.0
            if dx * dx + dy * dy > reach * reach:
                continue
            taken = damage_ship(ship_hp, ship_shield, w, i, shot_damage[w, p], HP[kind], SHIELD[kind], shot_kind[w, p] == 3)
            damage_taken[w, i] += taken / 100.0
            damage_dealt[w, owner] += taken / 100.0
            ship_calm_s[w, i] = 0.0
            npc_anger_s[w, i] = 4.0
            shot_alive[w, p] = False
            if ship_hp[w, i] <= 0.0:
                if kind == 1:
                    kills_drone[w, owner] += 1
                elif kind == 2:
                    kills_raider[w, owner] += 1
                kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, rng, w, i)
            break


@compiled
def kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, rng, w, i):
    """A ship is gone: its own lock and every lock on it end."""
    ship_alive[w, i] = False
    deaths[w, i] += 1
    ship_has_dest[w, i] = False
    ship_respawn_s[w, i] = PLAYER_RESPAWN_S if i == 0 else uniform(rng, w, 3.0, 7.0)
    for j in range(ship_alive.shape[1]):
        if j == i or ship_lock[w, j] == i:
            ship_lock[w, j] = -1
            ship_firing[w, j] = False


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
                     ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s, rock_pos, rock_radius, spot, w)  # fmt: skip
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
                ship_cooldowns[w, 0, c] = max(ship_cooldowns[w, 0, c] - DT_S / COOLDOWN_S[c], 0.0)
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
                                      ship_shield, ship_jammed_s, ship_reload_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, w, i)  # fmt: skip
                    continue
                kind = ship_kind[w, i]
                ship_reload_s[w, i] = max(ship_reload_s[w, i] - DT_S, 0.0)
                ship_jammed_s[w, i] = max(ship_jammed_s[w, i] - DT_S, 0.0)
                ship_calm_s[w, i] = min(ship_calm_s[w, i] + DT_S, 60.0)
                if SHIELD[kind] > 0.0 and ship_calm_s[w, i] > SHIELD_CALM_S:
                    ship_shield[w, i] = min(ship_shield[w, i] + SHIELD_REGEN * DT_S, 1.0)
                if ship_calm_s[w, i] > HP_CALM_S:
                    ship_hp[w, i] = min(ship_hp[w, i] + HP_REGEN * DT_S, 1.0)
                angle, speed, damage, ammo, target = 0.0, SHOT_SPEED[kind], DAMAGE[kind], kind + 3, -1
                shoots = False
                if i == 0:
                    ship_boost_s[w, 0] = max(ship_boost_s[w, 0] - DT_S, 0.0)
                    fastest = SPEED[0] * (BOOST_FACTOR if ship_boost_s[w, 0] > 0.0 else 1.0)
                    if ship_has_dest[w, 0]:
                        if steer_to(ship_pos, ship_vel, w, 0, ship_dest[w, 0, 0], ship_dest[w, 0, 1], fastest, ACCEL[0], DT_S):
                            ship_has_dest[w, 0] = False
                    else:
                        steer_velocity(ship_vel, w, 0, 0.0, 0.0, ACCEL[0], DT_S)
                    if math.hypot(ship_vel[w, 0, 0], ship_vel[w, 0, 1]) > 5.0:
                        ship_heading[w, 0] = math.atan2(ship_vel[w, 0, 1], ship_vel[w, 0, 0])
                    target = ship_lock[w, 0]
                    if target >= 0 and ship_firing[w, 0]:
                        dx, dy = ship_pos[w, target, 0] - ship_pos[w, 0, 0], ship_pos[w, target, 1] - ship_pos[w, 0, 1]
                        if math.hypot(dx, dy) <= RANGE[0]:
                            angle = math.atan2(dy, dx)
                            ship_heading[w, 0] = angle
                            shoots = ship_reload_s[w, 0] <= 0.0
                            ammo = ship_ammo[w, 0]
                            damage = AMMO_DAMAGE[ammo]
                else:
                    think_npc(rng, ship_alive, ship_kind, ship_pos, ship_vel, ship_dest, ship_has_dest, ship_heading, npc_angry,
                              npc_anger_s, npc_timer_s, npc_side, rock_pos, rock_radius, spot, w, i)  # fmt: skip
                    dx, dy = ship_pos[w, 0, 0] - ship_pos[w, i, 0], ship_pos[w, 0, 1] - ship_pos[w, i, 1]
                    distance = math.hypot(dx, dy)
                    if npc_angry[w, i] and distance <= RANGE[kind] and ship_reload_s[w, i] <= 0.0 and ship_jammed_s[w, i] <= 0.0:
                        shoots = True
                        # Leads the aim by anything from nothing to full: standing still is hit, weaving often is not.
                        lead = uniform(rng, w, 0.0, 1.1) * distance / speed
                        angle = math.atan2(dy + ship_vel[w, 0, 1] * lead, dx + ship_vel[w, 0, 0] * lead)
                        angle += uniform(rng, w, -0.06, 0.06)
                if shoots:
                    life_s = 1.25 * RANGE[kind] / speed
                    if fire(shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage, shot_life_s, shot_kind, shot_serial,
                            next_serial, w, i, target, ship_pos[w, i, 0], ship_pos[w, i, 1], angle, speed, damage, life_s, ammo):  # fmt: skip
                        ship_reload_s[w, i] = RELOAD_S[kind] * (1.0 if i == 0 else uniform(rng, w, 0.85, 1.15))
                        ship_calm_s[w, i] = 0.0
                        if i == 0 and ammo == 2:
                            ship_heavy[w, 0] = max(ship_heavy[w, 0] - HEAVY_SHOT, 0.0)
                            if ship_heavy[w, 0] < HEAVY_SHOT:
                                ship_ammo[w, 0] = 1
                move(ship_pos, ship_vel, w, i, RADIUS[kind], DT_S)
                if push_out_of_rock(ship_pos, ship_vel, w, i, RADIUS[kind], rock_pos, rock_radius) and i == 0:
                    taken = damage_ship(ship_hp, ship_shield, w, 0, ROCK_DAMAGE_S * DT_S, HP[0], SHIELD[0], False)
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
                    near = math.hypot(loot_pos[w, k, 0] - ship_pos[w, 0, 0], loot_pos[w, k, 1] - ship_pos[w, 0, 1]) <= LOOT_REACH
                    if ship_alive[w, 0] and near:
                        loot_alive[w, k] = False
                        loot_respawn_s[w, k] = uniform(rng, w, 6.0, 12.0)
                        looted[w, 0] += 1
                        ship_heavy[w, 0] = min(ship_heavy[w, 0] + LOOT_HEAVY, 1.0)
                        ship_shield[w, 0] = min(ship_shield[w, 0] + LOOT_SHIELD, 1.0)
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
                    if math.hypot(portal_pos[w, q, 0] - ship_pos[w, 0, 0], portal_pos[w, q, 1] - ship_pos[w, 0, 1]) <= PORTAL_REACH:
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
                    ship_portal_s[w, 0] = PORTAL_S


_STATE = signature()
_COMMANDS = (
    types.Array(types.int8, 1, "C"),
    types.Array(types.float32, 2, "C"),
    types.Array(types.int8, 1, "C"),
    types.int64,
)
reset = njit(types.void(*_STATE), cache=True, error_model="numpy", fastmath=False, nogil=True)(_reset)
advance = njit(types.void(*_STATE, *_COMMANDS), cache=True, error_model="numpy", fastmath=False, nogil=True)(_advance)
