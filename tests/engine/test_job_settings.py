"""A training that the face starts follows the person's settings, as one on the command line does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data.settings import Settings
from engine import commands, work
from engine.runtime.progress import ProgressFile


def test_the_settings_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"training": {"seed": 7, "executor": {"epochs": 3}}, "live": {"device": "cpu"}})
    started: list[tuple[str, dict[str, Any]]] = []

    def start(kind: str, title: str, arguments: dict[str, Any]) -> str:
        started.append((kind, json.loads(json.dumps(arguments))))
        return "job-1"

    center = SimpleNamespace(settings=settings, jobs=SimpleNamespace(start=start, states=tuple), workspace=SimpleNamespace(root=tmp_path))
    asyncio.run(commands.train(center, level="executor", lr=0.001))  # type: ignore[arg-type]
    kind, arguments = started[0]
    assert kind == "train"

    seen: dict[str, Any] = {}

    def train_levels(workspace: Path, level: str, *, report: object, training: object, **options: object) -> SimpleNamespace:
        seen.update(options, level=level, training=training, workspace=workspace)
        return SimpleNamespace(text=lambda: "trained")

    monkeypatch.setattr("engine.training.train_levels", train_levels)
    assert work.WORK["train"](ProgressFile(tmp_path / "progress.jsonl"), **arguments) == "trained"
    assert seen["training"] == settings.training
    assert seen["level"] == "executor"
    assert seen["device"] == "cpu"
    assert seen["lr"] == 0.001
    assert seen["workspace"] == tmp_path
