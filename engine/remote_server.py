"""The engine's door for other processes of the same user: its state, its picture, commands, and the order to stop.

A viewer asks; nothing is ever sent unasked. So a viewer that is slow, stalled or dead changes nothing here: it has at
most one answer under way, which waits in its own connection, and the newest state is what the next answer holds. Notices
that a viewer has already are not sent again. Every request is answered with JSON, whatever came in.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from data.files import from_json
from engine.endpoint import Place, endpoint_name
from engine.runtime.service import TaskService
from engine.state import EngineState, Picture
from engine.wire import LARGEST_REQUEST_BYTES, PROTOCOL, TOKEN_HEADER, VIEWER_HEADER, Hello, own_version, picture_to_wire

if TYPE_CHECKING:
    from aiohttp import web

log = logging.getLogger(__name__)

VIEWER_GONE_S: Final = 3.0
"""A viewer that has not asked for this long is not counted any more."""
LAST_WORDS_S: Final = 0.6
MOST_VIEWERS: Final = 64
IDLE_CONNECTION_S: Final = 60.0
_CLEANUP_S: Final = 0.5
"""How long an answer under way may hold the end of the engine."""


class Controls(Protocol):
    """What of the engine can be reached."""

    def snapshot(self) -> EngineState: ...
    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None: ...
    def command(self, name: str, **params: Any) -> Future[str]: ...
    def request_stop(self, reason: str) -> None: ...
    def note_served(self, name: str, viewers: int) -> None: ...


class RemoteServer(TaskService):
    """Serves one engine at its place, and leaves the place when it ends. With a token over TCP, else on a Unix socket."""

    def __init__(self, controls: Controls, place: Place, *, use_token: bool = os.name != "posix") -> None:
        super().__init__("remote")
        self._controls, self._place = controls, place
        self._name = endpoint_name(place.path)
        self._token = secrets.token_urlsafe(32) if use_token else ""
        self._viewers: dict[str, float] = {}  # by id: when it asked last

    async def run(self) -> None:
        try:
            web = await asyncio.to_thread(_aiohttp_web)
            app = web.Application(middlewares=[self._guarded()], client_max_size=LARGEST_REQUEST_BYTES)
            app.router.add_get("/hello", self._hello)
            app.router.add_get("/state", self._state)
            app.router.add_get("/picture", self._picture)
            app.router.add_post("/command", self._command)
            app.router.add_post("/leave", self._leave)
            app.router.add_post("/stop", self._stop)
            runner = web.AppRunner(
                app,
                access_log=None,
                logger=_quiet_log(),
                shutdown_timeout=_CLEANUP_S,
                keepalive_timeout=IDLE_CONNECTION_S,
                auto_decompress=False,  # so that the limit on a request's size is one
            )
            await runner.setup()
            try:
                await self._listen(runner)
                await self._watch_viewers()
            finally:
                await self._last_words()
                await runner.cleanup()
        finally:
            self._place.leave()

    async def _listen(self, runner: web.AppRunner) -> None:
        from aiohttp import web

        if self._token:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self._place.tell(int(runner.addresses[0][1]), self._token)
        else:
            before = os.umask(0o077)
            try:
                await web.UnixSite(runner, str(self._place.path)).start()
            finally:
                os.umask(before)

    async def _last_words(self) -> None:
        """Let the viewers hear why it ends: each asks a few times a second. One that does not is not waited for long."""
        began_s = time.monotonic()
        while time.monotonic() < began_s + LAST_WORDS_S and any(seen_s < began_s for seen_s in self._viewers.values()):
            await asyncio.sleep(0.02)

    async def _watch_viewers(self) -> None:
        """Count those that are there; this also keeps the service running."""
        while True:
            now_s = time.monotonic()
            self._viewers = {viewer: seen_s for viewer, seen_s in self._viewers.items() if now_s - seen_s < VIEWER_GONE_S}
            self._tell_viewers()
            await asyncio.sleep(0.5)

    def _tell_viewers(self) -> None:
        self._controls.note_served(self._name, len(self._viewers))

    def _guarded(self) -> Any:
        """Who may ask, and what becomes of what goes wrong: JSON, one line, never a traceback."""
        from aiohttp import web

        @web.middleware
        async def guard(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
            try:
                given = request.headers.get(TOKEN_HEADER, "")
                if self._token and not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode()):
                    return _refused(403, "the token is missing or wrong")
                return await handler(request)
            except web.HTTPException as error:
                return _refused(error.status, _in_words(error.status, request))
            except _BadRequestError as error:
                return _refused(400, str(error))
            except Exception as error:
                log.exception("a request for %s failed", request.path)
                return _refused(500, f"{type(error).__name__}: {error}")

        return guard

    async def _hello(self, request: web.Request) -> web.Response:
        from aiohttp import web

        state = self._controls.snapshot()
        hello = Hello(self._name, own_version(), PROTOCOL, os.getpid(), state.started_s, state.workspace)
        return web.json_response(hello.to_json())

    async def _state(self, request: web.Request) -> web.Response:
        from aiohttp import web

        viewer = request.headers.get(VIEWER_HEADER, "")[:64]
        if viewer and (viewer in self._viewers or len(self._viewers) < MOST_VIEWERS):
            came = viewer not in self._viewers
            self._viewers[viewer] = time.monotonic()
            if came:
                self._tell_viewers()
        known = _number(request, "notices", 0, 0, 1 << 62)
        state = self._controls.snapshot()
        if request.query.get("engine", "") == engine_id(state) and 0 <= known <= state.notice_count:
            new = min(state.notice_count - known, len(state.notices))
            state = replace(state, notices=state.notices[len(state.notices) - new :])
        return web.json_response(state.to_json())

    async def _picture(self, request: web.Request) -> web.Response:
        from aiohttp import web

        width, height = (_number(request, name, 320, 1, 1920) for name in ("width", "height"))
        picture = await asyncio.to_thread(self._controls.picture, width, height)
        if picture is None:
            return web.Response(status=204)
        return web.Response(body=picture_to_wire(picture), content_type="application/octet-stream")

    async def _command(self, request: web.Request) -> web.Response:
        from aiohttp import web

        body = await _body(request)
        name, params = body.get("name"), body.get("params", {})
        if not isinstance(name, str) or not isinstance(params, dict):
            raise _BadRequestError('a command is {"name": …, "params": {…}}')
        given = cast("dict[str, Any]", params)
        try:
            text = await asyncio.wrap_future(self._controls.command(name, **given))
        except Exception as error:  # whatever a command raises is the caller's to read
            return _refused(400, str(error) or type(error).__name__)
        return web.json_response({"text": text})

    async def _leave(self, request: web.Request) -> web.Response:
        from aiohttp import web

        self._viewers.pop(request.headers.get(VIEWER_HEADER, "")[:64], None)
        self._tell_viewers()
        return web.json_response({"text": "detached"})

    async def _stop(self, request: web.Request) -> web.Response:
        from aiohttp import web

        self._controls.request_stop("asked to stop")
        return web.json_response({"text": "stopping: the bot lets go, the recording is saved"})


def engine_id(state: EngineState) -> str:
    """What tells this engine from one before it at the same place."""
    return f"{state.pid}-{state.started_s}"


class _BadRequestError(Exception):
    """What was sent is not a request; the text says why."""


async def _body(request: web.Request) -> dict[str, Any]:
    """The JSON object that was sent."""
    try:
        value = from_json(await request.read())
    except ValueError as error:
        raise _BadRequestError("the body is not JSON") from error
    if not isinstance(value, dict):
        raise _BadRequestError("the body is not a JSON object")
    return cast("dict[str, Any]", value)


def _number(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    try:
        value = int(text[:20])
    except ValueError:
        raise _BadRequestError(f"{name}={text[:20]} is not a number") from None
    if not least <= value <= most:
        raise _BadRequestError(f"{name}={value}: use {least} to {most}")
    return value


def _refused(status: int, text: str) -> web.Response:
    from aiohttp import web

    return web.json_response({"error": text}, status=status)


def _in_words(status: int, request: web.Request) -> str:
    if status == 413:
        return f"the request is too large; at most {LARGEST_REQUEST_BYTES} bytes"
    return {404: f"there is no {request.path}", 405: f"{request.path} is not for {request.method}"}.get(status, f"refused ({status})")


def _aiohttp_web() -> Any:
    """aiohttp takes a while to import: not on the engine's loop."""
    from aiohttp import web

    return web


def _quiet_log() -> logging.Logger:
    """For what the HTTP library says of bytes that are no HTTP: an answer of 400 is enough, no traceback for the log."""
    quiet = logging.getLogger(f"{__name__}.http")
    quiet.propagate = False
    if not quiet.handlers:
        quiet.addHandler(logging.NullHandler())
    return quiet
