"""The table of results: mirrored, forgetting, and deaf to results of players that changed."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from league.payoff import PayoffSettings, PayoffTable, pair_scores


def table(*players: str, **settings: Any) -> PayoffTable:
    made = PayoffTable(PayoffSettings(**settings))
    for player in players or ("a", "b", "c"):
        made.add(player)
    return made


def play(t: PayoffTable, players: str, *placements: float, times: int = 1) -> None:
    for _ in range(times):
        assert t.record(t.bind(list(players)), placements)


def test_wins_draws_and_losses_are_apart_and_mirrored() -> None:
    t = table()
    play(t, "ab", 1, 2, times=3)
    play(t, "ab", 1, 1, times=2)
    play(t, "ba", 1, 2)
    assert t.pair("a", "b")[:3] == (3, 2, 1)
    assert t.pair("b", "a")[:3] == (1, 2, 3)
    assert t.pair("a", "b").games == 6
    assert t.pair("a", "c").games == 0
    assert t.pair("b", "a").mirrored == pytest.approx(t.pair("a", "b"))


def test_the_prior_holds_until_there_are_enough_games() -> None:
    t = table()
    play(t, "ab", 1, 2, times=19)
    assert t.payoff("a", "b") == 0.5
    play(t, "ab", 1, 2)
    assert t.payoff("a", "b") == 1.0
    assert t.payoff("b", "a") == 0.0
    assert t.payoffs("a", ["b", "c", "a"]).tolist() == [1.0, 0.5, 0.5]
    assert table(prior=0.3).payoff("a", "b") == 0.3


def test_older_games_count_less() -> None:
    t = table(decay=0.9, prior_games=1)
    play(t, "ab", 1, 2, times=10)
    play(t, "ab", 2, 1, times=10)
    won = sum(0.9**k for k in range(10, 20))
    assert t.payoff("a", "b") == pytest.approx(won / sum(0.9**k for k in range(20)))
    assert t.payoff("a", "b") + t.payoff("b", "a") == pytest.approx(1)
    assert t.pair("a", "b")[:3] == (10, 0, 10)


def test_a_free_for_all_counts_once_for_each_pair_and_parity_is_half() -> None:
    assert pair_scores(list("abcd"), [1, 2, 3, 4]) == {
        ("a", "b"): 1,
        ("a", "c"): 1,
        ("a", "d"): 1,
        ("b", "c"): 1,
        ("b", "d"): 1,
        ("c", "d"): 1,
    }
    assert pair_scores(list("baaa"), [2, 1, 3, 4]) == {("a", "b"): pytest.approx(1 / 3)}
    assert pair_scores(list("abab"), [1, 2, 4, 3]) == {("a", "b"): 0.5}
    t = table()
    play(t, "abbb", 2, 1, 3, 4)
    assert t.pair("a", "b")[:3] == (1, 0, 0)
    assert t.placements("a") == {"2/4": 1}
    assert t.placements("b") == {"1/4": 1, "3/4": 1, "4/4": 1}


def test_self_play_is_left_out() -> None:
    t = table()
    play(t, "aa", 1, 2, times=5)
    assert t.pairs() == {}
    assert t.placements("a") == {}
    assert t.payoff("a", "a") == 0.5
    with pytest.raises(ValueError, match="a against itself"):
        t.pair("a", "a")


def test_a_result_whose_players_changed_is_dropped() -> None:
    t = table()
    ticket = t.bind(["a", "b"])
    assert not t.record(ticket, [1, 2], ["a", "c"])
    assert not t.record(ticket, [1, 2], ["b", "a"])
    assert t.dropped == 2
    assert t.record(ticket, [1, 2], ["a", "b"])
    t.reset("a")
    assert not t.record(ticket, [1, 2])
    assert t.dropped == 3
    assert t.pairs() == {}


def test_a_reset_forgets_the_row_and_the_column_and_nothing_else() -> None:
    t = table()
    play(t, "ab", 1, 2)
    play(t, "bc", 1, 2)
    t.reset("a")
    assert t.pair("a", "b").games == t.pair("b", "a").games == 0
    assert t.pair("b", "c").games == 1
    assert t.placements("a") == {}
    play(t, "ab", 1, 2)
    assert t.pair("a", "b").games == 1


def test_it_comes_back_from_json_exactly() -> None:
    t = table()
    play(t, "abc", 1, 2, 2, times=7)
    play(t, "cab", 1, 2, 3, times=30)
    t.reset("b")
    play(t, "ba", 1, 2, times=3)
    t.record(t.bind(["a", "b"]), [1, 2], ["a", "c"])
    back = PayoffTable.from_json(json.loads(json.dumps(t.to_json())))
    assert back.to_json() == t.to_json()
    for some in (t, back):
        play(some, "abc", 3, 1, 2, times=9)
    assert back.to_json() == t.to_json()


BROKEN: list[tuple[Any, str]] = [
    ([], "payoff table: broken"),
    ({}, "payoff table: broken"),
    ({"players": {"a": 0, "b": 0}, "placements": {}, "dropped": 0, "pairs": [["a", "b", 1]]}, r"pairs\[0\] is"),
    ({"players": {"a": 0}, "placements": {}, "dropped": 0, "pairs": [["a", "b", 1, 0, 0, 1, 1]]}, r"pairs\[0\] names 'a' and 'b'"),
    ({"players": {"a": 0, "b": 0}, "placements": {}, "dropped": 0, "pairs": [["b", "a", 1, 0, 0, 1, 1]]}, "alphabetical"),
    ({"players": {"a": 0, "b": 0}, "placements": {}, "dropped": 0, "pairs": [["a", "b", 1, 0, 0, 1, 9]]}, "counts that cannot be"),
]


@pytest.mark.parametrize(("told", "message"), BROKEN)
def test_a_broken_table_is_told(told: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PayoffTable.from_json(told)


@pytest.mark.parametrize("placements", [[1], [1, 2, 3], [0, 1], [math.nan, 1], [math.inf, 1]])
def test_places_that_make_no_sense_are_told(placements: list[float]) -> None:
    t = table()
    with pytest.raises(ValueError, match="match of a, b"):
        t.record(t.bind(["a", "b"]), placements)


def test_unknown_and_double_players_are_told() -> None:
    t = table()
    with pytest.raises(KeyError, match="no player 'z'"):
        t.bind(["a", "z"])
    with pytest.raises(ValueError, match="'a' is there already"):
        t.add("a")
    with pytest.raises(ValueError, match="2 or more"):
        pair_scores(["a"], [1])
    for bad in ({"decay": 0}, {"prior": 2}, {"prior_games": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            PayoffSettings(**bad)
