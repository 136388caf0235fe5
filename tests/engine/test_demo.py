"""The whole way once: stopped in the middle it says where it was and what it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import engine.record_arena
import engine.training
from data.progress import Progress, is_note, note_text
from engine.demo import run_demo
from engine.training import Trained, TrainingStopped


@pytest.mark.parametrize(("levels", "kept"), [((), ""), (("strategist", "tactician"), ", strategist, tactician")])
def test_ctrl_c_in_the_training_ends_the_demo(levels: tuple[str, ...], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []

    def train(workspace: Path, level: str, report: Any, **options: Any) -> Trained:
        report(Progress("note", 0.0, message="preset quick"))
        report(Progress("tactician note", 0.5, message="uneven classes"))
        raise TrainingStopped(Trained({one: workspace / one for one in levels}, {}, None, False, True))

    monkeypatch.setattr("league.arena.world.warm", lambda: None)
    monkeypatch.setattr(engine.record_arena, "record_demonstrations", lambda *rest: [])
    monkeypatch.setattr(engine.training, "train_levels", train)
    line = f"the demo was stopped in its training; kept in {tmp_path}: the recorded play{kept}"
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_demo(tmp_path, told.append)
    assert (type(stopped.value), str(stopped.value)) == (KeyboardInterrupt, line)
    assert [note_text(one) for one in told if is_note(one)] == [
        "2 of 3 training: preset quick",
        "2 of 3 training: tactician: uneven classes",
        line,
    ]
    assert not (tmp_path / "demo.json").exists()
