"""When inputs are pressed: by a threshold, or as often as is foretold and at the likeliest moments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trainers.pressing import DUE, NEVER, Presser, PressRule, begun_ticks, key_rule, pressed_ticks, unweighted

TICK_S = 0.05


def test_a_threshold_alone_presses_at_the_moment_and_rests() -> None:
    hazards = np.array([0.1, 0.6, 0.7, 0.7, 0.2, 0.6])
    assert pressed_ticks(hazards, PressRule(0.5, 0.1), TICK_S).tolist() == [1, 5]
    assert pressed_ticks(hazards, PressRule(0.5, 0.0), TICK_S).tolist() == [1, 2, 3, 5]
    assert pressed_ticks(hazards, PressRule(0.5, 0.0), TICK_S, scale=1.3).tolist() == [2, 3]
    assert not len(pressed_ticks(np.ones(100), NEVER, TICK_S))


def test_what_is_held_begins_where_its_chance_rises_over_a_half() -> None:
    assert begun_ticks(np.array([0.7, 0.6, 0.5, 0.2, 0.9, 0.9, 0.1, 0.51])).tolist() == [0, 4, 7]
    assert not len(begun_ticks(np.zeros(0)))


def test_a_small_chance_that_lasts_leads_to_a_press() -> None:
    """An enemy marked and not shot at: no person waits there, and so the chance stays small for ever."""
    rule = PressRule(0.5, 0.4, weight=1.0, rate_s=20 / 3)
    hazards = np.concatenate([np.zeros(50), np.full(100, 0.11)])
    first = pressed_ticks(hazards, rule, TICK_S)[0]
    assert first == 50 + math.ceil(DUE / (0.11 / 3)) - 1
    assert not len(pressed_ticks(hazards, PressRule(0.5, 0.4), TICK_S))


def test_a_likely_moment_is_taken_at_once_and_only_once() -> None:
    rule = PressRule(0.5, 0.3, weight=1.0, rate_s=20 / 3)
    hazards = np.concatenate([np.full(40, 0.001), np.full(4, 0.7), np.full(40, 0.001)])
    assert pressed_ticks(hazards, rule, TICK_S).tolist() == [40]


@given(arrays(np.float64, 400, elements=st.floats(0, 0.6)), st.floats(1, 12))
def test_in_the_long_run_the_foretold_rate_sets_how_many_are_pressed(hazards: np.ndarray, weight: float) -> None:
    rule = PressRule(2.0, 0.0, weight, rate_s=5.0)
    expected = [rule.expected(h, TICK_S) for h in hazards.tolist()]
    pressed = len(pressed_ticks(hazards, rule, TICK_S))
    assert math.floor(sum(expected) / (DUE + max(expected))) <= pressed <= sum(expected) / DUE


@given(st.floats(0.0, 1.0), st.floats(1, 12))
def test_the_weight_of_training_is_taken_out_of_a_chance(chance: float, weight: float) -> None:
    weighted = weight * chance / (weight * chance + 1 - chance)
    assert unweighted(weighted, weight) == pytest.approx(chance, abs=1e-9)


def test_a_keys_rule_presses_as_often_as_the_player_did() -> None:
    dice = np.random.default_rng(0)
    true = np.sort(dice.choice(6000, 60, replace=False))
    chances = np.full(6000, 0.004)
    chances[np.unique(np.concatenate([true - 1, true]).clip(0))] = 0.3
    hazards = 8 * chances / (8 * chances + 1 - chances)
    rule = key_rule(hazards, len(true), 8.0, 3, TICK_S, 0.1)
    likely = 0.5 / (rule.rate_s * TICK_S * 3)  # a press within three ticks is as likely as not
    assert unweighted(rule.threshold, 8.0) == pytest.approx(likely)
    assert len(true) <= len(pressed_ticks(hazards, rule, TICK_S)) <= len(true) / DUE
    twice = key_rule(hazards, 2 * len(true), 8.0, 3, TICK_S, 0.1)
    assert len(pressed_ticks(hazards, twice, TICK_S)) > 1.3 * len(pressed_ticks(hazards, rule, TICK_S))


@pytest.mark.parametrize("refractory_s", [0.1, 0.4])
def test_a_network_that_is_too_sure_of_itself_is_not_believed(refractory_s: float) -> None:
    """Chances of 0.6 in a third of all ticks, where there were ten presses."""
    chances = np.tile(np.repeat([0.6, 0.0, 0.0], 20), 100)
    rule = key_rule(chances, 10, 1.0, 3, TICK_S, refractory_s)
    foretold = sum(rule.expected(c, TICK_S) for c in chances.tolist())
    assert foretold < 20
    assert len(pressed_ticks(chances, rule, TICK_S)) <= foretold / DUE
    assert rule.threshold > 1


def test_what_is_no_number_is_no_press_and_forgotten() -> None:
    hazards = np.full(400, 0.1)
    hazards[3] = np.nan
    fading = PressRule(0.5, 0.1, memory_s=0.3)
    assert len(pressed_ticks(hazards, fading, TICK_S)) >= len(pressed_ticks(hazards[4:], fading, TICK_S)) > 10
    rule = PressRule(0.5, 0.1, 1.0, 20 / 3)
    assert len(pressed_ticks(hazards, rule, TICK_S)) >= len(pressed_ticks(hazards[4:], rule, TICK_S)) > 10


@given(st.floats(0.02, 0.3))
def test_as_many_are_pressed_at_any_length_of_a_tick(tick_s: float) -> None:
    rule = PressRule(2.0, 0.0, 1.0, 1.0)
    pressed = len(pressed_ticks(np.full(round(60 / tick_s), 0.2), rule, tick_s))
    assert 0.2 * 60 / (DUE + 0.2 * tick_s) - 1 <= pressed <= 0.2 * 60 / DUE + 1


def test_without_presses_to_count_a_key_is_taken_at_its_word() -> None:
    rule = key_rule(np.zeros(0), 0, 1.0, 3, TICK_S, 0.1)
    assert rule.rate_s * TICK_S == pytest.approx(1 / 3)


def test_rules_are_kept_in_cards() -> None:
    for rule in (
        PressRule(0.3, 0.1),
        PressRule(0.9, 0.4, 8.0, 5.0),
        PressRule(0.9, 0.4, 8.0, 5.0, 0.3),
        PressRule(0.3, 0.1, memory_s=0.3),
        NEVER,
    ):
        assert PressRule(**rule.to_json()) == rule
    assert Presser(PressRule(0.3, 0.0)).tick(0.31, 0, TICK_S)
