"""Which runs a policy is made of, and which one ``--resume`` goes on with: the newest by time, of this game, or the one named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.checkpoint import CheckpointError, make_card, read_card, save
from data.models import LEVELS, Level, models_dir, read_policy
from data.profile import ARENA_PROFILE, GameProfile
from engine.training import Trained, train_levels
from league.arena.skirmish import RULES_VERSION
from tests.engine.test_sessions_to_learn_from import record
from trainers.loop import Result

MINE = ARENA_PROFILE.model_copy(update={"name": "mine"})
NOW_S = 1_800_000_000


def put(
    workspace: Path,
    level: Level,
    name: str,
    hours_ago: float,
    profile: GameProfile = ARENA_PROFILE,
    whole: bool = True,
    rules: int | None = RULES_VERSION,
    mark: float = 0.0,
) -> Path:
    """A run that was written so long ago, its best model (when ``whole``) and a checkpoint to go on from."""
    run = models_dir(workspace) / level / name
    more = {} if rules is None or profile.name != "arena" else {"rules_version": rules}
    for file in ("checkpoint_epoch_2", *(["best_model"] if whole else [])):
        save(run / file, {"w": np.full(2, mark, np.float32)}, make_card(level, profile, epoch=2, figures={}, name=name, **more))
        os.utime(run / f"{file}.safetensors", (NOW_S - hours_ago * 3600,) * 2)
    return run


@pytest.fixture
def went_into(monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The trainers write a model at once; where each level's went."""
    folders: dict[str, Path] = {}

    def made(level: Level, sessions: Sequence[Any], run_dir: Path, about: Mapping[str, Any]) -> Result:
        folders[level] = run_dir
        card = make_card(level, sessions[0].profile, epoch=1, figures={}, name=run_dir.name, **about)
        save(run_dir / "best_model", {"w": np.zeros(2, np.float32)}, card)
        return Result(run_dir, run_dir / "best_model", 1, {})

    def one(level: Level) -> Any:
        return lambda sessions, settings, run_dir, report, resume, about: made(level, sessions, run_dir, about)

    def all_three(
        sessions: Any, settings: Any, run_dirs: Mapping[Level, Path], policy: Path, report: Any, resume: bool, detector: Any, about: Any
    ) -> Any:
        from data.models import write_policy
        from trainers.all import AllResult

        done = {level: made(level, sessions, run_dirs[level], about) for level in LEVELS}
        return AllResult(dict(done), write_policy(policy, {level: done[level].best for level in LEVELS}, sessions[0].profile))

    for level in LEVELS:
        monkeypatch.setattr(f"trainers.{level}.train", one(level))
    monkeypatch.setattr("trainers.all.train_all", all_three)
    return folders


def made_of(trained: Trained) -> dict[str, str]:
    """The run that each level of the policy comes from."""
    assert trained.policy is not None
    return {level: read_card(trained.policy / level)["name"] for level in LEVELS}


def test_a_policy_is_made_of_the_run_just_trained_and_the_newest_others(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    for level in LEVELS:
        put(tmp_path, level, "night", 50)  # by name it would come last
    put(tmp_path, "strategist", "20261127T100000Z", 2)
    put(tmp_path, "strategist", "20261128T100000Z", 3)
    trained = train_levels(tmp_path, "executor")
    assert made_of(trained) == {"strategist": "20261127T100000Z", "tactician": "night", "executor": went_into["executor"].name}
    assert went_into["executor"].name != "night"


def test_a_card_names_the_sessions_in_the_order_of_the_split(tmp_path: Path, went_into: dict[str, Path]) -> None:
    names = [record(tmp_path) for _ in range(2)]
    record(tmp_path, MINE, rules=None)
    trained = train_levels(tmp_path, "all")
    assert trained.policy is not None
    assert [read_card(trained.policy / level)["session_ids"] for level in LEVELS] == [sorted(names)] * 3


def test_a_policy_is_made_of_runs_of_its_own_game_alone(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path, MINE, rules=None)
    for level in LEVELS:
        put(tmp_path, level, "arena-1", 1)
    put(tmp_path, "strategist", "mine-1", 9, MINE)
    put(tmp_path, "tactician", "mine-0", 9, MINE.model_copy(update={"keys": MINE.keys[1:]}))
    trained = train_levels(tmp_path, "executor", game="mine")
    assert trained.policy is None
    assert trained.text().endswith("no policy yet: tactician not trained for mine as it is now")
    put(tmp_path, "tactician", "mine-1", 9, MINE)
    trained = train_levels(tmp_path, "executor", game="mine")
    assert made_of(trained) == {"strategist": "mine-1", "tactician": "mine-1", "executor": went_into["executor"].name}
    assert read_policy(trained.policy)[1].name == "mine"  # type: ignore[arg-type]


def test_a_run_of_older_rules_or_torn_is_passed_over(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    for level in ("strategist", "tactician"):
        put(tmp_path, level, "sound", 30)  # type: ignore[arg-type]
    put(tmp_path, "strategist", "before", 2, rules=RULES_VERSION - 1)
    torn = put(tmp_path, "tactician", "torn", 2) / "best_model.safetensors"
    torn.write_bytes(torn.read_bytes()[:-4])
    trained = train_levels(tmp_path, "executor")
    assert made_of(trained) | {"executor": ""} == {"strategist": "sound", "tactician": "sound", "executor": ""}


def test_resume_goes_on_with_the_run_that_is_named(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "executor", "day", 5, whole=False)
    put(tmp_path, "executor", "night", 1, whole=False)
    train_levels(tmp_path, "executor", resume=True, name="day")
    assert went_into["executor"].name == "day"
    trained = train_levels(tmp_path, "executor", resume=True, name="dusk")
    assert went_into["executor"].name == "dusk"
    assert "executor: there is no run dusk to go on with; it is begun" in trained.notes


def test_resume_without_a_name_goes_on_with_the_newest_of_this_game(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "executor", "night", 5, whole=False)
    put(tmp_path, "executor", "20261128T100000Z", 2, whole=False)
    put(tmp_path, "executor", "theirs", 1, MINE, whole=False)
    (models_dir(tmp_path) / "executor" / "failed").mkdir()  # nothing in it to go on with
    trained = train_levels(tmp_path, "executor", resume=True)
    assert went_into["executor"].name == "20261128T100000Z"
    assert not any("to go on with" in note for note in trained.notes)


def test_resume_with_nothing_to_go_on_with_begins_and_says_so(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "executor", "theirs", 1, MINE, whole=False)
    trained = train_levels(tmp_path, "executor", resume=True)
    assert went_into["executor"].name != "theirs"
    assert "executor: there is no run of arena to go on with; it is begun" in trained.notes


def test_a_run_of_another_game_is_not_gone_on_with_by_name(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "executor", "theirs", 1, MINE, whole=False)
    with pytest.raises(CheckpointError, match=r"--resume --name theirs: executor/theirs is of mine, not arena; .*another --name"):
        train_levels(tmp_path, "executor", resume=True, name="theirs")
    assert went_into == {}


def test_a_name_that_is_none_is_refused(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    for resume in (True, False):
        with pytest.raises(CheckpointError, match="model name"):
            train_levels(tmp_path, "executor", resume=resume, name="../../elsewhere")


def test_all_three_go_on_as_the_one_training_they_are(tmp_path: Path, went_into: dict[str, Path]) -> None:
    """Stopped in the Strategist: its own Tactician and Executor were not begun, and older ones are not taken instead."""
    record(tmp_path)
    for level in LEVELS:
        put(tmp_path, level, "older", 60)
    put(tmp_path, "strategist", "20261128T100000Z", 1, whole=False)
    for level in ("tactician", "executor"):
        (models_dir(tmp_path) / level / "20261128T100000Z").mkdir()
    train_levels(tmp_path, "all", resume=True)
    assert {level: folder.name for level, folder in went_into.items()} == dict.fromkeys(LEVELS, "20261128T100000Z")


def test_a_fresh_training_has_one_name_for_all_its_levels(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "executor", "night", 1)
    trained = train_levels(tmp_path, "all", name="night")
    assert {folder.name for folder in went_into.values()} == {"night-2"}
    assert made_of(trained) == dict.fromkeys(LEVELS, "night-2")
