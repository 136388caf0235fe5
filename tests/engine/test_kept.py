"""What the snapshot says is kept is what is kept: not what is being recorded."""

from __future__ import annotations

from pathlib import Path

from engine.kept import count_kept
from tests.support.sessions import new_writer, write_session


def test_a_session_counts_once_it_is_no_longer_being_recorded(tmp_path: Path) -> None:
    assert count_kept(tmp_path) == (0, 0)
    write_session(tmp_path, 5)
    writer = new_writer(tmp_path)
    assert count_kept(tmp_path) == (1, 0)
    writer.close("saved")
    assert count_kept(tmp_path) == (2, 0)
