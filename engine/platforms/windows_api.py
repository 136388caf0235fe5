"""The Windows calls in Python's words: plain numbers, names and rectangles in and out.

``calls`` is the table of Win32 functions; a stand-in of it (the same table, the same structures) tests all that
stands above.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from data.geometry import Rect
from engine.platforms import windows_types as w
from engine.platforms.windows_types import Calls, load_calls

_BEAT_MS: Final = 1000
_DEAF_MS: Final = 1500
"""The system has seen input this much later than our hooks: they were taken out."""
_HIGHEST: Final = 0x4000
"""What a process counts as that does not even show its rights to us (system)."""


@dataclass(frozen=True, slots=True)
class InputItem:
    """One element of SendInput. ``mouse``: dx, dy as MOUSEINPUT has them; else a key's scan code."""

    mouse: bool
    flags: int
    scan: int = 0
    dx: int = 0
    dy: int = 0


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a low-level hook was told. ``message``: WM_*; ``data``: scan code of a key, or mouseData."""

    mouse: bool
    message: int
    flags: int
    data: int
    x: int = 0
    y: int = 0
    extra: int = 0


class Api:
    """Thin: one method per call or two. Stateless but for what was found out about processes' rights."""

    def __init__(self, calls: Calls | None = None) -> None:
        self._calls: Any = calls if calls is not None else load_calls()
        self._rights: dict[int, int] = {}
        self._be_aware_of_scaling()

    def _be_aware_of_scaling(self) -> None:
        """Without this, positions and sizes are divided by the display's scale."""
        if self._calls.SetProcessDpiAwarenessContext is not None:
            self._calls.SetProcessDpiAwarenessContext(w.PER_MONITOR_AWARE_V2)
        elif self._calls.SetProcessDPIAware is not None:  # before Windows 10 1703
            self._calls.SetProcessDPIAware()

    def top_level_windows(self) -> list[int]:
        found: list[int] = []

        def note(handle: int | None, _data: int) -> int:
            found.append(handle or 0)
            return 1

        callback = self._calls.prototype(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t)(note)
        self._calls.EnumWindows(ctypes.cast(callback, ctypes.c_void_p), 0)
        return found

    def title(self, window: int) -> str:
        buffer = ctypes.create_unicode_buffer(int(self._calls.GetWindowTextLengthW(window)) + 1)
        self._calls.GetWindowTextW(window, ctypes.addressof(buffer), len(buffer))
        return buffer.value

    def exists(self, window: int) -> bool:
        return bool(self._calls.IsWindow(window))

    def is_visible(self, window: int) -> bool:
        """Shown, and not one of those that the system keeps hidden ("cloaked") though it calls them visible."""
        cloaked = ctypes.c_uint32()
        self._calls.DwmGetWindowAttribute(window, w.DWMWA_CLOAKED, ctypes.addressof(cloaked), ctypes.sizeof(cloaked))
        return bool(self._calls.IsWindowVisible(window)) and not cloaked.value

    def is_minimised(self, window: int) -> bool:
        return bool(self._calls.IsIconic(window))

    def client_rect(self, window: int) -> Rect | None:
        rect, corner = w.Rectangle(), w.Point(0, 0)
        if not self._calls.GetClientRect(window, ctypes.byref(rect)) or not self._calls.ClientToScreen(window, ctypes.byref(corner)):
            return None
        return Rect(corner.x, corner.y, rect.right - rect.left, rect.bottom - rect.top)

    def foreground(self) -> int:
        """The top-level window with the keyboard; 0 when there is none."""
        return self._root(self._calls.GetForegroundWindow())

    def window_at(self, x: int, y: int) -> int:
        return self._root(self._calls.WindowFromPoint(w.Point(x, y)))

    def _root(self, window: int | None) -> int:
        return int(self._calls.GetAncestor(window, w.GA_ROOT) or 0) if window else 0

    def cursor(self) -> tuple[int, int]:
        place = w.Point()
        self._calls.GetCursorPos(ctypes.byref(place))
        return place.x, place.y

    def is_down(self, virtual_key: int) -> bool:
        return bool(self._calls.GetAsyncKeyState(virtual_key) & 0x8000)

    def virtual_key(self, scan: int) -> int:
        """Of a scan code with its E0 prefix in the second byte; 0 when there is none."""
        return int(self._calls.MapVirtualKeyW(scan, w.VSC_TO_VK_EX))

    def buttons_are_swapped(self) -> bool:
        """The person has made the right button the first one: injected buttons are swapped too."""
        return bool(self._calls.GetSystemMetrics(w.SM_SWAPBUTTON))

    def virtual_screen(self) -> Rect:
        left, top, width, height = (int(self._calls.GetSystemMetrics(n)) for n in w.SM_VIRTUAL_SCREEN)
        return Rect(left, top, width, height)

    def window_dpi(self, window: int) -> int:
        return int(self._calls.GetDpiForWindow(window)) or 96 if self._calls.GetDpiForWindow is not None else 96

    def has_more_rights(self, window: int) -> bool:
        """Whether the window's program has more rights than this one (runs as administrator).

        Windows then gives it no input of ours, and our hooks none while it has the focus, without a word.
        """
        process_id = ctypes.c_uint32()
        self._calls.GetWindowThreadProcessId(window, ctypes.byref(process_id))
        return process_id.value != 0 and self._rights_of(process_id.value) > self._rights_of(os.getpid())

    def _rights_of(self, process_id: int) -> int:
        if process_id not in self._rights:
            if len(self._rights) > 256:  # numbers of processes are used again
                self._rights.clear()
            self._rights[process_id] = self._integrity(process_id)
        return self._rights[process_id]

    def _integrity(self, process_id: int) -> int:
        """The process's integrity level; 0 when it is gone, the highest when it does not even tell."""
        process = self._calls.OpenProcess(w.PROCESS_QUERY_LIMITED_INFORMATION, 0, process_id)
        if not process:
            return _HIGHEST if self._calls.last_error() == w.ERROR_ACCESS_DENIED else 0
        token = ctypes.c_void_p()
        try:
            if not self._calls.OpenProcessToken(process, w.TOKEN_QUERY, ctypes.byref(token)):
                return _HIGHEST if self._calls.last_error() == w.ERROR_ACCESS_DENIED else 0
            buffer, needed = ctypes.create_string_buffer(256), ctypes.c_uint32()
            if not self._calls.GetTokenInformation(
                token, w.TOKEN_INTEGRITY_LEVEL, ctypes.addressof(buffer), len(buffer), ctypes.byref(needed)
            ):
                return 0
            sid = w.MandatoryLabel.from_buffer(buffer).sid
            parts = ctypes.string_at(sid + 1, 1)[0]
            return int.from_bytes(ctypes.string_at(sid + 8 + 4 * (parts - 1), 4), "little")
        finally:
            if token:
                self._calls.CloseHandle(token)
            self._calls.CloseHandle(process)

    def send(self, items: Sequence[InputItem]) -> int:
        """How many were taken."""
        array = (w.Input * len(items))()
        for slot, item in zip(array, items, strict=True):
            slot.type = 0 if item.mouse else 1
            if item.mouse:
                slot.either.mi = w.MouseInput(item.dx, item.dy, 0, item.flags, 0, w.SIGNATURE)
            else:
                slot.either.ki = w.KeyInput(0, item.scan, item.flags, 0, w.SIGNATURE)
        return int(self._calls.SendInput(len(items), array, ctypes.sizeof(w.Input)))

    def thread_id(self) -> int:
        return int(self._calls.GetCurrentThreadId())

    def run_hooks(self, on_event: Callable[[HookEvent], None], ready: Callable[[], None], on_lost: Callable[[], None]) -> str:
        """Serves low-level hooks until ``end_hooks``; returns why it ended, empty when asked to.

        ``on_event`` must return at once: the whole system's input waits for it, and Windows takes out, without a
        word, a hook that is slow. Once a second it is looked whether that has happened; then ``on_lost`` is called
        and the hooks are put in again.
        """
        make = self._calls.prototype(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_size_t, ctypes.c_ssize_t)
        newest_ms = int(self._calls.GetTickCount())

        def key(code: int, message: int, address: int) -> int:
            nonlocal newest_ms
            if code == 0:
                seen = w.KeyHook.from_address(address)
                newest_ms = seen.time
                on_event(HookEvent(False, message, seen.flags, seen.scanCode, extra=seen.dwExtraInfo))
            return int(self._calls.CallNextHookEx(None, code, message, address))

        def mouse(code: int, message: int, address: int) -> int:
            nonlocal newest_ms
            if code == 0:
                seen = w.MouseHook.from_address(address)
                newest_ms = seen.time
                on_event(HookEvent(True, message, seen.flags, seen.mouseData, seen.pt.x, seen.pt.y, seen.dwExtraInfo))
            return int(self._calls.CallNextHookEx(None, code, message, address))

        callbacks = (make(key), make(mouse))
        hooks = self._put_hooks_in(callbacks)
        timer = 0
        try:
            if not all(hooks):
                return f"Windows refused the input hooks (error {self._calls.last_error()})"
            timer = int(self._calls.SetTimer(None, 0, _BEAT_MS, None))
            ready()
            message = w.Message()
            while (result := int(self._calls.GetMessageW(ctypes.byref(message), None, 0, 0))) > 0:
                last_ms = self._last_input_ms()
                if message.message == w.WM_TIMER and _DEAF_MS < (last_ms - newest_ms) & 0xFFFFFFFF < 1 << 31:
                    newest_ms = last_ms
                    on_lost()
                    self._take_hooks_out(hooks)
                    hooks = self._put_hooks_in(callbacks)
                    if not all(hooks):
                        return f"Windows took the input hooks out and refused them again (error {self._calls.last_error()})"
            return "" if result == 0 else f"the message loop failed (error {self._calls.last_error()})"
        finally:
            if timer:
                self._calls.KillTimer(None, timer)
            self._take_hooks_out(hooks)

    def end_hooks(self, thread_id: int) -> None:
        self._calls.PostThreadMessageW(thread_id, w.WM_QUIT, 0, 0)

    def _put_hooks_in(self, callbacks: Sequence[Any]) -> list[int | None]:
        module = self._calls.GetModuleHandleW(None)
        return [
            self._calls.SetWindowsHookExW(kind, ctypes.cast(function, ctypes.c_void_p), module, 0)
            for kind, function in zip((w.WH_KEYBOARD_LL, w.WH_MOUSE_LL), callbacks, strict=True)
        ]

    def _take_hooks_out(self, hooks: Sequence[int | None]) -> None:
        for hook in hooks:
            if hook:
                self._calls.UnhookWindowsHookEx(hook)

    def _last_input_ms(self) -> int:
        last = w.LastInput(ctypes.sizeof(w.LastInput))
        self._calls.GetLastInputInfo(ctypes.byref(last))
        return int(last.dwTime)
