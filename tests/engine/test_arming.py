"""Arming through the engine's door: a policy flies the game it was made for, and no other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from data.profile import ARENA_PROFILE
from data.settings import Settings
from data.workspace import Workspace
from engine.commands import EngineError
from engine.control_center import ControlCenter
from engine.platforms.port import Rect, WindowInfo
from engine.rig import Rig, RigError
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


def test_a_source_that_is_changed_while_a_policy_loads_is_not_flown_by_it(
    center: ControlCenter, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the hands of a rig that is gone would be armed, and stay so."""
    import engine.policy

    plain, began, go = engine.policy.load_policy, threading.Event(), threading.Event()

    def slow(*rest: Any) -> Any:
        began.set()
        assert go.wait(30)
        return plain(*rest)

    monkeypatch.setattr(engine.policy, "load_policy", slow)
    do(center, "source", kind="arena", pilot="expert")
    armed = center.command("arm", policy=str(bundle))
    assert began.wait(30)
    do(center, "source", kind="arena", pilot="novice")
    go.set()
    with pytest.raises(EngineError, match="another source was chosen meanwhile; arm again"):
        armed.result(60)
    assert center.snapshot().bot.phase == "disarmed"


class Port:
    """Windows by id; the one that is watched has another title by now, and another window has the old one."""

    def __init__(self, *windows: WindowInfo) -> None:
        self._windows = windows

    def windows(self) -> list[WindowInfo]:
        return list(self._windows)

    def window(self, window_id: int) -> WindowInfo | None:
        return next((one for one in self._windows if one.id == window_id), None)

    def close(self) -> None: ...


def test_the_window_that_is_watched_is_armed_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki, game = WindowInfo(1, "My Game wiki - a browser", Rect(0, 0, 300, 200)), WindowInfo(2, "Level 1", Rect(0, 0, 300, 200))
    rig = Rig.__new__(Rig)
    monkeypatch.setattr(Rig, "_title", "My Game")
    rig._screen = cast("Any", SimpleNamespace(window_id=2))
    monkeypatch.setattr("engine.platforms.current_port", lambda: Port(wiki, game))
    assert rig._find_window() is game
    monkeypatch.setattr("engine.platforms.current_port", lambda: Port(wiki))  # it was closed; what has the title is all there is
    assert rig._find_window() is wiki
    monkeypatch.setattr("engine.platforms.current_port", lambda: Port())
    with pytest.raises(RigError, match="My Game"):
        rig._find_window()


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
