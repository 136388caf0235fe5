"""Opening SDL's display, and saying what is missing when there is none.

SDL silently falls back to drawing nowhere ("offscreen") when the X libraries are missing, even with DISPLAY set, so
the driver it chose is checked.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from league.arena import sprites
from league.arena.looks import CLASSIC

if TYPE_CHECKING:
    import pygame

VISIBLE_DRIVERS: Final = ("x11", "wayland", "windows", "cocoa")
X_LIBRARIES: Final = {"libX11.so.6": "libx11-6", "libXext.so.6": "libxext6", "libXcursor.so.1": "libxcursor1", "libXi.so.6": "libxi6"}
"""What SDL loads for X11, with the Debian package each is in."""


class DisplayError(Exception):
    """No window can be shown; the text says what is missing and what to do."""


def open_window(size: tuple[int, int], title: str, driver: str | None = None, position: tuple[int, int] | None = None) -> pygame.Surface:
    """Open the window and return its surface. driver: an SDL video driver by name ("dummy" shows nothing), None: the
    platform's own. Raises DisplayError."""
    chosen = driver or os.environ.get("SDL_VIDEODRIVER")
    if chosen is None and sys.platform.startswith("linux"):
        if os.environ.get("DISPLAY"):
            chosen = "x11"  # a window that can be captured, under Wayland too
        elif not os.environ.get("WAYLAND_DISPLAY"):
            raise DisplayError("arena window: DISPLAY is not set, so there is no screen; start it on a desktop, or use --offscreen")
    if chosen is not None:
        os.environ["SDL_VIDEODRIVER"] = chosen
    # No click may be lost: one that also brings the focus still counts.
    os.environ.setdefault("SDL_MOUSE_FOCUS_CLICKTHROUGH", "1")
    if position is not None:
        os.environ["SDL_VIDEO_WINDOW_POS"] = f"{position[0]},{position[1]}"
    import pygame

    try:
        pygame.display.init()
        found = pygame.display.get_driver()
        if driver is None and found not in VISIBLE_DRIVERS:
            raise DisplayError(f"arena window: SDL can only draw {found}{_missing_libraries()}")
        pygame.display.set_caption(title)
        pygame.display.set_icon(sprites.ship(CLASSIC, 0, sprites.heading_bucket(-math.pi / 4), 15.0, 1))
        return pygame.display.set_mode(size, pygame.RESIZABLE)
    except pygame.error as error:
        where = f"display {os.environ.get('DISPLAY')!r}" if chosen == "x11" else f"the video driver {chosen or 'of this platform'}"
        raise DisplayError(f"arena window: {where} cannot be opened ({error}){_missing_libraries()}") from error


def wait_until(due_ns: int, closing: threading.Event, take: Callable[[list[pygame.event.Event]], None]) -> None:
    """Sleep until the deadline (monotonic clock) or until ``closing``; events that come meanwhile are taken, and so dated, at once."""
    import pygame

    while not closing.is_set():
        left_ns = due_ns - time.monotonic_ns()
        if left_ns <= 0:
            return
        if left_ns < 2_000_000:
            time.sleep(left_ns / 1e9)
            return
        event = pygame.event.wait(int(left_ns // 1_000_000) - 1)
        if event.type != pygame.NOEVENT:
            take([event])


def place_of(pos: tuple[int, int]) -> tuple[float, float]:
    """Window px to 0..1 of the picture."""
    import pygame

    width, height = pygame.display.get_window_size()
    return (min(1.0, max(0.0, (pos[0] + 0.5) / width)), min(1.0, max(0.0, (pos[1] + 0.5) / height)))


def _missing_libraries() -> str:
    if not sys.platform.startswith("linux"):
        return ""
    missing: list[str] = []
    for library, package in X_LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    return f"; missing: {', '.join(missing)} (apt-get install {' '.join(missing)})" if missing else ""
