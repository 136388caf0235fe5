"""One session's page and its playback, on a session that lies on the disk."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from data import labels
from data.catalog import list_sessions
from engine.record_arena import record_session
from tests.support.sessions import event, frame, new_writer, step, write_session
from tui.app import SecondseatApp
from tui.screens import session_parts, session_view
from tui.screens.dialogs import AskText
from tui.screens.play import PlayPane
from tui.screens.session import SessionPane, SessionScreen


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of pictures that tell their number."""
    return write_session(tmp_path_factory.mktemp("workspace"), 120)


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return shutil.copytree(kept, tmp_path / "workspace" / "sessions" / kept.name)


@asynccontextmanager
async def page(folder: Path, size: tuple[int, int] = (120, 36)) -> AsyncIterator[tuple[SecondseatApp, Pilot[int], SessionPane]]:
    workspace = str(folder.parent.parent)
    async with face(FakeCenter(replace(idle_state(workspace), sessions=1)), size=size) as (app, pilot, _):
        app.push_screen(SessionScreen(folder))
        await pilot.pause()
        pane = app.screen.query_one(SessionPane)
        await until(lambda: pane.loaded is not None)
        await pilot.pause()
        yield app, pilot, pane


def said(folder: Path) -> list[tuple[float, float, str | None]]:
    """The labels in the file, in s from the start."""
    start = 5_000_000_000
    return [(round((x.start_ns - start) / 1e9, 1), round((x.end_ns - start) / 1e9, 1), x.mode) for x in labels.read(folder)[0]]


async def test_a_stretch_is_selected_and_one_key_says_what_it_was(folder: Path) -> None:
    async with page(folder) as (app, pilot, pane):
        await pilot.press("f")
        assert said(folder) == []
        assert "select a stretch first" in screen_text(app)
        assert pane.view is not None
        column_s = pane.view.column_ns / 1e9
        await pilot.press(*["right"] * 5, "space", *["right"] * 20, "space", *["right"] * 3, "f")
        await until(lambda: said(folder) == [(round(5 * column_s, 1), round(25 * column_s, 1), "FIGHT")])
        await until(lambda: "is FIGHT; u undoes" in screen_text(app))
        text = screen_text(app)
        assert "▸you              FIGHT───────────────" in text
        await pilot.press("e")
        await until(lambda: len(said(folder)) == 2)
        assert said(folder)[1][2] == "FLEE"
        await pilot.press("u", "u")
        await until(lambda: said(folder) == [])
        await until(lambda: "FLEE──" not in screen_text(app))


async def test_a_label_that_could_not_be_written_does_not_stay_on_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*rest: object) -> None:
        raise OSError(28, "No space left on device")

    async with page(folder) as (app, pilot, pane):
        monkeypatch.setattr("data.labels.set_mode", full)
        await pilot.press("space", *["right"] * 20, "space")
        assert pane.loaded is not None
        before = pane.loaded.timeline.modes
        await pilot.press("e")
        await until(lambda: "No space left on device" in screen_text(app))
        await until(lambda: pane.loaded is not None and pane.loaded.timeline.modes == before)
        assert "FLEE──" not in screen_text(app)


async def test_keys_of_one_packet_act_in_the_order_they_were_pressed(folder: Path) -> None:
    async with page(folder) as (app, pilot, pane):
        for key in ("right", "space", "right", "right", "space", "right"):
            app.post_message(events.Key(key, None))
        await until(lambda: pane.view is not None and pane.view.column(pane.cursor_ns) == 4)
        await pilot.pause()
        assert session_parts.columns_of(pane.view, pane.stretch) == (1, 3)


async def test_shift_and_arrows_select_escape_drops_and_leaves(folder: Path) -> None:
    async with page(folder) as (app, pilot, pane):
        await pilot.press("right", "shift+right", "shift+right", "shift+right")
        assert pane.stretch_s() is not None
        assert "selected 0:00.0 to" in screen_text(app)
        assert "[=]" in screen_text(app)
        await pilot.press("escape")
        assert pane.stretch is None
        assert isinstance(app.screen, SessionScreen)
        await pilot.press("escape")
        assert not isinstance(app.screen, SessionScreen)


async def test_the_mouse_moves_the_cursor_and_drags_a_stretch(folder: Path) -> None:
    async with page(folder) as (app, pilot, pane):
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if line.startswith("│  space ")) - 1
        await pilot.mouse_down(pane, offset=(40, row))
        await pilot.hover(pane, offset=(60, row))
        await pilot.mouse_up(pane, offset=(60, row))
        stretch = pane.stretch_s()
        assert stretch is not None
        assert pane.view is not None
        assert stretch[1] - stretch[0] == pytest.approx(20 * pane.view.column_ns / 1e9, rel=0.02)
        assert pane.rows[pane.row].name == "space"
        await pilot.click(pane, offset=(50, row))
        assert pane.stretch is None


async def test_jumps_zoom_and_pan(folder: Path) -> None:
    async with page(folder) as (_, pilot, pane):
        assert pane.loaded is not None
        row = next(i for i, row in enumerate(pane.rows) if row.name == "space")
        await pilot.press(*["down"] * row)
        presses = pane.loaded.timeline.keys[0].starts_ns.tolist()
        await pilot.press("full_stop", "full_stop")
        assert pane.cursor_ns == [t for t in presses if t > pane.loaded.timeline.start_ns][1]
        await pilot.press("comma")
        assert pane.cursor_ns == next(t for t in presses if t > pane.loaded.timeline.start_ns)
        assert pane.view is not None
        whole = pane.view
        await pilot.press("plus", "plus")
        assert pane.view.span_ns == pytest.approx(whole.span_ns / 4, rel=0.01)
        left = pane.view.left_ns
        await pilot.press("right_square_bracket")
        assert pane.view.left_ns > left
        await pilot.press("end")
        assert 0 <= pane.view.column(pane.cursor_ns) <= pane.view.columns
        await pilot.press("0")
        assert pane.view == whole


async def test_the_picture_follows_the_cursor_and_its_thread_ends(folder: Path) -> None:
    before = {thread.name for thread in threading.enumerate()}
    async with page(folder) as (_, pilot, pane):
        await until(lambda: pane._picture_of is not None)
        first = [line.plain for line in pane._picture], [line.spans for line in pane._picture]
        await pilot.press(*["right"] * 40)
        await until(lambda: ([line.plain for line in pane._picture], [line.spans for line in pane._picture]) != first)
        assert any(thread.name == "secondseat-pictures" for thread in threading.enumerate())
        await pilot.press("escape")
        await until(lambda: not any(thread.name == "secondseat-pictures" for thread in threading.enumerate()))
    await until(lambda: not {t.name for t in threading.enumerate() if t.name.startswith("secondseat")} - before)


async def test_a_stretch_becomes_a_session_and_a_clip(folder: Path, tmp_path: Path) -> None:
    async with page(folder) as (app, pilot, pane):
        await pilot.press("N")
        assert "select the stretch" in screen_text(app)
        await pilot.press(*["shift+right"] * 40, "N")
        await until(lambda: len(list_sessions(folder.parent.parent)) == 2, 20)
        await until(lambda: app.desk.doing is None)
        new = next(s for s in list_sessions(folder.parent.parent) if s.folder != folder)
        stretch = pane.stretch_s()
        assert stretch is not None
        assert new.duration_s == pytest.approx(stretch[1] - stretch[0], abs=0.1)
        await pilot.press("E")
        await until(lambda: isinstance(app.screen, AskText))
        assert app.screen.query_one(Input).value.endswith(f"clips/{folder.name}_0-2s.mp4")
        app.screen.query_one(Input).value = str(tmp_path / "stretch.mp4")
        await pilot.press("enter")
        await until(lambda: (tmp_path / "stretch.mp4").exists(), 20)


async def test_a_session_that_cannot_be_read_says_so(folder: Path) -> None:
    (folder / "metadata.json").write_text("{")
    workspace = str(folder.parent.parent)
    async with face(FakeCenter(idle_state(workspace))) as (app, _, _):
        app.push_screen(SessionScreen(folder))
        await until(lambda: "R repairs it" in screen_text(app))
        assert "is not whole JSON" in screen_text(app)


@asynccontextmanager
async def playing(folder: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[SecondseatApp, Pilot[int], PlayPane]]:
    async with page(folder, size) as (app, pilot, _):
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen.focused, PlayPane))
        pane = app.screen.query_one(PlayPane)
        await until(lambda: pane._shown is not None)
        yield app, pilot, pane


async def test_playing_keeps_the_pace_pauses_seeks_and_steps(folder: Path) -> None:
    async with playing(folder) as (app, pilot, pane):
        player = pane.player
        assert player is not None
        await until(lambda: pane._shown is not None and pane._shown.time_ms > 500)
        await pilot.press("space")
        assert not player.playing
        stands = player.time_ms
        await pilot.pause(0.2)
        assert player.time_ms == stands
        assert "paused" in screen_text(app)
        await pilot.press("home")
        await until(lambda: pane._shown is not None and pane._shown.time_ms == 0)
        await pilot.press("full_stop", "full_stop")
        await until(lambda: pane._shown is not None and pane._shown.time_ms == 66)
        await pilot.press("comma")
        await until(lambda: pane._shown is not None and pane._shown.time_ms == 33)
        await pilot.press("right")
        assert player.at_end
        await until(lambda: "at the end" in screen_text(app))
        await pilot.press("plus", "plus", "minus")
        assert player.speed == 2.0
        await pilot.press("space")
        await until(lambda: player.playing and not player.at_end)


async def test_keys_that_are_down_are_named_and_the_quality_is_said(folder: Path) -> None:
    async with playing(folder) as (app, pilot, pane):
        await pilot.press("space", "home", "full_stop", "o")
        await until(lambda: pane._shown is not None and pane._shown.time_ms == 33)
        text = screen_text(app)
        assert "down: space" not in text
        await pilot.press("comma")
        await until(lambda: "down: space" in screen_text(app))
        assert "kB/s to the terminal" in screen_text(app)


async def test_a_video_that_is_not_there_is_said(folder: Path) -> None:
    (folder / "video.mkv").unlink()
    async with page(folder, (80, 24)) as (app, pilot, _):
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen.focused, PlayPane))
        await until(lambda: "×" in screen_text(app))
        assert "video.mkv" in screen_text(app)


async def test_play_of_the_arena_is_shown_with_its_lanes_targets_and_pictures(tmp_path: Path) -> None:
    recorded = record_session(tmp_path, "expert", 3, 6.0)
    folder = tmp_path / "sessions" / recorded.session
    async with page(folder) as (app, pilot, pane):
        text = screen_text(app)
        assert "play of arena" in text
        assert "expert──" in text
        assert "left click" in text
        assert pane.loaded is not None
        assert pane.loaded.timeline.targets
        assert "targets" in text
        await until(lambda: pane._picture_of is not None)
        assert len({span.style for line in pane._picture for span in line.spans}) > 10
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen.focused, PlayPane))
        play = app.screen.query_one(PlayPane)
        await until(lambda: play._shown is not None and play._shown.time_ms > 300)
        await pilot.press("space")
        assert play.marks is not None
        times_ms = (play.marks.times_ns - play.marks.zero_ns) // 1_000_000
        assert play.marks.point_at(play.marks.zero_ns + int(times_ms[-1]) * 1_000_000) is not None


async def test_a_session_that_is_being_recorded_grows_on_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_view, "LIVE_S", 0.05)
    writer = new_writer(tmp_path / "workspace")

    def record(numbers: range) -> None:
        for number in numbers:
            writer.write_frame(frame(number))
            writer.write_event(event(number))
            writer.write_step(step(number))
        writer.flush()

    record(range(60))
    async with page(writer.folder) as (app, pilot, pane):
        assert pane.loaded is not None
        assert pane.loaded.info.live
        assert "recording" in screen_text(app)
        begin = pane.loaded.timeline.end_ns
        record(range(60, 120))
        await until(lambda: (app.update_all(), pane.loaded is not None and pane.loaded.timeline.end_ns > begin)[1])
        assert pane.view is not None
        assert pane.view.end_ns == pane.loaded.timeline.end_ns, "all of it is seen still"
        assert pane.view.span_ns >= pane.view.end_ns - pane.view.start_ns
        assert pane.cursor_ns == pane.view.start_ns, "the cursor stays where it was"
        await pilot.press("end")
        grown = pane.loaded.timeline.end_ns
        record(range(120, 180))
        await until(lambda: (app.update_all(), pane.loaded is not None and pane.loaded.timeline.end_ns > grown)[1])
        assert pane.cursor_ns == pane.loaded.timeline.end_ns, "at the end it stays at the end"
        writer.close("saved")
        await until(lambda: (app.update_all(), pane.loaded is not None and not pane.loaded.info.live)[1])
        read = pane.loaded
        await pilot.pause(0.2)
        assert pane.loaded is read, "what is saved is not read again"
