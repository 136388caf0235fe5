"""Children that a Ctrl-C or a closing terminal is not for, and how they are asked to end."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

_CREATE_NEW_PROCESS_GROUP: Final = 0x200
_CREATE_NO_WINDOW: Final = 0x8000000
_CTRL_BREAK_EVENT: Final = 1


def creation_flags(keep_console: bool = False) -> int:
    """``creationflags`` of a child that is started with ``start_new_session``, which is for POSIX alone.

    On Windows: without the terminal's console, which takes its programs with it when it closes. ``keep_console``
    leaves the child in it, because ``ask_to_end`` reaches only programs of one console.
    """
    if sys.platform != "win32":
        return 0
    return _CREATE_NEW_PROCESS_GROUP | (0 if keep_console else _CREATE_NO_WINDOW)


def ask_to_end(process_id: int, number: int = signal.SIGTERM) -> None:
    """Sends a signal that a child may take as a request. Raises OSError when there is none of that number.

    On Windows it is Ctrl-Break, which arrives as SIGBREAK; what ``os.kill`` sends otherwise ends a process at once.
    """
    os.kill(process_id, _CTRL_BREAK_EVENT if sys.platform == "win32" else number)
