"""The attached face on a real terminal: several viewers, leaving, an engine that goes, a viewer that nobody reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ptyrun import HERE, PtyRun

from engine.endpoint import endpoint_path
from engine.remote import Remote
from engine.state import EngineState, RecorderState
from tests.support.served import FakeEngine, Running, serving, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs Unix sockets and a POSIX terminal")
UP = "display"  # a check of the stand-in: the engine's state is on the screen


class Lab:
    """An engine that does nothing behind the real server, and faces on it."""

    def __init__(self, folder: Path, runtime: str) -> None:
        self.engine = FakeEngine()
        self.engine.state = replace(
            self.engine.state, workspace=str(folder), checks=(("display", "ok", "X11 :99"),), sessions=3, started_s=time.time()
        )
        self.folder, self.runtime = folder, runtime
        self.runs: list[PtyRun] = []
        self.server: Running | None = None

    def face(self, *words: str) -> PtyRun:
        folder = self.folder / f"home{len(self.runs)}"
        folder.mkdir(exist_ok=True)
        env = {
            "XDG_RUNTIME_DIR": self.runtime,
            "XDG_STATE_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            "SECONDSEAT_PATHS__WORKSPACE": str(self.folder),
        }
        run = PtyRun(folder, program=[str(HERE / "leader.py"), "attach", *words], columns=120, rows=36, env=env)
        self.runs.append(run)
        return run

    def commands(self) -> list[str]:
        return [name for name, _ in self.engine.asked]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        made = Lab(tmp_path, runtime)
        with serving(made.engine, endpoint_path()) as made.server:
            yield made
        for run in made.runs:
            run.close()


def test_two_faces_command_one_engine_and_leaving_ends_nothing(lab: Lab) -> None:
    one, two = lab.face(), lab.face("--name", "engine")
    for run in (one, two):
        run.wait_for(UP, 20)
    wait_for(lambda: lab.engine.state.viewers == 2, 10)
    one.wait_for("2 faces")
    one.type("v")
    wait_for(lambda: "record_save" in lab.commands(), 10)
    lab.engine.state = replace(lab.engine.state, recorder=RecorderState("recording", "here", 65.0))
    for run in (one, two):
        run.wait_for("REC 00:01:05")
    one.type("D")
    assert one.wait() == 0
    one.assert_whole()
    tail = one.output[one.output.rfind(b"?1049l") :].decode()
    assert "detached; the engine goes on: secondseat attach" in tail
    wait_for(lambda: lab.engine.state.viewers == 1, 5)
    two.type("q")
    two.wait_for("The engine runs in another process")
    two.wait_for("recording (recording)")
    two.type("\r")
    time.sleep(0.3)
    assert two.process.poll() is None, "enter decides nothing"
    two.type("d")
    assert two.wait() == 0
    two.assert_whole()
    assert lab.engine.stopped == ""
    assert Remote(endpoint_path()).alive()


def test_the_engine_is_stopped_only_when_that_is_chosen(lab: Lab) -> None:
    run = lab.face()
    run.wait_for(UP, 20)
    time.sleep(0.5)  # in the moment before the engine counts as ready, q just leaves
    run.type("q")
    run.wait_for("stop the engine")
    run.type("s")
    assert run.wait() == 0
    run.assert_whole()
    assert lab.engine.stopped == "asked to stop"
    assert "the engine was told to stop" in run.output.decode(errors="replace")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_face_that_ends_in_any_way_leaves_the_engine_alone(lab: Lab, number: signal.Signals) -> None:
    run = lab.face()
    run.wait_for(UP, 20)
    wait_for(lambda: lab.engine.state.viewers == 1, 5)
    run.signal(number)
    assert run.wait() == (-number if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        run.assert_whole()
    wait_for(lambda: lab.engine.state.viewers == 0, 6)
    assert lab.engine.stopped == ""


def test_an_engine_that_goes_is_said_and_taken_up_when_it_comes_back(lab: Lab) -> None:
    run = lab.face()
    run.wait_for(UP, 20)
    server = lab.server
    assert server is not None
    hold = threading.Event()
    server.loop.call_soon_threadsafe(hold.wait, 20.0)
    run.wait_for("the engine has not answered for")
    run.wait_for("asking again")
    hold.set()
    lab.engine.state = replace(lab.engine.state, recorder=RecorderState("recording", "here", 7.0))
    run.wait_for("REC 00:00:07")
    lab.engine.state = replace(lab.engine.state, ending="asked to stop")
    server.end()
    run.wait_for("the engine has ended: asked to stop")
    run.type("q")
    assert run.wait() == 0, "there is nothing to ask about"
    run.assert_whole()


def test_a_viewer_on_a_terminal_that_nobody_reads(lab: Lab) -> None:
    """As over a stalled SSH connection: the engine answers others at once, and the face is there again afterwards."""
    run = lab.face()
    run.wait_for(UP, 20)
    run.reading.clear()
    took: list[float] = []
    until = time.monotonic() + 4.0
    number = 0
    while time.monotonic() < until:
        number += 1
        lab.engine.state = replace(lab.engine.state, sequence=number, recorder=RecorderState("recording", "x" * 20, float(number)))
        lab.engine.say(f"{number} " + "y" * 100)
        begun = time.monotonic()
        assert EngineState.from_json(Remote(endpoint_path()).state()).sequence == number
        took.append(time.monotonic() - begun)
        time.sleep(0.02)
    assert sorted(took)[len(took) // 2] < 0.1
    run.reading.set()
    lab.engine.state = replace(lab.engine.state, recorder=RecorderState("paused", "here", 3599.0))
    run.wait_for("paused", 8)
    run.type("D")
    assert run.wait() == 0
    run.assert_whole()


def test_what_cannot_be_attached_to_is_one_line_before_the_face_opens(lab: Lab) -> None:
    def attach(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tui.cli", "attach", *words]
        return subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=30, check=False)

    done = attach("--name", "other")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no engine other answers; running: engine; start one with: secondseat headless --name other" in done.stderr
    assert done.stderr.count("\n") == 1
    done = attach()
    assert done.returncode == 2
    assert "this is not a terminal; use the command line instead" in done.stderr
