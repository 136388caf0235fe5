"""Rows of other programs as the 19 numbers and the seven choices of ``league.codec``.

A row is read into plain numbers by name first (NaN: not told); what unit a field is in is decided for a whole file, since a
single row cannot tell 0.5 px from half a range. The projection, in full:

- 19 numbers in a list are the fields in order. Named numbers go by our names or those of ``ALIASES``, nested or not
  (``self.hp`` and ``self_hp`` are one). Everything else is unknown and only counted.
- A field that somewhere in the file is beyond its range (by more than half) is in the game's units throughout, and is
  divided by ``UNIT``: percent for levels, px and px/s, seconds, numbers of ships, kinds of items from 0 to 3.
- Fields not told are neutral (``NEUTRAL``): a whole ship, full of energy, in the middle of a wide zone, and nobody near.
- An action is seven numbers, or named parts, or a name of ``ACTION_NAMES``. Seven whole numbers that go beyond 1 anywhere
  in the file are bin indices, otherwise they are continuous. Parts not told have no effect (their head is masked).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing_rules as rules
from league.codec import BINS, FIELD, HEAD_NAMES, HEADS, OBSERVATION_HIGH, OBSERVATION_LOW, OBSERVATION_SIZE, encode

BEYOND: Final = 1.5
"""A field with a larger number than this anywhere is in the game's units."""
DEEPEST: Final = 3
NEUTRAL: Final[dict[str, float]] = {"self_hp": 1.0, "self_energy": 1.0, "zone_radius": 1.0}
"""What a field not told is taken as; 0 where nothing is said here."""
UNIT: Final[dict[str, float]] = {
    **dict.fromkeys(("self_vx", "self_vy", "enemy_vx", "enemy_vy"), rules.TOP_SPEED),
    **dict.fromkeys(("self_hp", "self_shield", "self_energy", "enemy_health"), 100.0),
    "self_cooldown": rules.LONGEST_COOLDOWN_S,
    **dict.fromkeys(("zone_dx", "zone_dy", "zone_radius"), rules.ZONE_RADIUS[0]),
    **dict.fromkeys(("enemy_dx", "enemy_dy", "item_dx", "item_dy"), rules.NEAR_RANGE),
    "item_kind": 3.0,
    "enemies_alive": rules.MOST_SHIPS - 1.0,
}
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "self_vx": ("vx", "self_vel_x", "velocity_x"),
    "self_vy": ("vy", "self_vel_y", "velocity_y"),
    "self_hp": ("hp", "health", "self_health", "player_hp", "player_health"),
    "self_shield": ("shield", "player_shield"),
    "self_energy": ("energy", "ammo", "self_ammo", "player_energy"),
    "self_cooldown": ("cooldown", "ability_cooldown", "self_ability_cooldown"),
    "zone_dx": ("zone_center_dx",),
    "zone_dy": ("zone_center_dy",),
    "zone_radius": ("radius", "zone_r"),
    "enemy_dx": ("nearest_enemy_dx", "target_dx"),
    "enemy_dy": ("nearest_enemy_dy", "target_dy"),
    "enemy_vx": ("nearest_enemy_vx", "target_vx"),
    "enemy_vy": ("nearest_enemy_vy", "target_vy"),
    "enemy_health": ("enemy_hp", "nearest_enemy_hp", "nearest_enemy_health", "target_hp"),
    "enemy_aim": ("nearest_enemy_aim", "threat"),
    "item_dx": ("nearest_item_dx", "loot_dx"),
    "item_dy": ("nearest_item_dy", "loot_dy"),
    "item_kind": ("nearest_item_kind", "item_type"),
    "enemies_alive": ("alive_enemies", "enemy_count", "num_enemies", "enemies_left"),
}
_FIELD_OF: Final = {name: FIELD[ours] for ours, names in ALIASES.items() for name in names} | dict(FIELD)
_TOGETHER: Final = tuple(
    tuple(FIELD[name] for name in names)
    for names in (("self_vx", "self_vy"), ("enemy_vx", "enemy_vy"), ("zone_dx", "zone_dy", "zone_radius"))
)
"""Fields that are in one unit."""
_PAIRS: Final = tuple((FIELD[f"{who}_dx"], FIELD[f"{who}_dy"]) for who in ("enemy", "item"))
_PART_OF: Final = {name: i for i, name in enumerate(HEAD_NAMES)} | {
    "moveX": 0, "moveY": 1, "aimX": 2, "aimY": 3, "dx": 0, "dy": 1, "shoot": 4, "attack": 4, "use": 6, "pickup": 6,
    "move_0": 0, "move_1": 1, "aim_0": 2, "aim_1": 3, "ability_id": 5,
}  # fmt: skip
ABILITIES: Final = {"none": 0, "": 0, "boost": 1, "burst": 2, "jam": 3}
ACTION_NAMES: Final[dict[str, dict[int, float]]] = {
    "none": {}, "noop": {}, "idle": {}, "left": {0: -1}, "right": {0: 1}, "up": {1: -1}, "down": {1: 1}, "fire": {4: 1}, "shoot": {4: 1},
    "attack": {4: 1}, "interact": {6: 1}, "pickup": {6: 1}, "boost": {5: 1}, "burst": {5: 2}, "jam": {5: 3},
}  # fmt: skip
"""Actions told by one word: the parts that it sets; all others are idle."""


class NotANumber(ValueError):
    """A number that is told is NaN or infinite: the row cannot be used."""


def number(value: Any) -> float | None:
    """A finite number, or None for what is none. Raises NotANumber for NaN and infinities."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        raise NotANumber from None
    if not math.isfinite(found):
        raise NotANumber
    return found


def read_observation(value: Any, unknown: Counter[str]) -> NDArray[np.float64] | None:
    """float64 [19] with NaN where nothing is told, or None when no field is. Raises NotANumber."""
    found = np.full(OBSERVATION_SIZE, np.nan)
    if isinstance(value, list):
        if len(value) != OBSERVATION_SIZE:
            unknown[f"a list of {len(value)} numbers"] += 1
            return None
        _fill_list(found, value)
    elif isinstance(value, Mapping):
        for name, inner in _flat(value, "", 0):
            index = _FIELD_OF.get(name)
            told = None if index is None else number(inner)
            if index is not None and told is not None and (name in FIELD or math.isnan(found[index])):
                found[index] = told
            else:
                unknown[name[:60]] += 1
    return None if np.isnan(found).all() else found


def _fill_list(found: NDArray[np.float64], values: list[Any]) -> None:
    for i, value in enumerate(values):
        told = number(value)
        if told is not None:
            found[i] = told


def _flat(value: Mapping[Any, Any], prefix: str, depth: int) -> list[tuple[str, Any]]:
    """Names and values, those of nested objects with their parent's name in front; ``move: [x, y]`` gives move_0 and move_1."""
    found: list[tuple[str, Any]] = []
    for key, inner in value.items():
        name = f"{prefix}{key}".lower() if str(key) not in _PART_OF else f"{prefix}{key}"
        if isinstance(inner, Mapping) and depth < DEEPEST:
            found += _flat(inner, f"{name}_", depth + 1)
        elif isinstance(inner, list) and len(inner) == 2:
            found += [(f"{name}_{i}", part) for i, part in enumerate(inner)]
        else:
            found.append((name, inner))
    return found


def finish_observations(told: NDArray[np.float64], notes: list[str]) -> tuple[NDArray[np.float32], Counter[str], int]:
    """Of a whole file [N, 19] with NaN where not told: numbers in range, how often each field was defaulted, and rows clipped.

    ``notes`` gets a line for each field taken to be in the game's units.
    """
    values = told.copy()
    missing: NDArray[np.bool_] = np.isnan(values)
    with np.errstate(invalid="ignore"):
        large = np.any(np.abs(values) > BEYOND, axis=0)
    for name, index in FIELD.items():
        twin = next((group for group in (*_PAIRS, *_TOGETHER) if index in group), (index,))
        if name in UNIT and large[list(twin)].any():
            values[:, index] /= UNIT[name]
            notes.append(f"{name} is in the game's units: divided by {UNIT[name]:g}")
        values[missing[:, index], index] = NEUTRAL.get(name, 0.0)
    for pair in _PAIRS:
        if large[list(pair)].any():  # beyond the range only the direction is told
            values[:, pair] /= np.maximum(1.0, np.hypot(values[:, pair[0]], values[:, pair[1]]))[:, None]
    outside = ((values < OBSERVATION_LOW - 1e-3) | (values > OBSERVATION_HIGH + 1e-3)).any(1)
    defaulted = Counter({name: int(missing[:, i].sum()) for name, i in FIELD.items() if missing[:, i].any()})
    return np.clip(values, OBSERVATION_LOW, OBSERVATION_HIGH).astype(np.float32), defaulted, int(outside.sum())


def read_action(value: Any, unknown: Counter[str]) -> NDArray[np.float64] | None:
    """float64 [7] with NaN where a part is not told, or None for an action that is not known. Raises NotANumber."""
    found = np.full(len(HEADS), np.nan)
    if isinstance(value, str):
        parts = ACTION_NAMES.get(value.lower().removeprefix("move_"))
        if parts is None:
            return None
        found[:] = 0.0
        for part, amount in parts.items():
            found[part] = amount
    elif isinstance(value, list):
        if len(value) != len(HEADS):
            return None
        _fill_list(found, value)
    elif isinstance(value, Mapping):
        _fill_named(found, value, unknown)
    return None if np.isnan(found).all() else found


def _fill_named(found: NDArray[np.float64], value: Mapping[Any, Any], unknown: Counter[str]) -> None:
    for name, inner in _flat(value, "", 0):
        part = _PART_OF.get(name)
        named = part == 5 and (inner is None or isinstance(inner, str))
        told = ABILITIES.get(str(inner or "").lower()) if named else number(inner)
        if part is None or told is None:
            unknown[f"action {name}"[:60]] += 1
        else:
            found[part] = told


def finish_actions(told: NDArray[np.float64], notes: list[str]) -> tuple[NDArray[np.int8], NDArray[np.bool_], NDArray[np.bool_]]:
    """Of a whole file [N, 7] with NaN where not told: bin indices, the mask of the parts told, and rows whose numbers are no action."""
    known: NDArray[np.bool_] = ~np.isnan(told)
    aims = told[:, :4]
    with np.errstate(invalid="ignore"):
        whole = bool((~known | (told == np.rint(told))).all())
        as_bins = whole and bool((aims > 1).any()) and not bool((told < 0).any())
        if as_bins:
            notes.append("actions are bin indices")
            wrong = known & ((told < 0) | (told >= BINS))
        else:
            low, high = np.array([-BEYOND] * 4 + [0.0] * 3), np.array([BEYOND] * 4 + [1.0, 3.0, 1.0])
            wrong = known & ((told < low) | (told > high))
            wrong[:, 5] |= known[:, 5] & (told[:, 5] != np.rint(told[:, 5]))
    filled = np.where(known & ~wrong, told, BINS // 2 * (np.arange(7) < 4) if as_bins else 0.0)
    return filled.astype(np.int8) if as_bins else encode(filled), known, np.any(wrong, axis=1)
