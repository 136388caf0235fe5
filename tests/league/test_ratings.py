"""Ratings: that draws, all-won and cyclic results come out as they must, and that bad numbers are told."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from league.payoff import pair_scores
from league.ratings import (
    POINTS,
    Counts,
    Elo,
    EloSettings,
    bradley_terry,
    expected_score,
    exploitability,
    max_entropy_equilibrium,
    nash_average,
    wilson,
)

RPS = [[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]]


def test_rock_paper_scissors_at_nine_to_one() -> None:
    names = ("rock", "scissors", "paper")
    results = {("rock", "scissors"): Counts(90, 0, 10), ("scissors", "paper"): Counts(90, 0, 10), ("paper", "rock"): Counts(90, 0, 10)}
    rated = bradley_terry(results, "rock", samples=50)
    assert [rated[name].value for name in names] == pytest.approx([0, 0, 0], abs=1e-9)
    average = nash_average(names, RPS)
    assert list(average.weights.values()) == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert list(average.ratings.values()) == pytest.approx([0] * 3, abs=1e-9)
    least = exploitability("rock", ["scissors", "paper"], ["x"], {"scissors": Counts(90, 0, 10), "paper": Counts(10, 0, 90)})
    assert (least.worst, least.payoff.value) == ("paper", 0.1)


def test_copies_share_the_weight_of_one() -> None:
    twice = [[0.5, 0.5, 0.9, 0.1], [0.5, 0.5, 0.9, 0.1], [0.1, 0.1, 0.5, 0.9], [0.9, 0.9, 0.1, 0.5]]
    weights = nash_average(["rock", "stone", "scissors", "paper"], twice).weights
    assert list(weights.values()) == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-4)


def test_who_is_beaten_by_all_has_no_weight_and_a_rating_below_zero() -> None:
    payoffs = [[*row, 0.8] for row in RPS] + [[0.2, 0.2, 0.2, 0.5]]
    average = nash_average("abcd", payoffs)
    assert average.weights["d"] == 0
    assert average.ratings["d"] == pytest.approx(math.log(0.2 / 0.8) * POINTS, abs=0.1)
    assert nash_average("ab", [[0.5, 1.0], [0.0, 0.5]]).weights == {"a": 1.0, "b": 0.0}
    assert nash_average("ab", [[0.5, 0.5], [0.5, 0.5]]).weights == pytest.approx({"a": 0.5, "b": 0.5})
    assert nash_average("a", [[0.5]]).weights == {"a": 1.0}


def test_of_many_equilibria_it_is_the_most_even_one() -> None:
    assert max_entropy_equilibrium(np.zeros((5, 5))) == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("seed", range(20))
def test_nobody_beats_the_equilibrium_of_a_random_game(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 20))
    game = np.round(random.normal(size=(n, n)) * random.choice([0.01, 1, 5]), int(random.integers(0, 4)))
    game -= game.T
    p = max_entropy_equilibrium(game)
    assert p.sum() == pytest.approx(1)
    assert (game @ p).max() <= 2e-4 * max(1e-9, np.abs(game).max())


def test_bradley_terry_finds_the_ratings_results_were_drawn_from() -> None:
    truth = {"a": 0.0, "b": 120.0, "c": -200.0, "d": 300.0}
    names = list(truth)
    results = {
        (x, y): Counts(1000 * expected_score(truth[x] - truth[y]), 0, 1000 * expected_score(truth[y] - truth[x]))
        for i, x in enumerate(names)
        for y in names[i + 1 :]
    }
    rated = bradley_terry(results, "a", samples=100)
    for name, rating in truth.items():
        assert rated[name].value == pytest.approx(rating, abs=1)
        assert rated[name].low <= rating <= rated[name].high
    assert rated["a"] == (0, 0, 0)
    shifted = bradley_terry(results, "d", anchor_rating=1500, samples=0)
    assert shifted["d"].value == 1500
    assert shifted["b"].value - shifted["a"].value == pytest.approx(rated["b"].value, abs=1e-6)


def test_draws_are_half_wins_and_only_draws_are_equal() -> None:
    one = bradley_terry({("a", "b"): (30, 40, 30)}, "a", samples=0)["b"].value
    assert one == pytest.approx(0, abs=1e-9)
    drawn = bradley_terry({("a", "b"): (0, 50, 0), ("b", "c"): (0, 50, 0)}, "a")
    assert all(abs(interval.value) < 1e-9 for interval in drawn.values())
    half = bradley_terry({("a", "b"): (10, 20, 5)}, "a", samples=0)["b"].value
    assert half == pytest.approx(bradley_terry({("a", "b"): (20, 0, 15)}, "a", samples=0)["b"].value)


def test_all_games_won_stays_finite_and_wide() -> None:
    few, many = (bradley_terry({("a", "b"): (n, 0, 0)}, "b")["a"] for n in (5, 500))
    assert 200 < few.value < many.value < 3000
    assert few.low < few.value - 100
    assert few.low <= few.value <= few.high


def test_the_prior_joins_players_that_never_met() -> None:
    rated = bradley_terry({("a", "b"): (6, 0, 4), ("c", "d"): (6, 0, 4), ("a", "d"): (0, 0, 0)}, "b", samples=0)
    assert rated["a"].value == pytest.approx(rated["c"].value - rated["d"].value)


def test_intervals_narrow_with_games_and_repeat_with_the_seed() -> None:
    narrow, wide = (bradley_terry({("a", "b"): (5 * n, 2 * n, 3 * n)}, "b")["a"] for n in (20, 2))
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)
    assert narrow == bradley_terry({("a", "b"): (100, 40, 60)}, "b")["a"]


@pytest.mark.parametrize(
    ("results", "anchor", "message"),
    [
        ({}, "a", "no games among nobody"),
        ({("a", "b"): (0, 0, 0)}, "a", "no games among a, b"),
        ({("a", "a"): (1, 0, 0)}, "a", "a against itself"),
        ({("a", "b"): (1, -1, 0)}, "a", r"results of a and b: \(1, -1, 0\)"),
        ({("a", "b"): (1, math.nan, 0)}, "a", "results of a and b"),
        ({("a", "b"): (1, 2)}, "a", "three numbers"),
        ({("a", "b"): (1, 0, 0)}, "z", "the anchor 'z' has no results; use one of a, b"),
    ],
)
def test_results_that_cannot_be_rated_are_told(results: Any, anchor: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bradley_terry(results, anchor)


def test_elo_between_equals() -> None:
    elo = Elo(EloSettings(k=44))
    assert elo.record({("a", "b"): 1.0}) == {"a": 22, "b": -22}
    elo = Elo()
    assert elo.record({("a", "b"): 0.5}) == {"a": 0, "b": 0}
    assert elo.record({("a", "b"): 0.0}) == {"a": -8, "b": 8}


def test_elo_gains_what_was_not_expected_and_keeps_its_mean() -> None:
    elo, random = Elo(), np.random.default_rng(0)
    players = [f"p{i}" for i in range(6)]
    for _ in range(2000):
        seats = list(random.choice(players, size=4))
        elo.record(pair_scores(seats, list(random.integers(1, 4, size=4))))
    assert len(elo.ratings) == 6
    assert np.mean(list(elo.ratings.values())) == pytest.approx(1000, abs=1e-6)
    strong = Elo()
    strong.ratings = {"a": 1400.0, "b": 1000.0}
    assert strong.record({("a", "b"): 1.0})["a"] == pytest.approx(16 / 11)


def test_elo_comes_back_from_json_and_goes_on() -> None:
    one, random = Elo(), np.random.default_rng(0)
    matches = [{("a", "b"): float(random.integers(0, 3)) / 2, ("a", "c"): 0.5, ("b", "c"): 1.0} for _ in range(40)]
    for match in matches[:20]:
        one.record(match)
    two = Elo.from_json(json.loads(json.dumps(one.to_json())))
    for match in matches[20:]:
        assert one.record(match) == two.record(match)
    assert one.ratings == two.ratings
    for broken in ({}, {"ratings": []}, {"ratings": {"a": "x"}}, {"ratings": {"a": math.nan}}):
        with pytest.raises(ValueError, match="Elo ratings"):
            Elo.from_json(broken)


def test_elo_ignores_self_play_and_tells_nonsense() -> None:
    elo = Elo()
    assert elo.record(pair_scores(["a", "a", "a"], [1, 2, 3])) == {}
    with pytest.raises(ValueError, match="a against b scored 2"):
        elo.record({("a", "b"): 2.0})
    with pytest.raises(ValueError, match="k 0"):
        EloSettings(k=0)


def test_wilson() -> None:
    assert wilson(50, 100).low == pytest.approx(0.40, abs=0.005)
    assert wilson(200, 400).low == pytest.approx(0.45, abs=0.003)
    assert wilson(10, 10) == pytest.approx((1.0, 0.7225, 1.0), abs=1e-4)
    assert wilson(0, 0) == (0.5, 0, 1)
    for score, games in ((-1, 5), (6, 5), (math.nan, 5), (1, math.inf)):
        with pytest.raises(ValueError, match="a score is within"):
            wilson(score, games)


def test_exploitability_judges_older_snapshots_and_tells_the_newest_apart() -> None:
    results = {"m@0": Counts(80, 10, 10), "m@1": Counts(50, 0, 50), "m@3": Counts(1, 0, 99), "x@1": Counts(2, 0, 98), "m": Counts(0, 0, 99)}
    found = exploitability("m", ["m@0", "m@1", "m", "m@2"], ["x@1", "m@3"], results)
    assert (found.worst, found.payoff.value, found.games) == ("m@1", 0.5, 100)
    assert found.payoff.low == pytest.approx(0.404, abs=0.001)
    assert (found.newest_worst, found.newest.value) == ("m@3", 0.01)
    assert found.unplayed == ("m@2",)
    nobody = exploitability("m", ["m"], [], results)
    assert (nobody.worst, nobody.payoff) == ("", (0.5, 0, 1))
    assert (nobody.newest_worst, nobody.newest) == ("", (0.5, 0, 1))


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [([[0.5, 0.5]], "shape"), ([[0.5, 1.5], [0.1, 0.5]], "a against b is 1.5"), ([[0.5, 0.5], [math.nan, 0.5]], "b against a is nan")],
)
def test_payoffs_that_are_no_chances_are_told(payoffs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nash_average(["a", "b"], payoffs)
