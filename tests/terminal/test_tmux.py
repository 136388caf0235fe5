"""Inside a multiplexer: function keys, detaching and attaching, the pane closed under the face."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from ptyrun import HERE

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


def test_function_keys_and_a_closed_pane(tmp_path: Path) -> None:
    name = f"secondseat-test-{uuid.uuid4().hex[:8]}"

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", name, *words], capture_output=True, text=True, timeout=10, env={**os.environ, "LANG": "C.UTF-8"}
        )
        return done.stdout

    def wait_for(word: str) -> None:
        end = time.monotonic() + 20
        while word not in (shown := tmux("capture-pane", "-p", "-t", "a")):
            assert time.monotonic() < end, shown
            time.sleep(0.1)

    command = f"env -u TMUX LANG=C.UTF-8 LC_ALL=C.UTF-8 {sys.executable} {HERE / 'fake_app.py'} {tmp_path}"
    try:
        tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "36", "-s", "a", command)
        wait_for(":99")
        tmux("send-keys", "-t", "a", "F5")
        wait_for("● REC 00:00:00")
        tmux("send-keys", "-t", "a", "F6")
        wait_for("not recording")
        tmux("send-keys", "-t", "a", "?")
        wait_for("Everywhere")
        tmux("kill-session", "-t", "a")
        end = time.monotonic() + 10
        while not (tmp_path / "stopped.txt").exists():
            assert time.monotonic() < end, "the engine was not stopped when the pane was closed"
            time.sleep(0.1)
    finally:
        tmux("kill-server")
