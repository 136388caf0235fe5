"""The player's thread and its budget, without an app."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.color import ColorSystem

from data.video import VideoWriter
from tests.support.sessions import write_session
from tui.halfblock import Depth, encode, runs
from tui.screens.play_video import Player, Quality, Shown
from tui.terminal_bytes import Budget, cost, sent


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of pictures that tell their number, 33 ms apart."""
    return write_session(tmp_path_factory.mktemp("workspace"), 120) / "video.mkv"


class Screen:
    """Takes pictures as the pane does, acknowledging at once or when told to."""

    def __init__(self, video: Path, *, bytes_s: float = 1e9, size: tuple[int, int] = (64, 24), takes: bool = True) -> None:
        self.shown: queue.Queue[Shown] = queue.Queue()
        self.failed: queue.Queue[str] = queue.Queue()
        self.takes = takes
        self.player = Player(video, 0, 24, bytes_s, self._take, self.failed.put)
        self.player.fit(*size)

    def _take(self, shown: Shown) -> None:
        self.shown.put(shown)
        if self.takes:
            self.player.drawn()

    def next(self) -> Shown:
        return self.shown.get(timeout=5)

    def all(self) -> list[Shown]:
        return [self.shown.get_nowait() for _ in range(self.shown.qsize())]


@pytest.fixture
def screens(video: Path) -> Iterator[list[Screen]]:
    made: list[Screen] = []
    yield made
    assert all(screen.player.close() for screen in made)


def test_the_picture_of_a_moment_is_shown_and_steps_go_by_pictures(video: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(video))
    assert screen.next().time_ms == 0
    screen.player.seek(1000)
    assert screen.next().time_ms == 990
    screen.player.step(1)
    assert screen.next().time_ms == 1023
    screen.player.step(-2)
    assert screen.next().time_ms == 957
    screen.player.seek(10**9)
    assert screen.next().time_ms == 119 * 33
    assert screen.player.at_end


def test_playing_keeps_the_original_pace_at_any_speed(video: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(video))
    screen.player.seek(500)
    for speed in (1.0, 4.0):
        screen.player.seek(0)
        while screen.next().time_ms:
            pass
        before = time.monotonic()
        screen.player.play(True)
        began = time.monotonic()
        time.sleep(0.6)
        ending = time.monotonic()
        screen.player.play(False)
        after = time.monotonic()
        assert (ending - began) * 1000 * speed - 1 <= screen.player.time_ms <= (after - before) * 1000 * speed
        times = [shown.time_ms for shown in screen.all()]
        assert times == sorted(times)
        screen.player.faster(2)


def test_a_screen_that_does_not_take_pictures_drops_them_and_never_lags(video: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(video, takes=False))
    screen.next()
    screen.player.play(True)
    time.sleep(0.8)
    assert screen.shown.empty()
    screen.player.drawn()
    late = screen.next()
    assert late.time_ms > 700
    assert screen.shown.empty()


def test_the_end_stops_and_playing_again_begins_anew(video: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(video))
    screen.next()
    screen.player.seek(3800)
    screen.player.play(True)
    time.sleep(0.4)
    assert screen.player.at_end
    screen.player.play(True)
    assert screen.player.time_ms < 1000


def test_marks_are_drawn_on_the_picture(video: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(video))
    plain = screen.next()

    def white(pixels: np.ndarray, time_ms: int) -> None:
        pixels[:] = 255

    screen.player.marks = white
    screen.player.draw_again()
    marked = screen.next()
    assert marked.time_ms == plain.time_ms
    assert len(np.unique(marked.cells)) == 1
    assert len(np.unique(plain.cells)) > 1


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worst there is: all cells change, none is like its neighbour."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("noise") / "noise.mkv"
    writer = VideoWriter(path, 160, 90, 30)
    for number in range(120):
        writer.write(rng.integers(0, 256, (90, 160, 3)).astype(np.uint8), number * 33)
    writer.close()
    return path


def test_what_a_terminal_is_sent_stays_within_the_budget(noise: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(noise, bytes_s=60_000, size=(78, 18)))
    screen.next()
    screen.player.play(True)
    begin = time.monotonic()
    time.sleep(2.5)
    screen.player.play(False)
    spent = sum(cost(shown.cells, shown.sent, shown.depth) for shown in screen.all())
    assert 0 < spent / (time.monotonic() - begin) < 60_000 * 1.4  # the last picture is paid for by those that follow


def test_a_poor_rate_makes_pictures_cheaper_and_a_seek_tries_the_best_again(noise: Path, screens: list[Screen]) -> None:
    screens.append(screen := Screen(noise, bytes_s=150_000, size=(78, 18)))
    assert screen.next().depth == 24
    screen.player.play(True)
    end = time.monotonic() + 10
    while screen.player.quality == Quality(24, 1.0) and time.monotonic() < end:
        time.sleep(0.02)
    cheaper = screen.player.quality
    assert cheaper.depth == 8
    screen.player.play(False)
    screen.player.seek(0)
    assert screen.player.quality == Quality(24, 1.0)


def test_a_video_that_cannot_be_played_is_said(tmp_path: Path, screens: list[Screen]) -> None:
    (tmp_path / "video.mkv").write_bytes(b"nothing")
    screens.append(screen := Screen(tmp_path / "video.mkv"))
    assert "video.mkv" in screen.failed.get(timeout=5)


def test_the_cost_is_no_less_than_what_is_written() -> None:
    rng = np.random.default_rng(2)
    image = np.repeat(rng.integers(0, 256, (40, 20, 3)).astype(np.uint8), 4, axis=1)
    systems: dict[Depth, ColorSystem] = {24: ColorSystem.TRUECOLOR, 8: ColorSystem.EIGHT_BIT, 4: ColorSystem.STANDARD}
    for depth, system in systems.items():
        cells = encode(image, depth)
        written = sum(len(style.render(text, color_system=system).encode()) for row in cells for text, style in runs(row, depth))
        assert written <= cost(cells, sent(cells, None), depth) - 120 * len(cells) < 1.3 * written


def test_a_budget_saves_up_little_and_waits_for_its_debts() -> None:
    budget = Budget(1000.0, at_s=0.0)
    assert budget.wait_s(10.0) == 0.0
    budget.spend(1500)
    assert budget.wait_s(10.0) == pytest.approx(1.0)
    assert budget.wait_s(10.4) == pytest.approx(0.6)
    assert budget.wait_s(11.0) == 0.0


def test_a_line_is_sent_up_to_its_last_change() -> None:
    before = np.zeros((3, 5), np.int32)
    after = before.copy()
    after[0, [1, 3]] = 7
    after[2, 0] = 7
    assert sent(after, before).astype(int).tolist() == [[1, 1, 1, 1, 0], [0] * 5, [1, 0, 0, 0, 0]]
    assert sent(after, None).all()
