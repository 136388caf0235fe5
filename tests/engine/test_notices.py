"""Notices and the log file: what happened, and never a secret."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from engine.notices import NoticeHandler, log_to_file, redacted


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
