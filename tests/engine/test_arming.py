"""Arming through the engine's door: a policy flies the game it was made for, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.profile import ARENA_PROFILE
from data.settings import Settings
from data.workspace import Workspace
from engine.commands import EngineError
from engine.control_center import ControlCenter
from tests.support.policies import as_if_of


@pytest.fixture
def center(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlCenter]:
    monkeypatch.delenv("DISPLAY", raising=False)
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready()
    do(engine, "source", kind="arena", pilot="none")
    yield engine
    assert engine.stop(30.0) == []


def do(center: ControlCenter, name: str, **params: Any) -> str:
    return center.command(name, **params).result(60)


@pytest.mark.timeout(120)
def test_only_a_policy_of_the_game_that_is_watched_is_armed(center: ControlCenter, bundle: Path, tmp_path: Path) -> None:
    theirs = as_if_of(bundle, tmp_path / "theirs", ARENA_PROFILE.model_copy(update={"name": "mine", "keys": ("w",)}))
    with pytest.raises(EngineError, match=r"theirs was made for mine; .*: game arena instead of mine; .*train all --game arena"):
        do(center, "arm", policy=str(theirs))
    assert center.snapshot().bot.phase == "disarmed"
    with pytest.raises(EngineError, match="not armed"):
        do(center, "fly")

    # The same game, but before a key was added: what the policy presses would no longer be what it learnt.
    before = as_if_of(bundle, tmp_path / "before", ARENA_PROFILE.model_copy(update={"keys": ARENA_PROFILE.keys[:-1]}))
    with pytest.raises(EngineError, match=r"before .*keys: has r; "):
        do(center, "arm", policy=str(before))
    assert center.snapshot().bot.phase == "disarmed"

    # A gauge that was marked anew reads the same thing.
    hp = ARENA_PROFILE.gauges[0].model_copy(update={"region": (0.0, 0.0, 0.2, 0.1)})
    moved = ARENA_PROFILE.model_copy(update={"gauges": (hp, *ARENA_PROFILE.gauges[1:])})
    assert do(center, "arm", policy=str(as_if_of(bundle, tmp_path / "moved", moved))) == "armed: moved may drive the arena"
    with pytest.raises(EngineError, match="game arena instead of mine"):
        do(center, "arm", policy=str(theirs))
    assert center.snapshot().bot.policy == "moved"
    assert "flier may drive" in do(center, "arm", policy=str(bundle))


def test_in_a_recording_a_policy_of_its_game_decides(center: ControlCenter, bundle: Path, tmp_path: Path) -> None:
    from tests.support.sessions import write_play
    from tests.trainers.synthetic import session

    mine = ARENA_PROFILE.model_copy(update={"name": "mine", "detector": ""})
    name = write_play(center.workspace.root, session(3), mine)
    theirs = as_if_of(bundle, tmp_path / "theirs", mine)
    do(center, "source", kind="video", session=name, loop=True)
    with pytest.raises(EngineError, match=r"flier was made for arena; .*game mine instead of arena"):
        do(center, "arm", policy=str(bundle), dry_run=True)
    assert "theirs may drive" in do(center, "arm", policy=str(theirs), dry_run=True)
