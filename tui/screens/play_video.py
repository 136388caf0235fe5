"""Plays the video of a recording into characters: a thread keeps the pace, drops pictures rather than lag, and spends no
more bytes on the terminal than it may. Knows nothing of Textual.

A picture is decoded when the one before it was drawn and there is money for it. When the terminal cannot be given four
pictures a second that way, the picture is made cheaper: 256 colours first, then smaller.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.schema import Image
from tui.halfblock import Depth, Place, encode, place, shrink
from tui.terminal_bytes import Budget, cost, sent

LOCAL_BYTES_S: Final = 60_000
SSH_BYTES_S: Final = 24_000
"""All that may go to the terminal in a second."""
PICTURE_SHARE: Final = 0.75
"""The pictures' part of it: the lines under them and the rest of the screen are drawn too."""
LEAST_FPS: Final = 4.0
MOST_FPS: Final = 15.0
_START_FPS: Final = 2 * LEAST_FPS
"""What is believed of a quality before it is tried."""
SPEEDS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
CLOSE_S: Final = 2.0

Marks = Callable[[Image, int], None]
"""Draws onto the small picture (uint8 RGB, two pixels a cell) what belongs to a moment of the video, in ms."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How pictures are drawn: colours, and the share of the room's columns and rows they take."""

    depth: Depth
    share: float


@dataclass(frozen=True, slots=True)
class Shown:
    """One encoded picture. ``sent``: bool [rows, columns], the cells that drawing it after the one before it sends."""

    time_ms: int
    cells: NDArray[np.int32]
    at: Place
    depth: Depth
    sent: NDArray[np.bool_]


class Player:
    """``shown`` is called from the thread with each picture; the next one waits for ``drawn``. ``failed`` with a reason
    when there is nothing to play. Times are ms of the video."""

    def __init__(
        self, video: Path, start_ms: int, depth: Depth, bytes_s: float, shown: Callable[[Shown], None], failed: Callable[[str], None]
    ) -> None:
        self._video = video
        self._shown = shown
        self._failed = failed
        self._changed = threading.Condition()
        self._stop = False
        self._drawn = True
        self._room = (0, 0)
        self._origin = (time.monotonic(), start_ms)
        self._times: NDArray[np.int64] = np.zeros(0, np.int64)
        self._last: Shown | None = None
        self._anew = True
        self._first_of_kind = True
        self._ladder = _ladder(depth)
        self._step = 0
        self._fps = 0.0
        self._possible_fps = _START_FPS
        self._shown_s = 0.0
        self.bytes_s = bytes_s
        self.budget = Budget(bytes_s * PICTURE_SHARE)
        self.playing = False
        self.speed = 1.0
        self.marks: Marks | None = None
        self._thread = threading.Thread(target=self._run, name="secondseat-player", daemon=True)
        self._thread.start()

    # ---- what a person does; on any thread

    @property
    def quality(self) -> Quality:
        return self._ladder[self._step]

    @property
    def fps(self) -> float:
        """Pictures a second of late; 0 while it stands."""
        return self._fps

    @property
    def end_ms(self) -> int:
        return int(self._times[-1]) if len(self._times) else 0

    @property
    def time_ms(self) -> int:
        """Where playing has come to."""
        begin_s, from_ms = self._origin
        now_ms = from_ms + ((time.monotonic() - begin_s) * 1000 * self.speed if self.playing else 0)
        return int(max(0, min(now_ms, self.end_ms or now_ms)))

    @property
    def at_end(self) -> bool:
        return bool(len(self._times)) and self.time_ms >= self.end_ms

    def play(self, playing: bool) -> None:
        if playing and self.at_end:
            self._change(playing=True, at_ms=0)
        else:
            self._change(playing=playing)

    def seek(self, time_ms: int) -> None:
        """Go there; the best quality is tried again."""
        self._step, self._possible_fps = 0, _START_FPS
        self._change(at_ms=time_ms)

    def faster(self, by: int) -> None:
        at = min(len(SPEEDS) - 1, max(0, SPEEDS.index(self.speed) + by))
        self._change(speed=SPEEDS[at])

    def step(self, by: int) -> None:
        """So many pictures on or back; pauses."""
        times = self._times
        if len(times):
            now = int(np.searchsorted(times, self.time_ms, side="right")) - 1
            self._change(playing=False, at_ms=int(times[min(len(times) - 1, max(0, now + by))]))

    def fit(self, columns: int, rows: int) -> None:
        """The room for the picture; everything is drawn anew."""
        with self._changed:
            self._room = (columns, rows)
            self._anew, self._step, self._possible_fps = True, 0, _START_FPS
            self._changed.notify()

    def draw_again(self) -> None:
        """The same moment once more: what is marked on it changed."""
        with self._changed:
            self._anew = True
            self._changed.notify()

    def drawn(self) -> None:
        """The picture shown last is on its way to the terminal."""
        with self._changed:
            self._drawn = True
            self._changed.notify()

    def close(self) -> bool:
        """False when the thread did not end in time."""
        with self._changed:
            self._stop = True
            self._changed.notify()
        self._thread.join(CLOSE_S)
        return not self._thread.is_alive()

    def _change(self, *, playing: bool | None = None, at_ms: int | None = None, speed: float | None = None) -> None:
        with self._changed:
            now_ms = self.time_ms if at_ms is None else max(0, min(at_ms, self.end_ms))
            self.playing = self.playing if playing is None else playing
            self.speed = self.speed if speed is None else speed
            self._origin = (time.monotonic(), now_ms)
            self._changed.notify()

    # ---- the thread

    def _run(self) -> None:
        from data.video import VideoError, VideoReader

        try:
            with VideoReader(self._video) as reader:
                times = reader.times_ms()
                if not len(times):
                    self._failed(f"{self._video.name} holds no whole picture")
                    return
                with self._changed:
                    self._times = times
                    self._origin = (time.monotonic(), min(self._origin[1], int(times[-1])))
                while (wanted := self._next()) is not None:
                    begin_s = time.monotonic()
                    self._show(*reader.frame_at(wanted))
                    self._pace(begin_s, time.monotonic())
        except (VideoError, OSError) as error:
            self._failed(str(error))

    def _next(self) -> int | None:
        """Waits for a moment to draw; None when it is over."""
        while True:
            with self._changed:
                now_s = time.monotonic()
                wait_s = max(self.budget.wait_s(now_s), self._shown_s + 1 / MOST_FPS - now_s if self.playing else 0.0)
                if self._stop:
                    return None
                ready = self._drawn and self._room[0] > 0 and wait_s <= 0
                if ready and (self._anew or self._pts(self.time_ms) != (self._last.time_ms if self._last is not None else -1)):
                    return self.time_ms
                # While playing the next picture comes by itself; else something has to happen.
                soon = wait_s > 0 or (self.playing and not self.at_end)
                self._changed.wait(max(wait_s, 1 / 60) if soon else None)

    def _pts(self, time_ms: int) -> int:
        return int(self._times[max(0, int(np.searchsorted(self._times, time_ms, side="right")) - 1)])

    def _show(self, time_ms: int, image: Image) -> None:
        with self._changed:
            quality, (columns, rows), anew = self.quality, self._room, self._anew
            self._anew = False
        inner = place((image.shape[1], image.shape[0]), max(1, round(columns * quality.share)), max(1, round(rows * quality.share)))
        at = Place((columns - inner.columns) // 2, (rows - inner.rows) // 2, inner.columns, inner.rows)
        pixels = shrink(image, at)
        if self.marks is not None:
            self.marks(pixels, time_ms)
        cells = encode(pixels, quality.depth)
        last = self._last
        self._first_of_kind = last is None or anew or (last.at, last.depth) != (at, quality.depth)
        parts = sent(cells, None if last is None or self._first_of_kind else last.cells)
        shown = Shown(time_ms, cells, at, quality.depth, parts)
        self._last = shown
        self.budget.spend(cost(cells, parts, quality.depth))
        self._drawn = False
        self._shown(shown)

    def _pace(self, begin_s: float, end_s: float) -> None:
        """Measures the rate, and takes a step down the ladder when decoding and the budget do not allow a fair one."""
        last = self._last
        if last is None or not self.playing:
            self._fps, self._shown_s = 0.0, begin_s
            return
        apart_s = begin_s - self._shown_s
        self._fps = 1 / apart_s if not self._fps else self._fps + 0.2 * (1 / max(apart_s, 1e-3) - self._fps)
        self._shown_s = begin_s
        if self._first_of_kind:
            return  # it costs more than those that follow
        paid_s = cost(last.cells, last.sent, last.depth) / self.budget.bytes_s
        self._possible_fps += 0.5 * (1 / max(1e-3, end_s - begin_s, paid_s) - self._possible_fps)
        if self._possible_fps < LEAST_FPS and self._step < len(self._ladder) - 1:
            self._step += 1
            self._possible_fps, self._anew = _START_FPS, True


def _ladder(depth: Depth) -> tuple[Quality, ...]:
    """From the best to the cheapest."""
    cheaper: Depth = 8 if depth == 24 else depth
    steps = [Quality(depth, 1.0), Quality(cheaper, 1.0), Quality(cheaper, 0.75), Quality(cheaper, 0.5)]
    return tuple(dict.fromkeys(steps))
