"""A tiny policy, trained for a few seconds on made-up sessions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.trainers.synthetic import session


def train_tiny(folder: Path) -> Path:
    """A bundle in ``folder``."""
    from trainers import executor, strategist, tactician
    from trainers.all import AllSettings, train_all
    from trainers.loop import LoopSettings

    quick = LoopSettings(2, 32, 3e-3, warmup_steps=5, device="cpu")
    settings = AllSettings(
        dataclasses.replace(strategist.QUICK, loop=quick, width=32, history=8),
        dataclasses.replace(tactician.QUICK, loop=quick, width=32),
        dataclasses.replace(executor.QUICK, loop=dataclasses.replace(quick, epochs=6), width=32),
        folds=2,
        phases=2,
    )
    sessions = [session(12, seed=i) for i in range(4)]
    result = train_all(sessions, settings, {level: folder / level for level in ("strategist", "tactician", "executor")}, folder / "flier")
    assert result.policy is not None
    assert not list(folder.glob("*/folds"))
    return result.policy
