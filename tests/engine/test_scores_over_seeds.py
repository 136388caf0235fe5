"""Scores over several training seeds."""

from __future__ import annotations

import numpy as np
import pytest

from engine.scores import normalised_interval, normalised_over_seeds

DICE = np.random.default_rng(4)
HIGH, LOW = DICE.normal(20, 5, 40).tolist(), DICE.normal(0, 5, 40).tolist()


def test_one_seed_is_what_a_single_policy_gets() -> None:
    policy = DICE.normal(15, 5, 40).tolist()
    one, plain = normalised_over_seeds([policy], HIGH, LOW), normalised_interval(policy, HIGH, LOW)
    assert one.value == pytest.approx(plain.value)
    assert (one.low, one.high) == pytest.approx((plain.low, plain.high), abs=0.02)


def test_the_interval_holds_the_scatter_of_training_seeds() -> None:
    episodes = DICE.normal(0, 5, 40)
    steady = [(episodes + 15).tolist()] * 3
    scattered = [(episodes + m).tolist() for m in (9, 15, 21)]
    a, b = normalised_over_seeds(steady, HIGH, LOW), normalised_over_seeds(scattered, HIGH, LOW)
    assert a.value == pytest.approx(b.value)
    assert b.high - b.low > 1.3 * (a.high - a.low)
    assert (a.n, b.n) == (120, 120)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    dice, hits = np.random.default_rng(1), 0
    for _ in range(120):
        seeds = [dice.normal(10 + dice.normal(0, 1), 5, 40).tolist() for _ in range(5)]
        found = normalised_over_seeds(seeds, dice.normal(20, 5, 40).tolist(), dice.normal(0, 5, 40).tolist())
        hits += found.low <= 0.5 <= found.high
    assert 0.85 <= hits / 120 <= 0.99


def test_two_training_seeds_say_little_and_the_interval_says_so() -> None:
    """A bootstrap over two seeds covers the truth in about four cases of five."""
    dice, hits = np.random.default_rng(2), 0
    for _ in range(300):
        seeds = [dice.normal(10 + dice.normal(0, 3), 5, 30).tolist() for _ in range(2)]
        found = normalised_over_seeds(seeds, dice.normal(20, 5, 30).tolist(), dice.normal(0, 5, 30).tolist())
        hits += found.low <= 0.5 <= found.high
    assert 0.88 <= hits / 300 <= 0.99


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="none was trained"):
        normalised_over_seeds([], HIGH, LOW)
    with pytest.raises(ValueError, match="the same episodes"):
        normalised_over_seeds([HIGH[:10]], HIGH, LOW)
    with pytest.raises(ValueError, match="no scale"):
        normalised_over_seeds([HIGH], LOW, HIGH)
