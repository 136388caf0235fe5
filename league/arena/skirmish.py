"""Skirmish: one player's ship against waves of NPCs that each want a tactic of their own, flown by clicks and keys.

Drones are weak, raiders shielded, menders keep the others whole, bombers rush in and burst, and a hunter, too strong to
fight, visits now and then. Crates bring ammo and shield; a cache, worth a detour, is there for a short time.

The rules are in ``skirmish_kernel``; this is their front. Left click on an NPC locks it, on loot or ground flies
there, right click drops the lock. Space or ctrl engages the lock, 1/2/3 choose standard, heavy or piercing ammo, q
repairs the shield, e boosts, r jams enemies nearby. Changing anything that a score depends on changes
``RULES_VERSION``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena.world import STEPS_PER_TICK, WorldState, allocate, kernels

RULES_VERSION: Final = 2
EPISODE_TICKS: Final = 1200
"""20 Hz ticks of one episode: 60 s."""
KEYS: Final = ("space", "ctrl", "1", "2", "3", "q", "e", "r")
"""What the numbers in ``keys`` mean: the order of the arena profile's keys."""
LAYOUT: Final = {"ships": 9, "shots": 32, "loot": 4, "rocks": 9, "portals": 2, "fx": 12}
"""The last ship is the hunter's seat, the last of the loot the cache."""


def new_worlds(n: int, seeds: NDArray[Any] | list[int]) -> WorldState:
    """``n`` fresh worlds, one per seed. The same seed gives the same world whatever ``n`` is."""
    state = allocate(n, np.asarray(seeds), **LAYOUT)
    kernels("skirmish_kernel").reset(*state.arrays())
    return state


def advance(
    state: WorldState,
    clicks: NDArray[Any] | None,
    click_xy: NDArray[Any] | None,
    keys: NDArray[Any] | None,
    world_steps: int,
) -> None:
    """Apply commands, then move every world by ``world_steps`` steps of 1/60 s, in place.

    clicks: int8 [N], 0 none, 1 left, 2 right. click_xy: float32 [N, 2] in 0..1, needed where clicks is not 0. keys:
    int8 [N], index into ``KEYS`` or -1. None stands for no commands. ``world_steps`` may be 0: commands only.
    Raises ValueError on a wrong shape, an unknown command or a place that is not finite.
    """
    n = len(state)
    if world_steps < 0:
        raise ValueError(f"arena: {world_steps} world steps; time does not run backwards")
    no_commands = np.zeros(n, np.int8)
    clicks_n = no_commands if clicks is None else np.ascontiguousarray(clicks, np.int8)
    keys_n = np.full(n, -1, np.int8) if keys is None else np.ascontiguousarray(keys, np.int8)
    xy_n2 = np.zeros((n, 2), np.float32) if click_xy is None else np.ascontiguousarray(click_xy, np.float32)
    if clicks_n.shape != (n,) or keys_n.shape != (n,) or xy_n2.shape != (n, 2):
        raise ValueError(f"arena: commands must be for {n} worlds; got clicks {clicks_n.shape}, xy {xy_n2.shape}, keys {keys_n.shape}")
    if ((clicks_n < 0) | (clicks_n > 2)).any() or ((keys_n < -1) | (keys_n >= len(KEYS))).any():
        raise ValueError(f"arena: a click is 0, 1 or 2 and a key -1 to {len(KEYS) - 1}; got clicks {clicks_n}, keys {keys_n}")
    if not np.isfinite(xy_n2[clicks_n != 0]).all():
        raise ValueError(f"arena: a click needs a place in 0..1; got {xy_n2}")
    kernels("skirmish_kernel").advance(*state.arrays(), clicks_n, xy_n2, keys_n, world_steps)


def step(
    state: WorldState,
    clicks: NDArray[Any] | None,
    click_xy: NDArray[Any] | None,
    keys: NDArray[Any] | None,
    ticks: int = 1,
) -> None:
    """``advance`` by decision ticks of 1/20 s (3 world steps each)."""
    advance(state, clicks, click_xy, keys, ticks * STEPS_PER_TICK)
