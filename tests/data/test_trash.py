"""Discarded sessions can be brought back, until the trash is emptied."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from data.catalog import SessionNotFound, list_sessions
from data.session import open_session
from data.trash import TrashError, empty, list_trash, trash, undo
from tests.support.sessions import new_writer, write_session


def test_there_and_back(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 10)
    assert trash(tmp_path, folder.name[:12]).id == folder.name
    assert list_sessions(tmp_path) == []
    assert [info.id for info in list_trash(tmp_path)] == [folder.name]
    assert undo(tmp_path).id == folder.name
    assert len(open_session(folder).steps()) == 10
    with pytest.raises(SessionNotFound, match="there is no session in the trash yet"):
        undo(tmp_path)


def test_undo_takes_the_one_trashed_last(tmp_path: Path) -> None:
    first, second, third = (write_session(tmp_path, 3) for _ in range(3))
    for folder in (second, third, first):
        trash(tmp_path, folder.name)
        time.sleep(0.01)
    assert undo(tmp_path).id == first.name
    assert undo(tmp_path, second.name).id == second.name
    assert undo(tmp_path).id == third.name


def test_a_name_that_exists_again_is_never_overwritten(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 3)
    trash(tmp_path, folder.name)
    folder.mkdir()
    with pytest.raises(TrashError, match="a session of this name exists"):
        undo(tmp_path)
    trash(tmp_path, folder.name)
    assert len(list_trash(tmp_path)) == 2


def test_a_live_recording_is_not_trashed(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    with pytest.raises(TrashError, match="is being recorded now"):
        trash(tmp_path, writer.id)
    writer.remove()


def test_empty_says_what_it_removed(tmp_path: Path) -> None:
    old, new = write_session(tmp_path, 3), write_session(tmp_path, 3)
    size = sum(path.stat().st_size for path in old.iterdir())
    for folder in (old, new):
        trash(tmp_path, folder.name)
    long_ago = time.time() - 10 * 86_400
    os.utime(tmp_path / "trash" / "sessions" / old.name, (long_ago, long_ago))
    assert empty(tmp_path, older_than_days=7).to_json() == {"sessions": 1, "bytes": size}
    assert [info.id for info in list_trash(tmp_path)] == [new.name]
    assert empty(tmp_path).sessions == 1
    assert empty(tmp_path).sessions == 0
