"""The recorder: what its keys mean, what it takes in, and what it leaves on disk."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from data.catalog import list_sessions
from data.schema import Frame
from data.session import SessionWriter, open_session
from data.trash import list_trash, undo
from tests.support.recording import MakeRig
from tests.support.sessions import FRAME_NS, picture


def test_f5_f6_saves_what_was_offered(rig: MakeRig) -> None:
    it = rig()
    assert it.play(3) == 0  # nothing before F5
    it.press("f5")
    assert it.recorder.state().phase == "recording"
    assert it.play(30) == 30
    it.key("press", "space")
    it.key("release", "space")
    it.press("f6")
    assert it.recorder.state().phase == "idle"
    with open_session(it.folders()[0]) as session:
        assert session.metadata.state == "saved"
        counts = session.counts()
        assert (counts.frames, counts.steps, counts.events) == (30, 30, 2)
        assert session.metadata.duration_s == pytest.approx(29 * 0.033)
        assert session.metadata.rates.measured_fps == pytest.approx(1 / 0.033, abs=0.01)
        assert [f.number for f in session.frames()] == list(range(30))
        assert (session.step_pts_ms() >= 0).all()
    assert it.said[-1].startswith("info: saved ")
    assert it.recorder.state().last_session == it.folders()[0].name


def test_f5_twice_leaves_it_unsaved_until_f6(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(5)
    it.press("f5")
    assert it.recorder.state().phase == "unsaved"
    assert list_sessions(it.workspace)[0].state == "unsaved"
    assert it.play(5) == 0
    it.press("f6")
    assert list_sessions(it.workspace)[0].state == "saved"
    assert not (it.folders()[0] / "writer.lock").exists()


def test_f5_after_unsaved_saves_the_old_with_a_notice(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(5)
    it.press("f5", "f5")
    assert it.recorder.state().phase == "recording"
    assert any("since a new one begins: saved" in text for text in it.said)
    it.play(5)
    it.press("f6")
    assert [info.state for info in list_sessions(it.workspace)] == ["saved", "saved"]


@pytest.mark.parametrize("keys", [("f7",), ("f5", "f7")])
def test_f7_discards_without_asking_and_can_be_undone(rig: MakeRig, keys: tuple[str, ...]) -> None:
    it = rig()
    it.press("f5")
    it.play(5)
    it.press(*keys)
    assert list_sessions(it.workspace) == []
    assert [info.frames for info in list_trash(it.workspace)] == [5]
    assert it.said[-1].endswith("it is in the trash, 'secondseat sessions undo' brings it back")
    assert undo(it.workspace).frames == 5


def test_five_recordings_and_one_discarded_are_five_sessions(rig: MakeRig) -> None:
    it = rig()
    for end in ("f6", "f6", "f7", "f6", "f6", "f6"):
        it.press("f5")
        it.play(91, steps=False)
        it.press(end)
    found = list_sessions(it.workspace)
    assert len(found) == 5
    assert [info.duration_s for info in found] == [pytest.approx(2.97)] * 5
    assert {info.frames for info in found} == {91}


@pytest.mark.parametrize("end", ["f5", "f6", "f7", "finish"])
def test_a_recording_without_a_picture_leaves_nothing(rig: MakeRig, end: str) -> None:
    it = rig(focused=False)
    it.recorder.set_focus(False, "the window is hidden")
    it.press("f5")
    assert it.recorder.state().phase == "paused"
    assert it.play(3) == 0
    if end == "finish":
        it.recorder.finish("quit")
    else:
        it.press(end)
    assert it.recorder.wait()
    assert it.said[-1] == "warning: nothing was captured, because the window is hidden"
    assert it.folders() == []
    assert it.recorder.state().phase == "idle"


def test_f5_then_f6_at_once_says_so(rig: MakeRig) -> None:
    it = rig()
    it.press("f5", "f6")
    assert it.said[-1] == "warning: nothing was captured, because no picture came before it was stopped"
    assert it.folders() == []


def test_out_of_focus_nothing_is_written_and_held_keys_are_released(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(10)
    it.key("press", "q")
    it.recorder.set_focus(False)
    lost = it.clock.now
    assert it.recorder.state().phase == "paused"
    assert it.play(60) == 0
    assert not it.key("press", "e")
    it.recorder.set_focus(True)
    back = it.clock.now
    assert it.play(10) == 10
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        assert [(e.kind, e.name, e.note) for e in session.events()] == [("press", "q", ""), ("release", "q", "forced_release")]
        assert session.events()[1].time_ns == lost
        assert [(g.start_ns, g.end_ns) for g in session.metadata.gaps] == [(lost, back)]
        times = session.frame_times_ns()
        assert len(times) == len(session.steps()) == 20
        assert not ((times > lost) & (times < back)).any()
        assert session.metadata.rates.measured_fps == pytest.approx(1 / 0.033, abs=0.01)  # the gap is not an interval


def test_f5_while_paused_stops_and_stays_stopped(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(5)
    it.recorder.set_focus(False)
    it.press("f5")
    it.recorder.set_focus(True)
    assert it.play(5) == 0
    assert it.recorder.state().phase == "unsaved"


def test_control_keys_and_strange_keys_never_reach_the_disk(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(2)
    for name in ("f5", "f6", "f7", "f8"):
        assert not it.key("press", name)
    it.key("press", "p")
    it.key("release", "p")
    it.key("press", "mouse_left")
    it.press("f6")
    with open_session(it.folders()[0]) as session:
        names = [(e.kind, e.name) for e in session.events()]
        assert names == [("press", "other"), ("release", "other"), ("press", "mouse_left"), ("release", "mouse_left")]
        assert session.events()[-1].note == "forced_release"  # it was still down at the end
        assert session.metadata.counts.refused_events == 4


@pytest.mark.parametrize("why", ["quit", "F8", "the 60 s of --for are over"])
def test_an_end_from_outside_saves_and_says_why(rig: MakeRig, why: str) -> None:
    it = rig()
    it.press("f5")
    it.play(5)
    it.recorder.finish(why)
    assert it.recorder.wait()
    assert list_sessions(it.workspace)[0].state == "saved"
    assert it.said[-1].startswith(f"info: {why}: saved ")


def test_keys_with_nothing_to_do_say_so(rig: MakeRig) -> None:
    it = rig()
    it.press("f6", "f7")
    assert it.said == ["info: nothing to save: F5 starts a recording", "info: nothing to discard"]


def test_a_full_queue_drops_and_counts_and_never_waits(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    it = rig(queue_bytes=5 * picture(0).nbytes)
    it.press("f5")
    write = SessionWriter.write_frame

    def slow(writer: SessionWriter, frame: Frame) -> int:
        time.sleep(0.02)
        return write(writer, frame)

    monkeypatch.setattr(SessionWriter, "write_frame", slow)
    start = time.monotonic()
    taken = it.play(1000, steps=False)
    assert time.monotonic() - start < 10.0  # waiting for the disk would have taken 20 s
    it.press("f6")
    counts = open_session(it.folders()[0]).metadata.counts
    assert counts.dropped_frames > 0
    assert (counts.frames, counts.frames + counts.dropped_frames) == (taken, 1000)


def test_pictures_that_come_late_and_in_bursts_are_all_kept(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    begin = it.clock.now
    for number in range(90):
        it.clock.now = begin + number * 33_333_333 + (60_000_000 if number % 9 == 0 else 62_000_000 if number % 9 == 1 else 40_000_000)
        it.recorder.offer_frame(Frame(number, it.clock.now, picture(number)))
    it.press("f6")
    assert open_session(it.folders()[0]).metadata.counts.frames == 90


def test_a_source_that_is_faster_than_asked_is_thinned(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    image = picture(1)
    for number in range(600):  # 5 s at 120 Hz
        it.clock.now += 8_333_333
        it.recorder.offer_frame(Frame(number, it.clock.now, image))
    it.press("f6")
    assert open_session(it.folders()[0]).metadata.counts.frames == pytest.approx(150, abs=2)


def test_an_unwritable_folder_is_refused_at_f5(rig: MakeRig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    it = rig(workspace=tmp_path / "file" / "workspace")
    it.press("f5")
    assert it.recorder.state().phase == "idle"
    assert it.said[-1].startswith("error: cannot record: ")
    assert str(tmp_path / "file") in it.said[-1]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders here have no such permissions")
def test_a_read_only_folder_is_refused_at_f5(rig: MakeRig) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not under tmp_path, into which only its owner may look
        sessions = Path(folder) / "sessions"
        sessions.mkdir()
        sessions.chmod(0o555)
        Path(folder).chmod(0o755)
        it = rig(workspace=Path(folder))
        before = os.geteuid()
        if before == 0:  # root may write anywhere: be nobody meanwhile
            os.seteuid(65534)
        try:
            it.press("f5")
        finally:
            os.seteuid(before)
        assert f"cannot record: {sessions}: Permission denied" in it.said[-1]
        assert it.recorder.state().phase == "idle"
        assert list(sessions.iterdir()) == []


def test_a_full_disk_is_refused_at_f5(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    it = rig()
    monkeypatch.setattr("engine.recording_place.free_bytes", lambda _: 1_000_000)
    it.press("f5")
    assert "the disk is full: 1.0 MB are free" in it.said[-1]
    assert it.recorder.state().phase == "idle"


def test_a_disk_that_fills_stops_the_recording_and_keeps_it(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    it = rig()
    it.press("f5")
    it.play(30)
    monkeypatch.setattr("engine.recorder_writer.free_bytes", lambda _: 1_000_000)
    deadline = time.monotonic() + 3.0
    while it.recorder.state().phase == "recording" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert it.recorder.wait()
    assert it.said[-1] == "error: disk full, recording stopped and saved (30 frames)"
    assert it.play(5) == 0
    info = list_sessions(it.workspace)[0]
    assert (info.state, info.frames) == ("saved", 30)
    monkeypatch.undo()
    it.press("f5")  # and it can be begun anew
    assert it.play(5) == 5


def test_remarks_and_marks_reach_the_metadata(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.recorder.note("fixed region")
    it.recorder.note("fixed region")
    it.recorder.mark("perturbed", 1, 2, "cursor displaced")
    it.play(2)
    it.press("f6")
    metadata = open_session(it.folders()[0]).metadata
    assert metadata.notes == ["fixed region"]
    assert [(s.start_ns, s.end_ns, s.reason) for s in metadata.perturbed] == [(1, 2, "cursor displaced")]


def test_a_picture_that_cannot_be_written_stops_only_the_recording(rig: MakeRig) -> None:
    it = rig()
    it.press("f5")
    it.play(3)
    it.clock.now += FRAME_NS
    it.recorder.offer_frame(Frame(99, it.clock.now, np.zeros((4, 4), np.uint8)))
    assert it.recorder.wait()
    assert it.recorder.state().phase == "idle"
    assert "recording stopped and saved (3 frames)" in it.said[-1]
    assert list_sessions(it.workspace)[0].state == "saved"
