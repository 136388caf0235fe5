"""The local socket: status, commands, stop; only one engine; a stale socket is no obstacle."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from engine.commands import EngineError
from engine.remote import Remote, RemoteError, RemoteServer, runtime_folder
from engine.state import EngineState


class FakeEngine:
    def __init__(self) -> None:
        self.stopped = ""
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def snapshot(self) -> EngineState:
        return EngineState(sequence=7, workspace="here")

    def command(self, name: str, **params: Any) -> Future[str]:
        self.asked.append((name, params))
        done: Future[str] = Future()
        if name == "fly":
            done.set_exception(EngineError("the bot is not armed"))
        else:
            done.set_result(f"{name} done")
        return done

    def request_stop(self, reason: str) -> None:
        self.stopped = reason


class Running:
    """A server on a loop in a thread of its own."""

    def __init__(self, engine: FakeEngine, path: Path) -> None:
        self.service = RemoteServer(engine, path)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.stop_asked = asyncio.Event()

    def _run(self) -> None:
        async def main() -> None:
            self.service.start()
            await self.stop_asked.wait()
            self.service.request_stop()
            await self.service.stopped(2.0)

        self.loop.run_until_complete(main())
        self.loop.close()

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.stop_asked.set)
        self.thread.join(5)


def wait_for(condition: Any, timeout_s: float = 5.0) -> None:
    import time

    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ss-") as folder:  # pytest's own are too long for a socket
        yield Path(folder) / "e.sock"


def test_state_commands_errors_and_stop(socket: Path) -> None:
    engine = FakeEngine()
    with Running(engine, socket):
        remote = Remote(socket)
        wait_for(remote.alive)
        assert remote.state()["sequence"] == 7
        assert remote.command("train", level="all", quick=True) == "train done"
        assert engine.asked[-1] == ("train", {"level": "all", "quick": True})
        with pytest.raises(RemoteError, match="not armed"):
            remote.command("fly")
        assert remote.stop() == "stopping"
        assert engine.stopped == "asked to stop"
        if os.name == "posix":
            assert stat.S_IMODE(socket.stat().st_mode) & 0o077 == 0
    assert not socket.exists()
    with pytest.raises(RemoteError, match="secondseat headless"):
        remote.state()


def test_a_second_engine_is_refused_and_the_first_goes_on(socket: Path) -> None:
    with Running(FakeEngine(), socket) as first:
        remote = Remote(socket)
        wait_for(remote.alive)
        with Running(FakeEngine(), socket) as second:
            wait_for(lambda: second.service.health().health == "failed")
            assert "another engine answers" in second.service.reason
        assert remote.alive()
        assert first.service.health().health == "running"


def test_a_stale_socket_is_replaced(socket: Path) -> None:
    import socket as sockets

    left_over = sockets.socket(sockets.AF_UNIX)
    left_over.bind(str(socket))
    left_over.close()
    assert socket.exists()
    with Running(FakeEngine(), socket):
        wait_for(Remote(socket).alive)


def test_a_runtime_folder_that_others_can_write_to_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "secondseat"
    (tmp_path / "secondseat").chmod(0o777)
    with pytest.raises(RemoteError, match="not yours alone"):
        runtime_folder()
