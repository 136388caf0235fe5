"""Talking to a running engine from another process: ``status``, ``stop`` and commands, over a local socket.

On POSIX a Unix socket in a folder only the user can read; on Windows a loopback port with a random token that
stands in a file of the user's own. The server runs on the engine's loop; the client is plain ``http.client``, so
that ``secondseat status`` needs no heavy import.
"""

from __future__ import annotations

import contextlib
import hmac
import http.client
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.runtime.service import TaskService
from engine.state import EngineState

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aiohttp import web

TIMEOUT_S = 5.0


class RemoteError(Exception):
    """No engine answers, or it refused; the text says what to do."""


class Controls(Protocol):
    def snapshot(self) -> EngineState: ...
    def command(self, name: str, **params: Any) -> Future[str]: ...
    def request_stop(self, reason: str) -> None: ...


def runtime_folder() -> Path:
    """A folder of mode 0700 for sockets, short enough for their 107 bytes."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and Path(base).is_dir() and os.access(base, os.W_OK):
        folder = Path(base) / "secondseat"
    elif os.name == "posix":
        folder = Path(tempfile.gettempdir()) / f"secondseat-{os.getuid()}"
    else:
        folder = Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir())) / "secondseat" / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix":
        owner = folder.stat()
        if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
            raise RemoteError(
                f"{folder} is not yours alone (owner {owner.st_uid}, mode {owner.st_mode & 0o777:o}); remove it or set XDG_RUNTIME_DIR"
            )
    return folder


def endpoint_path(name: str = "engine") -> Path:
    return runtime_folder() / (f"{name}.sock" if os.name == "posix" else f"{name}.json")


class RemoteServer(TaskService):
    """Serves one engine. Starting fails when another engine answers at the same endpoint; a stale socket is removed."""

    def __init__(self, controls: Controls, path: Path) -> None:
        super().__init__("remote")
        self._controls, self._path = controls, path
        self._token = "" if os.name == "posix" else secrets.token_urlsafe(32)

    async def run(self) -> None:
        import asyncio

        from aiohttp import web

        if Remote(self._path).alive():
            raise RemoteError(f"another engine answers at {self._path}; stop it first (secondseat stop)")
        app = web.Application(middlewares=[self._only_the_user()])
        app.router.add_get("/state", self._state)
        app.router.add_post("/command", self._command)
        app.router.add_post("/stop", self._stop)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await self._listen(runner)
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
            self._path.unlink(missing_ok=True)

    async def _listen(self, runner: web.AppRunner) -> None:
        from aiohttp import web

        self._path.unlink(missing_ok=True)
        before = os.umask(0o077)
        try:
            if os.name == "posix":
                await web.UnixSite(runner, str(self._path)).start()
            else:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                port = runner.addresses[0][1]
                self._path.write_text(json.dumps({"port": port, "token": self._token}), encoding="utf-8")
        finally:
            os.umask(before)

    def _only_the_user(self) -> Any:
        from aiohttp import web

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:
            if self._token and not hmac.compare_digest(request.headers.get("X-Secondseat-Token", ""), self._token):
                raise web.HTTPForbidden(text="the token is missing or wrong")
            return await handler(request)

        return check

    async def _state(self, request: web.Request) -> web.Response:
        from aiohttp import web

        del request
        return web.json_response(self._controls.snapshot().to_json())

    async def _command(self, request: web.Request) -> web.Response:
        import asyncio

        from aiohttp import web

        try:
            body = await request.json()
            name, params = str(body["name"]), dict(body.get("params", {}))
            text = await asyncio.wrap_future(self._controls.command(name, **params))
        except Exception as error:  # whatever a command raises is the caller's to read
            return web.json_response({"error": str(error) or type(error).__name__}, status=400)
        return web.json_response({"text": text})

    async def _stop(self, request: web.Request) -> web.Response:
        from aiohttp import web

        del request
        self._controls.request_stop("asked to stop")
        return web.json_response({"text": "stopping"})


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Remote:
    """The client of one engine."""

    def __init__(self, path: Path, timeout_s: float = TIMEOUT_S) -> None:
        self._path, self._timeout_s = path, timeout_s

    def alive(self) -> bool:
        try:
            self.state()
        except RemoteError:
            return False
        return True

    def state(self) -> dict[str, Any]:
        """The engine's newest snapshot."""
        return self._call("GET", "/state", None)

    def command(self, name: str, **params: Any) -> str:
        return str(self._call("POST", "/command", {"name": name, "params": params})["text"])

    def stop(self) -> str:
        return str(self._call("POST", "/stop", {})["text"])

    @contextlib.contextmanager
    def _connection(self) -> Generator[tuple[http.client.HTTPConnection, dict[str, str]]]:
        headers = {"Content-Type": "application/json"}
        if os.name == "posix":
            connection: http.client.HTTPConnection = _UnixConnection(self._path, self._timeout_s)
        else:
            known = json.loads(self._path.read_text(encoding="utf-8"))
            connection = http.client.HTTPConnection("127.0.0.1", int(known["port"]), timeout=self._timeout_s)
            headers["X-Secondseat-Token"] = str(known["token"])
        try:
            yield connection, headers
        finally:
            connection.close()

    def _call(self, method: str, url: str, body: dict[str, Any] | None) -> dict[str, Any]:
        try:
            with self._connection() as (connection, headers):
                connection.request(method, url, None if body is None else json.dumps(body), headers)
                response = connection.getresponse()
                answer = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise RemoteError(f"no engine answers at {self._path} ({error}); start one with: secondseat headless") from error
        if "error" in answer:
            raise RemoteError(str(answer["error"]))
        return answer
