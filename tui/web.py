"""The face in a browser: a page with a terminal, and for each browser an attached face as a child.

The page's terminal is that of textual-serve (xterm.js with its client); the server around it is ours, because it has
to ask who comes in (``tui.web_door``) and to end what it started. The engine runs elsewhere: a browser that stalls or
leaves is nothing to it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from data.files import from_json
from tui.web_child import NoFace, WebChild
from tui.web_door import COOKIE, HEADERS, Door
from tui.web_serving import refused, serve

SESSIONS: Final = 8
"""Browsers at once. A face takes about 55 MB."""
MAX_MESSAGE: Final = 1_000_000
HEARTBEAT_S: Final = 15.0
SHUTDOWN_S: Final = 15.0
NO_MORE: Final = 4001
NO_FACE: Final = 4002
REASON_BYTES: Final = 123
"""As much as the close of a websocket holds."""
WIDEST: Final = 1000
TALLEST: Final = 500

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebFace:
    """Serves ``command``, an attached face, to whoever passes the door."""

    def __init__(self, command: Sequence[str], door: Door, sessions: int = SESSIONS) -> None:
        self._command, self._door, self._sessions = command, door, sessions
        self._open: dict[web.WebSocketResponse, WebChild | None] = {}

    @property
    def children(self) -> list[int]:
        """The process ids of the faces that are open."""
        return [child.pid for child in self._open.values() if child is not None]

    def application(self) -> web.Application:
        place = self._door.place
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self._enter),
                web.get(place, self._page),
                web.get(f"{place}alive", self._alive),
                web.get(f"{place}ws", self._face),
                web.static(f"{place}own", _own_files()),
                web.static(f"{place}static", Path(str(files("textual_serve"))) / "static"),
            ]
        )
        app.on_shutdown.append(self._close_all)
        return app

    async def serve(self, host: str, port: int, ready: Callable[[int], None], stop: asyncio.Event) -> None:
        """Listen until ``stop``; ``ready`` is told the port. Raises OSError when it cannot be had."""
        await serve(self.application(), host, port, ready, stop, shutdown_s=SHUTDOWN_S)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if answer := refused(self._door, request, from_own_page=request.path == f"{self._door.place}ws"):
            return answer
        response = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """The printed address: the secret goes into a cookie and out of the address line."""
        response = web.Response(status=303, headers={"Location": self._door.place})
        response.set_cookie(COOKIE, self._door.key, path=self._door.place, httponly=True, samesite="Lax")
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(_own_files() / "web.html")

    async def _alive(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="yes")

    async def _face(self, request: web.Request) -> web.StreamResponse:
        """One browser: its face lives as long as this socket."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_MESSAGE)
        await socket.prepare(request)
        if len(self._open) >= self._sessions:
            await _close(socket, NO_MORE, f"{self._sessions} browsers show the face already; close one of them first.")
            return socket
        self._open[socket] = child = None
        try:
            columns, rows = _cells(request.query.get("width"), 120, WIDEST), _cells(request.query.get("height"), 36, TALLEST)
            self._open[socket] = child = await WebChild.start(self._command, columns, rows)
            drawing = asyncio.create_task(_draw(child, socket))
            try:
                async for message in socket:
                    _take(child, message)
            finally:
                drawing.cancel()
                await asyncio.wait([drawing])
        except OSError as error:
            await _close(socket, NO_FACE, f"The face could not be started: {error.strerror}")
        finally:
            if child is not None:
                await child.stop()
            del self._open[socket]
        return socket

    async def _close_all(self, app: web.Application) -> None:
        await asyncio.gather(*(_close(socket, WSCloseCode.GOING_AWAY, "") for socket in self._open))


def _own_files() -> Path:
    return Path(str(files("tui"))) / "assets"


async def _draw(child: WebChild, socket: web.WebSocketResponse) -> None:
    try:
        async for data in child.drawn():
            await socket.send_bytes(data)
        await _close(socket, WSCloseCode.OK, "")
    except NoFace as error:
        await _close(socket, NO_FACE, f"The face ended: {error}")
    except ConnectionError:
        await _close(socket, WSCloseCode.OK, "")


async def _close(socket: web.WebSocketResponse, code: int, reason: str) -> None:
    short = reason.encode()[:REASON_BYTES].decode("utf-8", "ignore")
    with contextlib.suppress(ConnectionError, RuntimeError):
        await socket.close(code=code, message=short.encode())


def _take(child: WebChild, message: WSMessage) -> None:
    """One message of the page: ``[kind, value]``. What is none is ignored."""
    if message.type is not WSMsgType.TEXT:
        return
    try:
        envelope: object = from_json(message.data)
    except ValueError:
        return
    kind, value = cast("list[Any]", [*envelope, None, None])[:2] if isinstance(envelope, list) else (None, None)
    if kind == "stdin" and isinstance(value, str):
        child.keys(value)
    elif kind == "resize" and isinstance(value, dict):
        size = cast("dict[str, Any]", value)
        child.tell(type="resize", width=_cells(size.get("width"), 120, WIDEST), height=_cells(size.get("height"), 36, TALLEST))
    elif kind == "focus" or kind == "blur":
        child.tell(type=kind)


def _cells(given: object, otherwise: int, most: int) -> int:
    try:
        return min(max(int(cast("Any", given)), 1), most)
    except (TypeError, ValueError):
        return otherwise
