"""The local socket: state, picture, commands, stop; only one engine a name; what is stale, foreign or broken is no obstacle."""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket as sockets
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.endpoint import RemoteError, endpoint_path, endpoints, runtime_folder, take_place
from engine.remote import Remote, choose, running
from engine.wire import PROTOCOL, TOKEN_HEADER, Hello
from tests.support.served import FakeEngine, Running, serving, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs Unix sockets")


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ss-") as folder:  # pytest's own are too long for a socket
        yield Path(folder) / "e.sock"


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ss-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "secondseat"


def raw(path: Path, data: bytes) -> bytes:
    """What comes back for some bytes, until the other side closes or says nothing for a while."""
    with sockets.socket(sockets.AF_UNIX) as talk:
        talk.settimeout(3)
        talk.connect(str(path))
        talk.sendall(data)
        said = b""
        while not said.endswith(b"}") and b"\r\n\r\n" not in said:
            if not (more := talk.recv(65536)):
                break
            said += more
        return said


def request(method: str, path: str, body: bytes = b"", *headers: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: x", b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


def test_state_picture_commands_errors_and_stop(socket: Path) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        remote = Remote(socket)
        assert remote.state()["sequence"] == 7
        assert remote.picture(80, 40) is None
        engine.show()
        assert remote.picture(80, 40) == engine.shown
        assert remote.command("train", level="all", quick=True) == "train done"
        assert engine.asked[-1] == ("train", {"level": "all", "quick": True})
        with pytest.raises(RemoteError, match="not armed"):
            remote.command("fly")
        assert "stopping" in remote.stop()
        assert engine.stopped == "asked to stop"
        assert remote.hello() == Hello("e", remote.hello().version, PROTOCOL, os.getpid(), 1.0, "here")
    assert not socket.exists()
    with pytest.raises(RemoteError, match="secondseat headless"):
        remote.state()


def test_notices_that_are_known_are_not_sent_again(socket: Path) -> None:
    engine = FakeEngine()
    for n in range(300):
        engine.say(str(n))
    with serving(engine, socket):
        remote = Remote(socket)
        everything = remote.state()
        assert (len(everything["notices"]), everything["notice_count"]) == (200, 300)
        known = f"{os.getpid()}-1.0"
        assert remote.state(known, 300)["notices"] == []
        assert [n["text"] for n in remote.state(known, 297)["notices"]] == ["297", "298", "299"]
        assert len(remote.state(known, 5)["notices"]) == 200
        assert len(remote.state("another-1.0", 300)["notices"]) == 200, "an engine that was started anew counts anew"


def test_a_viewer_is_counted_while_it_asks_and_forgotten_when_it_does_not(socket: Path) -> None:
    engine = FakeEngine()
    with serving(engine, socket):
        Remote(socket).state()
        assert engine.state.viewers == 0, "a question is no viewer"
        one, two = Remote(socket, viewer="one"), Remote(socket, viewer="two")
        one.state(), two.state()
        assert engine.state.viewers == 2
        two.leave()
        assert engine.state.viewers == 1
        wait_for(lambda: engine.state.viewers == 0, 6)


def test_only_the_user_can_reach_it(socket: Path) -> None:
    with serving(FakeEngine(), socket):
        assert stat.S_ISSOCK(socket.stat().st_mode)
        assert stat.S_IMODE(socket.stat().st_mode) & 0o077 == 0


def test_a_second_engine_is_refused_and_the_first_goes_on(socket: Path) -> None:
    with serving(FakeEngine(), socket) as first:
        with pytest.raises(RemoteError, match=r"another engine runs as e .*--name"):
            take_place(socket)
        assert Remote(socket).alive()
        assert first.service.health().health == "running"
    take_place(socket).leave()


def test_an_engine_that_hangs_keeps_its_place(socket: Path) -> None:
    """It does not answer, but it lives: its socket is not taken from it."""
    with serving(FakeEngine(), socket) as first:
        hold = threading.Event()
        first.loop.call_soon_threadsafe(hold.wait, 3.0)
        assert not Remote(socket, timeout_s=0.3).alive()
        with pytest.raises(RemoteError, match="another engine runs as e"):
            take_place(socket)
        hold.set()
        wait_for(Remote(socket).alive)


def test_without_an_exact_name_the_next_free_one_is_taken(socket: Path) -> None:
    first, second = FakeEngine(), FakeEngine()
    with serving(first, socket), Running(second, socket, exact=False):
        wait_for(lambda: second.state.name)
        assert (first.state.name, second.state.name) == ("e", "e-2")
        assert Remote(socket.with_name("e-2.sock")).alive()


def test_a_stale_socket_is_replaced(socket: Path) -> None:
    left_over = sockets.socket(sockets.AF_UNIX)
    left_over.bind(str(socket))
    left_over.close()
    assert not Remote(socket).alive()
    with serving(FakeEngine(), socket):
        assert Remote(socket).alive()


def test_a_runtime_folder_that_others_can_write_to_is_refused(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime_folder() == runtime
    assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    runtime.chmod(0o777)
    with pytest.raises(RemoteError, match="not yours alone"):
        runtime_folder()
    runtime.rmdir()
    runtime.symlink_to(Path.home())
    with pytest.raises(RemoteError, match="not yours alone"):
        runtime_folder()
    runtime.unlink()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime.parent / ("x" * 90)))
    (runtime.parent / ("x" * 90)).mkdir()
    with pytest.raises(RemoteError, match="too long"):
        endpoint_path()


def test_a_login_that_names_no_runtime_folder_meets_the_others(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cron and bare SSH commands: an engine that a desktop session started is found."""
    usual = runtime.parent / "run-user" / str(os.getuid())
    usual.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(usual))
    named = endpoint_path()
    monkeypatch.setattr("engine.endpoint.RUN_USER", usual.parent)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert endpoint_path() == named
    monkeypatch.setattr("engine.endpoint.RUN_USER", usual.parent / "elsewhere")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(runtime.parent))
    assert runtime_folder() == runtime.parent / f"secondseat-{os.getuid()}"


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "-x", "x" * 33, "é"])
def test_a_name_is_no_path(runtime: Path, name: str) -> None:
    with pytest.raises(RemoteError, match="not a name for an engine"):
        endpoint_path(name)


def test_an_engine_is_found_by_its_name_or_because_it_is_the_only_one(runtime: Path) -> None:
    with pytest.raises(RemoteError, match="no engine runs; start one with: secondseat headless"):
        choose()
    with serving(FakeEngine(), endpoint_path("farm")):
        assert choose() == endpoint_path("farm")
        with serving(FakeEngine(), endpoint_path("lab")):
            with pytest.raises(RemoteError, match="farm, lab; say which with --name"):
                choose()
            with pytest.raises(RemoteError, match="no engine engine answers; running: farm, lab"):
                choose("engine")
            assert choose("lab") == endpoint_path("lab")
            with serving(FakeEngine(), endpoint_path()):
                assert choose() == endpoint_path()
                assert [hello.name for hello in running()] == ["engine", "farm", "lab"]
    assert endpoints() == []


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"\x16\x03\x01\x00garbage\r\n\r\n", 400, b""),
        (b"GET /state HTTP/x.y\r\n\r\n", 400, b""),
        (request("GET", "/nothing"), 404, b"there is no /nothing"),
        (request("GET", "/command"), 405, b"not for GET"),
        (request("POST", "/command", b"{"), 400, b"not JSON"),
        (request("POST", "/command", b"[" * 50_000), 400, b"not JSON"),
        (request("POST", "/command", b"[1]"), 400, b"not a JSON object"),
        (request("POST", "/command", b'{"name": 5}'), 400, b"a command is"),
        (request("POST", "/command", b'{"name": "train", "params": [1]}'), 400, b"a command is"),
        (request("POST", "/command", b'{"name": "train", "params": {"name": "x"}}'), 400, b"name"),
        (request("POST", "/command", b'{"name": "train", "params": {"self": "x"}}'), 400, b"self"),
        (request("POST", "/command", b"\xff\xfe{}"), 400, b"not JSON"),
        (request("POST", "/command", b"{}", b"Content-Encoding: gzip"), 400, b"a command is"),
        (request("POST", "/command", b"x" * 70_000), 413, b"at most 65536 bytes"),
        (request("GET", "/state?notices=many"), 400, b"notices=many is not a number"),
        (request("GET", "/state?notices=-1"), 400, b"use 0 to"),
        (request("GET", "/picture?width=99999999999"), 400, b"use 1 to 1920"),
    ],
)
def test_what_is_no_request_is_refused_in_one_line(
    socket: Path, sent: bytes, status: int, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(FakeEngine(), socket), caplog.at_level(logging.DEBUG):
        answer = raw(socket, sent)
        assert answer.split()[:2] in ([b"HTTP/1.0", b"%d" % status], [b"HTTP/1.1", b"%d" % status]), answer
        assert said in answer
        assert b"Traceback" not in answer
        assert Remote(socket).alive(), "it goes on"
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_an_error_of_the_engine_itself_is_one_line_too(socket: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine()

    def broken() -> None:
        raise ZeroDivisionError("inside")

    with serving(engine, socket):
        engine.snapshot = broken  # type: ignore[method-assign,assignment]
        with pytest.raises(RemoteError, match="ZeroDivisionError: inside"):
            Remote(socket).state()
    assert "a request for /state failed" in caplog.text, "the log has the traceback"


def test_over_tcp_a_token_is_needed(socket: Path) -> None:
    """As on Windows: loopback alone would let every user of the machine in."""
    path = socket.with_suffix(".json")
    with serving(FakeEngine(), path, use_token=True):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        known = json.loads(path.read_text())
        assert len(known["token"]) >= 40
        assert Remote(path).state()["sequence"] == 7

        def ask(token: str | None) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", known["port"], timeout=3)
            connection.request("GET", "/state", headers={} if token is None else {TOKEN_HEADER: token})
            status = connection.getresponse().status
            connection.close()
            return status

        assert ask(known["token"]) == 200
        assert [ask(token) for token in (None, "", known["token"][:-1], known["token"] + "x", "ü")] == [403] * 5
    assert not path.exists()
    path.write_text('{"port": 1}')
    with pytest.raises(RemoteError, match="damaged"):
        Remote(path).state()


def test_the_token_is_compared_in_constant_time(socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared: list[bytes] = []
    honest = hmac.compare_digest

    def watched(a: bytes, b: bytes) -> bool:
        compared.append(a)
        return honest(a, b)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    path = socket.with_suffix(".json")
    with serving(FakeEngine(), path, use_token=True):
        assert Remote(path).alive()
    assert compared


def test_a_viewer_that_reads_nothing_holds_up_nobody(socket: Path) -> None:
    """It asks for large answers and reads none of them: others are answered at once, and the engine ends in time."""
    from engine.state import Picture

    engine = FakeEngine()
    side = 1200
    engine.shown = Picture(1, 1, side, side, side, side, bytes(side * side * 3))
    with serving(engine, socket), sockets.socket(sockets.AF_UNIX) as stalled:
        stalled.connect(str(socket))
        stalled.sendall(request("GET", "/picture?width=1200&height=1200") * 20)
        time.sleep(0.3)
        took: list[float] = []
        for _ in range(30):
            begun = time.monotonic()
            Remote(socket).state()
            took.append(time.monotonic() - begun)
        assert max(took) < 1.0
        assert sorted(took)[15] < 0.1
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 3.0
