"""Inside a multiplexer: function keys, detaching and attaching, the pane closed under the face."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from multiplexer import Tmux, face
from ptyrun import HERE, PtyRun

from engine.endpoint import endpoint_path
from engine.state import BotState
from tests.support.served import FakeEngine, serving, wait_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


def test_function_keys_and_a_closed_pane(tmux: Tmux, tmp_path: Path) -> None:
    tmux.open(face(tmp_path))
    tmux.wait_for(":99")
    tmux("send-keys", "-t", "a", "F5")
    tmux.wait_for("● REC 00:00:00")
    tmux("send-keys", "-t", "a", "F6")
    tmux.wait_for("not recording")
    tmux("send-keys", "-t", "a", "?")
    tmux.wait_for("Everywhere")
    tmux("kill-session", "-t", "a")
    end = time.monotonic() + 10
    while not (tmp_path / "stopped.txt").exists():
        assert time.monotonic() < end, "the engine was not stopped when the pane was closed"
        time.sleep(0.1)


def test_ten_clients_come_and_go(tmux: Tmux, tmp_path: Path) -> None:
    """Detached and attached again, with another size each time: alive, drawn anew, keys still work, nothing was stopped."""
    tmux.open(face(tmp_path))
    tmux.wait_for(":99")
    for number in range(10):
        attach = f"import os; os.environ.pop('TMUX', None); os.execvp('tmux', ['tmux', '-L', {tmux.socket!r}, 'attach', '-t', 'a'])"
        client = PtyRun(tmp_path, program=["-c", attach], columns=100 + number, rows=30 + number % 3)
        try:
            client.wait_for("Actions")
            tmux("detach-client", "-s", "a")
            assert client.wait() == 0
        finally:
            client.close()
    assert not (tmp_path / "stopped.txt").exists()
    tmux("send-keys", "-t", "a", "F5")
    tmux.wait_for("● REC 00:00:00")


def test_a_closed_pane_leaves_a_headless_engine_and_its_bot_alone(tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        engine = FakeEngine()
        engine.state = replace(
            engine.state,
            workspace=str(tmp_path),
            checks=(("display", "ok", ":99"),),
            sessions=1,
            bot=BotState("flying", "quick-1", "the game"),
        )
        with serving(engine, endpoint_path()):
            homes = " ".join(f"{name}={tmp_path}" for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"))
            tmux.open(
                f"env -u TMUX {homes} XDG_RUNTIME_DIR={runtime} LANG=C.UTF-8 LC_ALL=C.UTF-8 {sys.executable} {HERE / 'leader.py'} attach"
            )
            tmux.wait_for("BOT flies")
            wait_for(lambda: engine.state.viewers == 1, 5)
            tmux("kill-pane", "-t", "a")
            wait_for(lambda: engine.state.viewers == 0, 8)
            assert engine.stopped == ""
            assert not {name for name, _ in engine.asked} & {"disarm", "stop_all"}
