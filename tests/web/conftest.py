"""``serve(command, ...)`` runs the server on a free port for the length of the test."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tui.web import WebFace
from tui.web_door import Door


@dataclass
class Served:
    face: WebFace
    door: Door
    port: int

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return self.door.address("127.0.0.1", self.port)

    def url(self, path: str = "") -> str:
        """An address in the place where everything lies."""
        return f"http://{self.host}{self.door.place}{path}"

    @property
    def headers(self) -> dict[str, str]:
        """What a page of ours sends after the first visit."""
        return {"Cookie": f"secondseat={self.door.key}", "Origin": f"http://{self.host}"}

    async def until_alone(self, timeout_s: float = 20.0) -> None:
        """Wait until every child has ended."""
        async with asyncio.timeout(timeout_s):
            while self.face.children:
                await asyncio.sleep(0.02)


Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def serve() -> Serve:
    @contextlib.asynccontextmanager
    async def served(command: Sequence[str], **options: int) -> AsyncIterator[Served]:
        door, stop = Door(), asyncio.Event()
        face = WebFace(command, door, **options)
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(face.serve("127.0.0.1", 0, port.set_result, stop))
        try:
            yield Served(face, door, await asyncio.wait_for(port, 10))
        finally:
            stop.set()
            await asyncio.wait_for(task, 20)

    return served


@pytest.fixture
def own_folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folders of this test's own, with a name that is short enough for sockets, and no display."""
    with tempfile.TemporaryDirectory(prefix="web-") as name:
        folder = Path(name)
        for place in ("run", "state", "config", "share", "home"):
            (folder / place).mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "share"))
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setenv("SECONDSEAT_PATHS__WORKSPACE", str(folder / "workspace"))
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        yield folder


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session
