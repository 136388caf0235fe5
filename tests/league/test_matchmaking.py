"""Who plays whom: PFSP's vectors, each role's shares and fallbacks, snapshot before reset, and a state that comes back exactly."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from league.matchmaking import LeagueSettings, Matchmaker, pfsp_weights
from league.payoff import PayoffSettings

X = [0.9, 0.5, 0.1, 1.0]
MAIN, EXPLOITER, LEAGUE = "main-1", "main_exploiter-1", "league_exploiter-1"
M = 1_000_000


def new_league(seed: int = 0, **settings: Any) -> Matchmaker:
    return Matchmaker.new(LeagueSettings(payoff=PayoffSettings(prior_games=1), **settings), seed, "sup")


def play(league: Matchmaker, a: str, b: str, wins: int = 0, losses: int = 0) -> None:
    for placements, times in (([1, 2], wins), ([2, 1], losses)):
        for _ in range(times):
            assert league.table.record(league.table.bind([a, b]), placements)


def freeze(league: Matchmaker, learner: str) -> str:
    snapshot = league.take_snapshot(learner, f"hash of {learner} at {league.learner(learner).frames}")
    if league.learner(learner).reset_pending:
        league.reset(learner)
    return snapshot.id


def branches(league: Matchmaker, learner: str, matches: int = 1000) -> dict[str, float]:
    seen = Counter(league.choose(learner).branch for _ in range(matches))
    return {branch: count / matches for branch, count in seen.items()}


def learnt_from(league: Matchmaker, opponents: int = 1, matches: int = 1000) -> dict[str, float]:
    """Shares of the branches in what a main learns from: all seats of self-play learn, one of any other match."""
    seen: Counter[str] = Counter()
    for _ in range(matches):
        branch = league.choose(MAIN, opponents).branch
        seen[branch] += opponents + 1 if branch == "self_play" else 1
    return {branch: count / sum(seen.values()) for branch, count in seen.items()}


@pytest.mark.parametrize(
    ("weighting", "power", "expected"),
    [
        ("hard", 2, [0.009346, 0.233645, 0.757009, 0]),
        ("hard", 1, [0.066667, 0.333333, 0.6, 0]),
        ("var", 2, [0.209302, 0.581395, 0.209302, 0]),
        ("capped", 2, [0.090909, 0.454545, 0.454545, 0]),
    ],
)
def test_pfsp_vectors(weighting: Any, power: float, expected: list[float]) -> None:
    assert pfsp_weights(X, weighting, power) == pytest.approx(expected, abs=1e-6)


def test_pfsp_without_weight_is_uniform_and_without_players_empty() -> None:
    assert pfsp_weights([1.0, 1.0, 1.0, 1.0]).tolist() == [0.25] * 4
    assert pfsp_weights([1.0, 0.0], "var").tolist() == [0.5, 0.5]
    assert pfsp_weights([]).tolist() == []
    assert pfsp_weights([0.3]).tolist() == [1.0]
    for bad in ([1.1], [-0.1], [float("nan")], [[0.5]]):
        with pytest.raises(ValueError, match=r"within 0\.\.1"):
            pfsp_weights(bad)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="use 'hard', 'var' or 'capped'"):
        pfsp_weights(X, "soft")  # pyright: ignore[reportArgumentType]


def test_a_new_league_has_the_supervised_policy_as_its_first_past_player() -> None:
    league = Matchmaker.new(LeagueSettings(mains=2, league_exploiters=2), 0, "sup")
    assert list(league.learners) == ["main-1", "main-2", EXPLOITER, LEAGUE, "league_exploiter-2"]
    assert league.past() == ["main-1@0", "main-2@0"]
    assert {s.weights_hash for s in league.snapshots.values()} == {"sup"}


@pytest.mark.parametrize("opponents", [1, 3, 7])
def test_a_main_learns_in_its_shares_however_many_seats_there_are(opponents: int) -> None:
    league = new_league()
    freeze(league, EXPLOITER)
    assert learnt_from(league, opponents) == pytest.approx({"self_play": 0.35, "pfsp": 0.5, "forgotten": 0.15}, abs=0.01)
    seen = Counter(league.choose(MAIN, 3).branch for _ in range(1000))
    assert seen["self_play"] == pytest.approx(119, abs=3)  # of the matches


def test_a_main_plays_only_whom_it_should() -> None:
    league = new_league()
    exploiter = freeze(league, EXPLOITER)
    choices = [league.choose(MAIN) for _ in range(1000)]
    assert {c.opponents for c in choices if c.branch == "self_play"} == {(MAIN,)}
    assert {c.opponents for c in choices if c.branch == "forgotten"} == {(exploiter,)}
    assert {c.opponents for c in choices if c.branch == "pfsp"} == {(exploiter,), ("main-1@0",)}


def test_a_main_without_forgotten_ones_plays_itself_instead() -> None:
    league = new_league()
    assert learnt_from(league, 3) == pytest.approx({"self_play": 0.5, "pfsp": 0.5}, abs=0.01)
    play(league, MAIN, "main-1@0", wins=4, losses=6)  # now it is forgotten
    assert learnt_from(league, 3) == pytest.approx({"self_play": 0.35, "pfsp": 0.5, "forgotten": 0.15}, abs=0.01)
    play(league, MAIN, "main-1@0", wins=20)
    assert "forgotten" not in branches(league, MAIN)


def test_a_main_without_any_past_player_plays_itself() -> None:
    league = new_league()
    assert len(league.check_snapshots({})) == 1
    assert branches(league, MAIN, 100) == {"self_play": 1.0}
    assert branches(league, LEAGUE, 100) == {"current_main": 1.0}


def test_a_main_prefers_the_hardest() -> None:
    league = new_league()
    for wins in (9, 5, 1):
        play(league, MAIN, freeze(league, MAIN), wins=wins, losses=10 - wins)
    play(league, MAIN, "main-1@0", wins=10)
    choices = [league.choose(MAIN) for _ in range(4000)]
    seen = Counter(c.opponents[0] for c in choices if c.branch == "pfsp")
    x = league.table.payoffs(MAIN, league.past())
    assert [seen[p] / sum(seen.values()) for p in league.past()] == pytest.approx(pfsp_weights(x).tolist(), abs=0.03)
    assert seen["main-1@0"] == 0


def test_a_main_exploiter_turns_to_snapshots_when_it_loses_too_much() -> None:
    league = new_league()
    freeze(league, LEAGUE)  # not made by a main
    freeze(league, MAIN)
    assert branches(league, EXPLOITER, 100) == {"current_main": 1.0}
    play(league, EXPLOITER, MAIN, wins=1, losses=3)
    assert branches(league, EXPLOITER, 100) == {"current_main": 1.0}
    play(league, EXPLOITER, MAIN, losses=10)
    choices = [league.choose(EXPLOITER) for _ in range(1000)]
    assert sum(c.branch == "main_snapshots" for c in choices) == pytest.approx(500, abs=10)
    assert {c.opponents[0] for c in choices if c.branch == "main_snapshots"} == {"main-1@0", "main-1@1"}
    assert {c.opponents[0] for c in choices if c.branch == "current_main"} == {MAIN}
    league.check_snapshots({})
    assert branches(league, EXPLOITER, 100) == {"current_main": 1.0}


def test_a_main_exploiter_meets_all_mains() -> None:
    league = new_league(mains=3)
    seen = Counter(league.choose(EXPLOITER).opponents[0] for _ in range(600))
    assert set(seen) == {"main-1", "main-2", "main-3"}
    assert min(seen.values()) > 130


def test_a_league_exploiter_plays_all_past_players() -> None:
    league = new_league()
    past = {freeze(league, MAIN), freeze(league, EXPLOITER), freeze(league, LEAGUE), "main-1@0"}
    choices = [league.choose(LEAGUE, opponents=3) for _ in range(200)]
    assert {c.branch for c in choices} == {"pfsp"}
    assert {name for c in choices for name in c.opponents} == past
    assert all(len(c.opponents) == 3 for c in choices)


def test_one_opponent_flies_all_other_seats_as_often_as_asked() -> None:
    league = new_league(one_opponent_share=0.75)
    for _ in range(30):
        freeze(league, MAIN)
    choices = [league.choose(MAIN, opponents=3) for _ in range(2000)]
    past = [len(set(c.opponents)) == 1 for c in choices if c.branch == "pfsp"]
    assert sum(past) / len(past) == pytest.approx(0.75, abs=0.05)
    seen = Counter(c.opponents[0] for c in choices if c.branch == "pfsp")
    assert len(seen) == 31
    assert max(seen.values()) < 3 * min(seen.values())


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_each_seat_is_drawn_for_itself_or_none_is(share: float) -> None:
    league = new_league(one_opponent_share=share)
    for _ in range(30):
        freeze(league, MAIN)
    choices = [league.choose(LEAGUE, opponents=3).opponents for _ in range(200)]
    assert (sum(len(set(opponents)) == 1 for opponents in choices) > 190) is bool(share)


def test_the_mix_seen_is_the_mix_asked_within_two_hundred_matches() -> None:
    league = new_league(seed=7)
    freeze(league, EXPLOITER)
    play(league, EXPLOITER, MAIN, losses=10)
    for _ in range(200):
        for learner in league.learners:
            league.choose(learner)
    rows = {(row.learner, row.branch): row for row in league.mix()}
    assert rows[MAIN, "self_play"].asked == pytest.approx((0.35 / 2) / (0.35 / 2 + 0.65))
    assert {row.matches for row in rows.values()} == {200}
    assert all(row.seen == pytest.approx(row.asked, abs=0.02) for row in rows.values())
    for learner in league.learners:
        assert sum(row.seen for row in rows.values() if row.learner == learner) == pytest.approx(1)


def test_the_mix_tells_what_fell_back() -> None:
    league = new_league()
    for _ in range(100):
        choice = league.choose(MAIN)
        assert choice.branch == ("self_play" if choice.asked == "forgotten" else choice.asked)
    rows = {row.branch: row for row in league.mix()}
    assert rows["forgotten"].asked == pytest.approx(0.1)
    assert rows["forgotten"].seen == 0
    assert rows["self_play"].asked == pytest.approx(0.7 / 3)
    assert rows["self_play"].seen == pytest.approx(1 / 3, abs=0.02)


def test_a_main_is_frozen_every_so_many_frames_and_never_reset() -> None:
    league = new_league()
    league.learnt(MAIN, 5 * M - 1)
    assert not league.due(MAIN)
    league.learnt(MAIN, 1)
    assert "5000000 frames" in league.due(MAIN)
    play(league, MAIN, "main-1@0", wins=5)
    snapshot = league.take_snapshot(MAIN, "one")
    assert (snapshot.id, snapshot.frames, snapshot.weights_hash, snapshot.parent) == ("main-1@1", 5 * M, "one", MAIN)
    assert not league.learner(MAIN).reset_pending
    assert not league.due(MAIN)
    assert league.table.payoff(MAIN, "main-1@0") == 1.0
    with pytest.raises(ValueError, match="no reset is due; take its snapshot first"):
        league.reset(MAIN)


def test_a_main_exploiter_is_frozen_when_it_beats_all_mains_and_then_reset() -> None:
    league = new_league(mains=2)
    play(league, EXPLOITER, "main-1", wins=9, losses=1)
    play(league, EXPLOITER, "main-2", wins=6, losses=4)
    league.learnt(EXPLOITER, M)
    assert not league.due(EXPLOITER)
    play(league, EXPLOITER, "main-2", wins=20)
    assert league.due(EXPLOITER) == "beats all 2 above 0.7"
    snapshot = league.take_snapshot(EXPLOITER, "strong")
    assert league.table.payoff(EXPLOITER, "main-1") > 0.7, "the snapshot is first: nothing is forgotten before it"
    with pytest.raises(ValueError, match="reset it first"):
        league.take_snapshot(EXPLOITER, "again")
    ticket = league.table.bind([EXPLOITER, "main-1"])
    league.reset(EXPLOITER)
    assert league.table.payoff(EXPLOITER, "main-1") == 0.5
    assert league.table.pair(EXPLOITER, "main-1").games == 0
    assert not league.table.record(ticket, [1, 2]), "played by the weights before the reset"
    assert snapshot.id in league.past("main_exploiter")
    assert (league.learner(EXPLOITER).resets, league.learner(EXPLOITER).frames) == (1, M)


def test_an_exploiter_is_not_frozen_too_early_and_at_the_latest_in_time() -> None:
    league = new_league()
    play(league, EXPLOITER, MAIN, wins=10)
    league.learnt(EXPLOITER, M - 1)
    assert not league.due(EXPLOITER)
    league.learnt(EXPLOITER, 1)
    assert league.due(EXPLOITER)
    league.learnt(LEAGUE, 4 * M - 1)
    assert not league.due(LEAGUE)
    league.learnt(LEAGUE, 1)
    assert league.due(LEAGUE) == "time-out after 4000000 frames"
    freeze(league, LEAGUE)
    assert not league.due(LEAGUE)


def test_a_league_exploiter_must_beat_all_past_players() -> None:
    league = new_league()
    freeze(league, MAIN)
    league.learnt(LEAGUE, M)
    play(league, LEAGUE, "main-1@0", wins=10)
    assert not league.due(LEAGUE)
    play(league, LEAGUE, "main-1@1", wins=10)
    assert league.due(LEAGUE) == "beats all 2 above 0.7"


def test_who_has_not_played_is_not_beaten() -> None:
    league = Matchmaker.new(LeagueSettings(), 0, "sup")
    league.learnt(EXPLOITER, M)
    play(league, EXPLOITER, MAIN, wins=19)
    assert not league.due(EXPLOITER)
    play(league, EXPLOITER, MAIN, wins=1)
    assert league.due(EXPLOITER)


def test_a_league_exploiter_is_reset_a_quarter_of_the_time() -> None:
    league = new_league()
    for _ in range(400):
        freeze(league, LEAGUE)
    assert league.learner(LEAGUE).resets == pytest.approx(100, abs=30)
    assert league.learner(LEAGUE).snapshots == 400


def test_every_role_has_a_snapshot_after_its_limit() -> None:
    league, random = new_league(seed=3, main_snapshot_frames=2 * M), np.random.default_rng(0)
    for _ in range(200):
        for learner in league.learners:
            opponent = league.choose(learner).opponents[0]
            if opponent != learner:
                league.table.record(league.table.bind([learner, opponent]), [1, 2] if random.random() < 0.5 else [2, 1])
            league.learnt(learner, 50_000)
            if league.due(learner):
                freeze(league, learner)
    assert league.learner(MAIN).snapshots == 5
    assert league.learner(EXPLOITER).snapshots >= 2
    assert league.learner(EXPLOITER).resets == league.learner(EXPLOITER).snapshots
    assert league.learner(LEAGUE).snapshots >= 2


def test_missing_and_changed_snapshots_are_benched_and_told() -> None:
    league = new_league()
    one, two = freeze(league, MAIN), freeze(league, MAIN)
    there = {s.id: s.weights_hash for s in league.snapshots.values()}
    told = league.check_snapshots({**there, one: "other"} | {two: there[two]})
    assert len(told) == 1
    assert told[0].startswith(f"{one} does not play: its file has other weights")
    assert league.past() == ["main-1@0", two]
    del there[two]
    assert "is missing" in league.check_snapshots(there)[0]
    assert one in league.past()
    assert two not in league.past()
    assert all(two not in league.choose(LEAGUE).opponents for _ in range(50))


def lived(seed: int = 5) -> Matchmaker:
    league, random = new_league(seed), np.random.default_rng(seed)
    for _ in range(60):
        for learner in league.learners:
            opponent = league.choose(learner).opponents[0]
            if opponent != learner:
                league.table.record(league.table.bind([learner, opponent]), list(random.integers(1, 3, size=2)))
            league.learnt(learner, 200_000)
            if league.due(learner):
                freeze(league, learner)
    return league


def test_a_league_from_json_goes_on_as_if_nothing_had_happened() -> None:
    league = lived()
    back = Matchmaker.from_json(json.loads(json.dumps(league.to_json())), league.settings)
    assert back.to_json() == league.to_json()
    for _ in range(100):
        for learner in league.learners:
            assert back.choose(learner, 3) == league.choose(learner, 3)
        assert freeze(back, LEAGUE) == freeze(league, LEAGUE)
    assert back.to_json() == league.to_json()
    assert back.mix() == league.mix()


def test_the_seed_decides() -> None:
    assert lived(5).to_json() == lived(5).to_json()
    assert lived(5).to_json() != lived(6).to_json()


def broken(change: dict[str, Any]) -> dict[str, Any]:
    return {**json.loads(json.dumps(new_league().to_json())), **change}


@pytest.mark.parametrize(
    "told",
    [
        {},
        [],
        broken({"format": 2}),
        broken({"learners": []}),
        broken({"learners": [{"name": "x"}]}),
        broken({"random": {}}),
        broken({"table": {}}),
    ],
)
def test_a_broken_state_is_told(told: Any) -> None:
    with pytest.raises(ValueError, match=r"league state: broken .*previous good state"):
        Matchmaker.from_json(told, LeagueSettings())


def test_a_state_without_rows_for_its_players_is_told() -> None:
    told = broken({})
    del told["table"]["players"]["main-1@0"]
    with pytest.raises(ValueError, match=r"players without a row: \['main-1@0'\]"):
        Matchmaker.from_json(told, LeagueSettings())


def test_wrong_questions_are_told() -> None:
    league = new_league()
    with pytest.raises(KeyError, match="no learner 'x'; there are main-1"):
        league.choose("x")
    with pytest.raises(ValueError, match="0 opponents"):
        league.choose(MAIN, 0)
    with pytest.raises(ValueError, match="less than 0"):
        league.learnt(MAIN, -1)
    with pytest.raises(ValueError, match="needs the hash"):
        league.take_snapshot(MAIN, "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"main_self_play": 0.5}, "are 1.15 together; they must be 1"),
        ({"mains": 0}, "at least one main"),
        ({"exploiter_beats": 1.5}, "exploiter_beats 1.5; use 0 to 1"),
        ({"main_reset_share": 5}, "main_reset_share 5; use 0 to 1"),
        ({"pfsp_power": -1}, "pfsp_power -1"),
        ({"exploiter_least_frames": 5 * M}, "the least not above the most"),
    ],
)
def test_settings_out_of_range_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeagueSettings(**change)


def test_defaults_are_the_documented_ones() -> None:
    s = LeagueSettings()
    assert (s.main_self_play, s.main_pfsp, s.main_forgotten, s.pfsp_power) == (0.35, 0.5, 0.15, 2)
    assert (s.payoff.decay, s.payoff.prior, s.payoff.prior_games, s.forgotten_below) == (0.995, 0.5, 20, 0.5)
    assert (s.main_snapshot_frames, s.exploiter_least_frames, s.exploiter_most_frames, s.exploiter_beats) == (5 * M, M, 4 * M, 0.7)
    assert (s.struggling_below, s.struggling_share) == (0.2, 0.5)
    assert s.one_opponent_share == 0.75
    assert (s.main_reset_share, s.main_exploiter_reset_share, s.league_exploiter_reset_share) == (0, 1, 0.25)
