"""The list's index saves time and is never believed against the files."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from data import annotations, catalog, labels, metadata, session_index
from data.catalog import list_sessions
from tests.support.sessions import new_writer, write_session


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the sessions whose files were really read."""
    found: list[str] = []
    describe = catalog.describe

    def watched(folder: Path) -> catalog.SessionInfo:
        found.append(folder.name)
        return describe(folder)

    monkeypatch.setattr(catalog, "describe", watched)
    return found


def settled(folder: Path) -> Path:
    """As if its files had been written a minute ago."""
    past = time.time() - 60
    for path in (*folder.iterdir(), folder):
        os.utime(path, (past, past))
    return folder


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, reads: list[str]) -> None:
    one, two = settled(write_session(tmp_path, 5)), settled(write_session(tmp_path, 6))
    first = list_sessions(tmp_path)
    assert reads == [one.name, two.name]
    assert list_sessions(tmp_path) == first
    assert len(reads) == 2
    shutil.rmtree(one)
    assert [info.id for info in list_sessions(tmp_path)] == [two.name]
    assert json.loads((tmp_path / "cache" / "sessions.json").read_bytes())["sessions"].keys() == {two.name}


def test_a_session_that_is_moved_away_while_it_is_listed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine lists what a face, or F7, throws away in the same moment."""
    write_session(tmp_path, 5)
    describe = catalog.describe

    def moved(folder: Path) -> catalog.SessionInfo:
        info = describe(folder)
        shutil.rmtree(folder)
        return info

    monkeypatch.setattr(catalog, "describe", moved)
    assert [info.frames for info in list_sessions(tmp_path)] == [5]


def test_every_kind_of_change_is_seen(tmp_path: Path, reads: list[str]) -> None:
    folder = settled(write_session(tmp_path, 5))
    list_sessions(tmp_path)
    annotations.update(folder, title="one", add=["good"])
    assert list_sessions(tmp_path)[0].title == "one"
    settled(folder)
    assert list_sessions(tmp_path)[0].tags == ("good",)
    labels.set_mode(folder, 0, 9, "FIGHT")
    assert list_sessions(tmp_path)[0].labels == 1
    settled(folder)
    list_sessions(tmp_path)
    labels.set_mode(folder, 0, 9, "LOOT")  # only this file's own time and size tell of it
    assert list_sessions(tmp_path)[0].labels == 2
    settled(folder)
    list_sessions(tmp_path)
    raw = (folder / "metadata.json").read_text(encoding="utf-8")
    (folder / "metadata.json").write_text(raw.replace('"frames": 5', '"frames": 7'), encoding="utf-8")  # in place, the same size
    assert list_sessions(tmp_path)[0].frames == 7


def test_what_is_fresh_or_being_written_is_read_each_time(tmp_path: Path, reads: list[str]) -> None:
    write_session(tmp_path, 5)
    writer = new_writer(tmp_path)
    settled(writer.folder)
    (writer.folder / "writer.lock").touch()
    assert [info.live for info in list_sessions(tmp_path)] == [False, True]
    list_sessions(tmp_path)
    assert len(reads) == 4
    writer.remove()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", bytes(50), b'{"fields": [], "sessions": {}}', b'{"sessions": 5}'])
def test_a_damaged_index_costs_only_time(tmp_path: Path, reads: list[str], content: bytes) -> None:
    folder = settled(write_session(tmp_path, 5))
    first = list_sessions(tmp_path)
    (tmp_path / "cache" / "sessions.json").write_bytes(content)
    assert list_sessions(tmp_path) == first
    assert list_sessions(tmp_path) == first
    assert reads == [folder.name, folder.name]


def test_entries_that_are_none_are_left_out(tmp_path: Path) -> None:
    settled(write_session(tmp_path, 5))
    first = list_sessions(tmp_path)
    index = tmp_path / "cache" / "sessions.json"
    value = json.loads(index.read_bytes())
    for entry in value["sessions"].values():
        entry["said"] = entry["said"][:3]
    index.write_text(json.dumps(value), encoding="utf-8")
    assert list_sessions(tmp_path) == first


def test_the_watched_files_are_those_that_the_list_reads() -> None:
    assert set(session_index.WATCHED) == {metadata.METADATA_NAME, annotations.ANNOTATIONS_NAME, labels.LABELS_NAME}
