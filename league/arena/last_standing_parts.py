"""The compiled parts of last man standing: how worlds are laid out, what buttons do, what shots and the zone hit.

Each takes the arrays it touches, and either one world's index or a block of worlds, ``begin`` to ``end``: handing over so
many arrays costs more than one world's work. Imported only through ``world.kernels``. Nothing depends on the order of seats:
what happens in one step is counted for all ships before anybody is lost.
"""

from __future__ import annotations

import math

import numpy as np

from league.arena import last_standing_rules as rules
from league.arena.physics import BOTTOM, LEFT, RIGHT, TOP, clamp, compiled, damage_ship, uniform
from league.arena.world import DT_S

RELOAD_TICKS = round(rules.RELOAD_S / DT_S)
SHOT_TICKS = round(rules.SHOT_LIFE_S / DT_S)
CALM_TICKS = round(rules.SHIELD_CALM_S / DT_S)
BOOST_TICKS = round(rules.BOOST_S / DT_S)
JAM_TICKS = round(rules.JAM_S / DT_S)
POWER_TICKS = round(rules.POWER_S / DT_S)
COOLDOWN_TICKS = tuple(round(s / DT_S) for s in rules.ABILITY_COOLDOWN_S)
MIDDLE_X, MIDDLE_Y = (LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0

# The hot loops stay in float32: a float64 constant would widen all that it meets, which was measured to cost three times as much.
F = np.float32
ZERO, ONE = F(0.0), F(1.0)
DT = F(DT_S)
TURN_COS, TURN_SIN = F(math.cos(rules.TURN_STEP)), F(math.sin(rules.TURN_STEP))
WEST, EAST, NORTH, SOUTH = F(LEFT + rules.RADIUS), F(RIGHT - rules.RADIUS), F(TOP + rules.RADIUS), F(BOTTOM - rules.RADIUS)
SPEED, BOOSTED_SPEED = F(rules.SPEED), F(rules.TOP_SPEED)
DELTA_V, BOOSTED_DELTA_V = F(rules.ACCEL * DT_S), F(rules.ACCEL * DT_S * rules.BOOST_FACTOR)
ENERGY_BACK, SHIELD_BACK = F(rules.ENERGY_REGEN * DT_S), F(rules.SHIELD_REGEN / rules.SHIELD * DT_S)
TOUCH_SQUARE = F((rules.RADIUS + rules.SHOT_RADIUS) ** 2)
APART_SQUARE = F((2.0 * rules.RADIUS) ** 2)
REACH_SQUARE = F(rules.ITEM_REACH**2)
FAR_SQUARE = F(1e9)
PER_TOP_SPEED, PER_ZONE, NEAR_RANGE = F(1.0 / rules.TOP_SPEED), F(1.0 / rules.ZONE_RADIUS[0]), F(rules.NEAR_RANGE)
PER_COOLDOWN_TICK = F(DT_S / rules.LONGEST_COOLDOWN_S)
PER_ITEM_KIND, PER_ENEMY = F(1.0 / rules.ITEM_KINDS), F(1.0 / (rules.MOST_SHIPS - 1))
_ZONE_S = np.arange(round(rules.ZONE_S[-1] / DT_S) + 1) * DT_S
ZONE_RADIUS_AT = np.interp(_ZONE_S, rules.ZONE_S, rules.ZONE_RADIUS).astype(F)
"""Radius of the zone by tick, px; the last one holds ever after, here and below."""
ZONE_BURN_AT = (np.interp(_ZONE_S, (0.0, rules.ZONE_S[-1]), rules.ZONE_DAMAGE_S) * (DT_S / rules.HP)).astype(F)
"""Share of the hull that a tick outside takes."""
HP_SHARE, SHIELD_SHARE = F(rules.HP / (rules.HP + rules.SHIELD)), F(rules.SHIELD / (rules.HP + rules.SHIELD))


@compiled
def place_item(rng, zone_middle, zone_radius, item_alive, item_kind, item_pos, w, k):
    """A new item within the zone, more likely near its middle."""
    angle = uniform(rng, w, -math.pi, math.pi)
    away = uniform(rng, w, 0.0, 0.9) * min(zone_radius[w], 240.0)
    margin = rules.ITEM_MARGIN
    item_pos[w, k, 0] = clamp(zone_middle[w, 0] + math.cos(angle) * away, LEFT + margin, RIGHT - margin)
    item_pos[w, k, 1] = clamp(zone_middle[w, 1] + math.sin(angle) * away, TOP + margin, BOTTOM - margin)
    item_kind[w, k] = int(uniform(rng, w, 0.0, rules.ITEM_KINDS))
    item_alive[w, k] = True


@compiled
def point_gun(ship_gun, w, i, x, y):
    """Point the gun along (x, y), which is not (0, 0)."""
    size = ONE / np.sqrt(x * x + y * y)
    ship_gun[w, i, 0] = x * size
    ship_gun[w, i, 1] = y * size


@compiled
def turn_gun(ship_gun, w, i, aim_x, aim_y):
    """Turn the gun towards the aim by at most ``TURN_STEP``; no aim, no turn."""
    square = aim_x * aim_x + aim_y * aim_y
    if square < F(1e-8):
        return
    x, y = ship_gun[w, i, 0], ship_gun[w, i, 1]
    if x * aim_x + y * aim_y >= TURN_COS * np.sqrt(square):
        point_gun(ship_gun, w, i, aim_x, aim_y)
        return
    side = TURN_SIN if x * aim_y - y * aim_x >= ZERO else -TURN_SIN
    point_gun(ship_gun, w, i, x * TURN_COS - y * side, x * side + y * TURN_COS)


@compiled
def place_ships(rng, ship_pos, ship_gun, w):
    """Ships evenly on an ellipse, looking inwards; a drawn turn and a drawn order, so that no seat has a place of its own."""
    ships = ship_pos.shape[1]
    turn = uniform(rng, w, -math.pi, math.pi)
    for i in range(ships):
        angle = turn + 2.0 * math.pi * i / ships
        ship_pos[w, i, 0] = MIDDLE_X + math.cos(angle) * rules.SPAWN_RADII[0]
        ship_pos[w, i, 1] = MIDDLE_Y + math.sin(angle) * rules.SPAWN_RADII[1]
    for i in range(ships - 1, 0, -1):
        other = int(uniform(rng, w, 0.0, i + 1.0))
        for axis in range(2):
            held = ship_pos[w, i, axis]
            ship_pos[w, i, axis] = ship_pos[w, other, axis]
            ship_pos[w, other, axis] = held
    for i in range(ships):
        point_gun(ship_gun, w, i, MIDDLE_X - ship_pos[w, i, 0], MIDDLE_Y - ship_pos[w, i, 1])


@compiled
def disturb(tick, ship_alive, ship_pos, ship_vel, ship_jam_end, w, i, ability):
    """What a burst or a jam of ship ``i`` does to the others: it adds up or is set alike, so the order of ships is nothing."""
    reach = rules.BURST_REACH if ability == rules.BURST else rules.JAM_REACH
    for j in range(ship_alive.shape[1]):
        if j == i or not ship_alive[w, j]:
            continue
        dx = ship_pos[w, j, 0] - ship_pos[w, i, 0]
        dy = ship_pos[w, j, 1] - ship_pos[w, i, 1]
        distance = math.sqrt(dx * dx + dy * dy)
        if distance > reach:
            continue
        if ability == rules.JAM:
            ship_jam_end[w, j] = tick[w] + JAM_TICKS
        elif distance > 1e-3:
            ship_vel[w, j, 0] += dx / distance * rules.BURST_PUSH
            ship_vel[w, j, 1] += dy / distance * rules.BURST_PUSH


@compiled
def take_orders(tick, over, ship_alive, ship_pos, ship_vel, ship_wish, ship_gun, ship_shield, ship_cooldown_end, ship_boost_end,
                ship_jam_end, ship_ability, actions, begin, end):  # fmt: skip
    """Course, gun and abilities, where an action begins."""
    for w in range(begin, end):
        if over[w] or tick[w] % rules.STEPS_PER_ACTION != 0:
            continue
        for i in range(ship_alive.shape[1]):
            ship_ability[w, i] = 0
            if not ship_alive[w, i]:
                continue
            move_x, move_y = actions[w, i, 0], actions[w, i, 1]
            shrink = ONE / np.sqrt(max(move_x * move_x + move_y * move_y, ONE))
            ship_wish[w, i, 0] = move_x * shrink
            ship_wish[w, i, 1] = move_y * shrink
            turn_gun(ship_gun, w, i, actions[w, i, 2], actions[w, i, 3])
            ability = int(actions[w, i, 5])
            if ability == rules.NO_ABILITY or ship_cooldown_end[w, i] > tick[w]:
                continue
            ship_cooldown_end[w, i] = tick[w] + COOLDOWN_TICKS[ability]
            ship_ability[w, i] = ability
            if ability == rules.BOOST:
                ship_boost_end[w, i] = tick[w] + BOOST_TICKS
                continue
            if ability == rules.BURST:
                ship_shield[w, i] = min(ship_shield[w, i] + rules.BURST_SHIELD / rules.SHIELD, 1.0)
            disturb(tick, ship_alive, ship_pos, ship_vel, ship_jam_end, w, i, ability)


@compiled
def fire_guns(tick, over, ship_alive, ship_pos, ship_gun, ship_energy, ship_jam_end, ship_power_end, ship_reload_end, ship_calm_from,
              shot_end, shot_pos, shot_vel, shot_damage, shots_fired, actions, begin, end):  # fmt: skip
    """Launch shots from the ships' edges, each into one of its ship's own slots, where an action begins."""
    for w in range(begin, end):
        if over[w] or tick[w] % rules.STEPS_PER_ACTION != 0:
            continue
        for i in range(ship_alive.shape[1]):
            if not ship_alive[w, i] or actions[w, i, 4] <= 0.5 or ship_reload_end[w, i] > tick[w]:
                continue
            if ship_jam_end[w, i] > tick[w] or ship_energy[w, i] < rules.SHOT_ENERGY:
                continue
            p = i * rules.SHOTS_PER_SHIP
            while p < (i + 1) * rules.SHOTS_PER_SHIP - 1 and shot_end[w, p] > tick[w]:
                p += 1
            x, y = ship_gun[w, i, 0], ship_gun[w, i, 1]
            shot_end[w, p] = tick[w] + SHOT_TICKS
            shot_pos[w, p, 0] = ship_pos[w, i, 0] + x * rules.RADIUS
            shot_pos[w, p, 1] = ship_pos[w, i, 1] + y * rules.RADIUS
            shot_vel[w, p, 0] = x * rules.SHOT_SPEED
            shot_vel[w, p, 1] = y * rules.SHOT_SPEED
            shot_damage[w, p] = rules.SHOT_DAMAGE * (rules.POWER_FACTOR if ship_power_end[w, i] > tick[w] else 1.0)
            ship_energy[w, i] -= rules.SHOT_ENERGY
            ship_reload_end[w, i] = tick[w] + RELOAD_TICKS
            ship_calm_from[w, i] = tick[w]
            shots_fired[w, i] += 1


@compiled
def take_items(tick, rng, over, ship_alive, ship_pos, ship_hp, ship_shield, ship_energy, ship_power_end, item_alive, item_kind, item_pos,
               item_back, items_taken, actions, begin, end):  # fmt: skip
    """Every item goes to the nearest ship in reach that interacts, where an action begins."""
    for w in range(begin, end):
        if over[w] or tick[w] % rules.STEPS_PER_ACTION != 0:
            continue
        for k in range(item_alive.shape[1]):
            if not item_alive[w, k]:
                continue
            best, nearest = -1, REACH_SQUARE
            for i in range(ship_alive.shape[1]):
                if ship_alive[w, i] and actions[w, i, 6] > 0.5:
                    dx = item_pos[w, k, 0] - ship_pos[w, i, 0]
                    dy = item_pos[w, k, 1] - ship_pos[w, i, 1]
                    if dx * dx + dy * dy <= nearest:
                        best, nearest = i, dx * dx + dy * dy
            if best < 0:
                continue
            item_alive[w, k] = False
            item_back[w, k] = tick[w] + int(uniform(rng, w, rules.ITEM_WAIT_S[0], rules.ITEM_WAIT_S[1]) / DT_S)
            items_taken[w, best] += 1
            if item_kind[w, k] == rules.HEAL:
                ship_hp[w, best] = min(ship_hp[w, best] + rules.ITEM_HP / rules.HP, 1.0)
            elif item_kind[w, k] == rules.SHIELD_ITEM:
                ship_shield[w, best] = min(ship_shield[w, best] + rules.ITEM_SHIELD / rules.SHIELD, 1.0)
            else:
                ship_energy[w, best] = 1.0
                ship_power_end[w, best] = tick[w] + POWER_TICKS


@compiled
def fly_ships(tick, over, ship_alive, ship_pos, ship_vel, ship_wish, ship_shield, ship_energy, ship_boost_end, ship_calm_from,
              begin, end):  # fmt: skip
    """What comes back by itself, and the ships' motion, for one world step."""
    for w in range(begin, end):
        if over[w]:
            continue
        for i in range(ship_alive.shape[1]):
            if not ship_alive[w, i]:
                continue
            ship_energy[w, i] = min(ship_energy[w, i] + ENERGY_BACK, ONE)
            if ship_calm_from[w, i] + CALM_TICKS <= tick[w]:
                ship_shield[w, i] = min(ship_shield[w, i] + SHIELD_BACK, ONE)
            boosted = ship_boost_end[w, i] > tick[w]
            speed = BOOSTED_SPEED if boosted else SPEED
            most = BOOSTED_DELTA_V if boosted else DELTA_V
            vx, vy = ship_vel[w, i, 0], ship_vel[w, i, 1]
            dx, dy = ship_wish[w, i, 0] * speed - vx, ship_wish[w, i, 1] * speed - vy
            share = min(most / np.sqrt(dx * dx + dy * dy + F(1e-12)), ONE)
            vx += dx * share
            vy += dy * share
            x, y = ship_pos[w, i, 0] + vx * DT, ship_pos[w, i, 1] + vy * DT
            ship_pos[w, i, 0] = min(max(x, WEST), EAST)
            ship_pos[w, i, 1] = min(max(y, NORTH), SOUTH)
            ship_vel[w, i, 0] = vx if ship_pos[w, i, 0] == x else ZERO
            ship_vel[w, i, 1] = vy if ship_pos[w, i, 1] == y else ZERO


@compiled
def push(ship_pos, ship_vel, w, i, by_x, by_y, stop_x, stop_y):
    """Move a ship within the play area and change its velocity."""
    ship_pos[w, i, 0] = min(max(ship_pos[w, i, 0] + by_x, WEST), EAST)
    ship_pos[w, i, 1] = min(max(ship_pos[w, i, 1] + by_y, NORTH), SOUTH)
    ship_vel[w, i, 0] += stop_x
    ship_vel[w, i, 1] += stop_y


@compiled
def part_ships(over, ship_alive, ship_pos, ship_vel, begin, end):
    """Ships that overlap are moved apart by the same amount each, and stop coming closer."""
    ships = ship_alive.shape[1]
    for w in range(begin, end):
        if over[w]:
            continue
        for i in range(ships):
            for j in range(i + 1, ships):
                dx = ship_pos[w, j, 0] - ship_pos[w, i, 0]
                dy = ship_pos[w, j, 1] - ship_pos[w, i, 1]
                square = dx * dx + dy * dy
                if square >= APART_SQUARE or square < F(1e-6) or not ship_alive[w, i] or not ship_alive[w, j]:
                    continue
                distance = np.sqrt(square)
                nx, ny = dx / distance, dy / distance
                half = F(rules.RADIUS) - distance * F(0.5)
                closing = (ship_vel[w, i, 0] - ship_vel[w, j, 0]) * nx + (ship_vel[w, i, 1] - ship_vel[w, j, 1]) * ny
                stop = max(closing, ZERO) * F(0.5)
                push(ship_pos, ship_vel, w, i, -nx * half, -ny * half, -nx * stop, -ny * stop)
                push(ship_pos, ship_vel, w, j, nx * half, ny * half, nx * stop, ny * stop)


@compiled
def move_shots(tick, over, ship_alive, ship_pos, ship_hp, ship_shield, ship_calm_from, shot_end, shot_pos, shot_vel, shot_damage, kills,
               damage_dealt, damage_taken, begin, end):  # fmt: skip
    """Move all shots and book their hits; a shot hits the nearest ship it touches, never its owner."""
    for w in range(begin, end):
        if over[w]:
            continue
        for p in range(shot_end.shape[1]):
            if shot_end[w, p] <= tick[w]:
                continue
            x = shot_pos[w, p, 0] + shot_vel[w, p, 0] * DT
            y = shot_pos[w, p, 1] + shot_vel[w, p, 1] * DT
            shot_pos[w, p, 0] = x
            shot_pos[w, p, 1] = y
            if x < F(LEFT) or x > F(RIGHT) or y < F(TOP) or y > F(BOTTOM):
                shot_end[w, p] = 0
                continue
            owner = p // rules.SHOTS_PER_SHIP
            hit, nearest = -1, TOUCH_SQUARE
            for j in range(ship_alive.shape[1]):
                dx = ship_pos[w, j, 0] - x
                dy = ship_pos[w, j, 1] - y
                if dx * dx + dy * dy < nearest and j != owner and ship_alive[w, j]:
                    hit, nearest = j, dx * dx + dy * dy
            if hit < 0:
                continue
            shot_end[w, p] = 0
            before = ship_hp[w, hit]
            taken = damage_ship(ship_hp, ship_shield, w, hit, shot_damage[w, p], rules.HP, rules.SHIELD, 1.0)
            ship_calm_from[w, hit] = tick[w]
            damage_dealt[w, owner] += taken / rules.HP
            damage_taken[w, hit] += taken / rules.HP
            if before > 0.0 and ship_hp[w, hit] <= 0.0:
                kills[w, owner] += 1


@compiled
def settle(tick, rng, limit_steps, over, truncated, zone_middle, zone_radius, ship_alive, ship_pos, ship_hp, death_step, item_alive,
           item_kind, item_pos, item_back, damage_taken, begin, end):  # fmt: skip
    """The rest of a world step: the zone, whose edge hurts the hull of who is outside (a shield is no help), new items, who is
    lost, and whether that ends the world."""
    for w in range(begin, end):
        if over[w]:
            continue
        tick[w] += 1
        zone_tick = min(tick[w], len(ZONE_RADIUS_AT) - 1)
        zone_radius[w] = ZONE_RADIUS_AT[zone_tick]
        burn = ZONE_BURN_AT[zone_tick]
        ends = tick[w] % rules.STEPS_PER_ACTION == 0
        step = (tick[w] + rules.STEPS_PER_ACTION - 1) // rules.STEPS_PER_ACTION
        alive = 0
        for i in range(ship_alive.shape[1]):
            if not ship_alive[w, i]:
                continue
            dx = ship_pos[w, i, 0] - zone_middle[w, 0]
            dy = ship_pos[w, i, 1] - zone_middle[w, 1]
            if dx * dx + dy * dy > zone_radius[w] * zone_radius[w]:
                taken = min(burn, ship_hp[w, i])
                damage_taken[w, i] += taken
                ship_hp[w, i] = ship_hp[w, i] - taken if ship_hp[w, i] - taken > F(1e-4) else ZERO
            if ship_hp[w, i] <= ZERO:
                ship_alive[w, i] = False
                death_step[w, i] = step
            else:
                alive += 1
        for k in range(item_alive.shape[1]):
            if not item_alive[w, k] and item_back[w, k] <= tick[w]:
                place_item(rng, zone_middle, zone_radius, item_alive, item_kind, item_pos, w, k)
        # Only a whole action ends a world: who is lost within the same one is lost at the same time.
        if ends and (alive <= 1 or step >= limit_steps[w]):
            over[w] = True
            truncated[w] = alive > 1


@compiled
def write_observations(tick, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_gun, ship_hp, ship_shield, ship_energy,
                       ship_cooldown_end, ship_jam_end, item_alive, item_kind, item_pos, out):  # fmt: skip
    """The 19 numbers of ``league.codec.OBSERVATION`` for every ship, into ``out`` [N, S, 19]; zeros for lost ones."""
    for w in range(ship_alive.shape[0]):
        for i in range(ship_alive.shape[1]):
            if not ship_alive[w, i]:
                for field in range(out.shape[2]):
                    out[w, i, field] = ZERO
                continue
            x, y = ship_pos[w, i, 0], ship_pos[w, i, 1]
            out[w, i, 0] = min(max(ship_vel[w, i, 0] * PER_TOP_SPEED, -ONE), ONE)
            out[w, i, 1] = min(max(ship_vel[w, i, 1] * PER_TOP_SPEED, -ONE), ONE)
            out[w, i, 2] = ship_hp[w, i]
            out[w, i, 3] = ship_shield[w, i]
            out[w, i, 4] = ZERO if ship_jam_end[w, i] > tick[w] else ship_energy[w, i]
            out[w, i, 5] = F(max(ship_cooldown_end[w, i] - tick[w], 0)) * PER_COOLDOWN_TICK
            out[w, i, 6] = min(max((zone_middle[w, 0] - x) * PER_ZONE, -ONE), ONE)
            out[w, i, 7] = min(max((zone_middle[w, 1] - y) * PER_ZONE, -ONE), ONE)
            out[w, i, 8] = zone_radius[w] * PER_ZONE
            alive, best, nearest = 0, -1, FAR_SQUARE
            for j in range(ship_alive.shape[1]):
                if j != i and ship_alive[w, j]:
                    alive += 1
                    dx, dy = ship_pos[w, j, 0] - x, ship_pos[w, j, 1] - y
                    if dx * dx + dy * dy < nearest:
                        best, nearest = j, dx * dx + dy * dy
            out[w, i, 18] = F(alive) * PER_ENEMY
            for field in range(9, 18):
                out[w, i, field] = ZERO
            if best >= 0:
                dx, dy = ship_pos[w, best, 0] - x, ship_pos[w, best, 1] - y
                distance = max(np.sqrt(nearest), F(1e-3))
                unit = ONE / max(distance, NEAR_RANGE)
                out[w, i, 9] = dx * unit
                out[w, i, 10] = dy * unit
                out[w, i, 11] = min(max(ship_vel[w, best, 0] * PER_TOP_SPEED, -ONE), ONE)
                out[w, i, 12] = min(max(ship_vel[w, best, 1] * PER_TOP_SPEED, -ONE), ONE)
                out[w, i, 13] = ship_hp[w, best] * HP_SHARE + ship_shield[w, best] * SHIELD_SHARE
                out[w, i, 14] = min(max(-(ship_gun[w, best, 0] * dx + ship_gun[w, best, 1] * dy) / distance, -ONE), ONE)
            best, nearest = -1, FAR_SQUARE
            for k in range(item_alive.shape[1]):
                if item_alive[w, k]:
                    dx, dy = item_pos[w, k, 0] - x, item_pos[w, k, 1] - y
                    if dx * dx + dy * dy < nearest:
                        best, nearest = k, dx * dx + dy * dy
            if best >= 0:
                unit = ONE / max(np.sqrt(nearest), NEAR_RANGE)
                out[w, i, 15] = (item_pos[w, best, 0] - x) * unit
                out[w, i, 16] = (item_pos[w, best, 1] - y) * unit
                out[w, i, 17] = F(item_kind[w, best] + 1) * PER_ITEM_KIND
