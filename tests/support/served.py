"""An engine that does nothing, behind the real server on a real socket: for tests of both ends of the talk."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.commands import EngineError
from engine.endpoint import take_place
from engine.remote import Remote
from engine.remote_server import RemoteServer
from engine.state import Box, EngineState, Notice, Picture


class FakeEngine:
    """``say`` adds a notice; ``slow`` takes until ``release`` is set; ``fly`` is refused; the rest is done at once."""

    def __init__(self, started_s: float = 1.0) -> None:
        self.state = EngineState(sequence=7, workspace="here", pid=os.getpid(), started_s=started_s)
        self.stopped = ""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.release = threading.Event()
        self.shown: Picture | None = None

    def snapshot(self) -> EngineState:
        return self.state

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        return self.shown

    def show(self) -> Picture:
        box = Box(0.5, 0.5, 0.1, 0.2, "raider", 0.9, 4)
        self.shown = Picture(3, 99, 4, 2, 640, 360, bytes(range(24)), (box,), (0.25, 0.75))
        return self.shown

    def say(self, text: str) -> None:
        notice = Notice(float(self.state.notice_count), "info", "engine", text)
        self.state = replace(self.state, notices=(*self.state.notices, notice)[-200:], notice_count=self.state.notice_count + 1)

    def command(self, name: str, **params: Any) -> Future[str]:
        self.asked.append((name, params))
        done: Future[str] = Future()
        if name == "fly":
            done.set_exception(EngineError("the bot is not armed"))
        elif name == "slow":
            threading.Thread(target=lambda: (self.release.wait(20), done.set_result("slow done")), daemon=True).start()
        else:
            done.set_result(f"{name} done")
        return done

    def request_stop(self, reason: str) -> None:
        self.stopped = reason

    def note_served(self, name: str, viewers: int) -> None:
        self.state = replace(self.state, name=name, viewers=viewers)


class Running:
    """A server on a loop in a thread of its own; leaving the block ends it."""

    def __init__(self, engine: FakeEngine, path: Path, *, exact: bool = True, **options: Any) -> None:
        self.service = RemoteServer(engine, take_place(path, exact=exact), **options)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.stop_asked = asyncio.Event()
        self.stopped_in_time = False

    def _run(self) -> None:
        async def main() -> None:
            self.service.start()
            await self.stop_asked.wait()
            self.service.request_stop()
            self.stopped_in_time = await self.service.stopped(4.0)

        self.loop.run_until_complete(main())
        self.loop.close()

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if self.loop.is_closed():
            return
        self.loop.call_soon_threadsafe(self.stop_asked.set)
        self.thread.join(8)
        assert self.stopped_in_time


@contextmanager
def serving(engine: FakeEngine, path: Path, **options: Any) -> Iterator[Running]:
    """The same, up before the block begins."""
    with Running(engine, path, **options) as server:
        wait_for(lambda: path.exists() and Remote(path).alive(), 10)
        yield server


def wait_for(condition: Callable[[], object], timeout_s: float = 5.0) -> None:
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
