"""Leagues as jobs: imitation, refinement and a league from what a face asks, stopped between steps, and gone on with as they were."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.progress import Progress
from engine.league_work import Stopped, imitate, league, refine, stop_between_steps
from league.live import read_live
from league.runs import newest_rows
from league.store import LeagueStore

pytestmark = pytest.mark.timeout(240)  # the first import of torch alone takes a minute on a machine with much else to do
SMALL: dict[str, Any] = {"runner": "in-process", "worlds": 2, "ships": 2, "actor_rollouts": 1, "episode_steps": 40}


def folder_of(root: Path, name: str) -> str:
    return str(root / name)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a first policy."""
    made = tmp_path_factory.mktemp("workspace")
    told: list[Progress] = []
    text = imitate(told.append, str(made), folder_of(made, "models/league/a"), pilot_matches=2, judge_matches=0, epochs=1, hidden=16)
    assert text.startswith("1 epochs, validation loss ")
    assert {p.run_dir for p in told} == {folder_of(made, "models/league/a")}
    return made


def stopping_at(count: int) -> Callable[[Progress], None]:
    """A report that has this process asked to stop at its ``count``-th call."""
    calls: list[Progress] = []

    def report(progress: Progress) -> None:
        calls.append(progress)
        if len(calls) == count:
            os.kill(os.getpid(), signal.SIGINT)

    return report


def test_a_league_is_stopped_and_goes_on_with_its_own_settings(root: Path) -> None:
    folder = folder_of(root, "league/l")
    asked = {**SMALL, "rounds": 2, "rl_iterations_per_round": 1, "league_exploiters": 0, "seed": 5, "save_every_s": 0.0}
    with pytest.raises(Stopped, match="it can go on"):
        league(stopping_at(2), str(root), folder, **asked)
    live = read_live(Path(folder))
    assert live is not None
    assert live.state == "stopped"
    first = LeagueStore(Path(folder)).load().state
    assert first["settings"]["seed"] == 5
    text = league(lambda progress: None, str(root), folder, resume=True, rounds=3, seed=77)
    assert text.startswith("3 rounds")
    last = LeagueStore(Path(folder)).load().state
    assert last["settings"] == first["settings"]
    assert last["iterations"] == 6 > first["iterations"]
    live = read_live(Path(folder))
    assert live is not None
    assert (live.state, live.progress.round) == ("done", 3)
    assert (Path(folder) / "report" / "report.html").is_file()
    assert league(lambda progress: None, str(root), folder, resume=True) == "all 3 rounds are played; to go on, ask for more"
    assert LeagueStore(Path(folder)).load().state["course"] == {"rounds": 3, "runner": "in-process", "address": "", "save_every_s": 0.0}


def test_a_refinement_goes_on_beside_a_newer_first_policy(root: Path) -> None:
    folder = folder_of(root, "models/league/r")
    asked = {**SMALL, "evaluate_every": 0, "opponents": "self, expert", "seed": 3}
    assert refine(lambda progress: None, str(root), folder, iterations=2, **asked).startswith("2 iterations")
    imitate(
        lambda progress: None, str(root), folder_of(root, "models/league/z"), pilot_matches=2, judge_matches=0, hidden=16, seed=9, epochs=1
    )
    more = {"iterations": 3, "runner": "in-process", "evaluate_every": 0}
    assert refine(lambda progress: None, str(root), folder, resume=True, **more).startswith("3 iterations")
    assert newest_rows(Path(folder))[0]["iteration"] == 3


def test_an_imitation_goes_on_with_the_same_play(root: Path) -> None:
    folder = folder_of(root, "models/league/i")
    imitate(lambda progress: None, str(root), folder, pilot_matches=2, judge_matches=0, hidden=16, epochs=1, seed=2)
    text = imitate(lambda progress: None, str(root), folder, resume=True, epochs=2, judge_matches=0)
    assert text.startswith("2 epochs")


@pytest.mark.parametrize("resume", [False, True])
def test_an_imitation_that_is_stopped_while_pilots_play_says_so_and_changes_nothing(resume: bool, root: Path) -> None:
    """Not that its data are others, or none."""
    folder = Path(folder_of(root, f"models/league/s{resume:d}"))
    if resume:
        imitate(lambda progress: None, str(root), str(folder), pilot_matches=2, judge_matches=0, hidden=16, epochs=1, seed=2)
    before = {path.name: path.read_bytes() for path in folder.rglob("*")}
    with pytest.raises(KeyboardInterrupt, match="stopped while play was gathered: nothing was changed"):
        imitate(stopping_at(2), str(root), str(folder), resume=resume, pilot_matches=2, judge_matches=0, hidden=16, epochs=2, seed=2)
    assert {path.name: path.read_bytes() for path in folder.rglob("*")} == before


def test_what_there_is_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="make one with secondseat league imitate"):
        league(lambda progress: None, str(tmp_path), folder_of(tmp_path, "league/x"))
    with pytest.raises(Exception, match="no whole checkpoint to go on from"):
        refine(lambda progress: None, str(tmp_path), folder_of(tmp_path, "models/league/x"), resume=True)
    with pytest.raises(Exception, match="no state to go on from"):
        league(lambda progress: None, str(tmp_path), folder_of(tmp_path, "league/x"), resume=True)


def test_a_second_signal_ends_at_once_and_the_old_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_between_steps() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
