"""A session along its time, as whoever draws it gets it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from data.labels import set_mode
from data.metadata import SessionError
from data.schema import InputEvent
from data.timeline import read_timeline
from data.vocabulary import ACTOR_KINDS
from tests.support.sessions import FRAME_NS, START_NS, frame, new_writer, step, write_session


def at(number: float) -> int:
    return START_NS + round(number * FRAME_NS)


def test_presses_and_releases_become_stretches_by_key(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    for number in range(60):
        writer.write_frame(frame(number))
    for number, kind, name, actor in (
        (2, "press", "q", "human"),
        (3, "press", "q", "human"),  # auto-repeat
        (3, "move", "", "human"),
        (9, "release", "q", "human"),
        (10, "release", "q", "human"),  # of a key that is up
        (12, "press", "mouse_left", "bot"),
        (13, "release", "mouse_left", "bot"),
        (20, "press", "space", "human"),
        (40, "press", "q", "bot"),  # still down at the end
    ):
        writer.write_event(InputEvent(at(number), kind, name, 0.5, 0.5, actor=actor))  # pyright: ignore[reportArgumentType]
    writer.write_event(InputEvent(at(30), "release", "space", note="forced_release"))
    writer.begin_gap(at(41), "paused")
    writer.end_gap(at(45))
    writer.mark("interesting", at(5), at(6), "a kill")
    writer.close()
    timeline = read_timeline(writer.folder)
    assert [lane.name for lane in timeline.keys] == ["space", "q"]  # the profile's order
    space, q = timeline.keys
    assert (space.starts_ns.tolist(), space.ends_ns.tolist()) == ([at(20)], [at(30)])
    assert (q.starts_ns.tolist(), q.ends_ns.tolist()) == ([at(2), at(40)], [at(9), timeline.end_ns])
    assert [ACTOR_KINDS[code] for code in q.actors] == ["human", "bot"]
    (left,) = timeline.clicks
    assert (left.name, left.starts_ns.tolist(), left.ends_ns.tolist()) == ("mouse_left", [at(12)], [at(13)])
    assert [(span.start_ns, span.end_ns, span.reason) for span in timeline.gaps] == [(at(41), at(45), "paused")]
    assert [span.reason for span in timeline.interesting] == ["a kill"]
    assert (timeline.start_ns, timeline.duration_s) == (START_NS, pytest.approx(59 * 0.033))
    assert len(timeline.frame_times_ns) == 60
    # without steps, the events tell who acted
    assert [(stretch.actor, stretch.start_ns) for stretch in timeline.actors] == [
        ("human", at(2)), ("bot", at(12)), ("human", at(20)), ("bot", at(40)),
    ]  # fmt: skip


def test_modes_are_those_of_the_rules_with_a_persons_word_over_them(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    ruled = read_timeline(folder)
    assert {stretch.source for stretch in ruled.modes} == {"rules"}
    assert (ruled.modes[0].start_ns, ruled.modes[-1].end_ns) == (at(0) + 5_000_000, at(59) + 5_000_000)
    assert [(stretch.actor, stretch.name) for stretch in ruled.actors] == [("demonstrator", "expert")]
    set_mode(folder, at(10), at(20), "FLEE")
    set_mode(folder, at(50), at(90), "LOOT")
    said = read_timeline(folder)
    assert [(s.start_ns, s.end_ns, s.mode) for s in said.modes if s.source == "human"] == [
        (at(10), at(20), "FLEE"),
        (at(50), at(90), "LOOT"),
    ]
    ends = [(s.start_ns, s.end_ns) for s in said.modes]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))  # in order, without overlap
    total = sum(s.end_ns - s.start_ns for s in ruled.modes)
    assert sum(s.end_ns - s.start_ns for s in said.modes) == total + at(90) - (at(59) + 5_000_000)


def test_a_break_between_ticks_is_in_no_stretch(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    for number in range(30):
        writer.write_frame(frame(number))
        writer.write_step(step(number, time_ns=at(number + (60 if number >= 15 else 0))))
    writer.close()
    timeline = read_timeline(writer.folder)
    assert [(s.start_ns, s.end_ns) for s in timeline.actors] == [(at(0), at(14)), (at(75), at(89))]
    assert not any(stretch.start_ns < at(40) < stretch.end_ns for stretch in timeline.modes)


def test_what_cannot_be_read_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30)
    (folder / "video.mkv").write_bytes(b"no video")
    (folder / "labels.jsonl").write_bytes(b"{\n")
    events = (folder / "events.arrows").read_bytes()
    (folder / "events.arrows").write_bytes(events[: len(events) // 2])
    timeline = read_timeline(folder)
    assert len(timeline.frame_times_ns) == 0
    told = " ".join(timeline.problems)
    assert all(name in told for name in ("video.mkv", "labels.jsonl: 1 lines", "events.arrows"))
    (folder / "metadata.json").write_bytes(b"[]")
    with pytest.raises(SessionError, match=r"metadata\.json"):
        read_timeline(folder)
