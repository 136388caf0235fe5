"""The commands that talk to engines, on a stand-in behind the real socket; and what they say where no screen is."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.endpoint import endpoint_path
from engine.state import EngineState, JobState, RecorderState
from league.arena.world import cache_folder
from tests.support.served import FakeEngine, Running, serving
from tui import cli
from tui.commands.running import UNREAD_S, StatusLine, SteadyStderr
from tui.spawn import StartError, start_headless

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs Unix sockets")
SCRIPT = Path(sys.executable).parent / "secondseat"
COMPILED = str(cache_folder())  # before the home is another one


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    for name in [name for name in os.environ if name.startswith("SECONDSEAT_")] + ["DISPLAY", "WAYLAND_DISPLAY"]:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with tempfile.TemporaryDirectory(prefix="ss-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def engine(runtime: Path) -> Iterator[FakeEngine]:
    made = FakeEngine()
    job = JobState("j1", "train", "train all", "running", "epoch 3/80", 0.25)
    made.state = replace(made.state, time_s=4000.0, started_s=1000.0, jobs=(job,), recorder=RecorderState("recording", "s1", 75.0))
    with serving(made, endpoint_path()):
        yield made


def test_the_status_says_everything_that_runs(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.note_served("engine", 2)
    assert cli.main(["status"]) == 0
    said = capsys.readouterr().out
    assert f"engine, process {os.getpid()}, up 50:00" in said
    assert "recording, s1, 1:15" in said
    assert "train all: epoch 3/80 25%" in said
    assert cli.main(["status", "--json", "--name", "engine"]) == 0
    assert replace(EngineState.from_json(json.loads(capsys.readouterr().out)), viewers=2) == replace(engine.state, viewers=2)


def test_the_status_can_be_watched_until_the_engine_ends(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []
    watching = threading.Thread(target=lambda: done.append(cli.main(["status", "--json", "--watch", "--every", "0.05s"])))
    watching.start()
    said = ""
    until = time.monotonic() + 10
    while said.count("\n") < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
        said += capsys.readouterr().out
    engine.snapshot = lambda: 1 / 0  # type: ignore[method-assign,return-value]
    watching.join(10)
    assert done == [1]
    assert {json.loads(line)["jobs"][0]["id"] for line in said.splitlines()} == {"j1"}
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_engines_are_listed_and_stopped(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    with Running(FakeEngine(), endpoint_path("lab")) as lab:
        until = time.monotonic() + 10
        while not endpoint_path("lab").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert cli.main(["engines"]) == 0
        rows = capsys.readouterr().out.splitlines()
        assert [row.split()[0] for row in rows] == ["name", "engine", "lab"]
        assert "recording (recording), train all (25%)" in rows[1]
        assert " idle " in rows[2]
        assert cli.main(["engines", "--json"]) == 0
        assert [e["name"] for e in json.loads(capsys.readouterr().out)] == ["engine", "lab"]
        ending = threading.Timer(0.5, lab.end)
        ending.start()
        assert cli.main(["stop", "--name", "lab", "--wait"]) == 0
        assert capsys.readouterr().out == "the engine has ended\n"
        ending.join()
    assert cli.main(["stop"]) == 0
    assert engine.stopped == "asked to stop"


def test_with_no_engine_each_command_says_how_to_start_one(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["status"], ["stop"], ["attach"]):
        assert cli.main(words) == 1
        assert capsys.readouterr().err == "secondseat: no engine runs; start one with: secondseat headless\n"
    assert cli.main(["engines"]) == 0
    assert "secondseat headless" in capsys.readouterr().out


def test_a_policy_flies_only_when_it_is_told_to(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["headless", "quick-1"]) == 2
    assert "quick-1: a policy flies only with --fly" in capsys.readouterr().err
    assert cli.main(["headless", "--fly", "quick-1", "--policy", "quick-2"]) == 2
    assert "choose one of them" in capsys.readouterr().err


def test_an_engine_that_cannot_be_started_says_its_own_last_word(engine: FakeEngine) -> None:
    with pytest.raises(StartError, match=r"did not start: another engine runs as engine .*headless-engine.log"):
        start_headless("engine", ["--set", "capture.fps=20"])


# -- no screen, no terminal


@pytest.mark.parametrize("display", [None, ":7654"])
@pytest.mark.parametrize(
    "words",
    [
        ["record", "--source", "screen", "--for", "2s"],
        ["fly", "--source", "screen", "--for", "2s"],
        ["headless", "--record", "--source", "screen", "--display", ":7654"],
    ],
)
def test_without_a_screen_what_needs_one_fails_in_one_line(runtime: Path, words: list[str], display: str | None) -> None:
    env = {**os.environ, **({} if display is None else {"DISPLAY": display})}
    done = subprocess.run(
        [str(SCRIPT), *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 1
    problem = [line for line in done.stderr.splitlines() if line.startswith("secondseat: ")]
    assert len(problem) == 1
    assert "display" in problem[0].lower()
    assert "Traceback" not in done.stderr + done.stdout


def test_what_needs_no_screen_works_with_no_terminal_and_closed_streams(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from cron or ``ssh host command``: the arena is recorded."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", COMPILED)
    script = f"exec <&-; {SCRIPT} record --source arena --pilot expert --for 2s --json"
    done = subprocess.run(["setsid", "bash", "-c", script], capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["state"] == "saved"


# -- lines for a terminal that may not be read


def test_a_terminal_that_is_not_read_costs_one_short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 65536)
    except BlockingIOError:
        os.set_blocking(writer, True)
    with os.fdopen(writer, "w", encoding="ascii", errors="replace") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        out = SteadyStderr()
        begun = time.monotonic()
        for number in range(1000):
            out.write(f"line {number} ä\n")
        took = time.monotonic() - begun
        assert out.stalled
        assert UNREAD_S * 0.5 < took < UNREAD_S + 1.0
        said = b""
        until = time.monotonic() + 10
        while b"line 999" not in said:  # read again: the newest lines come
            assert time.monotonic() < until
            said += os.read(reader, 65536)
        assert b"line 500" not in said
        assert b"line 900 ?" in said
        while out.stalled:
            assert time.monotonic() < until
            time.sleep(0.01)
        os.close(reader)
        out.write("nobody is there any more\n")
        assert not out.stalled, "a terminal that is gone holds up nothing"


def test_lines_are_in_order_on_a_stream_that_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = StatusLine(plain=True)
    for number in range(50):
        line.say(str(number))
    assert sys.stderr.getvalue() == "".join(f"{n}\n" for n in range(50))  # type: ignore[attr-defined]
