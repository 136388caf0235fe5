"""Compiling once for a machine: said part by part, and not again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from data.checkpoint import CheckpointError
from data.progress import Progress
from league import warm_up as module
from league.refine import RefineSettings, refine
from league.warm_up import KERNELS, cold, warm_up
from league.warm_up import _stamp as stamp


def test_every_compiled_module_of_the_league_is_warmed_up() -> None:
    root = Path(module.__file__).parent
    names = {str(p.relative_to(root).with_suffix("")).replace(os.sep, ".") for p in root.rglob("*_kernel.py")}
    assert names - {"arena.skirmish_kernel"} == set(KERNELS)


def test_only_what_is_cold_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[Progress] = []
    assert cold() == []
    warm_up(told.append)
    assert told == []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # where numba keeps it then
    assert cold() == list(KERNELS)
    (tmp_path / "arena").mkdir()
    (tmp_path / "arena" / "last_standing_kernel._reset-1.py311.1.nbi").touch()  # stopped after its first function
    assert cold() == list(KERNELS)
    for name in KERNELS[:-1]:
        stamp(name).parent.mkdir(exist_ok=True)
        stamp(name).touch()
    assert cold() == [KERNELS[-1]]
    warm_up(told.append)
    assert [(p.done, p.message) for p in told] == [(0.0, "part 1 of 1; once on this machine, a minute or two in all")]
    assert cold() == []


def test_what_was_compiled_before_its_source_changed_or_by_another_python_is_cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    stamp("fold_kernel").parent.mkdir()
    stamp("fold_kernel").touch()
    assert "fold_kernel" not in cold()
    os.utime(stamp("fold_kernel"), (0, 0))
    assert "fold_kernel" in cold()
    stamp("fold_kernel").touch()
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-400")
    assert "fold_kernel" in cold()


def test_a_policy_that_is_not_there_is_told_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("league.refine.warm_up", lambda report: pytest.fail("it compiled"))
    with pytest.raises(CheckpointError, match="nobody"):
        refine(tmp_path / "nobody", RefineSettings(), tmp_path / "run")
