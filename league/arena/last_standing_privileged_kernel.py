"""Compiled: the numbers of ``league.privileged``, told by a world of last man standing. Imported only through ``world.kernels``.

A shot flies straight, so that where it will pass a ship that flies straight too is a formula. Legend: N worlds, S ships, P shots.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from league import privileged
from league.arena import last_standing_rules as rules
from league.arena.last_standing import signature
from league.arena.last_standing_parts import (
    BOOST_TICKS,
    COOLDOWN_TICKS,
    FAR_SQUARE,
    JAM_TICKS,
    MIDDLE_X,
    MIDDLE_Y,
    ONE,
    PER_TOP_SPEED,
    POWER_TICKS,
    RELOAD_TICKS,
    ZERO,
)
from league.arena.physics import compiled
from league.arena.world import DT_S

F = np.float32
PER_SHOT_S = F(1.0 / rules.SHOT_LIFE_S)
PER_MISS = F(1.0 / privileged.MISS_PX)
PER_DAMAGE = F(1.0 / (rules.SHOT_DAMAGE * rules.POWER_FACTOR))
PER_NEAR = F(1.0 / rules.NEAR_RANGE)
PER_EDGE = F(1.0 / privileged.ZONE_EDGE_PX)
DT = F(DT_S)
OWN, OWN_SHOT, SHOT_HERE, ENEMY = (privileged.PLACE[name] for name in ("gun_x", "own_shot_1_when", "shot_here_1_when", "enemy_1_dx"))
PER_SHOT = privileged.PLACE["own_shot_2_when"] - OWN_SHOT
PER_ENEMY = privileged.PLACE["enemy_2_dx"] - ENEMY
TOLD_SHOTS, TOLD_ENEMIES = privileged.TOLD_SHOTS, privileged.TOLD_ENEMIES
LONGEST_COOLDOWN_TICKS = max(COOLDOWN_TICKS)


@compiled
def left(end, now, whole):
    """Share of ``whole`` ticks until ``end``."""
    return F(max(end - now, 0)) / F(whole)


@compiled
def passing(shot_pos, shot_vel, shot_end, ship_pos, ship_vel, tick, w, p, i):
    """When shot ``p`` will be nearest to ship ``i`` (s), and how near, as 1 minus a share of a miss; both as they fly now."""
    dx, dy = ship_pos[w, i, 0] - shot_pos[w, p, 0], ship_pos[w, i, 1] - shot_pos[w, p, 1]
    vx, vy = ship_vel[w, i, 0] - shot_vel[w, p, 0], ship_vel[w, i, 1] - shot_vel[w, p, 1]
    after_s = -(dx * vx + dy * vy) / max(vx * vx + vy * vy, F(1e-6))
    after_s = min(max(after_s, ZERO), F(shot_end[w, p] - tick[w]) * DT)
    dx += vx * after_s
    dy += vy * after_s
    return after_s, max(ONE - np.sqrt(dx * dx + dy * dy) * PER_MISS, ZERO)


@compiled
def write_shot(out, w, i, place, after_s, near, damage):
    out[w, i, place] = ONE - after_s * PER_SHOT_S
    out[w, i, place + 1] = near
    out[w, i, place + 2] = damage * PER_DAMAGE


@compiled
def write_own_shots(tick, ship_alive, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, shot_damage, out, w, i):
    """Each of the ship's shots with the enemy that it will pass nearest to."""
    for k in range(TOLD_SHOTS):
        p = i * rules.SHOTS_PER_SHIP + k
        if shot_end[w, p] <= tick[w]:
            continue
        when_s, best = F(rules.SHOT_LIFE_S), ZERO
        for j in range(ship_alive.shape[1]):
            if j != i and ship_alive[w, j]:
                after_s, near = passing(shot_pos, shot_vel, shot_end, ship_pos, ship_vel, tick, w, p, j)
                if near > best:
                    when_s, best = after_s, near
        write_shot(out, w, i, OWN_SHOT + k * PER_SHOT, when_s, best, shot_damage[w, p])


@compiled
def write_shots_here(tick, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, shot_damage, out, w, i):
    """The others' shots that will pass nearest, in order."""
    for p in range(shot_end.shape[1]):
        if p // rules.SHOTS_PER_SHIP == i or shot_end[w, p] <= tick[w]:
            continue
        after_s, near = passing(shot_pos, shot_vel, shot_end, ship_pos, ship_vel, tick, w, p, i)
        k = TOLD_SHOTS
        while k > 0 and near > out[w, i, SHOT_HERE + (k - 1) * PER_SHOT + 1]:
            k -= 1
            if k + 1 < TOLD_SHOTS:
                for f in range(PER_SHOT):
                    out[w, i, SHOT_HERE + (k + 1) * PER_SHOT + f] = out[w, i, SHOT_HERE + k * PER_SHOT + f]
        if k < TOLD_SHOTS:
            write_shot(out, w, i, SHOT_HERE + k * PER_SHOT, after_s, near, shot_damage[w, p])


@compiled
def square(ship_pos, w, i, j):
    """Of the distance between two ships."""
    dx, dy = ship_pos[w, j, 0] - ship_pos[w, i, 0], ship_pos[w, j, 1] - ship_pos[w, i, 1]
    return dx * dx + dy * dy


@compiled
def around(tick, ship_alive, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, w, i, j):
    """Of enemy ``j`` of ship ``i``: how near its next other enemy is, and the nearest of their shots at it."""
    nearest, fire = FAR_SQUARE, ZERO
    for other in range(ship_alive.shape[1]):
        if other in (i, j):
            continue
        if ship_alive[w, other]:
            nearest = min(nearest, square(ship_pos, w, j, other))
        for k in range(rules.SHOTS_PER_SHIP):
            p = other * rules.SHOTS_PER_SHIP + k
            if shot_end[w, p] > tick[w]:
                fire = max(fire, passing(shot_pos, shot_vel, shot_end, ship_pos, ship_vel, tick, w, p, j)[1])
    return max(ONE - np.sqrt(nearest) * PER_NEAR, ZERO), fire


def _tell(
    tick, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_gun, ship_hp, ship_shield, ship_energy, ship_cooldown_end,
    ship_boost_end, ship_jam_end, ship_power_end, ship_reload_end, shot_end, shot_pos, shot_vel, shot_damage, which, out,
):  # fmt: skip
    """Into ``out`` [N, S, TOLD_SIZE], behind the observation, of the ships in ``which`` [N, S]."""
    nearest = np.zeros(TOLD_ENEMIES, np.int64)
    for w in range(ship_alive.shape[0]):
        now = tick[w]
        for i in range(ship_alive.shape[1]):
            if not which[w, i]:
                continue
            for f in range(OWN, out.shape[2]):
                out[w, i, f] = ZERO
            if not ship_alive[w, i]:
                continue
            x, y = ship_pos[w, i, 0], ship_pos[w, i, 1]
            out[w, i, OWN] = ship_gun[w, i, 0]
            out[w, i, OWN + 1] = ship_gun[w, i, 1]
            out[w, i, OWN + 2] = ship_energy[w, i]
            out[w, i, OWN + 3] = left(ship_jam_end[w, i], now, JAM_TICKS)
            out[w, i, OWN + 4] = left(ship_reload_end[w, i], now, RELOAD_TICKS)
            out[w, i, OWN + 5] = left(ship_power_end[w, i], now, POWER_TICKS)
            out[w, i, OWN + 6] = left(ship_boost_end[w, i], now, BOOST_TICKS)
            out[w, i, OWN + 7] = (F(MIDDLE_X) - x) * PER_NEAR
            out[w, i, OWN + 8] = (F(MIDDLE_Y) - y) * PER_NEAR
            write_own_shots(tick, ship_alive, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, shot_damage, out, w, i)
            write_shots_here(tick, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, shot_damage, out, w, i)
            told = 0
            for j in range(ship_alive.shape[1]):
                if j == i or not ship_alive[w, j]:
                    continue
                k = told
                while k > 0 and square(ship_pos, w, i, nearest[k - 1]) > square(ship_pos, w, i, j):
                    if k < TOLD_ENEMIES:
                        nearest[k] = nearest[k - 1]
                    k -= 1
                if k < TOLD_ENEMIES:
                    nearest[k] = j
                told = min(told + 1, TOLD_ENEMIES)
            for k in range(told):
                j, at = nearest[k], ENEMY + k * PER_ENEMY
                dx, dy = ship_pos[w, j, 0] - x, ship_pos[w, j, 1] - y
                per_distance = ONE / max(np.sqrt(dx * dx + dy * dy), F(1e-3))
                out[w, i, at] = dx * PER_NEAR
                out[w, i, at + 1] = dy * PER_NEAR
                out[w, i, at + 2] = min(max(ship_vel[w, j, 0] * PER_TOP_SPEED, -ONE), ONE)
                out[w, i, at + 3] = min(max(ship_vel[w, j, 1] * PER_TOP_SPEED, -ONE), ONE)
                out[w, i, at + 4] = ONE
                out[w, i, at + 5] = ship_hp[w, j]
                out[w, i, at + 6] = ship_shield[w, j]
                out[w, i, at + 7] = ship_energy[w, j]
                out[w, i, at + 8] = left(ship_cooldown_end[w, j], now, LONGEST_COOLDOWN_TICKS)
                out[w, i, at + 9] = left(ship_jam_end[w, j], now, JAM_TICKS)
                out[w, i, at + 10] = left(ship_power_end[w, j], now, POWER_TICKS)
                zone_x, zone_y = ship_pos[w, j, 0] - zone_middle[w, 0], ship_pos[w, j, 1] - zone_middle[w, 1]
                edge = (zone_radius[w] - np.sqrt(zone_x * zone_x + zone_y * zone_y)) * PER_EDGE
                out[w, i, at + 11] = min(max(edge, -ONE), ONE)
                out[w, i, at + 12] = -(ship_gun[w, j, 0] * dx + ship_gun[w, j, 1] * dy) * per_distance
                out[w, i, at + 13] = (ship_gun[w, i, 0] * dx + ship_gun[w, i, 1] * dy) * per_distance
                company, fire = around(tick, ship_alive, ship_pos, ship_vel, shot_end, shot_pos, shot_vel, w, i, j)
                out[w, i, at + 14] = company
                out[w, i, at + 15] = fire


_SHIPS, _OUT = types.Array(types.boolean, 2, "C"), types.Array(types.float32, 3, "C")
tell = njit(types.void(*signature()[3], _SHIPS, _OUT), cache=True, error_model="numpy", fastmath=False, nogil=True)(_tell)
