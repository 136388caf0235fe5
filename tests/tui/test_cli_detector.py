"""``secondseat train detector``: what is asked for arrives at the training, and what it cannot do is told in a line."""

from pathlib import Path
from typing import Any

import pytest

import engine.detector_job
from engine.detector_job import DetectorResult
from tui.cli import main

FIGURES: dict[str, Any] = {"map50": 0.98, "map50_95": 0.81, "exports": {"largest_difference": 0.0002}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """The calls of the training, which does nothing here."""
    calls: list[dict[str, Any]] = []

    def train(workspace: Path, pictures: int, **options: Any) -> DetectorResult:
        calls.append({"pictures": pictures, **options})
        return DetectorResult(workspace / "models" / "detector" / "tiny" / "arena_detector.onnx", True, FIGURES)

    monkeypatch.setattr(engine.detector_job, "train_arena_detector", train)
    monkeypatch.chdir(tmp_path)
    return calls


def test_options_reach_the_training(asked: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "earlier.safetensors").touch()
    given = "--pictures 60 --epochs 2 --threads 3 --device cpu --start-from ./earlier.safetensors --name tiny"
    assert main(["--workspace", str(tmp_path / "w"), "train", "detector", *given.split()]) == 0
    (call,) = asked
    assert (call["pictures"], call["epochs"], call["threads"], call["device"], call["run_name"]) == (60, 2, 3, "cpu", "tiny")
    assert call["start_from"].resolve() == (tmp_path / "earlier.safetensors").resolve()
    assert "mAP50 0.98, mAP50-95 0.81" in capsys.readouterr().out


def test_without_options_the_settings_decide(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    assert main(["--workspace", str(tmp_path / "w"), "--set", "live.device=cpu", "train", "detector", "--quick"]) == 0
    (call,) = asked
    assert (call["pictures"], call["epochs"], call["device"], call["start_from"]) == (400, 3, "cpu", None)
    assert not {"batch", "learning_rate", "threads", "seed"} & set(call), "the recipe's own stay"


@pytest.mark.timeout(120)
def test_tensors_that_are_not_there_are_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = tmp_path / "none.safetensors"
    assert main(["--workspace", str(tmp_path / "w"), "train", "detector", "--device", "cpu", "--start-from", str(wanted)]) == 1
    said = capsys.readouterr().err
    assert "none.safetensors: no tensors can be read" in said
    assert not list((tmp_path / "w").rglob("*.png"))
