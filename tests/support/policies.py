"""A tiny policy, trained for a few seconds on made-up sessions; and the same one as if it were another game's."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.checkpoint import load, save
from data.models import LEVELS
from data.profile import GameProfile
from tests.trainers.synthetic import session

if TYPE_CHECKING:
    from trainers.all import AllSettings


def tiny_settings() -> AllSettings:
    """What trains all three levels in a few seconds."""
    from trainers import executor, strategist, tactician
    from trainers.all import AllSettings
    from trainers.loop import LoopSettings

    quick = LoopSettings(2, 32, 3e-3, warmup_steps=5, device="cpu")
    return AllSettings(
        dataclasses.replace(strategist.QUICK, loop=quick, width=32, history=8, shorter=0),
        dataclasses.replace(tactician.QUICK, loop=quick, width=32),
        dataclasses.replace(executor.QUICK, loop=dataclasses.replace(quick, epochs=6), width=32),
        folds=2,
        phases=2,
    )


def train_tiny(folder: Path) -> Path:
    """A bundle in ``folder``."""
    from trainers.all import train_all

    sessions = [session(12, seed=i) for i in range(4)]
    result = train_all(
        sessions, tiny_settings(), {level: folder / level for level in ("strategist", "tactician", "executor")}, folder / "flier"
    )
    assert result.policy is not None
    assert not list(folder.glob("*/folds"))
    return result.policy


def as_if_of(bundle: Path, folder: Path, profile: GameProfile, **more: Any) -> Path:
    """A copy of a bundle in ``folder`` that says it was made with this profile; ``more`` for its cards."""
    shutil.copytree(bundle, folder)
    (folder / "profile.json").write_text(profile.model_dump_json(), "utf-8")
    said = {
        "profile": profile.model_dump(mode="json"),
        "keys": list(profile.keys),
        "classes": list(profile.class_names()),
    }
    for level in LEVELS:
        found = load(folder / level)
        save(folder / level, found.tensors, {**found.card, **said, **more})
    return folder
