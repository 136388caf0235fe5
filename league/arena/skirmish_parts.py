"""The compiled parts of skirmish: how ships enter, what clicks and keys do, how NPCs think, what shots hit.

Each takes the arrays it touches and a world's index. (One named tuple of all arrays reads better, but was measured
to run three times slower and to compile three times longer.) Imported only through ``world.kernels``.
"""

from __future__ import annotations

import math

from league.arena import skirmish_rules as rules
from league.arena.physics import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    clamp,
    compiled,
    damage_ship,
    home_in,
    new_serial,
    rock_at,
    steer_velocity,
    uniform,
)
from league.arena.sizes import CLICK_MARGIN_PX
from league.arena.world import DT_S


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
    kind = 2 if uniform(rng, w, 0.0, 1.0) < rules.RAIDER_SHARE else 1
    radius = rules.RADIUS[kind]
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
    ship_shield[w, i] = 1.0 if rules.SHIELD[kind] > 0.0 else 0.0
    ship_jammed_s[w, i] = 0.0
    ship_reload_s[w, i] = uniform(rng, w, 0.3, rules.RELOAD_S[kind])
    npc_angry[w, i] = False
    npc_anger_s[w, i] = 0.0
    npc_timer_s[w, i] = 0.0
    npc_side[w, i] = 1.0 if uniform(rng, w, 0.0, 1.0) < 0.5 else -1.0


@compiled
def enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield, ship_lock,
                 ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s, rock_pos,
                 rock_radius, spot, w):  # fmt: skip
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
            if distance <= rules.RADIUS[ship_kind[w, j]] + CLICK_MARGIN_PX and distance < best_distance:
                best = j
                best_distance = distance
    if best >= 0:
        if ship_lock[w, 0] != best:
            ship_lock[w, 0] = best
            ship_lock_serial[w, 0] = new_serial(next_serial, w)
            ship_firing[w, 0] = False
        return
    for k in range(loot_alive.shape[1]):
        if loot_alive[w, k] and math.hypot(loot_pos[w, k, 0] - x, loot_pos[w, k, 1] - y) <= rules.LOOT_CLICK:
            x = loot_pos[w, k, 0]
            y = loot_pos[w, k, 1]
            break
    margin = rules.RADIUS[0] + 1.0
    r = rock_at(rock_pos, rock_radius, w, x, y, margin)
    if r >= 0:
        dx = x - rock_pos[w, r, 0]
        dy = y - rock_pos[w, r, 1]
        distance = math.hypot(dx, dy)
        if distance < 1e-3:
            dx, dy, distance = 0.0, 1.0, 1.0
        x = rock_pos[w, r, 0] + dx / distance * (rock_radius[w, r] + margin)
        y = rock_pos[w, r, 1] + dy / distance * (rock_radius[w, r] + margin)
    ship_dest[w, 0, 0] = clamp(x, LEFT + rules.RADIUS[0], RIGHT - rules.RADIUS[0])
    ship_dest[w, 0, 1] = clamp(y, TOP + rules.RADIUS[0], BOTTOM - rules.RADIUS[0])
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
        if key != 3 or ship_heavy[w, 0] >= rules.HEAVY_SHOT:
            ship_ammo[w, 0] = key - 1
    elif ship_cooldowns[w, 0, key - 5] <= 0.0:
        ship_cooldowns[w, 0, key - 5] = 1.0
        if key == 5:
            ship_shield[w, 0] = min(ship_shield[w, 0] + rules.REPAIR_SHIELD, 1.0)
        elif key == 6:
            ship_boost_s[w, 0] = rules.BOOST_S
        else:
            for j in range(1, ship_alive.shape[1]):
                if math.hypot(ship_pos[w, j, 0] - ship_pos[w, 0, 0], ship_pos[w, j, 1] - ship_pos[w, 0, 1]) <= rules.JAM_RANGE:
                    ship_jammed_s[w, j] = rules.JAM_S


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
    reach = rules.NOTICE[kind] * 1.6 if npc_angry[w, i] else rules.NOTICE[kind]
    npc_angry[w, i] = ship_alive[w, 0] and (distance < reach or npc_anger_s[w, i] > 0.0)
    wish_x, wish_y = 0.0, 0.0
    if npc_angry[w, i]:
        if npc_timer_s[w, i] <= 0.0:
            npc_timer_s[w, i] = uniform(rng, w, 2.0, 5.0)
            npc_side[w, i] = -npc_side[w, i]
        ship_has_dest[w, i] = False
        keep = rules.RANGE[kind] * 0.75
        ux, uy = dx / max(distance, 1e-3), dy / max(distance, 1e-3)
        # Straight in from afar, circling when at range, backing off when too near.
        inward = clamp((distance - keep) / 30.0, -1.0, 1.0)
        around = (1.0 - abs(inward)) * 0.7 * npc_side[w, i]
        wish_x = (ux * inward - uy * around) * rules.SPEED[kind]
        wish_y = (uy * inward + ux * around) * rules.SPEED[kind]
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
            wish_x = tx / away * rules.SPEED[kind] * 0.55
            wish_y = ty / away * rules.SPEED[kind] * 0.55
        if math.hypot(ship_vel[w, i, 0], ship_vel[w, i, 1]) > 5.0:
            ship_heading[w, i] = math.atan2(ship_vel[w, i, 1], ship_vel[w, i, 0])
    for j in range(1, ship_alive.shape[1]):
        if j != i and ship_alive[w, j]:
            sx, sy = x - ship_pos[w, j, 0], y - ship_pos[w, j, 1]
            apart = math.hypot(sx, sy)
            if 1e-3 < apart < 30.0:
                wish_x += sx / apart * (30.0 - apart) * 4.0
                wish_y += sy / apart * (30.0 - apart) * 4.0
    steer_velocity(ship_vel, w, i, wish_x, wish_y, rules.ACCEL[kind], DT_S)


@compiled
def move_shots(ship_alive, ship_kind, ship_team, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
               ship_respawn_s, ship_calm_s, npc_anger_s, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage,
               shot_life_s, shot_kind, rock_pos, rock_radius, kills_drone, kills_raider, deaths, damage_taken,
               damage_dealt, rng, w):  # fmt: skip
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
            reach = rules.RADIUS[kind] + 2.0
            if dx * dx + dy * dy > reach * reach:
                continue
            taken = damage_ship(ship_hp, ship_shield, w, i, shot_damage[w, p], rules.HP[kind], rules.SHIELD[kind], shot_kind[w, p] == 3)
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
    ship_respawn_s[w, i] = rules.PLAYER_RESPAWN_S if i == 0 else uniform(rng, w, 3.0, 7.0)
    for j in range(ship_alive.shape[1]):
        if j == i or ship_lock[w, j] == i:
            ship_lock[w, j] = -1
            ship_firing[w, j] = False
