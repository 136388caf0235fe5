"""What can't be learnt from is told by name: rows that are not numbers, sessions that do not fit, play without labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.bad_rows import without_bad_rows
from data.checkpoint import CheckpointError
from data.features import Feature
from data.profile import ARENA_PROFILE
from data.same_game import differences
from data.steps import Steps
from tests.trainers.synthetic import session
from trainers import executor, strategist, tactician
from trainers.device import Precision
from trainers.loop import LoopSettings, TrainingError
from trainers.prepare import drop_bad_rows

LEVELS = [strategist, tactician, executor]


def settings_of(level: object, **loop: object) -> object:
    return replace(level.QUICK, width=32, loop=LoopSettings(1, 32, 1e-3, device="cpu", **loop))  # type: ignore[attr-defined,arg-type]


def broken(steps: Steps, value: float) -> Steps:
    """One velocity that is not a number, in the middle of the session."""
    velocities = steps.track_velocities.copy()
    velocities[len(velocities) // 2, 0] = value
    return replace(steps, track_velocities=velocities)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_dropped_and_named(level: object, value: float, tmp_path: Path) -> None:
    sessions = [broken(session(20, seed=i), value) for i in range(3)]
    result = level.train(sessions, settings_of(level), tmp_path)  # type: ignore[attr-defined]
    dropped = [note for note in result.notes if "rows dropped, not finite: track_velocities" in note]
    assert len(dropped) == 3
    assert "session 1: 1 of 400" in dropped[1]
    assert np.isfinite(result.figures["val_loss"])


def test_an_unknown_reading_is_no_bad_row() -> None:
    steps = session(5)
    assert np.isnan(steps.levels).any()
    assert without_bad_rows([steps]) == ([steps], [])
    levels = steps.levels.copy()
    levels[7, 0] = np.inf
    (left,), notes = without_bad_rows([replace(steps, levels=levels)])
    assert notes == ["session 0: 1 of 100 rows dropped, not finite: levels (first: row 7)"]
    assert left.left_out is not None
    assert np.flatnonzero(left.left_out).tolist() == [7]


def test_a_bad_input_is_named_by_its_feature() -> None:
    values = np.zeros((4, 3), np.float32)
    values[2, 1] = np.nan
    notes: list[str] = []
    named = {"tracks": (Feature("near"), Feature("vx"), Feature("vy"))}
    assert drop_bad_rows({"tracks": values}, "tactician", notes, named).tolist() == [True, True, False, True]
    assert notes == ["tactician: 1 of 4 rows dropped, not finite: tracks vx in 1 rows (first: row 2)"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_single_session_is_split_in_two_and_trains(level: object, tmp_path: Path) -> None:
    result = level.train([session(60)], settings_of(level), tmp_path)  # type: ignore[attr-defined]
    assert result.epochs == 1
    assert not any("nothing is left to validate on" in note for note in result.notes)


@pytest.mark.parametrize("level", LEVELS)
def test_how_much_is_learnt_from_and_checked_on_is_said_once(level: object, tmp_path: Path) -> None:
    result = level.train([session(120), session(6, seed=1)], settings_of(level), tmp_path)  # type: ignore[attr-defined]
    assert [note for note in result.notes if "learns from" in note] == ["learns from 1.6 min, checks on 0.4 min"]


@pytest.mark.parametrize("level", LEVELS)
def test_resuming_with_other_recordings_is_refused(level: object, tmp_path: Path) -> None:
    sessions = [session(20, seed=i) for i in range(5)]
    level.train(sessions, settings_of(level), tmp_path)  # type: ignore[attr-defined]
    assert level.train(sessions, settings_of(level), tmp_path, resume=True).epochs == 1  # type: ignore[attr-defined]
    with pytest.raises(CheckpointError, match=r"split: of other recordings.*resume with the same recordings"):
        level.train(sessions[:4], settings_of(level), tmp_path, resume=True)  # type: ignore[attr-defined]


@pytest.mark.parametrize("level", LEVELS)
def test_a_batch_larger_than_the_data_is_said(level: object, tmp_path: Path) -> None:
    settings = replace(settings_of(level), loop=LoopSettings(1, 100_000, 1e-3, device="cpu"))  # type: ignore[type-var]
    result = level.train([session(20, seed=i) for i in range(2)], settings, tmp_path)  # type: ignore[attr-defined]
    assert any("batch size 100000 is larger than" in note for note in result.notes)


def test_play_without_a_label_is_refused_in_words(tmp_path: Path) -> None:
    sessions = [session(20, seed=i) for i in range(2)]
    nothing = [np.full(len(s), -1, np.int8) for s in sessions]
    with pytest.raises(TrainingError, match="no second of these sessions is labelled"):
        strategist.train(sessions, strategist.QUICK, tmp_path, labels=nothing)


def test_unlabelled_batches_are_skipped_and_counted(tmp_path: Path) -> None:
    sessions = [session(30, seed=i) for i in range(4)]
    some = [np.full(len(s), -1 if i % 2 else 1, np.int8) for i, s in enumerate(sessions)]
    settings = replace(strategist.QUICK, width=32, history=8, phases=1, loop=LoopSettings(2, 1, 1e-3, device="cpu"))
    result = strategist.train(sessions, settings, tmp_path, labels=some)
    assert any("batches skipped: nothing in them is labelled" in note for note in result.notes)


def test_sessions_of_other_classes_keys_or_gauges_are_told_apart() -> None:
    fewer = ARENA_PROFILE.model_copy(update={"classes": ARENA_PROFILE.classes[:-1]})
    last = ARENA_PROFILE.classes[-1]
    assert differences(ARENA_PROFILE, fewer) == [f"classes: lacks {last.name} ({last.role})"]
    assert differences(fewer, ARENA_PROFILE) == [f"classes: has {last.name} ({last.role})"]
    turned = ARENA_PROFILE.model_copy(update={"keys": tuple(reversed(ARENA_PROFILE.keys))})
    assert differences(ARENA_PROFILE, turned) == ["keys: in another order"]
    renamed = ARENA_PROFILE.model_copy(update={"name": "other", "gauges": ARENA_PROFILE.gauges[1:]})
    assert differences(ARENA_PROFILE, renamed)[0] == "game other instead of arena"
    assert "lacks hp" in differences(ARENA_PROFILE, renamed)[1]
    assert differences(ARENA_PROFILE, ARENA_PROFILE) == []


def test_sessions_that_do_not_fit_each_other_are_refused_by_name(tmp_path: Path) -> None:
    fewer = ARENA_PROFILE.model_copy(update={"classes": ARENA_PROFILE.classes[:-1]})
    sessions = [session(20), replace(session(20, seed=1), profile=fewer)]
    with pytest.raises(TrainingError, match=r"session 1 does not fit the first: classes: lacks"):
        tactician.train(sessions, tactician.QUICK, tmp_path)


def test_another_picture_size_of_the_same_game_is_learnt_from_too(tmp_path: Path) -> None:
    width, height = ARENA_PROFILE.picture_size
    double = ARENA_PROFILE.model_copy(update={"picture_size": (2 * width, 2 * height)})
    sessions = [session(20), replace(session(20, seed=1), profile=double)]
    assert tactician.train(sessions, settings_of(tactician), tmp_path).epochs == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_half_precision_goes_through_every_recipe(level: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor here, by force: types that do not fit together show up all the same."""

    class Half(Precision):
        def __init__(self, device: torch.device, mixed: bool) -> None:
            super().__init__(device, mixed)
            self.dtype = torch.bfloat16

    monkeypatch.setattr("trainers.loop.Precision", Half)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a stand-in")
    result = level.train([session(20, seed=i) for i in range(2)], settings_of(level), tmp_path)  # type: ignore[attr-defined]
    assert any("mixed precision: bfloat16 on a stand-in" in note for note in result.notes)


def test_a_processor_computes_in_full_precision() -> None:
    assert Precision(torch.device("cpu"), mixed=True).dtype is None
