"""Finished sessions are packed: nothing is lost, whatever interrupts it, and every reader goes on as before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from data.catalog import describe
from data.compaction import CompactionError, compact_session
from data.labels import set_mode
from data.locks import Locked
from data.recovery import recover
from data.session import open_session
from data.session_edit import cut, merge
from data.timeline import read_timeline
from data.verify import verify
from tests.data.test_session import assert_same, built
from tests.support.sessions import START_NS, event, new_writer, write_session

LONG = 100  # of fewer events the stream is the smaller file


def test_packed_rows_are_the_same_for_every_reader(tmp_path: Path) -> None:
    folder = write_session(tmp_path, LONG, flush_every=5)
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    timeline = read_timeline(folder)
    done = compact_session(folder)
    assert (done.id, done.files) == (folder.name, ("events", "steps"))
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "metadata.json", "steps.parquet", "video.mkv"]
    assert done.bytes_before == before["events.arrows"] + before["steps.arrows"]
    assert done.bytes_after == sum((folder / f"{name}.parquet").stat().st_size for name in done.files) < done.bytes_before
    with open_session(folder) as session:
        assert_same(session.steps(), built(LONG))
        assert session.events() == [event(number) for number in range(LONG)]
        assert session.problems == []
        assert session.frame_of_step(40) is not None
    assert verify(folder) == []
    assert recover(folder).outcome == "nothing"
    again = read_timeline(folder)
    assert (again.modes, again.actors, again.targets) == (timeline.modes, timeline.actors, timeline.targets)
    assert compact_session(folder).files == ()


def test_packed_sessions_are_cut_merged_labelled_and_repaired(tmp_path: Path) -> None:
    folder = write_session(tmp_path, LONG, flush_every=5)
    compact_session(folder)
    set_mode(folder, START_NS, START_NS + 10**9, "FLEE")
    piece = cut(tmp_path, folder.name, 0.0, 1.0)
    assert (piece.steps, piece.labels) == (31, 1)
    assert merge(tmp_path, [folder.name, piece.id]).steps == LONG + 31
    (folder / "metadata.json").write_bytes(b"")
    assert recover(folder).outcome == "recovered"  # the packed events carry the copy of the metadata too
    assert describe(folder).steps == LONG


@pytest.mark.parametrize("stop_at", ["replace", "unlink"])
def test_what_was_interrupted_is_finished_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: str) -> None:
    folder = write_session(tmp_path, LONG, flush_every=5)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if stop_at == "replace":
            patched.setattr(os, "replace", killed)
        else:
            patched.setattr("data.compaction.sync_folder", killed)  # packed and renamed, the stream still there
        with pytest.raises(KeyboardInterrupt):
            compact_session(folder)
    assert (folder / "events.arrows").exists()
    assert not list(folder.glob(".*tmp"))
    with open_session(folder) as session:
        assert_same(session.steps(), built(LONG))
    assert compact_session(folder).files == ("events", "steps")
    assert verify(folder) == []


def test_a_packed_file_that_is_older_than_the_stream_is_made_anew(tmp_path: Path) -> None:
    """Perceiving anew writes a stream beside the packed steps before it removes these."""
    folder = write_session(tmp_path, LONG, flush_every=5)
    stream = (folder / "steps.arrows").read_bytes()
    compact_session(folder)
    other = write_session(tmp_path / "other", LONG - 20, flush_every=5)
    compact_session(other)
    (folder / "steps.parquet").write_bytes((other / "steps.parquet").read_bytes())
    (folder / "steps.arrows").write_bytes(stream)
    assert compact_session(folder).files == ("steps",)
    with open_session(folder) as session:
        assert_same(session.steps(), built(LONG))


def test_what_would_not_get_smaller_stays_as_it_is(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 3)
    before = (folder / "events.arrows").read_bytes()
    assert "events" not in compact_session(folder).files
    assert (folder / "events.arrows").read_bytes() == before


def test_what_is_not_whole_is_not_packed(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    with pytest.raises(Locked):
        compact_session(writer.folder)
    writer.close("unsaved")
    writer.unlock()
    with pytest.raises(CompactionError, match="was cut off; run 'secondseat sessions recover' first"):
        compact_session(writer.folder)
    folder = write_session(tmp_path, LONG, flush_every=5)
    content = (folder / "steps.arrows").read_bytes()
    (folder / "steps.arrows").write_bytes(content[: len(content) // 2])
    with pytest.raises(CompactionError, match=r"steps\.arrows: breaks off .*; run 'secondseat sessions recover' first"):
        compact_session(folder)
    assert (folder / "steps.arrows").read_bytes() == content[: len(content) // 2]
    assert not (folder / "writer.lock").exists()


def test_what_reads_back_differently_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_session(tmp_path, LONG, flush_every=5)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("data.compaction._same", lambda *_: False)
    with pytest.raises(CompactionError, match="read back differently"):
        compact_session(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
