"""The client's end of the socket: asking a running engine for its state and its picture, and telling it what to do.

Plain ``http.client``, so that ``secondseat status`` needs no heavy import.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json
from engine.endpoint import DEFAULT_NAME, RemoteError, endpoint_name, endpoint_path, endpoints, runtime_folder
from engine.state import Picture
from engine.wire import TOKEN_HEADER, VIEWER_HEADER, Hello, picture_from_wire

TIMEOUT_S: Final = 5.0
COMMAND_TIMEOUT_S: Final = 600.0
"""Loading a policy or compiling the arena takes its time."""


class UnreachableError(RemoteError):
    """Nobody answers there. ``gone``: nobody listens either, as against an engine that hangs."""

    def __init__(self, text: str, cause: Exception) -> None:
        super().__init__(text)
        self.gone = isinstance(cause, FileNotFoundError | ConnectionRefusedError)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Remote:
    """The client of one engine, for one thread. With ``keep`` the connection stays open until ``close``."""

    def __init__(self, path: Path, timeout_s: float = TIMEOUT_S, *, viewer: str = "", keep: bool = False) -> None:
        self.path, self._timeout_s, self._keep = path, timeout_s, keep
        self._headers = {"Content-Type": "application/json"} | ({VIEWER_HEADER: viewer} if viewer else {})
        self._connection: http.client.HTTPConnection | None = None

    def alive(self) -> bool:
        try:
            self.hello()
        except RemoteError:
            return False
        return True

    def hello(self) -> Hello:
        """Who answers. Raises RemoteError."""
        try:
            return Hello.from_json(self._json("GET", "/hello"))
        except ValueError as error:
            raise RemoteError(f"what answers at {self.path} is no engine of this program: {error}") from error

    def state(self, engine: str = "", notices: int = 0) -> dict[str, Any]:
        """The engine's newest snapshot. Given the engine's id and how many notices are known already, only newer ones."""
        return self._json("GET", f"/state?engine={engine}&notices={notices}" if engine else "/state")

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        """The newest picture made small; None while nothing is watched."""
        data = self._bytes("GET", f"/picture?width={max_width_px}&height={max_height_px}")
        try:
            return picture_from_wire(data) if data else None
        except ValueError as error:
            raise RemoteError(f"the engine sent a broken picture: {error}") from error

    def command(self, name: str, **params: Any) -> str:
        return str(self._json("POST", "/command", {"name": name, "params": params})["text"])

    def leave(self) -> None:
        """Be counted as a viewer no longer."""
        self._json("POST", "/leave", {})

    def stop(self) -> str:
        return str(self._json("POST", "/stop", {})["text"])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _json(self, method: str, url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            answer: Any = from_json(self._bytes(method, url, body))
        except ValueError as error:
            raise UnreachableError(self._nobody(error), error) from error
        if not isinstance(answer, dict):
            error = ValueError("the answer is no object")
            raise UnreachableError(self._nobody(error), error)
        return cast("dict[str, Any]", answer)

    def _bytes(self, method: str, url: str, body: dict[str, Any] | None = None) -> bytes:
        """The answer's body. A kept connection that the other side has closed meanwhile is opened again, once."""
        kept = self._connection is not None
        try:
            try:
                status, data = self._exchange(method, url, body)
            except (ConnectionError, http.client.HTTPException):
                self.close()
                if not kept or method != "GET":
                    raise
                status, data = self._exchange(method, url, body)
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.close()
            raise UnreachableError(self._nobody(error), error) from error
        if status >= 400:
            raise RemoteError(_told(data) or f"the engine refused ({status})")
        return data

    def _exchange(self, method: str, url: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._opened()
        try:
            connection.request(method, url, None if body is None else json.dumps(body), self._headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            if not self._keep:
                self.close()

    def _opened(self) -> http.client.HTTPConnection:
        if self.path.suffix != ".json":
            return _UnixConnection(self.path, self._timeout_s)
        known: Any = from_json(self.path.read_text(encoding="utf-8"))
        try:
            port, self._headers[TOKEN_HEADER] = int(known["port"]), str(known["token"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self.path.name} is damaged") from error
        return http.client.HTTPConnection("127.0.0.1", port, timeout=self._timeout_s)

    def _nobody(self, error: Exception) -> str:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"no engine answers at {self.path} ({why}); start one with: secondseat headless{_name_option(self.path)}"


def _told(data: bytes) -> str:
    with contextlib.suppress(ValueError):
        answer: Any = from_json(data)
        if isinstance(answer, dict):
            return str(cast("dict[str, Any]", answer).get("error", ""))
    return ""


def _name_option(path: Path) -> str:
    name = endpoint_name(path)
    return "" if name == DEFAULT_NAME else f" --name {name}"


def running(timeout_s: float = 1.0) -> list[Hello]:
    """The engines of this user that answer, the default name first."""
    found: list[Hello] = []
    for path in endpoints():
        with contextlib.suppress(RemoteError):
            found.append(Remote(path, timeout_s).hello())
    return found


def choose(name: str = "") -> Path:
    """The engine with this name; without one: the default, or the only one that runs. Raises RemoteError."""
    if name and Remote(endpoint_path(name)).alive():
        return endpoint_path(name)
    names = [hello.name for hello in running()]
    if name:
        others = f"; running: {', '.join(names)}" if names else ""
        start = f"secondseat headless{'' if name == DEFAULT_NAME else f' --name {name}'}"
        raise RemoteError(f"no engine {name} answers{others}; start one with: {start}")
    if DEFAULT_NAME in names or len(names) == 1:
        return endpoint_path(DEFAULT_NAME if DEFAULT_NAME in names else names[0])
    if names:
        raise RemoteError(f"several engines run: {', '.join(names)}; say which with --name")
    raise RemoteError("no engine runs; start one with: secondseat headless")


__all__ = ["Remote", "RemoteError", "UnreachableError", "choose", "endpoint_path", "running", "runtime_folder"]
