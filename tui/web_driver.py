"""Textual's driver for a face in a browser: drawing and keys pass through pipes to ``tui.web``.

It ends the face when the server is gone, and leaves the signals to those who took them before.
"""

from __future__ import annotations

import signal
import sys
import time
from typing import Any, Final

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

SLOW_WRITE_S: Final = 0.1
"""A write that takes longer means that the browser, or the tunnel to it, does not keep up."""
SLOW_FOR_S: Final = 10.0


class BrowserDriver(WebDriver):
    """``whole``: there is no terminal to be mended. ``slow``: the browser did not keep up within the last 10 s."""

    whole = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType]
        self._slow_until = 0.0

    @property
    def slow(self) -> bool:
        return time.monotonic() < self._slow_until

    def start_application_mode(self) -> None:
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        super().start_application_mode()
        if sys.platform != "win32":
            for number, handler in kept.items():
                self._loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def write(self, data: str) -> None:
        began_s = time.monotonic()
        try:
            super().write(data)
        except OSError:  # the server is gone
            self._leave()
        if time.monotonic() - began_s > SLOW_WRITE_S:
            self._slow_until = time.monotonic() + SLOW_FOR_S

    def stop_application_mode(self) -> None:
        try:
            super().stop_application_mode()
        except OSError:
            self.exit_event.set()

    def run_input_thread(self) -> None:
        """Keys and sizes; the end of the pipe is the end of the face."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self._app.post_message(ExitApp())
