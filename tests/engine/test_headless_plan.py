"""The engine without its face: why it ended is told as it was."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.settings import Settings
from data.workspace import Workspace
from engine.commands import EngineError
from engine.headless import Plan, run_headless
from engine.remote import Remote, endpoint_path


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="ss-") as folder:  # pytest's own are too long for a socket
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


def test_an_engine_that_was_asked_to_stop_says_so(tmp_path: Path) -> None:
    said: list[str] = []

    def stop() -> None:
        remote, until = Remote(endpoint_path()), time.monotonic() + 30
        while not remote.alive() and time.monotonic() < until:
            time.sleep(0.05)
        remote.stop()

    asker = threading.Thread(target=stop)
    asker.start()
    outcome = run_headless(Settings(), Plan(name="engine", linger=True), said.append, Workspace(tmp_path))
    asker.join(10)
    assert (outcome.reason, outcome.left_over) == ("asked to stop", ())


def test_an_engine_that_ends_as_it_begins_is_not_said_to_be_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recover_all(workspace: Path, progress: object) -> list[object]:
        raise LookupError("a session without a name")

    monkeypatch.setattr("data.recovery.recover_all", recover_all)
    with pytest.raises(EngineError, match=r"^the engine did not start: it ended by itself: LookupError: a session without a name; "):
        run_headless(Settings(), Plan(), print, Workspace(tmp_path))
