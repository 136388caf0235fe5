"""The face in a real browser: it is drawn, keys reach the engine, strangers do not."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
import pytest_asyncio
from aiohttp import web

from tests.support.served import serving
from tests.tui.fake import FakeCenter, full_state
from tests.web.browser import Browser, Page, chromium, until
from tests.web.conftest import Serve, Served

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(chromium() is None, reason="needs a browser (Debian: apt-get install chromium)"),
]


class Engine(FakeCenter):
    """The stand-in as the server of the engine's socket wants it."""

    def request_stop(self, reason: str) -> None:
        self.stopped += 1

    def note_served(self, name: str, viewers: int) -> None:
        pass


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with Browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def engine(own_folders: Path) -> Iterator[Engine]:
    from engine.remote import endpoint_path

    center = Engine(full_state())
    with serving(center, endpoint_path()):
        yield center


ATTACH = [sys.executable, "-m", "tui.cli", "attach"]


async def shown(browser: Browser, served: Served, own_cookies: bool = False) -> Page:
    page = await browser.open(served.address, own_cookies)
    await page.until("Actions", 20)
    await page.until("skirmish")
    return page


async def test_the_page_draws_the_face_and_asks_nothing_of_the_net(browser: Browser, serve: Serve, engine: Engine) -> None:
    async with serve(ATTACH) as served:
        page = await shown(browser, served)
        assert await page.words() == ""
        assert await page.evaluate("location.href") == served.url()
        assert await page.evaluate("document.cookie") == ""
        assert await page.evaluate("[...document.fonts].some(font => font.status === 'loaded')")
        local = (f"http://{served.host}/", f"ws://{served.host}/", "data:")
        assert [address for address in page.requests if not address.startswith(local)] == []
        assert page.complaints == []
        await asyncio.sleep(0.3)
        picture = cv2.imdecode(np.frombuffer(await page.picture(), np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
        await page.close()
        await served.until_alone()


async def test_keys_reach_the_engine_and_f5_does_not_reload(browser: Browser, serve: Serve, engine: Engine) -> None:
    engine.state = engine.state.__class__.from_json({**engine.state.to_json(), "recorder": {"phase": "idle"}})
    async with serve(ATTACH) as served:
        page = await shown(browser, served)
        await page.until("r records, v saves, x discards, ! stops everything")
        await page.press("r")
        await until(lambda: engine.state.recorder.phase == "recording", 20, lambda: engine.commands)
        await page.until("REC")
        child = served.face.children
        await page.evaluate("addEventListener('keydown', event => setTimeout(() => window.kept = event.defaultPrevented), true)")
        await page.press("F5", "F5", 116)
        await until(lambda: engine.state.recorder.phase == "unsaved", 20, lambda: engine.commands)
        assert await page.evaluate("window.kept")  # from the browser, which would have loaded the page anew
        assert served.face.children == child
        await page.close()
        await served.until_alone()
        assert engine.stopped == 0


async def test_two_browsers_at_once_and_leaving_ends_only_ones_own(browser: Browser, serve: Serve, engine: Engine) -> None:
    async with serve(ATTACH) as served:
        first, second = await shown(browser, served), await shown(browser, served, own_cookies=True)
        assert len(served.face.children) == 2
        await first.close()
        await until(lambda: len(served.face.children) == 1, 10, lambda: served.face.children)
        await second.call("Emulation.setDeviceMetricsOverride", width=700, height=420, deviceScaleFactor=1, mobile=False)
        await second.until("[1 Act]")  # the line of tabs of a small terminal
        await second.press("D")
        async with asyncio.timeout(20):
            while "left the face" not in await second.words():
                await asyncio.sleep(0.05)
        await second.evaluate("document.getElementById('again').click()")
        await second.until("Actions")
        await second.close()
        await served.until_alone()
        assert engine.stopped == 0


class Tunnel:
    """What ``ssh -L`` does: another port that leads to the server. ``break_off`` ends the connections that are open."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.break_off()

    def break_off(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._open += [writer, back]
        with contextlib.suppress(OSError):
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    @staticmethod
    async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


async def test_through_a_tunnel_and_again_when_its_line_was_lost(browser: Browser, serve: Serve, engine: Engine) -> None:
    async with serve(ATTACH) as served:
        tunnel = Tunnel(served.port)
        async with tunnel as port:
            page = await browser.open(served.door.address("localhost", port))
            await page.until("skirmish", 20)
            first = served.face.children
            page.drawn = ""
            tunnel.break_off()
            await page.until("skirmish", 20)
            # What was on its way when the line went may still say the word: only another face is the answer.
            await until(lambda: len(served.face.children) == 1 and served.face.children != first, 20, lambda: served.face.children)
            async with asyncio.timeout(20):  # the face has begun; the browser takes the words away when its first line is there
                while await page.words():
                    await asyncio.sleep(0.05)
            await page.close()
            await served.until_alone()


async def test_strangers_stay_outside(browser: Browser, serve: Serve, engine: Engine) -> None:
    """A browser without the address, and a page of another server in the browser that has the cookie."""

    async def other_page(request: web.Request) -> web.Response:
        return web.Response(text="<!DOCTYPE html><title>other</title>", content_type="text/html")

    other = web.Application()
    other.router.add_get("/{path:.*}", other_page)
    runner = web.AppRunner(other, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with serve(ATTACH) as served:
        without = await browser.open(served.url(), own_cookies=True)
        async with asyncio.timeout(20):
            while "Open the whole address" not in await without.evaluate("document.body.innerText"):
                await asyncio.sleep(0.05)
        page = await shown(browser, served)
        children = served.face.children
        await page.call("Page.navigate", url=f"http://127.0.0.1:{runner.addresses[0][1]}{served.door.place}")
        await served.until_alone()
        answer = await page.evaluate(
            f"""new Promise(done => {{
                const socket = new WebSocket("ws://{served.host}{served.door.place}ws");
                socket.onopen = () => done("opened");
                socket.onerror = () => done("refused");
            }})"""
        )
        assert answer == "refused"
        read = await page.evaluate(f"fetch('{served.url()}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')")
        assert read == "refused"
        framed = await page.evaluate(
            f"""new Promise(done => {{
                const frame = document.createElement("iframe");
                frame.src = "{served.url()}";
                frame.onload = () => setTimeout(() => done(frame.contentDocument === null), 300);
                document.body.append(frame);
            }})"""
        )
        assert framed
        assert served.face.children == []
        assert children
        await without.close()
        await page.close()
    await runner.cleanup()
