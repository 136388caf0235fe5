"""Log lines become notices in the snapshot, and lines of the log file; secrets never pass."""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
from collections import deque
from pathlib import Path
from typing import Final, TextIO

from engine.state import Notice

KEEP: Final = 200
_OURS: Final = ("engine", "data", "trainers", "league", "tui")
_SECRET: Final = re.compile(r"(?i)(bearer\s+|api[-_]?key[=:]\s*|authorization[=:]\s*|\bsk-)[^\s\"'&]+")


def redacted(text: str) -> str:
    """The text without what looks like a key, and without the values of secret environment variables."""
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search(r"(?i)(key|token|secret|password)$", name):
            text = text.replace(value, "[hidden]")
    return _SECRET.sub(lambda match: match.group(1) + "[hidden]", text)


class NoticeHandler(logging.Handler):
    """Keeps the newest notices of our own loggers (info and up) and warnings of everybody."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._notices: deque[Notice] = deque(maxlen=KEEP)
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        room = record.name.split(".", 1)[0]
        if room not in _OURS and record.levelno < logging.WARNING:
            return
        level = "error" if record.levelno >= logging.ERROR else "warning" if record.levelno >= logging.WARNING else "info"
        source = record.name.rsplit(".", 1)[-1] if room in _OURS else room
        text = redacted(record.getMessage()).split("\n", 1)[0]
        self._notices.append(Notice(record.created, level, source, text))
        self._count += 1

    def newest(self) -> tuple[Notice, ...]:
        return self.counted()[0]

    def counted(self) -> tuple[tuple[Notice, ...], int]:
        """The newest notices, and how many there were since the start: who knows some of them needs only the rest."""
        self.acquire()  # as ``emit`` runs
        try:
            return tuple(self._notices), self._count
        finally:
            self.release()


class SharedLogFile(logging.handlers.RotatingFileHandler):
    """A log that several engines of one workspace write to: whoever finds it full sets it aside, the others follow."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        stream: TextIO | None = self.stream
        if stream is not None and not self._is_ours(stream):
            stream.close()
            self.stream = self._open()
        return bool(super().shouldRollover(record))

    def _is_ours(self, stream: TextIO) -> bool:
        try:
            there, open_now = os.stat(self.baseFilename), os.fstat(stream.fileno())
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (open_now.st_dev, open_now.st_ino)

    def doRollover(self) -> None:
        try:
            super().doRollover()
        except OSError:  # Windows: another engine has it open; it grows on until that one ends
            self.stream = self._open()


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


def log_to_file(folder: Path, debug: bool = False) -> tuple[NoticeHandler, logging.Handler]:
    """Send all logging to ``<folder>/secondseat.log`` (5 files of 2 MB) and to a NoticeHandler.

    Each line names its process: several engines may write there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = SharedLogFile(folder / "secondseat.log", maxBytes=2_000_000, backupCount=4, encoding="utf-8")
    file.setFormatter(_RedactingFormatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    notices = NoticeHandler()
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    for name in ("openvino", "matplotlib", "numba", "PIL"):
        logging.getLogger(name).setLevel(logging.WARNING)
    root.addHandler(file)
    root.addHandler(notices)
    return notices, file
