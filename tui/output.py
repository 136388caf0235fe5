"""What libraries printed, for the full log: the tail of the file that descriptors 1 and 2 were pointed at."""

from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, TextIO

from engine.state import Notice
from tui.tail import Tail

POLL_S: Final = 1.0
KEPT: Final = 500


class OutputTail:
    """Follows the log file in a thread that starts when the full log is first looked at."""

    def __init__(self, path: Path | None, stream: TextIO | None = None) -> None:
        self.stream = stream
        self._path = path
        self._lines: deque[Notice] = deque(maxlen=KEPT)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def notices(self) -> tuple[Notice, ...]:
        """The newest lines as notices of the level info, by the time they were seen."""
        if self._thread is None and self._path is not None:
            self._thread = threading.Thread(target=self._run, name="secondseat-output", daemon=True)
            self._thread.start()
        return tuple(self._lines)

    def stop(self) -> None:
        self._wake.set()

    def _run(self) -> None:
        assert self._path is not None
        tail = Tail(self._path)
        while not self._wake.is_set():
            _, lines = tail.read()
            now = time.time()
            for line in lines[-KEPT:]:
                if line.strip():
                    self._lines.append(Notice(now, "info", "output", line.decode("utf-8", "replace")))
            self._wake.wait(POLL_S)
