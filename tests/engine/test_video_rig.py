"""A session played as if live: recorder, bot and face can be tried with no game at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.schema import Observation
from data.session import open_session
from data.settings import Settings
from data.steps import NO_MODE
from data.workspace import Workspace
from engine.commands import EngineError
from engine.control_center import ControlCenter
from engine.record_arena import record_session
from engine.training import load_sessions
from tests.support.x11 import wait_until


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with 6 s of play by the scripted expert."""
    workspace = Workspace(tmp_path_factory.mktemp("video") / "ws")
    record_session(workspace.root, "expert", 5, 6.0)
    return workspace


@pytest.fixture
def center(recorded: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlCenter]:
    monkeypatch.delenv("DISPLAY", raising=False)
    engine = ControlCenter(Settings(), recorded)
    engine.start()
    assert engine.wait_ready()
    yield engine
    assert engine.stop(30.0) == []


def do(center: ControlCenter, name: str, **params: Any) -> str:
    return center.command(name, **params).result(60)


class Decides:
    """A policy that always means to attack."""

    def reset(self) -> None: ...

    def act(self, observation: Observation) -> Any:
        from types import SimpleNamespace

        from data.schema import Action

        return SimpleNamespace(action=Action(0.5, 0.5, ("mouse_left",)), mode="FIGHT", target_id=3)


@pytest.mark.timeout(120)
def test_a_played_session_can_be_recorded_and_ends_by_itself(center: ControlCenter) -> None:
    with pytest.raises(EngineError, match="say which session"):
        do(center, "source", kind="video")
    with pytest.raises(EngineError, match="there is no session 'nowhere'"):
        do(center, "source", kind="video", session="nowhere")
    original = next(iter(sorted(center.workspace.sessions.glob("2*"))))
    assert "played" in do(center, "source", kind="video", session=original.name)
    do(center, "record_toggle")
    rig = center.rig
    assert rig is not None
    with pytest.raises(Exception, match="dry run only"):
        rig.hands(dry_run=False)
    center.bot.arm(Decides(), "decides", rig.hands(dry_run=True), dry_run=True)
    rig.set_pilot(center.bot)
    do(center, "fly")
    wait_until(lambda: center.snapshot().tick.hz > 5, 30, "ticks come")
    assert center.snapshot().capture.source == "video"
    wait_until(lambda: center.snapshot().recorder.phase == "idle", 20, "the recording ends with what is played")
    wait_until(lambda: center.snapshot().bot.phase == "disarmed", 5, "and so does the flight")
    state = center.snapshot()
    assert state.recorder.note.startswith("the session that was played is over: saved ")
    with open_session(center.workspace.sessions / state.recorder.last_session) as again, open_session(original) as first:
        assert again.metadata.details == {"session": original.name}
        assert again.metadata.source.kind == "video"
        assert again.metadata.profile == first.metadata.profile
        assert 2.0 < again.metadata.duration_s <= 6.3
        assert {e.actor for e in again.events()} == {"demonstrator"}
        clicks = [e.name for e in again.events() if e.kind == "press" and not e.note]
        assert 0 < len(clicks) <= sum(e.kind == "press" for e in first.events())
        assert clicks == [e.name for e in first.events() if e.kind == "press"][-len(clicks) :]
        assert set(again.steps().mode.tolist()) == {NO_MODE}  # what the dry run meant is nobody's intent
    sessions, left_out = load_sessions(center.workspace.root, "arena")
    assert len(sessions) == 1
    assert left_out == [f"{again.id}: made from {original.name}, which is learnt from already"]


def test_a_loop_goes_on(center: ControlCenter, tmp_path: Path) -> None:
    do(center, "source", kind="video", session="last", loop=True)
    assert center.snapshot().recorder.phase == "idle"
    wait_until(lambda: center.snapshot().capture.frames > 30, 20)
    frames = center.snapshot().capture.frames
    wait_until(lambda: center.snapshot().capture.frames > frames + 200, 30, "it begins anew after its end")
