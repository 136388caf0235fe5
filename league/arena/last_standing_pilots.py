"""Scripted pilots of last man standing: expert, novice and random, over all worlds and seats at once.

They see nothing but the 19 numbers of ``league.codec`` and answer in bin indices, so whatever they do can be imitated from
what a learner sees. Apart from noise they have no memory. Legend: N worlds, K seats that a pilot flies in each; M = N * K.
Offsets in px, velocities in px/s, x to the right, y down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing_rules as rules
from league.arena.last_standing import LastStandingState, build_observation, new_worlds, step
from league.codec import BINS, FIELD, HEADS, OBSERVATION_SIZE

F32 = NDArray[np.float32]
Numbers = NDArray[np.floating[Any]]
I8 = NDArray[np.int8]
ANGLES: Final = 720
RANDOM_HOLD_STEPS: Final = 6
NOVICE_NOISE_STEPS: Final = 8
NOVICE_NOISE_RAD: Final = 0.5


def _nearest_bins(bins: int) -> I8:
    """[ANGLES, 2] the pair of bins whose direction is nearest to each angle from -pi on, the longest such pair."""
    values = np.linspace(-1.0, 1.0, bins)
    pairs = [(i, j) for i in range(bins) for j in range(bins) if (i, j) != (bins // 2, bins // 2)]
    pairs.sort(key=lambda p: -(values[p[0]] ** 2 + values[p[1]] ** 2))
    direction = np.array([math.atan2(values[j], values[i]) for i, j in pairs])
    angle = -np.pi + (np.arange(ANGLES) + 0.5) * (2 * np.pi / ANGLES)
    apart = np.abs((angle[:, None] - direction[None, :] + np.pi) % (2 * np.pi) - np.pi)
    return np.array(pairs, np.int8)[np.argmin(np.round(apart, 9), axis=1)]


AIM_BINS: Final = _nearest_bins(HEADS["aim_x"])
MOVE_BINS: Final = _nearest_bins(HEADS["move_x"])


def direction_bins(x: Numbers, y: Numbers, table: I8) -> I8:
    """[..., 2] bins of the direction nearest to (x, y) in ``AIM_BINS`` or ``MOVE_BINS``."""
    part = (np.arctan2(y, x) + np.pi) * (ANGLES / (2 * np.pi))
    return table[part.astype(np.int32) % ANGLES]


class Dice:
    """Random numbers by (world's seed, step, seat, draw): no world's draws depend on how many others there are."""

    def __init__(self, seeds: NDArray[Any], steps: NDArray[np.int64], seats: int) -> None:
        lanes = np.arange(seats, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03)
        self.keys = _mix(seeds.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))[:, None] + lanes[None, :]
        self.steps = steps

    def uniform(self, draw: int, hold: int = 1) -> F32:
        """float32 [M] in [0, 1), the same for ``hold`` steps."""
        steps = (self.steps // hold).astype(np.uint64) * np.uint64(64) + np.uint64(draw)
        bits = _mix(self.keys + steps[:, None] * np.uint64(0x9E3779B97F4A7C15))
        return ((bits >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)).reshape(-1)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class View:
    """The 19 numbers of M ships, in px and px/s, by name."""

    def __init__(self, observation: F32) -> None:
        numbers = np.ascontiguousarray(observation.reshape(-1, OBSERVATION_SIZE).T)
        for name, row in FIELD.items():
            setattr(self, name, numbers[row])
        self.zone_x, self.zone_y = self.zone_dx * rules.ZONE_RADIUS[0], self.zone_dy * rules.ZONE_RADIUS[0]
        self.zone_away = np.hypot(self.zone_x, self.zone_y)
        self.zone_left = self.zone_radius * rules.ZONE_RADIUS[0] - self.zone_away
        self.enemy_x, self.enemy_y = self.enemy_dx * rules.NEAR_RANGE, self.enemy_dy * rules.NEAR_RANGE
        self.enemy_away = np.where(self.enemies_alive > 0, np.hypot(self.enemy_x, self.enemy_y), 1e3).astype(np.float32)
        self.item_x, self.item_y = self.item_dx * rules.NEAR_RANGE, self.item_dy * rules.NEAR_RANGE
        self.item_away = np.where(self.item_kind > 0, np.hypot(self.item_x, self.item_y), 1e3).astype(np.float32)
        self.health = (self.self_hp * rules.HP + self.self_shield * rules.SHIELD) / (rules.HP + rules.SHIELD)

    self_vx: Numbers
    self_vy: Numbers
    self_hp: Numbers
    self_shield: Numbers
    self_energy: Numbers
    self_cooldown: Numbers
    zone_dx: Numbers
    zone_dy: Numbers
    zone_radius: Numbers
    enemy_dx: Numbers
    enemy_dy: Numbers
    enemy_vx: Numbers
    enemy_vy: Numbers
    enemy_health: Numbers
    enemy_aim: Numbers
    item_dx: Numbers
    item_dy: Numbers
    item_kind: Numbers
    enemies_alive: Numbers


def expert(view: View, dice: Dice) -> I8:
    """Circles at gun's range, leads its aim, saves energy, is inside before the zone closes, fetches what it lacks, and spends its
    ability on what matters most."""
    out = np.zeros((len(view.self_hp), len(HEADS)), np.int8)
    flight_s = view.enemy_away / rules.SHOT_SPEED
    lead_x = view.enemy_x + view.enemy_vx * rules.TOP_SPEED * flight_s
    lead_y = view.enemy_y + view.enemy_vy * rules.TOP_SPEED * flight_s
    out[:, 2:4] = direction_bins(lead_x, lead_y, AIM_BINS)
    out[:, 4] = (np.hypot(lead_x, lead_y) < 150.0) | ((view.self_energy > 0.8) & (view.enemy_away < 185.0))

    unit_x, unit_y = view.enemy_x / view.enemy_away, view.enemy_y / view.enemy_away
    wanted = np.where(view.health > view.enemy_health + 0.1, 85.0, 125.0)
    wanted = np.where(view.self_energy < 0.16, 210.0, wanted)
    # The more others there are, the better it is to let them fight.
    wanted = np.where((view.enemies_alive > 1.5 / 7) & (view.health < 0.6), 190.0, wanted)
    nearer = np.clip((view.enemy_away - wanted) / 45.0, -1.0, 1.0)
    spin = unit_x * view.self_vy - unit_y * view.self_vx
    side = np.where(np.abs(spin) > 0.1, np.sign(spin), np.where(dice.uniform(0, 40) < 0.5, -1.0, 1.0))
    go_x, go_y = unit_x * nearer - unit_y * side * 0.8, unit_y * nearer + unit_x * side * 0.8

    heal, shield = np.abs(view.item_kind - 1 / 3) < 0.1, np.abs(view.item_kind - 2 / 3) < 0.1
    need = np.where(heal, 1.4 * (1.0 - view.self_hp), np.where(shield, 0.9 * (1.0 - view.self_shield), 0.55))
    pull = np.where(view.item_away < 260.0, need * 2.2 * np.clip(1.3 - view.item_away / 220.0, 0.0, 1.0), 0.0)
    go_x += pull * view.item_x / view.item_away
    go_y += pull * view.item_y / view.item_away

    inwards = 3.0 * np.clip((40.0 - view.zone_left) / 40.0, 0.0, 1.0) * np.minimum(view.zone_away / 12.0, 1.0)
    away = np.maximum(view.zone_away, 1.0)
    go_x += inwards * view.zone_x / away
    go_y += inwards * view.zone_y / away
    out[:, 0:2] = direction_bins(go_x, go_y, MOVE_BINS)

    threat = (view.enemy_away < 170.0) & (view.enemy_aim > 0.9)
    ability = np.where((view.enemy_away < 130.0) & threat, rules.JAM, rules.NO_ABILITY)
    ability = np.where((view.self_shield < 0.5) & (threat | (view.enemy_away < rules.BURST_REACH)), rules.BURST, ability)
    ability = np.where((view.zone_left < -30.0) & (view.zone_away > 60.0), rules.BOOST, ability)
    out[:, 5] = np.where(view.self_cooldown <= 0.0, ability, rules.NO_ABILITY)
    out[:, 6] = view.item_away < rules.ITEM_REACH
    return out


def novice(view: View, dice: Dice) -> I8:
    """Flies straight at the enemy, aims where it is with an unsteady hand, fires whenever it sees it, minds the zone once it hurts,
    takes what lies on its way and presses abilities by chance."""
    out = np.zeros((len(view.self_hp), len(HEADS)), np.int8)
    off = (dice.uniform(0, NOVICE_NOISE_STEPS) - 0.5) * (2 * NOVICE_NOISE_RAD)
    angle = np.arctan2(view.enemy_y, view.enemy_x) + off
    out[:, 2:4] = direction_bins(np.cos(angle), np.sin(angle), AIM_BINS)
    out[:, 4] = (view.enemy_away < 260.0) & (dice.uniform(1, 3) < 0.8)
    hunts = (view.enemy_away < 230.0) | (view.enemies_alive < 1.5 / 7)
    flees = (view.health < 0.3) & (view.enemy_health > view.health) & (view.enemy_away < 200.0)
    sign = np.where(flees, -1.0, 1.0)
    go_x, go_y = np.where(hunts, sign * view.enemy_x, view.zone_x), np.where(hunts, sign * view.enemy_y, view.zone_y)
    fetch = (view.item_away < 90.0) & (view.item_away < view.enemy_away)
    go_x[fetch], go_y[fetch] = view.item_x[fetch], view.item_y[fetch]
    outside = view.zone_left < 0.0
    go_x[outside], go_y[outside] = view.zone_x[outside], view.zone_y[outside]
    out[:, 0:2] = direction_bins(go_x, go_y, MOVE_BINS)
    rests = (view.enemy_away < 70.0) & ~fetch & ~outside & ~flees
    out[rests, 0:2] = 1
    out[:, 5] = np.where(dice.uniform(2) < 0.02, 1 + (dice.uniform(3) * 3).astype(np.int8), 0)
    out[:, 6] = view.item_away < rules.ITEM_REACH
    return out


def random_hand(view: View, dice: Dice) -> I8:
    """Every head at random, held for a while."""
    draws = np.stack([dice.uniform(head, RANDOM_HOLD_STEPS) for head in range(len(HEADS))], axis=1)
    return np.minimum((draws * BINS).astype(np.int8), BINS - 1)


PILOTS: Final[dict[str, Callable[[View, Dice], I8]]] = {"expert": expert, "novice": novice, "random": random_hand}


@dataclass(slots=True)
class LastStandingPilot:
    """One script in the same seats of N worlds. ``act`` counts the steps that its noise depends on."""

    name: str
    seeds: NDArray[np.uint64]  # [N]
    steps: NDArray[np.int64]  # [N] since each world's reset

    def act(self, observation: F32) -> I8:
        """Bin indices int8 [N, K, 7] for observations float32 [N, K, 19]. Raises ValueError on a wrong shape."""
        shape = observation.shape
        if len(shape) != 3 or shape[0] != len(self.seeds) or shape[2] != OBSERVATION_SIZE:
            raise ValueError(f"pilot: observations must have shape ({len(self.seeds)}, seats, {OBSERVATION_SIZE}); got {shape}")
        out = PILOTS[self.name](View(observation), Dice(self.seeds, self.steps, shape[1]))
        self.steps += 1
        return out.reshape(shape[0], shape[1], len(HEADS))

    def reset(self, which: NDArray[np.bool_], seeds: NDArray[Any] | None = None) -> None:
        """New episodes in the worlds of ``which`` (bool [N]), with ``seeds`` [its sum] or seeds drawn from the last ones."""
        self.steps[which] = 0
        self.seeds[which] = _mix(self.seeds[which] + np.uint64(1)) if seeds is None else _as_keys(seeds)


def _as_keys(seeds: NDArray[Any] | list[int]) -> NDArray[np.uint64]:
    keys = np.array(seeds)
    return keys if keys.dtype == np.uint64 else keys.astype(np.int64).view(np.uint64)


def make_pilot(name: str, seeds: NDArray[Any] | list[int]) -> LastStandingPilot:
    """A pilot for ``len(seeds)`` worlds. Raises ValueError for an unknown name."""
    if name not in PILOTS:
        raise ValueError(f"pilot {name!r}; use one of {', '.join(PILOTS)}")
    return LastStandingPilot(name, _as_keys(seeds), np.zeros(len(seeds), np.int64))


def seats_of(worlds: int, ships: int) -> NDArray[np.int64]:
    """[worlds, ships] the seat of each player: players move on by one seat from world to world, so that none has a place of its own."""
    return (np.arange(ships)[None, :] + np.arange(worlds)[:, None]) % ships


def play(players: Sequence[str], seeds: NDArray[Any] | list[int], steps: int = rules.EPISODE_STEPS) -> LastStandingState:
    """One episode in each of ``len(seeds)`` worlds among ``players`` (2 to 8 names); player k sits where ``seats_of`` says."""
    keys = _as_keys(seeds)
    state = new_worlds(len(keys), keys, len(players), steps)
    seats = seats_of(len(keys), len(players))
    rows = np.arange(len(keys))[:, None]
    groups = [(make_pilot(name, keys), seats[:, [k for k, n in enumerate(players) if n == name]]) for name in dict.fromkeys(players)]
    actions = np.zeros((len(keys), len(players), len(HEADS)), np.int8)
    while not state.over.all():
        observation = build_observation(state)
        for pilot, taken in groups:
            actions[rows, taken] = pilot.act(observation[rows, taken])
        step(state, actions)
    return state
