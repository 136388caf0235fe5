"""A recorded session as a source: its pictures, cursor and input come again at their own pace."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from data.metadata import SessionError
from data.schema import InputEvent
from engine.sources.base import FrameSource
from engine.sources.video import VideoSource
from tests.support.sessions import FRAME_NS, START_NS, frame, new_writer, number_of, write_session

NOW_NS = 900_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now_ns = NOW_NS

    def __call__(self) -> int:
        return self.now_ns

    def to(self, seconds: float) -> None:
        self.now_ns = NOW_NS + round(seconds * 1e9)


def at_frame(number: float) -> float:
    """Seconds from the start at which picture ``number`` has just come (times in a video are whole ms)."""
    return (number * FRAME_NS + 1_000_000) / 1e9


@pytest.fixture
def clock() -> Clock:
    return Clock()


def holding_session(workspace: Path, gap_ms: int = 0) -> Path:
    """40 pictures; q is down from picture 5 to 15, w from 20 on; a recorded gap after picture 29."""
    writer = new_writer(workspace)
    for number in range(40):
        late_ns = gap_ms * 1_000_000 if number >= 30 else 0
        shown = frame(number)
        if number == 30 and gap_ms:
            writer.begin_gap(START_NS + 29 * FRAME_NS, "the window is not in focus")
            writer.end_gap(shown.time_ns + late_ns)
        writer.write_frame(type(shown)(number, shown.time_ns + late_ns, shown.image))
        at_ns = shown.time_ns + late_ns
        if number in (5, 15):
            writer.write_event(InputEvent(at_ns, "press" if number == 5 else "release", "q", 0.25, 0.5, actor="human"))
        if number == 20:
            writer.write_event(InputEvent(at_ns, "press", "e", 0.75, 0.5, actor="bot", actor_name="p1"))
    writer.close()
    return writer.folder


def test_pictures_come_at_their_own_pace_with_the_times_of_now(tmp_path: Path, clock: Clock) -> None:
    source: FrameSource = VideoSource(write_session(tmp_path, 40), clock_ns=clock)
    assert (source.kind, source.state, source.grab()) == ("video", "not open", None)
    source.open()
    assert source.size == (64, 48)
    for number in (0, 1, 2, 5, 39):  # a grabber that is late misses pictures, as with a screen
        clock.to(at_frame(number))
        shown = source.grab()
        assert shown is not None
        assert number_of(shown.image) == number
        assert shown.time_ns == NOW_NS + number * FRAME_NS
    source.close()
    assert source.state == "not open"


def test_a_picture_that_is_still_shown_is_taken_again(tmp_path: Path, clock: Clock) -> None:
    source = VideoSource(write_session(tmp_path, 10), clock_ns=clock)
    source.open()
    clock.to(at_frame(3))
    first = source.grab()
    clock.to(at_frame(3) + 0.01)
    again = source.grab()
    assert first is not None
    assert again is not None
    assert (number_of(again.image), again.number, again.time_ns) == (3, 1, clock.now_ns)
    source.close()


def test_it_ends_with_a_reason_and_lets_go_of_what_is_held(tmp_path: Path, clock: Clock) -> None:
    folder = holding_session(tmp_path)
    source = VideoSource(folder, clock_ns=clock)
    source.open()
    clock.to(at_frame(25))
    assert source.grab() is not None
    assert [(event.kind, event.name, event.time_ns, event.actor) for event in source.events()] == [
        ("press", "q", NOW_NS + 5 * FRAME_NS, "human"),
        ("release", "q", NOW_NS + 15 * FRAME_NS, "human"),
        ("press", "e", NOW_NS + 20 * FRAME_NS, "bot"),
    ]
    assert source.cursor == (0.75, 0.5)
    assert source.flies == ("bot", "p1")
    clock.to(5.0)
    assert source.grab() is None
    assert source.ended
    assert source.state == f"the recording is over ({folder.name})"
    assert [(event.kind, event.name, event.note) for event in source.events()] == [("release", "e", "forced_release")]
    source.close()
    source.open()  # and may be played again
    assert not source.ended
    assert source.grab() is not None
    source.close()


def test_a_stretch_begins_with_what_is_held_there(tmp_path: Path, clock: Clock) -> None:
    source = VideoSource(holding_session(tmp_path), start_s=at_frame(10), end_s=at_frame(12), clock_ns=clock)
    source.open()
    shown = source.grab()
    assert shown is not None
    assert number_of(shown.image) == 10
    assert [(event.kind, event.name, event.note, event.time_ns) for event in source.events()] == [("press", "q", "held_at_start", NOW_NS)]
    clock.to(0.2)
    assert source.grab() is None
    assert [(event.kind, event.name) for event in source.events()] == [("release", "q")]
    source.close()


def test_a_loop_begins_anew_and_its_times_go_on(tmp_path: Path, clock: Clock) -> None:
    source = VideoSource(holding_session(tmp_path), loop=True, clock_ns=clock)
    source.open()
    times: list[int] = []
    numbers: list[int] = []
    pressed: dict[str, int] = {}
    for turn in range(400):
        clock.to(turn * 0.01)
        shown = source.grab()
        assert shown is not None
        times.append(shown.time_ns)
        numbers.append(number_of(shown.image))
        for event in source.events():
            pressed[event.name] = pressed.get(event.name, 0) + (1 if event.kind == "press" else -1)
            assert pressed[event.name] in (0, 1)  # nothing is pressed twice or let go of twice
    assert times == sorted(times)
    assert sum(before > after for before, after in pairwise(numbers)) == 3  # 4 s of a session of 1.3 s
    assert not source.ended
    source.close()


@pytest.mark.parametrize("keep", [False, True])
def test_a_gap_is_skipped_or_kept(tmp_path: Path, clock: Clock, keep: bool) -> None:
    source = VideoSource(holding_session(tmp_path, gap_ms=2000), keep_gaps=keep, clock_ns=clock)
    source.open()
    clock.to(at_frame(29))
    assert source.grab() is not None
    clock.to(at_frame(30.2))
    shown = source.grab()
    if keep:
        assert shown is None
        assert source.state == "a gap in the recording: the window is not in focus"
        clock.to(at_frame(30) + 2.0)
        shown = source.grab()
        assert source.state == ""
    assert shown is not None
    assert number_of(shown.image) == 30
    assert not source.ended
    source.close()


def test_what_cannot_be_played_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no stretch"):
        VideoSource(tmp_path, start_s=5.0, end_s=5.0)
    with pytest.raises(SessionError, match="there is no such session"):
        VideoSource(tmp_path / "nothing").open()
    folder = write_session(tmp_path, 10)
    with pytest.raises(SessionError, match=r"is 0\.3 s long; there is nothing after 60 s"):
        VideoSource(folder, start_s=60.0).open()
    (folder / "video.mkv").unlink()
    with pytest.raises(SessionError, match="holds no picture"):
        VideoSource(folder).open()
