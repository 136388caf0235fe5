"""The Windows calls that the port needs, by ctypes. Imported on Windows only; a fake of ``Api`` tests what stands above.

Written after the Win32 documentation; see the README for where it has been run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import wintypes
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from data.geometry import Rect

SIGNATURE: Final = 0x32534541
"""Marks our own input (dwExtraInfo), so that the hooks can tell it from other programs'."""

_GA_ROOT: Final = 2
_VSC_TO_VK_EX: Final = 3
_DWMWA_CLOAKED: Final = 14
_PER_MONITOR_AWARE_V2: Final = -4
_WH_KEYBOARD_LL, _WH_MOUSE_LL, _WM_QUIT = 13, 14, 0x0012
_VIRTUAL_SCREEN: Final = (76, 77, 78, 79)
_LRESULT: Final = ctypes.c_ssize_t
_ULONG_PTR: Final = ctypes.c_size_t


@dataclass(frozen=True, slots=True)
class InputItem:
    """One element of SendInput. ``mouse``: dx, dy and data as MOUSEINPUT has them; else a key's scan code."""

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


class _MouseInput(ctypes.Structure):
    _fields_ = (
        ("dx", wintypes.LONG),
        ("dy", wintypes.LONG),
        ("mouseData", wintypes.DWORD),
        ("dwFlags", wintypes.DWORD),
        ("time", wintypes.DWORD),
        ("dwExtraInfo", _ULONG_PTR),
    )


class _KeyInput(ctypes.Structure):
    _fields_ = (
        ("wVk", wintypes.WORD),
        ("wScan", wintypes.WORD),
        ("dwFlags", wintypes.DWORD),
        ("time", wintypes.DWORD),
        ("dwExtraInfo", _ULONG_PTR),
    )


class _Either(ctypes.Union):
    _fields_ = (("mi", _MouseInput), ("ki", _KeyInput))


class _Input(ctypes.Structure):
    _fields_ = (("type", wintypes.DWORD), ("either", _Either))


class _KeyHook(ctypes.Structure):
    _fields_ = (
        ("vkCode", wintypes.DWORD),
        ("scanCode", wintypes.DWORD),
        ("flags", wintypes.DWORD),
        ("time", wintypes.DWORD),
        ("dwExtraInfo", _ULONG_PTR),
    )


class _MouseHook(ctypes.Structure):
    _fields_ = (
        ("pt", wintypes.POINT),
        ("mouseData", wintypes.DWORD),
        ("flags", wintypes.DWORD),
        ("time", wintypes.DWORD),
        ("dwExtraInfo", _ULONG_PTR),
    )


class Api:
    """Thin: one method per call or two, plain numbers in and out."""

    def __init__(self) -> None:
        maker: Any = import_module("ctypes")
        self._user: Any = maker.WinDLL("user32", use_last_error=True)
        self._kernel: Any = maker.WinDLL("kernel32", use_last_error=True)
        self._dwm: Any = maker.WinDLL("dwmapi")
        self._callback: Any = maker.WINFUNCTYPE
        self._last_error: Any = maker.get_last_error
        hwnd, user = wintypes.HWND, self._user
        for name, result, arguments in (
            ("GetForegroundWindow", hwnd, []),
            ("GetAncestor", hwnd, [hwnd, wintypes.UINT]),
            ("WindowFromPoint", hwnd, [wintypes.POINT]),
            ("GetWindowTextLengthW", ctypes.c_int, [hwnd]),
            ("GetWindowTextW", ctypes.c_int, [hwnd, wintypes.LPWSTR, ctypes.c_int]),
            ("IsWindow", wintypes.BOOL, [hwnd]),
            ("IsWindowVisible", wintypes.BOOL, [hwnd]),
            ("IsIconic", wintypes.BOOL, [hwnd]),
            ("GetClientRect", wintypes.BOOL, [hwnd, ctypes.POINTER(wintypes.RECT)]),
            ("ClientToScreen", wintypes.BOOL, [hwnd, ctypes.POINTER(wintypes.POINT)]),
            ("GetCursorPos", wintypes.BOOL, [ctypes.POINTER(wintypes.POINT)]),
            ("GetAsyncKeyState", ctypes.c_short, [ctypes.c_int]),
            ("MapVirtualKeyW", wintypes.UINT, [wintypes.UINT, wintypes.UINT]),
            ("SendInput", wintypes.UINT, [wintypes.UINT, ctypes.POINTER(_Input), ctypes.c_int]),
            ("SetWindowsHookExW", wintypes.HANDLE, [ctypes.c_int, ctypes.c_void_p, wintypes.HINSTANCE, wintypes.DWORD]),
            ("UnhookWindowsHookEx", wintypes.BOOL, [wintypes.HANDLE]),
            ("CallNextHookEx", _LRESULT, [wintypes.HANDLE, ctypes.c_int, wintypes.WPARAM, wintypes.LPARAM]),
            ("GetMessageW", ctypes.c_int, [ctypes.POINTER(wintypes.MSG), hwnd, wintypes.UINT, wintypes.UINT]),
            ("PostThreadMessageW", wintypes.BOOL, [wintypes.DWORD, wintypes.UINT, wintypes.WPARAM, wintypes.LPARAM]),
        ):
            function = getattr(user, name)
            function.restype, function.argtypes = result, arguments
        self._be_aware_of_scaling()

    def _be_aware_of_scaling(self) -> None:
        """Without this, positions and sizes are divided by the display's scale."""
        try:
            self._user.SetProcessDpiAwarenessContext.argtypes = [ctypes.c_void_p]
            self._user.SetProcessDpiAwarenessContext(_PER_MONITOR_AWARE_V2)
        except AttributeError:  # before Windows 10 1703
            self._user.SetProcessDPIAware()

    def top_level_windows(self) -> list[int]:
        found: list[int] = []

        def note(handle: int, _data: int) -> bool:
            found.append(handle)
            return True

        callback = self._callback(wintypes.BOOL, wintypes.HWND, wintypes.LPARAM)(note)
        self._user.EnumWindows(callback, 0)
        return found

    def title(self, window: int) -> str:
        buffer = ctypes.create_unicode_buffer(int(self._user.GetWindowTextLengthW(window)) + 1)
        self._user.GetWindowTextW(window, buffer, len(buffer))
        return buffer.value

    def exists(self, window: int) -> bool:
        return bool(self._user.IsWindow(window))

    def is_visible(self, window: int) -> bool:
        """Shown, and not one of those that the system keeps hidden ("cloaked") though it calls them visible."""
        cloaked = wintypes.DWORD()
        self._dwm.DwmGetWindowAttribute(wintypes.HWND(window), _DWMWA_CLOAKED, ctypes.byref(cloaked), ctypes.sizeof(cloaked))
        return bool(self._user.IsWindowVisible(window)) and not cloaked.value

    def is_minimised(self, window: int) -> bool:
        return bool(self._user.IsIconic(window))

    def client_rect(self, window: int) -> Rect | None:
        rect, corner = wintypes.RECT(), wintypes.POINT(0, 0)
        if not self._user.GetClientRect(window, ctypes.byref(rect)) or not self._user.ClientToScreen(window, ctypes.byref(corner)):
            return None
        return Rect(corner.x, corner.y, rect.right - rect.left, rect.bottom - rect.top)

    def foreground(self) -> int:
        """The top-level window with the keyboard; 0 when there is none."""
        return self.root(int(self._user.GetForegroundWindow() or 0))

    def root(self, window: int) -> int:
        return int(self._user.GetAncestor(window, _GA_ROOT) or 0) if window else 0

    def window_at(self, x: int, y: int) -> int:
        return self.root(int(self._user.WindowFromPoint(wintypes.POINT(x, y)) or 0))

    def cursor(self) -> tuple[int, int]:
        place = wintypes.POINT()
        self._user.GetCursorPos(ctypes.byref(place))
        return place.x, place.y

    def is_down(self, virtual_key: int) -> bool:
        return bool(self._user.GetAsyncKeyState(virtual_key) & 0x8000)

    def virtual_key(self, scan: int) -> int:
        """Of a scan code with its E0 prefix in the second byte; 0 when there is none."""
        return int(self._user.MapVirtualKeyW(scan, _VSC_TO_VK_EX))

    def virtual_screen(self) -> Rect:
        left, top, width, height = (int(self._user.GetSystemMetrics(n)) for n in _VIRTUAL_SCREEN)
        return Rect(left, top, width, height)

    def window_dpi(self, window: int) -> int:
        try:
            return int(self._user.GetDpiForWindow(wintypes.HWND(window))) or 96
        except AttributeError:
            return 96

    def send(self, items: Sequence[InputItem]) -> int:
        """How many were taken: fewer than given when the window belongs to a program with more rights."""
        array = (_Input * len(items))()
        for slot, item in zip(array, items, strict=True):
            slot.type = 0 if item.mouse else 1
            if item.mouse:
                slot.either.mi = _MouseInput(item.dx, item.dy, 0, item.flags, 0, SIGNATURE)
            else:
                slot.either.ki = _KeyInput(0, item.scan, item.flags, 0, SIGNATURE)
        return int(self._user.SendInput(len(items), array, ctypes.sizeof(_Input)))

    def thread_id(self) -> int:
        return int(self._kernel.GetCurrentThreadId())

    def run_hooks(self, on_event: Callable[[HookEvent], None], ready: Callable[[], None]) -> str:
        """Serves low-level hooks until ``end_hooks``; returns why it ended, empty when asked to.

        ``on_event`` must return quickly: the whole system's input waits for it.
        """
        make = self._callback(_LRESULT, ctypes.c_int, wintypes.WPARAM, wintypes.LPARAM)

        def key(code: int, message: int, address: int) -> int:
            if code == 0:
                seen = _KeyHook.from_address(address)
                on_event(HookEvent(False, message, seen.flags, seen.scanCode, extra=seen.dwExtraInfo))
            return int(self._user.CallNextHookEx(None, code, message, address))

        def mouse(code: int, message: int, address: int) -> int:
            if code == 0:
                seen = _MouseHook.from_address(address)
                on_event(HookEvent(True, message, seen.flags, seen.mouseData, seen.pt.x, seen.pt.y, seen.dwExtraInfo))
            return int(self._user.CallNextHookEx(None, code, message, address))

        callbacks = (make(key), make(mouse))
        hooks = [
            self._user.SetWindowsHookExW(kind, ctypes.cast(function, ctypes.c_void_p), None, 0)
            for kind, function in zip((_WH_KEYBOARD_LL, _WH_MOUSE_LL), callbacks, strict=True)
        ]
        try:
            if not all(hooks):
                return f"Windows refused the input hooks (error {self._last_error()})"
            ready()
            message = wintypes.MSG()
            while (result := int(self._user.GetMessageW(ctypes.byref(message), None, 0, 0))) > 0:
                pass
            return "" if result == 0 else f"the message loop failed (error {self._last_error()})"
        finally:
            for hook in hooks:
                if hook:
                    self._user.UnhookWindowsHookEx(hook)

    def end_hooks(self, thread_id: int) -> None:
        self._user.PostThreadMessageW(thread_id, _WM_QUIT, 0, 0)
