"""Starting a headless engine that outlives whoever starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engine.endpoint import RemoteError, endpoint_path
from engine.remote import Remote
from engine.runtime.jobs import child_environment
from engine.runtime.stdio import open_log, state_folder
from engine.wire import Hello

START_S: Final = 30.0


class StartError(Exception):
    """The engine did not come up; the text says its own last word and where the rest is."""


def start_headless(name: str, words: Sequence[str], more: Sequence[str] = (), timeout_s: float = START_S) -> Hello:
    """Start ``secondseat headless --name NAME`` with the global options ``words`` and its own options ``more``.

    Returns once it answers. What it prints goes to a log in the user's state folder. Raises StartError.
    """
    handle, log_path = open_log(state_folder() / f"headless-{name}.log")
    size_before = log_path.stat().st_size if log_path.exists() else 0
    own_session: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        own_session = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "tui.cli", *words, "headless", "--name", name, *more],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env=child_environment(),
            **own_session,
        )
    finally:
        os.close(handle)
    remote, until_s = Remote(endpoint_path(name), 1.0), time.monotonic() + timeout_s
    while time.monotonic() < until_s:
        if process.poll() is not None:
            raise StartError(f"the headless engine did not start: {_last_line(log_path, size_before) or 'no word'} (see {log_path})")
        try:
            hello = remote.hello()
        except RemoteError:
            time.sleep(0.05)
            continue
        if hello.pid == process.pid:
            process.returncode = 0  # it lives on: no child of ours to wait for
            return hello
        time.sleep(0.05)
    process.terminate()
    raise StartError(f"the headless engine did not answer within {timeout_s:g} s; see {log_path}")


def _last_line(path: Path, since: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(since)
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    return next((line.removeprefix("secondseat: ") for line in reversed(lines) if line), "")
