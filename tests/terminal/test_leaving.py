"""Whatever ends the face: the terminal is whole, the engine was stopped, nothing of ours runs on."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ptyrun import PtyRun

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs a POSIX terminal")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    runs: list[PtyRun] = []

    def go(*what: str, **options: object) -> PtyRun:
        run = PtyRun(tmp_path, *what, **options)
        runs.append(run)
        return run

    yield go
    for run in runs:
        run.close()


def stopped(run: PtyRun) -> str:
    return (run.folder / "stopped.txt").read_text()


def test_q_leaves_at_once_when_nothing_runs(start) -> None:
    run = start().up()
    run.type("q")
    assert run.wait() == 0
    run.assert_whole()
    assert "recorder idle" in stopped(run)


def test_q_asks_when_something_runs_and_s_stops_and_saves(start) -> None:
    run = start("full", "slow").up()
    run.type("q")
    run.wait_for("Still running")
    run.type("\r")  # enter does not confirm
    time.sleep(0.3)
    assert run.process.poll() is None
    run.type("s")
    assert run.wait() == 0
    run.assert_whole()
    assert "recorder recording" in stopped(run)


def test_ctrl_c_asks_and_a_second_one_leaves(start) -> None:
    run = start("full").up()
    run.type("\x03")
    run.wait_for("Still running")
    run.type("\x03")
    assert run.wait() == 0
    run.assert_whole()
    assert stopped(run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_stop_the_engine_and_restore_the_terminal(start, number: signal.Signals) -> None:
    run = start("full", "slow").up()
    run.signal(number)
    assert run.wait() == 128 + number
    run.assert_whole()
    assert "bot flying" in stopped(run)


def test_an_error_of_the_face_is_one_line_and_the_terminal_is_whole(start) -> None:
    run = start("full", "crash").up()
    run.type("?")
    assert run.wait() == 1
    run.assert_whole()
    assert stopped(run)
    tail = run.output[run.output.rfind(b"?1049l") :].decode()
    assert "RuntimeError: the face fell over" in tail
    assert "output.log" in tail
    assert "Traceback" not in tail
    log = (run.folder / "output.log").read_text()
    assert "Traceback" in log
    assert "sk-LOCALVALUE" not in log + run.output.decode(errors="replace")


def test_sigterm_while_nobody_reads_the_terminal(start) -> None:
    run = start("full", "busy").up()
    run.reading.clear()
    time.sleep(3.0)  # the terminal's buffer is full by now
    begin = time.monotonic()
    run.signal(signal.SIGTERM)
    assert run.process.wait(8) == 128 + signal.SIGTERM
    assert time.monotonic() - begin < 5.0
    assert stopped(run)
    run.reading.set()
    time.sleep(0.3)
    run.assert_whole()


def test_an_unread_terminal_does_not_stop_the_face(start) -> None:
    """The drawing loop goes on; when the terminal reads again the screen is repainted and keys work."""
    run = start("full", "busy").up()
    run.reading.clear()
    time.sleep(4.0)
    run.type("s")
    run.reading.set()
    run.wait_for("Reading the sessions", 5.0)
    run.type("\x1bq")
    time.sleep(0.5)
    run.type("q")
    run.wait_for("Still running")
    run.type("s")
    assert run.wait() == 0
    run.assert_whole()


def test_the_terminal_vanishes(start) -> None:
    """Closing the window: hang-up on the terminal, then the process ends by itself with the engine stopped."""
    import os

    run = start("full").up()
    run._ended = True
    run.type("\x0c")
    run._thread.join(3)
    os.close(run.slave)
    os.close(run.master)
    try:
        run.process.wait(8)
        assert stopped(run)
    finally:
        run.master, run.slave = os.pipe()
