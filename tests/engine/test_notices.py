"""Notices and the log file: what happened, and never a secret."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from engine.notices import NoticeHandler, SharedLogFile, log_to_file, redacted


def test_secrets_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECONDSEAT_COACH_KEY", "plain-looking-value")
    lines = (
        "GET http://x/?api-key=sk-TESTTEST1234567890&y=1",
        "Authorization: Bearer sk-TESTTEST1234567890",
        "the key sk-TESTTEST1234567890 was refused",
        "config: plain-looking-value",
    )
    for line in lines:
        assert "TESTTEST" not in redacted(line)
        assert "plain-looking" not in redacted(line)
    root = logging.getLogger()
    level = root.level
    notices, file = log_to_file(tmp_path)
    try:
        for line in lines:
            logging.getLogger("engine.coach").warning(line)
    finally:
        for handler in (notices, file):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
    text = (tmp_path / "secondseat.log").read_text() + repr(notices.newest())
    assert "TESTTEST" not in text
    assert "plain-looking" not in text
    assert len(notices.newest()) == 4


def test_only_what_matters_becomes_a_notice() -> None:
    handler = NoticeHandler()
    for name, level in (("engine.live", 20), ("ultralytics", 20), ("ultralytics", 30), ("engine.bot", 40)):
        handler.handle(logging.LogRecord(name, level, "f", 1, "text", (), None))
    handler.emit(logging.LogRecord("aiohttp.server", 20, "f", 1, "text", (), None))
    found = [(n.source, n.level) for n in handler.newest()]
    assert ("live", "info") in found
    assert ("ultralytics", "warning") in found
    assert ("bot", "error") in found
    assert ("ultralytics", "info") not in found


def test_the_log_is_bounded_and_shared_by_several_engines(tmp_path: Path) -> None:
    """Whoever finds it full sets it aside; no line of either is lost while files remain, and none grows on beside it."""
    path = tmp_path / "secondseat.log"
    one, two = (SharedLogFile(path, maxBytes=2_000, backupCount=4, encoding="utf-8") for _ in range(2))
    try:
        for number in range(60):
            for handler, name in ((one, "one"), (two, "two")):
                handler.handle(logging.LogRecord(name, 20, "f", 1, f"{name} {number:03} {'x' * 60}", (), None))
    finally:
        one.close()
        two.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["secondseat.log", *(f"secondseat.log.{n}" for n in range(1, 5))]
    assert all(file.stat().st_size <= 2_000 for file in files)
    lines = [line for file in reversed(files) for line in file.read_text().splitlines()]
    expected = [f"{name} {number:03}" for number in range(60) for name in ("one", "two")]
    assert [line[:7] for line in lines] == expected[-len(lines) :]
    assert len(lines) > 100


def test_the_engine_is_called_engine_everywhere(tmp_path: Path) -> None:
    from engine import control_center

    root = logging.getLogger()
    level = root.level
    notices, file = log_to_file(tmp_path)
    try:
        control_center.log.info("global hotkeys: on")
    finally:
        for handler in (notices, file):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
    assert [notice.source for notice in notices.newest()] == ["engine"]
    written = (tmp_path / "secondseat.log").read_text()
    assert f" {os.getpid()} INFO engine global hotkeys: on" in written
    assert "control_center" not in written


def test_notices_are_numbered_beyond_what_is_kept() -> None:
    handler = NoticeHandler()
    for number in range(250):
        handler.handle(logging.LogRecord("engine", 20, "f", 1, str(number), (), None))
    kept, count = handler.counted()
    assert (len(kept), count, kept[0].text) == (200, 250, "50")
