"""The compiled parts of skirmish: how ships enter, what clicks and keys do, what shots and blasts hit.

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
    add_fx,
    clamp,
    compiled,
    damage_ship,
    home_in,
    new_serial,
    rock_at,
    uniform,
)
from league.arena.sizes import CLICK_MARGIN_PX, SHIP_BOX_PX
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
def place_rocks(rng, map_kind, rock_pos, rock_radius, w):
    """Map 0, the field: five large rocks apart from one another. Map 1, the belt: nine small ones in a winding row that parts
    the map, with gaps to fly through."""
    count = rock_pos.shape[1]
    if map_kind[w] == 1:
        phase = uniform(rng, w, 0.0, 2.0 * math.pi)
        swing = uniform(rng, w, 45.0, 80.0)
        for r in range(count):
            along = (r + 0.5) / count
            rock_radius[w, r] = uniform(rng, w, 11.0, 16.0)
            rock_pos[w, r, 0] = LEFT + 30.0 + along * (RIGHT - LEFT - 60.0) + uniform(rng, w, -8.0, 8.0)
            middle = (TOP + BOTTOM) / 2.0 + swing * math.sin(phase + along * 2.0 * math.pi)
            rock_pos[w, r, 1] = clamp(middle + uniform(rng, w, -10.0, 10.0), TOP + 45.0, BOTTOM - 45.0)
        return
    for r in range(count):
        if r >= 5:
            rock_radius[w, r] = 0.0
            rock_pos[w, r, 0] = -1000.0
            rock_pos[w, r, 1] = -1000.0
            continue
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


@compiled
def border_spot(rng, ship_pos, w, radius, along, side, x_out):
    """A place at the border, into ``x_out[0:2]``: ``along`` 0..1 of side 0 left, 1 right, 2 top, 3 bottom."""
    x = LEFT + radius + along * (RIGHT - LEFT - 2.0 * radius)
    y = TOP + radius + along * (BOTTOM - TOP - 2.0 * radius)
    if side == 0:
        x = LEFT + radius
    elif side == 1:
        x = RIGHT - radius
    elif side == 2:
        y = TOP + radius
    else:
        y = BOTTOM - radius
    x_out[0] = x
    x_out[1] = y
    return math.hypot(x - ship_pos[w, 0, 0], y - ship_pos[w, 0, 1])


@compiled
def enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
              ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, w, i, kind, x, y):  # fmt: skip
    """Bring an NPC in at (x, y), whole."""
    ship_pos[w, i, 0] = x
    ship_pos[w, i, 1] = y
    ship_alive[w, i] = True
    ship_kind[w, i] = kind
    ship_serial[w, i] = new_serial(next_serial, w)
    ship_vel[w, i, 0] = 0.0
    ship_vel[w, i, 1] = 0.0
    ship_has_dest[w, i] = False
    ship_hp[w, i] = 1.0
    ship_shield[w, i] = 1.0 if rules.SHIELD[kind] > 0.0 else 0.0
    ship_jammed_s[w, i] = 0.0
    ship_calm_s[w, i] = 0.0
    ship_reload_s[w, i] = uniform(rng, w, 0.3, rules.RELOAD_S[kind])
    npc_angry[w, i] = False
    npc_anger_s[w, i] = 0.0
    npc_timer_s[w, i] = 0.0
    npc_side[w, i] = 1.0 if uniform(rng, w, 0.0, 1.0) < 0.5 else -1.0


@compiled
def enter_wave(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
               ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, rock_pos, rock_radius,
               spot, w, from_border):  # fmt: skip
    """A wave: side by side from one border, the one away from the player if that can be had; or, at the start of an episode,
    already about in a loose group."""
    size = int(uniform(rng, w, rules.WAVE_SIZE[0], rules.WAVE_SIZE[1] + 0.999))
    side, middle = 0, 0.5
    for _ in range(6):
        side = int(uniform(rng, w, 0.0, 3.999))
        middle = uniform(rng, w, 0.25, 0.75)
        if border_spot(rng, ship_pos, w, 12.0, middle, side, spot) > 220.0:
            break
    length = (BOTTOM - TOP) if side <= 1 else (RIGHT - LEFT)
    centre_x, centre_y = 0.0, 0.0
    if not from_border:
        for _ in range(30):
            free_spot(rng, w, rock_pos, rock_radius, 40.0, spot)
            centre_x, centre_y = spot[0], spot[1]
            if math.hypot(centre_x - ship_pos[w, 0, 0], centre_y - ship_pos[w, 0, 1]) > 230.0:
                break
    menders, bombers, placed = 0, 0, 0
    for i in range(1, ship_alive.shape[1] - 1):
        if ship_alive[w, i] or placed >= size:
            continue
        draw = uniform(rng, w, 0.0, 1.0)
        kind = rules.DRONE
        for candidate in range(rules.DRONE, rules.HUNTER):
            kind = candidate
            draw -= rules.KIND_SHARES[candidate]
            if draw < 0.0:
                break
        if (kind == rules.MENDER and menders >= rules.MOST_MENDERS) or (kind == rules.BOMBER and bombers >= rules.MOST_BOMBERS):
            kind = rules.DRONE
        menders += 1 if kind == rules.MENDER else 0
        bombers += 1 if kind == rules.BOMBER else 0
        if from_border:
            shift = (placed - (size - 1) / 2.0) * rules.WAVE_SPACING / length
            border_spot(rng, ship_pos, w, rules.RADIUS[kind], clamp(middle + shift, 0.0, 1.0), side, spot)
        else:
            for _ in range(20):
                spot[0] = clamp(centre_x + uniform(rng, w, -80.0, 80.0), LEFT + 15.0, RIGHT - 15.0)
                spot[1] = clamp(centre_y + uniform(rng, w, -80.0, 80.0), TOP + 15.0, BOTTOM - 15.0)
                if rock_at(rock_pos, rock_radius, w, spot[0], spot[1], 16.0) < 0:
                    break
        enter_npc(rng, next_serial, ship_alive, ship_kind, ship_serial, ship_pos, ship_vel, ship_has_dest, ship_hp, ship_shield,
                  ship_jammed_s, ship_reload_s, ship_calm_s, npc_angry, npc_anger_s, npc_timer_s, npc_side, w, i, kind,
                  spot[0], spot[1])  # fmt: skip
        placed += 1


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
               ship_firing, loot_alive, loot_kind, loot_pos, rock_pos, rock_radius, w, x, y):  # fmt: skip
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
        reach = rules.LOOT_CLICK[loot_kind[w, k]]
        if loot_alive[w, k] and math.hypot(loot_pos[w, k, 0] - x, loot_pos[w, k, 1] - y) <= reach:
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
        if key - 1 != rules.HEAVY or ship_heavy[w, 0] >= rules.HEAVY_SHOT:
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
def hurt(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
         ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken, damage_dealt, w, i, by, amount,
         on_shield):  # fmt: skip
    """Ship ``i`` is hit by ``by`` (-1: nobody): damage, what the picture tells of it, and what follows. True when it is lost."""
    kind = ship_kind[w, i]
    taken = damage_ship(ship_hp, ship_shield, w, i, amount, rules.HP[kind], rules.SHIELD[kind], on_shield)
    damage_taken[w, i] += taken / 100.0
    ship_calm_s[w, i] = 0.0
    npc_anger_s[w, i] = 4.0
    if by >= 0:
        damage_dealt[w, by] += taken / 100.0
    if taken >= 0.5:
        what = rules.FX_HURT if i == 0 else rules.FX_HIT
        add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, what, ship_pos[w, i, 0], ship_pos[w, i, 1] - SHIP_BOX_PX[kind] / 2.0, taken)
    if ship_hp[w, i] > 0.0:
        return False
    if by >= 0:
        kills[w, by, kind] += 1
    add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, rules.FX_BLAST, ship_pos[w, i, 0], ship_pos[w, i, 1], SHIP_BOX_PX[kind] * 0.8)
    kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, w, i)
    return True


@compiled
def kill(ship_alive, ship_lock, ship_firing, ship_has_dest, ship_respawn_s, deaths, w, i):
    """A ship is gone: its own lock and every lock on it end."""
    deaths[w, i] += 1
    leave(ship_alive, ship_lock, ship_firing, ship_has_dest, w, i)
    ship_respawn_s[w, i] = rules.PLAYER_RESPAWN_S


@compiled
def leave(ship_alive, ship_lock, ship_firing, ship_has_dest, w, i):
    ship_alive[w, i] = False
    ship_has_dest[w, i] = False
    for j in range(ship_alive.shape[1]):
        if j == i or ship_lock[w, j] == i:
            ship_lock[w, j] = -1
            ship_firing[w, j] = False


@compiled
def burst(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
          ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken, damage_dealt, w, x, y,
          by):  # fmt: skip
    """A bomber's blast at (x, y): the player loses ``BLAST_DAMAGE``, NPCs half of it; who set it off gets the credit."""
    add_fx(fx_kind, fx_pos, fx_value, fx_age_s, w, rules.FX_BLAST, x, y, rules.BLAST_REACH)
    for i in range(ship_alive.shape[1]):
        if not ship_alive[w, i] or ship_kind[w, i] == rules.BOMBER:
            continue
        if math.hypot(ship_pos[w, i, 0] - x, ship_pos[w, i, 1] - y) <= rules.BLAST_REACH:
            amount = rules.BLAST_DAMAGE if i == 0 else rules.BLAST_DAMAGE / 2.0
            hurt(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
                 ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken, damage_dealt, w, i,
                 -1 if i == by else by, amount, 1.0)  # fmt: skip


@compiled
def move_shots(ship_alive, ship_kind, ship_team, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
               ship_respawn_s, ship_calm_s, npc_anger_s, shot_alive, shot_pos, shot_vel, shot_owner, shot_target, shot_damage,
               shot_life_s, shot_kind, rock_pos, rock_radius, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken,
               damage_dealt, w):  # fmt: skip
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
            shot_alive[w, p] = False
            on_shield = rules.ON_SHIELD[shot_kind[w, p]] if owner == 0 else 1.0
            place_x, place_y = ship_pos[w, i, 0], ship_pos[w, i, 1]
            lost = hurt(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest,
                        ship_respawn_s, ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken,
                        damage_dealt, w, i, owner, shot_damage[w, p], on_shield)  # fmt: skip
            if lost and kind == rules.BOMBER:
                burst(ship_alive, ship_kind, ship_pos, ship_hp, ship_shield, ship_lock, ship_firing, ship_has_dest, ship_respawn_s,
                      ship_calm_s, npc_anger_s, fx_kind, fx_pos, fx_value, fx_age_s, kills, deaths, damage_taken, damage_dealt, w,
                      place_x, place_y, owner)  # fmt: skip
            break
