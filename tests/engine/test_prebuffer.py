"""The pre-buffer: what F5 finds in the past, through the same filters, in bounded memory, cut at key frames."""

from __future__ import annotations

import time

import numpy as np
import pytest

from data.encoder import EncodedFrame
from data.schema import Frame, InputEvent
from data.session import open_session
from data.verify import verify
from engine.prebuffer import PreBuffer
from tests.support.recording import MakeRig
from tests.support.sessions import FRAME_NS, number_of, picture

S = 1_000_000_000


def filled(seconds: float, frames: int, **options: int) -> PreBuffer:
    ring = PreBuffer(seconds, 30.0, **options)
    for number in range(frames):
        ring.frame(Frame(number, 100 * S + number * FRAME_NS, picture(number % 128)))
    return ring


def test_it_reaches_as_far_back_as_asked_and_begins_at_a_key_frame() -> None:
    ring = filled(5.0, 600)
    assert 3.9 < ring.span_s <= 5.0
    newest_ns = 100 * S + 599 * FRAME_NS
    past = ring.take(newest_ns - 5 * S)
    assert past is not None
    pictures = [item for item in past.items if isinstance(item, EncodedFrame)]
    assert pictures[0].key
    assert past.start_ns == pictures[0].time_ns >= newest_ns - 5 * S
    assert [p.number for p in pictures] == list(range(pictures[0].number, 600))
    assert (ring.take(0), ring.span_s, ring.bytes) == (None, 0.0, 0)


def test_large_pictures_go_when_their_bytes_are_too_many() -> None:
    ring = PreBuffer(30.0, 30.0, limit_bytes=1_500_000)
    dice = np.random.default_rng(0)
    for number in range(120):
        ring.frame(Frame(number, number * FRAME_NS, dice.integers(0, 255, (120, 160, 3), np.uint8)))
    assert ring.bytes < 2_300_000
    assert 0 < ring.span_s < 3.0


def test_what_was_down_when_the_ring_begins_is_marked() -> None:
    ring = PreBuffer(2.0, 30.0)
    for number in range(150):
        now_ns = number * FRAME_NS
        ring.frame(Frame(number, now_ns, picture(1)))
        if number == 1:
            ring.add(InputEvent(now_ns, "press", "q"))
            ring.add(InputEvent(now_ns, "press", "e"))
        if number == 10:
            ring.add(InputEvent(now_ns, "release", "e"))
        if number == 140:
            ring.add(InputEvent(now_ns, "release", "q"))
    past = ring.take(149 * FRAME_NS - 2 * S)
    assert past is not None
    events = [(e.kind, e.name, e.note, e.time_ns) for e in past.items if isinstance(e, InputEvent)]
    assert events == [("press", "q", "held_at_start", past.start_ns), ("release", "q", "", 140 * FRAME_NS)]


def test_a_window_of_another_size_begins_the_ring_anew() -> None:
    ring = filled(10.0, 60)
    for number in range(60, 70):
        ring.frame(Frame(number, 100 * S + number * FRAME_NS, picture(number, 96, 64)))
    past = ring.take(0)
    assert past is not None
    assert past.size == (96, 64)
    assert [item.number for item in past.items if isinstance(item, EncodedFrame)] == list(range(60, 70))


@pytest.mark.parametrize("then", ["at once", "goes on"])
def test_f5_begins_in_the_past_and_says_where_it_was_pressed(rig: MakeRig, then: str) -> None:
    it = rig(prebuffer_s=3.0, fps=60.0)
    it.play(200)
    it.key("press", "q")
    it.play(10)
    assert it.recorder.wait()
    assert 1.9 < it.recorder.state().buffered_s <= 3.0
    assert it.folders() == []
    it.press("f5")
    pressed_ns = it.clock.now
    assert it.said[-1].startswith("info: recording from ")
    assert it.recorder.state().buffered_s == 0
    if then == "goes on":
        it.play(60)
        it.key("release", "q")
        it.key("press", "f5")
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        metadata, times = session.metadata, session.frame_times_ns()
        assert metadata.pressed_ns == pressed_ns
        assert 1.9e9 < pressed_ns - times[0] <= 3.0e9
        numbers = [number_of(frame.image) for frame in session.frames()]
        assert numbers == [(209 - int(pressed_ns - t) // FRAME_NS) % 128 for t in times]
        names = [(e.kind, e.name, e.note) for e in session.events()]
        assert names == [("press", "q", ""), ("release", "q", "" if then == "goes on" else "forced_release")]
        assert (session.step_pts_ms() >= 0).all()
        assert len(session.steps()) == len(times)
    assert [f for f in verify(it.folders()[0]) if f.severity != "info"] == []


def test_out_of_focus_nothing_enters_the_ring_and_the_recording_knows_the_gap(rig: MakeRig) -> None:
    it = rig(prebuffer_s=20.0)
    it.play(60)
    it.key("press", "q")
    it.recorder.set_focus(False)
    left = it.clock.now
    assert it.play(30) == 0
    assert not it.key("press", "e")
    it.recorder.set_focus(True)
    back = it.clock.now
    it.play(30)
    it.recorder.set_focus(False)  # as when the letter in the terminal is used
    it.press("f5")
    assert it.recorder.state().phase == "paused"
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        assert [(e.kind, e.name, e.note) for e in session.events()] == [("press", "q", ""), ("release", "q", "forced_release")]
        times = session.frame_times_ns()
        assert len(times) == 90
        assert not ((times > left) & (times <= back)).any()
        assert (session.metadata.gaps[0].start_ns, session.metadata.gaps[0].end_ns) == (left, back)


def test_one_recording_after_another_shares_no_picture_and_keeps_what_is_down(rig: MakeRig) -> None:
    it = rig(prebuffer_s=30.0)
    it.play(30)
    it.press("f5")
    it.play(30)
    it.key("press", "q")
    it.press("f6")
    it.play(31)
    it.press("f5")
    it.play(3)
    it.press("f6")
    first, second = (open_session(folder) for folder in it.folders())
    with first, second:
        assert first.frame_times_ns()[-1] < second.frame_times_ns()[0]
        assert [(e.kind, e.note) for e in second.events()] == [("press", "held_at_start"), ("release", "forced_release")]
        assert second.metadata.counts.frames == 34


def test_off_it_keeps_nothing(rig: MakeRig) -> None:
    it = rig()
    assert it.play(30) == 0
    assert (it.recorder.state().prebuffer_s, it.recorder.state().buffered_s) == (0, 0)
    it.press("f5", "f6")
    assert it.folders() == []


def test_a_picture_that_cannot_be_encoded_turns_it_off_and_says_so(rig: MakeRig) -> None:
    it = rig(prebuffer_s=5.0)
    it.clock.now += FRAME_NS
    it.recorder.offer_frame(Frame(0, it.clock.now, np.zeros((4, 4, 3), np.uint8)))
    assert it.recorder.wait()
    assert it.said[-1].startswith("warning: the pre-buffer is off (ValueError: a picture of 4x4 px cannot be recorded")
    it.press("f5")
    assert it.play(5) == 5
    it.press("f6")
    assert len(it.folders()) == 1


def test_offering_does_not_wait_for_the_encoder(rig: MakeRig) -> None:
    it = rig(prebuffer_s=5.0)
    image = np.random.default_rng(0).integers(0, 255, (720, 1280, 3), np.uint8)
    spent = []
    for number in range(20):
        it.clock.now += FRAME_NS
        began = time.perf_counter()
        it.recorder.offer_frame(Frame(number, it.clock.now, image))
        spent.append(time.perf_counter() - began)
        time.sleep(0.005)
    assert sorted(spent)[len(spent) // 2] < 0.002  # encoding one takes several times that
