"""Normalised scores and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from engine.scores import difference_interval, episodes_needed, mean_interval, normalised_interval, student_t


def test_the_scale_runs_from_random_to_the_demonstrator() -> None:
    expert, random = [10.0, 12.0, 11.0], [0.0, 2.0, 1.0]
    assert normalised_interval(expert, expert, random).value == pytest.approx(1.0)
    assert normalised_interval(random, expert, random).value == pytest.approx(0.0)
    assert normalised_interval([5.0, 7.0, 6.0], expert, random).value == pytest.approx(0.5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(120):
        policy, expert, random = rng.normal(6, 3, 40), rng.normal(10, 3, 40), rng.normal(0, 1, 40)
        interval = normalised_interval(policy.tolist(), expert.tolist(), random.tolist())
        covered += interval.low <= 0.6 <= interval.high
    assert 0.86 <= covered / 120 <= 1.0


@pytest.mark.parametrize(("free", "point"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)])
def test_students_points_are_those_of_the_tables(free: float, point: float) -> None:
    assert student_t(free) == pytest.approx(point, abs=2e-4)
    assert student_t(free + 0.5) < student_t(free)


def test_the_normal_distribution_is_what_many_episodes_come_to() -> None:
    assert student_t(1e9) == pytest.approx(1.96, abs=1e-3)


@pytest.mark.parametrize("n", [2, 3, 5, 12, 20])
def test_few_episodes_are_covered_as_well_as_many(n: int) -> None:
    """A percentile bootstrap of the mean covers the truth in about 53 % of cases with two episodes, and in 83 % with five."""
    dice, mean, ratio = np.random.default_rng(n), 0, 0
    for _ in range(1000):
        worlds = dice.normal(0.0, 4.0, n)
        policy, expert, random = (centre + worlds + dice.normal(0.0, 3.0, n) for centre in (10, 23, -3))
        found = normalised_interval(policy.tolist(), expert.tolist(), random.tolist())
        ratio += found.low <= 0.5 <= found.high
        found = mean_interval(policy.tolist())
        mean += found.low <= 10 <= found.high
    assert 930 <= mean <= 970
    assert 930 <= ratio <= 985  # linear is not quite the ratio: a little too wide where the scale is one of two episodes


def test_lists_of_their_own_scatter_apart() -> None:
    dice, covered = np.random.default_rng(8), 0
    for _ in range(500):
        found = normalised_interval(*(dice.normal(m, s, k).tolist() for m, s, k in ((10, 3, 4), (23, 5, 9), (-3, 1, 6))))
        covered += found.low <= 0.5 <= found.high
    assert 465 <= covered <= 490


def test_one_episode_tells_nothing_of_scatter() -> None:
    assert (mean_interval([3.0]).low, mean_interval([3.0]).high) == (-np.inf, np.inf)
    assert normalised_interval([1.0], [2.0], [0.0]).high == np.inf
    assert mean_interval([2.0, 2.0]) == mean_interval([2.0, 2.0])
    assert (mean_interval([2.0, 2.0]).low, mean_interval([2.0, 2.0]).high) == (2.0, 2.0)


def test_pairs_are_as_many_on_both_sides() -> None:
    with pytest.raises(ValueError, match="as many episodes of both: 2 and 3"):
        difference_interval([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)


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
