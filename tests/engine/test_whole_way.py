"""Record, train, fly, score: the whole way in small, and again after the workspace was moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.evaluate import evaluate, keep
from engine.record_arena import record_session
from engine.runtime.progress import Progress
from engine.training import NothingToLearn, train_levels
from tests.support.sessions import frame, new_writer


@pytest.mark.timeout(240)
def test_a_moved_workspace_trains_flies_and_scores(tmp_path: Path) -> None:
    before = tmp_path / "before"
    recorded = [record_session(before, "expert", seed, 12.0) for seed in (1_000_000, 1_000_100)]
    assert all(r.duration_s == 12.0 for r in recorded)
    after = tmp_path / "with a blank" / "after"
    after.parent.mkdir()
    before.rename(after)
    said: list[Progress] = []
    trained = train_levels(after, "all", said.append, quick=True, epochs=1)
    assert trained.policy is not None
    assert trained.promoted
    assert trained.policy.is_relative_to(after)
    assert said[-1].done == pytest.approx(1.0)
    moved = after.with_name("moved again")
    after.rename(moved)
    result = evaluate(moved / "models" / "policies" / trained.policy.name, 2, workers=1, ticks=60)
    assert [r.rung for r in result.rungs] == ["state", "emulated", "pixels"]
    assert all(len(r.scores) == 2 for r in result.rungs)
    assert keep(moved, result).is_file()
    assert str(before) not in (moved / "models" / "policies" / trained.policy.name / "policy.json").read_text()


def test_an_empty_workspace_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(NothingToLearn, match="secondseat record"):
        train_levels(tmp_path, "all")
    writer = new_writer(tmp_path)
    writer.write_frame(frame(0))
    writer.close("saved")
    told = f"{writer.id}: nothing perceived yet; run: secondseat data perceive {writer.id}; or record more: secondseat record"
    with pytest.raises(NothingToLearn, match=f"{told}$"):
        train_levels(tmp_path, "all")
    with pytest.raises(NothingToLearn, match="no such folder"):
        train_levels(tmp_path, "executor", data_dir=str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="use strategist, tactician, executor or all"):
        train_levels(tmp_path, "pilot")


def test_impossible_evaluations_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        evaluate(tmp_path, 1)
    with pytest.raises(Exception, match="not a policy bundle"):
        evaluate(tmp_path, 2)
