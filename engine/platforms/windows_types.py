"""The Win32 structures, numbers and functions that the port uses: one table, bound to the DLLs or to a stand-in.

Widths are written out, so that the structures have on every machine the layout they have on Windows. Written after
the Win32 documentation; see the README for where it has been run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_int, c_int32, c_short, c_size_t, c_ssize_t, c_uint16, c_uint32, c_void_p, c_wchar_p
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

SIGNATURE: Final = 0x32534541
"""Marks our own input (dwExtraInfo), so that the hooks can tell it from other programs'."""

KEY_EXTENDED, KEY_UP, KEY_SCAN = 0x1, 0x2, 0x8
MOUSE_MOVE, MOUSE_VIRTUAL_DESK, MOUSE_ABSOLUTE = 0x1, 0x4000, 0x8000
HOOK_KEY_EXTENDED, HOOK_KEY_INJECTED, HOOK_KEY_UP, HOOK_MOUSE_INJECTED = 0x01, 0x10, 0x80, 0x01
WM_QUIT, WM_KEYDOWN, WM_KEYUP, WM_TIMER = 0x0012, 0x0100, 0x0101, 0x0113
WM_MOUSEMOVE, WM_MOUSEWHEEL, WM_XDOWN, WM_XUP, WM_MOUSEHWHEEL = 0x200, 0x20A, 0x20B, 0x20C, 0x20E
WH_KEYBOARD_LL, WH_MOUSE_LL = 13, 14
GA_ROOT, DWMWA_CLOAKED, VSC_TO_VK_EX = 2, 14, 3
PER_MONITOR_AWARE_V2: Final = c_void_p(-4).value
SM_SWAPBUTTON: Final = 23
SM_VIRTUAL_SCREEN: Final = (76, 77, 78, 79)
PROCESS_QUERY_LIMITED_INFORMATION, TOKEN_QUERY, TOKEN_INTEGRITY_LEVEL = 0x1000, 0x8, 25
ERROR_ACCESS_DENIED: Final = 5
CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT = 2, 5, 6


class Point(ctypes.Structure):
    _fields_ = (("x", c_int32), ("y", c_int32))


class Rectangle(ctypes.Structure):
    _fields_ = (("left", c_int32), ("top", c_int32), ("right", c_int32), ("bottom", c_int32))


class Message(ctypes.Structure):
    _fields_ = (
        ("hwnd", c_void_p),
        ("message", c_uint32),
        ("wParam", c_size_t),
        ("lParam", c_ssize_t),
        ("time", c_uint32),
        ("pt", Point),
        ("lPrivate", c_uint32),
    )


class MouseInput(ctypes.Structure):
    _fields_ = (
        ("dx", c_int32),
        ("dy", c_int32),
        ("mouseData", c_uint32),
        ("dwFlags", c_uint32),
        ("time", c_uint32),
        ("dwExtraInfo", c_size_t),
    )


class KeyInput(ctypes.Structure):
    _fields_ = (("wVk", c_uint16), ("wScan", c_uint16), ("dwFlags", c_uint32), ("time", c_uint32), ("dwExtraInfo", c_size_t))


class _Either(ctypes.Union):
    _fields_ = (("mi", MouseInput), ("ki", KeyInput))


class Input(ctypes.Structure):
    """``type``: 0 mouse, 1 key."""

    _fields_ = (("type", c_uint32), ("either", _Either))


class KeyHook(ctypes.Structure):
    _fields_ = (("vkCode", c_uint32), ("scanCode", c_uint32), ("flags", c_uint32), ("time", c_uint32), ("dwExtraInfo", c_size_t))


class MouseHook(ctypes.Structure):
    _fields_ = (("pt", Point), ("mouseData", c_uint32), ("flags", c_uint32), ("time", c_uint32), ("dwExtraInfo", c_size_t))


class LastInput(ctypes.Structure):
    _fields_ = (("cbSize", c_uint32), ("dwTime", c_uint32))


class MandatoryLabel(ctypes.Structure):
    """``sid`` points to: revision, number of parts, six bytes of authority, then the parts of four bytes each."""

    _fields_ = (("sid", c_void_p), ("attributes", c_uint32))


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a DLL. ``optional``: absent in older versions of Windows."""

    dll: str
    name: str
    result: Any
    arguments: Sequence[Any] = ()
    optional: bool = False


_HANDLE, _BOOL, _DWORD = c_void_p, c_int, c_uint32

FUNCTIONS: Final = (
    Function("user32", "EnumWindows", _BOOL, (c_void_p, c_ssize_t)),
    Function("user32", "IsWindow", _BOOL, (_HANDLE,)),
    Function("user32", "IsWindowVisible", _BOOL, (_HANDLE,)),
    Function("user32", "IsIconic", _BOOL, (_HANDLE,)),
    Function("user32", "GetWindowTextLengthW", c_int, (_HANDLE,)),
    Function("user32", "GetWindowTextW", c_int, (_HANDLE, c_void_p, c_int)),
    Function("user32", "GetClientRect", _BOOL, (_HANDLE, POINTER(Rectangle))),
    Function("user32", "ClientToScreen", _BOOL, (_HANDLE, POINTER(Point))),
    Function("user32", "GetForegroundWindow", _HANDLE),
    Function("user32", "GetAncestor", _HANDLE, (_HANDLE, c_uint32)),
    Function("user32", "WindowFromPoint", _HANDLE, (Point,)),
    Function("user32", "GetWindowThreadProcessId", _DWORD, (_HANDLE, POINTER(_DWORD))),
    Function("user32", "GetCursorPos", _BOOL, (POINTER(Point),)),
    Function("user32", "GetAsyncKeyState", c_short, (c_int,)),
    Function("user32", "MapVirtualKeyW", c_uint32, (c_uint32, c_uint32)),
    Function("user32", "GetSystemMetrics", c_int, (c_int,)),
    Function("user32", "GetLastInputInfo", _BOOL, (POINTER(LastInput),)),
    Function("user32", "SendInput", c_uint32, (c_uint32, POINTER(Input), c_int)),
    Function("user32", "SetWindowsHookExW", _HANDLE, (c_int, c_void_p, _HANDLE, _DWORD)),
    Function("user32", "UnhookWindowsHookEx", _BOOL, (_HANDLE,)),
    Function("user32", "CallNextHookEx", c_ssize_t, (_HANDLE, c_int, c_size_t, c_ssize_t)),
    Function("user32", "GetMessageW", c_int, (POINTER(Message), _HANDLE, c_uint32, c_uint32)),
    Function("user32", "PostThreadMessageW", _BOOL, (_DWORD, c_uint32, c_size_t, c_ssize_t)),
    Function("user32", "SetTimer", c_size_t, (_HANDLE, c_size_t, c_uint32, c_void_p)),
    Function("user32", "KillTimer", _BOOL, (_HANDLE, c_size_t)),
    Function("user32", "SetProcessDpiAwarenessContext", _BOOL, (c_void_p,), optional=True),
    Function("user32", "SetProcessDPIAware", _BOOL, optional=True),
    Function("user32", "GetDpiForWindow", c_uint32, (_HANDLE,), optional=True),
    Function("kernel32", "GetCurrentThreadId", _DWORD),
    Function("kernel32", "GetTickCount", _DWORD),
    Function("kernel32", "GetModuleHandleW", _HANDLE, (c_wchar_p,)),
    Function("kernel32", "OpenProcess", _HANDLE, (_DWORD, _BOOL, _DWORD)),
    Function("kernel32", "CloseHandle", _BOOL, (_HANDLE,)),
    Function("kernel32", "SetConsoleCtrlHandler", _BOOL, (c_void_p, _BOOL)),
    Function("advapi32", "OpenProcessToken", _BOOL, (_HANDLE, _DWORD, POINTER(_HANDLE))),
    Function("advapi32", "GetTokenInformation", _BOOL, (_HANDLE, c_int, c_void_p, _DWORD, POINTER(_DWORD))),
    Function("dwmapi", "DwmGetWindowAttribute", c_int32, (_HANDLE, _DWORD, c_void_p, _DWORD)),
)


class Calls(SimpleNamespace):
    """The functions by their names (absent ones are None), ``prototype`` (WINFUNCTYPE) and ``last_error``."""

    def __init__(self, find: Callable[[Function], Any], prototype: Any, last_error: Callable[[], int]) -> None:
        super().__init__(prototype=prototype, last_error=last_error, **{f.name: find(f) for f in FUNCTIONS})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} is not in the table of Win32 functions")


def load_calls() -> Calls:
    """The functions of this machine's DLLs. Windows only."""
    maker: Any = import_module("ctypes")
    dlls = {name: maker.WinDLL(name, use_last_error=True) for name in {f.dll for f in FUNCTIONS}}

    def find(wanted: Function) -> Any:
        try:
            function = getattr(dlls[wanted.dll], wanted.name)
        except AttributeError:
            if wanted.optional:
                return None
            raise
        function.restype, function.argtypes = wanted.result, list(wanted.arguments)
        return function

    return Calls(find, maker.WINFUNCTYPE, maker.get_last_error)
