"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.policies import train_tiny
from tests.support.recording import MakeRig, RecorderRig


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny policy; tests must not change it."""
    return train_tiny(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[MakeRig]:
    """Makes recorders that are stopped at the end."""
    rigs: list[RecorderRig] = []

    def make(focused: bool = True, workspace: Path = tmp_path, **options: float) -> RecorderRig:
        made = RecorderRig(workspace, **options)
        if focused:
            made.recorder.set_focus(True)
        rigs.append(made)
        return made

    yield make
    for made in rigs:
        assert made.recorder.stop()
