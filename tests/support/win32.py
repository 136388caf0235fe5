"""A desktop behind the Win32 functions: the same table and structures as on Windows, with windows that log their input.

Each function is a real C callable with the argument types of ``windows_types.FUNCTIONS``, so that what the port hands
over is converted as the DLLs would have it. What Windows is known for is in it: sizes divided by the scale for a
process that is not aware of it, rectangles of minimised windows at -32000, hooks that vanish when they are slow,
input that windows with more rights silently do not get, swapped buttons.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from data.geometry import Rect
from engine.platforms import windows_types as w
from engine.platforms.windows_types import Calls, Function

MEDIUM, HIGH = 0x2000, 0x3000
NO_PREFIX_BUT_MARKED = {0x36, 0x45}
"""Right shift and num lock: the hooks mark them as extended."""


@dataclass
class Window:
    handle: int
    title: str
    rect: Rect
    dpi: int = 96
    visible: bool = True
    cloaked: bool = False
    minimised: bool = False
    process: int = 100
    log: list[tuple[str, str, int, int]] = field(default_factory=list)
    """(kind, "key:<scan>" or "button:<message>", x, y) as the window got them."""


@dataclass
class _Hook:
    kind: int
    call: Callable[[int, int, int], int]
    thread: int


class FakeWin32:
    def __init__(self) -> None:
        self.monitors = (Rect(-1920, -200, 1920, 1080), Rect(0, 0, 1920, 1080))
        self.windows: dict[int, Window] = {}
        self.order: list[int] = []  # front to back
        self.front = 0
        self.place = (5, 6)
        self.down: set[int] = set()  # scan codes, with 0xE000 for the prefix
        self.buttons: set[int] = set()  # physical: 1 left, 2 right, 4 middle
        self.rights = {os.getpid(): MEDIUM, 100: MEDIUM}
        self.silent_processes: set[int] = set()
        self.swapped = False
        self.aware = False
        self.refuse_hooks = False
        self.on_send: Callable[[], None] = lambda: None
        self.console_handlers: list[Callable[[int], int]] = []
        self._hooks: dict[int, _Hook] = {}
        self._queues: dict[int, queue.SimpleQueue[tuple[str, Any]]] = {}
        self._timers: dict[int, int] = {}
        self._numbers = itertools.count(0x1001, 4)
        self._tokens: dict[int, int] = {}
        self._sids: list[Any] = []
        self._error = 0
        self._last_input_ms = self.GetTickCount()
        self._lock = threading.RLock()

    def calls(self, without: tuple[str, ...] = ()) -> Calls:
        def find(function: Function) -> Any:
            if function.name in without:
                return None
            return ctypes.CFUNCTYPE(function.result, *function.arguments)(getattr(self, function.name))

        return Calls(find, ctypes.CFUNCTYPE, lambda: self._error)

    # ---- the person and the programs

    def open(self, title: str, rect: Rect, **more: Any) -> Window:
        window = Window(next(self._numbers), title, rect, **more)
        self.windows[window.handle] = window
        self.order.insert(0, window.handle)
        return window

    def focus(self, window: Window) -> None:
        self.front = window.handle
        self.order.remove(window.handle)
        self.order.insert(0, window.handle)

    def close(self, window: Window) -> None:
        self.windows.pop(window.handle, None)
        self.order.remove(window.handle)
        if self.front == window.handle:
            self.front = 0

    def key(self, scan: int, down: bool, prefix: bool = False, injected: bool = False, extra: int = 0) -> None:
        """A key of the keyboard (set 1), or one that a program pressed."""
        whole = scan | (0xE000 if prefix else 0)
        (self.down.add if down else self.down.discard)(whole)
        marked = prefix or scan in NO_PREFIX_BUT_MARKED
        flags = (w.HOOK_KEY_EXTENDED if marked else 0) | (w.HOOK_KEY_INJECTED if injected else 0) | (0 if down else w.HOOK_KEY_UP)
        now_ms = self._seen()
        self._to_hooks(w.WH_KEYBOARD_LL, w.WM_KEYDOWN if down else w.WM_KEYUP, w.KeyHook(0, scan, flags, now_ms, extra))
        self._to_window(self.windows.get(self.front), "press" if down else "release", f"key:{whole:#x}", injected)

    def made_up_ctrl(self, down: bool) -> None:
        """What Windows puts before AltGr: a left ctrl that no keyboard sent."""
        flags = 0 if down else w.HOOK_KEY_UP
        self._to_hooks(w.WH_KEYBOARD_LL, w.WM_KEYDOWN if down else w.WM_KEYUP, w.KeyHook(0, 0x21D, flags, self._seen(), 0))

    def button(self, physical: int, down: bool, injected: bool = False, extra: int = 0) -> None:
        (self.buttons.add if down else self.buttons.discard)(physical)
        first, second = (2, 1) if self.swapped else (1, 2)
        message = {first: 0x201, second: 0x204, 4: 0x207}[physical] + (0 if down else 1)
        self._mouse(message, 0, injected, extra)
        self._to_window(self._at(*self.place), "press" if down else "release", f"button:{message - (0 if down else 1):#x}", injected)

    def move(self, x: int, y: int, injected: bool = False, extra: int = 0) -> None:
        self.place = (x, y)
        self._mouse(w.WM_MOUSEMOVE, 0, injected, extra)

    def wheel(self, turned: int, sideways: bool = False) -> None:
        self._mouse(w.WM_MOUSEHWHEEL if sideways else w.WM_MOUSEWHEEL, (turned & 0xFFFF) << 16)

    def thumb_button(self, number: int) -> None:
        self._mouse(w.WM_XDOWN, number << 16)

    def take_hooks_out(self) -> None:
        """As Windows does with hooks that keep the system's input waiting."""
        self._hooks.clear()

    def beat(self) -> None:
        """The timers go off."""
        for thread in set(self._timers.values()):
            self._queues[thread].put(("message", w.WM_TIMER))

    def end_console(self, event: int) -> None:
        for handler in reversed(self.console_handlers):
            if handler(event):
                return

    @property
    def hooks(self) -> int:
        return len(self._hooks)

    def _seen(self) -> int:
        self._last_input_ms = self.GetTickCount()
        return self._last_input_ms

    def _mouse(self, message: int, data: int, injected: bool = False, extra: int = 0) -> None:
        flags = w.HOOK_MOUSE_INJECTED if injected else 0
        self._to_hooks(w.WH_MOUSE_LL, message, w.MouseHook(w.Point(*self.place), data, flags, self._seen(), extra))

    def _to_hooks(self, kind: int, message: int, told: Any) -> None:
        front = self.windows.get(self.front)
        if front is not None and self.rights[front.process] > self.rights[os.getpid()]:
            return
        for hook in list(self._hooks.values()):
            if hook.kind == kind:
                self._queues[hook.thread].put(("hook", (hook, message, told)))

    def _to_window(self, window: Window | None, kind: str, what: str, injected: bool) -> None:
        if window is not None and not (injected and self.rights[window.process] > self.rights[os.getpid()]):
            window.log.append((kind, what, *self.place))

    def _at(self, x: int, y: int) -> Window | None:
        for handle in self.order:
            window = self.windows[handle]
            if window.visible and not window.minimised and window.rect.intersection(Rect(x, y, 1, 1)) is not None:
                return window
        return None

    def _seen_by_us(self, window: Window, value: int) -> int:
        return value if self.aware else value * 96 // window.dpi

    # ---- the functions, by their names

    def EnumWindows(self, callback: int, data: int) -> int:
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t)(callback)
        return int(all(call(handle, data) for handle in list(self.order)))

    def IsWindow(self, handle: int) -> int:
        return int(handle in self.windows)

    def IsWindowVisible(self, handle: int) -> int:
        return int(handle in self.windows and self.windows[handle].visible)

    def IsIconic(self, handle: int) -> int:
        return int(handle in self.windows and self.windows[handle].minimised)

    def GetWindowTextLengthW(self, handle: int) -> int:
        return len(self.windows[handle].title) if handle in self.windows else 0

    def GetWindowTextW(self, handle: int, address: int, size: int) -> int:
        title = self.windows[handle].title[: size - 1] if handle in self.windows else ""
        buffer = (ctypes.c_wchar * size).from_address(address)
        buffer.value = title
        return len(title)

    def GetClientRect(self, handle: int, rect: Any) -> int:
        window = self.windows.get(handle)
        if window is None:
            return 0
        size = (160, 28) if window.minimised else (window.rect.width, window.rect.height)
        rect[0] = w.Rectangle(0, 0, *(self._seen_by_us(window, value) for value in size))
        return 1

    def ClientToScreen(self, handle: int, point: Any) -> int:
        window = self.windows.get(handle)
        if window is None:
            return 0
        corner = (-32000, -32000) if window.minimised else (window.rect.left, window.rect.top)
        point[0].x += self._seen_by_us(window, corner[0])
        point[0].y += self._seen_by_us(window, corner[1])
        return 1

    def GetForegroundWindow(self) -> int:
        return self.front and self.front + 1  # the part of it that has the caret

    def GetAncestor(self, handle: int, what: int) -> int:
        assert what == w.GA_ROOT
        return handle if handle in self.windows else handle - 1 if handle - 1 in self.windows else 0

    def WindowFromPoint(self, point: w.Point) -> int:
        window = self._at(point.x, point.y)
        return 0 if window is None else window.handle + 1

    def GetWindowThreadProcessId(self, handle: int, process: Any) -> int:
        process[0] = ctypes.c_uint32(self.windows[handle].process if handle in self.windows else 0)
        return int(handle in self.windows)

    def GetCursorPos(self, point: Any) -> int:
        point[0] = w.Point(*self.place)
        return 1

    def GetAsyncKeyState(self, key: int) -> int:
        return -32768 if (key in self.buttons if key < 8 else key - 0x100 in self.down) else 0

    def MapVirtualKeyW(self, scan: int, kind: int) -> int:
        assert kind == w.VSC_TO_VK_EX
        return scan + 0x100

    def GetSystemMetrics(self, number: int) -> int:
        if number == w.SM_SWAPBUTTON:
            return int(self.swapped)
        left, top = min(m.left for m in self.monitors), min(m.top for m in self.monitors)
        sizes = max(m.right for m in self.monitors) - left, max(m.bottom for m in self.monitors) - top
        return dict(zip(w.SM_VIRTUAL_SCREEN, (left, top, *sizes), strict=True))[number]

    def GetLastInputInfo(self, last: Any) -> int:
        assert last[0].cbSize == ctypes.sizeof(w.LastInput)
        last[0].dwTime = self._last_input_ms
        return 1

    def SendInput(self, count: int, items: Any, size: int) -> int:
        if size != ctypes.sizeof(w.Input):
            return 0
        screen = Rect(*(self.GetSystemMetrics(n) for n in w.SM_VIRTUAL_SCREEN))
        for item in (items[i] for i in range(count)):
            if item.type == 1:
                given = item.either.ki
                assert given.dwFlags & w.KEY_SCAN, "games read scan codes"
                self.key(given.wScan, not given.dwFlags & w.KEY_UP, bool(given.dwFlags & w.KEY_EXTENDED), True, given.dwExtraInfo)
                continue
            mouse = item.either.mi
            if mouse.dwFlags & w.MOUSE_MOVE:
                assert mouse.dwFlags & (w.MOUSE_ABSOLUTE | w.MOUSE_VIRTUAL_DESK) == w.MOUSE_ABSOLUTE | w.MOUSE_VIRTUAL_DESK
                x, y = screen.left + (mouse.dx * screen.width >> 16), screen.top + (mouse.dy * screen.height >> 16)
                self.move(x, y, True, mouse.dwExtraInfo)
            for bit, (physical, down) in {2: (1, True), 4: (1, False), 8: (2, True), 16: (2, False), 32: (4, True), 64: (4, False)}.items():
                if mouse.dwFlags & bit:
                    self.button(physical, down, True, mouse.dwExtraInfo)
        self.on_send()
        return count

    def SetWindowsHookExW(self, kind: int, callback: int, module: int, thread: int) -> int:
        assert module
        assert not thread
        if self.refuse_hooks:
            self._error = 5
            return 0
        call = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_size_t, ctypes.c_ssize_t)(callback)
        own = self.GetCurrentThreadId()
        self._queues.setdefault(own, queue.SimpleQueue())
        handle = next(self._numbers)
        self._hooks[handle] = _Hook(kind, call, own)
        return handle

    def UnhookWindowsHookEx(self, handle: int) -> int:
        return int(self._hooks.pop(handle, None) is not None)

    def CallNextHookEx(self, hook: int | None, code: int, message: int, address: int) -> int:
        return 0

    def GetMessageW(self, message: Any, window: int | None, first: int, last: int) -> int:
        """Hooks are called inside it, in the thread that put them in; it returns for messages only."""
        while True:
            kind, told = self._queues[self.GetCurrentThreadId()].get()
            if kind == "hook":
                hook, number, structure = told
                hook.call(0, number, ctypes.addressof(structure))
                continue
            message[0].message = told
            return 0 if told == w.WM_QUIT else 1

    def PostThreadMessageW(self, thread: int, message: int, first: int, second: int) -> int:
        self._queues[thread].put(("message", message))
        return 1

    def SetTimer(self, window: int | None, number: int, every_ms: int, callback: int | None) -> int:
        timer = next(self._numbers)
        self._timers[timer] = self.GetCurrentThreadId()
        return timer

    def KillTimer(self, window: int | None, timer: int) -> int:
        return int(self._timers.pop(timer, None) is not None)

    def SetProcessDpiAwarenessContext(self, context: int) -> int:
        self.aware = context == w.PER_MONITOR_AWARE_V2
        return int(self.aware)

    def SetProcessDPIAware(self) -> int:
        self.aware = True
        return 1

    def GetDpiForWindow(self, handle: int) -> int:
        return self.windows[handle].dpi if handle in self.windows else 0

    def GetCurrentThreadId(self) -> int:
        return threading.get_native_id()

    def GetTickCount(self) -> int:
        return time.monotonic_ns() // 1_000_000 & 0xFFFFFFFF

    def GetModuleHandleW(self, name: str | None) -> int:
        return 0x400000

    def OpenProcess(self, rights: int, inherit: int, process: int) -> int:
        assert rights == w.PROCESS_QUERY_LIMITED_INFORMATION
        return process + 1_000_000 if process in self.rights else 0

    def CloseHandle(self, handle: int) -> int:
        self._tokens.pop(handle, None)
        return 1

    def SetConsoleCtrlHandler(self, handler: int, add: int) -> int:
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)(handler)
        if add:
            self.console_handlers.append(call)
        elif self.console_handlers:
            self.console_handlers.pop()
        return 1

    def OpenProcessToken(self, handle: int, rights: int, token: Any) -> int:
        assert rights == w.TOKEN_QUERY
        if handle - 1_000_000 in self.silent_processes:
            self._error = w.ERROR_ACCESS_DENIED
            return 0
        number = next(self._numbers)
        self._tokens[number] = handle - 1_000_000
        token[0] = ctypes.c_void_p(number)
        return 1

    @property
    def open_tokens(self) -> int:
        return len(self._tokens)

    def GetTokenInformation(self, token: int, kind: int, address: int, size: int, needed: Any) -> int:
        assert kind == w.TOKEN_INTEGRITY_LEVEL
        sid = ctypes.create_string_buffer(bytes([1, 1, 0, 0, 0, 0, 0, 16]) + self.rights[self._tokens[token]].to_bytes(4, "little"))
        self._sids.append(sid)
        w.MandatoryLabel.from_address(address).sid = ctypes.addressof(sid)
        return 1

    def DwmGetWindowAttribute(self, handle: int, attribute: int, address: int, size: int) -> int:
        assert (attribute, size) == (w.DWMWA_CLOAKED, 4)
        ctypes.c_uint32.from_address(address).value = int(handle in self.windows and self.windows[handle].cloaked)
        return 0
