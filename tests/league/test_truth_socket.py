from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from league.arena import skirmish
from league.arena.truth_socket import (
    HAS_UNIX_SOCKETS,
    LINE_LIMIT_BYTES,
    OUT_LIMIT_BYTES,
    Message,
    TruthClient,
    TruthServer,
    TruthSocketError,
    state_from_json,
    state_to_json,
)

KINDS = [
    pytest.param(False, id="unix", marks=pytest.mark.skipif(not HAS_UNIX_SOCKETS, reason="no Unix sockets here")),
    pytest.param(True, id="tcp"),
]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TruthServer]:
    made = TruthServer(tmp_path / "room" / "truth", {"seed": 5}, tcp=request.param)
    yield made
    made.close()


def connected(server: TruthServer) -> TruthClient:
    """A client that has been greeted; the server needs its turns for that, which a thread would take otherwise."""
    import threading

    done = threading.Event()

    def turns() -> None:
        while not done.is_set():
            server.poll()
            time.sleep(0.002)

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        return TruthClient(server.path, 5.0)
    finally:
        done.set()
        thread.join()


def requests_after(server: TruthServer, count: int) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + 5
    while len(found) < count and time.monotonic() < deadline:
        found += [request for _, request in server.poll()]
    return found


@pytest.mark.parametrize("server", KINDS, indirect=True)
def test_messages_reach_the_client_by_kind(server: TruthServer) -> None:
    with connected(server) as client:
        assert client.hello["seed"] == 5
        server.broadcast({"kind": "tick", "tick": 3, "score": 1.5})
        server.broadcast({"kind": "tick", "tick": 6, "score": 2.5})
        server.broadcast({"kind": "input", "name": "mouse_left"})
        server.broadcast({"kind": "episode", "episode": 0})
        server.poll()
        client.wait(lambda: bool(client.episodes), 5.0)
        assert client.tick["tick"] == 6
        assert [m["name"] for m in client.inputs] == ["mouse_left"]


@pytest.mark.parametrize("server", KINDS, indirect=True)
def test_only_the_user_can_reach_it(server: TruthServer) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(server.path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("server", [pytest.param(True, id="tcp")], indirect=True)
@pytest.mark.parametrize("token", ["", "0" * 32, 7, None])
def test_a_client_without_the_token_is_turned_away(server: TruthServer, token: object) -> None:
    port = json.loads(server.path.read_text(encoding="utf-8"))["port"]
    with socket.create_connection(("127.0.0.1", port), 5) as stranger:
        stranger.sendall(json.dumps({"token": token}).encode() + b'\n{"id": 1, "quit": true}\n')
        assert requests_after(server, 0) == []
        deadline = time.monotonic() + 5
        received = None
        stranger.setblocking(False)
        while received is None and time.monotonic() < deadline:
            assert server.poll() == []
            server.broadcast({"kind": "tick", "tick": 1})
            try:
                received = stranger.recv(4096)
            except BlockingIOError:
                time.sleep(0.005)
            except ConnectionResetError:
                received = b""
        assert received == b""


@pytest.mark.parametrize("server", KINDS, indirect=True)
def test_a_client_that_never_reads_stops_nobody(server: TruthServer) -> None:
    with connected(server) as lazy, connected(server) as busy:
        line = "x" * 10_000  # many, so that the system's own buffers fill up too
        began = time.monotonic()
        for number in range(3000):
            if any(client.dropped > 3 for client in server.clients):
                break
            server.broadcast({"kind": "tick", "tick": number, "pad": line})
            server.poll()
            busy.poll()
        assert time.monotonic() - began < 5.0
        assert max(client.dropped for client in server.clients) > 3
        assert all(len(client.outgoing) <= OUT_LIMIT_BYTES for client in server.clients)
        # Once it reads again it gets on, and is told how many it missed.
        for _ in range(400):
            lazy.poll()
            server.poll()
        server.broadcast({"kind": "tick", "tick": -1})
        server.poll()
        lazy.wait(lambda: lazy.tick["tick"] == -1, 5.0)
        assert lazy.tick["dropped"] > 0
        assert busy.tick["tick"] == -1 or busy.wait(lambda: busy.tick["tick"] == -1, 5.0) is None


@pytest.mark.parametrize("server", KINDS, indirect=True)
def test_requests_count_though_the_client_goes_at_once(server: TruthServer) -> None:
    client = connected(server)
    client._connection.sendall(b'{"id": 1, "quit": true}\n{"id": 2, "fre')
    client.close()
    assert requests_after(server, 1) == [{"id": 1, "quit": True}]
    server.poll()
    assert server.clients == []


@pytest.mark.parametrize("server", KINDS, indirect=True)
@pytest.mark.parametrize(
    "rubbish",
    [b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b"\xff\xfe\n", b"x" * (LINE_LIMIT_BYTES + 10)],
    ids=["http", "list", "bytes", "endless"],
)
def test_a_client_that_talks_rubbish_is_dropped(server: TruthServer, rubbish: bytes) -> None:
    client = connected(server)
    client._connection.setblocking(False)
    deadline = time.monotonic() + 5
    while server.clients and time.monotonic() < deadline:
        try:
            sent = client._connection.send(rubbish) if rubbish else 0
            rubbish = rubbish[sent:]
        except BlockingIOError:
            pass
        except OSError:
            break
        assert server.poll() == []
    server.poll()
    assert server.clients == []
    with pytest.raises(TruthSocketError, match="the window has gone"):
        client.wait(lambda: False, 5.0)
    client.close()


@pytest.mark.parametrize("tcp", KINDS)
def test_a_dead_windows_address_is_taken_over_and_a_living_ones_is_not(tmp_path: Path, tcp: bool) -> None:
    path = tmp_path / "truth"
    first = TruthServer(path, {}, tcp=tcp)
    with pytest.raises(TruthSocketError, match="another window is using it"):
        TruthServer(path, {}, tcp=tcp)
    first._listener.close()  # as a killed window leaves it
    assert path.exists()
    second = TruthServer(path, {}, tcp=tcp)
    connected(second).close()
    second.close()
    assert not path.exists()


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TruthSocketError, match="start one with: secondseat arena"):
        TruthClient(tmp_path / "nothing", 0.2)
    if HAS_UNIX_SOCKETS:
        with pytest.raises(TruthSocketError, match="give a short path"):
            TruthServer(tmp_path / ("long" * 40), {})
    silent = TruthServer(tmp_path / "truth", {})
    with pytest.raises(TruthSocketError, match="did not come within"):
        TruthClient(silent.path, 0.2)
    silent.close()


def test_a_world_survives_the_way_exactly() -> None:
    state = skirmish.new_worlds(1, [2**40 + 3])
    skirmish.step(state, None, None, None, ticks=100)
    sent = json.loads(json.dumps(state_to_json(state)))
    copy = state_from_json(sent)
    skirmish.step(copy, None, None, None, ticks=50)
    skirmish.step(state, None, None, None, ticks=50)
    assert all(np.array_equal(a, b) for a, b in zip(copy.arrays(), state.arrays(), strict=True))
    del sent["ship_hp"]
    with pytest.raises(ValueError, match="ship_hp is missing"):
        state_from_json(sent)
