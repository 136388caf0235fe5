"""The sessions' screens compared with kept ones, at both sizes and in plain terminals."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake import FakeCenter, full_state, idle_state
from harness import FULL, face, screen_text, until
from test_pictures import PLAIN, _same_clock, compare  # noqa: F401 - the fixture holds for this module too
from textual.pilot import Pilot

from data import annotations, labels
from data.catalog import SessionInfo
from data.metadata import Stretch, read_metadata, write_metadata
from data.video import VideoReader
from engine.state import Box, Picture
from tests.support.sessions import FRAME_NS, START_NS, picture, write_session
from tui import theme
from tui.app import SecondseatApp
from tui.panes.buffer import BufferPane
from tui.screens import data as data_screen
from tui.screens.data import SessionsPane
from tui.screens.play import PlayPane
from tui.screens.session import SessionPane, SessionScreen

SIZES = [(120, 36), (80, 24)]
S = 1_000_000_000


def info(number: int) -> SessionInfo:
    """The sessions of a fortnight: most are saved, one is being recorded, some need somebody."""
    state = {3: "corrupt", 5: "unsaved", 8: "recovered"}.get(number, "saved")
    name = f"202611{27 - number // 6:02d}T{20 - number % 6 * 2:02d}3107Z_{'bot' if number % 4 == 1 else 'play'}_arena"
    return SessionInfo(
        name,
        Path("/workspace/sessions") / name,
        "bot" if number % 4 == 1 else "play",
        "" if state == "corrupt" else "arena",
        state,
        0.0 if state == "corrupt" else 761.0 + 97 * number,
        0 if state == "corrupt" else 22_860 + 2_910 * number,
        3_120 + number,
        15_200,
        412_000_000 + number * 31_000_000,
        "" if state == "corrupt" else f"2026-11-{27 - number // 6:02d}T{20 - number % 6 * 2:02d}:31:07+00:00",
        live=number == 0,
        reason={
            3: "20261127T143107Z_play_arena/metadata.json: is not whole JSON; run 'secondseat sessions recover'",
            5: "its writer is gone; run 'secondseat sessions recover'",
        }.get(number, ""),
        title={1: "the boss at last", 4: "two raiders at once"}.get(number, ""),
        tags={1: ("boss", "good"), 4: ("hard",), 7: ("boss",)}.get(number, ()),
        note={1: "lost the shield twice; look at the second portal"}.get(number, ""),
        labels={1: 214, 7: 12}.get(number, 0),
    )


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[SessionInfo]], None]:
    def these(sessions: list[SessionInfo]) -> None:
        monkeypatch.setattr(data_screen, "load_sessions", lambda workspace: sessions)

    return these


async def open_list(app: SecondseatApp, pilot: Pilot[int]) -> SessionsPane:
    app.update_all()
    await pilot.press("s")
    pane = app.screen.query_one(SessionsPane)
    await until(lambda: pane.all is not None)
    return pane


@pytest.mark.parametrize("size", SIZES)
async def test_the_list(size: tuple[int, int], listed) -> None:
    listed([info(number) for number in reversed(range(60))])
    async with face(FakeCenter(replace(idle_state("/workspace"), sessions=60)), size=size) as (app, pilot, _):
        await open_list(app, pilot)
        compare(f"sessions_many_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press(*["down"] * 3)
        compare(f"sessions_broken_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("up", "up", "space", "space", "down", "space")
        compare(f"sessions_marked_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("X")
        await pilot.pause()
        compare(f"sessions_trash_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("escape", "escape", "slash", *"boss")
        await pilot.pause()
        compare(f"sessions_filtered_{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("size", SIZES)
async def test_the_empty_list(size: tuple[int, int], listed) -> None:
    listed([])
    async with face(FakeCenter(idle_state("/workspace")), size=size) as (app, pilot, _):
        await open_list(app, pilot)
        compare(f"sessions_empty_{size[0]}x{size[1]}", screen_text(app))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds with a gap, a title, and what a coach said of them."""
    written = write_session(tmp_path_factory.mktemp("workspace"), 120)
    folder = written.rename(written.with_name("20261127T203107Z_play_arena"))
    metadata = read_metadata(folder)
    metadata.started_at = "2026-11-27T20:31:07+00:00"
    metadata.clock.wall_s = 1_795_811_467.0
    metadata.gaps = [Stretch(start_ns=START_NS + S, end_ns=START_NS + round(1.3 * S), reason="paused")]
    metadata.interesting = [Stretch(start_ns=START_NS + round(2.5 * S), end_ns=START_NS + 3 * S, reason="shield lost")]
    metadata.counts.dropped_frames = 3
    write_metadata(folder, metadata)
    annotations.write(folder, annotations.Annotations("the boss at last", ("boss", "good"), "look at the second portal"))
    coach = labels.Label(start_ns=START_NS + S // 4, end_ns=START_NS + S, source="vlm", mode="CAUTIOUS", by="coach", wall_s=1.0)
    labels.append(folder, [coach])
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The session in a workspace of this test's, with sizes and decoded pixels that no codec changes."""

    def frame_at(self: VideoReader, time_ms: int) -> tuple[int, np.ndarray]:
        number = time_ms * 1_000_000 // FRAME_NS
        return number * FRAME_NS // 1_000_000, picture(int(number))

    monkeypatch.setattr(VideoReader, "frame_at", frame_at)
    monkeypatch.setattr("data.catalog.folder_bytes", lambda folder: 2_512_000)
    for module in ("tui.screens.session_view", "tui.screens.play"):
        monkeypatch.setattr(f"{module}.depth_of", lambda face: 24 if face.look.glyphs.braille else 0)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return shutil.copytree(recorded, tmp_path / "workspace" / "sessions" / recorded.name)


async def open_page(app: SecondseatApp, pilot: Pilot[int], folder: Path) -> SessionPane:
    app.push_screen(SessionScreen(folder))
    await pilot.pause()
    pane = app.screen.query_one(SessionPane)
    await until(lambda: pane.loaded is not None)
    await picture_is_there(pane)
    return pane


async def picture_is_there(pane: SessionPane) -> None:
    assert pane.loaded is not None
    loaded = pane.loaded
    await until(lambda: pane._picture_of is not None and pane._picture_of.time_ms == pane._picture_time_ms(loaded))


@pytest.mark.parametrize(("size", "look"), [*((size, FULL) for size in SIZES), ((80, 24), PLAIN)])
async def test_a_session(size: tuple[int, int], look: theme.Look, folder: Path) -> None:
    name = "ascii" if look is PLAIN else f"{size[0]}x{size[1]}"
    async with face(FakeCenter(replace(idle_state(str(folder.parent.parent)), sessions=1)), size=size, look=look) as (app, pilot, _):
        pane = await open_page(app, pilot, folder)
        compare(f"session_{name}", screen_text(app))
        await pilot.press(*["right"] * 20, *["shift+right"] * 12)
        await picture_is_there(pane)
        compare(f"session_selected_{name}", screen_text(app))
        if look is PLAIN:
            assert screen_text(app).isascii()
        await pilot.press("f")
        await until(lambda: len(labels.read(folder)[0]) == 2 and pane.loaded is not None and pane.loaded.info.labels == 2)
        compare(f"session_labelled_{name}", screen_text(app))


@pytest.mark.parametrize("size", SIZES)
async def test_playing_paused(size: tuple[int, int], folder: Path) -> None:
    async with face(FakeCenter(replace(idle_state(str(folder.parent.parent)), sessions=1)), size=size) as (app, pilot, _):
        await open_page(app, pilot, folder)
        await pilot.press("enter")
        await pilot.pause()
        pane = app.screen.query_one(PlayPane)
        await until(lambda: pane._shown is not None)
        assert pane.player is not None
        await pilot.press("space")
        pane.player.seek(2000)
        await until(lambda: pane._shown is not None and pane._shown.time_ms == 1980)
        compare(f"play_paused_{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("size", SIZES)
async def test_the_preview(size: tuple[int, int]) -> None:
    center = FakeCenter(full_state())
    rgb = np.zeros((90, 160, 3), np.uint8)
    rgb[40:50, 30:50] = 200
    boxes = (Box(0.25, 0.5, 0.2, 0.3, "raider", 0.9, 1), Box(0.75, 0.3, 0.1, 0.2, "crate", 0.8, 2))
    center.shown = Picture(7, 0, 160, 90, 640, 360, rgb.tobytes(), boxes, (0.5, 0.6))
    async with face(center, size=size) as (app, pilot, _):
        app.update_all()
        await pilot.press("4", "p", *(["z"] if size == (80, 24) else []))
        await until(lambda: "1 raider" in screen_text(app))
        text = "\n".join(line.plain for line in app.screen.query_one(BufferPane).lines) + "\n"
        compare(f"preview_{size[0]}x{size[1]}", text)
