"""A league that goes on: as far and by the runner that were last asked for; and one whose start failed, which leaves none behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from league.league import run_league
from league.league_run import LeagueError, LeagueRun, going_on, saved_run
from league.rollout import Chunk, Match
from league.runners.base import RunnerError
from league.store import LeagueStore, StoreError, read_journal, read_state
from tests.league.test_league import FakeRunner, fake, pi_sup, small, stop_after

pytestmark = pytest.mark.timeout(180)  # on a busy machine
__all__ = ["pi_sup"]


class DyingRunner(FakeRunner):
    """Its actors die in the first rollout."""

    def collect(self, matches: Callable[[int], Sequence[Match]], unroll: int) -> list[Chunk]:
        raise RunnerError("actors keep dying")


def no_runner(run: LeagueRun) -> FakeRunner:
    raise RunnerError("no cluster there")


def files_of(folder: Path) -> set[str]:
    """But for the lock."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# as far and by the runner that were last asked for


def test_how_far_and_by_what_is_remembered(pi_sup: Path, tmp_path: Path) -> None:
    run = small(pi_sup, rounds=60, runner="ray", address="auto", save_every_s=7.0)
    assert run_league(run, tmp_path, stop=stop_after(3), runner_for=FakeRunner).interrupted
    begun = saved_run(tmp_path)
    assert (begun.rounds, begun.runner, begun.address, begun.save_every_s) == (60, "ray", "auto", 7.0)
    assert begun.recipe() == run.recipe()
    assert saved_run(tmp_path).supervised is None  # it has its own copy
    assert run_league(begun, tmp_path, stop=stop_after(1), resume=True, runner_for=FakeRunner).interrupted


def test_a_state_of_before_that_was_kept_is_gone_on_from(pi_sup: Path, tmp_path: Path) -> None:
    fake(pi_sup, tmp_path, rounds=1)
    store = LeagueStore(tmp_path)
    state = {name: value for name, value in store.load().state.items() if name != "course"}
    store.save(state, {})
    assert (saved_run(tmp_path).rounds, saved_run(tmp_path).runner) == (LeagueRun().rounds, LeagueRun().runner)
    result = run_league(going_on(saved_run(tmp_path), {"rounds": 2}), tmp_path, resume=True, runner_for=FakeRunner)
    assert (result.rounds, result.idle) == (2, False)
    assert read_state(tmp_path / "league_state.json")["state"]["course"]["rounds"] == 2


def test_what_is_asked_for_counts_even_when_nothing_more_was_saved(pi_sup: Path, tmp_path: Path) -> None:
    fake(pi_sup, tmp_path, rounds=1)
    before = LeagueStore(tmp_path).load()
    with pytest.raises(RunnerError, match="keep dying"):
        run_league(small(pi_sup, rounds=9), tmp_path, resume=True, runner_for=DyingRunner)
    assert saved_run(tmp_path).rounds == 9
    after = LeagueStore(tmp_path).load()
    assert {**after.state, "course": before.state["course"]} == before.state
    assert after.parts == before.parts


def test_another_runner_leaves_the_cluster_behind() -> None:
    begun = LeagueRun(runner="ray", address="10.0.0.1:6379")
    assert going_on(begun, {"rounds": 3}).address == "10.0.0.1:6379"
    assert going_on(begun, {"runner": "in-process"}).address == ""
    assert going_on(LeagueRun(), {"runner": "ray", "address": "auto"}).address == "auto"
    with pytest.raises(LeagueError, match="only for runner ray"):
        going_on(begun, {"runner": "in-process", "address": "auto"})


def test_a_league_that_is_through_says_so_and_plays_nothing(pi_sup: Path, tmp_path: Path) -> None:
    assert not fake(pi_sup, tmp_path, rounds=2).idle
    rows = read_journal(tmp_path / "matches.jsonl")[0]
    for rounds in (1, 2):
        result = run_league(small(pi_sup, rounds=rounds), tmp_path, resume=True, runner_for=FakeRunner)
        assert (result.idle, result.interrupted, result.rounds) == (True, False, 2)
    assert read_journal(tmp_path / "matches.jsonl")[0] == rows
    result = run_league(small(pi_sup, rounds=3), tmp_path, stop=stop_after(0), resume=True, runner_for=FakeRunner)
    assert (result.idle, result.interrupted) == (False, True)


def test_what_was_wrong_at_the_beginning_is_told_at_the_end_however_much_happens(
    pi_sup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league.league._MOST_NOTES", 4)
    fake(pi_sup, tmp_path, rounds=1, save_every_s=0.0)
    (tmp_path / "league_state.json").write_text("{")
    notes = run_league(small(pi_sup, rounds=4), tmp_path, resume=True, runner_for=FakeRunner).notes
    assert "falling back to the previous good state" in notes[0]
    assert any("goes on after" in note for note in notes)
    assert "frozen after" in notes[-1] or "starts anew" in notes[-1]
    assert len(notes) < 10
    assert len(set(notes)) == len(notes)  # a face that says each once leaves out none


# a start that failed


def test_a_runner_that_cannot_be_had_leaves_no_league(pi_sup: Path, tmp_path: Path) -> None:
    for resume in (False, True):
        with pytest.raises(RunnerError, match="no cluster there"):
            run_league(small(pi_sup), tmp_path, resume=resume, runner_for=no_runner)
        assert files_of(tmp_path) == set()
    assert fake(pi_sup, tmp_path, rounds=1).rounds == 1


def test_learners_that_were_hired_before_one_could_not_be_are_let_go(pi_sup: Path, tmp_path: Path) -> None:
    hired: list[str] = []

    class Counted(FakeRunner):
        def close(self) -> None:
            hired.append("closed")

    def two(run: LeagueRun) -> FakeRunner:
        if len(hired) == 2:
            return no_runner(run)
        hired.append("hired")
        return Counted(run)

    with pytest.raises(RunnerError, match="no cluster there"):
        run_league(small(pi_sup), tmp_path, runner_for=two)
    assert hired == ["hired", "hired", "closed", "closed"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_start_that_was_killed_is_no_league_and_another_may_begin(pi_sup: Path, tmp_path: Path, resume: bool) -> None:
    """Killed while the first snapshots were written: of another policy, one of them torn, and a state half written."""
    other = LeagueStore(tmp_path)
    tensors = LeagueStore(pi_sup.parents[1]).read_snapshot("main-1@0", hash_of(pi_sup))
    other.write_snapshot("main-1@0", {name: values + 1 for name, values in tensors.items()}, {})
    (tmp_path / "snapshots" / "main_exploiter-1@0.safetensors").write_bytes(b"torn")
    (tmp_path / "snapshots" / ".main-1@0.json.17-0badcafe.tmp").write_bytes(b"")
    (tmp_path / "parts" / "main-1.000001").mkdir(parents=True)
    assert not other.is_used
    result = run_league(small(pi_sup, rounds=1), tmp_path, resume=resume, runner_for=FakeRunner)
    assert result.rounds == 1
    assert any("a new one began" in note for note in result.notes) == resume
    snapshots = {path.name for path in (tmp_path / "snapshots").glob("main-1@0*")}
    assert snapshots == {"main-1@0.safetensors", "main-1@0.json"}  # what the other start left is not kept
    assert not [note for note in run_again(tmp_path).notes if "does not play" in note]


def hash_of(path: Path) -> str:
    return LeagueStore(path.parents[1]).found_snapshots([path.name])[path.name]


def run_again(folder: Path, **changes: Any) -> Any:
    return run_league(going_on(saved_run(folder), {"rounds": 2, **changes}), folder, resume=True, runner_for=FakeRunner)


def test_a_league_that_lost_its_state_is_not_begun_over(pi_sup: Path, tmp_path: Path) -> None:
    """Snapshots that were learnt are worth something, also without the state and the matches."""
    fake(pi_sup, tmp_path)
    for name in ("league_state.json", "league_state.previous.json", "matches.jsonl"):
        (tmp_path / name).unlink()
    before = {name: (tmp_path / name).read_bytes() for name in files_of(tmp_path)}
    with pytest.raises(StoreError, match="a league is there already"):
        fake(pi_sup, tmp_path)
    with pytest.raises(StoreError, match="no state to go on from"):
        run_league(small(pi_sup), tmp_path, resume=True, runner_for=FakeRunner)
    assert {name: (tmp_path / name).read_bytes() for name in files_of(tmp_path)} == before


def test_the_state_before_is_enough_to_go_on_from(pi_sup: Path, tmp_path: Path) -> None:
    fake(pi_sup, tmp_path, rounds=1, save_every_s=0.0)
    (tmp_path / "league_state.json").unlink()
    assert LeagueStore(tmp_path).has_state
    result = run_again(tmp_path)
    assert result.rounds == 2
    assert "falling back to the previous good state" in result.notes[0]
    (tmp_path / "league_state.json").unlink()
    (tmp_path / "league_state.previous.json").unlink()
    assert not LeagueStore(tmp_path).has_state
