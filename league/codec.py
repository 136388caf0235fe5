"""What a ship of last man standing sees and says: 19 numbers in, seven small choices out.

An action is continuous for the world and for people (``ShipAction``, or float32 arrays [..., 7] in the order of
``HEADS``) and a row of bin indices (int8 [..., 7]) for networks. Bin ``i`` of ``n`` stands for ``-1 + 2 i / (n - 1)``, so
all bins are met exactly, zero included, and ``decode(encode(a))`` is at most half a bin away from ``a``.

Nothing here tells left from right, top from bottom, or one seat from another: all places are relative to the ship.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing_rules as rules


@dataclass(frozen=True, slots=True)
class Field:
    """One number of the observation: always within ``low`` .. ``high``."""

    name: str
    low: float
    high: float
    meaning: str


_NEAR = f"in units of {rules.NEAR_RANGE:.0f} px; a longer offset is cut to length 1, its direction kept"
OBSERVATION: Final = (
    Field("self_vx", -1.0, 1.0, f"own velocity to the right, in units of {rules.TOP_SPEED:.0f} px/s, clipped"),
    Field("self_vy", -1.0, 1.0, "own velocity downwards, the same unit"),
    Field("self_hp", 0.0, 1.0, "hull left"),
    Field("self_shield", 0.0, 1.0, "shield left"),
    Field("self_energy", 0.0, 1.0, "energy for shots; 0 while jammed, since none can be fired"),
    Field("self_cooldown", 0.0, 1.0, f"time until an ability can be used, in units of {rules.LONGEST_COOLDOWN_S:.0f} s"),
    Field("zone_dx", -1.0, 1.0, f"from the ship to the zone's middle, to the right, in units of {rules.ZONE_RADIUS[0]:.0f} px"),
    Field("zone_dy", -1.0, 1.0, "the same downwards: the ship's place is told relative to the zone"),
    Field("zone_radius", 0.0, 1.0, "radius in the same unit; it only falls, so it tells the time as well"),
    Field("enemy_dx", -1.0, 1.0, f"from the ship to the nearest enemy, to the right, {_NEAR}; 0 when none is left"),
    Field("enemy_dy", -1.0, 1.0, "the same downwards"),
    Field("enemy_vx", -1.0, 1.0, "its velocity to the right, unit as one's own"),
    Field("enemy_vy", -1.0, 1.0, "its velocity downwards"),
    Field("enemy_health", 0.0, 1.0, "its hull and shield together"),
    Field("enemy_aim", -1.0, 1.0, "cosine between its gun and the line to the ship: 1 it aims here, -1 the other way"),
    Field("item_dx", -1.0, 1.0, f"from the ship to the nearest item, to the right, {_NEAR}; 0 when there is none"),
    Field("item_dy", -1.0, 1.0, "the same downwards"),
    Field("item_kind", 0.0, 1.0, "0 none, 1/3 heal, 2/3 shield, 1 power"),
    Field("enemies_alive", 0.0, 1.0, f"enemies alive, in units of {rules.MOST_SHIPS - 1}"),
)
"""The observation, in order; a lost ship sees zeros. Both axes are those of the screen: x to the right, y down."""
OBSERVATION_SIZE: Final = len(OBSERVATION)
OBSERVATION_LOW: Final = np.array([f.low for f in OBSERVATION], np.float32)
OBSERVATION_HIGH: Final = np.array([f.high for f in OBSERVATION], np.float32)
FIELD: Final = {f.name: i for i, f in enumerate(OBSERVATION)}
"""Index of each field by name."""

HEADS: Final = {"move_x": 3, "move_y": 3, "aim_x": 11, "aim_y": 11, "fire": 2, "ability": 4, "interact": 2}
"""Bins of each part of an action, in the order of the last axis of action arrays."""
HEAD_NAMES: Final = tuple(HEADS)
BINS: Final = np.array(list(HEADS.values()), np.int8)
LOGITS: Final = int(BINS.sum())
"""All bins side by side: 36."""
_CONTINUOUS: Final = 4
LOW: Final = np.array([-1, -1, -1, -1, 0, 0, 0], np.float32)
WIDTH: Final = np.array([2 / (n - 1) for n in BINS[:_CONTINUOUS].tolist()] + [1, 1, 1], np.float32)
HIGH: Final = LOW + WIDTH * (BINS - 1)
"""Of each part of an action as a number: its lowest value, the width of a bin, its highest value."""


@dataclass(frozen=True, slots=True)
class ShipAction:
    """What one ship does for 1/20 s. Raises ValueError when a part is out of range.

    ``move_*`` is the wished velocity as a share of top speed, cut to length 1. ``aim_*`` is the direction to turn the gun
    to; only its direction counts, and (0, 0) leaves the gun where it is. ``ability``: 0 none, 1 boost, 2 burst, 3 jam.
    """

    move_x: float = 0.0
    move_y: float = 0.0
    aim_x: float = 0.0
    aim_y: float = 0.0
    fire: bool = False
    ability: int = 0
    interact: bool = False

    def __post_init__(self) -> None:
        for name in HEAD_NAMES[:_CONTINUOUS]:
            value = getattr(self, name)
            if not -1.0 <= value <= 1.0:
                raise ValueError(f"ship action: {name} {value} is not within -1..1")
        if self.ability not in range(HEADS["ability"]):
            raise ValueError(f"ship action: ability {self.ability!r}; use 0 none, 1 boost, 2 burst or 3 jam")


def encode(actions: NDArray[Any]) -> NDArray[np.int8]:
    """Bin indices int8 [..., 7] of actions float [..., 7]; a part out of range goes to its nearest bin.

    Raises ValueError when the last axis is not 7 or a number is not finite.
    """
    values = np.asarray(actions, np.float32)
    if values.shape[-1:] != (len(HEADS),):
        raise ValueError(f"actions: shape {values.shape}; the last axis must be {len(HEADS)}: {', '.join(HEADS)}")
    if not np.isfinite(values).all():
        raise ValueError("actions: not all numbers are finite")
    return np.clip(np.rint((values - LOW) / WIDTH), 0, BINS - 1).astype(np.int8)


def decode(indices: NDArray[Any]) -> NDArray[np.float32]:
    """Actions float32 [..., 7] of bin indices [..., 7]. Raises ValueError on a wrong shape, kind or index."""
    bins = np.asarray(indices)
    if bins.shape[-1:] != (len(HEADS),) or not np.issubdtype(bins.dtype, np.integer):
        raise ValueError(f"action indices: {bins.dtype} of shape {bins.shape}; integers with a last axis of {len(HEADS)} are needed")
    if ((bins < 0) | (bins >= BINS)).any():
        raise ValueError(f"action indices: not within 0 and the bins of {HEADS}")
    return bins.astype(np.float32) * WIDTH + LOW


def encode_action(action: ShipAction) -> NDArray[np.int8]:
    """Bin indices int8 [7] of one action."""
    return encode(np.array(astuple(action), np.float32))


def decode_action(indices: NDArray[Any]) -> ShipAction:
    """The action that bin indices [7] stand for."""
    move_x, move_y, aim_x, aim_y, fire, ability, interact = decode(indices).tolist()
    return ShipAction(move_x, move_y, aim_x, aim_y, bool(fire), int(ability), bool(interact))
