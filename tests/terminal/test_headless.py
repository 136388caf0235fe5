"""Real engines without a face: they outlive their terminal, are told apart by name, and hand their work on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from ptyrun import HERE, PtyRun

from data.catalog import describe
from data.checkpoint import load
from data.locks import identity
from engine.endpoint import endpoint_path
from engine.record_arena import record_session
from engine.remote import Remote, running
from engine.state import EngineState
from tests.support.served import wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and terminals")


class House:
    """A user's own folders, and what runs there; everything that was started is ended."""

    def __init__(self, folder: Path, runtime: str) -> None:
        self.workspace = folder / "ws"
        self.env = {
            **{k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")},
            "XDG_RUNTIME_DIR": runtime,
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "SECONDSEAT_PATHS__WORKSPACE": str(self.workspace),
            "OMP_NUM_THREADS": "1",
        }
        self.terminals: list[PtyRun] = []
        self.processes: list[subprocess.Popen[bytes]] = []

    def on_a_terminal(self, *words: str) -> PtyRun:
        run = PtyRun(self.workspace.parent, program=[str(HERE / "leader.py"), *words], columns=120, rows=36, env=self.env)
        self.terminals.append(run)
        return run

    def start(self, *words: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tui.cli", *words]
        process = subprocess.Popen(
            command, cwd=HERE.parents[1], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        self.processes.append(process)
        return process

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tui.cli", *words]
        return subprocess.run(command, cwd=HERE.parents[1], env=self.env, capture_output=True, text=True, timeout=60, check=False)

    def close(self) -> None:
        for hello in running():
            psutil.Process(hello.pid).kill()
        for run in self.terminals:
            run.close()
        for process in self.processes:
            process.kill()
            process.wait(5)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        made = House(tmp_path, runtime)
        yield made
        made.close()


def engine(name: str = "engine") -> EngineState:
    return EngineState.from_json(Remote(endpoint_path(name)).state())


def up(name: str = "engine") -> bool:
    return endpoint_path(name).exists() and Remote(endpoint_path(name)).alive()


def until(condition: Callable[[], object]) -> None:
    wait_for(condition, 60)


def test_a_headless_engine_outlives_the_terminal_it_was_started_in(house: House) -> None:
    run = house.on_a_terminal("headless")
    run.wait_for("the engine runs as engine", 20)
    until(up)
    run._ended = True  # the window is closed: hang-up
    run.type("x")  # its echo lets the reader go, which would hold the terminal open
    run._thread.join(3)
    os.close(run.slave)
    os.close(run.master)
    try:
        until(lambda: any("the terminal was closed; the engine goes on" in n.text for n in engine().notices))
        told = house.call("stop", "--wait")
        assert (told.returncode, told.stdout, told.stderr) == (0, "the engine has ended\n", "")
        assert run.process.wait(10) == 0
    finally:
        run.master, run.slave = os.pipe()


def test_an_engine_whose_terminal_nobody_reads_can_be_ended(house: House) -> None:
    """As on a stalled SSH connection from the first line on: nothing waits for it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 65536)
    except BlockingIOError:
        os.set_blocking(writer, True)
    process = house.start("headless", stderr=writer)
    try:
        until(up)
        assert engine().ending == ""
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert not endpoint_path().exists()
    finally:
        os.close(reader)
        os.close(writer)


def test_several_engines_are_told_apart_by_name(house: House) -> None:
    house.start("headless", "--name", "lab", "--workspace", str(house.workspace / "lab"))
    recording = house.start("record", "--pilot", "expert")
    until(lambda: up("record") and up("lab"))
    again = house.call("headless", "--name", "lab")
    assert again.returncode == 1
    assert "another engine runs as lab" in again.stderr.splitlines()[-1]
    assert "Traceback" not in again.stderr
    told = house.call("status")
    assert (told.returncode, told.stdout) == (1, "")
    assert "several engines run: lab, record; say which with --name" in told.stderr
    state = json.loads(house.call("status", "--name", "lab", "--json").stdout)
    assert (state["name"], state["workspace"]) == ("lab", str(house.workspace / "lab"))
    assert EngineState.from_json(state).pid == state["pid"]
    listed = house.call("engines").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["name", "lab", "record"]
    until(lambda: engine("record").recorder.steps > 5)
    recording.send_signal(signal.SIGHUP)
    assert recording.wait(15) == 0, "a recording whose terminal is closed is ended and saved"
    assert [describe(path).state for path in (house.workspace / "sessions").iterdir()] == ["saved"]
    assert [hello.name for hello in running()] == ["lab"]
    assert house.call("stop", "--wait").returncode == 0, "the only one needs no name"


@pytest.mark.timeout(240)
def test_what_runs_is_handed_over_and_adopted_again_after_a_crash(house: House) -> None:
    """The face is left while it trains and records; its successor is killed; the one after that ends it all in order."""
    record_session(house.workspace, "expert", 1_000_000, 5.0)
    run = house.on_a_terminal()
    until(lambda: up("face"))
    face = Remote(endpoint_path("face"), 60)
    face.command("source", kind="arena", pilot="expert", seed=5)
    face.command("record_toggle")
    face.command("train", level="executor", quick=True, epochs=5000)
    # Not before it learns itself: what is learnt in passing of the levels above is not kept.
    until(lambda: any(job.stage.startswith("executor") and job.run_dir for job in engine("face").jobs))
    job = engine("face").jobs[0]
    run.wait_for("REC 00:00", 20)
    run.type("q")
    run.wait_for("Still running")
    run.type("h")
    assert run.wait(40) == 0
    run.assert_whole()
    farewell = run.output[run.output.rfind(b"?1049l") :].decode(errors="replace")
    assert "handed over to a headless engine" in farewell
    assert "secondseat attach" in farewell
    assert [hello.name for hello in running()] == ["engine"]
    until(lambda: engine().recorder.phase == "recording")
    successor = engine()
    assert [(j.id, j.phase) for j in successor.jobs] == [(job.id, "running")]
    assert successor.capture.detail.startswith("skirmish")
    assert successor.sessions == 2, "the recording of the face is whole"
    assert successor.recorder.session != job.id
    process = json.loads((house.workspace / "logs" / "jobs" / job.id / "job.json").read_text())["process"]["pid"]
    os.kill(successor.pid, signal.SIGKILL)
    until(lambda: not up())
    assert identity(process) is not None, "the job outlives a crash of its engine"
    house.start("headless")
    until(lambda: up() and engine().jobs)
    assert [(j.id, j.phase) for j in engine().jobs] == [(job.id, "running")]
    assert house.call("stop", "--wait").returncode == 0
    assert identity(process) is None, "nothing is left"
    kept = sorted(Path(job.run_dir if Path(job.run_dir).is_absolute() else house.workspace / job.run_dir).glob("*.safetensors"))
    assert kept
    for path in kept:
        assert load(path.with_suffix("")).tensors
