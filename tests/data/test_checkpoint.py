"""Checkpoint files: whole or not at all, never partly loaded, never unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data import checkpoint
from data.checkpoint import (
    CheckpointError,
    TornCheckpoint,
    checkpoints,
    fit_tensors,
    keep_newest,
    load,
    make_card,
    newest_whole,
    refuse_mismatch,
    save,
)
from data.profile import ARENA_PROFILE

TENSORS = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "a.bias": np.zeros(2, np.float32)}
SHAPES = {name: values.shape for name, values in TENSORS.items()}


def card() -> dict[str, object]:
    return make_card("strategist", ARENA_PROFILE, epoch=3)


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    save(tmp_path / "best_model", TENSORS, card())
    found = load(tmp_path / "best_model")
    assert found.card["epoch"] == 3
    np.testing.assert_array_equal(found.tensors["a.weight"], TENSORS["a.weight"])
    assert (tmp_path / "best_model.json").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best_model.json", "best_model.safetensors"]
    refuse_mismatch(found, ARENA_PROFILE, "strategist")


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.99])
def test_a_torn_file_is_found_out_and_the_one_before_is_used(tmp_path: Path, keep: float) -> None:
    for name in ("one", "two"):
        save(tmp_path / name, TENSORS, card())
    file = tmp_path / "two.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(TornCheckpoint, match="two"):
        load(tmp_path / "two")
    found, notes = newest_whole([tmp_path / "two", tmp_path / "one"])
    assert found is not None
    assert found.path.name == "one"
    assert "falling back" in notes[0]


def test_junk_and_a_newer_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "junk.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(TornCheckpoint):
        load(tmp_path / "junk")
    with pytest.raises(CheckpointError, match="no such file"):
        load(tmp_path / "nothing")
    save(tmp_path / "new", TENSORS, {**card(), "card_version": 999})
    with pytest.raises(CheckpointError, match="newer version"):
        load(tmp_path / "new")


@pytest.mark.parametrize("version", ["x", None, [1]])
def test_a_card_of_no_version_is_torn(version: Any, tmp_path: Path) -> None:
    save(tmp_path / "odd", TENSORS, {**card(), "card_version": version})
    with pytest.raises(TornCheckpoint, match=r"odd.safetensors: its card_version"):
        load(tmp_path / "odd")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"card_version": ' + "9" * 400 + "}", '{"card_version": Infinity}'])
def test_a_card_that_is_no_card_is_torn(text: str, tmp_path: Path) -> None:
    from safetensors.numpy import save as to_bytes

    (tmp_path / "odd.safetensors").write_bytes(to_bytes(dict(TENSORS), {"card": text}))
    with pytest.raises(TornCheckpoint, match=r"odd.safetensors"):
        load(tmp_path / "odd")


def test_mismatches_are_named(tmp_path: Path) -> None:
    save(tmp_path / "m", TENSORS, {**card(), "feature_version": 0})
    found = load(tmp_path / "m")
    with pytest.raises(CheckpointError, match="feature_version: made with 0"):
        refuse_mismatch(found, ARENA_PROFILE)
    with pytest.raises(CheckpointError, match="level"):
        refuse_mismatch(found, level="executor")
    other = ARENA_PROFILE.model_copy(update={"keys": ("w", "a")})
    with pytest.raises(CheckpointError, match="keys: made with"):
        refuse_mismatch(found, other)


def test_the_same_classes_with_another_meaning_do_not_fit(tmp_path: Path) -> None:
    """Their shapes are the same, and every number would mean something else."""
    save(tmp_path / "m", TENSORS, card())
    found = load(tmp_path / "m")
    refuse_mismatch(found, ARENA_PROFILE)
    kinds = list(ARENA_PROFILE.classes)
    place = next(i for i, kind in enumerate(kinds) if kind.name == "mender")
    kinds[place] = kinds[place].model_copy(update={"role": "loot"})
    changes = (
        ({"classes": tuple(kinds)}, r"mender \(enemy\).*mender \(loot\)"),
        ({"threat_range": 0.9}, "threat_range"),
        ({"low_hp": 0.9}, "low_hp"),
    )
    for change, told in changes:
        with pytest.raises(CheckpointError, match=told):
            refuse_mismatch(found, ARENA_PROFILE.model_copy(update=change))


def test_a_level_with_another_network_does_not_fit(tmp_path: Path) -> None:
    now = make_card("executor", ARENA_PROFILE)
    before = {name: value for name, value in now.items() if name != "network_version"}  # as the first ones were written
    for name, values in (("now", now), ("before", before), ("later", {**now, "network_version": 99})):
        save(tmp_path / name, TENSORS, values)
    refuse_mismatch(load(tmp_path / "now"), ARENA_PROFILE, "executor")
    for name, version in (("before", 1), ("later", 99)):
        with pytest.raises(CheckpointError, match=rf"{name}: does not fit.*network_version: made with {version}, here 2.*Train it again"):
            refuse_mismatch(load(tmp_path / name), ARENA_PROFILE)
    save(tmp_path / "top", TENSORS, {name: value for name, value in card().items() if name != "network_version"})
    refuse_mismatch(load(tmp_path / "top"), ARENA_PROFILE, "strategist")


def test_tensors_fit_wholly_or_are_refused_by_name() -> None:
    compiled = {f"{checkpoint.COMPILED_PREFIX}{name}": values for name, values in TENSORS.items()}
    assert set(fit_tensors(compiled, SHAPES, "x")) == set(TENSORS)
    with pytest.raises(CheckpointError, match=r"missing: a\.bias; unexpected: a\.offset"):
        fit_tensors({"a.weight": TENSORS["a.weight"], "a.offset": TENSORS["a.bias"]}, SHAPES, "x")
    with pytest.raises(CheckpointError, match=r"missing: a\.bias"):
        fit_tensors({"a.weight": TENSORS["a.weight"]}, SHAPES, "x")
    with pytest.raises(CheckpointError, match=r"wrong shape: a\.bias \(3,\)"):
        fit_tensors({**TENSORS, "a.bias": np.zeros(3, np.float32)}, SHAPES, "x")
    with pytest.raises(CheckpointError, match=r"not finite: a\.bias"):
        fit_tensors({**TENSORS, "a.bias": np.array([np.nan, 0], np.float32)}, SHAPES, "x")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "best_model", TENSORS, card())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path / "best_model", {}, card())
    monkeypatch.undo()
    assert set(load(tmp_path / "best_model").tensors) == set(TENSORS)
    assert not list(tmp_path.glob(".*"))


def test_the_newest_checkpoints_are_kept_and_a_strangers_file_is_none_of_them(tmp_path: Path) -> None:
    for name in ("checkpoint_epoch_2", "checkpoint_epoch_10", "checkpoint_epoch_9", "checkpoint_epoch_copy"):
        (tmp_path / f"{name}.safetensors").write_bytes(b"")
        (tmp_path / f"{name}.json").write_bytes(b"")
    assert [p.name for p in checkpoints(tmp_path)] == ["checkpoint_epoch_10", "checkpoint_epoch_9", "checkpoint_epoch_2"]
    keep_newest(tmp_path, 2)
    assert sorted(p.name for p in tmp_path.glob("*.json")) == [
        "checkpoint_epoch_10.json",
        "checkpoint_epoch_9.json",
        "checkpoint_epoch_copy.json",
    ]
