"""``secondseat league`` from the front door: data and imitation."""

from __future__ import annotations

import gzip
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import league.imitate
from data.checkpoint import load
from league.league_run import LeagueRun
from league.losses import LossSettings, UpdateSettings
from league.refine_settings import RefineSettings
from tui.cli import main
from tui.commands.league_options import loss_settings, update_settings
from tui.commands.league_refine import refine
from tui.commands.league_run import run as run_league

VECTOR = [0.1, -0.2, 0.9, 0.5, 1.0, 0.0, 0.1, 0.1, 0.8, 0.3, 0.4, 0.0, 0.0, 0.7, 0.9, 0.0, 0.0, 0.0, 3 / 7]
SMALL = ("--pilot-matches", "3", "--hidden", "16", "--judge-matches", "0", "--batch-size", "512", "--lr", "0.003")
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``secondseat league`` with a workspace of its own."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *words: main(["--workspace", str(tmp_path / "w"), "league", *words])


def trajectories(folder: Path, episodes: int = 4, steps: int = 30) -> Path:
    """Episodes in which the ship flies right when the enemy is right, and one row that is no good."""
    rng = np.random.default_rng(0)
    lines: list[dict[str, Any]] = []
    for episode in range(episodes):
        for step in range(steps):
            right = bool(rng.random() < 0.5)
            seen = [*VECTOR[:9], 0.5 if right else -0.5, *VECTOR[10:]]
            end = {"done": True, "outcome": "win"} if step == steps - 1 else {}
            action = [2 if right else 0, 1, 5, 5, 1, 0, 0]
            lines.append({"episode_id": f"e{episode}", "step": step, "observation": seen, "action": action, **end})
    lines.append({"episode_id": "e0", "step": 99, "observation": [float("nan"), *VECTOR[1:]], "action": [1, 1, 5, 5, 0, 0, 0]})
    folder.mkdir(parents=True)
    (folder / "a.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return folder


def test_data_tells_what_was_used_and_what_was_not(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trajectories(tmp_path / "w" / "data" / "processed")
    assert run("data") == 0
    said = capsys.readouterr().out
    assert "a.jsonl.gz (recorder): 120 rows in 4 sequences" in said
    assert "4 sequences of 4 episodes, 120 frames" in said
    assert "outcomes: won 4" in said
    assert "reports/live: no such folder, so no manifests" in said
    assert run("data", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["frames"] == 120
    assert sum(found["files"][0]["dropped"].values()) == 1
    assert found["actions"]["move_x"][1] == 0


def test_data_of_an_empty_workspace_says_what_to_do(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("data") == 0
    assert "record some, name other folders, or let the scripted pilots play" in capsys.readouterr().out


def test_imitation_of_files_prints_accuracy_beside_baselines(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trajectories(tmp_path / "elsewhere", episodes=8)
    words = ("--data-dir", str(folder), "--pilot-matches", "0", "--hidden", "16", "--epochs", "30", "--lr", "0.01", "--judge-matches", "5")
    assert run("imitate", *words, "--output", "models/mine/pi_one") == 0
    said = capsys.readouterr().out
    accuracy, majority = re.search(r"move_x +\d+ +[\d.]+ +([\d.]+) +([\d.]+)", said).groups()  # type: ignore[union-attr]
    assert float(accuracy) > 0.95 > 0.8 > float(majority)
    for pilot in ("expert", "novice", "random"):
        assert re.search(rf"against 3 {pilot}: ranks above one of them [\d.]+ \([\d.]+ to [\d.]+\)", said)
    assert "no such folder" not in said, "usual folders that nobody named are not missed"
    card = load(tmp_path / "w" / "models" / "mine" / "pi_one").card
    assert card["about"]["files"] == [{"name": "a.jsonl.gz", "kind": "recorder", "frames": 240}]


def test_pilots_alone_are_enough_and_json_tells_it_all(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("imitate", *SMALL, "--epochs", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["sequences"] == 2 * 4 + 1 * 2, "two matches of four experts, one with two"
    assert found["data"]["episodes"] == 3
    assert re.fullmatch(r"models/league/\d{8}T\d{6}Z/pi_sup", found["policy"])
    assert (tmp_path / "w" / (found["policy"] + ".safetensors")).is_file()
    assert set(found["heads"]["fire"]) >= {"accuracy", "majority", "persistence"}
    assert found["versus"] == []


def test_an_interrupted_run_keeps_its_last_epoch_and_goes_on_to_the_same_weights(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("imitate", *SMALL, "--epochs", "2", "--output", "models/whole/pi_sup") == 0
    step = league.imitate._Run._step  # pyright: ignore[reportPrivateUsage]
    done = 0

    def interrupted(self: Any, index: Any) -> Any:
        nonlocal done
        done += 1
        if done > self.batches + 1:
            raise KeyboardInterrupt
        return step(self, index)

    with monkeypatch.context() as patched:
        patched.setattr(league.imitate._Run, "_step", interrupted)  # pyright: ignore[reportPrivateUsage]
        assert run("imitate", *SMALL, "--epochs", "2", "--output", "models/parts/pi_sup") == 130
    assert "stopped after epoch 1; go on with --resume" in capsys.readouterr().out
    assert run("imitate", *SMALL, "--epochs", "2", "--resume", "--output", "models/parts/pi_sup") == 0
    assert "resumed after epoch 1" in capsys.readouterr().out
    whole, parts = (load(tmp_path / "w" / "models" / name / "pi_sup").tensors for name in ("whole", "parts"))
    assert all(np.array_equal(values, parts[name]) for name, values in whole.items())


def test_what_cannot_be_done_is_one_line(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("imitate", "--pilot-matches", "0") == 1
    assert "no frame with an action that counts" in capsys.readouterr().err
    assert run("imitate", "--resume") == 2
    assert "start one without --resume" in capsys.readouterr().err
    assert not list((tmp_path / "w").rglob("*.safetensors"))
    assert run("imitate", *SMALL, "--epochs", "1", "--output", "p") == 0
    before = (tmp_path / "w" / "p.safetensors").read_bytes()
    assert run("imitate", *SMALL, "--epochs", "1", "--output", "p") == 1
    assert "is there already; go on with it by --resume" in capsys.readouterr().err
    assert run("imitate", *SMALL, "--epochs", "2", "--seed", "1", "--output", "p", "--resume") == 1
    assert "Resume with the same settings and data" in capsys.readouterr().err
    assert (tmp_path / "w" / "p.safetensors").read_bytes() == before


@pytest.mark.parametrize(("command", "usual"), [(refine, RefineSettings().update), (run_league, LeagueRun().updates)])
def test_without_options_losses_and_updates_are_the_defaults(command: Callable[..., None], usual: UpdateSettings) -> None:
    told = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    assert loss_settings(told["upgo_coef"], told["kl_coef"], told["entropy_coef"], told["traces"]) == LossSettings()
    assert update_settings(usual, told["lr"], told["unroll"], told["sequences"], told["replay_reuse"]) == usual
    asked = update_settings(usual, 2 * told["lr"], 16, 8, 3)
    assert asked.learning_rate_end == pytest.approx(2 * usual.learning_rate_end)
    assert (asked.unroll_steps, asked.sequences, asked.replay_reuse, asked.decay_frames) == (16, 8, 3, usual.decay_frames)
