"""Single fields of the earlier scripts' recordings, under whatever name and in whatever form they stand there."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

PIXELS_FROM: Final = 1.5
"""A coordinate above this is in pixels, not in 0..1."""


def aim(action: Any) -> tuple[Any, Any]:
    """Where an action points, as the file has it."""
    if isinstance(action, Mapping):
        values = cast("Mapping[str, Any]", action)
        return values.get("x", values.get("mouse_x")), values.get("y", values.get("mouse_y"))
    if isinstance(action, Sequence) and not isinstance(action, str):
        x, y = (*cast("Sequence[Any]", action), None, None)[:2]
        return x, y
    return None, None


def listed_in(entry: Mapping[str, Any]) -> Any:
    """What an entry says there was, beside its state or in it."""
    state: Any = entry.get("state")
    return entry.get("objects", cast("dict[str, Any]", state).get("objects") if isinstance(state, dict) else None)


def as_list(listed: Any) -> list[Any]:
    return cast("list[Any]", listed) if isinstance(listed, list) else []


def corners_of(entry: Any) -> tuple[float, float, float, float] | None:
    """left, top, right, bottom of an object, as the file has them."""
    box: Any = None
    if isinstance(entry, Mapping):
        values = cast("Mapping[str, Any]", entry)
        box = values.get("bbox", values.get("box", values.get("xyxy")))
    elif isinstance(entry, Sequence) and not isinstance(entry, str) and len(cast("Sequence[Any]", entry)) >= 5:
        box = [*cast("Sequence[Any]", entry)[:4]]
    if not isinstance(box, Sequence) or isinstance(box, str) or len(cast("Sequence[Any]", box)) != 4:
        return None
    numbers = [number_of(v) for v in cast("Sequence[Any]", box)]
    left, top, right, bottom = numbers
    return None if left is None or top is None or right is None or bottom is None else (left, top, right, bottom)


def in_px(largest: Sequence[float]) -> bool:
    """Whether places are told in pixels, from the larger number of each: most of them are beyond what a share of the picture can be."""
    return bool(largest) and statistics.median(largest) > PIXELS_FROM


def number_of(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number may be longer than any float
        return None
    return number if math.isfinite(number) else None
