"""The engine as an attached face sees it: two viewers, an engine that goes and comes back, another version, a slow one."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine import wire
from engine.endpoint import RemoteError
from engine.remote_center import RemoteCenter
from engine.state import EngineState, RecorderState
from tests.support.served import FakeEngine, serving, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs Unix sockets")


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ss-") as folder:
        yield Path(folder) / "e.sock"


@pytest.fixture
def attach(socket: Path) -> Iterator[object]:
    made: list[RemoteCenter] = []

    def go() -> RemoteCenter:
        center = RemoteCenter(socket, poll_s=0.03)
        made.append(center)
        center.start()
        return center

    yield go
    for center in made:
        assert center.stop() == []
    assert not [t for t in threading.enumerate() if t.name in ("secondseat-attached", "secondseat-picture")]


def texts(state: EngineState) -> list[str]:
    return [notice.text for notice in state.notices]


def test_two_viewers_each_see_what_the_other_does(socket: Path, attach) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        one, two = attach(), attach()
        assert one.wait_ready(5)
        assert two.wait_ready(5)
        assert (one.attached, one.link) == (True, "")
        wait_for(lambda: one.snapshot().viewers == two.snapshot().viewers == 2)
        assert one.command("train", level="all").result(5) == "train done"
        engine.state = replace(engine.state, recorder=RecorderState("recording"))
        engine.say("recording")
        wait_for(lambda: two.snapshot().recorder.phase == "recording" and texts(two.snapshot()) == ["recording"])
        assert two.busy() == ["recording (recording)"]
        with pytest.raises(RemoteError, match="not armed"):
            two.command("fly").result(5)
        one.stop()
        wait_for(lambda: two.snapshot().viewers == 1)
        assert engine.stopped == "", "a face that leaves ends nothing"


def test_notices_add_up_over_many_small_answers(socket: Path, attach) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        center = attach()
        for n in range(250):
            engine.say(str(n))
            time.sleep(0.001)
        wait_for(lambda: texts(center.snapshot())[-1:] == ["249"])
        assert texts(center.snapshot()) == [str(n) for n in range(50, 250)]


def test_pictures_come_only_while_somebody_looks(socket: Path, attach) -> None:
    engine = FakeEngine()
    shown = engine.show()
    with serving(engine, socket):
        center = attach()
        assert center.wait_ready(5)
        begun = time.monotonic()
        assert center.picture(80, 40) in (None, shown)
        assert time.monotonic() - begun < 0.1, "no look waits"
        wait_for(lambda: center.picture(80, 40) == shown)
        wait_for(lambda: not [t for t in threading.enumerate() if t.name == "secondseat-picture"], 6)


def test_an_engine_that_ends_is_said_and_the_next_one_is_taken_up(socket: Path, attach) -> None:
    first = FakeEngine(started_s=1.0)
    first.say("first")
    first.state = replace(first.state, recorder=RecorderState("recording"), workspace="here")
    with serving(first, socket):
        center = attach()
        wait_for(lambda: center.snapshot().recorder.phase == "recording")
    wait_for(lambda: center.link)
    assert center.link == "the engine is gone; asking again"
    gone = center.snapshot()
    assert gone.recorder.phase == "idle", "nothing is shown as going on that nobody knows of"
    assert [(s.name, s.health) for s in gone.services] == [("engine", "failed")]
    assert (center.busy(), center.picture(10, 10)) == ([], None)
    with pytest.raises(RemoteError, match="no engine answers"):
        center.command("doctor").result(5)
    second = FakeEngine(started_s=2.0)
    second.say("second")
    with serving(second, socket):
        wait_for(lambda: not center.link and center.snapshot().started_s == 2.0)
        said = texts(center.snapshot())
        assert "second" in said
        assert "first" not in said
        assert any("another engine answers now" in text for text in said)


def test_why_an_engine_ended_is_told(socket: Path, attach) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        center = attach()
        center.wait_ready(5)
        assert "stopping" in center.stop_engine().result(5)
        assert engine.stopped == "asked to stop"
        engine.state = replace(engine.state, ending="asked to stop")  # and the server is told to end at once
    wait_for(lambda: center.link == "the engine has ended: asked to stop")


def test_another_version_is_named_and_another_protocol_refused(socket: Path, attach, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        monkeypatch.setattr("engine.remote_server.own_version", lambda: "9.9.9")
        center = attach()
        assert center.wait_ready(5)
        assert any("9.9.9" in text and wire.own_version() in text for text in texts(center.snapshot()))
        monkeypatch.setattr("engine.remote_server.PROTOCOL", 99)
        with pytest.raises(RemoteError, match=r"secondseat 9.9.9 \(protocol 99\), this is"):
            attach().wait_ready(5)


def test_a_slow_answer_holds_up_nothing(socket: Path, attach) -> None:
    engine = FakeEngine()
    with serving(engine, socket) as server:
        center = attach()
        center.wait_ready(5)
        answer = center.command("slow")
        assert center.command("doctor").result(5) == "doctor done"
        assert not answer.done()
        hold = threading.Event()
        server.loop.call_soon_threadsafe(hold.wait, 4.0)
        wait_for(lambda: center.link)
        begun = time.monotonic()
        center.snapshot(), center.picture(10, 10), center.command("doctor"), center.busy()
        assert time.monotonic() - begun < 0.2, "the face never waits for the engine"
        hold.set()
        engine.release.set()
        assert answer.result(5) == "slow done"
        wait_for(lambda: not center.link)


def test_over_tcp_with_a_token_all_is_the_same(socket: Path) -> None:
    """As on Windows."""
    engine, path = FakeEngine(), socket.with_suffix(".json")
    shown = engine.show()
    with serving(engine, path, use_token=True):
        center = RemoteCenter(path, poll_s=0.03)
        center.start()
        assert center.wait_ready(5)
        assert center.command("doctor").result(5) == "doctor done"
        wait_for(lambda: center.picture(80, 40) == shown)
        assert engine.state.viewers == 1
        center.stop()
        assert engine.state.viewers == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors by /proc")
def test_faces_that_come_and_go_leave_nothing_in_the_engine(socket: Path) -> None:
    engine = FakeEngine()
    engine.show()
    earlier = {t.name for t in threading.enumerate()}  # other tests' command lines leave their writer

    def visit() -> None:
        center = RemoteCenter(socket, poll_s=0.03)
        center.start()
        assert center.wait_ready(5)
        center.command("doctor").result(5)
        wait_for(lambda: center.picture(80, 40))
        center.stop()

    def held() -> tuple[int, set[str]]:
        names = {t.name for t in threading.enumerate() if t.name.startswith("secondseat")}
        return len(os.listdir("/proc/self/fd")), names - earlier

    with serving(engine, socket):
        visit()
        wait_for(lambda: not held()[1])
        before = held()[0]
        for _ in range(10):
            visit()
        wait_for(lambda: held()[0] <= before and not held()[1])
        assert engine.state.viewers == 0


def test_only_so_many_commands_wait_at_once(socket: Path, attach) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        center = attach()
        center.wait_ready(5)
        waiting = [center.command("slow") for _ in range(8)]
        with pytest.raises(RemoteError, match="8 commands are not answered yet"):
            center.command("doctor").result(1)
        engine.release.set()
        assert [future.result(5) for future in waiting] == ["slow done"] * 8
        assert center.command("doctor").result(5) == "doctor done"
