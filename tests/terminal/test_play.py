"""``secondseat sessions play`` on a terminal of its own: it plays, obeys, and leaves the terminal as it was."""

from __future__ import annotations

import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.sessions import write_session
from tests.terminal.ptyrun import PtyRun


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., PtyRun]]:
    write_session(tmp_path / "ws", 100)
    started: list[PtyRun] = []

    def start(*options: str, env: dict[str, str] | None = None) -> PtyRun:
        program = ["-m", "tui.cli", "--workspace", str(tmp_path / "ws"), "sessions", "play", "last", *options]
        started.append(PtyRun(tmp_path, columns=70, rows=20, program=program, env={"XDG_CONFIG_HOME": str(tmp_path), **(env or {})}))
        return started[-1]

    yield start
    for run in started:
        run.close()


def assert_put_back(run: PtyRun) -> None:
    assert termios.tcgetattr(run.slave) == run.before
    for on, off in ((b"?1049h", b"?1049l"), (b"?25l", b"?25h"), (b"?7l", b"?7h")):
        assert run.output.rfind(b"\x1b[" + off) > run.output.rfind(b"\x1b[" + on) > -1


def test_it_plays_pauses_seeks_and_leaves(play: Callable[..., PtyRun]) -> None:
    run = play("--speed", "0.25", env={"COLORTERM": "truecolor"})
    run.wait_for("playing", 20)
    run.wait_for("38;2;")  # the picture, in its own colours
    run.type(" ")
    run.wait_for("paused")
    run.type("\x1b[C")
    run.wait_for("0:03.3 of 0:03.3")  # five seconds on is behind the end
    run.type("\x1b[D")
    run.wait_for("paused 0:00.0")
    run.resize(60, 15)
    run.wait_for("\x1b[15;1H")
    run.type("q")
    assert run.wait() == 0
    assert_put_back(run)


def test_it_ends_by_itself_where_it_was_told(play: Callable[..., PtyRun]) -> None:
    run = play("--from", "1", "--to", "1.2", env={"NO_COLOR": "1"})
    assert run.wait(20) == 0
    assert b"0:01." in run.output
    assert b"38;2;" not in run.output
    assert_put_back(run)


def test_a_signal_puts_the_terminal_back(play: Callable[..., PtyRun]) -> None:
    run = play("--speed", "0.125")
    run.wait_for("playing", 20)
    run.signal(signal.SIGTERM)
    assert run.wait() == 130
    assert_put_back(run)
