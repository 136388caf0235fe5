"""All three levels in a row: wherever a stop falls, what comes back says that it was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.models import LEVELS
from tests.support.policies import tiny_settings
from tests.trainers.synthetic import session
from trainers import tactician
from trainers.all import AllResult, train_all
from trainers.loop import Progress

pytestmark = pytest.mark.timeout(240)


def run(folder: Path, report: Any, **more: Any) -> AllResult:
    sessions = [session(6, seed=i) for i in range(3)]
    return train_all(
        sessions, replace(tiny_settings(), phases=1), {level: folder / level for level in LEVELS}, folder / "flier", report, **more
    )


@pytest.mark.parametrize(
    ("stage", "how"),
    [
        ("strategist folds epoch", "stop"),
        ("strategist folds epoch", "interrupt"),
        ("tactician epoch", "stop"),
        ("tactician folds epoch", "stop"),
    ],
)
def test_a_stop_in_any_stage_is_one(stage: str, how: str, tmp_path: Path) -> None:
    reached = False

    def report(progress: Progress) -> None:
        nonlocal reached
        if progress.stage.startswith(stage) and not reached:
            reached = True
            if how == "interrupt":
                raise KeyboardInterrupt

    result = run(tmp_path, report, stop=lambda: reached and how == "stop")
    assert reached
    assert (result.interrupted, result.policy) == (True, None)
    assert not (tmp_path / "flier").exists()
    assert not list(tmp_path.glob("*/folds"))


def test_ctrl_c_while_a_level_speaks_for_the_one_below_is_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(tactician, "predict", interrupt)
    result = run(tmp_path, lambda progress: None)
    assert (result.interrupted, result.policy) == (True, None)
    assert set(result.levels) == {"strategist", "tactician"}


def test_ctrl_c_in_the_last_step_of_a_level_is_a_stop_that_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trainers.loop

    def interrupt(*rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainers.loop, "load_network", interrupt)
    result = run(tmp_path, lambda progress: None)
    assert (result.interrupted, result.policy) == (True, None)
    assert {level: done.epochs > 0 for level, done in result.levels.items()} == {"strategist": True}
