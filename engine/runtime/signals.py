"""SIGTERM, SIGHUP and SIGINT, and the closing of a console on Windows, in an order that holds even when the face hangs.

A ``signal.signal`` handler writes one byte into a pipe. A thread of ours reads it, so that nothing depends on the
drawing loop, which an unread terminal can block. The thread asks the face to leave, stops the engine (disarm first,
then save), and when the face has not left after the grace time restores the terminal and ends the process itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from engine.platforms.console import console_end

CAUGHT: Final[tuple[str, ...]] = ("SIGTERM", "SIGHUP", "SIGINT", "SIGBREAK")
GRACE_S: Final = 2.0


def _nothing() -> None:
    """The default for a step that a caller does not need."""


class Wake:
    """The way out of the process.

    ``ask_to_leave`` must return at once (it only asks). ``stop_engine`` may block; it is called at most once here
    and must bear being called again elsewhere. ``restore`` brings the terminal back. ``leave`` ends the process with
    a status and is replaced in tests.
    """

    def __init__(
        self,
        *,
        ask_to_leave: Callable[[], None] = _nothing,
        stop_engine: Callable[[], None] = _nothing,
        restore: Callable[[], Any] = _nothing,
        grace_s: float = GRACE_S,
        deadline_s: float = 6.0,
        leave: Callable[[int], Any] = os._exit,
    ) -> None:
        self.ask_to_leave = ask_to_leave
        self.stop_engine = stop_engine
        self.restore = restore
        self.signum = 0
        self._grace_s = grace_s
        self._deadline_s = deadline_s
        self._leave = leave
        self._left = threading.Event()
        self._read_fd, self._write_fd = os.pipe()
        if sys.platform != "win32":  # where a pipe that nobody else writes to is never full
            os.set_blocking(self._write_fd, False)
        self._before: dict[int, Any] = {}
        self._console = contextlib.ExitStack()
        self._thread = threading.Thread(target=self._watch, name="secondseat-wake", daemon=True)

    def install(self) -> None:
        """Take the signals; main thread only."""
        self._thread.start()
        for name in CAUGHT:
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._caught)
        self._console.enter_context(console_end(self._console_closed))

    def close(self) -> None:
        """Give the signals back and end the thread; main thread only."""
        self.left()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        self._console.close()
        with contextlib.suppress(OSError):
            os.write(self._write_fd, b"\0")
        self._thread.join(self._grace_s)
        if not self._thread.is_alive():
            os.close(self._read_fd)
            os.close(self._write_fd)

    def left(self) -> None:
        """The face has left and the terminal is whole: the thread need not do it."""
        self._left.set()

    def _caught(self, signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.write(self._write_fd, bytes([signum]))

    def _console_closed(self) -> None:
        self._caught(getattr(signal, "SIGBREAK", signal.SIGTERM), None)

    def _watch(self) -> None:
        try:
            byte = os.read(self._read_fd, 1)
        except OSError:
            return
        if not byte or byte == b"\0":
            return
        self.signum = byte[0]
        start = time.monotonic()
        stopping = threading.Thread(target=self._quietly, args=(self.stop_engine,), name="secondseat-stop", daemon=True)
        stopping.start()
        self._quietly(self.ask_to_leave)
        if not self._left.wait(self._grace_s):
            self._quietly(self.restore)
        stopping.join(max(0.0, self._deadline_s - (time.monotonic() - start)))
        if not self._left.wait(0.2):
            self._quietly(self.restore)
            self._leave(128 + self.signum)

    @staticmethod
    def _quietly(step: Callable[[], Any]) -> None:
        """One failing step must not keep the next from running; the failure goes to the log."""
        try:
            step()
        except Exception:  # the way out has to be walked to its end
            import logging

            logging.getLogger(__name__).exception("while leaving")
