"""The person's terminal, kept apart from everything that libraries print.

``claim_terminal`` runs before anything heavy is imported. It moves the terminal to a descriptor of its own, on
which the face draws, and points descriptors 1 and 2 at a log file, so that no library, native or Python, can write
onto the screen. ``Terminal.restore`` brings the terminal back whole even when nobody reads it and the drawing
thread hangs in a write.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING or sys.platform != "win32":
    import termios as _termios

    termios: ModuleType | None = _termios
else:
    termios = None

LOG_LIMIT_BYTES: Final = 4_000_000
"""A log larger than this is set aside as ``<name>.1`` at the next start."""

RESTORE_SEQUENCES: Final = (
    "\x18"  # ends a sequence that was cut in the middle
    "\x1b[?2026l"  # no synchronised update in progress
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse off
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l"  # focus reports, bracketed paste, size reports
    "\x1b[?7h\x1b[0m"  # wrap, plain colours
    "\x1b[?1049l\x1b[?25h"  # main screen, cursor
)


class Terminal:
    """The terminal as it was found, and the way back to it.

    ``drawing`` is the text stream that the face draws on; ``log`` the stream that stands for stdout and stderr.
    """

    def __init__(self, drawing: TextIO, log: TextIO, log_path: Path, kept: tuple[int, int], streams: tuple[Any, ...]) -> None:
        self.drawing = drawing
        self.log = log
        self.log_path = log_path
        self._kept = kept
        self._streams = streams
        self._attributes = _attributes(0)
        self._direct_fd = _open_direct(drawing.fileno())
        self._released = False

    def restore(self, deadline_s: float = 1.0) -> bool:
        """Cooked mode, main screen, mouse off; what was waiting to be drawn is thrown away.

        Safe from any thread and for an unread or vanished terminal; the drawing stream draws nothing afterwards.
        Returns whether the terminal took the sequences within the deadline.
        """
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.drawing.fileno())
            os.close(null)
        if termios is not None and self._attributes is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(0, termios.TCSANOW, self._attributes)
        left = RESTORE_SEQUENCES.encode()
        end = time.monotonic() + deadline_s
        while left and time.monotonic() < end:
            # A write that hangs in an unread terminal holds the terminal's write lock: throwing its output away
            # lets it finish, and only then does this write get through.
            if termios is not None:
                with contextlib.suppress(termios.error, OSError):
                    termios.tcflush(self._direct_fd, termios.TCOFLUSH)
            try:
                left = left[os.write(self._direct_fd, left) :]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                return False
        return not left

    def release(self) -> None:
        """Descriptors 1 and 2 and the standard streams are the terminal's again. Does nothing the second time."""
        if self._released:
            return
        self._released = True
        with contextlib.suppress(OSError, ValueError):
            self.log.flush()
        for kept, standard in zip(self._kept, (1, 2), strict=True):
            os.dup2(kept, standard)
            os.close(kept)
        sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = self._streams


def _attributes(fd: int) -> list[Any] | None:
    if termios is None:
        return None
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def _open_direct(fd: int) -> int:
    """A descriptor of its own for the terminal, not blocking: the setting is not shared with the shell."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, AttributeError):
        return os.dup(fd)


def default_log_path() -> Path:
    """Where library output goes: the user's state folder."""
    return state_folder() / "output.log"


def state_folder() -> Path:
    """The folder for what the program remembers by itself (logs, layout), not for the person's own settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "secondseat"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "secondseat"


def open_log(path: Path) -> tuple[int, Path]:
    """Open the log for appending; the null device when no folder can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
            path.replace(path.with_name(path.name + ".1"))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), path
    except OSError:
        return os.open(os.devnull, os.O_WRONLY), Path(os.devnull)


def claim_terminal(log_path: Path | None = None) -> Terminal:
    """Point descriptors 1 and 2 at the log and hand back the terminal. Call it before heavy imports.

    The drawing stream is UTF-8 with replacement whatever the locale says, so that no name can stop the drawing.
    """
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    drawing_fd = os.dup(2 if os.isatty(2) else 1)
    kept = (os.dup(1), os.dup(2))
    log_fd, path = open_log(log_path or default_log_path())
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(log_fd)
    drawing = open(drawing_fd, "w", encoding="utf-8", errors="replace", newline="", buffering=8192, closefd=False)  # noqa: SIM115
    log = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    sys.__stdout__ = sys.__stderr__ = drawing  # type: ignore[misc]  # where Textual looks for its screen
    sys.stdout = sys.stderr = log
    return Terminal(drawing, log, path, kept, streams)
