"""The X11 port. Created only where an X server answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from data.geometry import Rect
from engine.platforms.port import Injector, Listener, RawInput, WindowInfo
from engine.platforms.x11_inject import X11Injector
from engine.platforms.x11_keys import BUTTON_NUMBERS, read_key_table
from engine.platforms.x11_listen import X11Listener
from engine.platforms.x11_windows import X11Windows
from engine.platforms.xlib import close_display, open_display


class X11Port:
    """``display_name`` None: that of DISPLAY. Raises PlatformError with a one-line cause when it cannot be reached."""

    name = "x11"

    def __init__(self, display_name: str | None = None) -> None:
        self._connection: Any = open_display(display_name)
        self.display_name: str = self._connection.get_display_name()
        self._windows = X11Windows(self._connection)
        self._keys = read_key_table(self._connection)

    def windows(self) -> list[WindowInfo]:
        return self._windows.all_windows()

    def window(self, window_id: int) -> WindowInfo | None:
        return self._windows.info(window_id)

    def client_rect(self, window_id: int) -> Rect | None:
        return self._windows.visible_rect(window_id)

    def focused_window(self) -> int | None:
        return self._windows.focused()

    def has_focus(self, window_id: int) -> bool:
        return self._windows.has_focus(window_id)

    def pointer(self) -> tuple[int, int]:
        place = self._windows.root.query_pointer()
        return int(place.root_x), int(place.root_y)

    def pressed(self) -> frozenset[str]:
        bits = self._connection.query_keymap()
        names = {self._keys.name(8 * i + bit) for i, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1}
        mask = int(self._windows.root.query_pointer().mask)
        return frozenset(names | {name for name, number in BUTTON_NUMBERS.items() if mask >> (7 + number) & 1})

    def scale(self) -> float:
        """X11 has one coordinate space: capture, windows and pointer all count screen pixels."""
        return 1.0

    def obstacle(self, window_id: int | None = None) -> str:
        """X11 keeps nothing from a client of its server."""
        del window_id
        return ""

    def injector(self) -> Injector:
        return X11Injector(open_display(self.display_name))

    def listener(self, callback: Callable[[RawInput], None]) -> Listener:
        return X11Listener(callback, self.display_name)

    def close(self) -> None:
        close_display(self._connection)
