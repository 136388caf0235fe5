"""How NPCs think: where each kind steers, compiled. Imported only through ``world.kernels``.

Drones and raiders hunt whoever is near at their own range; menders seek the hurt and run from the player; bombers rush it;
a hunter follows it everywhere until its time is over, then leaves by the nearest border.
"""

from __future__ import annotations

import math

from league.arena import skirmish_rules as rules
from league.arena.physics import BOTTOM, LEFT, RIGHT, TOP, add_fx, clamp, compiled, steer_velocity, uniform
from league.arena.sizes import SHIP_BOX_PX
from league.arena.skirmish_parts import free_spot
from league.arena.world import DT_S


@compiled
def think_npc(rng, tick, ship_alive, ship_kind, ship_pos, ship_vel, ship_dest, ship_has_dest, ship_heading, ship_hp, ship_jammed_s,
              npc_angry, npc_anger_s, npc_timer_s, npc_side, npc_leave_s, rock_pos, rock_radius, fx_kind, fx_pos, fx_value,
              fx_age_s, spot, wish, w, i):  # fmt: skip
    """Steer one NPC for a step. True when a hunter has left the map. ``wish`` and ``spot`` are room for two numbers each."""
    kind = ship_kind[w, i]
    x, y = ship_pos[w, i, 0], ship_pos[w, i, 1]
    dx, dy = ship_pos[w, 0, 0] - x, ship_pos[w, 0, 1] - y
    distance = math.hypot(dx, dy)
    npc_anger_s[w, i] = max(npc_anger_s[w, i] - DT_S, 0.0)
    npc_timer_s[w, i] -= DT_S
    reach = rules.NOTICE[kind] * 1.6 if npc_angry[w, i] else rules.NOTICE[kind]
    npc_angry[w, i] = ship_alive[w, 0] and (distance < reach or npc_anger_s[w, i] > 0.0)
    wish[0], wish[1] = 0.0, 0.0
    if kind == rules.HUNTER:
        npc_leave_s[w, i] -= DT_S
        if npc_leave_s[w, i] <= 0.0:
            npc_angry[w, i] = False
            return _leave(ship_pos, ship_vel, ship_heading, wish, w, i)
    if kind == rules.MENDER:
        _mend(tick, ship_alive, ship_kind, ship_pos, ship_hp, ship_jammed_s, fx_kind, fx_pos, fx_value, fx_age_s, wish, w, i)
        if npc_angry[w, i] and distance < rules.NOTICE[kind]:
            wish[0], wish[1] = -dx / max(distance, 1e-3) * rules.SPEED[kind], -dy / max(distance, 1e-3) * rules.SPEED[kind]
        if wish[0] == 0.0 and wish[1] == 0.0:
            _wander(rng, ship_pos, ship_dest, ship_has_dest, npc_timer_s, rock_pos, rock_radius, spot, wish, w, i, rules.SPEED[kind])
        ship_heading[w, i] = math.atan2(wish[1], wish[0])
    elif npc_angry[w, i]:
        ship_has_dest[w, i] = False
        if npc_timer_s[w, i] <= 0.0:
            npc_timer_s[w, i] = uniform(rng, w, 2.0, 5.0)
            npc_side[w, i] = -npc_side[w, i]
        ux, uy = dx / max(distance, 1e-3), dy / max(distance, 1e-3)
        if kind == rules.BOMBER:
            # A jammed one has lost its way: it stands still.
            speed = 0.0 if ship_jammed_s[w, i] > 0.0 else rules.SPEED[kind]
            wish[0], wish[1] = ux * speed, uy * speed
        else:
            keep = rules.RANGE[kind] * 0.75
            # Straight in from afar, circling when at range, backing off when too near.
            inward = clamp((distance - keep) / 30.0, -1.0, 1.0)
            around = (1.0 - abs(inward)) * 0.7 * npc_side[w, i]
            speed = rules.SPEED[kind] * (0.5 if ship_jammed_s[w, i] > 0.0 and kind == rules.HUNTER else 1.0)
            wish[0] = (ux * inward - uy * around) * speed
            wish[1] = (uy * inward + ux * around) * speed
        ship_heading[w, i] = math.atan2(dy, dx)
    else:
        _wander(rng, ship_pos, ship_dest, ship_has_dest, npc_timer_s, rock_pos, rock_radius, spot, wish, w, i, rules.SPEED[kind])
        if math.hypot(ship_vel[w, i, 0], ship_vel[w, i, 1]) > 5.0:
            ship_heading[w, i] = math.atan2(ship_vel[w, i, 1], ship_vel[w, i, 0])
    for j in range(1, ship_alive.shape[1]):
        if j != i and ship_alive[w, j]:
            sx, sy = x - ship_pos[w, j, 0], y - ship_pos[w, j, 1]
            apart = math.hypot(sx, sy)
            if 1e-3 < apart < 30.0:
                wish[0] += sx / apart * (30.0 - apart) * 4.0
                wish[1] += sy / apart * (30.0 - apart) * 4.0
    steer_velocity(ship_vel, w, i, wish[0], wish[1], rules.ACCEL[kind], DT_S)
    return False


@compiled
def _wander(rng, ship_pos, ship_dest, ship_has_dest, npc_timer_s, rock_pos, rock_radius, spot, wish, w, i, speed):
    """Fly about, from place to place."""
    if not ship_has_dest[w, i] or npc_timer_s[w, i] <= 0.0:
        free_spot(rng, w, rock_pos, rock_radius, 24.0, spot)
        ship_dest[w, i, 0] = spot[0]
        ship_dest[w, i, 1] = spot[1]
        ship_has_dest[w, i] = True
        npc_timer_s[w, i] = uniform(rng, w, 3.0, 7.0)
    tx, ty = ship_dest[w, i, 0] - ship_pos[w, i, 0], ship_dest[w, i, 1] - ship_pos[w, i, 1]
    away = math.hypot(tx, ty)
    if away < 6.0:
        ship_has_dest[w, i] = False
        return
    wish[0] = tx / away * speed * 0.55
    wish[1] = ty / away * speed * 0.55


@compiled
def _mend(tick, ship_alive, ship_kind, ship_pos, ship_hp, ship_jammed_s, fx_kind, fx_pos, fx_value, fx_age_s, wish, w, i):
    """Mend every other NPC in reach, and wish to be near the one that needs it most."""
    worst, worst_hp = -1, 0.97
    for j in range(1, ship_alive.shape[1]):
        if j == i or not ship_alive[w, j]:
            continue
        near = math.hypot(ship_pos[w, j, 0] - ship_pos[w, i, 0], ship_pos[w, j, 1] - ship_pos[w, i, 1])
        if near <= rules.MEND_REACH and ship_hp[w, j] < 1.0 and ship_jammed_s[w, i] <= 0.0:
            kind = ship_kind[w, j]
            ship_hp[w, j] = min(ship_hp[w, j] + rules.MEND_S * DT_S / rules.HP[kind], 1.0)
            if tick[w] % 30 == 0:
                add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, rules.FX_MEND, ship_pos[w, j, 0], ship_pos[w, j, 1], SHIP_BOX_PX[kind])
        if ship_hp[w, j] < worst_hp:
            worst, worst_hp = j, ship_hp[w, j]
    if worst >= 0:
        dx, dy = ship_pos[w, worst, 0] - ship_pos[w, i, 0], ship_pos[w, worst, 1] - ship_pos[w, i, 1]
        away = math.hypot(dx, dy)
        if away > rules.MEND_REACH * 0.6:
            wish[0], wish[1] = dx / away * rules.SPEED[rules.MENDER], dy / away * rules.SPEED[rules.MENDER]


@compiled
def _leave(ship_pos, ship_vel, ship_heading, wish, w, i):
    """Make for the nearest border. True when it is reached."""
    x, y = ship_pos[w, i, 0], ship_pos[w, i, 1]
    gaps = (x - LEFT, RIGHT - x, y - TOP, BOTTOM - y)
    nearest = 0
    for g in range(1, 4):
        if gaps[g] < gaps[nearest]:
            nearest = g
    if gaps[nearest] <= rules.RADIUS[rules.HUNTER] + 1.0:
        return True
    speed = rules.SPEED[rules.HUNTER]
    wish[0] = -speed if nearest == 0 else speed if nearest == 1 else 0.0
    wish[1] = -speed if nearest == 2 else speed if nearest == 3 else 0.0
    ship_heading[w, i] = math.atan2(wish[1], wish[0])
    steer_velocity(ship_vel, w, i, wish[0], wish[1], rules.ACCEL[rules.HUNTER], DT_S)
    return False
