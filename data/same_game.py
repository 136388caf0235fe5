"""Can one policy learn from the play of both? What of two profiles must be the same for that, and is not."""

from __future__ import annotations

from typing import Any, Final

from data.profile import GameProfile

SHAPE_TOLERANCE: Final = 0.01
"""Pictures whose sides are so much alike have one shape: places are told in shares of them."""


def differences(first: GameProfile, other: GameProfile) -> list[str]:
    """What of two profiles must be the same for one policy to learn from both, and is not: a phrase for each."""
    found: list[str] = []
    pairs: list[tuple[str, Any, Any]] = [
        ("game", first.name, other.name),
        ("keys", first.keys, other.keys),
        ("classes", [(c.name, c.role) for c in first.classes], [(c.name, c.role) for c in other.classes]),
        ("gauges, flags, choices and cooldowns", _readings(first), _readings(other)),
    ]
    for what, mine, theirs in pairs:
        if mine == theirs:
            continue
        if isinstance(mine, str):
            found.append(f"{what} {theirs} instead of {mine}")
            continue
        lacks, has = [_name(v) for v in mine if v not in theirs], [_name(v) for v in theirs if v not in mine]
        words = [f"{word} {', '.join(names)}" for word, names in (("lacks", lacks), ("has", has)) if names]
        found.append(f"{what}: {' and '.join(words) or 'in another order'}")
    (width, height), (wide, high) = first.picture_size, other.picture_size
    if abs(wide * height - high * width) > SHAPE_TOLERANCE * width * high:
        found.append(f"a picture of another shape: {wide}x{high} instead of {width}x{height}")
    return found


def _readings(profile: GameProfile) -> list[str]:
    choices = [f"{name} of {size}" for name, size in profile.choice_sizes().items()]
    return [*profile.level_names(), *profile.flag_names(), *choices, *profile.cooldown_names()]


def _name(value: Any) -> str:
    return value if isinstance(value, str) else f"{value[0]} ({value[1]})"
