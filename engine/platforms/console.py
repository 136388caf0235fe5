"""The closing of a console, which Windows tells by no signal: it gives the process a few seconds, then ends it."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from engine.platforms.windows_types import Calls

GRACE_S: Final = 4.5
"""Windows waits 5 s for the answer."""


@contextlib.contextmanager
def console_end(tell: Callable[[], None], calls: Calls | None = None, grace_s: float = GRACE_S) -> Generator[None]:
    """While the block runs, a console that is closed, a log-off and a shutdown call ``tell``, from a thread of the system's.

    The block then has until its end, ``grace_s`` at most, before the process is ended. Does nothing but on Windows.
    """
    if sys.platform != "win32" and calls is None:
        yield
        return
    from engine.platforms import windows_types as w

    table: Any = calls or w.load_calls()
    left = threading.Event()

    def on_event(event: int) -> int:
        if event not in (w.CTRL_CLOSE_EVENT, w.CTRL_LOGOFF_EVENT, w.CTRL_SHUTDOWN_EVENT):
            return 0  # Ctrl-C and Ctrl-Break are signals, and Python's
        tell()
        left.wait(grace_s)
        return 1

    handler = table.prototype(ctypes.c_int, ctypes.c_uint32)(on_event)
    table.SetConsoleCtrlHandler(ctypes.cast(handler, ctypes.c_void_p), 1)
    try:
        yield
    finally:
        left.set()
        table.SetConsoleCtrlHandler(ctypes.cast(handler, ctypes.c_void_p), 0)
