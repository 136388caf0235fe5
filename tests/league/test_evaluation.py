"""Judging a league: frozen weights in paired worlds, as many games a pair as asked for, and a best response with a fixed budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from league.evaluation import best_response, duels, evaluate, frozen_league, payoff_of
from league.league import run_league
from league.league_run import LeagueError, LeagueRun
from league.losses import UpdateSettings
from league.matchmaking import LeagueSettings
from league.network import ActorCritic
from league.report import make_report
from league.rollout import Match, Played
from league.runners.base import weights_of
from league.store import LeagueStore, StoreError, read_journal

pytestmark = pytest.mark.timeout(180)  # on a busy machine


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("league")
    store = LeagueStore(folder / "supervised")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        store.write_snapshot("main-1@0", weights_of(ActorCritic(16)), {})
    run = LeagueRun(
        supervised=store.snapshot_path("main-1@0"),
        rounds=2,
        rl_iterations_per_round=1,
        ships=2,
        worlds=4,
        runner="in-process",
        episode_steps=40,
        pseudo_reward_scale=0.5,
        updates=UpdateSettings(unroll_steps=16, sequences=4),
        league=LeagueSettings(main_snapshot_frames=100, exploiter_least_frames=50, exploiter_most_frames=100),
    )
    run_league(run, folder / "run")
    return folder / "run"


def test_every_main_meets_every_snapshot_as_often_as_asked(league: Path) -> None:
    told: list[float] = []
    assert evaluate(league, matches=12, report=lambda progress: told.append(progress.done)) == []
    rows, _ = read_journal(league / "evaluation.jsonl")
    frozen = frozen_league(league)
    past = frozen.makers.past()
    assert len(rows) == 12 * len(past)
    assert {row["players"][1] for row in rows} == set(past)
    assert {row["players"][0] for row in rows} == {"main-1"}
    assert told == sorted(told)
    report = make_report(league)
    (proxy,) = report.proxies
    assert proxy.source == "evaluation"
    assert proxy.found.unplayed == ()
    assert proxy.found.games == 12
    assert not [note for note in report.notes if "evaluate" in note]
    assert "(evaluation)" in report.text()
    own = [name for name in past if name.startswith("main-1@")]
    old = past[: past.index(own[-2]) + 1]  # the rest was frozen since, exploiters too
    assert len(old) < len(past) - 1
    assert proxy.found.worst in old
    assert proxy.found.newest_worst in past[len(old) :]


def test_pairs_meet_in_the_same_worlds_whoever_else_is_judged(league: Path) -> None:
    frozen = frozen_league(league)
    first = duels(frozen.run, "main-1", "main-1@0", frozen.weights, 6)
    again = duels(frozen.run, "main-1", "main-1@0", frozen.weights, 6)
    more = duels(frozen.run, "main-1", "main-1@0", frozen.weights, 9)
    assert first is not None
    assert more is not None
    assert first == again == more[:6]
    assert [one.match.number for one in more] == list(range(9))
    twin = duels(frozen.run, "main-1", "twin", {**frozen.weights, "twin": frozen.weights["main-1@0"]}, 6)
    assert twin is not None
    assert [one.placements for one in twin] == [one.placements for one in first]
    assert duels(frozen.run, "main-1", "main-1@0", frozen.weights, 6, stop=lambda: True) is None


def test_an_evaluation_that_was_made_before_more_was_learnt_is_told(league: Path) -> None:
    evaluate(league, matches=2)
    rows = (league / "evaluation.jsonl").read_text()
    (league / "evaluation.jsonl").write_text(rows.replace('"frames": ', '"frames": 1'))
    assert any("evaluate it again" in note for note in make_report(league).notes)


def test_a_stopped_evaluation_keeps_the_older_one(league: Path) -> None:
    evaluate(league, matches=2)
    before = (league / "evaluation.jsonl").read_bytes()
    assert "stopped" in evaluate(league, matches=3, stop=lambda: True)[-1]
    assert (league / "evaluation.jsonl").read_bytes() == before
    with pytest.raises(LeagueError, match="0 matches of a pair"):
        evaluate(league, matches=0)
    with pytest.raises(StoreError, match="no state to go on from"):
        evaluate(league / "absent")


def test_a_payoff_counts_each_match_once() -> None:
    match = Match(0, ("me", "b", "b", "b"), (False,) * 4)
    played = [Played(replace_number(match, n), places, 1, False) for n, places in enumerate([(1, 2, 3, 4), (4, 1, 2, 3), (2, 1, 3, 4)])]
    assert payoff_of(played).value == pytest.approx((1 + 0 + 2 / 3) / 3)
    turned = [Played(Match(0, ("z", "a"), (False, False)), (1.0, 2.0), 1, False)]
    assert payoff_of(turned).value == 1.0


def replace_number(match: Match, number: int) -> Match:
    return match._replace(number=number)


def test_a_best_response_learns_for_its_budget_and_changes_nothing_else(league: Path) -> None:
    before = {path: path.read_bytes() for path in league.rglob("*") if path.is_file()}
    found = best_response(league, budget=300, matches=8)
    assert found is not None
    assert 300 <= found.frames < 300 + 4 * 16
    assert found.matches == 8
    assert found.after.low <= found.after.value <= found.after.high
    after = {path: path.read_bytes() for path in league.rglob("*") if path.is_file() and path.name != "best_response.json"}
    assert after == before
    report = make_report(league)
    assert report.best_responses == {"main-1": found.to_json()}
    assert report.to_json()["best_responses"]["main-1"]["frames"] == found.frames
    assert "a fresh exploiter" in report.text()
    assert best_response(league, budget=300, matches=8) == found  # all of it hangs on the seed
    old = {"main-2": {**found.to_json(), "main": "main-2"}, "main-1": {**found.to_json(), "main_frames": 1}}
    (league / "best_response.json").write_text(json.dumps(old))
    stale = make_report(league)
    assert [*stale.best_responses] == ["main-2", "main-1"]
    assert any("the best response to main-1 is to what it was after 1 frames" in note for note in stale.notes)
    assert best_response(league, budget=300, matches=8) == found
    both = make_report(league)
    assert both.best_responses == {"main-1": found.to_json(), "main-2": old["main-2"]}  # that of another main stays
    assert "best response to main-2" in both.text()
    assert not any("best response" in note for note in both.notes)
    (league / "best_response.json").write_text('{"main-1": {}}')
    assert any("best_response.json: cannot be read" in note for note in make_report(league).notes)
    (league / "best_response.json").unlink()
    assert best_response(league, budget=300, matches=8, stop=lambda: True) is None
    assert not (league / "best_response.json").exists()
    for wrong in ({"main": "main-2"}, {"budget": 0}, {"matches": 0}):
        with pytest.raises(LeagueError, match="best response to"):
            best_response(league, **{"budget": 1, "matches": 1, **wrong})  # pyright: ignore[reportArgumentType]
