"""New sessions out of recorded ones: everything in them stands where it belongs, and the originals stay."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from data import labels
from data.annotations import Annotations
from data.annotations import read as read_annotations
from data.annotations import write as write_annotations
from data.catalog import SessionNotFound, list_sessions
from data.metadata import Source, read_metadata, write_metadata
from data.profile import ARENA_PROFILE
from data.progress import Progress
from data.recovery import NEW_PREFIX, recover_all
from data.schema import InputEvent
from data.session import SessionWriter, open_session
from data.session_edit import SessionEditError, cut, merge
from data.trash import trash
from data.verify import verify
from data.windows import stretches
from engine.training import load_sessions
from tests.support.sessions import FRAME_NS, START_NS, frame, new_writer, number_of, step, write_session


def at(number: float) -> int:
    return START_NS + round(number * FRAME_NS)


def rich_session(workspace: Path, *, wall_s: float = 0.0) -> Path:
    """60 pictures with a step each; q is down from picture 10 to 30; a mark, a label, a tag."""
    writer = new_writer(workspace)
    for number in range(60):
        writer.write_frame(frame(number))
        if number in (10, 30):
            writer.write_event(InputEvent(at(number), "press" if number == 10 else "release", "q", 0.5, 0.5))
        if number % 3 == 0:
            writer.write_event(InputEvent(at(number), "move", "", number / 60, 0.5))
        writer.write_step(step(number))
        if number % 20 == 19:
            writer.flush()
    writer.mark("interesting", at(18), at(25), "a kill")
    writer.close()
    labels.append(writer.folder, [labels.Label(start_ns=at(15), end_ns=at(22), source="human", mode="LOOT")])
    write_annotations(writer.folder, Annotations("one", ("good",), "a note"))
    if wall_s:
        metadata = read_metadata(writer.folder)
        metadata.clock.wall_s += wall_s
        write_metadata(writer.folder, metadata)
    return writer.folder


def errors(folder: Path) -> list[str]:
    return [str(finding) for finding in verify(folder) if finding.severity != "info"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_stretch_becomes_a_session_of_its_own(tmp_path: Path) -> None:
    folder = rich_session(tmp_path)
    before = contents(folder)
    info = cut(tmp_path, "last", 20 * FRAME_NS / 1e9, 40 * FRAME_NS / 1e9)
    assert contents(folder) == before
    assert (info.frames, info.steps, info.title, info.tags, info.labels) == (20, 20, "one", ("good",), 1)
    assert errors(info.folder) == []
    with open_session(info.folder) as session, open_session(folder) as old:
        assert [number_of(shown.image) for shown in session.frames()] == list(range(20, 40))
        assert session.frame_times_ns().tolist() == [at(n) for n in range(20, 40)]
        steps = session.steps()
        assert steps.time_ns.tolist() == old.steps().time_ns[20:40].tolist()
        assert [session.frame_of_step(row).number for row in (0, 19)] == [0, 19]  # type: ignore[union-attr]
        events = session.events()
        assert (events[0].name, events[0].note, events[0].time_ns) == ("q", "held_at_start", at(20))
        assert [(event.kind, event.time_ns) for event in events if event.name == "q"] == [("press", at(20)), ("release", at(30))]
        assert all(at(20) <= event.time_ns < at(40) for event in events)
        metadata = session.metadata
        assert (metadata.state, metadata.clock.monotonic_ns) == ("saved", at(20))
        assert metadata.clock.wall_s == pytest.approx(old.metadata.clock.wall_s + 20 * FRAME_NS / 1e9)
        assert [(mark.start_ns, mark.end_ns) for mark in metadata.interesting] == [(at(20), at(25))]
        assert metadata.details["cut_from"]["session"] == folder.name
        assert metadata.rates.measured_hz == pytest.approx(1 / 0.033, rel=0.01)
    (label,), _ = labels.read(info.folder)
    assert (label.start_ns, label.end_ns, label.mode) == (at(20), at(22), "LOOT")


def test_what_is_down_where_the_cut_ends_is_let_go_of(tmp_path: Path) -> None:
    rich_session(tmp_path)
    info = cut(tmp_path, "last", 0.0, 20 * FRAME_NS / 1e9)
    with open_session(info.folder) as session:
        last = session.events()[-1]
    assert (last.kind, last.name, last.note, last.time_ns) == ("release", "q", "forced_release", at(20) - 1)


def test_merged_sessions_follow_each_other_with_a_gap_between(tmp_path: Path) -> None:
    second = rich_session(tmp_path, wall_s=3600.0)
    first = rich_session(tmp_path)
    write_annotations(first, Annotations("", ("bad", "good"), "another"))
    info = merge(tmp_path, [second.name, first.name])  # in any order: they are joined in that in which they were recorded
    assert (info.frames, info.steps, info.labels, info.title, info.tags, info.note) == (
        120,
        120,
        2,
        "one",
        ("bad", "good"),
        "another\na note",
    )
    assert errors(info.folder) == []
    with open_session(info.folder) as session:
        assert [number_of(shown.image) for shown in session.frames()] == [*range(60), *range(60)]
        steps, times = session.steps(), session.frame_times_ns()
        assert (np.diff(times) > 0).all()
        assert (np.diff(steps.time_ns) > 0).all()
        (gap,) = session.metadata.gaps
        assert gap.end_ns is not None
        assert times[59] < gap.start_ns < gap.end_ns <= times[60]
        assert len(stretches(steps)) == 2  # no window bridges the seam
        for row in (5, 65, 119):
            seen = session.frame_of_step(row)
            assert seen is not None
            assert number_of(seen.image) == row % 60
        assert not set(steps.tracks(59).ids.tolist()) & set(steps.tracks(119).ids.tolist())  # no id means two things
        shift = int(times[60] - times[0])
        old = step(1)
        assert steps.target_id[61] - steps.tracks(61).ids[0] == old.target_id - old.observation.tracks.ids[0]
        said, _ = labels.read(info.folder)
        assert [(label.start_ns, label.end_ns) for label in said] == [(at(15), at(22)), (at(15) + shift, at(22) + shift)]
        assert session.metadata.details["merged_from"] == [first.name, second.name]
        assert [event.time_ns for event in session.events()] == sorted(event.time_ns for event in session.events())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "bot"}, "has kind play, .* has bot"),
        ({"profile": ARENA_PROFILE.model_copy(update={"name": "other"})}, "has game arena, .* has other"),
        ({"profile": ARENA_PROFILE.model_copy(update={"keys": ("w",)})}, r"different profiles \(keys\)"),
        ({"size": (80, 48)}, "has picture size 64x48, .* has 80x48"),
        ({"details": {"rules_version": 9}}, "has rules_version none, .* has 9"),
    ],
)
def test_what_does_not_belong_together_is_not_merged(tmp_path: Path, change: dict[str, object], told: str) -> None:
    write_session(tmp_path, 3)
    given_: dict[str, object] = {"kind": "play", "profile": ARENA_PROFILE, "size": (64, 48), "details": {}, **change}
    other = SessionWriter.create(
        tmp_path,
        given_["kind"],
        given_["profile"],
        Source(),
        30.0,
        given_["size"],
        start_ns=START_NS + 1,
        details=given_["details"],  # type: ignore[arg-type]
    )
    other.write_frame(frame(0, *given_["size"]))  # type: ignore[misc]
    other.close()
    metadata = read_metadata(other.folder)
    metadata.clock.wall_s += 60
    write_metadata(other.folder, metadata)
    ids = [info.id for info in list_sessions(tmp_path)]
    with pytest.raises(SessionEditError, match=told):
        merge(tmp_path, ids)
    assert [info.id for info in list_sessions(tmp_path)] == ids


def test_the_same_play_is_not_learnt_from_twice(tmp_path: Path) -> None:
    folder = rich_session(tmp_path)
    piece = cut(tmp_path, folder.name, 0.0, 1.5)
    small = cut(tmp_path, piece.id, 0.0, 1.0)
    assert read_metadata(small.folder).originals() == {folder.name, piece.id}
    found, left_out = load_sessions(tmp_path, "arena")
    assert [len(steps) for steps in found] == [60]
    assert f"{piece.id}: made from {folder.name}, which is learnt from already" in left_out
    trash(tmp_path, piece.id)
    assert len(load_sessions(tmp_path, "arena")[0]) == 1  # still a part of what is there
    trash(tmp_path, folder.name)
    found, left_out = load_sessions(tmp_path, "arena")
    assert ([len(steps) for steps in found], left_out) == ([31], [])


def test_refusals_tell_what_is_wrong(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    for start_s, end_s in ((5.0, 5.0), (-1.0, 2.0), (3.0, 1.0)):
        with pytest.raises(SessionEditError, match="is no stretch"):
            cut(tmp_path, "last", start_s, end_s)
    with pytest.raises(SessionEditError, match=r"no picture lies between 60 s and 70 s; it is 0\.3 s long"):
        cut(tmp_path, "last", 60.0, 70.0)
    with pytest.raises(SessionEditError, match="two or more different"):
        merge(tmp_path, [folder.name, "last"])
    with pytest.raises(SessionNotFound):
        merge(tmp_path, ["nothing", "last"])
    writer = new_writer(tmp_path)
    writer.write_frame(frame(0))
    with pytest.raises(SessionEditError, match="is being recorded now"):
        cut(tmp_path, writer.id, 0.0, 1.0)
    writer.close("unsaved")
    writer.unlock()
    with pytest.raises(SessionEditError, match="was cut off; run 'secondseat sessions recover'"):
        merge(tmp_path, [folder.name, writer.id])


def test_one_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    write_session(tmp_path, 120)

    def stop(progress: Progress) -> None:
        if progress.done > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut(tmp_path, "last", 0.0, 9.0, stop)
    assert len(list((tmp_path / "sessions").iterdir())) == 1
    killed = tmp_path / "sessions" / f"{NEW_PREFIX}0123"
    killed.mkdir()
    (killed / "video.mkv").write_bytes(b"half")
    assert len(list_sessions(tmp_path)) == 1
    assert recover_all(tmp_path) == []
    assert not killed.exists()


def test_a_disk_without_room_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(tmp_path, 10)
    monkeypatch.setattr("data.session_parts.free_bytes", lambda _: 1000)
    with pytest.raises(SessionEditError, match=r"no room in .* are needed"):
        cut(tmp_path, "last", 0.0, 1.0)
    assert len(list((tmp_path / "sessions").iterdir())) == 1


@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(edges=st.lists(st.integers(0, 60), min_size=3, max_size=4, unique=True).map(sorted))
def test_cut_to_pieces_and_merged_again_it_is_what_it_was(tmp_path_factory: pytest.TempPathFactory, edges: list[int]) -> None:
    workspace = tmp_path_factory.mktemp("ws")
    folder = rich_session(workspace)
    pieces = [cut(workspace, folder.name, a * FRAME_NS / 1e9, b * FRAME_NS / 1e9).id for a, b in itertools.pairwise(edges)]
    again = merge(workspace, pieces)
    with open_session(folder) as old, open_session(again.folder) as new:
        first, last = edges[0], edges[-1]
        assert [number_of(shown.image) for shown in new.frames()] == list(range(first, last))
        kept, was = new.steps(), old.steps().slice(first, last)
        for column in ("levels", "flags", "held", "actor", "mode", "action_xy", "onset_codes", "track_boxes", "track_classes"):
            np.testing.assert_array_equal(getattr(kept, column), getattr(was, column), column)
        moves = [(event.x, event.kind) for event in new.events() if event.kind == "move"]
        assert moves == [(event.x, event.kind) for event in old.events() if event.kind == "move" and at(first) <= event.time_ns < at(last)]
        pressed = 0
        for event in new.events():
            pressed += {"press": 1, "release": -1}.get(event.kind, 0)
            assert pressed in (0, 1)
        assert pressed == 0
        assert len(new.metadata.gaps) == len(pieces) - 1
        said = labels.mode_stretches(labels.read(again.folder)[0])
        overlap = max(0, min(at(22), at(last)) - max(at(15), at(first)))
        assert sum(stretch.end_ns - stretch.start_ns for stretch in said) == overlap
    assert errors(again.folder) == []
    assert read_annotations(again.folder) == read_annotations(folder)
    shutil.rmtree(workspace)
