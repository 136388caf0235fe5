"""Ticks, truth and score of the arena's window, over a local socket. Truth is for scoring, tests and the face's
score line only: no policy and no recorder may read it.

One message is one line of JSON. The window sends ``hello`` to a new client, then ``tick`` at 20 Hz (world step, time,
episode, score, counters), ``input`` for every click and key it received, ``episode`` at the end of each, and ``truth``
(boxes) to clients that asked. A client sends requests, each an object with an ``id`` and one of ``freeze`` (bool),
``state`` (true: all arrays of the world), ``truth_every`` (world steps between truth messages, 0: none), ``restart``
(a seed), ``quit`` (true); the answer carries the same ``id``. Times are monotonic ns of this machine.

The address is a path. Where Unix sockets exist it is one, in a folder only its user can enter; elsewhere it is a
file only its user can read, with a loopback port and a random token that a client must send first.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import select
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.files import from_json
from league.arena.world import FIELD_NAMES, WorldState

PROTOCOL_VERSION: Final = 1
OUT_LIMIT_BYTES: Final = 1 << 18
"""What may wait for one client; messages beyond it are dropped and counted, so that a slow reader stops nobody."""
LINE_LIMIT_BYTES: Final = 1 << 20
MAX_CLIENTS: Final = 16
HAS_UNIX_SOCKETS: Final = hasattr(socket, "AF_UNIX") and os.name == "posix"

Message = dict[str, Any]


class TruthSocketError(Exception):
    """The socket cannot be opened or has gone; the text says what to do."""


def state_to_json(state: WorldState) -> Message:
    """All arrays of a world, exact."""
    return {
        name: {"dtype": array.dtype.str, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode("ascii")}
        for name, array in zip(FIELD_NAMES, state.arrays(), strict=True)
    }


def state_from_json(arrays: Message) -> WorldState:
    """Raises ValueError when an array is missing or does not fit its shape."""
    columns: dict[str, Any] = {}
    for name in FIELD_NAMES:
        if name not in arrays:
            raise ValueError(f"arena state: the array {name} is missing; both sides must have the same version")
        part = arrays[name]
        columns[name] = np.frombuffer(base64.b64decode(part["data"]), np.dtype(part["dtype"])).reshape(part["shape"]).copy()
    return WorldState(**columns)


@dataclass(slots=True, eq=False)
class Client:
    """One connection as the server sees it."""

    connection: socket.socket
    trusted: bool
    incoming: bytearray = field(default_factory=bytearray)
    outgoing: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    truth_every: int = 0
    next_truth: int = 0
    gone: bool = False


class TruthServer:
    """The window's end. Nothing here waits: ``poll`` is called once a turn of the window's loop."""

    def __init__(self, path: Path, hello: Message, tcp: bool = not HAS_UNIX_SOCKETS) -> None:
        """Raises TruthSocketError when the path is taken by a living window or cannot be used."""
        self.path, self._hello = path, {"kind": "hello", "version": PROTOCOL_VERSION, **hello}
        self.clients: list[Client] = []
        self._token = secrets.token_hex(16) if tcp else ""
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, mode=0o700)
            if path.exists() and _answers(path):
                raise TruthSocketError(f"arena socket {path}: another window is using it; give another --socket")
            path.unlink(missing_ok=True)
            self._listener = self._listen_tcp() if tcp else self._listen_unix()
        except OSError as error:
            raise TruthSocketError(f"arena socket {path}: {error.strerror or error}; give a short path in a folder of your own") from error
        self._listener.listen(8)
        self._listener.setblocking(False)

    def _listen_unix(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o077)
        try:
            listener.bind(str(self.path))
        except OSError:
            listener.close()
            raise
        finally:
            os.umask(before)
        return listener

    def _listen_tcp(self) -> socket.socket:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind(("127.0.0.1", 0))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"port": listener.getsockname()[1], "token": self._token}, file)
        except OSError:
            listener.close()
            raise
        return listener

    def poll(self) -> list[tuple[Client, Message]]:
        """Accept, read and write whatever is possible at once; returns the requests that came."""
        with contextlib.suppress(BlockingIOError):
            while len(self.clients) < MAX_CLIENTS:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                client = Client(connection, trusted=not self._token)
                self.clients.append(client)
                if client.trusted:
                    self.send(client, self._hello)
        requests: list[tuple[Client, Message]] = []
        for client in list(self.clients):
            try:
                requests.extend((client, line) for line in self._read(client))
                self._write(client)
            except (OSError, ValueError):
                client.gone = True
            if client.gone:
                self._forget(client)
        return requests

    def _read(self, client: Client) -> list[Message]:
        """Whole lines that came. Raises OSError or ValueError when the client has gone or does not behave."""
        with contextlib.suppress(BlockingIOError):
            while True:
                chunk = client.connection.recv(65536)
                if not chunk:
                    client.gone = True  # what it sent before still counts
                    break
                client.incoming += chunk
                if len(client.incoming) > LINE_LIMIT_BYTES:
                    raise ValueError("a line without end")
        *lines, rest = bytes(client.incoming).split(b"\n")
        client.incoming[:] = rest
        found: list[Message] = []
        for line in lines:
            message = from_json(line)
            if not isinstance(message, dict):
                raise ValueError("not an object")  # noqa: TRY004  (one kind of error for all bad lines)
            if not client.trusted:
                if not secrets.compare_digest(str(message.get("token", "")), self._token):
                    raise ValueError("wrong token")
                client.trusted = True
                self.send(client, self._hello)
            else:
                found.append(message)
        return found

    @staticmethod
    def _write(client: Client) -> None:
        with contextlib.suppress(BlockingIOError):
            while client.outgoing:
                sent = client.connection.send(client.outgoing)
                del client.outgoing[:sent]

    def send(self, client: Client, message: Message) -> None:
        """Queue a message for one client, or drop and count it when too much waits already. Answers to requests
        are never dropped."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(client.outgoing) + len(line) > OUT_LIMIT_BYTES and "id" not in message:
            client.dropped += 1
            return
        client.outgoing += line

    def broadcast(self, message: Message) -> None:
        for client in self.clients:
            if client.trusted:
                self.send(client, {**message, "dropped": client.dropped} if client.dropped else message)

    def _forget(self, client: Client) -> None:
        self.clients.remove(client)
        client.connection.close()

    def close(self) -> None:
        for client in list(self.clients):
            with contextlib.suppress(OSError):
                self._write(client)
            self._forget(client)
        self._listener.close()
        self.path.unlink(missing_ok=True)


def _connect(path: Path, timeout_s: float) -> socket.socket:
    """Raises OSError when nobody answers, ValueError when the file is not an address."""
    if HAS_UNIX_SOCKETS and path.is_socket():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout_s)
        try:
            connection.connect(str(path))
        except BaseException:
            connection.close()
            raise
        return connection
    address = from_json(path.read_text(encoding="utf-8"))
    greeting = json.dumps({"token": address["token"]}).encode() + b"\n"
    connection = socket.create_connection(("127.0.0.1", int(address["port"])), timeout_s)
    try:
        connection.sendall(greeting)
    except OSError:
        connection.close()
        raise
    return connection


def _answers(path: Path) -> bool:
    try:
        _connect(path, 0.5).close()
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


class TruthClient:
    """A reader of one window. ``poll`` never waits; ``request`` and ``wait`` do. Used from one thread.

    ``hello`` and ``tick`` hold the newest message of their kind; ``inputs``, ``truths`` and ``episodes`` the last ones,
    oldest first.
    """

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        """Raises TruthSocketError when no window answers."""
        self.path = path
        self.hello: Message = {}
        self.tick: Message = {}
        self.inputs: deque[Message] = deque(maxlen=4096)
        self.truths: deque[Message] = deque(maxlen=256)
        self.episodes: deque[Message] = deque(maxlen=256)
        self._answers: dict[int, Message] = {}
        self._next_id = 1
        self._incoming = bytearray()
        self._gone = ""
        try:
            self._connection = _connect(path, timeout_s)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TruthSocketError(f"arena socket {path}: no window answers ({error}); start one with: secondseat arena") from error
        self._connection.setblocking(False)
        try:
            self.wait(lambda: bool(self.hello), timeout_s, "its greeting")
        except TruthSocketError:
            self.close()
            raise

    def poll(self) -> None:
        """Take in all messages that have come. Raises TruthSocketError when the window has gone."""
        self._receive(0.0)
        self._check()

    def wait(self, condition: Any, timeout_s: float = 5.0, what: str = "a message") -> None:
        """Take in messages until ``condition()`` holds. Raises TruthSocketError after ``timeout_s``."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            self._check()  # only now: the last messages and the end may come together
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TruthSocketError(f"arena socket {self.path}: {what} did not come within {timeout_s} s")
            self._receive(min(left_s, 0.25))

    def request(self, timeout_s: float = 5.0, **fields: Any) -> Message:
        """Send a request and wait for its answer. Raises TruthSocketError, also for an answer with ``error``."""
        number, self._next_id = self._next_id, self._next_id + 1
        line = json.dumps({"id": number, **fields}).encode() + b"\n"
        try:
            self._connection.sendall(line)
        except OSError as error:
            raise TruthSocketError(f"arena socket {self.path}: the window has gone ({error})") from error
        self.wait(lambda: number in self._answers, timeout_s, f"the answer to {fields}")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise TruthSocketError(f"arena socket {self.path}: {answer['error']}")
        return answer

    def state(self, timeout_s: float = 5.0) -> WorldState:
        """A copy of the window's world, for drawing the same tick off screen."""
        return state_from_json(self.request(timeout_s, state=True)["arrays"])

    def _receive(self, timeout_s: float) -> None:
        try:
            ready, _, _ = select.select([self._connection], [], [], timeout_s)
            while ready:
                chunk = self._connection.recv(1 << 16)
                if not chunk:
                    self._gone = "it closed the connection"
                    break
                self._incoming += chunk
        except BlockingIOError:
            pass
        except (OSError, ValueError) as error:  # ValueError: closed on this side, by another thread
            self._gone = str(error)
        *lines, rest = bytes(self._incoming).split(b"\n")
        self._incoming[:] = rest
        for line in lines:
            self._sort(from_json(line))

    def _check(self) -> None:
        if self._gone:
            raise TruthSocketError(f"arena socket {self.path}: the window has gone ({self._gone})")

    def _sort(self, message: Message) -> None:
        kind = message.get("kind")
        if "id" in message:
            self._answers[message["id"]] = message
        elif kind == "hello":
            self.hello = message
        elif kind == "tick":
            self.tick = message
        elif kind == "input":
            self.inputs.append(message)
        elif kind == "truth":
            self.truths.append(message)
        elif kind == "episode":
            self.episodes.append(message)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> TruthClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
