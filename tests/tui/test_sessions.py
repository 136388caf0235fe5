"""The list of sessions, on sessions that lie on the disk."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until
from textual.pilot import Pilot
from textual.widgets import Input

from data import annotations
from data.progress import Progress
from tests.support.sessions import new_writer, write_session
from tui.app import SecondseatApp
from tui.screens import data as data_screen
from tui.screens.data import SessionsPane, SessionsScreen
from tui.screens.dialogs import AskLetter, AskText
from tui.screens.session import SessionScreen
from tui.screens.session_form import NoteForm


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions, a minute apart, and a broken one."""
    workspace = tmp_path_factory.mktemp("workspace")
    first = write_session(workspace, 12)
    for number in range(3):
        folder = first.with_name(f"20261127T20310{number}Z_play_arena")
        shutil.copytree(first, folder)
        metadata = json.loads((folder / "metadata.json").read_text())
        metadata.update(started_at=f"2026-11-27T20:31:0{number}+00:00", duration_s=10.0 * (3 - number))
        (folder / "metadata.json").write_text(json.dumps(metadata))
    shutil.rmtree(first)
    broken = workspace / "sessions" / "20261127T203109Z_bot_arena"
    shutil.copytree(folder, broken)
    (broken / "metadata.json").write_text('{"version": 1, "kind"')
    annotations.write(folder, annotations.Annotations("the boss", ("boss", "hard"), "at the second portal"))
    return workspace


@pytest.fixture
def workspace(kept: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(kept, tmp_path / "workspace")
    return tmp_path / "workspace"


@asynccontextmanager
async def sessions(workspace: Path, size: tuple[int, int] = (120, 36)) -> AsyncIterator[tuple[SecondseatApp, Pilot[int], SessionsPane]]:
    async with face(FakeCenter(replace(idle_state(str(workspace)), sessions=3)), size=size) as (app, pilot, _):
        app.update_all()
        await pilot.press("s")
        pane = app.screen.query_one(SessionsPane)
        await until(lambda: pane.all is not None)
        yield app, pilot, pane


def ids(pane: SessionsPane) -> list[str]:
    return [session.id[14:16] for session in pane.shown]


def present(workspace: Path) -> list[str]:
    return sorted(path.name[13:15] for path in (workspace / "sessions").iterdir() if path.is_dir())


async def test_the_list_is_filtered_while_one_types_and_letters_do_nothing_else(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        assert ids(pane) == ["9Z", "2Z", "1Z", "0Z"]
        await pilot.press("slash", *"#boss x")
        assert ids(pane) == []
        assert "None of 4 sessions has '#boss x'" in screen_text(app)
        await pilot.press("backspace", "backspace", "enter")
        assert ids(pane) == ["2Z"]
        assert pane.has_focus
        assert "Sessions  1 of 4  newest first  /#boss" in screen_text(app)
        await pilot.press("slash", "escape")
        assert ids(pane) == ["2Z"]
        await pilot.press("escape")
        assert len(pane.shown) == 4
        await pilot.press("slash", *"-broken", "enter")
        assert ids(pane) == ["2Z", "1Z", "0Z"]


async def test_orders_by_key_and_by_a_click_on_a_column(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("o")
        assert pane.order.id == "length"
        assert ids(pane) == ["0Z", "1Z", "2Z", "9Z"]
        await pilot.press("O")
        assert ids(pane)[-1] == "0Z"
        head = screen_text(app).splitlines()[2]
        await pilot.click(pane, offset=(head.index("when"), 1))
        assert ids(pane) == ["9Z", "2Z", "1Z", "0Z"]
        await pilot.click(pane, offset=(head.index("when"), 1))
        assert ids(pane) == ["0Z", "1Z", "2Z", "9Z"]


async def test_a_session_goes_to_the_trash_and_comes_back(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("down", "X")
        await until(lambda: len(pane.shown) == 3)
        assert present(workspace) == ["00", "01", "09"]
        assert "u brings it back" in screen_text(app)
        await pilot.press("u")
        await until(lambda: len(pane.shown) == 4)
        assert present(workspace) == ["00", "01", "02", "09"]
        center = app.host._center
        assert isinstance(center, FakeCenter)
        assert center.commands == []
        await pilot.press("u")
        assert center.commands == [("record_undo", {})]


async def test_several_go_to_the_trash_after_a_question_that_enter_does_not_answer(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("down", "space", "space", "X", "enter")
        assert isinstance(app.screen, AskLetter)
        assert present(workspace) == ["00", "01", "02", "09"]
        assert "2 sessions" in screen_text(app)
        await pilot.press("y")
        await until(lambda: len(pane.shown) == 2)
        assert present(workspace) == ["00", "09"]
        assert not pane.marked
        await pilot.press("u")
        await until(lambda: len(pane.shown) == 4)


async def test_of_several_none_goes_to_the_trash_while_one_is_being_recorded(workspace: Path) -> None:
    live = new_writer(workspace)
    async with sessions(workspace) as (app, pilot, pane):
        before = present(workspace)
        await pilot.press("space", "space", "space", "X", "y")
        await until(lambda: "being recorded now" in screen_text(app))
        assert present(workspace) == before
        assert len(pane.marked) == 3
    live.remove()


async def test_titles_notes_and_tags(workspace: Path) -> None:
    folder = workspace / "sessions" / "20261127T203101Z_play_arena"
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("down", "down", "n")
        await until(lambda: isinstance(app.screen, NoteForm))
        await pilot.press(*"tx!", "enter", *"a note", "enter")
        await until(lambda: any(s.title == "tx!" for s in pane.shown))
        assert annotations.read(folder) == annotations.Annotations("tx!", (), "a note")
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, AskText))
        await pilot.press(*"boss easy", "enter")
        await until(lambda: annotations.read(folder).tags == ("boss", "easy"))
        await until(lambda: pane.chosen is not None and pane.chosen.tags == ("boss", "easy"))
        await pilot.press("space", "up", "up", "space")
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, AskText))
        await pilot.press(*"-boss new", "enter")
        await until(lambda: annotations.read(folder).tags == ("easy", "new"))
        other = workspace / "sessions" / "20261127T203102Z_play_arena"
        await until(lambda: annotations.read(other).tags == ("hard", "new"))
        assert annotations.read(other).title == "the boss"


async def test_a_broken_session_says_why_and_which_key_helps_and_is_repaired(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        text = screen_text(app)
        assert "× broken" in text
        assert "R repairs it: metadata.json: is not whole JSON" in text
        await pilot.press("enter")
        assert not isinstance(app.screen, SessionScreen)
        assert "is broken" in screen_text(app)
        await pilot.press("E", "P", "C")
        assert isinstance(app.screen, SessionsScreen)
        await pilot.press("R")
        await until(lambda: pane.shown[0].state == "recovered")
        assert "× broken" not in screen_text(app)


async def test_verifying_tells_what_was_found_and_offers_the_repair(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("A", "V")
        await until(lambda: isinstance(app.screen, AskLetter))
        text = screen_text(app)
        assert "error: metadata.json" in text
        assert "repair" in text
        await pilot.press("r")
        await until(lambda: pane.shown[0].state == "recovered")


async def test_long_work_shows_how_far_it_is_and_can_be_stopped(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from data import session_edit

    def slow(folder: Path, names: list[str], report) -> None:
        for step in range(1000):
            report(Progress("copying", 0.25 + step / 10_000, 61.0))
            time.sleep(0.01)

    monkeypatch.setattr(session_edit, "merge", slow)
    async with sessions(workspace) as (app, pilot, _pane):
        await pilot.press("M")
        assert "merging needs two sessions or more" in screen_text(app)
        await pilot.press("down", "space", "space", "M")
        await until(lambda: "merging 2 sessions: copying" in screen_text(app))
        text = screen_text(app)
        assert "1:01 left" in text
        assert "K stops it" in text
        assert app.busy() == ["merging 2 sessions"]
        await pilot.press("q")
        assert isinstance(app.screen, AskLetter)
        await pilot.press("escape", "K")
        await until(lambda: app.desk.doing is None)
        assert "merging 2 sessions: stopped" in screen_text(app)


async def test_merging_and_a_clip_make_new_files(workspace: Path, tmp_path: Path) -> None:
    async with sessions(workspace) as (app, pilot, pane):
        await pilot.press("down", "space", "space", "M")
        await until(lambda: app.desk.doing is None and len(pane.shown) == 5, 20)
        assert "merged into" in screen_text(app)
        await pilot.press("escape", "home", "E")
        await until(lambda: isinstance(app.screen, AskText))
        app.screen.query_one(Input).value = str(tmp_path / "new" / "clip.mp4")
        await pilot.press("enter")
        await until(lambda: app.desk.doing is None, 20)
        assert (tmp_path / "new" / "clip.mp4").exists(), screen_text(app)


async def test_a_recording_becomes_the_source(workspace: Path) -> None:
    async with sessions(workspace) as (app, pilot, _):
        await pilot.press("down", "C")
        center = app.host._center
        assert isinstance(center, FakeCenter)
        assert center.commands == [("source", {"kind": "video", "session": "20261127T203102Z_play_arena"})]


async def test_only_what_is_seen_is_composed_and_thousands_stay_quick(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from data.catalog import list_sessions
    from tui.screens.data import SessionsPane

    one = next(s for s in list_sessions(workspace) if s.state == "saved")
    many = [replace(one, id=f"{n:06d}_play_arena", title=f"run {n}", tags=("boss",) if n % 7 == 0 else ()) for n in range(2000)]
    composed = 0
    row = SessionsPane._row

    def counting(*args):
        nonlocal composed
        composed += 1
        return row(*args)

    monkeypatch.setattr("tui.screens.data.load_sessions", lambda _: many)
    monkeypatch.setattr(SessionsPane, "_row", counting)
    async with sessions(workspace) as (app, pilot, pane):
        assert len(pane.shown) == 2000
        assert composed < 200
        for act in (lambda: pane.filter("boss"), lambda: pane.filter(""), lambda: pane.move(100), pane.do_sessions_sort):
            times: list[float] = []
            for _ in range(4):
                begin = time.thread_time()
                act()
                times.append(time.thread_time() - begin)
            assert min(times) < 0.1
        await pilot.press("end")
        assert pane.selected == 1999
        assert pane.chosen is not None
        assert pane.chosen.id in screen_text(app)


async def test_opened_again_the_list_is_there_at_once_and_then_read_anew(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sessions(workspace) as (app, pilot, _):
        await pilot.press("escape")
        held = threading.Event()
        load = data_screen.load_sessions
        monkeypatch.setattr(data_screen, "load_sessions", lambda root: held.wait(5) and load(root))
        (workspace / "sessions" / "20261127T203100Z_play_arena").rename(workspace / "gone")
        await pilot.press("s")
        assert "Sessions  4" in screen_text(app)
        held.set()
        await until(lambda: "Sessions  3" in screen_text(app))


async def test_an_empty_workspace_says_what_fills_it(tmp_path: Path) -> None:
    async with sessions(tmp_path) as (app, _, _pane):
        text = screen_text(app)
        assert "No sessions yet: F5 records, F6 saves." in text
