"""The trash: what is in it, bringing back, emptying after a question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until
from test_pictures import _same_clock, compare  # noqa: F401 - the fixture holds for this module too
from test_session_snapshots import info
from textual.pilot import Pilot

from data.trash import list_trash, trash
from tests.support.sessions import write_session
from tui.app import SecondseatApp
from tui.screens import trash as trash_screen
from tui.screens.trash import Trashed, TrashPane

SIZES = [(120, 36), (80, 24)]


async def open_trash(app: SecondseatApp, pilot: Pilot[int]) -> TrashPane:
    app.update_all()
    await pilot.press("B")
    pane = app.screen.query_one(TrashPane)
    await until(lambda: pane.all is not None)
    return pane


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Two sessions in the trash."""
    for number in range(2):
        folder = write_session(tmp_path, 30)
        trash(tmp_path, folder.rename(folder.with_name(f"2026112{number}T203100Z_play_arena")).name)
    return tmp_path


@pytest.mark.parametrize("size", SIZES)
async def test_the_trash(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Trashed(info(number), 1.8e9 - 86_400 * number) for number in (4, 2, 1, 8)]
    monkeypatch.setattr(trash_screen, "load_trash", lambda workspace: rows)
    async with face(FakeCenter(replace(idle_state("/workspace"), sessions=3)), size=size) as (app, pilot, _):
        await open_trash(app, pilot)
        compare(f"trash_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("E")
        await pilot.pause()
        compare(f"trash_emptying_{size[0]}x{size[1]}", screen_text(app))


async def test_the_empty_trash_says_what_fills_it(tmp_path: Path) -> None:
    async with face(FakeCenter(idle_state(str(tmp_path))), size=(80, 24)) as (app, pilot, _):
        await open_trash(app, pilot)
        assert "The trash is empty. X in the list of sessions throws one away" in screen_text(app)
        await pilot.press("E")
        assert "the trash is empty already" in screen_text(app)


async def test_sessions_are_brought_back(workspace: Path) -> None:
    async with face(FakeCenter(idle_state(str(workspace)))) as (app, pilot, _):
        pane = await open_trash(app, pilot)
        await pilot.press("u")
        await until(lambda: len(pane.shown) == 1)
        assert (workspace / "sessions" / "20261121T203100Z_play_arena").is_dir()
        assert "back again: 20261121T203100Z_play_arena" in screen_text(app)
        (workspace / "sessions" / "20261120T203100Z_play_arena").mkdir()
        await pilot.press("space", "u")
        await until(lambda: "a session of this name exists" in app._answer[1])
        assert len(list_trash(workspace)) == 1


async def test_it_is_emptied_only_after_a_question(workspace: Path) -> None:
    async with face(FakeCenter(idle_state(str(workspace)))) as (app, pilot, _):
        pane = await open_trash(app, pilot)
        await pilot.press("E", "enter", "escape")
        await pilot.pause()
        assert len(list_trash(workspace)) == 2
        await pilot.press("E", "d")
        await until(lambda: pane.all == [])
        assert list_trash(workspace) == []
        assert "deleted for good: 2 sessions" in app._answer[1]
