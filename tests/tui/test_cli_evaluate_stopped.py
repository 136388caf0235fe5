"""``secondseat evaluate``: how much play it judges on, and what is left of an evaluation that is stopped, as a job too."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import typer.main

from engine import work
from engine.commands import COMMANDS
from engine.comparison import read_evaluations
from engine.unseen_play import whole_minutes
from tests.engine.test_comparison import evaluation
from tui import cli
from tui.commands.evaluate import app
from tui.parameters import EvaluateParameters


def stopped(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In which any policy can be named, and flies at once."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("data.models.resolve_policy", lambda _root, name: tmp_path / str(name))
    monkeypatch.setattr("engine.evaluate.evaluate", lambda *_, **__: evaluation("mine", 0.0))
    monkeypatch.setattr("engine.unseen_play.judge_unseen", stopped)
    return tmp_path / "ws"


def job(folder: Path, workspace: Path, kind: str = "evaluate", **more: Any) -> dict[str, Any]:
    """The last thing that a job which is stopped tells."""
    path = folder / "progress"
    assert work.main([kind, json.dumps({"workspace": str(workspace), **more}), str(path)]) == 130
    return json.loads(path.read_text().splitlines()[-1])


def test_stopped_in_flight_nothing_is_kept_and_a_line_says_so(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.evaluate.evaluate", stopped)
    assert cli.main(["evaluate", "--policy", "mine"]) == 130
    assert "stopped before it was finished: nothing of this evaluation is kept\n" in capsys.readouterr().err
    assert read_evaluations(workspace) == ([], [])


def test_stopped_while_levels_are_judged_the_flights_are_kept(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "--policy", "mine"]) == 130
    (kept,), _ = read_evaluations(workspace)
    assert f"{kept.id}.json, the levels were not judged\n" in capsys.readouterr().err
    assert (kept.policy, len(kept.rungs), kept.levels) == ("mine", 2, {})


def test_a_job_says_what_it_kept(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.work._step_back", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    told = job(tmp_path, workspace, policy="mine")
    assert (told["phase"], told["message"]) == ("cancelled", "stopped; what was flown is kept, the levels were not judged")
    assert len(read_evaluations(workspace)[0]) == 1
    monkeypatch.setattr("engine.evaluate.evaluate", stopped)
    assert job(tmp_path, workspace, policy="mine")["message"] == "stopped before it was finished; nothing of it is kept"
    assert len(read_evaluations(workspace)[0]) == 1
    monkeypatch.setitem(work.WORK, "train", stopped)
    assert job(tmp_path, workspace, "train")["message"] == "stopped; what was finished is kept"


@pytest.mark.parametrize(("asked", "judged"), [("0.5", 2), ("2.6", 3), ("3", None), ("5", None)])
def test_play_of_another_length_than_asked_for_is_told(
    asked: str, judged: int | None, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["evaluate", "--policy", "mine", "--no-fly", "--minutes", asked]) == 130
    note = f"note: --minutes {asked}: unseen play comes in whole minutes, at least 2: judged on {judged}\n"
    assert (note in capsys.readouterr().err) == (judged is not None)


def test_minutes_are_whole_and_at_least_two() -> None:
    assert [whole_minutes(minutes) for minutes in (0.1, 1, 2, 2.6, 5)] == [2, 2, 2, 3, 5]


def test_all_ways_to_evaluate_judge_on_as_much_play_where_nobody_says() -> None:
    command = typer.main.get_command(app)
    (minutes,) = (parameter.default for parameter in command.params if parameter.name == "minutes")
    of_functions = [inspect.signature(function).parameters["minutes"].default for function in (work.evaluate, COMMANDS["evaluate"])]
    assert {minutes, EvaluateParameters().minutes, *of_functions} == {3.0}


def test_one_that_only_flies_is_kept_without_levels(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "--policy", "mine", "--minutes", "0"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1].startswith("normalised score: ")
    assert "note:" not in said.err
    (kept,), _ = read_evaluations(workspace)
    assert kept.levels == {}
