"""The compiled heart of skirmish: ``reset`` lays worlds out, ``advance`` moves every world by some steps of 1/60 s.

Imported only through ``world.kernels``. The argument lists follow ``world.FIELD_NAMES``, then the commands.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from league.arena import skirmish_rules as rules
from league.arena.npc_parts import think_npc
from league.arena.physics import add_fx, fire, move, new_serial, push_out_of_rock, steer_to, steer_velocity, uniform
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.arena.skirmish_parts import (
    border_spot,
    burst,
    click_left,
    enter_npc,
    enter_player,
    enter_wave,
    free_spot,
    hurt,
    kill,
    leave,
    move_shots,
    place_rocks,
    press_key,
)
from league.arena.world import DT_S, signature


def _reset(
    tick, rng, next_serial, map_kind, wave_wait_s, hunter_wait_s, ship_alive, ship_kind, ship_team, ship_serial, ship_pos,
    ship_vel, ship_dest, ship_has_dest, ship_mark_serial, ship_heading, ship_hp, ship_shield, ship_lock, ship_lock_serial,
    ship_firing, ship_ammo, ship_heavy, ship_cooldowns, ship_boost_s, ship_jammed_s, ship_reload_s, ship_respawn_s, ship_calm_s,
    ship_portal_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, npc_leave_s, shot_alive, shot_pos, shot_vel, shot_owner,
    shot_target, shot_damage, shot_life_s, shot_kind, shot_serial, loot_alive, loot_kind, loot_pos, loot_respawn_s, loot_life_s,
    loot_serial, rock_pos, rock_radius, portal_pos, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, looted, caches,
    damage_taken, damage_dealt,
):  # fmt: skip
    """Lay out freshly allocated worlds: rocks by the map, portals far apart, loot, the player, the first wave."""
    spot = np.zeros(2)
    for w in range(tick.shape[0]):
        map_kind[w] = 0 if uniform(rng, w, 0.0, 1.0) < 0.5 else 1
        place_rocks(rng, map_kind, rock_pos, rock_radius, w)
        next_serial[w] += rock_pos.shape[1]
        for q in range(portal_pos.shape[1]):
            best = -1.0
            for _ in range(60):
                free_spot(rng, w, rock_pos, rock_radius, 40.0, spot)
                apart = math.hypot(portal_pos[w, 0, 0] - spot[0], portal_pos[w, 0, 1] - spot[1]) if q > 0 else 1e9
                if apart > best:
                    best = apart
                    portal_pos[w, q, 0] = spot[0]
                    portal_pos[w, q, 1] = spot[1]
                if best > 300.0:
                    break
            next_serial[w] += 1
        for k in range(loot_alive.shape[1]):
            if k == loot_alive.shape[1] - 1:
                loot_kind[w, k] = 1
                loot_respawn_s[w, k] = uniform(rng, w, rules.CACHE_WAIT_S[0] / 2.0, rules.CACHE_WAIT_S[1])
                continue
            free_spot(rng, w, rock_pos, rock_radius, 20.0, spot)
            loot_alive[w, k] = True
            loot_pos[w, k, 0] = spot[0]
            loot_pos[w, k, 1] = spot[1]
            loot_serial[w, k] = new_serial(next_serial, w)
        ship_ammo[w, 0] = rules.STANDARD
        ship_heavy[w, 0] = 0.5
        enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield, ship_lock,
                     ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s, rock_pos,
                     rock_radius, spot, w)  # fmt: skip
        for i in range(1, ship_alive.shape[1]):
            ship_team[w, i] = 1
        enter_wave(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
                   ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, rock_pos, rock_radius,
                   spot, w, False)  # fmt: skip
        wave_wait_s[w] = uniform(rng, w, rules.WAVE_LULL_S[0], rules.WAVE_LULL_S[1])
        hunter_wait_s[w] = uniform(rng, w, rules.HUNTER_FIRST_S[0], rules.HUNTER_FIRST_S[1])


def _advance(
    tick, rng, next_serial, map_kind, wave_wait_s, hunter_wait_s, ship_alive, ship_kind, ship_team, ship_serial, ship_pos,
    ship_vel, ship_dest, ship_has_dest, ship_mark_serial, ship_heading, ship_hp, ship_shield, ship_lock, ship_lock_serial,
    ship_firing, ship_ammo, ship_heavy, ship_cooldowns, ship_boost_s, ship_jammed_s, ship_reload_s, ship_respawn_s, ship_calm_s,
    ship_portal_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, npc_leave_s, shot_alive, shot_pos, shot_vel, shot_owner,
    shot_target, shot_damage, shot_life_s, shot_kind, shot_serial, loot_alive, loot_kind, loot_pos, loot_respawn_s, loot_life_s,
    loot_serial, rock_pos, rock_radius, portal_pos, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, looted, caches,
    damage_taken, damage_dealt,
    clicks, click_xy, keys, steps,
):  # fmt: skip
    """Apply each world's click (1 left, 2 right; place in 0..1) and key, then move it by ``steps`` steps of 1/60 s."""
    spot, wish = np.zeros(2), np.zeros(2)
    for w in range(tick.shape[0]):
        if ship_alive[w, 0]:
            if clicks[w] == 1:
                click_left(next_serial, ship_alive, ship_kind, ship_pos, ship_dest, ship_has_dest, ship_mark_serial, ship_lock,
                           ship_lock_serial, ship_firing, loot_alive, loot_kind, loot_pos, rock_pos, rock_radius, w,
                           click_xy[w, 0] * MAP_WIDTH_PX, click_xy[w, 1] * MAP_HEIGHT_PX)  # fmt: skip
            elif clicks[w] == 2:
                ship_lock[w, 0] = -1
                ship_firing[w, 0] = False
            if keys[w] >= 0:
                press_key(ship_alive, ship_pos, ship_shield, ship_lock, ship_firing, ship_ammo, ship_heavy, ship_cooldowns,
                          ship_boost_s, ship_jammed_s, w, keys[w])  # fmt: skip
        for _ in range(steps):
            tick[w] += 1
            for f in range(fx_kind.shape[1]):
                if fx_kind[w, f] != 0:
                    fx_age_s[w, f] += DT_S
                    if fx_age_s[w, f] >= rules.FX_S:
                        fx_kind[w, f] = 0
            for c in range(3):
                ship_cooldowns[w, 0, c] = max(ship_cooldowns[w, 0, c] - DT_S / rules.COOLDOWN_S[c], 0.0)
            if not ship_alive[w, 0]:
                ship_respawn_s[w, 0] -= DT_S
                if ship_respawn_s[w, 0] <= 0.0:
                    enter_player(rng, next_serial, ship_alive, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
                                 ship_lock, ship_firing, ship_heavy, ship_boost_s, ship_jammed_s, ship_reload_s, ship_calm_s,
                                 rock_pos, rock_radius, spot, w)  # fmt: skip
            last = ship_alive.shape[1] - 1
            left = 0
            for i in range(1, last):
                left += 1 if ship_alive[w, i] else 0
            if left <= 1:
                wave_wait_s[w] -= DT_S
                if wave_wait_s[w] <= 0.0:
                    enter_wave(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp,
                               ship_shield, ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side,
                               rock_pos, rock_radius, spot, w, True)  # fmt: skip
                    wave_wait_s[w] = uniform(rng, w, rules.WAVE_LULL_S[0], rules.WAVE_LULL_S[1])
            if not ship_alive[w, last]:
                hunter_wait_s[w] -= DT_S
                if hunter_wait_s[w] <= 0.0:
                    for _ in range(8):
                        side = int(uniform(rng, w, 0.0, 3.999))
                        away = border_spot(rng, ship_pos, w, rules.RADIUS[rules.HUNTER], uniform(rng, w, 0.1, 0.9), side, spot)
                        if away > 260.0:
                            break
                    enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp,
                              ship_shield, ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side,
                              w, last, rules.HUNTER, spot[0], spot[1])  # fmt: skip
                    npc_leave_s[w, last] = uniform(rng, w, rules.HUNTER_STAY_S[0], rules.HUNTER_STAY_S[1])
                    hunter_wait_s[w] = uniform(rng, w, rules.HUNTER_WAIT_S[0], rules.HUNTER_WAIT_S[1])
            for i in range(ship_alive.shape[1]):
                if not ship_alive[w, i]:
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
                    gone = think_npc(rng, tick, ship_alive, ship_kind, ship_pos, ship_vel, ship_dest, ship_has_dest, ship_heading,
                                     ship_hp, ship_jammed_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, npc_leave_s, rock_pos,
                                     rock_radius, fx_kind, fx_pos, fx_value, fx_age_s, spot, wish, w, i)  # fmt: skip
                    if gone:
                        leave(ship_alive, ship_lock, ship_firing, ship_has_dest, w, i)
                        continue
                    dx, dy = ship_pos[w, 0, 0] - ship_pos[w, i, 0], ship_pos[w, 0, 1] - ship_pos[w, i, 1]
                    distance = math.hypot(dx, dy)
                    if kind == rules.BOMBER and npc_angry[w, i] and distance <= rules.BLAST_TRIGGER:
                        kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, w, i)
                        burst(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
                              ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken,
                              damage_dealt, w, ship_pos[w, i, 0], ship_pos[w, i, 1], -1)  # fmt: skip
                        continue
                    able = damage > 0.0 and ship_reload_s[w, i] <= 0.0 and ship_jammed_s[w, i] <= 0.0
                    if npc_angry[w, i] and able and distance <= rules.RANGE[kind]:
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
                        if i == 0 and ammo == rules.HEAVY:
                            ship_heavy[w, 0] = max(ship_heavy[w, 0] - rules.HEAVY_SHOT, 0.0)
                            if ship_heavy[w, 0] < rules.HEAVY_SHOT:
                                ship_ammo[w, 0] = rules.STANDARD
                move(ship_pos, ship_vel, w, i, rules.RADIUS[kind], DT_S)
                if push_out_of_rock(ship_pos, ship_vel, w, i, rules.RADIUS[kind], rock_pos, rock_radius) and i == 0:
                    hurt(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
                         ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken, damage_dealt, w,
                         0, -1, rules.ROCK_DAMAGE_S * DT_S, 1.0)  # fmt: skip
            move_shots(ship_alive, ship_kind, ship_team, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
                       ship_respawn_s, ship_calm_s, npc_anger_s, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage,
                       shot_life_s, shot_kind, rock_pos, rock_radius, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths,
                       damage_taken, damage_dealt, w)  # fmt: skip
            for k in range(loot_alive.shape[1]):
                cache = loot_kind[w, k] == 1
                if not loot_alive[w, k]:
                    loot_respawn_s[w, k] -= DT_S
                    if loot_respawn_s[w, k] <= 0.0:
                        for _ in range(10):
                            free_spot(rng, w, rock_pos, rock_radius, 20.0, spot)
                            if not cache or math.hypot(spot[0] - ship_pos[w, 0, 0], spot[1] - ship_pos[w, 0, 1]) > rules.CACHE_AWAY:
                                break
                        loot_alive[w, k] = True
                        loot_pos[w, k, 0] = spot[0]
                        loot_pos[w, k, 1] = spot[1]
                        loot_life_s[w, k] = rules.CACHE_LIFE_S
                        loot_serial[w, k] = new_serial(next_serial, w)
                    continue
                if cache:
                    loot_life_s[w, k] -= DT_S
                    if loot_life_s[w, k] <= 0.0:
                        loot_alive[w, k] = False
                        loot_respawn_s[w, k] = uniform(rng, w, rules.CACHE_WAIT_S[0], rules.CACHE_WAIT_S[1])
                        continue
                away = math.hypot(loot_pos[w, k, 0] - ship_pos[w, 0, 0], loot_pos[w, k, 1] - ship_pos[w, 0, 1])
                if not ship_alive[w, 0] or away > rules.LOOT_REACH[loot_kind[w, k]]:
                    continue
                loot_alive[w, k] = False
                points = rules.POINTS_LOOT
                if cache:
                    points = rules.POINTS_CACHE
                    caches[w, 0] += 1
                    loot_respawn_s[w, k] = uniform(rng, w, rules.CACHE_WAIT_S[0], rules.CACHE_WAIT_S[1])
                    ship_hp[w, 0] = min(ship_hp[w, 0] + rules.CACHE_HP, 1.0)
                    ship_shield[w, 0] = min(ship_shield[w, 0] + rules.CACHE_SHIELD, 1.0)
                else:
                    looted[w, 0] += 1
                    loot_respawn_s[w, k] = uniform(rng, w, rules.LOOT_WAIT_S[0], rules.LOOT_WAIT_S[1])
                    ship_heavy[w, 0] = min(ship_heavy[w, 0] + rules.LOOT_HEAVY, 1.0)
                    ship_shield[w, 0] = min(ship_shield[w, 0] + rules.LOOT_SHIELD, 1.0)
                add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, rules.FX_PICKUP, loot_pos[w, k, 0], loot_pos[w, k, 1], points)
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
