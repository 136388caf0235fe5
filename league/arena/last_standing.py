"""Last man standing: 2 to 8 ships, each on its own, in a zone that closes. The league's game.

Ships fly by a wished velocity, turn a gun and fire shots that cost energy. Outside the zone the hull burns; at 48 s the zone is
gone, so nobody can sit it out. Items (heal, shield, power) are picked up by ``interact``. One cooldown is shared by three
abilities: boost, a burst that restores shield and throws enemies away, and a jam that silences guns nearby.

Ships decide 20 times a second; motion and shots run at 60 steps a second in between. The rules are in
``last_standing_kernel``, their numbers in ``last_standing_rules``; this is their front. Legend: N worlds, S ships, P shots
(shot p belongs to ship p // 2), I items. Units: px of the 640x360 picture, y down; s; hp, shield and energy as shares 0..1.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league import codec, privileged
from league.arena import last_standing_rules as rules
from league.arena.world import F32, I8, I32, Bool, kernels

RULES_VERSION: Final = rules.RULES_VERSION
EPISODE_STEPS: Final = rules.EPISODE_STEPS


@dataclass(slots=True)
class LastStandingState:
    """N worlds as plain arrays whose first axis is the world: a snapshot is a copy, one world is a slice."""

    tick: NDArray[np.int64]  # [N] world steps so far (60 a second)
    rng: NDArray[np.uint64]  # [N, 2] key, counter
    limit_steps: I32  # [N] actions after which the episode is cut
    over: Bool  # [N] at most one ship is left, or the limit is reached; nothing moves any more
    truncated: Bool  # [N] over by the limit
    zone_middle: F32  # [N, 2]
    zone_radius: F32  # [N] px
    ship_alive: Bool  # [N, S]
    ship_pos: F32  # [N, S, 2]
    ship_vel: F32  # [N, S, 2] px/s
    ship_wish: F32  # [N, S, 2] wished velocity as a share of top speed
    ship_gun: F32  # [N, S, 2] unit vector along the gun
    ship_hp: F32  # [N, S]
    ship_shield: F32  # [N, S]
    ship_energy: F32  # [N, S]
    ship_cooldown_end: I32  # [N, S] tick from which an ability can be used
    ship_boost_end: I32  # [N, S] tick at which the boost ends
    ship_jam_end: I32  # [N, S] tick from which it can fire again
    ship_power_end: I32  # [N, S] tick until which its shots are stronger
    ship_reload_end: I32  # [N, S] tick from which it can fire again
    ship_calm_from: I32  # [N, S] tick at which it was last hit or fired
    ship_ability: I8  # [N, S] ability used by the last action, 0 none
    death_step: I32  # [N, S] action (from 1) within which it was lost, 0 while it lives
    shot_end: I32  # [N, P] tick at which it is gone; one that is past: there is none
    shot_pos: F32  # [N, P, 2]
    shot_vel: F32  # [N, P, 2] px/s
    shot_damage: F32  # [N, P] hit points
    item_alive: Bool  # [N, I]
    item_kind: I8  # [N, I] 0 heal, 1 shield, 2 power
    item_pos: F32  # [N, I, 2]
    item_back: I32  # [N, I] while it is gone: tick at which the next appears
    kills: I32  # [N, S] by shots
    shots_fired: I32  # [N, S]
    items_taken: I32  # [N, S]
    damage_dealt: F32  # [N, S] in hundreds of hit points
    damage_taken: F32  # [N, S] the same unit, the zone's included

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def ships(self) -> int:
        return self.ship_alive.shape[1]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays in the order of the fields: what compiled kernels take."""
        return _all_arrays(self)

    def copy(self) -> LastStandingState:
        return LastStandingState(*(array.copy() for array in self.arrays()))

    def world(self, i: int) -> LastStandingState:
        """World ``i`` alone, as a copy with N = 1."""
        return LastStandingState(*(array[i : i + 1].copy() for array in self.arrays()))

    def build_observation(self, out: F32 | None = None) -> F32:
        """``build_observation`` of this state."""
        return build_observation(self, out)


FIELD_NAMES: Final = tuple(f.name for f in fields(LastStandingState))
_all_arrays: Final = operator.attrgetter(*FIELD_NAMES)
SEEN: Final = (
    "tick", "zone_middle", "zone_radius", "ship_alive", "ship_pos", "ship_vel", "ship_gun", "ship_hp", "ship_shield", "ship_energy",
    "ship_cooldown_end", "ship_jam_end", "item_alive", "item_kind", "item_pos",
)  # fmt: skip
MASKED: Final = (
    "tick", "over", "ship_alive", "ship_pos", "ship_energy", "ship_cooldown_end", "ship_jam_end", "ship_reload_end", "item_alive",
    "item_pos",
)  # fmt: skip
HIDDEN: Final = (
    "tick", "zone_middle", "zone_radius", "ship_alive", "ship_pos", "ship_vel", "ship_gun", "ship_hp", "ship_shield", "ship_energy",
    "ship_cooldown_end", "ship_boost_end", "ship_jam_end", "ship_power_end", "ship_reload_end", "shot_end", "shot_pos", "shot_vel",
    "shot_damage",
)  # fmt: skip
_seen_arrays: Final = operator.attrgetter(*SEEN)
_hidden_arrays: Final = operator.attrgetter(*HIDDEN)
_masked_arrays: Final = operator.attrgetter(*MASKED)
_DTYPES: Final = {"NDArray[np.int64]": np.int64, "NDArray[np.uint64]": np.uint64, "I32": np.int32, "I8": np.int8, "Bool": np.bool_}
_PER_WORLD: Final = frozenset({"tick", "limit_steps", "over", "truncated", "zone_radius"})


def _shape(name: str, n: int, ships: int) -> tuple[int, ...]:
    if name in _PER_WORLD:
        return (n,)
    if name in ("rng", "zone_middle"):
        return (n, 2)
    many = {"shot": ships * rules.SHOTS_PER_SHIP, "item": rules.ITEMS}.get(name.split("_")[0], ships)
    if name in ("shots_fired", "items_taken"):
        many = ships
    return (n, many, 2) if name.endswith(("_pos", "_vel", "_wish", "_gun")) else (n, many)


def _empty(n: int, ships: int) -> LastStandingState:
    columns: dict[str, NDArray[Any]] = {}
    for f in fields(LastStandingState):
        columns[f.name] = np.zeros(_shape(f.name, n, ships), _DTYPES.get(str(f.type), np.float32))
    return LastStandingState(**columns)


def signature() -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The numba types of all arrays, of those that are seen, that masks need and that privileged numbers need. Imports numba."""
    from numba import from_dtype, types

    kinds = {name: types.Array(from_dtype(a.dtype), a.ndim, "C") for name, a in zip(FIELD_NAMES, _empty(1, 2).arrays(), strict=True)}
    seen, masked, hidden = (tuple(kinds[name] for name in names) for names in (SEEN, MASKED, HIDDEN))
    return tuple(kinds.values()), seen, masked, hidden


def _keys(n: int, seeds: NDArray[Any] | list[int]) -> NDArray[np.uint64]:
    keys = np.asarray(seeds)
    if keys.shape != (n,) or not np.issubdtype(keys.dtype, np.integer):
        raise ValueError(f"last man standing: seeds must be {n} integers, one per world; got {keys.dtype} of shape {keys.shape}")
    return keys if keys.dtype == np.uint64 else keys.astype(np.int64).view(np.uint64)


def new_worlds(n: int, seeds: NDArray[Any] | list[int], ships: int = 4, episode_steps: int = EPISODE_STEPS) -> LastStandingState:
    """``n`` fresh worlds of ``ships`` ships (2 to 8), one seed (a 64-bit integer) each, cut after ``episode_steps`` actions.

    The same seed gives the same world whatever ``n`` is. Raises ValueError when numbers or seeds do not fit.
    """
    if n < 1:
        raise ValueError(f"last man standing: {n} worlds asked; at least 1 is needed")
    if not rules.FEWEST_SHIPS <= ships <= rules.MOST_SHIPS:
        raise ValueError(f"last man standing: {ships} ships asked; {rules.FEWEST_SHIPS} to {rules.MOST_SHIPS} can play")
    if episode_steps < 1:
        raise ValueError(f"last man standing: an episode of {episode_steps} steps; at least 1 is needed")
    state = _empty(n, ships)
    state.rng[:, 0] = _keys(n, seeds)
    state.limit_steps[:] = episode_steps
    kernels("last_standing_kernel").reset(*state.arrays(), np.ones(n, np.bool_), False)
    return state


def reset(state: LastStandingState, which: NDArray[Any], seeds: NDArray[Any] | list[int] | None = None) -> None:
    """Begin a new episode in the worlds of ``which`` (bool [N]), in place; the others are not touched.

    ``seeds``: one integer per world reset, in their order. None: each world draws its next seed from its own last one, so a batch
    that resets itself is still the same for the same first seeds. Raises ValueError on a wrong shape.
    """
    chosen = np.ascontiguousarray(which, np.bool_)
    if chosen.shape != (len(state),):
        raise ValueError(f"last man standing: a mask of {len(state)} worlds is needed; got {chosen.shape}")
    if seeds is not None:
        state.rng[chosen, 0] = _keys(int(chosen.sum()), seeds)
    kernels("last_standing_kernel").reset(*state.arrays(), chosen, seeds is None)


def as_actions(state: LastStandingState, actions: NDArray[Any]) -> F32:
    """Actions float32 [N, S, 7] from bin indices (integers) or numbers. Raises ValueError on a wrong shape or number."""
    given = np.asarray(actions)
    shape = (len(state), state.ships, len(codec.HEADS))
    if given.shape != shape:
        raise ValueError(f"last man standing: actions must have shape {shape}; got {given.shape}")
    if np.issubdtype(given.dtype, np.integer):
        if given.dtype != np.int8:
            return codec.decode(given)
        values = np.empty(shape, np.float32)
        if not kernels("last_standing_kernel").decode(np.ascontiguousarray(given), codec.WIDTH, codec.LOW, values):
            raise ValueError(f"last man standing: action indices are not within 0 and the bins of {codec.HEADS}")
        return values
    values = np.ascontiguousarray(given, np.float32)
    # Written so that a number that is not one fails too.
    if not ((values >= codec.LOW) & (values <= codec.HIGH)).all():
        raise ValueError("last man standing: actions must be within -1..1, buttons within 0..1 and abilities 0 to 3")
    return values


def advance(state: LastStandingState, actions: NDArray[Any], world_steps: int) -> None:
    """Move every world by ``world_steps`` steps of 1/60 s, in place; an action is taken up at every third of them.

    actions: integers [N, S, 7] (bin indices) or floats [N, S, 7] (in the order of ``codec.HEADS``; ability 0 to 3, buttons
    pressed above 0.5). Lost ships' actions and worlds that are over are ignored.
    """
    if world_steps < 0:
        raise ValueError(f"last man standing: {world_steps} world steps; time does not run backwards")
    kernels("last_standing_kernel").advance(*state.arrays(), as_actions(state, actions), world_steps)


def step(state: LastStandingState, actions: NDArray[Any]) -> None:
    """One action of every ship: ``advance`` by 1/20 s."""
    advance(state, actions, rules.STEPS_PER_ACTION)


def build_observation(state: LastStandingState, out: F32 | None = None) -> F32:
    """float32 [N, S, 19] as told by ``codec.OBSERVATION``; zeros for lost ships. Written into ``out`` where that is given."""
    if out is None:
        out = np.empty((len(state), state.ships, codec.OBSERVATION_SIZE), np.float32)
    kernels("last_standing_kernel").observe(*_seen_arrays(state), out)
    return out


def build_told(state: LastStandingState, which: NDArray[Any] | None = None, out: F32 | None = None) -> F32:
    """float32 [N, S, 88] as told by ``league.privileged.TOLD``: the observations of all ships, then what they do not see of those in
    ``which`` (bool [N, S]; None: of all, zeros for lost ones). Written into ``out`` where that is given; what it held of others
    beyond the observation stays there.
    """
    shape = (len(state), state.ships)
    if out is None:
        out = np.zeros((*shape, privileged.TOLD_SIZE), np.float32)
    chosen = np.ones(shape, np.bool_) if which is None else np.ascontiguousarray(which, np.bool_)
    if chosen.shape != shape or out.shape != (*shape, privileged.TOLD_SIZE):
        raise ValueError(f"last man standing: {chosen.shape} ships into {out.shape}; {shape} into (..., {privileged.TOLD_SIZE}) are needed")
    build_observation(state, out)
    kernels("last_standing_privileged_kernel").tell(*_hidden_arrays(state), chosen, out)
    return out


def action_masks(state: LastStandingState) -> Bool:
    """bool [N, S, 7]: False where a head of the next action cannot have an effect.

    Lost ships and worlds that are over: all. Fire: reloading, jammed or out of energy. Ability: on cooldown. Interact: no item in
    reach. (True promises nothing: a ship that is jammed in the very same action does not fire.)
    """
    out = np.empty((len(state), state.ships, len(codec.HEADS)), np.bool_)
    kernels("last_standing_kernel").mask(*_masked_arrays(state), out)
    return out


def placements(state: LastStandingState) -> F32:
    """[N, S] places from 1 (best) to S. Ships alive or lost within the same action share the mean of their places."""
    when = np.where(state.death_step == 0, np.iinfo(np.int32).max, state.death_step)
    later = (when[:, None, :] > when[:, :, None]).sum(axis=2)
    same = (when[:, None, :] == when[:, :, None]).sum(axis=2)
    return (later + (same + 1) / 2).astype(np.float32)


def decided(state: LastStandingState) -> Bool:
    """[N, S] whose place is settled: lost ships, and all once the world is over. A lost ship's place never changes again."""
    return ~state.ship_alive | state.over[:, None]


def outcomes(state: LastStandingState) -> F32:
    """[N, S] +1 for the first place, -1 for the last, linear between; ties share, so a world's sum is 0 once it is over.

    0 where nothing is ``decided`` yet. A seat's whole reward: paid in the step that decides it.
    """
    result = 1.0 - 2.0 * (placements(state) - 1.0) / (state.ships - 1)
    return np.where(decided(state), result, 0.0).astype(np.float32)


def payoff(state: LastStandingState) -> F32:
    """[N, S, S] 1 where ship i ranks above ship j, 0.5 where they tie, 0 below; its mean over games is P[i ranks above j]."""
    place = placements(state)
    better = place[:, :, None] < place[:, None, :]
    return (better + 0.5 * (place[:, :, None] == place[:, None, :])).astype(np.float32)
