"""The Windows port: SendInput scan codes behind a focus check, and low-level hooks.

Windows has no way to hold the focus still while injecting: it is checked before and after, and what slipped through
to another window in between is let go at once. A race of well under a millisecond remains.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from data.geometry import Rect
from engine.platforms.keys import EXTENDED_SCAN_CODES, LINUX_CODES, code_name, code_of_name
from engine.platforms.port import GateResult, Injected, PlatformError, RawInput, WindowInfo, place_in_window
from engine.platforms.windows_api import SIGNATURE, Api, HookEvent, InputItem

_EXTENDED: Final = 0x100
"""Set in our codes for keys with the E0 prefix."""

SCAN_CODES: Final[dict[str, int]] = {
    **{name: code for name, code in LINUX_CODES.items() if code <= 88 and name not in EXTENDED_SCAN_CODES},
    **{name: code | _EXTENDED for name, code in EXTENDED_SCAN_CODES.items()},
}
_NAMES: Final = {code: name for name, code in SCAN_CODES.items()} | {
    0x36 | _EXTENDED: "shift_right",
    0x45 | _EXTENDED: "num_lock",
    0x45: "pause",
}
"""The hooks mark the right shift and num lock as extended, though they have no E0 prefix."""

_KEY_EXTENDED, _KEY_UP, _KEY_SCAN = 0x1, 0x2, 0x8
_MOUSE_MOVE, _MOUSE_VIRTUAL_DESK, _MOUSE_ABSOLUTE = 0x1, 0x4000, 0x8000
_BUTTON_FLAGS: Final = {"mouse_left": (0x2, 0x4), "mouse_right": (0x8, 0x10), "mouse_middle": (0x20, 0x40)}
_BUTTON_KEYS: Final = {"mouse_left": 0x01, "mouse_right": 0x02, "mouse_middle": 0x04}
_BUTTON_MESSAGES: Final = {
    0x201: ("press", "mouse_left"),
    0x202: ("release", "mouse_left"),
    0x204: ("press", "mouse_right"),
    0x205: ("release", "mouse_right"),
    0x207: ("press", "mouse_middle"),
    0x208: ("release", "mouse_middle"),
}
_WM_MOUSEMOVE, _WM_MOUSEWHEEL, _WM_XDOWN, _WM_XUP, _WM_MOUSEHWHEEL = 0x200, 0x20A, 0x20B, 0x20C, 0x20E
_HOOK_KEY_EXTENDED, _HOOK_KEY_INJECTED, _HOOK_KEY_UP, _HOOK_MOUSE_INJECTED = 0x01, 0x10, 0x80, 0x01


def scan_code(name: str) -> int | None:
    """The scan code of a key, with ``0x100`` for the E0 prefix; None for a key that cannot be pressed here."""
    code = SCAN_CODES.get(name)
    return code if code is not None else code_of_name(name)


class WindowsInjector:
    def __init__(self, api: Api) -> None:
        self._api = api

    def knows(self, name: str) -> bool:
        return name in _BUTTON_FLAGS or scan_code(name) is not None

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
            result = self._check_place(window_id, place, any(name in _BUTTON_FLAGS for name in presses))
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
        items: list[InputItem] = [self._key_or_button(name, False) for name in releases]
        if place is not None:
            screen = self._api.virtual_screen()
            dx = round((place[0] - screen.left) * 65535 / max(1, screen.width - 1))
            dy = round((place[1] - screen.top) * 65535 / max(1, screen.height - 1))
            items.append(InputItem(True, _MOUSE_MOVE | _MOUSE_ABSOLUTE | _MOUSE_VIRTUAL_DESK, dx=dx, dy=dy))
        items += [self._key_or_button(name, True) for name in presses]
        if items:
            self._api.send(items)

    def _key_or_button(self, name: str, down: bool) -> InputItem:
        if name in _BUTTON_FLAGS:
            return InputItem(True, _BUTTON_FLAGS[name][0 if down else 1])
        code = scan_code(name) or 0
        flags = _KEY_SCAN | (0 if down else _KEY_UP) | (_KEY_EXTENDED if code & _EXTENDED else 0)
        return InputItem(False, flags, code & 0xFF)


class WindowsListener:
    """Low-level hooks in a thread of their own. The callback runs inside the hook and must be quick."""

    def __init__(self, api: Api, callback: Callable[[RawInput], None]) -> None:
        self._api, self._callback = api, callback
        self._thread: threading.Thread | None = None
        self._thread_id = 0
        self._ready = threading.Event()
        self._failure = "not started"
        self._down: set[str] = set()

    @property
    def failure(self) -> str:
        return self._failure

    def start(self) -> None:
        if self._thread is not None:
            return
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="windows-listener", daemon=True)
        self._thread.start()
        self._ready.wait(5)
        if self._failure:
            self._thread = None
            raise PlatformError(self._failure)

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._api.end_hooks(self._thread_id)
        thread.join(5)
        self._failure = "stopped"

    def _run(self) -> None:
        self._thread_id = self._api.thread_id()
        reason = self._api.run_hooks(self._on_hook, self._ready.set)
        self._failure = reason or "stopped"
        self._ready.set()

    def _on_hook(self, event: HookEvent) -> None:
        raw = self.translate(event, time.monotonic_ns())
        if raw is not None:
            self._callback(raw)

    def translate(self, event: HookEvent, time_ns: int) -> RawInput | None:
        """One hook event in the port's words; None for auto-repeat and what is none of ours."""
        injected = bool(event.flags & (_HOOK_MOUSE_INJECTED if event.mouse else _HOOK_KEY_INJECTED))
        device = "device" if not injected else "Secondseat" if event.extra == SIGNATURE else "another program"
        if not event.mouse:
            code = (event.data & 0xFF) | (_EXTENDED if event.flags & _HOOK_KEY_EXTENDED else 0)
            name, press = _NAMES.get(code) or code_name(code), not event.flags & _HOOK_KEY_UP
            if not self._changes(name, press):
                return None
            return RawInput(time_ns, "press" if press else "release", name, device=device, injected=injected)
        place = (event.x, event.y)
        if event.message == _WM_MOUSEMOVE:
            return RawInput(time_ns, "move", "", *place, device=device, injected=injected)
        if event.message in (_WM_MOUSEWHEEL, _WM_MOUSEHWHEEL):
            turned = (event.data >> 16) - (0x10000 if event.data >> 31 else 0)
            step = (turned > 0) - (turned < 0)
            dx, dy = (step, 0) if event.message == _WM_MOUSEHWHEEL else (0, step)
            return RawInput(time_ns, "scroll", "", *place, dx, dy, device, injected)
        if event.message in (_WM_XDOWN, _WM_XUP):
            name, press = f"mouse_button{7 + (event.data >> 16)}", event.message == _WM_XDOWN
        elif event.message in _BUTTON_MESSAGES:
            kind, name = _BUTTON_MESSAGES[event.message]
            press = kind == "press"
        else:
            return None
        if not self._changes(name, press):
            return None
        return RawInput(time_ns, "press" if press else "release", name, *place, device=device, injected=injected)

    def _changes(self, name: str, press: bool) -> bool:
        if not press:
            self._down.discard(name)
            return True
        if name in self._down:
            return False
        self._down.add(name)
        return True


class WindowsPort:
    name = "windows"

    def __init__(self, api: Api | None = None) -> None:
        self._api = api if api is not None else Api()

    def windows(self) -> list[WindowInfo]:
        return [info for w in self._api.top_level_windows() if (info := self.window(w)) is not None and info.title and self._is_shown(info)]

    def window(self, window_id: int) -> WindowInfo | None:
        if not self._api.exists(window_id):
            return None
        minimised = self._api.is_minimised(window_id)
        visible = not minimised and self._api.is_visible(window_id)
        # A minimised window's rectangle is (-32000, -32000, 160, 28): never to be used.
        return WindowInfo(window_id, self._api.title(window_id), self._real_rect(window_id) if visible else None, visible, minimised)

    def client_rect(self, window_id: int) -> Rect | None:
        if self._api.is_minimised(window_id) or not self._api.is_visible(window_id):
            return None
        return self._real_rect(window_id)

    def focused_window(self) -> int | None:
        return self._api.foreground() or None

    def has_focus(self, window_id: int) -> bool:
        return window_id != 0 and self._api.foreground() == window_id

    def pointer(self) -> tuple[int, int]:
        return self._api.cursor()

    def pressed(self) -> frozenset[str]:
        keys = {
            n for n, code in SCAN_CODES.items() if self._is_down(self._api.virtual_key((code & 0xFF) | (0xE000 if code & _EXTENDED else 0)))
        }
        return frozenset(keys | {n for n, key in _BUTTON_KEYS.items() if self._api.is_down(key)})

    def scale(self) -> float:
        """Of the focused window's monitor. Positions are in real pixels all the same: the process is scaling-aware."""
        return self._api.window_dpi(self._api.foreground()) / 96.0

    def injector(self) -> WindowsInjector:
        return WindowsInjector(self._api)

    def listener(self, callback: Callable[[RawInput], None]) -> WindowsListener:
        return WindowsListener(self._api, callback)

    def close(self) -> None:
        """Nothing is held open."""

    def _is_shown(self, info: WindowInfo) -> bool:
        """Windows keeps many windows that nobody ever sees: only visible and minimised ones are listed."""
        return info.minimised or (info.visible and info.rect is not None)

    def _real_rect(self, window_id: int) -> Rect | None:
        rect = self._api.client_rect(window_id)
        return rect if rect is not None and rect.width > 0 and rect.height > 0 else None

    def _is_down(self, virtual_key: int) -> bool:
        return virtual_key != 0 and self._api.is_down(virtual_key)
