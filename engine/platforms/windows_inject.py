"""Injection on Windows: SendInput with scan codes, behind a focus check.

Windows has no way to hold the focus still while injecting: it is checked before and after, and what slipped through
to another window in between is let go at once. A race of well under a millisecond remains.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

from data.geometry import Rect
from engine.platforms import windows_types as w
from engine.platforms.keys import EXTENDED_SCAN_CODES, LINUX_CODES, code_of_name
from engine.platforms.port import GateResult, Injected, place_in_window
from engine.platforms.windows_api import Api, InputItem

EXTENDED: Final = 0x100
"""Set in our codes for keys with the E0 prefix."""

SCAN_CODES: Final[dict[str, int]] = {
    **{name: code for name, code in LINUX_CODES.items() if code <= 88 and name not in EXTENDED_SCAN_CODES},
    **{name: code | EXTENDED for name, code in EXTENDED_SCAN_CODES.items()},
}

BUTTON_FLAGS: Final = {"mouse_left": (0x2, 0x4), "mouse_right": (0x8, 0x10), "mouse_middle": (0x20, 0x40)}
_OTHER_BUTTON: Final = {"mouse_left": "mouse_right", "mouse_right": "mouse_left"}


def scan_code(name: str) -> int | None:
    """The scan code of a key, with ``EXTENDED`` for the E0 prefix; None for a key that cannot be pressed here."""
    code = SCAN_CODES.get(name)
    return code if code is not None else code_of_name(name)


def physical_button(name: str, swapped: bool) -> str:
    """The button to press so that a program gets ``name``, on a desktop whose buttons are swapped or not."""
    return _OTHER_BUTTON.get(name, name) if swapped else name


class WindowsInjector:
    def __init__(self, api: Api) -> None:
        self._api = api

    def knows(self, name: str) -> bool:
        return name in BUTTON_FLAGS or scan_code(name) is not None

    def inject(
        self,
        window_id: int,
        releases: Sequence[str],
        point: tuple[float, float] | None,
        presses: Sequence[str],
        margin_px: int,
        dry_run: bool = False,
    ) -> Injected:
        result, place = self.focus(window_id), None
        rect = self._api.client_rect(window_id) if result == "sent" else None
        if result == "sent" and rect is None:
            result = "closed"
        if rect is not None and point is not None:
            place = place_in_window(point, rect, margin_px)
        if result == "sent":
            result = self._check_place(window_id, place, any(name in BUTTON_FLAGS for name in presses))
        before_ns = time.monotonic_ns()
        if result == "sent" and not dry_run:
            self._send(releases, place, presses)
            if self._api.foreground() != window_id:
                self.release(presses)
                result = "no_focus"
        return Injected(result, before_ns, time.monotonic_ns(), *(place or (None, None)))

    def release(self, names: Collection[str]) -> None:
        self._send(tuple(names), None, ())

    def focus(self, window_id: int) -> GateResult:
        if not self._api.exists(window_id):
            return "closed"
        if self._api.is_minimised(window_id) or not self._api.is_visible(window_id):
            return "hidden"
        if self._api.has_more_rights(window_id):
            return "elevated"
        return "sent" if self._api.foreground() == window_id else "no_focus"

    def close(self) -> None:
        """Nothing is held open."""

    def _check_place(self, window_id: int, place: tuple[int, int] | None, clicks: bool) -> GateResult:
        screen = self._api.virtual_screen()
        if place is not None and screen.intersection(Rect(*place, 1, 1)) is None:
            return "off_screen"
        if clicks and self._api.window_at(*(place or self._api.cursor())) != window_id:
            return "covered"
        return "sent"

    def _send(self, releases: Sequence[str], place: tuple[int, int] | None, presses: Sequence[str]) -> None:
        swapped = self._api.buttons_are_swapped()
        items = [_key_or_button(name, False, swapped) for name in releases]
        if place is not None:
            items.append(_move(place, self._api.virtual_screen()))
        items += [_key_or_button(name, True, swapped) for name in presses]
        if items:
            self._api.send(items)


def _move(place: tuple[int, int], screen: Rect) -> InputItem:
    """To the middle of a pixel: positions are counted in 65536ths of all monitors together, and rounded down."""
    dx = ((place[0] - screen.left) * 2 + 1) * 32768 // screen.width
    dy = ((place[1] - screen.top) * 2 + 1) * 32768 // screen.height
    return InputItem(True, w.MOUSE_MOVE | w.MOUSE_ABSOLUTE | w.MOUSE_VIRTUAL_DESK, dx=dx, dy=dy)


def _key_or_button(name: str, down: bool, swapped: bool) -> InputItem:
    if name in BUTTON_FLAGS:
        return InputItem(True, BUTTON_FLAGS[physical_button(name, swapped)][0 if down else 1])
    code = scan_code(name) or 0
    flags = w.KEY_SCAN | (0 if down else w.KEY_UP) | (w.KEY_EXTENDED if code & EXTENDED else 0)
    return InputItem(False, flags, code & 0xFF)
