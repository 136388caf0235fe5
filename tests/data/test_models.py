"""Runs, bundles, promotion and rollback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from data.checkpoint import CheckpointError, make_card, save
from data.models import (
    LEVELS,
    Flier,
    flier,
    list_policies,
    list_runs,
    models_dir,
    new_run,
    promote,
    promoted_name,
    resolve_policy,
    rollback,
    show_policy,
    trained_with,
    write_policy,
)
from data.profile import ARENA_PROFILE


def bundle(workspace: Path, name: str) -> Path:
    levels = {}
    for level in LEVELS:
        run = new_run(workspace, level)
        save(run / "best_model", {"w": np.zeros(2, np.float32)}, make_card(level, ARENA_PROFILE, epoch=4, figures={"val_loss": 0.5}))
        levels[level] = run / "best_model"
    detector = workspace / "arena.onnx"
    detector.write_bytes(b"weights")
    return write_policy(models_dir(workspace) / "policies" / name, levels, ARENA_PROFILE, [detector])


def test_a_bundle_holds_all_and_can_be_moved(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "a", "first")
    assert {p.name for p in folder.iterdir()} >= {
        "policy.json",
        "profile.json",
        "arena.onnx",
        *(f"{level}.safetensors" for level in LEVELS),
    }
    moved = tmp_path / "elsewhere" / "b"
    shutil.move(tmp_path / "a", moved)
    assert resolve_policy(moved, "first").is_dir()
    assert show_policy(moved / "models" / "policies" / "first")["levels"]["executor"]["epoch"] == 4
    for text in moved.rglob("*.json"):
        assert str(tmp_path) not in text.read_text()


def test_promote_and_rollback(tmp_path: Path) -> None:
    for name in ("one", "two"):
        bundle(tmp_path, name)
    assert promoted_name(tmp_path) == ""
    promote(tmp_path, "one")
    promote(tmp_path, "two")
    assert resolve_policy(tmp_path).name == "two"
    assert [p.name for p in list_policies(tmp_path) if p.promoted] == ["two"]
    assert rollback(tmp_path) == "one"
    assert promoted_name(tmp_path) == "one"
    with pytest.raises(CheckpointError, match="nothing was promoted before"):
        rollback(tmp_path)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no policy yet"):
        resolve_policy(tmp_path)
    folder = bundle(tmp_path, "one")
    with pytest.raises(CheckpointError, match="known: one"):
        resolve_policy(tmp_path, "other")
    with pytest.raises(CheckpointError, match="exists already"):
        bundle(tmp_path, "one")
    for bad in ("../x", "", "a/b", ".hidden"):
        with pytest.raises(CheckpointError, match="model name"):
            promote(tmp_path, bad)
    (folder / "executor.safetensors").write_bytes(b"")
    (info,) = list_policies(tmp_path)
    assert "executor" in info.problem
    with pytest.raises(CheckpointError, match="executor"):
        promote(tmp_path, "one")


def test_runs_are_listed_with_their_figures_or_problem(tmp_path: Path) -> None:
    bundle(tmp_path, "one")
    new_run(tmp_path, "tactician", "empty")
    runs = list_runs(tmp_path)
    assert {r.level for r in runs} == set(LEVELS)
    torn = new_run(tmp_path, "executor", "torn") / "best_model.safetensors"
    torn.write_bytes(b"cut")
    runs = list_runs(tmp_path)
    assert [(r.problem, r.unfinished, r.has_model) for r in runs if r.name == "empty"] == [("", "no epoch was finished", False)]
    assert ["not a readable checkpoint" in r.problem for r in runs if r.name == "torn"] == [True]
    assert all(r.figures == {"val_loss": 0.5} for r in runs if r.has_model)


def test_a_run_that_is_not_at_its_end_says_how_far_it_has_come(tmp_path: Path) -> None:
    for name, epoch, best, patience in (("short", 3, 3, 0), ("whole", 60, 40, 0), ("early", 20, 10, 10)):
        run = new_run(tmp_path, "executor", name)
        state, settings = {"epoch": epoch, "best_epoch": best}, {"epochs": 60, "patience": patience}
        for file in ("best_model", f"checkpoint_epoch_{epoch}"):
            save(
                run / file,
                {"w": np.zeros(2, np.float32)},
                make_card("executor", ARENA_PROFILE, epoch=epoch, state=state, settings=settings),
            )
    assert {r.name: r.unfinished for r in list_runs(tmp_path)} == {"short": "epoch 3 of 60 so far", "whole": "", "early": ""}


def test_who_flies_and_what_is_newer_is_told(tmp_path: Path) -> None:
    assert flier(tmp_path) == Flier()
    for name, created in (("old", "2026-11-27T10:00:00Z"), ("new", "2026-11-28T10:00:00Z")):
        card = bundle(tmp_path, name) / "policy.json"
        card.write_text(json.dumps({**json.loads(card.read_text()), "created": created}))
    assert flier(tmp_path) == Flier("new")
    promote(tmp_path, "old")
    assert flier(tmp_path) == Flier("old", True, "new")
    promote(tmp_path, "new")
    assert flier(tmp_path) == Flier("new", True)


def test_promoting_what_lies_elsewhere_says_what_to_do(tmp_path: Path) -> None:
    bundle(tmp_path / "ws", "one")
    there = bundle(tmp_path / "other", "two")
    with pytest.raises(CheckpointError, match=r"policy two: there is none of that name in .*; known: one; .*--policy FOLDER"):
        promote(tmp_path / "ws", "two")
    with pytest.raises(CheckpointError, match=r"lies outside this workspace.*secondseat fly --policy"):
        promote(tmp_path / "ws", str(there))
    assert promote(tmp_path / "ws", str(models_dir(tmp_path / "ws") / "policies" / "one")) == "one"


def test_a_name_of_the_workspace_goes_before_what_lies_in_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = bundle(tmp_path / "ws", "best")
    for name in ("best", "gone"):
        shutil.copytree(bundle(tmp_path / "other", name), tmp_path / "here" / name)
    monkeypatch.chdir(tmp_path / "here")
    assert resolve_policy(tmp_path / "ws", "best") == ours
    assert promote(tmp_path / "ws", "best") == "best"
    with pytest.raises(CheckpointError, match="lies outside this workspace"):
        promote(tmp_path / "ws", "./best")
    assert resolve_policy(tmp_path / "ws", "./best") == resolve_policy(tmp_path, "best") == Path("best")
    (models_dir(tmp_path / "ws") / "promoted.json").write_text('{"history": ["gone"]}')
    with pytest.raises(CheckpointError, match="policy gone: no such bundle; known: best"):
        resolve_policy(tmp_path / "ws")


def test_the_present_folder_can_be_promoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundle(tmp_path, "best"))
    assert promote(tmp_path, ".") == promoted_name(tmp_path) == "best"


def test_a_promoted_name_is_spelt_as_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(tmp_path, "best")
    is_dir = Path.is_dir

    def any_case(path: Path, **how: bool) -> bool:
        return is_dir(path.with_name("best") if path.name == "BEST" else path, **how)

    monkeypatch.setattr(Path, "is_dir", any_case)  # as Windows and macOS find it
    assert promote(tmp_path, "BEST") == promoted_name(tmp_path) == "best"
    for written, flies in (("BEST", True), ("other/best", False)):
        (models_dir(tmp_path) / "promoted.json").write_text(json.dumps({"history": [written]}))
        assert [p.promoted for p in list_policies(tmp_path)] == [flies]


def test_the_run_written_last_is_last_whatever_its_name(tmp_path: Path) -> None:
    for name, hours in (("night", 9), ("20261127T100000Z", 1), ("20261128T100000Z", 4)):
        run = new_run(tmp_path, "executor", name)
        save(run / "best_model", {"w": np.zeros(2, np.float32)}, make_card("executor", ARENA_PROFILE))
        os.utime(run / "best_model.safetensors", (1_800_000_000 - 3600 * hours,) * 2)
    assert [r.name for r in list_runs(tmp_path, "executor")] == ["night", "20261128T100000Z", "20261127T100000Z"]


def test_a_policy_knows_what_its_levels_were_trained_with(tmp_path: Path) -> None:
    folder = bundle(tmp_path, "one")
    assert trained_with(folder) == {}  # cards of before name no sessions
    splits = {"strategist": ([[0, 0, 9]], [[1, 0, 9]]), "tactician": ([[1, 0, 9]], [[0, 0, 9]]), "executor": ([[0, 0, 5]], [[0, 6, 9]])}
    for level, (train, validation) in splits.items():
        names = ["c"] if level == "executor" else ["a", "b"] if level == "strategist" else ["b", "d"]
        more = {"session_ids": names, "split": {"seed": 0, "train": train, "validation": validation}}
        save(folder / level, {"w": np.zeros(2, np.float32)}, make_card(level, ARENA_PROFILE, **more))
    assert trained_with(folder) == {"a": True, "b": False, "c": True, "d": True}
    assert "session_ids" not in show_policy(folder)["levels"]["executor"]
    save(folder / "executor", {}, make_card("executor", ARENA_PROFILE, session_ids="?", split=[]))
    with pytest.raises(CheckpointError, match="executor: what it says of the sessions it was trained with"):
        trained_with(folder)


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"7", bytes(64), b"\xff", b'{"history": "one"}', b'{"history": [["one"]]}', b"{}"])
def test_a_torn_promotion_file_is_set_aside_and_told_of_once(content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bundle(tmp_path, "one")
    file = models_dir(tmp_path) / "promoted.json"
    file.write_bytes(content)
    assert flier(tmp_path) == Flier("one")
    assert resolve_policy(tmp_path).name == "one"
    assert (models_dir(tmp_path) / "promoted.json.corrupt").read_bytes() == content
    (told,) = caplog.messages
    assert told.startswith(f"{file} cannot be read (")
    assert told.endswith("is kept as promoted.json.corrupt: no policy is promoted now; secondseat models promote NAME does it")
    with pytest.raises(CheckpointError, match="nothing was promoted before"):
        rollback(tmp_path)
    assert promote(tmp_path, "one") == promoted_name(tmp_path) == "one"


def test_a_torn_promotion_file_that_cannot_be_set_aside_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path) -> Path:
        raise OSError(30, "Read-only file system")

    bundle(tmp_path, "one")
    (models_dir(tmp_path) / "promoted.json").write_bytes(b"")
    monkeypatch.setattr("data.models.set_aside", refuse)
    assert promoted_name(tmp_path) == ""
    assert "could not be set aside (Read-only file system): no policy is promoted now" in caplog.text


def test_a_promoted_policy_that_is_gone_or_broken_flies_no_more(tmp_path: Path) -> None:
    for name, created in (("old", "2026-11-27T10:00:00Z"), ("new", "2026-11-28T10:00:00Z")):
        card = bundle(tmp_path, name) / "policy.json"
        card.write_text(json.dumps({**json.loads(card.read_text()), "created": created}))
        promote(tmp_path, name)
    (models_dir(tmp_path) / "policies" / "new" / "policy.json").write_bytes(b"")
    assert "not a policy bundle" in flier(tmp_path).problem
    shutil.rmtree(models_dir(tmp_path) / "policies" / "new")
    assert flier(tmp_path) == Flier("new", True, "old", "its folder is gone")
    with pytest.raises(CheckpointError, match=r"policy new: no such bundle; known: old; .* promote another with secondseat models promote"):
        resolve_policy(tmp_path)


def test_rollback_passes_over_policies_that_are_gone(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        bundle(tmp_path, name)
        promote(tmp_path, name)
    shutil.rmtree(models_dir(tmp_path) / "policies" / "two")
    assert rollback(tmp_path) == promoted_name(tmp_path) == "one"
    promote(tmp_path, "three")
    shutil.rmtree(models_dir(tmp_path) / "policies" / "one")
    with pytest.raises(CheckpointError, match="the folders of all that were promoted before are gone"):
        rollback(tmp_path)
    assert promoted_name(tmp_path) == "three"
