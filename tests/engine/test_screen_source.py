"""The screen source on a real screen: monitors, regions and windows that move, hide and close."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data.geometry import Rect
from engine.sources.screen import ScreenSource, SourceError, UniformWatch
from tests.support.x11 import TargetWindow, wait_until, x_server

RED, BLUE = (0xC8, 0x1E, 0x1E), (0x1E, 0x1E, 0xC8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give one of"),
        ({"monitor": 1, "window": "Game"}, "give one of"),
        ({"monitor": 1, "fps": 0}, "0 pictures per second is not a rate"),
        ({"region": Rect(0, 0, 0, 10)}, "is empty"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        ScreenSource(**arguments)  # type: ignore[arg-type]


def test_no_dead_and_wayland_displays_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for display, words in (("", "no display: DISPLAY is not set"), (":4077", "display ':4077' cannot be reached")):
        monkeypatch.setenv("DISPLAY", display)
        source = ScreenSource(monitor=1)
        with pytest.raises(SourceError, match=words) as problem:
            source.open()
        assert "\n" not in str(problem.value)
    monkeypatch.delenv("DISPLAY")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    with pytest.raises(SourceError, match=r"Wayland session \(WAYLAND_DISPLAY=wayland-0\).*log in to an X11 session"):
        ScreenSource(window="Game").open()
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setenv("XDG_SESSION_TYPE", "wayland")
    monkeypatch.setenv("DISPLAY", ":4077")
    with pytest.raises(SourceError, match=r"cannot be reached.*Wayland session \(XDG_SESSION_TYPE=wayland\): log in to an X11") as problem:
        ScreenSource(monitor=1).open()
    assert "\n" not in str(problem.value)


class RetinaGrabber:
    """Two pixels for each unit of a place, as macOS gives them: the red of a pixel is its column, green its row."""

    def grab(self, place: dict[str, int]) -> Any:
        rows, columns = np.mgrid[0 : 2 * place["height"], 0 : 2 * place["width"]]
        bgra = np.zeros((*rows.shape, 4), np.uint8)
        bgra[..., 2], bgra[..., 1] = columns % 256, rows % 256
        return SimpleNamespace(raw=bgra.tobytes(), width=columns.shape[1], height=rows.shape[0])


def test_a_picture_with_more_pixels_than_its_place_has_units_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ScreenSource(region=Rect(10, 20, 40, 30))
    source._grabber, source._monitors = RetinaGrabber(), (Rect(0, 0, 100, 100),)
    source._to_rgb = lambda picture: picture[..., 2::-1]
    frame = source.grab()
    assert frame is not None
    assert (frame.image.shape, source.size, frame.window) == ((60, 80, 3), (80, 60), Rect(10, 20, 40, 30))
    assert frame.image[59, 79].tolist() == [79, 59, 0]
    source._region = Rect(80, 90, 40, 30)
    frame = source.grab()
    assert frame is not None
    assert frame.image.shape == (60, 80, 3), "half of it lies beyond the edge"
    assert frame.image[19, 39].tolist() == [39, 19, 0]
    assert not frame.image[20:].any()


def test_pictures_of_one_colour_are_told_within_five_seconds_and_taken_back() -> None:
    watch = UniformWatch()
    black = np.zeros((90, 160, 3), np.uint8)
    told_s = next(t / 10 for t in range(100) if watch.see(black, t * 100_000_000) or watch.notice)
    assert told_s <= 5
    assert "all black" in watch.notice
    spot = black.copy()
    spot[:50] = 9
    watch.see(spot, 20_000_000_000)
    assert watch.notice == ""


@pytest.mark.x11
class TestOnAScreen:
    @pytest.fixture
    def source(self, x_display: str) -> Iterator[Callable[..., ScreenSource]]:
        opened: list[ScreenSource] = []

        def make(**arguments: object) -> ScreenSource:
            opened.append(ScreenSource(**arguments))  # type: ignore[arg-type]
            opened[-1].open()
            return opened[-1]

        yield make
        for one in opened:
            one.close()

    def test_a_monitor_gives_rgb_pictures_of_its_size(
        self, source: Callable[..., ScreenSource], target_window: Callable[..., TargetWindow]
    ) -> None:
        target_window(x=0, y=0, width=1280, height=720, colour="c81e1e")
        screen = source(monitor=1)
        frame = screen.grab()
        assert frame is not None
        assert frame.image.shape == (720, 1280, 3)
        assert tuple(frame.image[300, 400]) == RED
        assert (screen.size, screen.state, frame.number) == ((1280, 720), "", 0)
        assert abs(time.monotonic_ns() - frame.time_ns) < 2_000_000_000
        with pytest.raises(SourceError, match=r"there is no monitor 2; there is monitor 1: 1280x720 at 0, 0"):
            source(monitor=2)

    def test_regions_outside_every_monitor_are_refused_with_the_list(self, source: Callable[..., ScreenSource]) -> None:
        with pytest.raises(SourceError, match=r"fixed region 640x360 at -1920, -200 is outside every monitor \(monitor 1: 1280x720"):
            source(region=Rect(-1920, -200, 640, 360))
        partly = source(region=Rect(-10, -20, 40, 60))
        frame = partly.grab()
        assert frame is not None
        assert (frame.image.shape, frame.window) == ((60, 40, 3), Rect(-10, -20, 40, 60))

    def test_in_a_wayland_session_a_black_screen_is_refused_before_anything_is_recorded(
        self, x_display: str, monkeypatch: pytest.MonkeyPatch, target_window: Callable[..., TargetWindow]
    ) -> None:
        monkeypatch.setenv("XDG_SESSION_TYPE", "wayland")
        source = ScreenSource(monitor=1)
        with pytest.raises(SourceError, match=r"Wayland session \(XDG_SESSION_TYPE=wayland\), which shows programs a black screen; log in"):
            source.open()
        target_window()
        source.open()  # an X server of the game's own: it shows something
        assert source.grab() is not None
        source.close()

    def test_a_window_is_followed_when_it_moves_and_grows(
        self, source: Callable[..., ScreenSource], window_manager: None, target_window: Callable[..., TargetWindow]
    ) -> None:
        target_window("Backdrop", x=0, y=0, width=1280, height=700, colour="1e1ec8")
        target = target_window("Game – Ünï", x=100, y=80, width=320, height=180)
        screen = source(window="game – ünï")
        for place in (None, (500, 300), (700, 420, 400, 200), (1100, 600)):
            if place is not None:
                target.move(*place)
                time.sleep(0.1)
            frame = screen.grab()
            assert frame is not None
            assert frame.window is not None
            assert (frame.window.left, frame.window.top) == target.origin()
            assert frame.image.shape[:2] == (frame.window.height, frame.window.width)
            on_screen = frame.image[: 720 - frame.window.top, : 1280 - frame.window.left]
            assert (on_screen == RED).all(), "not a pixel of what lies behind"
        assert screen.size == (400, 200)
        assert frame.image[-1, -1].tolist() == [0, 0, 0], "beyond the screen's edge it is black"

    def test_a_part_of_a_window_is_watched_alone(
        self, source: Callable[..., ScreenSource], target_window: Callable[..., TargetWindow]
    ) -> None:
        target = target_window("Game", x=100, y=80, width=400, height=200)
        screen = source(window="Game", part=(0.25, 0.1, 1.0, 0.6))
        frame = screen.grab()
        assert frame is not None
        left, top = target.origin()
        assert frame.window == screen.rect == Rect(left + 100, top + 20, 300, 100)
        assert frame.image.shape == (100, 300, 3)
        assert (frame.image == RED).all()

    def test_hidden_and_minimised_windows_give_no_picture_and_no_bogus_place(
        self, source: Callable[..., ScreenSource], window_manager: None, target_window: Callable[..., TargetWindow]
    ) -> None:
        from Xlib import X
        from Xlib.protocol import event

        target = target_window("Game")
        screen = source(window="Game")
        assert screen.grab() is not None
        place = screen.rect
        assert place is not None
        atom = target.connection.intern_atom("WM_CHANGE_STATE")
        message = event.ClientMessage(window=target.window, client_type=atom, data=(32, [3, 0, 0, 0, 0]))
        target.connection.screen().root.send_event(message, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        target.connection.sync()
        wait_until(lambda: screen.grab() is None, 1)
        wait_until(lambda: screen.grab() is None and screen.state == "window 'Game' is minimised; open it to go on", 1)
        assert screen.rect == place
        target.show()
        wait_until(lambda: screen.grab() is not None, 2)
        place = screen.rect  # the window manager may choose another
        target.hide()
        wait_until(lambda: screen.grab() is None and "hidden" in screen.state, 1)
        assert screen.rect == place
        assert not screen.window_closed
        target.show()
        wait_until(lambda: screen.grab() is not None, 2)

    def test_a_missing_window_is_named_with_the_candidates_and_waited_for(
        self, source: Callable[..., ScreenSource], target_window: Callable[..., TargetWindow]
    ) -> None:
        target_window("Other game")
        with pytest.raises(SourceError, match=r"window 'Tetris' not found, 1 candidate: 'Other game'"):
            source(window="Tetris", wait_for_window=False)
        screen = source(window="Tetris")
        assert screen.grab() is None
        assert screen.state == "window 'Tetris' not found, 1 candidate: 'Other game'"
        target = target_window("Tetris deluxe", x=300)
        wait_until(lambda: screen.grab() is not None, 2)
        assert screen.window_id == target.id
        target.kill()
        wait_until(lambda: screen.grab() is None, 2)
        assert screen.window_closed
        assert screen.state == "window 'Tetris deluxe' is closed"
        again = target_window("Tetris deluxe", x=400)
        wait_until(lambda: screen.grab() is not None, 5)
        assert (screen.window_id, screen.window_closed) == (again.id, False)

    def test_thirty_starts_in_other_threads_leave_nothing_behind(
        self, source: Callable[..., ScreenSource], target_window: Callable[..., TargetWindow]
    ) -> None:
        target_window("Game")
        problems: list[BaseException] = []

        def once(turn: int) -> None:
            try:
                screen = ScreenSource(window="Game") if turn % 2 else ScreenSource(monitor=1)
                screen.open()
                assert screen.grab() is not None
                screen.close()
            except BaseException as problem:
                problems.append(problem)

        def run(turns: range) -> tuple[int, int]:
            for turn in turns:
                thread = threading.Thread(target=once, args=(turn,))
                thread.start()
                thread.join()
            return threading.active_count(), len(os.listdir("/proc/self/fd"))

        before = run(range(2))
        assert run(range(30)) == before
        assert problems == []

    def test_a_screen_that_goes_away_is_one_line(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        with x_server() as display:
            monkeypatch.setenv("DISPLAY", display)
            monitor, window = ScreenSource(monitor=1), ScreenSource(window="Game")
            monitor.open()
            window.open()
            assert monitor.grab() is not None
        for screen in (monitor, window):
            with pytest.raises(SourceError, match="the screen is gone") as problem:
                wait_until(lambda screen=screen: screen.grab() and False, 3)
            assert "\n" not in str(problem.value)
            screen.close()
