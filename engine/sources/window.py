"""A window found by its title and followed: where it is, or why it cannot be seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from data.geometry import Rect
from data.profile import WHOLE, Region
from engine.platforms.port import Port, WindowInfo, describe_missing_window, find_windows

SEARCH_S: Final = 0.5
"""A missing window is searched for this often."""
CLOSED_S: Final = 2.0
"""How long a closed window is reported as such before its title is searched for anew."""

WindowState = Literal["visible", "hidden", "minimised", "closed", "not_found"]


@dataclass(frozen=True, slots=True)
class Seen:
    """The window at one look. ``rect`` (client area, or the part that is meant) only when it is visible; ``text`` says why it is not."""

    state: WindowState
    window: WindowInfo | None = None
    rect: Rect | None = None
    text: str = ""


class WindowFollower:
    """Used from one thread. The window found first is kept by its id, so that a changed title does not lose it.

    ``part``: the region of the client area that is meant; rectangles are of that part.
    """

    def __init__(self, port: Port, title_part: str, clock_s: Callable[[], float] = time.monotonic, part: Region = WHOLE) -> None:
        self._port, self.title_part, self._clock_s, self._part = port, title_part, clock_s, part
        self.window: WindowInfo | None = None
        self.closures = 0
        """How often a followed window was closed."""
        self.rect: Rect | None = None
        """The last rectangle that was real: a minimised window's is never kept."""
        self._next_search_s = 0.0
        self._last = Seen("not_found", text=f"window {title_part!r} not looked for yet")

    def look(self) -> Seen:
        if self.window is None:
            if self._clock_s() < self._next_search_s:
                return self._last
            self._last = self._search()
            return self._last
        rect = self._port.client_rect(self.window.id)
        if rect is not None:
            self.rect = rect.part(self._part)
            self._last = Seen("visible", self.window, self.rect)
            return self._last
        info = self._port.window(self.window.id)
        if info is None:
            self._last = Seen("closed", self.window, None, f"window {self.window.title!r} is closed")
            self.window, self.closures = None, self.closures + 1
            self._next_search_s = self._clock_s() + CLOSED_S
        elif info.minimised:
            self._last = Seen("minimised", info, None, f"window {info.title!r} is minimised; open it to go on")
        else:
            self._last = Seen("hidden", info, None, f"window {info.title!r} is hidden; show it to go on")
        return self._last

    def _search(self) -> Seen:
        found = find_windows(self._port, self.title_part)
        if not found:
            self._next_search_s = self._clock_s() + SEARCH_S
            return Seen("not_found", text=describe_missing_window(self.title_part, self._port.windows()))
        self.window = found[0]
        return self.look()
