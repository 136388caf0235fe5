"""What a dead writer leaves is repaired once, completely, and without touching what is whole."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from data.catalog import list_sessions
from data.locks import LOCK_NAME
from data.recovery import recover, recover_all, unfinished, verify
from data.schema import InputEvent
from data.session import open_session
from data.steps_arrow import steps_from_table, steps_schema
from data.trash import list_trash
from data.untyped import pyarrow
from data.windows import stretches
from tests.support.children import killed_at_last
from tests.support.sessions import START_NS, frame, new_writer, number_of, step, write_session

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def child(workspace: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.support.record_child", str(workspace), *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process, killed_at_last(process):
        yield process


def errors(folder: Path) -> list[str]:
    return [str(finding) for finding in verify(folder) if finding.severity == "error"]


def abandoned(workspace: Path, frames: int = 70) -> Path:
    """A session as the death of its process leaves it: flushed a second ago, never closed, its lock not alive."""
    writer = new_writer(workspace)
    for number in range(frames):
        writer.write_frame(frame(number))
        writer.write_step(step(number))
        if number == frames - 10:
            writer.flush()
    left = {path.name: path.read_bytes() for path in writer.folder.iterdir()}
    writer.close()
    for name, content in left.items():
        (writer.folder / name).write_bytes(content)
    lock = json.loads((writer.folder / LOCK_NAME).read_text(encoding="ascii"))
    (writer.folder / LOCK_NAME).write_text(json.dumps({**lock, "started": "0"}), encoding="ascii")
    return writer.folder


def test_a_killed_recording_loses_at_most_two_seconds(tmp_path: Path) -> None:
    with child(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started = time.time()
        time.sleep(2.6)
        assert [info.live for info in list_sessions(tmp_path)] == [True]
        assert recover_all(tmp_path) == []  # it lives: hands off
        process.send_signal(signal.SIGKILL)
        lasted_s = time.time() - started
    (report,) = recover_all(tmp_path)
    assert report.outcome == "recovered"
    info = list_sessions(tmp_path)[0]
    assert info.state == "recovered"
    assert lasted_s - info.duration_s <= 2.0
    assert report.lost_s >= lasted_s - info.duration_s - 0.3  # what it says is what it was
    with open_session(tmp_path / "sessions" / info.id) as session:
        assert lasted_s - (session.events()[-1].time_ns - session.events()[0].time_ns) / 1e9 <= 2.0
        assert (np.diff(session.frame_times_ns()) > 0).all()
        assert (np.diff(session.steps().time_ns) > 0).all()
        assert len(list(session.frames())) == info.frames == session.metadata.counts.frames
    assert errors(session.folder) == []
    assert recover_all(tmp_path) == []
    assert recover(session.folder).outcome == "nothing"


def test_files_that_can_grow_no_more_end_the_recording_whole(tmp_path: Path) -> None:
    with child(tmp_path, "3000000") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        said = process.stdout.read()
        assert process.wait() == 0
    info = list_sessions(tmp_path)[0]
    assert said == f"disk full, recording stopped and saved ({info.frames} frames)\n"
    assert info.state == "saved"
    assert info.frames > 3
    with open_session(tmp_path / "sessions" / info.id) as session:
        assert len(list(session.frames())) == info.frames


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not Path("/bin/mount").exists(), reason="needs root to mount a small disk"
)
def test_a_small_disk_fills_and_the_recording_is_kept(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        with child(disk) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            said = process.stdout.read()
        info = list_sessions(disk)[0]
        assert said == f"disk full, recording stopped and saved ({info.frames} frames)\n"
        assert info.state == "saved"
        assert errors(disk / "sessions" / info.id) == []
        assert info.frames > 10
    finally:
        subprocess.run(["/bin/umount", str(disk)], check=True)


@pytest.mark.parametrize("hours", [8.0, -3.0])
def test_a_sleep_or_a_clock_that_was_set_is_not_told_as_lost_play(hours: float, tmp_path: Path) -> None:
    """The pictures' clock stands still in a sleep, the lock's time does not."""
    folder = abandoned(tmp_path)
    later = time.time() + hours * 3600
    for name, at_s in (("video.mkv", later - 0.8), (LOCK_NAME, later)):
        os.utime(folder / name, (at_s, at_s))
    (report,) = recover_all(tmp_path)
    found = re.search(r"at most ([\d.]+) s at the end were lost", report.message)
    assert found is not None, report.message
    assert 1.5 <= float(found[1]) <= 3.0


def test_an_abandoned_session_is_repaired_once(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    assert unfinished(folder)
    assert any("never" in text or "breaks off" in text for text in errors(folder))
    (report,) = recover_all(tmp_path)
    assert (report.outcome, report.damaged) == ("recovered", ("video.mkv.damaged",))
    assert "were lost" in report.message
    with open_session(folder) as session:
        frames = [number_of(f.image) for f in session.frames()]
        assert frames == list(range(len(frames)))
        assert len(frames) >= 50
        assert len(session.steps()) == session.metadata.counts.steps == 61
        assert session.metadata.state == "recovered"
        assert session.metadata.recovery is not None
        assert session.metadata.recovery.damaged == ["video.mkv.damaged"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert not unfinished(folder)
    assert recover_all(tmp_path) == []
    assert recover(folder).outcome == "nothing"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert errors(folder) == []


def test_cut_at_random_bytes_everything_is_repaired_to_its_whole_part(tmp_path: Path) -> None:
    source = write_session(tmp_path / "source", 90, flush_every=15)
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    raw = json.loads(files["metadata.json"])
    raw["state"] = "recording"
    generator = random.Random(7)
    for turn in range(12):
        folder = tmp_path / "w" / "sessions" / f"20260101T0000{turn:02d}Z_play_arena"
        folder.mkdir(parents=True)
        for name, content in files.items():
            cut = generator.randrange(1, len(content)) if name != "metadata.json" else 0
            (folder / name).write_bytes(content[:cut] if cut else json.dumps(raw).encode())
        report = recover(folder)
        if report.outcome in ("trashed", "removed"):
            assert not folder.exists()
            continue
        assert report.outcome == "recovered"
        assert errors(folder) == []
        with open_session(folder) as session:
            assert session.counts() == session.metadata.counts
            assert [number_of(f.image) for f in session.frames()] == list(range(session.metadata.counts.frames))
        assert recover(folder).outcome == "nothing"


def test_an_unsaved_session_of_a_dead_process_is_kept_whole(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30, state="unsaved")
    assert recover_all(tmp_path) == []  # this process still holds it
    lock = json.loads((folder / LOCK_NAME).read_text(encoding="ascii"))
    (folder / LOCK_NAME).write_text(json.dumps({**lock, "started": "0"}), encoding="ascii")
    video = (folder / "video.mkv").read_bytes()
    (report,) = recover_all(tmp_path)
    assert (report.outcome, report.lost_s, report.damaged) == ("recovered", 0.0, ())
    assert "neither saved nor discarded" in report.message
    assert (folder / "video.mkv").read_bytes() == video


def test_a_count_ahead_of_the_disk_is_named_and_put_right(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 40)
    raw = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    raw["counts"]["frames"] += 100
    (folder / "metadata.json").write_text(json.dumps(raw), encoding="utf-8")
    assert errors(folder) == ["error: video.mkv: holds 40 frames, but metadata.json says 140; readers use the 40"]
    with open_session(folder) as session:
        assert len(list(session.frames())) == 40  # and nothing fails meanwhile
    assert recover(folder).outcome == "recovered"
    assert errors(folder) == []


def test_damaged_metadata_is_rebuilt_and_kept(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 40)
    (folder / "metadata.json").write_bytes((folder / "metadata.json").read_bytes()[:200])
    assert list_sessions(tmp_path)[0].state == "corrupt"
    report = recover(folder)
    assert (report.outcome, report.damaged) == ("recovered", ("metadata.json.damaged",))
    with open_session(folder) as session:
        assert (session.metadata.game, session.metadata.counts.frames) == ("arena", 40)
        assert "rebuilt" in session.metadata.notes[-1]
        assert number_of(session.frame_at(START_NS).image) == 0


def test_a_newer_session_is_left_alone(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 5)
    raw = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    (folder / "metadata.json").write_text(json.dumps({**raw, "version": 999, "state": "recording"}), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    report = recover(folder)
    assert report.outcome == "refused"
    assert "newer version" in report.message
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_that_was_only_begun_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "20260101T000000Z_play_arena"
    folder.mkdir(parents=True)
    (folder / LOCK_NAME).write_bytes(b"")
    os.utime(folder / LOCK_NAME, (0, 0))
    (folder / ".reserve").write_bytes(bytes(10))
    (report,) = recover_all(tmp_path)
    assert report.outcome == "removed"
    assert list_sessions(tmp_path) == []


def test_events_without_a_picture_go_to_the_trash(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    (folder / "video.mkv").write_bytes(b"")
    (report,) = recover_all(tmp_path)
    assert report.outcome == "trashed"
    assert list_sessions(tmp_path) == []
    assert [info.id for info in list_trash(tmp_path)] == [folder.name]


def test_a_repair_that_was_itself_interrupted_is_repeated(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    (folder / "video.mkv").rename(folder / "video.mkv.damaged")
    (folder / "video.mkv.repair").write_bytes(b"half")
    assert recover(folder).outcome == "recovered"
    assert errors(folder) == []
    assert not (folder / "video.mkv.repair").exists()


def rewrite_steps(folder: Path, change: dict[str, list[int]]) -> None:
    """Replaces columns of the steps on disk."""
    pa = pyarrow()
    with (folder / "steps.arrows").open("rb") as file:
        table = pa.ipc.open_stream(file).read_all()
    for name, values in change.items():
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(index), pa.array(values, table.schema.field(index).type))
    with pa.OSFile(str(folder / "steps.arrows"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def test_duplicates_and_gaps_are_listed_and_do_no_harm(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    times = open_session(folder).steps().time_ns.tolist()
    generator = random.Random(9)
    times = [t + generator.randrange(-3_000_000, 3_000_000) for t in times]
    times[21] = times[20]
    times[40:] = [t + 2_000_000_000 - (times[40] - times[39]) for t in times[40:]]
    rewrite_steps(folder, {"time_ns": times})
    found = [f.text for f in verify(folder) if f.file == "steps.arrows"]
    assert found == ["1 duplicate, 1 gap 2.0 s"]
    steps = open_session(folder).steps()
    assert len(steps) == 60
    assert stretches(steps) == [(0, 40), (40, 60)]  # no window bridges the gap


def test_input_that_is_somewhere_else_is_named(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    for number in range(30):
        writer.write_frame(frame(number))
        writer.write_step(step(number, time_ns=START_NS + number * 33_000_000 - 200_000_000))
    for x, y, after_s in ((0.0, 1.0, 0.5), (1.5, 0.5, 0.6), (0.5, -200.0, 0.7), (None, None, 9.0)):
        writer.write_event(InputEvent(START_NS + round(after_s * 1e9), "move", "", x, y))
    writer.close()
    told = [str(finding) for finding in verify(writer.folder)]
    assert "warning: events.arrows: positions of the pointer outside the picture: 2" in told
    assert "warning: events.arrows: events before or after all pictures: 1 (by up to 8.0 s)" in told
    assert "error: steps.arrows: steps that saw a picture of later: 30" in told


def test_steps_that_name_the_wrong_picture_are_an_error(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    pts = open_session(folder).step_pts_ms().tolist()
    rewrite_steps(folder, {"video_pts_ms": pts[10:] + [pts[-1] + 500] * 10})
    found = [str(f) for f in verify(folder) if f.file == "steps.arrows"]
    assert "error: steps.arrows: 60 steps name a picture of another time (more than 100 ms off)" in found
    assert "warning: steps.arrows: the last 10 steps saw pictures that the end of video.mkv does not hold any more" in found


def test_missing_files_are_named(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    (folder / "video.mkv").unlink()
    (folder / "events.arrows").unlink()
    assert errors(folder) == [
        "error: video.mkv: missing; metadata.json says 10 frames",
        "error: events.arrows: missing",
        "error: events.arrows: holds 0 events, but metadata.json says 10; readers use the 0",
    ]


def test_a_whole_session_has_no_findings(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30)
    assert verify(folder) == []
    table = steps_schema(open_session(folder).metadata.profile).empty_table()
    assert len(steps_from_table(open_session(folder).metadata.profile, table)) == 0


def test_motion_that_no_hand_makes_is_named_and_remarks_are_shown(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, size=(640, 360))
    for number, dx in enumerate((3, -640, 641, 72_590, 0)):
        writer.write_frame(frame(number, 640, 360))
        writer.write_event(InputEvent(START_NS + number, "move", "", 0.5, 0.5, dx, 1))
    writer.write_event(InputEvent(START_NS + 9, "scroll", "", 0.5, 0.5, 0, -1))
    writer.note("the pointer was re-centred 40 times")
    writer.close()
    assert [str(finding) for finding in verify(writer.folder)] == [
        "warning: events.arrows: 2 moves of the mouse by more than the picture's width in one event (up to 72590); leave out its dx and dy",
        "info: metadata.json: the pointer was re-centred 40 times",
    ]
