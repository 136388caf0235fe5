"""The way out, step by step; the whole on a real terminal is in tests/terminal."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from engine.runtime.signals import Wake
from engine.runtime.stdio import LOG_LIMIT_BYTES, open_log, state_folder

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="POSIX signals")


def test_a_signal_stops_the_engine_asks_the_face_and_restores_when_it_hangs() -> None:
    steps: list[str] = []
    ended = threading.Event()

    def leave(status: int) -> None:
        steps.append(f"leave {status}")
        ended.set()

    wake = Wake(
        ask_to_leave=lambda: steps.append("ask"),
        stop_engine=lambda: steps.append("stop"),
        restore=lambda: steps.append("restore"),
        grace_s=0.1,
        deadline_s=0.3,
        leave=leave,
    )
    wake.install()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended.wait(5)
        assert set(steps[:2]) == {"ask", "stop"}
        assert steps[2:] == ["restore", "restore", f"leave {128 + signal.SIGTERM}"]
        assert wake.signum == signal.SIGTERM
    finally:
        wake.close()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_face_that_leaves_in_time_is_left_alone() -> None:
    steps: list[str] = []
    wake = Wake(restore=lambda: steps.append("restore"), grace_s=2.0, leave=lambda status: steps.append(f"leave {status}"))
    wake.ask_to_leave = wake.left
    wake.install()
    os.kill(os.getpid(), signal.SIGHUP)
    end = time.monotonic() + 5
    while wake.signum == 0 and time.monotonic() < end:
        time.sleep(0.01)
    wake.close()
    assert wake.signum == signal.SIGHUP
    assert steps == []


def test_a_failing_step_does_not_stop_the_next() -> None:
    ended = threading.Event()

    def fails() -> None:
        raise RuntimeError("no")

    wake = Wake(ask_to_leave=fails, stop_engine=fails, restore=fails, grace_s=0.05, deadline_s=0.1, leave=lambda _: ended.set())
    wake.install()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        assert ended.wait(5)
    finally:
        wake.close()


def test_the_log_is_set_aside_when_it_is_large(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "output.log"
    fd, opened = open_log(path)
    os.close(fd)
    assert opened == path
    path.write_bytes(b"x" * (LOG_LIMIT_BYTES + 1))
    fd, _ = open_log(path)
    os.close(fd)
    assert path.stat().st_size == 0
    assert (tmp_path / "deep" / "output.log.1").stat().st_size == LOG_LIMIT_BYTES + 1
    (tmp_path / "file").write_text("")
    fd, opened = open_log(tmp_path / "file" / "output.log")
    os.close(fd)
    assert opened == Path(os.devnull)


def test_the_state_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert state_folder() == Path("/somewhere/secondseat")
