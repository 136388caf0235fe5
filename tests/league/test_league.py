"""The league's loop: whatever stops it, going on gives the run that never stopped; nothing is counted twice, nothing good is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from league.league import run_league
from league.league_run import LeagueError, LeagueProgress, LeagueResult, LeagueRun, going_on, saved_run
from league.losses import UpdateSettings
from league.matchmaking import LeagueSettings, Matchmaker
from league.network import ActorCritic
from league.payoff import PayoffSettings
from league.report import make_report
from league.results import count_matches
from league.rollout import Chunk, Match, Played
from league.runners.base import RunnerState, Weights, weights_of
from league.store import LeagueStore, StoreError, read_journal, read_state, weights_hash

pytestmark = pytest.mark.timeout(180)  # on a busy machine


@pytest.fixture(scope="module")
def pi_sup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = LeagueStore(tmp_path_factory.mktemp("supervised"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        store.write_snapshot("main-1@0", weights_of(ActorCritic(16)), {})
    return store.snapshot_path("main-1@0")


def small(pi_sup: Path, **changes: Any) -> LeagueRun:
    """A league of a few thousand frames: real worlds, one main snapshot in each round or two, exploiters that time out."""
    values: dict[str, Any] = {
        "supervised": pi_sup,
        "rounds": 2,
        "rl_iterations_per_round": 2,
        "ships": 2,
        "worlds": 4,
        "stagger": 1,
        "runner": "in-process",
        "episode_steps": 40,
        "pseudo_reward_scale": 0.5,
        "updates": UpdateSettings(unroll_steps=16, sequences=4, learning_rate=1e-2),
        "league": LeagueSettings(
            main_snapshot_frames=200, exploiter_least_frames=100, exploiter_most_frames=200, payoff=PayoffSettings(prior_games=1)
        ),
    }
    return LeagueRun(**{**values, **changes})


def outcome(folder: Path) -> dict[str, Any]:
    """All that must be the same: journals, snapshots, learners' tensors, replays and worlds, and the state's numbers."""
    told = read_state(folder / "league_state.json")
    files = {name: (folder / name).read_bytes() for name in ("matches.jsonl", "metrics.jsonl")}
    files |= {path.name: path.read_bytes() for path in (folder / "snapshots").glob("*.safetensors")}
    parts = {name: about["files"] for name, about in told["parts"].items()}
    return {"files": files, "parts": parts, "state": {k: v for k, v in told["state"].items() if k not in ("settings", "course")}}


@pytest.fixture(scope="module")
def whole(pi_sup: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "league"
    assert not run_league(small(pi_sup), folder).interrupted
    return folder


def stop_after(count: int) -> Callable[[], bool]:
    asked = iter(range(count + 1))
    return lambda: next(asked) >= count


def test_a_stopped_league_goes_on_as_if_it_never_had(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    result = run_league(small(pi_sup), tmp_path, stop=stop_after(0))
    assert (result.interrupted, result.rounds, result.matches) == (True, 0, 0)
    sittings = 0
    while result.interrupted:
        result = run_league(small(pi_sup, supervised=None), tmp_path, stop=stop_after(1 + sittings % 4), resume=True)
        sittings += 1
    assert sittings > 4
    assert outcome(tmp_path) == outcome(whole)
    assert result.summary["matches"] == len((tmp_path / "matches.jsonl").read_text().splitlines())


def test_rounds_in_two_sittings_are_rounds_in_one(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    begun = run_league(small(pi_sup, rounds=1), tmp_path, resume=True)
    assert begun.rounds == 1
    assert "a new one began" in begun.notes[0]
    assert run_league(small(pi_sup), tmp_path, resume=True).rounds == 2
    assert outcome(tmp_path) == outcome(whole)


def test_another_seed_is_another_league(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    run_league(small(pi_sup, seed=1, rounds=1), tmp_path)
    ours, theirs = (read_journal(folder / "matches.jsonl")[0] for folder in (tmp_path, whole))
    assert [row["players"] for row in ours] != [row["players"] for row in theirs[: len(ours)]]


DRIVER = """
    import os, pickle, signal, sys, time
    from pathlib import Path
    import torch
    torch.set_num_threads(1)
    from league.league import run_league

    run, folder, moments = pickle.load(sys.stdin.buffer)
    lines = lambda: (folder / "metrics.jsonl").read_bytes().count(b"\\n") if (folder / "metrics.jsonl").exists() else 0
    for iterations, wait_s in moments:
        began = lines()
        child = os.fork()
        if not child:
            run_league(run, folder, resume=True)
            os._exit(0)
        while lines() < began + iterations and not os.waitpid(child, os.WNOHANG)[0]:
            time.sleep(0.001)
        time.sleep(wait_s)
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue
        os.waitpid(child, 0)
        print("killed after", lines() - began, "iterations", flush=True)
    print(run_league(run, folder, resume=True).notes)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs fork and kill -9")
def test_killed_at_random_moments_it_goes_on_to_the_same_weights(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    import pickle

    seed = random.randrange(10**6)
    dice = random.Random(seed)
    moments = [(dice.randrange(1, 5), dice.random() * 0.05) for _ in range(3)]
    told = pickle.dumps((small(pi_sup, save_every_s=0.02), tmp_path / "league", moments))
    code = textwrap.dedent(DRIVER)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], input=told, capture_output=True, check=False, timeout=170)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"killed after") >= 2, done.stdout
    assert outcome(tmp_path / "league") == outcome(whole), f"moments of seed {seed}: {moments}"


def test_interrupted_in_the_middle_of_an_iteration(pi_sup: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from league.trainee import Trainee

    learn, calls = Trainee.learn, iter(range(100))

    def interrupted(self: Trainee) -> int:
        if next(calls) == 7:
            raise KeyboardInterrupt
        return learn(self)

    monkeypatch.setattr(Trainee, "learn", interrupted)
    result = run_league(small(pi_sup, save_every_s=0.0), tmp_path)
    assert result.interrupted
    assert "played again when it goes on" in result.notes[-1]
    assert not run_league(small(pi_sup), tmp_path, resume=True).interrupted
    assert outcome(tmp_path) == outcome(whole)


def test_a_torn_state_falls_back_to_the_one_before_and_ends_the_same(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    run_league(small(pi_sup, save_every_s=0.0), tmp_path, stop=stop_after(9))
    state = tmp_path / "league_state.json"
    state.write_bytes(state.read_bytes()[:1000])
    result = run_league(small(pi_sup), tmp_path, resume=True)
    assert any("torn" in note and "falling back to the previous good state" in note for note in result.notes)
    assert any("goes on after 8 iterations" in note for note in result.notes)
    assert (tmp_path / "league_state.json.corrupt").stat().st_size == 1000
    assert outcome(tmp_path) == outcome(whole)


def test_without_any_good_state_nothing_is_touched(pi_sup: Path, tmp_path: Path) -> None:
    run_league(small(pi_sup, rounds=1), tmp_path)
    for name in ("league_state.json", "league_state.previous.json"):
        (tmp_path / name).write_text("{")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match="no state to go on from"):
        run_league(small(pi_sup), tmp_path, resume=True)
    with pytest.raises(StoreError, match="a league is there already"):
        run_league(small(pi_sup), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("harm", ["missing", "altered"])
def test_a_league_without_one_of_its_snapshots_plays_on_and_says_so(pi_sup: Path, tmp_path: Path, harm: str) -> None:
    run_league(small(pi_sup, rounds=1), tmp_path)
    file = tmp_path / "snapshots" / "main-1@1.safetensors"
    content = file.read_bytes()
    file.unlink()
    if harm == "altered":
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    played = len(read_journal(tmp_path / "matches.jsonl")[0])
    result = run_league(small(pi_sup), tmp_path, resume=True)
    why = "its file is missing" if harm == "missing" else "its file has other weights"
    assert any(f"main-1@1 does not play: {why}" in note for note in result.notes)
    rows = read_journal(tmp_path / "matches.jsonl")[0]
    assert len(rows) > played
    assert all("main-1@1" not in row["players"] for row in rows[played:])
    report = make_report(tmp_path)
    assert next(p for p in report.players if p.id == "main-1@1").benched == why
    assert not [note for note in report.notes if "differs" in note]
    file.write_bytes(content)
    again = run_league(small(pi_sup, rounds=3), tmp_path, resume=True, stop=stop_after(0))
    assert not any("does not play" in note for note in again.notes)


def test_the_report_counts_what_the_live_table_says(whole: Path) -> None:
    state = read_state(whole / "league_state.json")["state"]
    rows, notes = read_journal(whole / "matches.jsonl")
    assert notes == []
    makers = Matchmaker.from_json(state["matchmaker"], LeagueSettings(payoff=PayoffSettings(prior_games=1)))
    found = count_matches(rows, PayoffSettings(prior_games=1), lives=makers.table.lives)
    assert found.table.pairs() == makers.table.pairs()
    assert {player: found.elo.rating(player) for player in state["elo"]["ratings"]} == pytest.approx(state["elo"]["ratings"], abs=1e-9)
    report = make_report(whole)
    assert (report.matches, report.rounds) == (len(rows), 2)
    assert not [note for note in report.notes if "differs" in note]
    assert {row.learner for row in report.mix} == set(makers.learners)
    assert report.elo_mean == pytest.approx(1000, abs=1e-6)


def test_a_frozen_snapshot_never_changes(pi_sup: Path, whole: Path) -> None:
    state = read_state(whole / "league_state.json")["state"]
    frozen = {s["id"]: s["weights_hash"] for s in state["matchmaker"]["snapshots"]}
    assert len(frozen) > 3
    assert len(set(frozen.values())) == len(frozen)
    assert LeagueStore(whole).found_snapshots(frozen) == frozen


def test_exploiters_start_anew_from_the_supervised_policy(pi_sup: Path, tmp_path: Path) -> None:
    run = small(pi_sup, league=LeagueSettings(exploiter_least_frames=1, exploiter_most_frames=1), rounds=1, rl_iterations_per_round=1)
    result = run_league(run, tmp_path)
    assert "main_exploiter-1 starts anew from the supervised policy (life 2)" in result.notes
    state = LeagueStore(tmp_path).load()
    from data import checkpoint

    learner = checkpoint.load(state.parts["main_exploiter-1"] / "learner").tensors
    supervised = checkpoint.load(pi_sup).tensors
    assert all(np.array_equal(learner[name], values) for name, values in supervised.items())
    snapshot = LeagueStore(tmp_path).found_snapshots(["main_exploiter-1@1"])["main_exploiter-1@1"]
    assert snapshot != weights_hash(supervised)  # frozen before it was reset
    assert not [n for n, match in state.state["open"].items() if match[0] == "main_exploiter-1"]


def test_settings_reach_the_runner() -> None:
    run = LeagueRun(runner="processes", actors=3, worlds=5, stagger=4, updates=UpdateSettings(unroll_steps=32))
    told = run.runner_settings()
    assert (told.actors, told.rollout.worlds, told.stagger, told.unroll, told.ahead) == (3, 5, 4, 32, True)
    assert not replace(run, ahead=False).runner_settings().ahead
    assert not replace(run, runner="in-process").runner_settings().ahead
    with pytest.raises(LeagueError, match="stagger 0"):
        replace(run, stagger=0)


def test_settings_that_differ_are_told_and_change_nothing(pi_sup: Path, whole: Path, tmp_path: Path) -> None:
    before = outcome(whole)
    with pytest.raises(LeagueError, match=r"worlds: was 4, here 5; seed: was 0, here 9"):
        run_league(small(pi_sup, worlds=5, seed=9), whole, resume=True)
    assert outcome(whole) == before
    with pytest.raises(LeagueError, match="no supervised policy"):
        run_league(small(pi_sup, supervised=None), tmp_path / "new", resume=True)
    for wrong in ({"rounds": 0}, {"ships": 9}, {"save_every_s": -1.0}, {"learner_updates": 0}):
        with pytest.raises(LeagueError, match=f"league run: {next(iter(wrong))}"):
            small(pi_sup, **wrong)


def test_the_learning_rate_of_a_main_falls_over_an_hour() -> None:
    updates = LeagueRun().updates
    assert [updates.learning_rate_at(frames) for frames in (0, 60_000_000, 120_000_000, 300_000_000)] == pytest.approx(
        [5e-4, 2.55e-4, 1e-5, 1e-5]
    )


def test_a_league_of_before_a_setting_was_there_goes_on_by_what_it_was_begun_with(pi_sup: Path, tmp_path: Path) -> None:
    each_for_itself = replace(small(pi_sup).league, one_opponent_share=0.0)
    begun = small(pi_sup, rounds=1, ships=3, league=each_for_itself)
    for folder in ("before", "straight"):
        run_league(begun, tmp_path / folder)
    before = LeagueStore(tmp_path / "before")
    settings = dict(before.load().state["settings"])
    before.amend({"settings": {**settings, "league": {k: v for k, v in settings["league"].items() if k != "one_opponent_share"}}})
    assert "one_opponent_share" not in before.load().state["settings"]["league"]
    assert saved_run(before.folder).league == each_for_itself
    assert make_report(before.folder).matches
    with pytest.raises(LeagueError, match="one_opponent_share"):
        run_league(replace(begun, rounds=2, league=replace(each_for_itself, one_opponent_share=0.75)), before.folder, resume=True)
    for folder in ("before", "straight"):
        run_league(going_on(saved_run(tmp_path / folder), {"rounds": 2}), tmp_path / folder, resume=True)
    assert outcome(before.folder) == outcome(tmp_path / "straight")


# against a runner that decides by itself who wins


class FakeRunner:
    """Every match is over after one collect; the alphabetically first player wins. ``late`` holds matches back for a collect."""

    late = False

    def __init__(self, run: LeagueRun) -> None:
        self.run, self.weights, self.held = run, dict[str, int](), list[Match]()

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        assert self.weights.get(player, -1) <= version
        self.weights[player] = version

    def set_reference(self, weights: Weights | None) -> None:
        assert weights is not None

    def collect(self, matches: Callable[[int], Sequence[Match]], unroll: int) -> list[Chunk]:
        assert unroll == self.run.updates.unroll_steps
        fresh = list(matches(self.run.worlds - len(self.held)))
        assert {p for match in fresh for p in match.players} <= self.weights.keys()
        over, self.held = ([*self.held], fresh) if self.late else ([*self.held, *fresh], [])
        return [Chunk(None, tuple(self._over(match) for match in over), 100, 200)]

    @staticmethod
    def _over(match: Match) -> Played:
        ranked = sorted(match.players)
        return Played(match, tuple(float(ranked.index(p)) + 1 + (ranked.count(p) - 1) / 2 for p in match.players), 30, False)

    def drop(self) -> list[Match]:
        dropped, self.held = self.held, []
        return dropped

    def state(self) -> RunnerState:
        return RunnerState({}, {"held": [[m.number, list(m.players), list(m.learning)] for m in self.held]})

    def restore(self, state: RunnerState) -> None:
        self.held = [Match(n, tuple(p), tuple(s)) for n, p, s in state.head["held"]]

    def close(self) -> None:
        self.held = []


class LateRunner(FakeRunner):
    late = True


def fake(pi_sup: Path, folder: Path, make: Any = FakeRunner, **changes: Any) -> LeagueResult:
    return run_league(small(pi_sup, **changes), folder, runner_for=make)


def test_opponents_come_as_asked_and_every_role_is_frozen_in_time(pi_sup: Path, tmp_path: Path) -> None:
    rules = LeagueSettings(main_snapshot_frames=2000, exploiter_least_frames=1500, exploiter_most_frames=3000)
    result = fake(pi_sup, tmp_path, rounds=10, rl_iterations_per_round=5, ships=4, league=rules)
    report = make_report(tmp_path)
    main = {row.branch: row for row in report.mix if row.learner == "main-1"}
    assert main["pfsp"].matches >= 200
    for row in main.values():
        assert row.seen == pytest.approx(row.asked, abs=0.08)
    roles = {p.kind for p in report.players if p.frozen and "@0" not in p.id}
    assert roles == {"main", "main_exploiter", "league_exploiter"}
    assert result.summary["self_play"] > 0
    assert report.elo_mean == pytest.approx(1000, abs=1e-6)
    assert not [note for note in report.notes if "differs" in note]


def test_a_match_that_ends_after_a_reset_is_not_counted(pi_sup: Path, tmp_path: Path) -> None:
    """Only the main starts anew, in the midst of the matches that exploiters play with it."""
    rules = LeagueSettings(main_snapshot_frames=1, main_reset_share=1.0, main_exploiter_reset_share=0.0, league_exploiter_reset_share=0.0)
    fake(pi_sup, tmp_path, LateRunner, rounds=6, rl_iterations_per_round=1, actor_rollouts=3, league=rules)
    rows, _ = read_journal(tmp_path / "matches.jsonl")
    report = make_report(tmp_path)
    dropped = [row for row in rows if not row["counted"]]
    assert report.dropped == len(dropped) > 0
    assert {row["learner"] for row in dropped} == {"main_exploiter-1"}
    assert all("main-1" in row["players"] for row in dropped)
    assert len({row["match"] for row in rows}) == len(rows)

    table = read_state(tmp_path / "league_state.json")["state"]["matchmaker"]["table"]
    of_now = [row["players"] for row in rows if row["lives"] == [table["players"][player] for player in row["players"]]]
    expected = Counter(tuple(sorted(set(players))) for players in of_now if len(set(players)) == 2)
    assert expected["main-1", "main_exploiter-1"] > 0
    assert {(a, b): wins + draws + losses for a, b, wins, draws, losses, *_ in table["pairs"]} == expected
    assert not [note for note in report.notes if "differs" in note]


def test_ratings_go_on_and_their_mean_stays(pi_sup: Path, tmp_path: Path) -> None:
    fake(pi_sup, tmp_path, rounds=2)
    before = make_report(tmp_path)
    run_league(small(pi_sup, rounds=4), tmp_path, resume=True, runner_for=FakeRunner)
    after = make_report(tmp_path)
    told = read_state(tmp_path / "league_state.json")["state"]["elo"]["ratings"]
    assert before.elo["main-1"] != 1000
    assert (before.elo_mean, after.elo_mean) == pytest.approx((1000, 1000), abs=1e-6)
    assert {player: after.elo[player] for player in told} == pytest.approx(told, abs=1e-6)
    rows, _ = read_journal(tmp_path / "matches.jsonl")
    assert before.elo["main-1"] == pytest.approx(count_matches(rows[: before.matches]).elo.rating("main-1"), abs=1e-6)


def test_progress_has_all_that_a_pane_shows(pi_sup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.league._REPORT_S", 0.0)
    told: list[LeagueProgress] = []
    run_league(small(pi_sup, rounds=2), tmp_path, report=told.append, runner_for=FakeRunner)
    assert [p.done for p in told] == pytest.approx([(i + 1) / 12 for i in range(12)])
    assert [(p.round, p.learner, p.iteration) for p in told[:3]] == [(1, "main-1", 1), (1, "main-1", 2), (1, "main_exploiter-1", 1)]
    last = told[-1]
    assert (last.round, last.rounds, last.iteration, last.iterations, last.eta_s) == (2, 2, 2, 2, 0.0)
    assert last.frames == 12 * 200
    assert last.frames_per_s > 0
    names = [p.id for p in last.players]
    assert last.payoffs.shape == last.games.shape == (len(names), len(names))
    assert last.payoffs + last.payoffs.T == pytest.approx(np.ones_like(last.payoffs))
    assert (last.games == last.games.T).all()
    assert last.games.sum() > 0
    assert set(last.ratings) <= set(names)
    assert sum(last.elo.values()) / len(last.elo) == pytest.approx(1000)
    assert any("frozen after" in note for note in last.notes)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["matches"] == last.matches
    assert summary["interrupted"] is False


@pytest.mark.parametrize("left", ["metrics.jsonl", "checkpoint_iteration_4.safetensors"])
def test_a_league_does_not_begin_where_a_policy_was_refined(left: str, pi_sup: Path, tmp_path: Path) -> None:
    """Its rows among those of the refinement would end that for good."""
    (tmp_path / left).write_text("{}\n")
    with pytest.raises(StoreError, match="a policy was refined there"):
        run_league(small(pi_sup), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [left]
