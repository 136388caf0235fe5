"""The screen of data statistics: counted off the drawing loop, kept, cancelled, ordered, filtered."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import FULL, face, screen_text, until
from test_pictures import PLAIN, _same_clock, compare  # noqa: F401 - the fixture holds for this module too
from test_session_snapshots import info
from textual.pilot import Pilot

from data import statistics_cache
from data.session_edit import cut
from data.statistics import SessionStatistics
from data.statistics_cache import StatisticsCache
from tests.support.sessions import write_session
from tui import theme
from tui.app import SecondseatApp
from tui.screens import statistics as statistics_screen
from tui.screens.session import SessionPane
from tui.screens.statistics import StatisticsPane

SIZES = [(120, 36), (80, 24)]


def counted(number: int) -> SessionStatistics:
    """The figures of session ``number`` of the list in test_session_snapshots."""
    session = info(number)
    odd = {1: ("78% idle (nothing done for more than 3 s)",), 4: ("not one click or key", "9.4 pictures a second instead of 30")}
    return SessionStatistics(
        session.id,
        session.game,
        session.kind,
        session.duration_s / 3600,
        15_220 + 1940 * number,
        14_002 + 1800 * number,
        43 + 6 * number,
        f"floor(({701 + 97 * number} - 60) / 15) + 1",
        {"FIGHT": 7000, "LOOT": 3400, "FLEE": 2100 + number, "EXPLORE": 1200, "CAUTIOUS": 302},
        {"mouse_left": 812, "space": 240, "q": 61, "e": 44, "2": 20, "r": 11, "mouse_right": 9, "3": 4},
        {"demonstrator": 15_220 + 1940 * number},
        0.78 if number == 1 else 0.07 + number / 100,
        5.4,
        112,
        number % 3,
        4.5 * (number % 3),
        f"fingerprint {number if number != 6 else 2}",
        odd.get(number, ()),
    )


async def open_screen(app: SecondseatApp, pilot: Pilot[int]) -> StatisticsPane:
    app.update_all()
    await pilot.press("S")
    pane = app.screen.query_one(StatisticsPane)
    await until(lambda: pane.all is not None)
    return pane


@pytest.mark.parametrize(("size", "look"), [*((size, FULL) for size in SIZES), ((80, 24), PLAIN)])
async def test_the_screen(size: tuple[int, int], look: theme.Look, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [info(number) for number in range(1, 9)]
    known = {info(number).id: counted(number) for number in range(1, 9) if number not in (3, 5)}
    monkeypatch.setattr(statistics_screen, "load_known", lambda workspace: (sessions, known))
    begun = threading.Event()

    def slow(self: StatisticsCache, folder: Path) -> SessionStatistics:
        if "143107" in folder.name:
            raise ValueError(f"{folder.name}/metadata.json: is not whole JSON; run 'secondseat sessions recover'")
        begun.wait(20)
        return counted(5)

    monkeypatch.setattr(StatisticsCache, "count", slow)
    monkeypatch.setattr(statistics_cache.StatisticsCache, "save", lambda self: None)
    name = "ascii" if look is PLAIN else f"{size[0]}x{size[1]}"
    async with face(FakeCenter(replace(idle_state("/workspace"), sessions=8)), size=size, look=look) as (app, pilot, _):
        await open_screen(app, pilot)
        await until(lambda: app.desk.doing is not None and app.desk.doing.done > 0)
        compare(f"statistics_counting_{name}", screen_text(app))
        begun.set()
        await until(lambda: app.desk.doing is None)
        compare(f"statistics_{name}", screen_text(app))
        await pilot.press("down", "down", "down", "down")
        compare(f"statistics_odd_{name}", screen_text(app))
        if look is PLAIN:
            assert screen_text(app).isascii()


@pytest.mark.parametrize("size", SIZES)
async def test_without_sessions_it_says_what_fills_it(size: tuple[int, int], tmp_path: Path) -> None:
    async with face(FakeCenter(idle_state(str(tmp_path))), size=size) as (app, pilot, _):
        await open_screen(app, pilot)
        compare(f"statistics_empty_{size[0]}x{size[1]}", screen_text(app))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Three sessions: 4 s, 2 s, and one that cannot be read."""
    for number, frames in enumerate((120, 60, 60)):
        folder = write_session(tmp_path, frames)
        folder.rename(folder.with_name(f"2026112{number}T203100Z_play_arena"))
    (tmp_path / "sessions" / "20261122T203100Z_play_arena" / "metadata.json").write_text("{")
    return tmp_path


async def test_real_sessions_are_counted_and_the_next_look_takes_them_from_what_is_kept(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    center = FakeCenter(replace(idle_state(str(workspace)), sessions=3))
    async with face(center) as (app, pilot, _):
        pane = await open_screen(app, pilot)
        await until(lambda: (app.update_all(), len(pane._found) == 2 and len(pane._unreadable) == 1)[1])
        rows = {row.name: row for row in pane.all or ()}
        assert [row.word for row in rows.values()].count("broken") == 1
        assert rows["20261120T203100Z_play_arena"].found is not None
        assert rows["20261120T203100Z_play_arena"].found.ticks == 120
        assert pane.shown[0].found is not None
        assert pane.shown[0].found.ticks == 180, "the line of all is the sum"
        assert "metadata.json: is not whole JSON; the list of sessions (s) repairs it" in "\n".join(row.problem for row in rows.values())
        await pilot.press("S")
        again: list[str] = []

        def count(self: StatisticsCache, folder: Path) -> SessionStatistics:
            again.append(folder.name)
            raise ValueError("broken")

        monkeypatch.setattr(StatisticsCache, "count", count)
        pane = await open_screen(app, pilot)
        await until(lambda: (app.update_all(), len(pane._unreadable) == 1)[1])
        assert len(pane._found) == 2
        assert again == ["20261122T203100Z_play_arena"], "only what could not be read is tried again"


async def test_counting_is_stopped_and_what_was_counted_stays(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    count = StatisticsCache.count

    def slow(self: StatisticsCache, folder: Path) -> SessionStatistics:
        found = count(self, folder)
        go.wait(20)
        return found

    monkeypatch.setattr(StatisticsCache, "count", slow)
    (workspace / "sessions" / "20261122T203100Z_play_arena" / "metadata.json").unlink()
    async with face(FakeCenter(replace(idle_state(str(workspace)), sessions=3))) as (app, pilot, _):
        pane = await open_screen(app, pilot)
        await until(lambda: (app.update_all(), app.desk.doing)[1])
        assert "0 of 3 counted" in screen_text(app) or "of 3 counted" in screen_text(app)
        await pilot.press("K")
        go.set()
        await until(lambda: app.desk.doing is None)
        assert "stopped; what was counted stays, R looks again" in app._answer[1]
        before = len(pane._found)
        assert before < 2
        await pilot.press("R")
        await until(lambda: (app.update_all(), len(pane._found) == 2)[1])


async def test_leaving_the_screen_stops_the_counting(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(StatisticsCache, "count", lambda self, folder: (go.wait(20), counted(1))[1])
    async with face(FakeCenter(replace(idle_state(str(workspace)), sessions=3))) as (app, pilot, _):
        await open_screen(app, pilot)
        await until(lambda: (app.update_all(), app.desk.doing)[1])
        await pilot.press("escape")
        go.set()
        await until(lambda: app.desk.doing is None)
        assert "stopped" not in app._answer[1], "nobody asked"


async def test_what_was_made_from_another_is_named_a_copy_and_left_out_of_the_sums(tmp_path: Path) -> None:
    whole = write_session(tmp_path, 120)
    piece = cut(tmp_path, whole.name, 0.0, 2.0)
    async with face(FakeCenter(replace(idle_state(str(tmp_path)), sessions=2))) as (app, pilot, _):
        pane = await open_screen(app, pilot)
        await until(lambda: (app.update_all(), len(pane._found) == 2 and app.desk.doing is None)[1])
        total, rows = pane.shown[0], {row.name: row for row in pane.shown[1:]}
        assert total.found is not None
        assert (total.found.ticks, total.odd[-1]) == (120, "without 1 copy of what is shown: play counts once")
        assert rows[piece.id].copy == f"made from {whole.name}, counted there"
        assert rows[whole.name].copy == ""
        pane.filter(piece.id)
        assert pane.shown[0].found is not None
        assert pane.shown[0].found.ticks == piece.steps, "alone it is no copy of what is shown"
        assert "Presses in learnable ticks" in screen_text(app)


async def test_order_filter_and_the_session_behind_a_row(workspace: Path) -> None:
    async with face(FakeCenter(replace(idle_state(str(workspace)), sessions=3))) as (app, pilot, _):
        pane = await open_screen(app, pilot)
        await until(lambda: (app.update_all(), len(pane._found) == 2 and app.desk.doing is None)[1])
        pane.order_by("learnable")
        assert [row.name[:8] for row in pane.shown[1:]] == ["20261120", "20261121", "20261122"]
        pane.order_by("state")
        assert pane.shown[1].word == "broken"
        pane.filter("odd -broken")
        assert {row.word for row in pane.shown[1:]} == {"odd"}
        assert pane.shown[0].found is not None
        pane.filter("20261121")
        assert pane.shown[0].found is not None
        assert pane.shown[0].found.ticks == 60, "the sum is of what is shown"
        await pilot.press("home", "enter")
        assert "this line is all sessions together" in screen_text(app)
        await pilot.press("down", "enter")
        await until(lambda: app.screen.query(SessionPane))
        assert app.screen.query_one(SessionPane).folder.name == "20261121T203100Z_play_arena"
