"""The end of a Windows console: told at once, and time to save before the process is ended."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.platforms import processes
from engine.platforms.console import console_end
from tests.support.win32 import FakeWin32

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("event", [2, 5, 6])
def test_a_console_that_closes_is_told_and_waits_for_the_way_out(event: int) -> None:
    desk, told = FakeWin32(), threading.Event()
    with console_end(told.set, desk.calls(), grace_s=5):
        ending = threading.Thread(target=desk.end_console, args=(event,))
        ending.start()
        assert told.wait(2)
        time.sleep(0.05)
        assert ending.is_alive(), "Windows ends the process as soon as this returns"
    ending.join(2)
    assert not ending.is_alive()
    assert desk.console_handlers == []


def test_a_way_out_that_takes_too_long_is_not_waited_for_for_ever() -> None:
    desk, told = FakeWin32(), threading.Event()
    with console_end(told.set, desk.calls(), grace_s=0.1):
        desk.end_console(2)
        assert told.is_set()


@pytest.mark.parametrize("event", [0, 1])
def test_ctrl_c_and_ctrl_break_stay_pythons(event: int) -> None:
    desk, told = FakeWin32(), threading.Event()
    with console_end(told.set, desk.calls()):
        desk.end_console(event)
    assert not told.is_set()


def test_children_leave_the_console_and_are_asked_by_ctrl_break(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.creation_flags() == 0
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("os.kill", lambda process, number: sent.append((process, number)))
    assert processes.creation_flags() == 0x8000200
    assert processes.creation_flags(keep_console=True) == 0x200
    processes.ask_to_end(77)
    assert sent == [(77, 1)]


def test_a_process_that_is_ended_by_a_closing_console_leaves_in_the_usual_order() -> None:
    code = (
        "import sys, threading, time\n"
        "from tests.support.win32 import FakeWin32\n"
        "from engine.platforms import console\n"
        "from engine.runtime import signals\n"
        "desk = FakeWin32()\n"
        "signals.console_end = lambda tell: console.console_end(tell, desk.calls())\n"
        "done = []\n"
        "left = threading.Event()\n"
        "wake = signals.Wake(ask_to_leave=left.set, stop_engine=lambda: done.append('saved'))\n"
        "wake.install()\n"
        "ending = threading.Thread(target=desk.end_console, args=(2,))\n"
        "ending.start()\n"
        "assert left.wait(5)\n"
        "time.sleep(0.1)\n"
        "assert ending.is_alive()\n"
        "wake.close()\n"
        "ending.join(5)\n"
        "print(done, ending.is_alive(), wake.signum)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split("\n")[0] == "['saved'] False 15", done.stderr
