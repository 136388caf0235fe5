"""Imitation and refinement in one folder: each goes on with its own checkpoints, and neither takes nor removes those of the other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.checkpoint import CheckpointError, load, read_card, save
from data.workspace import Workspace
from league.imitate import ImitationResult, imitate
from league.refine import RefineError, RefineSettings, refine
from league.refine_resume import begun, refinements
from league.runs import list_runs
from tests.league.test_imitate import DATA, SMALL
from tests.league.test_refine import SETTINGS
from tui.commands.league_options import policy_path

pytestmark = pytest.mark.timeout(180)  # on a busy machine


def learn(folder: Path, epochs: int, **how: Any) -> ImitationResult:
    return imitate(DATA, replace(SMALL, epochs=epochs), folder, "pi_sup.pt", **how)


def refined(folder: Path, iterations: int, supervised: Path | None = None, **how: Any) -> Any:
    settings: RefineSettings = replace(SETTINGS, iterations=iterations)
    return refine(supervised or folder / "pi_sup.pt", settings, folder, name="pi_rl.pt", **how)


def same(one: Path, other: Path) -> bool:
    a, b = load(one).tensors, load(other).tensors
    return a.keys() == b.keys() and all(np.array_equal(values, b[name]) for name, values in a.items())


def content(folder: Path, *patterns: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for pattern in patterns for path in folder.glob(pattern)}


def as_earlier_versions_named_it(folder: Path) -> None:
    for path in folder.glob("checkpoint_iteration_*"):
        path.rename(path.with_name(path.name.replace("iteration", "epoch")))


def nowhere(name: str) -> Path:
    raise AssertionError(name)


def test_refinement_begins_where_imitation_lies_and_both_go_on(tmp_path: Path) -> None:
    one, apart = tmp_path / "one", tmp_path / "apart"
    learn(one, 2)
    of_imitation = content(one, "checkpoint_epoch_*", "pi_sup*")
    refined(one, 3)
    assert content(one, "checkpoint_epoch_*", "pi_sup*") == of_imitation
    assert [path.name for path in refinements(one)] == ["checkpoint_iteration_3", "checkpoint_iteration_2"]
    with pytest.raises(RefineError, match="there is a run already; go on with it by --resume"):
        refined(one, 3)

    workspace = Workspace(tmp_path / "workspace")
    lies = workspace.models / "league" / "both"
    shutil.copytree(one, lies)
    for name in ("pi_sup", "pi_rl"):  # without a name either is found
        assert policy_path(workspace, "", True, name) == lies / name
    assert {row.kind for row in list_runs(workspace.root)} == {"imitation", "refinement"}

    of_refinement = content(one, "checkpoint_iteration_*", "*.npz", "pi_rl*", "metrics.jsonl")
    assert learn(one, 4, resume=True).notes == ("resumed after epoch 2",)
    assert content(one, "checkpoint_iteration_*", "*.npz", "pi_rl*", "metrics.jsonl") == of_refinement
    assert len(content(one, "checkpoint_epoch_*.safetensors")) == 2
    learn(apart, 4)
    assert same(one / "pi_sup.pt", apart / "pi_sup.pt")
    assert same(one / "checkpoint_epoch_4", apart / "checkpoint_epoch_4")


def test_refinement_goes_on_though_imitation_lies_beside_it(tmp_path: Path) -> None:
    one, apart = tmp_path / "one", tmp_path / "apart"
    learn(one, 2)
    assert "starting anew" in refined(one, 2, resume=True).notes[0]
    settings, near = begun(one, tmp_path, nowhere, {"iterations": 4})
    assert (settings.iterations, near) == (4, one / "pi_sup.pt")
    assert "resumed after iteration 2" in refined(one, 4, resume=True).notes
    refined(apart, 4, one / "pi_sup.pt")
    assert same(one / "pi_rl.pt", apart / "pi_rl.pt")
    (one / "pi_sup.pt.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"pi_sup: the policy that .* put it back, name it by --supervised-checkpoint, or"):
        begun(one, one, nowhere, {})


def test_imitation_begins_where_refinement_lies(tmp_path: Path) -> None:
    learn(tmp_path / "first", 1)
    one = tmp_path / "one"
    refined(one, 3, tmp_path / "first" / "pi_sup.pt")
    of_refinement = content(one, "*")
    learn(one, 1)
    assert "resumed after epoch 1" in learn(one, 3, resume=True).notes
    assert {name: (one / name).read_bytes() for name in of_refinement} == of_refinement
    assert "resumed after iteration 3" in refined(one, 4, tmp_path / "first" / "pi_sup.pt", resume=True).notes
    assert len(content(one, "checkpoint_epoch_*.safetensors")) == 2


def test_a_refinement_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    learn(tmp_path / "first", 1)
    one, apart, supervised = tmp_path / "one", tmp_path / "apart", tmp_path / "first" / "pi_sup.pt"
    refined(one, 3, supervised)
    as_earlier_versions_named_it(one)
    assert [path.name for path in refinements(one)] == ["checkpoint_epoch_3", "checkpoint_epoch_2"]
    with pytest.raises(RefineError, match="there is a run already"):
        refined(one, 3, supervised)
    with pytest.raises(CheckpointError, match=r"checkpoint_epoch_3\.safetensors: is no policy or checkpoint of imitation"):
        learn(one, 1)
    assert begun(one, tmp_path / "first", nowhere, {})[0].iterations == 3
    torn = one / "checkpoint_epoch_3.safetensors"
    torn.write_bytes(torn.read_bytes()[:30])
    made = refined(one, 5, supervised, resume=True)
    assert [note for note in made.notes if "falling back" in note]
    assert "resumed after iteration 2" in made.notes
    assert [path.name for path in refinements(one)] == ["checkpoint_iteration_5", "checkpoint_iteration_4"]
    assert sorted(content(one, "runner_*")) == ["runner_4.npz", "runner_5.npz"]
    refined(apart, 5, supervised)
    assert same(one / "pi_rl.pt", apart / "pi_rl.pt")


def test_a_torn_checkpoint_of_imitation_is_no_refinements(tmp_path: Path) -> None:
    learn(tmp_path, 2)
    refined(tmp_path, 2)
    torn = tmp_path / "checkpoint_epoch_2.safetensors"
    torn.write_bytes(torn.read_bytes()[:30])
    refined(tmp_path, 4, resume=True)
    assert torn.exists()
    assert [path.name for path in refinements(tmp_path)] == ["checkpoint_iteration_4", "checkpoint_iteration_3"]
    notes = learn(tmp_path, 3, resume=True).notes
    assert "falling back" in notes[0]
    assert notes[1] == "resumed after epoch 1"


def test_neither_writes_over_the_others_policy(tmp_path: Path) -> None:
    learn(tmp_path, 1)
    refined(tmp_path, 1)
    before = content(tmp_path, "*")
    with pytest.raises(RefineError, match=r"pi_sup\.pt\.safetensors: is there already and is no refinement's \(pi_sup\)"):
        refine(tmp_path / "pi_sup.pt", SETTINGS, tmp_path, resume=True, name="pi_sup.pt")
    for resume in (False, True):
        with pytest.raises(CheckpointError, match=r"pi_rl\.pt\.safetensors: is no policy or checkpoint of imitation \(pi_rl\)"):
            imitate(DATA, replace(SMALL, epochs=2), tmp_path, "pi_rl.pt", resume=resume)
    assert content(tmp_path, "*") == before
    assert read_card(tmp_path / "pi_sup.pt")["role"] == "pi_sup"
    save(tmp_path / "new" / "pi_sup", load(tmp_path / "pi_sup.pt").tensors, read_card(tmp_path / "pi_sup.pt"))
    with pytest.raises(RefineError, match="is no refinement's"):
        refine(tmp_path / "pi_sup.pt", SETTINGS, tmp_path / "new", name="pi_sup")
