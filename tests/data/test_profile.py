"""What a game profile refuses, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from data.geometry import Rect
from data.key_names import KEY_NAMES, is_key_name
from data.profile import ARENA_PROFILE, WHOLE, GameProfile


def bar(name: str = "hp", region: tuple[float, ...] = (0.1, 0.1, 0.3, 0.2)) -> dict[str, Any]:
    return {"name": name, "region": region, "colour": (10, 200, 20)}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keys": ("w", "spce")}, r"'spce' is not a key; did you mean space\?"),
        ({"keys": ("W",)}, r"'W' is not a key; did you mean w\?"),
        ({"keys": ("§",)}, "such as w, space, ctrl"),
        ({"keys": ("w", "w")}, "a key is named twice: w"),
        ({"keys": ("w", "f8")}, "f8 steer Secondseat"),
        ({"gauges": (bar(region=(0.3, 0.1, 0.3, 0.2)),)}, "has no area; give left, top, right, bottom"),
        ({"gauges": (bar(region=(0.1, 0.3, 0.3, 0.2)),)}, "has no area"),
        ({"gauges": (bar(region=(0.1, 0.1, 1.3, 0.2)),)}, "less than or equal to 1"),
        ({"gauges": (bar(region=(float("nan"), 0.1, 0.3, 0.2)),)}, "gauges.0.region.0"),
        ({"window_part": (0.0, 0.5, 1.0, 0.5)}, "has no area"),
        ({"gauges": (bar(), bar())}, "gauges, icons and choices: a name is used twice: hp"),
        ({"gauges": (bar(),), "icons": ({"name": "hp", "region": WHOLE, "colour": (1, 2, 3)},)}, "a name is used twice: hp"),
        ({"classes": ({"name": "foe", "role": "enemy"}, {"name": "foe", "role": "loot"})}, "classes: a name is used twice: foe"),
        ({"classes": ({"name": "foe", "role": "boss"},)}, "'self', 'enemy', 'loot'"),
        ({"picture_size": (0, 360)}, "greater than or equal to 1"),
    ],
)
def test_a_profile_that_does_not_fit_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        GameProfile.model_validate({"name": "toy", **wrong})


def test_every_physical_key_and_keys_without_a_name_can_be_in_a_profile() -> None:
    taken = {"f5", "f6", "f7", "f8"}
    assert len(set(KEY_NAMES)) == len(KEY_NAMES) > 100
    assert GameProfile(name="toy", keys=(*(k for k in KEY_NAMES if k not in taken), "key248", "mouse_button8")).keys
    assert all(map(is_key_name, ARENA_PROFILE.keys))
    assert not any(map(is_key_name, ("", "key", "key0", "key12x", "mouse_left", "Space")))


@given(
    st.builds(Rect, st.integers(-3000, 3000), st.integers(-3000, 3000), st.integers(1, 4000), st.integers(1, 4000)),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_a_part_of_a_rectangle_lies_inside_it_and_is_never_empty(rect: Rect, corners: list[float]) -> None:
    (left, right), (top, bottom) = sorted(corners[:2]), sorted(corners[2:])
    part = rect.part((left, top, right, bottom))
    assert part.width >= 1
    assert part.height >= 1
    assert rect.intersection(part) == part
    assert rect.part(WHOLE) == rect
