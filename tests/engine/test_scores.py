"""Normalised scores and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from engine.scores import episodes_needed, mean_interval, normalised_interval


def test_the_scale_runs_from_random_to_the_demonstrator() -> None:
    expert, random = [10.0, 12.0, 11.0], [0.0, 2.0, 1.0]
    assert normalised_interval(expert, expert, random).value == pytest.approx(1.0)
    assert normalised_interval(random, expert, random).value == pytest.approx(0.0)
    assert normalised_interval([5.0, 7.0, 6.0], expert, random).value == pytest.approx(0.5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for trial in range(120):
        policy, expert, random = rng.normal(6, 3, 40), rng.normal(10, 3, 40), rng.normal(0, 1, 40)
        interval = normalised_interval(policy.tolist(), expert.tolist(), random.tolist(), seed=trial, draws=500)
        covered += interval.low <= 0.6 <= interval.high
    assert 0.86 <= covered / 120 <= 1.0


def test_a_demonstrator_no_better_than_random_is_no_scale() -> None:
    with pytest.raises(ValueError, match="no better than random"):
        normalised_interval([1.0], [1.0], [2.0])


def test_no_episodes_and_broken_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="no episodes"):
        mean_interval([])
    with pytest.raises(ValueError, match="not finite"):
        mean_interval([1.0, float("nan")])


def test_the_numbers_of_episodes_are_those_of_the_usual_formula() -> None:
    assert episodes_needed(0.05, 0.5) == pytest.approx(1570, rel=0.01)
    assert episodes_needed(0.15, 0.5) == pytest.approx(175, rel=0.01)
