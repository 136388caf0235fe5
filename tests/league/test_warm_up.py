"""Compiling once for a machine: said part by part, and not again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from data.progress import Progress
from league import warm_up as module
from league.warm_up import KERNELS, cold, warm_up


def test_every_compiled_module_of_the_league_is_warmed_up() -> None:
    root = Path(module.__file__).parent
    names = {str(p.relative_to(root).with_suffix("")).replace(os.sep, ".") for p in root.rglob("*_kernel.py")}
    assert names - {"arena.skirmish_kernel"} == set(KERNELS)


def test_only_what_is_cold_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[Progress] = []
    assert cold() == []
    warm_up(told.append)
    assert told == []
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    assert cold() == list(KERNELS)
    for name in KERNELS[:-1]:
        (tmp_path / f"{name.split('.')[-1]}._advance-1.py311.1.nbi").touch()
    assert cold() == [KERNELS[-1]]
    warm_up(told.append)
    assert [(p.done, p.message) for p in told] == [(0.0, "part 1 of 1; once on this machine, a minute or two in all")]


def test_what_was_compiled_before_its_source_changed_is_cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    old = tmp_path / "fold_kernel._fold-1.py311.1.nbi"
    old.touch()
    os.utime(old, (0, 0))
    assert "fold_kernel" in cold()
    old.touch()
    assert "fold_kernel" not in cold()
