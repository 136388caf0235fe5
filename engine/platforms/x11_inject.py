"""Injection on X11: XTEST behind a focus gate that no other client can slip through."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

from data.geometry import Rect
from engine.platforms.port import GateResult, Injected, PlatformError, place_in_window
from engine.platforms.x11_keys import BUTTON_NUMBERS, read_key_table
from engine.platforms.x11_windows import X11Windows
from engine.platforms.xlib import GONE, X, close_display


class X11Injector:
    """Grab the server, look at the focus, inject, let go of the server: nothing waits in between."""

    def __init__(self, connection: Any) -> None:
        if connection.query_extension("XTEST") is None:
            close_display(connection)
            raise PlatformError(
                "this X server has no XTEST extension, so that nothing can be pressed on it; start it with +extension XTEST"
            )
        self._connection = connection
        self._windows = X11Windows(connection)
        self._keys = read_key_table(connection)
        screen = connection.screen()
        self._screen = Rect(0, 0, int(screen.width_in_pixels), int(screen.height_in_pixels))

    def knows(self, name: str) -> bool:
        return name in BUTTON_NUMBERS or self._keys.code(name) is not None

    def inject(
        self,
        window_id: int,
        releases: Sequence[str],
        point: tuple[float, float] | None,
        presses: Sequence[str],
        margin_px: int,
        dry_run: bool = False,
    ) -> Injected:
        place: tuple[int, int] | None = None
        before_ns = after_ns = time.monotonic_ns()
        self._connection.grab_server()
        try:
            result, rect = self._gate(window_id)
            if rect is not None:
                place = None if point is None else place_in_window(point, rect, margin_px)
                result = self._check_place(window_id, place, any(name in BUTTON_NUMBERS for name in presses))
            before_ns = time.monotonic_ns()
            if result == "sent" and not dry_run:
                for name in releases:
                    self._press(name, False)
                if place is not None:
                    self._connection.xtest_fake_input(X.MotionNotify, 0, x=place[0], y=place[1])
                for name in presses:
                    self._press(name, True)
        finally:
            self._connection.ungrab_server()
            self._connection.sync()
            after_ns = time.monotonic_ns()
        return Injected(result, before_ns, after_ns, *(place or (None, None)))

    def release(self, names: Collection[str]) -> None:
        for name in names:
            self._press(name, False)
        self._connection.sync()

    def focus(self, window_id: int) -> GateResult:
        return self._gate(window_id)[0]

    def close(self) -> None:
        close_display(self._connection)

    def _gate(self, window_id: int) -> tuple[GateResult, Rect | None]:
        window = self._windows.resource(window_id)
        try:
            if not self._windows.has_focus(window_id):
                return ("hidden" if window.get_attributes().map_state != X.IsViewable else "no_focus"), None
            return "sent", self._windows.rect(window)
        except GONE:
            return "closed", None

    def _check_place(self, window_id: int, place: tuple[int, int] | None, clicks: bool) -> GateResult:
        if place is None:
            return "covered" if clicks and not self._windows.under_pointer(window_id) else "sent"
        if not (0 <= place[0] < self._screen.width and 0 <= place[1] < self._screen.height):
            return "off_screen"
        return "covered" if clicks and not self._windows.is_on_top(window_id, *place) else "sent"

    def _press(self, name: str, down: bool) -> None:
        button = BUTTON_NUMBERS.get(name)
        if button is not None:
            self._connection.xtest_fake_input(X.ButtonPress if down else X.ButtonRelease, button)
            return
        code = self._keys.code(name)
        if code is not None:
            self._connection.xtest_fake_input(X.KeyPress if down else X.KeyRelease, code)
