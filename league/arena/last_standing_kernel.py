"""The compiled heart of last man standing: ``reset`` lays worlds out, ``advance`` moves them, ``observe`` and ``mask`` tell.

Imported only through ``world.kernels``. The argument lists begin with ``last_standing.FIELD_NAMES``.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from league import codec
from league.arena import last_standing_rules as rules
from league.arena.last_standing import signature
from league.arena.last_standing_parts import (
    MIDDLE_X,
    MIDDLE_Y,
    REACH_SQUARE,
    ZONE_RADIUS_AT,
    fire_guns,
    fly_ships,
    move_shots,
    part_ships,
    place_item,
    place_ships,
    settle,
    take_items,
    take_orders,
    write_observations,
)
from league.arena.physics import mix64, uniform

HEAD_BINS = tuple(codec.HEADS.values())
BLOCK = 64
"""Worlds moved together: few enough to stay in the cache through all parts of a step."""


def _reset(
    tick, rng, limit_steps, over, truncated, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_wish, ship_gun,
    ship_hp, ship_shield, ship_energy, ship_cooldown_end, ship_boost_end, ship_jam_end, ship_power_end, ship_reload_end, ship_calm_from,
    ship_ability, death_step, shot_end, shot_pos, shot_vel, shot_damage, item_alive, item_kind, item_pos, item_back, kills,
    shots_fired, items_taken, damage_dealt, damage_taken,
    which, fresh_keys,
):  # fmt: skip
    """Lay out the worlds of ``which`` anew, from their keys, or with ``fresh_keys`` from the next key of their own streams."""
    for w in range(tick.shape[0]):
        if not which[w]:
            continue
        if fresh_keys:
            rng[w, 0] = mix64(rng[w, 0] + np.uint64(0xD1B54A32D192ED03))
        rng[w, 1] = 0
        tick[w] = 0
        over[w] = False
        truncated[w] = False
        zone_middle[w, 0] = MIDDLE_X + uniform(rng, w, -rules.ZONE_OFFSET[0], rules.ZONE_OFFSET[0])
        zone_middle[w, 1] = MIDDLE_Y + uniform(rng, w, -rules.ZONE_OFFSET[1], rules.ZONE_OFFSET[1])
        zone_radius[w] = ZONE_RADIUS_AT[0]
        place_ships(rng, ship_pos, ship_gun, w)
        for i in range(ship_alive.shape[1]):
            ship_alive[w, i] = True
            ship_hp[w, i] = 1.0
            ship_shield[w, i] = 1.0
            ship_energy[w, i] = 1.0
            ship_cooldown_end[w, i] = 0
            ship_boost_end[w, i] = 0
            ship_jam_end[w, i] = 0
            ship_power_end[w, i] = 0
            ship_reload_end[w, i] = 0
            ship_calm_from[w, i] = 0
            ship_ability[w, i] = 0
            death_step[w, i] = 0
            kills[w, i] = 0
            shots_fired[w, i] = 0
            items_taken[w, i] = 0
            damage_dealt[w, i] = 0.0
            damage_taken[w, i] = 0.0
            for axis in range(2):
                ship_vel[w, i, axis] = 0.0
                ship_wish[w, i, axis] = 0.0
        for p in range(shot_end.shape[1]):
            shot_end[w, p] = 0
        for k in range(item_alive.shape[1]):
            place_item(rng, zone_middle, zone_radius, item_alive, item_kind, item_pos, w, k)


def _advance(
    tick, rng, limit_steps, over, truncated, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_wish, ship_gun,
    ship_hp, ship_shield, ship_energy, ship_cooldown_end, ship_boost_end, ship_jam_end, ship_power_end, ship_reload_end, ship_calm_from,
    ship_ability, death_step, shot_end, shot_pos, shot_vel, shot_damage, item_alive, item_kind, item_pos, item_back, kills,
    shots_fired, items_taken, damage_dealt, damage_taken,
    actions, steps,
):  # fmt: skip
    """Move every world that is not over by ``steps`` steps of 1/60 s; actions are taken up at every third."""
    worlds = tick.shape[0]
    for begin in range(0, worlds, BLOCK):
        end = min(begin + BLOCK, worlds)
        for _ in range(steps):
            take_orders(tick, over, ship_alive, ship_pos, ship_vel, ship_wish, ship_gun, ship_shield, ship_cooldown_end,
                        ship_boost_end, ship_jam_end, ship_ability, actions, begin, end)  # fmt: skip
            fire_guns(tick, over, ship_alive, ship_pos, ship_gun, ship_energy, ship_jam_end, ship_power_end, ship_reload_end,
                      ship_calm_from, shot_end, shot_pos, shot_vel, shot_damage, shots_fired, actions, begin, end)  # fmt: skip
            take_items(tick, rng, over, ship_alive, ship_pos, ship_hp, ship_shield, ship_energy, ship_power_end, item_alive,
                       item_kind, item_pos, item_back, items_taken, actions, begin, end)  # fmt: skip
            fly_ships(tick, over, ship_alive, ship_pos, ship_vel, ship_wish, ship_shield, ship_energy, ship_boost_end,
                      ship_calm_from, begin, end)  # fmt: skip
            part_ships(over, ship_alive, ship_pos, ship_vel, begin, end)
            move_shots(tick, over, ship_alive, ship_pos, ship_hp, ship_shield, ship_calm_from, shot_end, shot_pos, shot_vel, shot_damage,
                       kills, damage_dealt, damage_taken, begin, end)  # fmt: skip
            settle(tick, rng, limit_steps, over, truncated, zone_middle, zone_radius, ship_alive, ship_pos, ship_hp, death_step,
                   item_alive, item_kind, item_pos, item_back, damage_taken, begin, end)  # fmt: skip


def _observe(
    tick, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_gun, ship_hp, ship_shield, ship_energy, ship_cooldown_end,
    ship_jam_end, item_alive, item_kind, item_pos, out,
):  # fmt: skip
    """Observations of all ships into ``out`` [N, S, 19]; zeros for lost ones."""
    write_observations(tick, zone_middle, zone_radius, ship_alive, ship_pos, ship_vel, ship_gun, ship_hp, ship_shield, ship_energy,
                       ship_cooldown_end, ship_jam_end, item_alive, item_kind, item_pos, out)  # fmt: skip


def _decode(bins, width, low, out):
    """Bin indices to numbers: ``out = bins * width + low`` along the last axis. False when an index is outside 0 .. ``bins``."""
    right = True
    for w in range(bins.shape[0]):
        for i in range(bins.shape[1]):
            for head in range(bins.shape[2]):
                right = right and 0 <= bins[w, i, head] < HEAD_BINS[head]
                out[w, i, head] = np.float32(bins[w, i, head]) * width[head] + low[head]
    return right


def _mask(tick, over, ship_alive, ship_pos, ship_energy, ship_cooldown_end, ship_jam_end, ship_reload_end, item_alive, item_pos, out):
    """Which heads can have an effect now, into ``out`` [N, S, 7]."""
    for w in range(ship_alive.shape[0]):
        for i in range(ship_alive.shape[1]):
            lives = ship_alive[w, i] and not over[w]
            for head in range(4):
                out[w, i, head] = lives
            ready = ship_reload_end[w, i] <= tick[w] and ship_jam_end[w, i] <= tick[w]
            out[w, i, 4] = lives and ready and ship_energy[w, i] >= rules.SHOT_ENERGY
            out[w, i, 5] = lives and ship_cooldown_end[w, i] <= tick[w]
            near = False
            for k in range(item_alive.shape[1]):
                dx = item_pos[w, k, 0] - ship_pos[w, i, 0]
                dy = item_pos[w, k, 1] - ship_pos[w, i, 1]
                near = near or (item_alive[w, k] and dx * dx + dy * dy <= REACH_SQUARE)
            out[w, i, 6] = lives and near


_STATE, _SEEN, _MASKED, _ = signature()
_ACTIONS = types.Array(types.float32, 3, "C")
_WHICH = types.Array(types.boolean, 1, "C")
_ROW = types.Array(types.float32, 1, "C")
_MASKS = types.Array(types.boolean, 3, "C")
_options = {"cache": True, "error_model": "numpy", "fastmath": False, "nogil": True}
reset = njit(types.void(*_STATE, _WHICH, types.boolean), **_options)(_reset)
advance = njit(types.void(*_STATE, _ACTIONS, types.int64), **_options)(_advance)
observe = njit(types.void(*_SEEN, _ACTIONS), **_options)(_observe)
decode = njit(types.boolean(types.Array(types.int8, 3, "C"), _ROW, _ROW, _ACTIONS), **_options)(_decode)
mask = njit(types.void(*_MASKED, _MASKS), **_options)(_mask)
