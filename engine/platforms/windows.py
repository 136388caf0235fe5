"""The Windows port: windows, focus, scale and pressed keys; injection and listening beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from data.geometry import Rect
from engine.platforms.port import ELEVATED, RawInput, WindowInfo
from engine.platforms.windows_api import Api
from engine.platforms.windows_inject import EXTENDED, SCAN_CODES, WindowsInjector, physical_button
from engine.platforms.windows_listen import WindowsListener

_BUTTON_KEYS: Final = {"mouse_left": 0x01, "mouse_right": 0x02, "mouse_middle": 0x04}


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
            n for n, code in SCAN_CODES.items() if self._is_down(self._api.virtual_key((code & 0xFF) | (0xE000 if code & EXTENDED else 0)))
        }
        swapped = self._api.buttons_are_swapped()
        buttons = {physical_button(n, swapped) for n, key in _BUTTON_KEYS.items() if self._api.is_down(key)}
        return frozenset(keys | buttons)

    def scale(self) -> float:
        """Of the focused window's monitor. Positions are in real pixels all the same: the process is scaling-aware."""
        return self._api.window_dpi(self._api.foreground()) / 96.0

    def obstacle(self, window_id: int | None = None) -> str:
        window = self._api.foreground() if window_id is None else window_id
        return ELEVATED if self._api.exists(window) and self._api.has_more_rights(window) else ""

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
