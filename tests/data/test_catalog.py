"""The list of sessions: quick, complete, and never stopped by one bad session."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from data.catalog import SessionNotFound, find, list_sessions
from tests.support.sessions import new_writer, write_session

PLAY = b'{"version": 1, "state": "saved", "kind": "play", "profile": {"name": "a"}, '


def test_every_session_is_told_with_its_figures(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 30)
    (info,) = list_sessions(tmp_path)
    assert (info.id, info.kind, info.game, info.state) == (folder.name, "play", "arena", "saved")
    assert (info.frames, info.events, info.steps, info.live) == (30, 30, 30, False)
    assert info.duration_s == pytest.approx(29 * 0.033)
    assert info.size_bytes == sum(path.stat().st_size for path in folder.iterdir())
    shown = json.loads(json.dumps(info.to_json()))
    assert shown["folder"] == f"sessions/{folder.name}"
    assert {"id", "kind", "game", "state", "duration_s", "frames", "events", "steps", "size_bytes", "started_at"} <= shown.keys()


def test_a_workspace_without_sessions_has_none(tmp_path: Path) -> None:
    assert list_sessions(tmp_path) == []
    with pytest.raises(SessionNotFound, match="there is no session yet"):
        find(tmp_path, "x")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not whole JSON"),
        (b"[]", "no JSON object"),
        (bytes(64), "not whole JSON"),
        (b'{"version": 1, "sta', "not whole JSON"),
        (b'{"version": 1, "state": "odd"}', "state 'odd'"),
        (b'{"version": 1, "state": "saved", "counts": 5}', "counts is not an object"),
        (PLAY + b'"duration_s": [1]}', ""),
        (PLAY + b'"duration_s": NaN}', "duration_s nan"),
        (PLAY + b'"duration_s": 1e999}', "duration_s inf"),
        (PLAY + b'"duration_s": -1}', "duration_s -1.0"),
        (PLAY + b'"counts": {"steps": Infinity}}', "infinity"),
        (
            PLAY + b'"duration_s": ' + b"9" * 400 + b"}",
            "not whole JSON",
        ),
        (b"[" * 100_000, "not whole JSON"),
        (b'{"version": 999}', "newer version"),
        (None, "has no metadata.json"),
    ],
)
def test_a_corrupt_session_is_listed_with_the_reason(tmp_path: Path, content: bytes | None, reason: str) -> None:
    good = write_session(tmp_path, 5)
    bad = good.parent / "29991231T000000Z_shadow_mygame"
    bad.mkdir()
    if content is not None:
        (bad / "metadata.json").write_bytes(content)
    (good.parent / "stray file").write_text("x")
    first, second = list_sessions(tmp_path)
    assert first.state == "saved"
    assert (second.id, second.state, second.kind, second.game) == (bad.name, "corrupt", "shadow", "mygame")
    assert reason in second.reason
    assert second.reason


def test_one_that_is_being_recorded_is_live(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    (info,) = list_sessions(tmp_path)
    assert (info.state, info.live, info.reason) == ("recording", True, "")
    writer.remove()


def test_many_sessions_are_listed_quickly(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 5)
    metadata = (folder / "metadata.json").read_bytes()
    for number in range(499):
        other = folder.parent / f"20200101T{number:06d}Z_play_arena"
        other.mkdir()
        (other / "metadata.json").write_bytes(metadata)
    started = time.monotonic()
    assert len(list_sessions(tmp_path)) == 500
    assert time.monotonic() - started < 3.0  # 0.1 s alone on a core; the bound leaves room for a busy machine
    shutil.rmtree(folder.parent)


def test_a_session_is_found_by_an_unambiguous_beginning(tmp_path: Path) -> None:
    for name in ("20260101T000000Z_play_arena", "20260101T000000Z_play_arena_2", "20260202T000000Z_play_arena"):
        (tmp_path / "sessions" / name).mkdir(parents=True)
    assert find(tmp_path, "20260202").name == "20260202T000000Z_play_arena"
    assert find(tmp_path, "20260101T000000Z_play_arena").name == "20260101T000000Z_play_arena"
    assert find(tmp_path, "last").name == "20260202T000000Z_play_arena"
    with pytest.raises(SessionNotFound, match="any of 2"):
        find(tmp_path, "20260101")
    with pytest.raises(SessionNotFound, match="the newest are"):
        find(tmp_path, "1999")
    for outside in ("", "..", "../sessions", "/"):
        with pytest.raises(SessionNotFound):
            find(tmp_path, outside)
