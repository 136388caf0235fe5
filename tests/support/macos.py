"""A macOS desktop behind stand-ins of Quartz and pynput, as far as the port uses them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from data.geometry import Rect

BUTTONS = ("left", "right", "middle")


@dataclass
class Window:
    number: int
    title: str
    rect: Rect
    shown: bool = True
    layer: int = 0
    log: list[tuple[str, Any]] = field(default_factory=list)
    """(kind, virtual key code or button's name) as the window got them."""


class FakeMac:
    def __init__(self) -> None:
        self.displays = (Rect(-1440, -100, 1440, 900), Rect(0, 0, 1280, 800))
        self.windows: list[Window] = []  # front to back
        self.place = (5.0, 6.0)
        self.down: set[int] = set()
        self.buttons: set[str] = set()
        self.granted = {"CGPreflightPostEventAccess", "CGPreflightListenEventAccess", "CGPreflightScreenCaptureAccess"}
        self.pixels_per_point = 2
        self.listeners: list[Any] = []
        self.on_press: Callable[[], None] = lambda: None

    def modules(self) -> dict[str, Any]:
        """For ``sys.modules``."""
        pynput: Any = ModuleType("pynput")
        pynput.keyboard, pynput.mouse = self._keyboard(), self._mouse()
        return {"Quartz": self._quartz(), "pynput": pynput, "pynput.keyboard": pynput.keyboard, "pynput.mouse": pynput.mouse}

    # ---- the person and the programs

    def open(self, title: str, rect: Rect, layer: int = 0) -> Window:
        window = Window(100 + len(self.windows), title, rect, layer=layer)
        self.windows.insert(0 if layer else sum(w.layer > 0 for w in self.windows), window)
        return window

    def focus(self, window: Window) -> None:
        self.windows.remove(window)
        self.windows.insert(sum(w.layer > 0 for w in self.windows), window)

    def key(self, code: int, down: bool) -> None:
        (self.down.add if down else self.down.discard)(code)
        front = self.front()
        if front is not None:
            front.log.append(("press" if down else "release", code))
        key = SimpleNamespace(vk=code)
        self._tell("keyboard", "on_press" if down else "on_release", key)

    def button(self, name: str, down: bool) -> None:
        (self.buttons.add if down else self.buttons.discard)(name)
        window = next((w for w in self.windows if w.shown and w.rect.intersection(Rect(*map(int, self.place), 1, 1))), None)
        if window is not None:
            window.log.append(("press" if down else "release", name))
        self._tell("mouse", "on_click", *self.place, SimpleNamespace(name=name), down)

    def move(self, x: float, y: float) -> None:
        self.place = (x, y)
        self._tell("mouse", "on_move", x, y)

    def wheel(self, dx: float, dy: float) -> None:
        self._tell("mouse", "on_scroll", *self.place, dx, dy)

    def front(self) -> Window | None:
        return next((w for w in self.windows if w.shown and w.layer == 0), None)

    def _tell(self, kind: str, what: str, *values: Any) -> None:
        for listener in list(self.listeners):
            if listener.kind == kind and listener.is_alive():
                listener.callbacks[what](*values)

    # ---- Quartz and pynput

    def _quartz(self) -> Any:
        quartz: Any = ModuleType("Quartz")

        def windows(option: int, _relative: int) -> list[dict[str, Any]]:
            return [self._row(w) for w in self.windows if w.shown or not option & 1]

        def bounds(display: int) -> Any:
            r = self.displays[display]
            return SimpleNamespace(origin=SimpleNamespace(x=r.left, y=r.top), size=SimpleNamespace(width=r.width, height=r.height))

        quartz.CGWindowListCopyWindowInfo = windows
        quartz.CGEventSourceKeyState = lambda _source, code: code in self.down
        quartz.CGEventSourceButtonState = lambda _source, number: BUTTONS[number] in self.buttons
        quartz.CGMainDisplayID = lambda: 1
        quartz.CGDisplayCopyDisplayMode = lambda display: display
        quartz.CGDisplayModeGetPixelWidth = lambda display: self.displays[display].width * self.pixels_per_point
        quartz.CGDisplayModeGetWidth = lambda display: self.displays[display].width
        quartz.CGGetActiveDisplayList = lambda most, _ids, _count: (0, tuple(range(min(most, len(self.displays)))), len(self.displays))
        quartz.CGDisplayBounds = bounds
        for name in ("CGPreflightPostEventAccess", "CGPreflightListenEventAccess", "CGPreflightScreenCaptureAccess"):
            setattr(quartz, name, lambda name=name: name in self.granted)
        return quartz

    def _row(self, window: Window) -> dict[str, Any]:
        r = window.rect
        row: dict[str, Any] = {
            "kCGWindowNumber": window.number,
            "kCGWindowLayer": window.layer,
            "kCGWindowAlpha": 1.0,
            "kCGWindowOwnerName": "Program",
            "kCGWindowBounds": {"X": r.left, "Y": r.top, "Width": r.width, "Height": r.height},
        }
        if "CGPreflightScreenCaptureAccess" in self.granted:
            row["kCGWindowName"] = window.title
        if window.shown:
            row["kCGWindowIsOnscreen"] = True
        return row

    def _listener_class(self, kind: str) -> Any:
        desktop = self

        class Listener:
            def __init__(self, **callbacks: Callable[..., None]) -> None:
                self.kind, self.callbacks, self._alive = kind, callbacks, threading.Event()

            def start(self) -> None:
                desktop.listeners.append(self)
                self._alive.set()

            def wait(self) -> None: ...

            def stop(self) -> None:
                self._alive.clear()

            def is_alive(self) -> bool:
                return self._alive.is_set()

        return Listener

    def _keyboard(self) -> Any:
        module: Any = ModuleType("pynput.keyboard")

        class Controller:
            def press(_, key: Any) -> None:
                self.key(key.vk, True)
                self.on_press()

            def release(_, key: Any) -> None:
                self.key(key.vk, False)

        module.Controller, module.Listener = Controller, self._listener_class("keyboard")
        module.KeyCode = SimpleNamespace(from_vk=lambda code: SimpleNamespace(vk=code))
        return module

    def _mouse(self) -> Any:
        module: Any = ModuleType("pynput.mouse")

        class Controller:
            @property
            def position(_) -> tuple[float, float]:
                return self.place

            @position.setter
            def position(_, place: tuple[float, float]) -> None:
                self.move(*place)

            def press(_, button: str) -> None:
                self.button(button, True)

            def release(_, button: str) -> None:
                self.button(button, False)

        module.Controller, module.Listener = Controller, self._listener_class("mouse")
        module.Button = SimpleNamespace(left="left", right="right", middle="middle")
        return module
