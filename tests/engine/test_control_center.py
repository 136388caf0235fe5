"""The engine through its front door: commands in, snapshots out, an orderly end."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.catalog import list_sessions
from data.schema import Observation
from data.session import open_session
from data.settings import Settings
from data.workspace import Workspace
from engine.commands import COMMANDS, EngineError
from engine.control_center import ControlCenter
from engine.duties import Duties, DutiesError
from tests.support.x11 import wait_until


@pytest.fixture
def center(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlCenter]:
    monkeypatch.delenv("DISPLAY", raising=False)
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready()
    yield engine
    assert engine.stop(30.0) == []


def do(center: ControlCenter, name: str, **params: Any) -> str:
    return center.command(name, **params).result(60)


class Pilot:
    def reset(self) -> None:
        from league.arena.pilots import make_pilot

        self.pilot = make_pilot("random", 1)

    def act(self, observation: Observation) -> Any:
        return self.pilot.act(observation)


def test_a_recording_that_ends_by_itself_is_counted(center: ControlCenter) -> None:
    do(center, "source", kind="arena", pilot="expert")
    wait_until(lambda: center.snapshot().tick.hz > 5, 60, "ticks come")
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().recorder.steps > 5, 30, "steps are recorded")
    assert center.snapshot().sessions == 0
    center.recorder.finish("the window was closed")
    wait_until(lambda: center.snapshot().sessions == 1, 10, "it is counted")


@pytest.mark.timeout(120)
def test_record_fly_and_leave_with_no_screen_at_all(center: ControlCenter) -> None:
    assert "no display" in center.snapshot().system.hotkeys
    do(center, "source", kind="arena", pilot="expert")
    wait_until(lambda: center.snapshot().tick.hz > 8, 60, "ticks come")
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().recorder.steps > 15, 30, "steps are recorded")
    assert center.busy() == ["recording (recording)"]
    wait_until(lambda: center.snapshot().system.cpu_percent > 0, 5, "the processor's share is measured")
    assert "saved" in do(center, "record_save")
    first = center.snapshot().recorder.last_session
    with open_session(center.workspace.sessions / first) as session:
        steps, events = session.steps(), session.events()
        assert session.metadata.details["pilot"] == "expert"
    assert {e.actor for e in events} == {"demonstrator"}
    assert len(steps) > 10
    assert (steps.track_offsets[1:] - steps.track_offsets[:-1]).max() > 3  # something was seen

    # The bot takes the arena's controls over from the scripted pilot.
    rig = center.rig
    assert rig is not None
    center.bot.arm(Pilot(), "random", rig.hands(dry_run=False))
    rig.set_pilot(center.bot)
    do(center, "fly")
    wait_until(lambda: center.snapshot().bot.actions > 3, 30, "the bot acts")
    time.sleep(0.3)
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().bot.actions > 40, 30, "the bot goes on")
    assert center.snapshot().arena.pilot == "bot"
    assert do(center, "stop_all", reason="F8 was pressed").startswith("stopped (F8 was pressed): saved ")
    assert center.snapshot().bot.phase == "stopped"
    assert center.snapshot().recorder.note.startswith("stopped (F8 was pressed): saved ")
    second = center.recorder.state().last_session
    with open_session(center.workspace.sessions / second) as session:
        pressed = [e for e in session.events() if e.kind == "press"]
    assert {e.actor for e in pressed} <= {"bot"}
    assert second != first

    # Leaving while it records saves what there is.
    do(center, "record_toggle")
    time.sleep(0.5)
    assert center.stop() == []
    infos = list_sessions(center.workspace.root)
    assert [i.state for i in infos] == ["saved"] * 3


def test_a_command_that_cannot_be_done_says_what_to_do(center: ControlCenter) -> None:
    for name, params, words in (
        ("nonsense", {}, "there are: arena_window"),
        ("fly", {}, "arm it first"),
        ("source", {"kind": "moon"}, "use arena, arena_window, screen, video"),
        ("source", {"kind": "arena", "look": "pink"}, "use classic, amber, ice"),
        ("source", {"kind": "screen", "window": "No Such Window"}, "DISPLAY"),
        ("train", {"level": "everything"}, "use strategist"),
        ("job_stop", {"id": "none"}, "no running job"),
        ("record_toggle", {"wrong": 1}, "wrong"),
        ("record_undo", {}, "trash"),
    ):
        with pytest.raises(EngineError, match=words):
            do(center, name, **params)
    assert center.snapshot().services == ()  # nothing half-started is left
    assert do(center, "source", kind="arena", pilot="none").startswith("watching the arena")
    assert "look dusk" in do(center, "source", look="dusk")
    assert center.rig is not None
    assert "look dusk" in center.rig._arena.description  # type: ignore[union-attr]
    assert set(COMMANDS) >= {"record_toggle", "stop_all", "arm", "fly", "train", "doctor"}


def test_without_a_policy_arming_says_how_to_get_one(center: ControlCenter) -> None:
    with pytest.raises(EngineError, match="secondseat train all"):
        do(center, "arm")


def test_the_snapshot_is_plain_data_and_moves_on(center: ControlCenter) -> None:
    import json

    first = center.snapshot()
    assert json.loads(json.dumps(first.to_json()))["workspace"] == str(center.workspace.root)
    wait_until(lambda: center.snapshot().sequence > first.sequence + 3, 5, "snapshots follow each other")
    do(center, "doctor")
    wait_until(lambda: len(center.snapshot().checks) > 5, 5, "checks are shown")


def test_source_stopped_and_started_many_times_leaves_no_threads(center: ControlCenter) -> None:
    do(center, "source", kind="arena", pilot="random")
    wait_until(lambda: center.snapshot().tick.hz > 5, 60, "ticks come")

    def threads() -> int:
        """The loop's own helpers (six at most) come as they are needed, and stay."""
        return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())

    before = threads()
    for seed in range(5):
        do(center, "source", seed=seed)
    assert threads() <= before
    do(center, "source_off")
    assert center.snapshot().services == () or wait_until(lambda: center.snapshot().services == (), 2, "all services ended")


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
@pytest.mark.parametrize("hurried", [False, True], ids=["deadline", "hurried"])
def test_a_job_that_does_not_end_holds_nobody_up_for_ever(center: ControlCenter, hurried: bool) -> None:
    """A stopped process cannot save: it is ended at the deadline, or at once when the person asks again."""
    from data.locks import identity

    do(center, "train", level="detector", quick=True)
    job = center.snapshot().jobs[0]
    folder = center.workspace.logs / "jobs" / job.id
    pid = json.loads((folder / "job.json").read_text())["process"]["pid"]
    wait_until((folder / "progress.jsonl").exists, 30, "it takes signals by itself")
    os.kill(pid, signal.SIGSTOP)
    if hurried:
        threading.Timer(0.5, center.hurry).start()
    began = time.monotonic()
    assert center.stop(30.0 if hurried else 3.0) == []
    assert time.monotonic() - began < 6.0
    assert identity(pid) is None
    state = center.snapshot()
    assert state.ending == "left"
    assert [j.phase for j in state.jobs] == ["cancelled"]
    assert any("its last checkpoint stays" in notice.text for notice in state.notices)


def test_housekeeping_that_fails_ends_nothing(center: ControlCenter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say, or a folder that is moved while it is counted."""
    do(center, "source", kind="arena", pilot="expert")
    wait_until(lambda: center.snapshot().tick.hz > 5, 60, "ticks come")
    do(center, "record_toggle")
    calls: list[int] = []

    def full() -> None:
        calls.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(center.supervisor, "check", full)
    wait_until(lambda: len(calls) > 2, 10, "it is tried again")
    assert sum("No space left" in notice.text for notice in center.snapshot().notices) == 1
    assert "saved" in do(center, "record_save")


def test_a_capture_that_fails_ends_the_recording_and_the_flight_and_f5_begins_anew(center: ControlCenter) -> None:
    do(center, "source", kind="arena", pilot="expert")
    wait_until(lambda: center.snapshot().tick.hz > 5, 60, "ticks come")
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().recorder.steps > 5, 30, "steps are recorded")
    rig = center.rig
    assert rig is not None
    assert rig.capture is not None

    def gone() -> Any:
        raise OSError("the screen became smaller")

    rig.capture.source.grab = gone  # type: ignore[method-assign]
    wait_until(lambda: center.snapshot().sessions == 1, 20, "it is saved and counted")
    assert "the screen became smaller" in center.snapshot().recorder.note
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().recorder.steps > 5, 60, "another one sees and is recorded")
    assert center.rig is not rig
    assert "saved" in do(center, "record_save")


def test_a_hotkey_that_comes_to_nothing_is_told(center: ControlCenter, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuses(center: ControlCenter) -> str:
        raise EngineError("the window did not open within 5 s")

    told: list[tuple[str, str]] = []
    monkeypatch.setitem(COMMANDS, "record_toggle", refuses)
    monkeypatch.setattr(center.alerts, "tell", lambda kind, text: told.append((kind, text)))
    center._on_hotkey("f5")
    wait_until(lambda: bool(told), 5, "it is told by tone")
    assert told == [("failure", "the window did not open within 5 s")]
    wait_until(lambda: any("F5: the window did not open" in n.text for n in center.snapshot().notices), 5, "and as a notice")


def test_ending_saves_the_recording_whatever_else_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready()
    do(engine, "source", kind="arena", pilot="expert")
    wait_until(lambda: engine.snapshot().tick.hz > 5, 60, "ticks come")
    do(engine, "record_toggle")
    wait_until(lambda: engine.snapshot().recorder.steps > 5, 30, "steps are recorded")

    def full(*rest: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(engine.jobs, "stop_all", full)
    assert engine.stop(30.0) == ["jobs"]
    assert [info.state for info in list_sessions(tmp_path / "ws")] == ["saved"]


def test_a_long_repair_is_no_start_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recover_all(workspace: Path, progress: Any) -> list[Any]:
        progress("20261127T203100Z_play_arena")
        time.sleep(1.5)
        return []

    monkeypatch.setattr("data.recovery.recover_all", recover_all)
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready(0.5)
    assert any("repairing 20261127T203100Z_play_arena" in notice.text for notice in engine.snapshot().notices)
    assert engine.stop(30.0) == []


def test_an_engine_that_ends_as_it_begins_says_why_and_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recover_all(workspace: Path, progress: Any) -> list[Any]:
        raise LookupError("a session without a name")

    monkeypatch.setattr("data.recovery.recover_all", recover_all)
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    began_s = time.monotonic()
    with pytest.raises(EngineError, match=r"it ended by itself: LookupError: a session without a name; .*secondseat\.log says more"):
        engine.wait_ready()
    assert time.monotonic() - began_s < 10
    assert engine.stop(30.0) == []


def test_a_torn_promotion_file_is_told_and_the_engine_starts(tmp_path: Path) -> None:
    models = tmp_path / "ws" / "models"
    (models / "policies").mkdir(parents=True)
    (models / "promoted.json").write_bytes(b"")
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready()
    told = [notice for notice in engine.snapshot().notices if "promoted.json" in notice.text]
    assert [(notice.level, notice.source) for notice in told] == [("warning", "models")]
    assert engine.stop(30.0) == []


def test_what_cannot_be_counted_is_told_and_the_engine_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(workspace: Path) -> tuple[int, int]:
        raise PermissionError(13, "Permission denied", str(workspace / "models"))

    monkeypatch.setattr("engine.control_center.count_kept", refuse)
    engine = ControlCenter(Settings(), Workspace(tmp_path / "ws"))
    engine.start()
    assert engine.wait_ready()
    assert any("what the workspace holds cannot be counted" in notice.text for notice in engine.snapshot().notices)
    assert engine.stop(30.0) == []


def test_what_goes_on_after_a_hand_over_is_told(center: ControlCenter) -> None:
    assert center.duties() == Duties()
    do(center, "source", kind="arena", pilot="expert", seed=7)
    wait_until(lambda: center.snapshot().tick.hz > 8, 60, "ticks come")
    do(center, "record_toggle")
    wait_until(lambda: center.snapshot().recorder.phase == "recording", 5, "it records")
    duties = center.duties()
    assert (duties.record, duties.spec) == (True, center.spec)
    state = center.snapshot()  # who hands over looks at a terminal: the game is out of focus
    center._state = dataclasses.replace(state, recorder=dataclasses.replace(state.recorder, phase="paused"))
    assert center.duties().record
    path = center.workspace.root / "duties.json"
    duties.write(path)
    assert Duties.take(path) == duties
    with pytest.raises(DutiesError, match="no hand-over can be read"):
        Duties.take(path)
    path.write_text('{"spec": {"seed": "seven"}, "record": true}')
    with pytest.raises(DutiesError, match="seed"):
        Duties.take(path)
