"""The factorised action codec: every bin comes back, every action lands in its nearest bin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league import codec
from league.codec import HEADS, ShipAction, decode, decode_action, encode, encode_action

unit = st.floats(-1.0, 1.0, width=32)
actions = st.builds(
    ShipAction,
    move_x=unit, move_y=unit, aim_x=unit, aim_y=unit, fire=st.booleans(), ability=st.integers(0, 3), interact=st.booleans(),
)  # fmt: skip


def test_the_layout_is_the_agreed_one() -> None:
    assert HEADS == {"move_x": 3, "move_y": 3, "aim_x": 11, "aim_y": 11, "fire": 2, "ability": 4, "interact": 2}
    assert codec.LOGITS == 36
    assert codec.OBSERVATION_SIZE == 19
    assert len({f.name for f in codec.OBSERVATION}) == 19
    assert all(f.low < f.high and f.meaning for f in codec.OBSERVATION)


def test_every_combination_of_bins_comes_back() -> None:
    every = np.array(list(itertools.product(*(range(n) for n in HEADS.values()))), np.int8)
    assert len(every) == 17424
    again = encode(decode(every))
    assert again.dtype == np.int8
    assert np.array_equal(again, every)


def test_bins_are_even_and_meet_zero_and_both_ends() -> None:
    every = np.zeros((11, 7), np.int8)
    every[:, 2] = np.arange(11)
    assert decode(every)[:, 2] == pytest.approx(np.linspace(-1, 1, 11), abs=1e-6)
    assert decode(every)[5, 2] == 0.0
    assert decode(np.array([0, 2, 0, 0, 0, 0, 0])).tolist()[:2] == [-1.0, 1.0]


@settings(max_examples=200, deadline=None)
@given(actions)
def test_an_action_lands_within_half_a_bin(action: ShipAction) -> None:
    again = decode_action(encode_action(action))
    for name in ("move_x", "move_y", "aim_x", "aim_y"):
        assert abs(getattr(again, name) - getattr(action, name)) <= 1.0 / (HEADS[name] - 1) + 1e-6
    assert (again.fire, again.ability, again.interact) == (action.fire, action.ability, action.interact)
    assert decode_action(encode_action(again)) == again


def test_arrays_of_any_shape_are_taken() -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (4, 3, 2, 7)).astype(np.float32)
    indices = encode(values)
    assert indices.shape == values.shape
    assert np.array_equal(indices[1, 2, 0], encode(values[1, 2, 0]))
    assert decode(indices).dtype == np.float32
    assert encode(np.empty((0, 7))).shape == (0, 7)


def test_what_is_out_of_range_goes_to_the_nearest_bin() -> None:
    assert encode(np.array([-7.0, 7.0, -7.0, 7.0, 9.0, 9.0, -9.0])).tolist() == [0, 2, 0, 10, 1, 3, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode(np.zeros((2, 6))), "last axis must be 7"),
        (lambda: encode(np.array([np.nan] * 7)), "finite"),
        (lambda: decode(np.zeros((2, 6), np.int8)), "last axis of 7"),
        (lambda: decode(np.zeros(7)), "integers"),
        (lambda: decode(np.array([3, 0, 0, 0, 0, 0, 0])), "not within"),
        (lambda: decode(np.array([0, 0, 0, 0, 0, -1, 0])), "not within"),
        (lambda: ShipAction(move_x=1.1), "move_x 1.1"),
        (lambda: ShipAction(aim_y=float("nan")), "aim_y nan"),
        (lambda: ShipAction(ability=4), "ability 4"),
    ],
)
def test_what_does_not_fit_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
