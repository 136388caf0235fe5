"""The macOS port, on pynput and Quartz (which pynput brings).

What macOS does not offer is said plainly: programs need the Accessibility permission to press keys and Input
Monitoring to hear them, window titles need Screen Recording, nothing can hold the focus still while injecting, and
events do not tell whether a device or a program made them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from data.geometry import Rect
from engine.platforms.held import Held
from engine.platforms.keys import code_name, code_of_name
from engine.platforms.macos_permissions import HEARING, PRESSING, refusal
from engine.platforms.port import GateResult, Injected, PlatformError, RawInput, WindowInfo, place_in_window

log = logging.getLogger(__name__)

_ROWS: Final = (
    (
        0,
        "a s d f h g z x c v iso_less b q w e r y t 1 2 3 4 6 5 = 9 7 - 8 0 ] o u [ i p enter l j ' k ; \\ , / n m . tab space ` backspace",
    ),
    (53, "esc meta_right meta shift caps_lock alt ctrl shift_right alt_right ctrl_right"),
    (82, "kp_0 kp_1 kp_2 kp_3 kp_4 kp_5 kp_6 kp_7"),
    (91, "kp_8 kp_9"),
    (96, "f5 f6 f7 f3 f8 f9"),
    (65, "kp_decimal"),
    (67, "kp_multiply"),
    (69, "kp_plus"),
    (75, "kp_divide kp_enter"),
    (78, "kp_minus"),
    (103, "f11"),
    (105, "f13"),
    (107, "f14"),
    (109, "f10"),
    (111, "f12"),
    (113, "f15"),
    (114, "insert home page_up delete f4 end f2 page_down f1 left right down up"),
)
KEY_CODES: Final[dict[str, int]] = {name: first + i for first, names in _ROWS for i, name in enumerate(names.split())}
"""Apple's virtual key codes, which are places on the keyboard."""
_NAMES: Final = {code: name for name, code in KEY_CODES.items()}
_BUTTONS: Final = {"mouse_left": "left", "mouse_right": "right", "mouse_middle": "middle"}
_ON_SCREEN, _NO_DESKTOP, _ALL = 1, 16, 0
_COMBINED_SESSION: Final = 0


class MacPort:
    name = "macos"

    def __init__(self) -> None:
        try:
            self._quartz: Any = import_module("Quartz")
            self._keyboard: Any = import_module("pynput.keyboard")
            self._mouse: Any = import_module("pynput.mouse")
        except ImportError as problem:
            raise PlatformError(
                f"windows and keys need pynput and Quartz, and {problem.name} is missing; reinstall secondseat"
            ) from problem

    def windows(self) -> list[WindowInfo]:
        return [info for row in self._rows(_ALL) if (info := self._info(row)).title]

    def window(self, window_id: int) -> WindowInfo | None:
        return next((self._info(row) for row in self._rows(_ALL) if int(row["kCGWindowNumber"]) == window_id), None)

    def client_rect(self, window_id: int) -> Rect | None:
        """With the title bar: macOS tells no client area to other programs. Choose a full-screen or borderless window."""
        info = self.window(window_id)
        return info.rect if info is not None else None

    def focused_window(self) -> int | None:
        """The frontmost ordinary window, which is the one with the keyboard save for brief moments."""
        row = next((r for r in self._rows(_ON_SCREEN) if int(r.get("kCGWindowLayer", 1)) == 0), None)
        return None if row is None else int(row["kCGWindowNumber"])

    def has_focus(self, window_id: int) -> bool:
        return self.focused_window() == window_id

    def pointer(self) -> tuple[int, int]:
        x, y = self._mouse.Controller().position
        return round(x), round(y)

    def pressed(self) -> frozenset[str]:
        keys = {n for n, code in KEY_CODES.items() if self._quartz.CGEventSourceKeyState(_COMBINED_SESSION, code)}
        buttons = {n for i, n in enumerate(_BUTTONS) if self._quartz.CGEventSourceButtonState(_COMBINED_SESSION, i)}
        return frozenset(keys | buttons)

    def scale(self) -> float:
        """Pixels per point of the main display: captured pictures are this much larger than positions."""
        display = self._quartz.CGMainDisplayID()
        mode = self._quartz.CGDisplayCopyDisplayMode(display)
        return float(self._quartz.CGDisplayModeGetPixelWidth(mode)) / float(self._quartz.CGDisplayModeGetWidth(mode))

    def obstacle(self, window_id: int | None = None) -> str:
        """The permissions hold for all windows alike."""
        del window_id
        return refusal(self._quartz, PRESSING) or refusal(self._quartz, HEARING)

    def covers(self, window_id: int, x: int, y: int) -> bool:
        """Whether another window lies over the place; windows come front to back."""
        for row in self._rows(_ON_SCREEN):
            rect = self._info(row).rect
            if rect is not None and float(row.get("kCGWindowAlpha", 1.0)) > 0 and rect.intersection(Rect(x, y, 1, 1)) is not None:
                return int(row["kCGWindowNumber"]) != window_id
        return True

    def is_on_a_screen(self, x: int, y: int) -> bool:
        _, displays, _ = self._quartz.CGGetActiveDisplayList(32, None, None)
        for display in displays:
            bounds = self._quartz.CGDisplayBounds(display)
            rect = Rect(int(bounds.origin.x), int(bounds.origin.y), int(bounds.size.width), int(bounds.size.height))
            if rect.intersection(Rect(x, y, 1, 1)) is not None:
                return True
        return False

    def injector(self) -> MacInjector:
        """Raises PlatformError without the permission: macOS drops what is pressed, and says nothing."""
        problem = refusal(self._quartz, PRESSING)
        if problem:
            raise PlatformError(problem)
        return MacInjector(self, self._keyboard, self._mouse)

    def listener(self, callback: Callable[[RawInput], None]) -> MacListener:
        return MacListener(self._keyboard, self._mouse, callback, refusal(self._quartz, HEARING))

    def close(self) -> None:
        """Nothing is held open."""

    def _rows(self, option: int) -> list[Any]:
        return list(self._quartz.CGWindowListCopyWindowInfo(option | _NO_DESKTOP, 0) or ())

    def _info(self, row: Any) -> WindowInfo:
        bounds, shown = row["kCGWindowBounds"], bool(row.get("kCGWindowIsOnscreen", False))
        rect = Rect(int(bounds["X"]), int(bounds["Y"]), int(bounds["Width"]), int(bounds["Height"]))
        title = str(row.get("kCGWindowName") or row.get("kCGWindowOwnerName") or "")
        return WindowInfo(int(row["kCGWindowNumber"]), title, rect if shown else None, shown)


class MacInjector:
    """The focus is checked before and after, as on Windows; a race of about a millisecond remains."""

    def __init__(self, port: MacPort, keyboard: Any, mouse: Any) -> None:
        self._port, self._keyboard, self._mouse = port, keyboard, mouse
        self._keys, self._pointer = keyboard.Controller(), mouse.Controller()

    def knows(self, name: str) -> bool:
        return name in _BUTTONS or name in KEY_CODES or code_of_name(name) is not None

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
        rect = self._port.client_rect(window_id) if result == "sent" else None
        if rect is not None and point is not None:
            place = place_in_window(point, rect, margin_px)
        if result == "sent":
            result = self._check_place(window_id, place, any(name in _BUTTONS for name in presses))
        before_ns = time.monotonic_ns()
        if result == "sent" and not dry_run:
            self.release(releases)
            if place is not None:
                self._pointer.position = place
            for name in presses:
                self._press(name, True)
            if not self._port.has_focus(window_id):
                self.release(presses)
                result = "no_focus"
        return Injected(result, before_ns, time.monotonic_ns(), *(place or (None, None)))

    def release(self, names: Collection[str]) -> None:
        for name in names:
            self._press(name, False)

    def focus(self, window_id: int) -> GateResult:
        info = self._port.window(window_id)
        if info is None:
            return "closed"
        if not info.visible:
            return "hidden"
        return "sent" if self._port.has_focus(window_id) else "no_focus"

    def close(self) -> None:
        """Nothing is held open."""

    def _check_place(self, window_id: int, place: tuple[int, int] | None, clicks: bool) -> GateResult:
        if place is not None and not self._port.is_on_a_screen(*place):
            return "off_screen"
        return "covered" if clicks and self._port.covers(window_id, *(place or self._port.pointer())) else "sent"

    def _press(self, name: str, down: bool) -> None:
        if name in _BUTTONS:
            button = getattr(self._mouse.Button, _BUTTONS[name])
            (self._pointer.press if down else self._pointer.release)(button)
            return
        code = KEY_CODES.get(name, code_of_name(name))
        key = self._keyboard.KeyCode.from_vk(code)
        (self._keys.press if down else self._keys.release)(key)


class MacListener:
    """pynput's two listeners. Every event is marked as possibly injected: macOS does not tell.

    ``refused``: why macOS would let it hear nothing.
    """

    def __init__(self, keyboard: Any, mouse: Any, callback: Callable[[RawInput], None], refused: str = "") -> None:
        self._keyboard, self._mouse, self._callback, self._refused = keyboard, mouse, callback, refused
        self._threads: list[Any] = []
        self._held: Held[str] = Held()

    @property
    def failure(self) -> str:
        if not self._threads:
            return "not started"
        if all(thread.is_alive() for thread in self._threads):
            return ""
        return f"macOS ended the listening; {HEARING.remedy}"

    def start(self) -> None:
        if self._threads:
            return
        if self._refused:
            raise PlatformError(self._refused)
        self._threads = [
            self._keyboard.Listener(on_press=self._key_press, on_release=self._key_release),
            self._mouse.Listener(on_move=self._move, on_click=self._click, on_scroll=self._scroll),
        ]
        for thread in self._threads:
            thread.start()
            thread.wait()

    def stop(self) -> None:
        for thread in self._threads:
            thread.stop()
        self._threads = []

    def _key_press(self, key: Any, *_rest: Any) -> None:
        self._key(key, True)

    def _key_release(self, key: Any, *_rest: Any) -> None:
        self._key(key, False)

    def _key(self, key: Any, press: bool) -> None:
        code = getattr(getattr(key, "value", key), "vk", None)
        if code is None:  # a media key: it has no place in our table
            return
        name, now_ns = _NAMES.get(int(code)) or code_name(int(code)), time.monotonic_ns()
        if self._held.changes(name, press, now_ns):
            self._tell(RawInput(now_ns, "press" if press else "release", name))

    def _move(self, x: float, y: float, *_rest: Any) -> None:
        self._tell(RawInput(time.monotonic_ns(), "move", "", round(x), round(y)))

    def _click(self, x: float, y: float, button: Any, press: bool, *_rest: Any) -> None:
        name = next((ours for ours, theirs in _BUTTONS.items() if theirs == button.name), f"mouse_{button.name}")
        self._tell(RawInput(time.monotonic_ns(), "press" if press else "release", name, round(x), round(y)))

    def _scroll(self, x: float, y: float, dx: float, dy: float, *_rest: Any) -> None:
        self._tell(RawInput(time.monotonic_ns(), "scroll", "", round(x), round(y), round(dx), round(dy)))

    def _tell(self, raw: RawInput) -> None:
        """An exception would end pynput's thread: it is told and forgotten."""
        try:
            self._callback(replace(raw, device="unknown", injected=True))
        except Exception:
            log.exception("an input event was not handled: %s", raw.kind)
