"""Which runs a policy is made of, and which one ``--resume`` goes on with: the newest by time, of this game, or the one named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.checkpoint import CheckpointError, load, make_card, read_card, save
from data.models import LEVELS, Level, models_dir, promoted_name, read_policy
from data.profile import ARENA_PROFILE, GameProfile
from data.settings import TrainingSettings, amount_of
from engine import work
from engine.training import Trained, TrainingStopped, TrainOptions, level_settings, train_levels
from league.arena.skirmish import RULES_VERSION
from tests.engine.test_sessions_to_learn_from import record
from trainers.loop import Result, TrainingError

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
        for file in ("checkpoint_epoch_1", "best_model"):
            save(run_dir / file, {"w": np.zeros(2, np.float32)}, card)
        return Result(run_dir, run_dir / "best_model", 1, {})

    def one(level: Level, sessions: Any, settings: Any, run_dir: Path, report: Any, resume: bool, about: Any) -> Result:
        return made(level, sessions, run_dir, about)

    def all_three(
        sessions: Any, settings: Any, run_dirs: Mapping[Level, Path], policy: Path, report: Any, resume: bool, detector: Any, about: Any
    ) -> Any:
        from data.models import write_policy
        from trainers.all import AllResult

        done = {level: made(level, sessions, run_dirs[level], about) for level in LEVELS}
        return AllResult(dict(done), write_policy(policy, {level: done[level].best for level in LEVELS}, sessions[0].profile))

    monkeypatch.setattr("trainers.all.train_one", one)
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


def test_an_executor_with_another_network_is_passed_over(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    put(tmp_path, "strategist", "sound", 30)
    best = put(tmp_path, "executor", "before", 2) / "best_model"
    found = load(best)
    save(best, found.tensors, {name: value for name, value in found.card.items() if name != "network_version"})
    trained = train_levels(tmp_path, "tactician")
    assert trained.policy is None
    assert trained.text().endswith("no policy yet: executor not trained for arena as it is now")
    put(tmp_path, "executor", "sound", 30)
    assert made_of(train_levels(tmp_path, "tactician"))["executor"] == "sound"


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


def put_whole(workspace: Path, level: Level, name: str, epochs: int, **about: Any) -> Path:
    """A run that came to its end, of little play and by the settings as they come."""
    run = models_dir(workspace) / level / name
    chosen = level_settings(TrainingSettings(), TrainOptions(epochs=epochs), amount_of(1.0), TrainingSettings().seed)[level]
    state = {"epoch": epochs, "best_epoch": 1, "best_figures": {"f1": 0.5}}
    more = {"rules_version": RULES_VERSION, "state": state, "settings": asdict(chosen.loop), "name": name, **about}
    for file in (f"checkpoint_epoch_{epochs}", "last_model", "best_model"):
        epoch = 1 if file == "best_model" else epochs
        save(run / file, {"w": np.zeros(2, np.float32)}, make_card(level, ARENA_PROFILE, epoch=epoch, figures={"f1": 0.5}, **more))
    return run


def test_going_on_with_all_three_never_mixes_two_trainings(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    train_levels(tmp_path, "all", name="ctl")
    train_levels(tmp_path, "strategist", name="full")
    assert train_levels(tmp_path, "strategist", resume=True).runs["strategist"].name == "full"
    trained = train_levels(tmp_path, "all", resume=True)
    assert {folder.name for folder in went_into.values()} == {"ctl"}
    assert "goes on with ctl" in trained.notes
    assert "goes on with ctl" not in trained.warnings()


def test_all_three_do_not_go_on_with_a_training_of_one_level(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    train_levels(tmp_path, "strategist", name="full")
    trained = train_levels(tmp_path, "all", resume=True)
    assert "full" not in {folder.name for folder in went_into.values()}
    assert len({folder.name for folder in went_into.values()}) == 1
    assert "strategist: there is no run of arena to go on with; it is begun" in trained.warnings()


def test_a_finished_run_is_not_trained_again_and_makes_no_second_policy(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    for level in LEVELS:
        put_whole(tmp_path, level, "ctl", 4)
    first = train_levels(tmp_path, "all", resume=True, name="ctl", epochs=4)  # stopped just before its policy was made
    assert (first.finished, first.policy and first.policy.name) == (True, "ctl")
    again = train_levels(tmp_path, "all", resume=True, name="ctl", epochs=4)
    assert again.text() == (
        "strategist, tactician, executor of ctl: finished already, nothing was trained (without --resume a new training begins); "
        "policy ctl is promoted: it flies"
    )
    one = train_levels(tmp_path, "executor", resume=True, name="ctl", epochs=4)
    assert one.text().startswith("executor of ctl: finished already")
    assert [p.name for p in (models_dir(tmp_path) / "policies").iterdir()] == ["ctl"]
    assert went_into == {}
    train_levels(tmp_path, "executor", resume=True, name="ctl", epochs=5)
    assert went_into["executor"].name == "ctl"


def test_a_finished_run_tells_of_sessions_that_are_not_in_it(tmp_path: Path, went_into: dict[str, Path]) -> None:
    first = record(tmp_path)
    for level in LEVELS:
        put_whole(tmp_path, level, "ctl", 4, session_ids=[first])
    assert train_levels(tmp_path, "all", resume=True, epochs=4).unlearnt == 0
    record(tmp_path)
    trained = train_levels(tmp_path, "all", resume=True, epochs=4)
    assert (trained.finished, trained.unlearnt, went_into) == (True, 1, {})
    assert "without --resume a new training begins, and learns from 1 more session)" in trained.text()


@pytest.mark.parametrize("other", [{"lr": 0.5}, {"batch_size": 7}, {"seed": 9}, {"quick": True}])
def test_other_settings_are_not_passed_over_since_a_run_is_finished(
    other: dict[str, Any], tmp_path: Path, went_into: dict[str, Path]
) -> None:
    record(tmp_path)
    put_whole(tmp_path, "executor", "ctl", 4)
    trained = train_levels(tmp_path, "executor", resume=True, name="ctl", **{"epochs": 4, **other})
    assert (went_into["executor"].name, trained.finished) == ("ctl", False)  # whose trainer refuses it by name
    went_into.clear()
    assert train_levels(tmp_path, "executor", resume=True, name="ctl", epochs=3, device="cpu").finished
    assert went_into == {}


def test_a_run_whose_best_model_was_not_completed_goes_on(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    best = put_whole(tmp_path, "executor", "ctl", 4) / "best_model.safetensors"
    os.utime(best, (NOW_S - 900_000_000,) * 2)
    train_levels(tmp_path, "executor", resume=True, name="ctl", epochs=4)
    assert went_into["executor"].name == "ctl"


def test_models_elsewhere_fly_by_their_folder_and_are_not_promoted(tmp_path: Path, went_into: dict[str, Path]) -> None:
    record(tmp_path)
    train_levels(tmp_path, "all", name="ctl")
    trained = train_levels(tmp_path, "all", name="zz", output_dir=str(tmp_path / "out"))
    assert trained.policy == tmp_path / "out" / "models" / "policies" / "zz"
    assert trained.text().endswith(f"policy zz is in {trained.policy}: secondseat fly --policy {trained.policy} lets it fly")
    assert not (tmp_path / "out" / "models" / "promoted.json").exists()
    assert (promoted_name(tmp_path), trained.promoted) == ("ctl", False)


def test_a_refusal_leaves_no_empty_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*rest: Any, **more: Any) -> Any:
        raise TrainingError("0 rows to learn from")

    record(tmp_path)
    monkeypatch.setattr("trainers.all.train_one", refuse)
    monkeypatch.setattr("trainers.all.train_all", refuse)
    for level in ("executor", "all"):
        with pytest.raises(TrainingError):
            train_levels(tmp_path, level)
    assert list(models_dir(tmp_path).glob("*/*")) == []


def test_quick_with_a_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--quick is a schedule of its own: leave --preset large out"):
        train_levels(tmp_path, "all", quick=True, preset="large")


def test_a_stop_is_told_as_one_wherever_it_falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a level, between two, and while the first one's data are made ready; also to whoever runs it as a job."""
    from trainers.all import AllResult

    def interrupt(*rest: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    record(tmp_path)
    some = {"strategist": Result(tmp_path / "run", tmp_path / "run" / "best_model", 3, {"f1": 0.5})}
    monkeypatch.setattr("trainers.all.train_all", lambda *rest, **more: AllResult(some, None, interrupted=True))
    with pytest.raises(TrainingStopped, match="stopped; what was trained is kept, go on with --resume") as stopped:
        train_levels(tmp_path, "all")
    assert stopped.value.trained.to_json()["interrupted"] is True
    assert stopped.value.trained.missing == ()
    with pytest.raises(KeyboardInterrupt, match="go on with --resume"):
        work.WORK["train"](lambda progress: None, workspace=str(tmp_path))
    monkeypatch.setattr("trainers.all.train_one", interrupt)
    with pytest.raises(TrainingStopped, match="stopped before anything new was learnt"):
        train_levels(tmp_path, "executor")


@pytest.mark.parametrize("level", ["executor", "all"])
def test_a_stop_that_a_level_could_not_tell_any_more_is_told_by_its_folder(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainers.all import AllResult

    first: Level = "executor" if level == "executor" else "strategist"

    def late(*rest: Any, **more: Any) -> Any:
        put_whole(tmp_path, first, "ctl", 4)
        if level == "all":
            return AllResult({}, None, interrupted=True)
        raise KeyboardInterrupt

    record(tmp_path)
    monkeypatch.setattr("trainers.all.train_one", late)
    monkeypatch.setattr("trainers.all.train_all", late)
    with pytest.raises(TrainingStopped, match="stopped; what was trained is kept, go on with --resume") as stopped:
        train_levels(tmp_path, level, name="ctl")
    trained = stopped.value.trained
    assert (trained.runs, trained.figures) == ({first: models_dir(tmp_path) / first / "ctl"}, {first: {"f1": 0.5}})

    def early(*rest: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainers.all.train_one", early)
    monkeypatch.setattr("trainers.all.train_all", early)
    with pytest.raises(TrainingStopped, match="stopped before anything new was learnt"):  # what was there is not of this training
        train_levels(tmp_path, level, name="ctl", resume=True, epochs=9)


def test_remarks_of_every_level_are_in_the_log_and_warnings_are_told_apart(
    tmp_path: Path, went_into: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import trainers.all
    from data.progress import Progress

    plain = trainers.all.train_all  # the fixture's
    uneven, figures = "uneven classes: LOOT is 90 % of all", "learns from 1.0 min, checks on 0.2 min"

    def noted(sessions: Any, settings: Any, run_dirs: Any, policy: Any, report: Any, *rest: Any, **more: Any) -> Any:
        for note in (uneven, figures):
            report(Progress("tactician note", 0.2, message=note))
        result = plain(sessions, settings, run_dirs, policy, report, *rest, **more)
        level = result.levels["tactician"]
        result.levels["tactician"] = Result(level.run_dir, level.best, 1, {}, notes=(uneven, figures))
        return result

    record(tmp_path)
    record(tmp_path, rules=RULES_VERSION - 1)
    monkeypatch.setattr("trainers.all.train_all", noted)
    with caplog.at_level("INFO"):
        trained = train_levels(tmp_path, "all", lambda progress: None)
    assert f"tactician: {uneven}" in caplog.text
    assert "left out: " in caplog.text
    left_out, last = trained.warnings()
    assert "rules 1 instead of 2" in left_out
    assert last == uneven
