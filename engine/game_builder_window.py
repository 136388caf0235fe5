"""The windows that are open, and one of them looked at: thin adapters for the screen."""

from __future__ import annotations

import threading
import time
from typing import Final

from data.geometry import Rect
from data.profile import WHOLE, Region
from data.schema import Frame
from engine.platforms import current_port
from engine.platforms.port import PlatformError, WindowInfo, describe_missing_window, find_windows
from engine.runtime.pacing import Pacer, Rate
from engine.sources.screen import ScreenSource

RATE_OVER_S: Final = 2.0


def open_windows() -> list[WindowInfo]:
    """Windows that a game could be in, those that are seen first. Raises PlatformError when there is no screen."""
    port = current_port()
    try:
        return sorted(port.windows(), key=lambda w: (w.rect is None, w.title.casefold()))
    finally:
        port.close()


def find_window(title_part: str) -> WindowInfo:
    """The window whose title holds the text. Raises PlatformError, which tells the windows that there are."""
    port = current_port()
    try:
        found = find_windows(port, title_part)
        if not found:
            raise PlatformError(
                describe_missing_window(title_part, port.windows()) + "; start the game, or give a part of its window's title"
            )
        return found[0]
    finally:
        port.close()


def filtered(windows: list[WindowInfo], text: str) -> list[WindowInfo]:
    """Those whose title holds every word of the text."""
    words = text.casefold().split()
    return [window for window in windows if all(word in window.title.casefold() for word in words)]


class WindowEye:
    """Looks at a window in a thread of its own, ``fps`` times a second, and keeps only the newest picture."""

    def __init__(self, title: str, part: Region = WHOLE, fps: float = 10.0) -> None:
        self._source = ScreenSource(window=title, fps=fps, part=part)
        self._pacer_hz = fps
        self._stop = threading.Event()
        self._first = threading.Event()
        self._rate = Rate(RATE_OVER_S)
        self._frame: Frame | None = None
        self._state = "not started"
        self._thread: threading.Thread | None = None

    def start(self) -> WindowEye:
        self._thread = threading.Thread(target=self._run, name="window-eye", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(5)

    def __enter__(self) -> WindowEye:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def frame(self) -> Frame | None:
        """The newest picture; None while the window cannot be seen."""
        return self._frame

    @property
    def state(self) -> str:
        """Why there is no picture; empty while there is."""
        return self._state

    @property
    def window_id(self) -> int | None:
        return self._source.window_id

    @property
    def rect(self) -> Rect | None:
        return self._source.rect

    def rate(self) -> float:
        """Pictures a second over the last two seconds."""
        return self._rate.hz(time.monotonic_ns())

    def wait(self, timeout_s: float = 5.0) -> Frame:
        """The newest picture, waited for. Raises PlatformError with the reason when none comes."""
        self._first.wait(timeout_s)
        frame = self._frame
        if frame is None:
            raise PlatformError(self._state or f"no picture of the window came within {timeout_s:g} s")
        return frame

    def _run(self) -> None:
        source, pacer = self._source, Pacer(self._pacer_hz)
        try:
            source.open()
            while pacer.wait(self._stop) is not None:
                frame = source.grab()
                self._frame, self._state = frame, source.state
                if frame is not None:
                    self._rate.mark(time.monotonic_ns())
                    self._first.set()
        except PlatformError as problem:
            self._frame, self._state = None, str(problem)
            self._first.set()
        finally:
            source.close()
