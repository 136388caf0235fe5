"""A terminal multiplexer of its own for a test, and the face to open in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from ptyrun import HERE


class Tmux:
    """A server of its own for one test."""

    def __init__(self) -> None:
        self.socket = f"secondseat-test-{uuid.uuid4().hex[:8]}"

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, *words], capture_output=True, text=True, timeout=10, env={**os.environ, "LANG": "C.UTF-8"}
        )
        return done.stdout

    def open(self, command: str) -> None:
        self("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "36", "-s", "a", command)

    def wait_for(self, word: str) -> None:
        end = time.monotonic() + 20
        while word not in (shown := self("capture-pane", "-p", "-t", "a")):
            assert time.monotonic() < end, shown
            time.sleep(0.1)


def face(folder: Path) -> str:
    return f"env -u TMUX LANG=C.UTF-8 LC_ALL=C.UTF-8 {sys.executable} {HERE / 'fake_app.py'} {folder}"
