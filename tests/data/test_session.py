"""A session goes to disk and comes back the same, wherever it lies and however it was cut."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data import annotations, locks, session_edit, trash
from data.catalog import list_sessions
from data.clip import export_clip
from data.compaction import compact_session
from data.labels import set_mode
from data.locks import HEARTBEAT_S, LOCK_NAME, Locked, SessionLock, identity, writer_alive
from data.metadata import SessionError, Source
from data.profile import ARENA_PROFILE, GameProfile
from data.schema import InputEvent, Rect
from data.session import SessionWriter, open_session
from data.steps import Steps, StepsBuilder
from data.timeline import read_cursor
from data.untyped import parquet, pyarrow
from data.verify import verify
from tests.support.sessions import FRAME_NS, START_NS, event, frame, new_writer, number_of, step, write_session


def built(count: int) -> Steps:
    builder = StepsBuilder(ARENA_PROFILE)
    for number in range(count):
        builder.append(step(number))
    return builder.build()


def assert_same(found: Steps, wanted: Steps) -> None:
    assert found.said_mode is None
    assert found.said_target is None
    for column in (f for f in dataclasses.fields(wanted)[1:] if f.default is dataclasses.MISSING):
        expected, got = getattr(wanted, column.name), getattr(found, column.name)
        assert got.dtype == expected.dtype, column.name
        np.testing.assert_array_equal(got, expected, column.name)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60)
    with open_session(folder) as session:
        assert_same(session.steps(), built(60))
        assert session.events() == [event(number) for number in range(60)]
        assert [number_of(f.image) for f in session.frames()] == list(range(60))
        assert [number_of(f.image) for f in session.frames(10, 13)] == [10, 11, 12]
        assert session.step_pts_ms().tolist() == [33 * n for n in range(60)]
        shown = session.frame_at(START_NS + FRAME_NS * 7 + 20_000_000)
        assert (shown.number, number_of(shown.image)) == (7, 7)
        of_step = session.frame_of_step(41)
        assert of_step is not None
        assert number_of(of_step.image) == 41
        assert session.metadata.state == "saved"
        assert session.counts() == session.metadata.counts
        assert session.problems == []
    assert sorted(path.name for path in folder.iterdir()) == ["events.arrows", "metadata.json", "steps.arrows", "video.mkv"]


def test_metadata_tells_all_that_is_promised(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    for number in range(31):
        window = Rect(-1920 + number // 20, -200, 640, 360)
        writer.write_frame(replace(frame(number), window=window))
    writer.begin_gap(START_NS + 31 * FRAME_NS, "the window is not in focus")
    writer.end_gap(START_NS + 90 * FRAME_NS)
    writer.write_frame(frame(91))
    writer.close()
    raw = json.loads((writer.folder / "metadata.json").read_text(encoding="utf-8"))
    assert (raw["version"], raw["kind"], raw["state"]) == (1, "play", "saved")
    assert raw["profile"]["name"] == "arena"
    assert raw["source"] == {"kind": "arena", "description": "skirmish"}
    assert [(v["left_px"], v["top_px"]) for v in raw["views"]] == [(-1920, -200), (-1919, -200)]
    assert raw["clock"]["monotonic_ns"] == START_NS
    assert raw["rates"]["asked_fps"] == 30.0
    assert raw["rates"]["measured_fps"] == pytest.approx(1 / 0.033, rel=0.001)
    assert raw["gaps"] == [
        {"start_ns": START_NS + 31 * FRAME_NS, "end_ns": START_NS + 90 * FRAME_NS, "reason": "the window is not in focus"}
    ]
    assert raw["duration_s"] == pytest.approx(91 * 0.033)
    assert str(tmp_path) not in (writer.folder / "metadata.json").read_text(encoding="utf-8")


def test_a_session_without_steps_or_events_is_whole(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    for number in range(5):
        writer.write_frame(frame(number))
    writer.close()
    with open_session(writer.folder) as session:
        assert (len(session.steps()), session.events(), len(session.frame_times_ns())) == (0, [], 5)
        assert session.problems == []


def test_a_profile_without_gauges_or_classes_round_trips(tmp_path: Path) -> None:
    profile = GameProfile(name="bare", keys=("w",))
    writer = SessionWriter.create(tmp_path, "bot", profile, Source(), 10.0, (64, 48), start_ns=START_NS)
    writer.write_frame(frame(0))
    writer.write_step(step(0))
    writer.close()
    with open_session(writer.folder) as session:
        found = session.steps()
        assert (found.levels.shape, found.flags.shape, found.onsets(0)) == ((1, 0), (1, 0), ("mouse_left",))
    assert writer.id.endswith("_bot_bare")


@pytest.mark.parametrize("name", ["Spiel – Ünï ほし/run 1", "emoji 🎮 ≠", "quote ' and % and #"])
def test_any_legal_path_and_a_moved_workspace_work(tmp_path: Path, name: str) -> None:
    folder = write_session(tmp_path / name, 40)
    moved = tmp_path / "moved – ö"
    shutil.move(tmp_path / name, moved)
    with open_session(moved / "sessions" / folder.name) as session:
        assert number_of(session.frame_at(START_NS + 20 * FRAME_NS).image) == 20
        assert_same(session.steps(), built(40))
    assert [info.frames for info in list_sessions(moved)] == [40]


def test_names_are_unique_and_tell_kind_and_game(tmp_path: Path) -> None:
    writers = [new_writer(tmp_path) for _ in range(3)]
    names = {writer.id for writer in writers}
    assert len(names) == 3
    assert all("_play_arena" in name for name in names)
    for writer in writers:
        writer.remove()
    assert list((tmp_path / "sessions").iterdir()) == []


def test_control_hotkeys_are_refused(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    with pytest.raises(ValueError, match="never recorded"):
        writer.write_event(InputEvent(START_NS, "press", "f8"))
    writer.remove()


def test_steps_out_of_order_are_refused(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    writer.write_step(step(5))
    writer.flush()
    with pytest.raises(ValueError, match="time order"):
        writer.write_step(step(4))
    writer.remove()


@pytest.mark.parametrize("name", ["steps.arrows", "events.arrows"])
def test_a_stream_cut_anywhere_reads_to_its_last_whole_batch(tmp_path: Path, name: str) -> None:
    folder = write_session(tmp_path, 60, flush_every=10)
    path = folder / name
    whole = path.read_bytes()
    generator = random.Random(4)
    counts: list[int] = []
    for cut in sorted([0, 3, *(generator.randrange(len(whole)) for _ in range(40)), len(whole)]):
        path.write_bytes(whole[:cut])
        session = open_session(folder)
        rows = len(session.steps()) if name.startswith("steps") else len(session.events())
        assert rows % 10 == 0
        if name.startswith("steps"):
            assert_same(session.steps(), built(rows))
        else:
            assert session.events() == [event(number) for number in range(rows)]
        counts.append(rows)
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 60


def test_noise_in_a_stream_never_breaks_the_reader(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 60, flush_every=10)
    path = folder / "events.arrows"
    whole = path.read_bytes()
    generator = random.Random(5)
    for turn in range(60):
        noisy = bytearray(whole)
        if turn < 20:  # the schema itself
            noisy[generator.randrange(1000)] = 0xDE
        for _ in range(20):
            noisy[generator.randrange(len(noisy))] = generator.randrange(256)
        path.write_bytes(noisy)
        assert len(open_session(folder).events()) <= 60


def test_compacted_tables_are_read_too(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30)
    pa = pyarrow()
    for name in ("steps", "events"):
        with (folder / f"{name}.arrows").open("rb") as file:
            table = pa.ipc.open_stream(file).read_all()
        parquet().write_table(table, str(folder / f"{name}.parquet"), compression="zstd")
        (folder / f"{name}.arrows").unlink()
    with open_session(folder) as session:
        assert_same(session.steps(), built(30))
        assert session.events() == [event(number) for number in range(30)]


def edit(folder: Path, **changes: object) -> None:
    raw = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    for key, value in changes.items():
        if value is None:
            raw.pop(key)
        else:
            raw[key] = value
    (folder / "metadata.json").write_text(json.dumps(raw), encoding="utf-8")


def test_version_0_is_migrated_and_says_so(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    edit(folder, version=0, scale=None)
    with open_session(folder) as session:
        assert (session.metadata.version, session.metadata.scale) == (1, 1.0)
        assert "1.0 assumed" in session.metadata.notes[0]
        assert len(session.steps()) == 10


def test_a_newer_version_is_refused_politely(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    edit(folder, version=999)
    with pytest.raises(SessionError, match="made by a newer version"):
        open_session(folder)


def test_a_profile_of_another_version_may_know_more(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    profile = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))["profile"]
    profile["weather"] = "rain"
    profile["gauges"][0]["unit"] = "%"
    edit(folder, profile=profile)
    with open_session(folder) as session:
        assert session.metadata.profile == ARENA_PROFILE
        assert session.metadata.notes == ["left out what this version does not know: profile.gauges.0.unit, profile.weather"]
    profile["picture_size"] = "large"
    edit(folder, profile=profile)
    with pytest.raises(SessionError, match="picture_size"):
        open_session(folder)


@pytest.mark.parametrize("content", [b"", b"[]", bytes(100), b'{"version": 1, "kind": "pl', b'{"version": "x"}', b'{"version": 1}'])
def test_damaged_metadata_is_told_by_file(tmp_path: Path, content: bytes) -> None:
    folder = write_session(tmp_path, 10)
    (folder / "metadata.json").write_bytes(content)
    with pytest.raises(SessionError, match=r"metadata\.json"):
        open_session(folder)


def test_a_missing_session_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="there is no such session"):
        open_session(tmp_path / "nothing")


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    assert writer_alive(writer.folder)
    with pytest.raises(Locked, match="another process is writing"):
        SessionLock(writer.folder)
    writer.remove()


def test_a_lock_is_not_fooled_by_a_reused_process_number(tmp_path: Path) -> None:
    own = identity()
    assert own is not None
    lock = tmp_path / LOCK_NAME
    lock.write_text(json.dumps(dataclasses.asdict(replace(own, started="1"))), encoding="ascii")  # our number, another start
    assert not writer_alive(tmp_path)
    taken = SessionLock(tmp_path)
    assert writer_alive(tmp_path)
    assert locks.identity(2**22 + 1) is None
    taken.release()
    assert not lock.exists()


def test_a_lock_of_another_machine_lives_by_its_sign_of_life(tmp_path: Path) -> None:
    own = identity()
    assert own is not None
    lock = tmp_path / LOCK_NAME
    lock.write_text(json.dumps(dataclasses.asdict(replace(own, boot="another boot"))), encoding="ascii")
    assert writer_alive(tmp_path)
    old = lock.stat().st_mtime - HEARTBEAT_S - 1
    os.utime(lock, (old, old))
    assert not writer_alive(tmp_path)


def test_a_failed_start_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4x4"):
        SessionWriter.create(tmp_path, "play", ARENA_PROFILE, Source(), 30.0, (4, 4))
    assert list((tmp_path / "sessions").iterdir()) == []


@pytest.mark.parametrize(("size", "scale"), [((1280, 720), 1.0), ((2560, 1440), 2.0)])
def test_the_same_click_is_at_the_same_place_whatever_the_screens_scale(tmp_path: Path, size: tuple[int, int], scale: float) -> None:
    """Pixels of the picture, not of the screen's own units: 640, 360 of 1280x720 and 1280, 720 of 2560x1440."""
    writer = SessionWriter.create(tmp_path, "play", ARENA_PROFILE, Source(), 30.0, size, start_ns=START_NS, scale=scale)
    writer.write_frame(replace(frame(0, *size), window=Rect(0, 0, *size)))
    place = (640 * scale / size[0], 360 * scale / size[1])
    writer.write_event(InputEvent(START_NS, "press", "mouse_left", *place))
    writer.write_event(InputEvent(START_NS + 1, "release", "mouse_left", *place))
    writer.close()
    with open_session(writer.folder) as session:
        metadata = session.metadata
        assert ((metadata.width_px, metadata.height_px), metadata.scale, metadata.views[0].scale) == (size, scale, scale)
        assert read_cursor(session).at(START_NS) == (0.5, 0.5)
        assert [(event.x, event.y) for event in session.events()] == [(0.5, 0.5), (0.5, 0.5)]
    assert verify(writer.folder) == []


def test_everything_made_of_a_session_works_in_any_legal_path(tmp_path: Path) -> None:
    workspace = tmp_path / "Spiel – Ünï ほし" / "run 1"
    folder = write_session(workspace, 100, flush_every=5)
    set_mode(folder, START_NS, START_NS + 10**9, "FLEE")
    annotations.update(folder, title="ほし", add=["ünï"])
    assert compact_session(folder).files
    piece = session_edit.cut(workspace, folder.name, 1.0, 2.0)
    assert session_edit.merge(workspace, [folder.name, piece.id]).frames == 100 + piece.frames
    assert export_clip(folder, 0.0, 1.0, workspace / "clip – ö.mp4") == 31
    assert [(info.title, info.tags, info.frames) for info in list_sessions(workspace)] == [
        ("ほし", ("ünï",), frames) for frames in (100, 130, 30)
    ]
    assert trash.undo(workspace, trash.trash(workspace, piece.id).id).frames == 30
    assert all(finding.severity == "info" for info in list_sessions(workspace) for finding in verify(info.folder))


def test_an_end_that_could_not_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a recording would be called saved that says of itself that it is still being written, by a lock that lives on."""
    writer = new_writer(tmp_path)
    for number in range(5):
        writer.write_frame(frame(number))

    def full(*rest: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("data.session.write_metadata", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                writer.close()
        assert writer_alive(writer.folder)
    assert writer.close().state == "saved"
    assert not writer_alive(writer.folder)
    with open_session(writer.folder) as session:
        assert (session.metadata.state, session.metadata.counts.frames) == ("saved", 5)
