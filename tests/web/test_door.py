"""Who comes in and who does not, without a browser."""

from __future__ import annotations

import aiohttp
import pytest

from tests.web.conftest import Serve
from tui.web_door import COOKIE, Door, is_loopback

NOBODY = ["false"]
"""No face is opened in these tests."""


@pytest.fixture
def door() -> Door:
    return Door()


def refused(door: Door, host: str = "127.0.0.1:8840", origin: str | None = None, websocket: bool = False, **secrets: str) -> bool:
    given = {"cookie": door.key, "token": "", **secrets}
    return bool(door.refusal(host, origin, given["cookie"], given["token"], websocket))


def test_the_secrets_are_long_differ_and_are_not_shown(door: Door) -> None:
    assert len({door.token, door.key, door.place, Door().token}) == 4
    assert min(len(door.token), len(door.key)) >= 40
    assert door.token not in repr(door)
    assert door.key not in repr(door)


def test_the_token_or_the_cookie_is_needed(door: Door) -> None:
    assert not refused(door)
    assert not refused(door, cookie="", token=door.token)
    for cookie, token in (("", ""), (door.token, ""), ("", door.key), ("", door.token[:-1]), ("ü", "ü"), ("\udcff", "")):
        assert refused(door, cookie=cookie, token=token)


@pytest.mark.parametrize("host", ["127.0.0.1:8840", "localhost:8840", "localhost", "[::1]:9", "LOCALHOST:1"])
def test_names_of_this_machine_are_known_on_any_port_so_that_tunnels_work(door: Door, host: str) -> None:
    assert not refused(door, host=host)
    assert not refused(door, host=host, origin=f"http://{host}", websocket=True)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "192.168.0.2:8840", "localhost@evil.example", "[::1", "0.0.0.0"]
)
def test_other_names_are_refused_even_with_the_cookie(door: Door, host: str) -> None:
    assert refused(door, host=host)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:8840", "http://127.0.0.1:8841", "http://localhost:8840", "null", ""]
)
def test_other_origins_are_refused_even_with_the_cookie(door: Door, origin: str) -> None:
    assert refused(door, origin=origin)
    assert refused(door, origin=origin, websocket=True)


def test_a_websocket_has_to_name_its_origin(door: Door) -> None:
    assert refused(door, websocket=True)


def test_only_loopback_addresses_are_listened_on() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", ""))


async def test_everything_behind_the_door_needs_a_secret(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(NOBODY) as served:
        paths = ("", "alive", "own/web.js", "static/js/textual.js", "static/css/xterm.css", "ws", "nothing")
        for address in (f"http://{served.host}/", *(served.url(path) for path in paths)):
            async with client.get(address) as answer:
                assert answer.status == 403, address
                assert "secondseat web" in await answer.text()
                assert "Set-Cookie" not in answer.headers
        for path in paths[:-2]:
            async with client.get(served.url(path), headers=served.headers) as answer:
                assert answer.status == 200, path


async def test_the_printed_address_sets_a_cookie_and_leaves_the_address_line(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(NOBODY) as served, client.get(served.address, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, served.door.place)
        cookie = answer.cookies[COOKIE]
        assert cookie.value == served.door.key
        assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (served.door.place, True, "Lax")


async def test_the_page_can_reach_nothing_else_and_be_framed_by_nobody(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(NOBODY) as served:
        for path in ("", "static/js/textual.js"):
            async with client.get(served.url(path), headers=served.headers) as answer:
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                assert answer.headers["Cache-Control"] == "no-store"


async def test_a_foreign_page_opens_no_websocket(serve: Serve, client: aiohttp.ClientSession) -> None:
    async with serve(NOBODY) as served:
        for wrong in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": ""}, {"Cookie": ""}):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
                await client.ws_connect(served.url("ws"), headers={**served.headers, **wrong})
            assert refusal.value.status == 403
        assert not served.face.children
