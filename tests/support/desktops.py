"""One set of words for three desktops: a real X server, and stand-ins of Windows and macOS. The ports' contract runs on each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from data.geometry import Rect
from engine.platforms.keys import LINUX_CODES
from engine.platforms.port import Port
from tests.support.macos import FakeMac
from tests.support.win32 import FakeWin32

WINDOWS_BUTTONS = {"mouse_left": 1, "mouse_right": 2, "mouse_middle": 4}
WINDOWS_MESSAGES = {"button:0x201": "mouse_left", "button:0x204": "mouse_right", "button:0x207": "mouse_middle"}
X_BUTTONS = {"mouse_left": 1, "mouse_middle": 2, "mouse_right": 3}


class Desktop(Protocol):
    """A window is known by the port's id of it. ``tells_programs``: events say whether a program made them."""

    name: str
    port: Port
    tells_programs: bool
    scale: float

    def open(self, title: str, x: int, y: int, width: int, height: int) -> int: ...
    def focus(self, window: int) -> None: ...
    def focus_elsewhere(self) -> None: ...
    def cover(self, window: int) -> None:
        """Another window comes to lie over it; the focus stays."""
        ...

    def minimise(self, window: int) -> None: ...
    def hide(self, window: int) -> None: ...
    def close(self, window: int) -> None: ...
    def move(self, window: int, x: int, y: int) -> None: ...
    def key(self, name: str, down: bool) -> None:
        """The person presses or releases a key."""
        ...

    def button(self, name: str, down: bool) -> None: ...
    def point(self, x: int, y: int) -> None: ...
    def wheel_up(self) -> None: ...
    def got(self, window: int) -> list[tuple[str, str]]:
        """What the window got: (press or release, name)."""
        ...


class WindowsDesktop:
    name, tells_programs, scale = "windows", True, 1.5

    def __init__(self) -> None:
        from engine.platforms.windows import WindowsPort
        from engine.platforms.windows_api import Api
        from engine.platforms.windows_inject import SCAN_CODES

        self.fake = FakeWin32()
        self.port: Port = WindowsPort(Api(self.fake.calls()))
        self._codes = {name: (code & 0xFF, code > 0xFF) for name, code in SCAN_CODES.items()}
        self._names = {f"key:{code | (0xE000 if prefix else 0):#x}": name for name, (code, prefix) in self._codes.items()}

    def open(self, title: str, x: int, y: int, width: int, height: int) -> int:
        return self.fake.open(title, Rect(x, y, width, height), dpi=144).handle

    def focus(self, window: int) -> None:
        self.fake.focus(self.fake.windows[window])

    def focus_elsewhere(self) -> None:
        self.fake.front = 0

    def cover(self, window: int) -> None:
        self.fake.open("Cover", self.fake.windows[window].rect)

    def minimise(self, window: int) -> None:
        self.fake.windows[window].minimised = True

    def hide(self, window: int) -> None:
        self.fake.windows[window].visible = False

    def close(self, window: int) -> None:
        self.fake.close(self.fake.windows[window])

    def move(self, window: int, x: int, y: int) -> None:
        rect = self.fake.windows[window].rect
        self.fake.windows[window].rect = Rect(x, y, rect.width, rect.height)

    def key(self, name: str, down: bool) -> None:
        code, prefix = self._codes[name]
        self.fake.key(code, down, prefix)

    def button(self, name: str, down: bool) -> None:
        self.fake.button(WINDOWS_BUTTONS[name], down)

    def point(self, x: int, y: int) -> None:
        self.fake.move(x, y)

    def wheel_up(self) -> None:
        self.fake.wheel(120)

    def got(self, window: int) -> list[tuple[str, str]]:
        return [(kind, WINDOWS_MESSAGES.get(what) or self._names[what]) for kind, what, _, _ in self.fake.windows[window].log]


class MacDesktop:
    name, tells_programs, scale = "macos", False, 2.0

    def __init__(self) -> None:
        from engine.platforms.macos import KEY_CODES, MacPort

        self.fake = FakeMac()
        with pytest.MonkeyPatch.context() as patch:
            for name, module in self.fake.modules().items():
                patch.setitem(__import__("sys").modules, name, module)
            self.port: Port = MacPort()
        self._codes, self._names = KEY_CODES, {code: name for name, code in KEY_CODES.items()}

    def _window(self, number: int) -> Any:
        return next(w for w in self.fake.windows if w.number == number)

    def open(self, title: str, x: int, y: int, width: int, height: int) -> int:
        return self.fake.open(title, Rect(x, y, width, height)).number

    def focus(self, window: int) -> None:
        self.fake.focus(self._window(window))

    def focus_elsewhere(self) -> None:
        self.fake.focus(self.fake.open("Elsewhere", Rect(1000, 700, 100, 50)))

    def cover(self, window: int) -> None:
        self.fake.open("Panel", self._window(window).rect, layer=3)

    def minimise(self, window: int) -> None:
        self._window(window).shown = False

    hide = minimise

    def close(self, window: int) -> None:
        self.fake.windows.remove(self._window(window))

    def move(self, window: int, x: int, y: int) -> None:
        found = self._window(window)
        found.rect = Rect(x, y, found.rect.width, found.rect.height)

    def key(self, name: str, down: bool) -> None:
        self.fake.key(self._codes[name], down)

    def button(self, name: str, down: bool) -> None:
        self.fake.button(name.removeprefix("mouse_"), down)

    def point(self, x: int, y: int) -> None:
        self.fake.move(x, y)

    def wheel_up(self) -> None:
        self.fake.wheel(0, 1)

    def got(self, window: int) -> list[tuple[str, str]]:
        log = self._window(window).log
        return [(kind, self._names[what] if isinstance(what, int) else f"mouse_{what}") for kind, what in log]


class XDesktop:
    """``person`` acts through XTEST, which the port cannot tell from a program: it says "injected" of everything."""

    name, tells_programs, scale = "x11", False, 1.0

    def __init__(self, display: str, directory: Path) -> None:
        from engine.platforms.x11 import X11Port
        from tests.support.x11 import Person

        self._display, self._directory = display, directory
        self._person = Person(display)
        self._targets: dict[int, Any] = {}
        self.port: Port = X11Port(display)
        self._names = {code + 8: name for name, code in LINUX_CODES.items()}

    def open(self, title: str, x: int, y: int, width: int, height: int) -> int:
        from tests.support.x11 import TargetWindow

        target = TargetWindow(self._display, title, x, y, width, height, "c81e1e", self._directory)
        self._targets[target.id] = target
        self._until(lambda: target.id in {w.id for w in self.port.windows()})
        return target.id

    def focus(self, window: int) -> None:
        self._targets[window].focus()

    def focus_elsewhere(self) -> None:
        self.focus(self.open("Elsewhere", 1100, 600, 100, 50))

    def cover(self, window: int) -> None:
        target = self._targets[window]
        width, height = (getattr(target.window.get_geometry(), what) for what in ("width", "height"))
        self.open("Cover", *target.origin(), width, height)
        target.focus()

    def minimise(self, window: int) -> None:
        from Xlib import X
        from Xlib.protocol import event

        target = self._targets[window]
        atom = target.connection.intern_atom("WM_CHANGE_STATE")
        message = event.ClientMessage(window=target.window, client_type=atom, data=(32, [3, 0, 0, 0, 0]))
        target.connection.screen().root.send_event(message, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        target.connection.sync()
        self._until(lambda: self.port.client_rect(window) is None)

    def hide(self, window: int) -> None:
        self._targets[window].hide()
        self._until(lambda: self.port.client_rect(window) is None)

    def close(self, window: int) -> None:
        self._targets[window].kill()
        self._until(lambda: self.port.window(window) is None)

    def move(self, window: int, x: int, y: int) -> None:
        target = self._targets[window]
        before = target.origin()
        target.move(x, y)
        self._until(lambda: target.origin() != before)

    def key(self, name: str, down: bool) -> None:
        self._person.key(LINUX_CODES[name] + 8, down)

    def button(self, name: str, down: bool) -> None:
        self._person.button(X_BUTTONS[name], down)

    def point(self, x: int, y: int) -> None:
        self._person.move(x, y)

    def wheel_up(self) -> None:
        self._person.button(4)

    def got(self, window: int) -> list[tuple[str, str]]:
        names = {number: name for name, number in X_BUTTONS.items()}
        rows = self._targets[window].events("key_press", "key_release", "button_press", "button_release")
        return [
            ("press" if r["kind"].endswith("press") else "release", (self._names if r["kind"].startswith("key") else names)[r["code"]])
            for r in rows
        ]

    def end(self) -> None:
        self.port.close()
        self._person.close()
        for target in self._targets.values():
            target.close()

    def _until(self, condition: Any) -> None:
        from tests.support.x11 import wait_until

        wait_until(condition, 5)


@contextmanager
def x_desktop(display: str, directory: Path) -> Iterator[XDesktop]:
    from tests.support.x11 import openbox

    with ExitStack() as stack:
        stack.enter_context(openbox(display))
        desktop = XDesktop(display, directory)
        stack.callback(desktop.end)
        yield desktop
