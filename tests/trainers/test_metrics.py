"""Figures on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trainers import metrics
from trainers.pressing import PressRule, pressed_ticks


def test_recalls_and_balanced_accuracy() -> None:
    labels = np.array([0, 0, 0, 1, -1])
    predicted = np.array([0, 0, 1, 1, 2])
    found = metrics.recalls(labels, predicted, 3)
    assert found[0] == pytest.approx(2 / 3)
    assert found[1] == 1.0
    assert np.isnan(found[2])
    assert metrics.balanced_accuracy(labels, predicted, 3) == pytest.approx(5 / 6)
    assert np.isnan(metrics.balanced_accuracy(np.array([-1]), np.array([0]), 2))


def test_baselines() -> None:
    labels = np.array([0, 0, 0, 1])
    assert metrics.majority_accuracy(labels) == 0.75
    assert metrics.persistence_accuracy(labels) == pytest.approx(2 / 3)
    windows = np.array([[1, 1, 1], [2, 2, 3]])  # the end of one is no neighbour of the next one's begin
    assert metrics.persistence_accuracy(windows) == pytest.approx(3 / 4)


def test_uneven_classes_are_told_with_percentages() -> None:
    text = metrics.imbalance_warning(np.array([950, 50]), ("FIGHT", "FLEE"))
    assert "FIGHT 95.0 %" in text
    assert "FLEE 5.0 %" in text
    assert metrics.imbalance_warning(np.array([50, 50]), ("a", "b")) == ""
    weights = metrics.balanced_weights(np.array([950, 50, 0]))
    assert weights[1] > 3 * weights[0]
    assert weights[2] == 1


def test_onsets_are_matched_one_to_one_within_the_tolerance() -> None:
    true = np.array([10, 20, 30])
    assert metrics.onset_score(np.array([10, 20, 30]), true, 0).f1 == 1
    late = metrics.onset_score(np.array([12, 22, 32]), true, 2)
    assert late.f1 == 1
    assert metrics.onset_score(np.array([12, 22, 32]), true, 1).f1 == 0
    often = metrics.onset_score(np.array([9, 10, 11, 12]), true, 2)
    assert (often.precision, often.recall) == (0.25, pytest.approx(1 / 3))
    nothing = metrics.onset_score(np.array([]), np.array([]), 2)
    assert np.isnan([nothing.f1, nothing.precision, nothing.recall]).all(), "nothing was measured, which is not perfect"
    assert (nothing.predicted, nothing.true) == (0, 0)
    assert metrics.onset_score(np.array([5]), np.array([]), 2).f1 == 0


def test_thresholds_are_tuned_and_kept_apart() -> None:
    hazards = np.full(200, 0.05)
    true = np.arange(10, 200, 20)
    for t in true:
        hazards[t - 1 : t + 2] = 0.4
    tuned = metrics.tune_onsets(hazards, true)
    assert 0.05 < tuned.threshold <= 0.4
    assert (tuned.f1, tuned.keep) == (1.0, 0.0)
    assert len(metrics.fire(hazards, tuned.threshold, tuned.refractory)) == len(true)
    assert metrics.tune_onsets(hazards, np.array([])).threshold > 1
    assert metrics.tune_onsets(np.array([]), true).threshold == 0.5


def test_a_chance_that_lasts_is_told_from_one_of_a_moment() -> None:
    """Some ticks of a small chance end in a click; a larger one for a single tick does not."""
    hazards, true = np.full(600, 0.01), np.arange(20, 600, 30)
    for t in true:
        hazards[t - 5 : t + 1] = 0.15
    hazards[np.arange(5, 600, 30)] = 0.2
    tuned = metrics.tune_onsets(hazards, true)
    assert tuned.keep > 0
    assert tuned.f1 > 0.95
    assert metrics.tune_onsets(hazards, true, keeps=(0.0,)).f1 < 0.8


@given(
    arrays(np.float64, 200, elements=st.floats(0, 1)),
    st.lists(st.tuples(st.floats(0.02, 2), st.integers(0, 9)), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.5, 0.85]),
)
def test_what_is_tuned_is_what_is_flown(hazards: np.ndarray, rules: list[tuple[float, int]], keep: float) -> None:
    tick_s = 0.05
    memory_s = -tick_s / np.log(keep) if keep else 0.0
    thresholds, rests = (np.array(column) for column in zip(*rules, strict=True))
    thresholds = thresholds + 1.2345e-7  # never just reached, where rounding decides
    found = metrics.fire_all(hazards, thresholds, rests, keep)
    for threshold, rest, fired in zip(thresholds.tolist(), rests.tolist(), found, strict=True):
        rule = PressRule(threshold, (rest + 0.5) * tick_s, memory_s=float(memory_s))
        assert pressed_ticks(hazards, rule, tick_s).tolist() == fired.tolist()
        if not keep:
            assert metrics.fire(hazards, threshold, rest).tolist() == fired.tolist()


def test_position_and_causality() -> None:
    assert metrics.position_error(np.array([[0.5, 0.5]]), np.array([[0.5, 0.6]]), (640, 360)) == pytest.approx(36)
    points = np.array([[0.5, 0.5], [0.2, 0.2]])
    assert metrics.causality(points, points) == 0
    assert metrics.causality(points, np.array([[0.5, 0.6], [0.21, 0.2]])) == 0.5
