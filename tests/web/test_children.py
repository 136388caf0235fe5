"""The face behind a browser as a process: what it is told, and that it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.web.conftest import Serve, Served
from tui import web_child
from tui.web import NO_FACE, NO_MORE


def small_face(what: str) -> list[str]:
    return [sys.executable, str(Path(__file__).parent / "small_face.py"), what]


async def connect(client: aiohttp.ClientSession, served: Served, query: str = "?width=90&height=30") -> aiohttp.ClientWebSocketResponse:
    return await client.ws_connect(served.url(f"ws{query}"), headers=served.headers)


async def drawn(socket: aiohttp.ClientWebSocketResponse) -> str:
    message = await socket.receive(timeout=10)
    assert message.type is aiohttp.WSMsgType.BINARY, message
    return message.data.decode()


async def test_keys_and_sizes_reach_the_face_and_nonsense_does_not(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(small_face("echo")) as served:
        socket = await connect(client, served)
        environment = json.loads(await drawn(socket))
        assert (environment["COLUMNS"], environment["ROWS"], environment["TERM"]) == ("90", "30", "xterm-256color")
        for nonsense in ("{", "7", "[]", '["stdin"]', '["stdin", 3]', '["resize", 4]', '["quit", {}]', '[{"a": 1}, 2]', "[" * 5000):
            await socket.send_str(nonsense)
        await socket.send_bytes(b"r")
        await socket.send_json(["stdin", "rü\ud800"])
        assert await drawn(socket) == "D:rü?"
        await socket.send_json(["resize", {"width": 10**9, "height": -5}])
        assert json.loads((await drawn(socket))[2:]) == {"type": "resize", "width": 1000, "height": 1}
        await socket.send_json(["blur"])
        assert json.loads((await drawn(socket))[2:]) == {"type": "blur"}
        await socket.close()
        await served.until_alone()


async def test_no_secret_is_in_the_logs_or_in_what_the_face_was_started_with(
    serve: Serve, client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serve(small_face("echo")) as served:
        async with client.get(served.address, allow_redirects=False) as answer:
            assert answer.status == 303
        socket = await connect(client, served, f"?token={served.door.token}")
        shown = await drawn(socket)
        command_line = " ".join(psutil.Process(served.face.children[0]).cmdline())
        for secret in (served.door.token, served.door.key, served.door.place):
            assert secret not in shown
            assert secret not in command_line
        await socket.close()
        await served.until_alone()
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("aiohttp.client")]
    assert not any(secret in line for line in ours for secret in (served.door.token, served.door.key))


async def test_one_browser_too_many_is_told_so_and_a_place_becomes_free(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(small_face("echo"), sessions=2) as served:
        first, second = await connect(client, served), await connect(client, served)
        await drawn(first)
        await drawn(second)
        children = served.face.children
        third = await connect(client, served)
        message = await third.receive(timeout=5)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, NO_MORE)
        assert "2 browsers" in message.extra
        await second.close()
        async with asyncio.timeout(10):
            while len(served.face.children) > 1:
                await asyncio.sleep(0.02)
        again = await connect(client, served)
        await drawn(again)
        assert children[0] in served.face.children
        await first.close()
        await again.close()
        await served.until_alone()
        assert not any(psutil.pid_exists(pid) for pid in children)


async def test_a_face_that_does_not_open_says_why(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(small_face("fails")) as served:
        message = await (await connect(client, served)).receive(timeout=10)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, NO_FACE)
        assert message.extra == "The face ended: no engine answers"
    async with serve(["/no/such/program"]) as served:
        message = await (await connect(client, served)).receive(timeout=10)
        assert (message.data, message.extra) == (NO_FACE, "The face could not be started: No such file or directory")


async def test_a_face_that_dies_is_not_taken_for_one_that_was_left(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(small_face("echo")) as served:
        socket = await connect(client, served)
        await drawn(socket)
        psutil.Process(served.face.children[0]).kill()
        message = await socket.receive(timeout=10)
        assert (message.data, message.extra) == (NO_FACE, "The face ended: it ended without a word")
        await served.until_alone()


async def test_a_face_that_obeys_nothing_is_killed_when_the_browser_leaves(
    serve: Serve, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_child, "LEAVE_S", 0.2)
    async with serve(small_face("deaf")) as served:
        socket = await connect(client, served)
        await drawn(socket)
        child = served.face.children[0]
        for _ in range(30):  # more than its pipe takes
            await socket.send_json(["stdin", "x" * 100_000])
        await socket.close()
        await served.until_alone()
        assert not psutil.pid_exists(child)


async def test_stopping_the_server_ends_the_faces_and_tells_the_browsers(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(small_face("echo")) as served:
        sockets = [await connect(client, served) for _ in range(2)]
        for socket in sockets:
            await drawn(socket)
        children = served.face.children
        assert len(children) == 2
        closing = [asyncio.create_task(socket.receive(timeout=10)) for socket in sockets]
    assert not any(psutil.pid_exists(pid) for pid in children)
    for waiting in closing:
        message = await waiting
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.GOING_AWAY)
