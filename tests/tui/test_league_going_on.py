"""``secondseat league run --resume`` from the front door: as it was begun and no further, and what a person is told of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main

import league.league
from league.league_run import LeagueResult, LeagueRun, saved_run
from league.runners.base import RunnerError
from tests.tui.test_league_runs import LEAGUE, Run, run
from tui.cli import COMMANDS
from tui.commands.league import app
from tui.commands.league_run import _notes  # pyright: ignore[reportPrivateUsage]

__all__ = ["run"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[LeagueRun]:
    """The settings of every league that was played."""
    seen: list[LeagueRun] = []
    play = league.league.run_league

    def noted(run: LeagueRun, *rest: Any, **more: Any) -> LeagueResult:
        seen.append(run)
        return play(run, *rest, **more)

    monkeypatch.setattr("league.league.run_league", noted)
    return seen


def stopped_after(monkeypatch: pytest.MonkeyPatch, count: int) -> Callable[[], None]:
    """Leagues are asked to stop after so many iterations, until what is returned is called."""
    play = league.league.run_league

    def stopped(settings: LeagueRun, folder: Path, report: Any, stop: Any, resume: bool) -> LeagueResult:
        asked = iter(range(count + 1))
        return play(settings, folder, report, lambda: next(asked) >= count, resume)

    monkeypatch.setattr("league.league.run_league", stopped)
    return lambda: monkeypatch.setattr("league.league.run_league", play)


def test_it_goes_on_as_far_and_by_the_runner_it_was_begun_with(
    run: Run, asked: list[LeagueRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no_longer = stopped_after(monkeypatch, 1)
    assert run("run", *LEAGUE, "--rounds", "3", "--output-dir", "league/small") == 130
    no_longer()
    assert "stopped after 0 whole rounds; go on with --resume" in capsys.readouterr().out
    assert run("run", "--resume") == 0
    assert (asked[-1].rounds, asked[-1].runner) == (3, "in-process")
    said = capsys.readouterr().out
    assert "3 rounds, " in said
    assert "are played" not in said
    assert run("run", "--resume") == 0
    assert "all 3 rounds are played; more with --rounds 4 or above" in capsys.readouterr().out
    assert run("run", "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["idle"] is True
    assert run("run", "--rounds", "4", "--resume", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rounds"], found["idle"]) == (4, False)
    assert saved_run(tmp_path / "w" / "league" / "small").rounds == 4


def test_a_cluster_that_is_not_there_leaves_a_folder_in_which_a_league_can_begin(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(*how: Any) -> Any:
        raise RunnerError("ray: no cluster at 127.0.0.1:1")

    with monkeypatch.context() as patched:
        patched.setattr("league.league.make_runner", nobody)
        assert run("run", *LEAGUE, "--runner", "ray", "--address", "127.0.0.1:1", "--output-dir", "league/x") == 1
        assert "no cluster at 127.0.0.1:1" in capsys.readouterr().err
    assert not (tmp_path / "w" / "league" / "x").exists()
    assert run("run", *LEAGUE, "--output-dir", "league/x", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 1


def test_without_its_newest_state_it_goes_on_from_the_one_before_and_says_so(
    run: Run, asked: list[LeagueRun], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", *LEAGUE, "--output-dir", "league/small") == 0
    folder = tmp_path / "w" / "league" / "small"
    (folder / "league_state.json").unlink()
    for file in (tmp_path / "w" / "models").rglob("pi_sup*"):  # the league has its own copy
        file.unlink()
    capsys.readouterr()
    assert run("run", "--resume", "--headless") == 0
    assert asked[-1].worlds == 4
    said = capsys.readouterr()
    (fallback,) = [line for line in said.out.splitlines() if "falling back to the previous good state" in line]
    assert fallback.startswith("note: league_state.json: cannot be read")
    assert said.err.count(fallback) == 1


def test_a_snapshot_that_is_missing_is_said_without_a_terminal(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *LEAGUE, "--snapshot-frames", "1", "--output-dir", "league/small") == 0
    (tmp_path / "w" / "league" / "small" / "snapshots" / "main-1@1.safetensors").unlink()
    capsys.readouterr()
    assert run("run", "--rounds", "2", "--resume", "--headless") == 0
    said = capsys.readouterr()
    for told in (said.out, said.err):
        assert told.count("note: main-1@1 does not play: its file is missing") == 1


def test_of_many_notes_the_first_and_the_last_are_printed() -> None:
    assert _notes(["a", "b"]) == ["note: a", "note: b"]
    printed = _notes([f"{number}" for number in range(100)])
    assert printed[:2] == ["note: 0", "note: 1"]
    assert printed[10] == "note: ... and 80 more, in summary.json"
    assert printed[-1] == "note: 99"
    assert len(printed) == 21


def test_a_report_makes_no_league_the_newest(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, name in enumerate(("b", "a")):
        assert run("run", *LEAGUE, "--output-dir", f"league/{name}") == 0
        for file in (tmp_path / "w" / "league" / name).iterdir():
            os.utime(file, (1_764_300_000 + number,) * 2)
    assert run("report", "--league-state", "b") == 0
    os.utime(tmp_path / "w" / "league" / "b")
    capsys.readouterr()
    assert run("run", "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["league"] == "league/a"


def test_a_state_of_another_name_is_not_read_as_if_it_were_the_newest(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "w" / "league" / "small"
    folder.mkdir(parents=True)
    (folder / "matches.jsonl").write_text(json.dumps({"match": 0, "players": ["anna", "ben"], "placements": [1, 2]}) + "\n")
    for name in ("league_state.json", "league_state.kept.json"):
        (folder / name).write_text("{}")
    assert run("report", "--league-state", str(folder / "league_state.kept.json")) == 2
    assert f"reads a league's folder, and in it league_state.json; name the folder {folder}" in capsys.readouterr().err
    assert run("report", "--league-state", str(folder / "league_state.json")) == 0


def test_help_says_which_leagues_are_found(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "report"):
        assert run(command, "--help") == 0
        assert "a folder outside the workspace's league/ is not listed" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_the_first_page_of_help_names_every_command_of_the_league() -> None:
    (entry,) = [group["league"] for group in COMMANDS.values() if "league" in group]
    named = {name.strip() for name in entry.help.partition(":")[0].split("|")}
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert named == set(group.commands)
