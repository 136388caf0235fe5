"""What a profile says of its classes, as tables by class code: made once for each profile, not at every tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.profile import GameProfile
from data.vocabulary import ROLES

CLICKABLE: Final = frozenset({"enemy", "loot", "portal", "other"})
GOALS: Final = ("enemy", "loot", "portal")
"""Roles of what a destination mark can lie on."""
_WEIGHT: Final = {
    "self": 0.0,
    "lock": 0.01,
    "mark": 0.02,
    "enemy": 0.5,
    "loot": 0.6,
    "shot": 1.0,
    "portal": 1.2,
    "hazard": 1.0,
    "other": 1.0,
}


@dataclass(frozen=True, slots=True, eq=False)
class ClassTables:
    """Legend: C classes. ``strict`` tables have C + 2 entries and are asked for class + 1, clipped: a class that the profile does
    not have is nothing there. The others are asked for the class, clipped: it is then the nearest one."""

    profile: GameProfile
    scale: NDArray[np.float32]
    """[2] what turns 0..1 positions into picture widths."""
    strict_roles: NDArray[np.int64]
    """Index into ROLES, -1 for none."""
    roles: NDArray[np.int64]
    weights: NDArray[np.float32]
    """A distance counts so much when the tracks that matter most are picked."""
    clickable: NDArray[np.bool_]
    dangerous: NDArray[np.bool_]
    """Strict."""
    goals: NDArray[np.bool_]
    """Of a role (index into ROLES): can a destination mark lie on it?"""
    codes: dict[str, tuple[int, ...]]
    """The classes of each role."""


def class_tables(profile: GameProfile) -> ClassTables:
    """The tables of ``profile``, kept on it. A copy with other classes gets its own."""
    found: ClassTables | None = vars(profile).get(_KEPT)
    if found is None or found.profile is not profile:
        found = _made(profile)
        # Not a field: neither compared nor written, and gone with the profile.
        vars(profile)[_KEPT] = found
    return found


_KEPT: Final = "_class_tables"


def _made(profile: GameProfile) -> ClassTables:
    width, height = profile.picture_size
    roles = profile.roles()
    numbers = [ROLES.index(role) for role in roles]
    return ClassTables(
        profile,
        np.array([1.0, height / width], np.float32),
        np.array([-1, *numbers, -1], np.int64),
        np.array(numbers or [0], np.int64),
        np.array([_WEIGHT[role] for role in roles] or [1.0], np.float32),
        np.array([role in CLICKABLE for role in roles] or [False], np.bool_),
        np.array([False, *(c.dangerous for c in profile.classes), False], np.bool_),
        np.array([role in GOALS for role in ROLES], np.bool_),
        {role: tuple(i for i, mine in enumerate(roles) if mine == role) for role in ROLES},
    )


def strictly(table: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """A strict table's entries for ``classes``."""
    return table.take(classes + 1, mode="clip")
