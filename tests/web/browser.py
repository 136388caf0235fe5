"""Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root, in containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-port=0",
    "--window-size=1200,700",
)


ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\\\)|.)")


async def until(condition: Callable[[], object], timeout_s: float, problem: Callable[[], object]) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, problem()
        await asyncio.sleep(0.02)


def chromium() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One running browser: ``async with Browser(folder) as browser: page = await browser.open(address)``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.pages: dict[str, Page] = {}

    async def __aenter__(self) -> Browser:
        program = chromium()
        assert program
        profile = self._folder / "profile"
        environment = {**os.environ, "HOME": str(self._folder)}
        environment.pop("DISPLAY", None)
        log = (self._folder / "chromium.log").open("wb")
        self._process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={profile}", "about:blank", stdout=log, stderr=log, env=environment
        )
        log.close()
        self._session = aiohttp.ClientSession()
        port_file = profile / "DevToolsActivePort"
        async with asyncio.timeout(30):
            while not port_file.exists() or len(port_file.read_text().splitlines()) < 2:
                assert self._process.returncode is None, (self._folder / "chromium.log").read_text()
                await asyncio.sleep(0.05)
        port, path = port_file.read_text().splitlines()
        self._socket = await self._session.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        await self._socket.close()
        await self._session.close()
        self._process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 10)
            return
        self._process.kill()
        await self._process.wait()

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
            elif (page := self.pages.get(said.get("sessionId", ""))) is not None:
                page.heard(said["method"], said["params"])

    async def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})})
        said = await asyncio.wait_for(self._answers[number], 20)
        assert "error" not in said, f"{method}: {said['error']}"
        return said["result"]

    async def open(self, address: str, own_cookies: bool = False) -> Page:
        """A new tab; with ``own_cookies`` like in another browser."""
        context = {"browserContextId": (await self.call("Target.createBrowserContext"))["browserContextId"]} if own_cookies else {}
        target = (await self.call("Target.createTarget", url="about:blank", **context))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for part in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{part}.enable")
        await page.call("Page.navigate", url=address)
        return page


class Page:
    """A tab. ``requests`` are the addresses that it asked for, ``complaints`` what its console said against it, ``drawn``
    what its terminal was sent, without the escape sequences."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.drawn = ""

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.call(method, self._session, **params)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
            self.drawn += ESCAPE.sub("", base64.b64decode(params["response"]["payloadData"]).decode("utf-8", "replace"))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["exception"].get("description", str(params)))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])

    async def evaluate(self, script: str) -> Any:
        said = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    async def until(self, text: str, timeout_s: float = 20.0) -> None:
        """Wait until the terminal was sent this text."""
        await until(lambda: text in self.drawn, timeout_s, lambda: f"no {text!r} in {self.drawn[-2000:]!r}; {self.complaints}")

    async def words(self) -> str:
        """What the page itself says over the terminal; empty while it shows the terminal."""
        return await self.evaluate("document.getElementById('word')?.checkVisibility() ? document.getElementById('said').textContent : ''")

    async def press(self, key: str, code: str = "", number: int = 0) -> None:
        """A letter, or another key by the code and number that browsers know it by."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code or f"Key{key.upper()}", windowsVirtualKeyCode=number, **text
            )

    async def picture(self) -> bytes:
        """What the tab shows, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    async def close(self) -> None:
        await self._browser.call("Target.closeTarget", targetId=self._target)
