"""A training that the face starts follows the person's settings, as one on the command line does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from data.settings import LEVELS, Preset, Settings, TrainingSettings
from engine import commands, work
from engine.runtime.progress import ProgressFile


def as_the_child_gets_it(settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """What the training is called with in the child process when the face asks for it."""
    started: list[tuple[str, dict[str, Any]]] = []

    def start(kind: str, title: str, arguments: dict[str, Any]) -> str:
        started.append((kind, json.loads(json.dumps(arguments))))
        return "job-1"

    center = SimpleNamespace(settings=settings, jobs=SimpleNamespace(start=start, states=tuple), workspace=SimpleNamespace(root=folder))
    asyncio.run(commands.train(center, **options))  # type: ignore[arg-type]
    kind, arguments = started[0]
    assert kind == "train"
    seen: dict[str, Any] = {}

    def train_levels(workspace: Path, level: str, *, report: object, training: object, **options: object) -> SimpleNamespace:
        seen.update(options, level=level, training=training, workspace=workspace)
        return SimpleNamespace(text=lambda: "trained")

    monkeypatch.setattr("engine.training.train_levels", train_levels)
    assert work.WORK["train"](ProgressFile(folder / "progress.jsonl"), **arguments) == "trained"
    return seen


def test_the_settings_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"training": {"seed": 7, "executor": {"epochs": 3}}, "live": {"device": "cpu"}})
    seen = as_the_child_gets_it(settings, tmp_path, monkeypatch, level="executor", lr=0.001)
    assert seen["training"] == settings.training
    assert seen["level"] == "executor"
    assert seen["device"] == "cpu"
    assert seen["lr"] == 0.001
    assert seen["workspace"] == tmp_path


@pytest.mark.parametrize(
    "own", [{}, {"training": {"executor": {"epochs": 3}, "tactician": {"batch_size": 48, "lr": 1e-3}}}], ids=["none", "some"]
)
def test_a_preset_is_worth_as_much_there_as_here(own: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the person set goes before a preset: a default is none of theirs, on either side of the pipe."""
    settings = Settings.model_validate(own)
    there: TrainingSettings = as_the_child_gets_it(settings, tmp_path, monkeypatch)["training"]
    for level in LEVELS:
        for preset in get_args(Preset):
            assert there.level(level).schedule(preset) == settings.training.level(level).schedule(preset), (level, preset)
    assert there.strategist.schedule("small") == (150, 16, 3e-4)
    assert there.executor.schedule("large") == (3 if own else 40, 256, 3e-4)
    assert there.tactician.schedule("small") == ((120, 48, 1e-3) if own else (120, 32, 3e-4))
