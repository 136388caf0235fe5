"""Rates are what they are: a slow grabber, a slow disk, and what the header and the screen say of them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from data.metadata import Source
from data.profile import ARENA_PROFILE
from data.schema import Frame
from data.session import SessionWriter, open_session
from data.verify import verify
from engine.live import CaptureService
from engine.recorder import Recorder, RecordingSettings
from engine.recorder_queue import QUEUE_BYTES
from tests.support.recording import MakeRig
from tests.support.x11 import wait_until


class SlowSource:
    """A source whose pictures take a while."""

    kind = "screen"
    description = "slow"
    size = (64, 48)
    state = ""

    def __init__(self, cost_s: float) -> None:
        self.cost_s, self._number = cost_s, 0

    def open(self) -> None: ...

    def close(self) -> None: ...

    def grab(self) -> Frame:
        at_ns = time.monotonic_ns()
        time.sleep(self.cost_s)
        self._number += 1
        return Frame(self._number - 1, at_ns, np.full((48, 64, 3), self._number % 200, np.uint8))


@pytest.mark.parametrize(("cost_s", "asked", "expected"), [(0.025, 30, 30.0), (0.1, 30, 10.0)])
def test_the_time_that_a_grab_takes_is_part_of_the_interval_and_the_header_has_the_true_rate(
    tmp_path: Path, cost_s: float, asked: int, expected: float
) -> None:
    capture = CaptureService(SlowSource(cost_s), asked, "probe")
    recorder = Recorder(RecordingSettings(tmp_path, ARENA_PROFILE, Source(kind="screen"), fps=asked), lambda _level, _text: None)
    recorder.start()
    capture.on_turn = recorder.set_focus
    capture.sinks.append(recorder.offer_frame)
    recorder.press("f5")
    capture.start()
    time.sleep(3.0)
    shown = capture.state(True)
    recorder.press("f6")
    assert recorder.stop()
    capture.request_stop()
    wait_until(lambda: not capture.alive)
    (folder,) = (path for path in (tmp_path / "sessions").iterdir() if path.is_dir())
    with open_session(folder) as session:
        rates, times = session.metadata.rates, session.frame_times_ns()
    assert rates.asked_fps == shown.asked_fps == asked
    assert rates.measured_fps == pytest.approx(1e9 / np.diff(times).mean(), rel=0.01)
    assert shown.fps == pytest.approx(rates.measured_fps, rel=0.2)
    assert rates.measured_fps <= expected * 1.02
    assert rates.measured_fps > expected * 0.8  # a machine that is busy with other things is slower
    grid_ms = 1000 * np.arange(len(times)) / asked
    assert np.abs((times - times[0]) / 1e6 - grid_ms).max() > 0.1  # times are measured, not counted


def test_a_writer_that_stands_still_costs_bounded_memory_and_every_lost_picture_is_counted(
    rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = threading.Event()
    write = SessionWriter.write_frame

    def stuck(writer: SessionWriter, frame: Frame) -> int:
        hold.wait(30)
        return write(writer, frame)

    it = rig()
    it.press("f5")
    monkeypatch.setattr(SessionWriter, "write_frame", stuck)
    before = psutil.Process().memory_info().rss
    offered = 0
    for number in range(300):  # 10 s of 720p: 830 MB
        it.clock.now += 33_400_000
        offered += 1
        it.recorder.offer_frame(Frame(number, it.clock.now, np.full((720, 1280, 3), number % 200, np.uint8)))
    grown = psutil.Process().memory_info().rss - before
    assert grown < QUEUE_BYTES + 60_000_000
    dropped = it.recorder.state().dropped_frames
    assert dropped > 200
    hold.set()
    assert it.recorder.wait(30)
    it.press("f6")
    folder = it.folders()[0]
    counts = open_session(folder).metadata.counts
    assert counts.frames + counts.dropped_frames == offered
    assert counts.dropped_frames == dropped
    assert [finding for finding in verify(folder) if finding.severity == "error"] == []
