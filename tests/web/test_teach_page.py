"""The page for boxes: who may come in, what it takes, and a person at work in a browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import cv2
import numpy as np
import pytest
import pytest_asyncio

from data.boxes import Box
from engine.teach import TeachProject
from tests.support.teaching import PROFILE, blank
from tests.web.browser import Browser, Page, chromium
from tui.teach_page import TeachPage
from tui.web_door import Door

needs_browser = pytest.mark.skipif(chromium() is None, reason="needs a browser (Debian: apt-get install chromium)")


class Teaching:
    def __init__(self, project: TeachProject, page: TeachPage, door: Door, port: int) -> None:
        self.project, self.page, self.door, self.port = project, page, door, port
        self.host = f"127.0.0.1:{port}"
        self.address = door.address("127.0.0.1", port)
        self.headers = {"Cookie": f"secondseat={door.key}", "Origin": f"http://{self.host}"}

    def url(self, path: str = "") -> str:
        return f"http://{self.host}{self.door.place}{path}"

    async def saved(self, id: str, what: Any) -> None:
        """Wait until what is on the disk fits."""
        async with asyncio.timeout(20):
            while not what(TeachProject(self.project.place.root, PROFILE).get(id)):
                await asyncio.sleep(0.03)


@pytest.fixture
async def teaching(tmp_path: Path) -> AsyncIterator[Teaching]:
    """Three pictures: "a" with two proposals, one of them without a class, "b" and "c" new."""
    project = TeachProject(tmp_path, PROFILE)
    for name in "abc":
        image = np.full((192, 320, 3), 60, np.uint8)
        project.add(blank(name, time_s=float(ord(name))), cv2.imencode(".png", image)[1].tobytes())
    proposals = [Box("foe", 0.1, 0.1, 0.3, 0.3, "model", 0.6), Box("", 0.6, 0.6, 0.7, 0.7, "motion")]
    project.save("a", proposals, "proposed", unsure=0.5)
    door, stop = Door(), asyncio.Event()
    page = TeachPage(project, door)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(page.serve("127.0.0.1", 0, port.set_result, stop))
    try:
        yield Teaching(project, page, door, await asyncio.wait_for(port, 10))
    finally:
        stop.set()
        await task


# ---- who comes in


@pytest.mark.parametrize("path", ["", "project", "picture/a", "boxes/a"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Cookie": "secondseat=guess"},
        {"Cookie": "{key}", "Host": "evil.example"},
        {"Cookie": "{key}", "Origin": "http://evil.example"},
        {"Cookie": "{key}", "Origin": "null"},
    ],
)
async def test_strangers_see_nothing(teaching: Teaching, client: aiohttp.ClientSession, path: str, headers: dict[str, str]) -> None:
    sent = {name: value.replace("{key}", f"secondseat={teaching.door.key}") for name, value in headers.items()}
    async with client.get(teaching.url(path), headers=sent) as answer:
        assert answer.status == 403
        assert "squares" not in await answer.text()


@pytest.mark.parametrize("token", ["", "x", "é"])
async def test_a_wrong_token_does_not_open(teaching: Teaching, client: aiohttp.ClientSession, token: str) -> None:
    async with client.get(f"http://{teaching.host}/", params={"token": token}, allow_redirects=False) as answer:
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers


async def test_the_address_gives_a_cookie_bound_to_its_place(teaching: Teaching, client: aiohttp.ClientSession) -> None:
    async with client.get(teaching.address, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, teaching.door.place)
        cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"Path={teaching.door.place}" in cookie
    async with client.get(teaching.url(), headers=teaching.headers) as answer:
        policy = answer.headers["Content-Security-Policy"]
        text = await answer.text()
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'<script nonce="{nonce}">' in text
    assert "unsafe" not in policy
    assert "http://" not in text
    assert "https://" not in text


async def put(teaching: Teaching, client: aiohttp.ClientSession, id: str, body: Any, **headers: str) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {**teaching.headers, "Content-Type": "application/json", **headers}
    async with client.put(teaching.url(f"boxes/{id}"), data=data, headers=sent) as answer:
        return answer.status, await answer.text()


async def test_only_our_own_page_changes_anything(teaching: Teaching, client: aiohttp.ClientSession) -> None:
    body = {"revision": 1, "state": "confirmed", "boxes": []}
    headers = {"Cookie": teaching.headers["Cookie"], "Content-Type": "application/json"}
    for origin in ({}, {"Origin": "http://evil.example"}, {"Origin": f"https://{teaching.host}"}):
        async with client.put(teaching.url("boxes/a"), json=body, headers={**headers, **origin}) as answer:
            assert answer.status == 403
        async with client.post(teaching.url("done"), headers={**headers, **origin}) as answer:
            assert answer.status == 403
    assert (await put(teaching, client, "a", body, **{"Content-Type": "text/plain"}))[0] == 400
    assert teaching.project.get("a").state == "proposed"
    assert not teaching.page.done.is_set()
    assert (await put(teaching, client, "a", body))[0] == 200
    assert teaching.project.get("a").state == "confirmed"


# ---- what it takes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 50_000,
        b"\xff\xfe",
        [],
        {"revision": 1, "state": "confirmed"},
        {"revision": True, "state": "confirmed", "boxes": []},
        {"revision": 1, "state": "perfect", "boxes": []},
        {"revision": 1, "state": ["confirmed"], "boxes": []},
        {"revision": 1, "state": "confirmed", "boxes": {}},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "foe", "box": [0.1, 0.1, 0.2]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "foe", "box": [0.2, 0.1, 0.1, 0.3]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "foe", "box": [0, 0, float("nan"), 1]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "ghost", "box": [0, 0, 1, 1]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "", "box": [0, 0, 1, 1]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": 3, "box": [0, 0, 1, 1]}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "foe", "box": [0, 0, 1, 1], "by": "magic"}]},
        {"revision": 1, "state": "confirmed", "boxes": [{"class": "foe", "box": [0, 0, 1, 1]}] * 501},
    ],
)
async def test_nonsense_is_refused_and_changes_nothing(teaching: Teaching, client: aiohttp.ClientSession, body: Any) -> None:
    status, text = await put(teaching, client, "a", body)
    assert status == 400, text
    assert json.loads(text)["problem"]
    assert teaching.project.get("a").revision == 1


async def test_too_much_and_too_late_are_refused(teaching: Teaching, client: aiohttp.ClientSession) -> None:
    assert (await put(teaching, client, "a", b'{"x": "' + b"y" * 500_000 + b'"}'))[0] == 413
    good = {"revision": 1, "state": "proposed", "boxes": []}
    assert (await put(teaching, client, "a", good))[0] == 200
    status, text = await put(teaching, client, "a", good)
    assert status == 409
    assert "saved elsewhere" in text


@pytest.mark.parametrize("id", ["..%2Fstate.json", "%2e%2e%2f%2e%2e%2fconfig.toml", "a%00", "nothing", "a.png"])
async def test_ids_are_looked_up_and_never_paths(teaching: Teaching, client: aiohttp.ClientSession, id: str) -> None:
    from yarl import URL

    for path in ("picture", "boxes"):
        async with client.get(URL(teaching.url(f"{path}/{id}"), encoded=True), headers=teaching.headers) as answer:
            assert answer.status in (400, 404)
            assert "problem" in await answer.text() or answer.status == 404


async def test_a_write_that_fails_is_told_and_the_old_boxes_stay(
    teaching: Teaching, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Any, target: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("data.files.replace_path", full)
    status, text = await put(teaching, client, "a", {"revision": 1, "state": "confirmed", "boxes": []})
    monkeypatch.undo()
    assert (status, "No space left" in text) == (507, True)
    again = TeachProject(teaching.project.place.root, PROFILE)
    assert (again.get("a").revision, len(again.get("a").boxes)) == (1, 2)
    assert teaching.project.get("a").revision == 1
    assert (await put(teaching, client, "a", {"revision": 1, "state": "confirmed", "boxes": []}))[0] == 200


async def test_many_saves_at_once_leave_whole_files(teaching: Teaching, client: aiohttp.ClientSession) -> None:
    bodies = [{"revision": 1, "state": "proposed", "boxes": [{"class": "foe", "box": [0, 0, 1, k / 20]}]} for k in range(1, 21)]
    answers = await asyncio.gather(*(put(teaching, client, "a", body) for body in bodies))
    assert sorted(status for status, _ in answers) == [200, *[409] * 19]
    again = TeachProject(teaching.project.place.root, PROFILE)
    assert again.get("a").revision == 2
    assert again.notices == []
    assert list((teaching.project.folder / "boxes").glob(".*")) == []


# ---- in a browser


@pytest_asyncio.fixture
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    async with Browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


async def shown(browser: Browser, teaching: Teaching) -> Page:
    page = await browser.open(teaching.address)
    await until(page, "document.querySelectorAll('.box').length === 2 && document.getElementById('counts').textContent !== ''")
    return page


async def until(page: Page, script: str) -> None:
    async with asyncio.timeout(20):
        while not await page.evaluate(script):
            await asyncio.sleep(0.03)


async def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """From one place of the picture to another (0..1) with the mouse."""
    stage = await page.evaluate("(r => [r.left, r.top, r.width, r.height])(document.getElementById('stage').getBoundingClientRect())")
    places = [
        (stage[0] + x * stage[2], stage[1] + y * stage[3]) for x, y in (start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end)
    ]
    for kind, (x, y) in zip(
        ("mousePressed", "mouseMoved", "mouseMoved", "mouseReleased"), (places[0], places[1], places[2], places[2]), strict=True
    ):
        await page.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1
        )


async def press(page: Page, key: str, code: str = "", modifiers: int = 0) -> None:
    for kind in ("keyDown", "keyUp"):
        text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
        await page.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, modifiers=modifiers, **text)


@needs_browser
async def test_a_person_draws_classes_moves_undoes_and_confirms(browser: Browser, teaching: Teaching) -> None:
    page = await shown(browser, teaching)
    assert await page.evaluate("document.cookie") == ""
    assert "2 boxes proposed, 1 without a class" in await page.evaluate("document.getElementById('said').textContent")

    await press(page, "2", "Digit2")  # the class of the next box
    await drag(page, (0.4, 0.4), (0.5, 0.6))
    await teaching.saved("a", lambda p: len(p.boxes) == 3)
    drawn = teaching.project.get("a").boxes[2]
    assert (drawn.name, drawn.by) == ("foe", "person")
    assert [drawn.left, drawn.top, drawn.right, drawn.bottom] == pytest.approx([0.4, 0.4, 0.5, 0.6], abs=0.004)

    await press(page, "1", "Digit1")
    await teaching.saved("a", lambda p: p.boxes[2].name == "me")
    await press(page, "ArrowRight", modifiers=8)  # by 10 px
    await teaching.saved("a", lambda p: abs(p.boxes[2].left - drawn.left - 10 / 320) < 1e-4)
    await press(page, "ArrowDown", modifiers=1)  # Alt: a pixel higher
    await teaching.saved("a", lambda p: abs(p.boxes[2].bottom - drawn.bottom - 1 / 192) < 1e-4)
    await press(page, "z", "KeyZ")
    await press(page, "z", "KeyZ")
    await teaching.saved("a", lambda p: p.boxes[2].to_json()["box"] == drawn.to_json()["box"] and p.boxes[2].name == "me")
    await press(page, "y", "KeyY")
    await teaching.saved("a", lambda p: abs(p.boxes[2].left - drawn.left - 10 / 320) < 1e-4)

    await press(page, "Enter")  # refused: one box has no class yet, and it is chosen now
    await until(page, "document.getElementById('said').textContent.includes('no class yet')")
    assert teaching.project.get("a").state == "proposed"
    await press(page, "Delete")
    await press(page, "Enter")
    await teaching.saved("a", lambda p: p.state == "confirmed" and [b.name for b in p.boxes] == ["foe", "me"])
    assert all(b.by == "person" and b.score is None for b in teaching.project.get("a").boxes)
    await until(page, "document.getElementById('where').textContent === 'picture 2 of 3'")
    assert "1 confirmed, 2 to go" in await page.evaluate("document.getElementById('counts').textContent")
    assert page.complaints == []
    assert [address for address in page.requests if not address.startswith((f"http://{teaching.host}/", "data:"))] == []
    await page.close()


@needs_browser
async def test_the_mouse_moves_and_resizes_and_all_works_by_keys_alone(browser: Browser, teaching: Teaching) -> None:
    page = await shown(browser, teaching)
    await drag(page, (0.2, 0.2), (0.25, 0.25))  # the proposed box, by its middle
    await teaching.saved("a", lambda p: np.allclose(p.boxes[0].to_json()["box"], [0.15, 0.15, 0.35, 0.35], atol=0.004))
    await drag(page, (0.35, 0.35), (0.4, 0.5))  # now chosen: by its corner
    await teaching.saved("a", lambda p: np.allclose(p.boxes[0].to_json()["box"], [0.15, 0.15, 0.4, 0.5], atol=0.012))
    await press(page, "X", "KeyX", modifiers=8)
    await press(page, "Enter")  # nothing is there: a label too
    await teaching.saved("a", lambda p: p.state == "confirmed" and p.boxes == ())
    await until(
        page,
        "document.getElementById('where').textContent === 'picture 2 of 3' && document.getElementById('said').textContent.includes('draw')",
    )
    await press(page, "b", "KeyB")
    await press(page, "s", "KeyS")
    await teaching.saved("b", lambda p: p.state == "skipped" and len(p.boxes) == 1)
    await until(page, "document.getElementById('where').textContent === 'picture 3 of 3'")
    await press(page, "p", "KeyP")
    await press(page, "p", "KeyP")
    await until(page, "document.getElementById('said').textContent === 'confirmed'")
    label = await page.evaluate("document.getElementById('stage').getAttribute('aria-label')")
    assert label
    await page.evaluate("document.getElementById('done').click()")
    await asyncio.wait_for(teaching.page.done.wait(), 10)
    await page.close()


@needs_browser
async def test_what_was_saved_elsewhere_is_loaded_and_not_lost(browser: Browser, teaching: Teaching) -> None:
    page = await shown(browser, teaching)
    teaching.project.save("a", [replace(teaching.project.get("a").boxes[0], name="me")], "proposed")
    await drag(page, (0.8, 0.1), (0.9, 0.2))
    await until(page, "document.querySelectorAll('.box').length === 1")
    assert [b.name for b in teaching.project.get("a").boxes] == ["me"]
    await page.close()
