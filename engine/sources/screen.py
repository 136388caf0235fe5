"""The screen as a source: a monitor, a fixed region, or a window that is followed wherever it goes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from data.geometry import Rect
from data.profile import WHOLE, Region
from data.schema import Frame, Image
from engine.platforms import current_port
from engine.platforms.port import PlatformError, Port
from engine.platforms.wayland import WAYLAND_REMEDY, wayland_session
from engine.sources.window import Seen, WindowFollower

UNIFORM_S: Final = 3.0
"""Pictures of one colour for this long are told about."""
_UNIFORM_CHECK_S: Final = 0.5


class SourceError(PlatformError):
    """The screen cannot be captured as asked; the text says why and what to do."""


class ScreenSource:
    """Opened, grabbed from and closed by one thread: the grabber's handles belong to the thread that made them.

    Exactly one of ``monitor`` (counted from 1), ``region`` and ``window`` (part of its title) is given. With
    ``wait_for_window`` a missing window is waited for (``state`` says so), otherwise opening raises SourceError.
    ``part``: the region of the window's client area that is the picture.
    Pictures have the size of what is captured. Parts of a window beyond the screen's edge are black.
    """

    kind = "screen"

    def __init__(
        self,
        monitor: int | None = None,
        region: Rect | None = None,
        window: str = "",
        fps: float = 30.0,
        wait_for_window: bool = True,
        part: Region = WHOLE,
    ) -> None:
        if (monitor is not None) + (region is not None) + bool(window) != 1:
            raise SourceError("screen source: give one of a monitor, a region and a window's title")
        if not 1 <= fps <= 240:
            raise SourceError(f"screen source: {fps:g} pictures per second is not a rate; use 1 to 240")
        if region is not None and (region.width < 1 or region.height < 1):
            raise SourceError(f"screen source: a region of {region.width}x{region.height} px is empty")
        self.fps = fps
        self._monitor, self._region, self._title, self._wait = monitor, region, window, wait_for_window
        self._part = part
        self._grabber: Any = None
        self._to_rgb: Any = None
        self._port: Port | None = None
        self._follower: WindowFollower | None = None
        self._monitors: tuple[Rect, ...] = ()
        self._seen: Seen | None = None
        self._state = "not open"
        self._size = (0, 0)
        self._scale = 1.0
        self._number = 0
        self._uniform = UniformWatch()

    @property
    def description(self) -> str:
        if self._title:
            window = self._seen.window if self._seen is not None else None
            return f"window {window.title!r}" if window is not None else f"window {self._title!r}"
        if self._region is not None:
            r = self._region
            return f"fixed region {r.width}x{r.height} at {r.left}, {r.top}"
        return f"monitor {self._monitor}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the newest picture; 0, 0 before the first."""
        return self._size

    @property
    def scale(self) -> float:
        """Screen pixels per unit that programs count in, of the focused window's monitor when this was opened."""
        return self._scale

    @property
    def state(self) -> str:
        return self._state

    @property
    def notice(self) -> str:
        """A warning about pictures that come but show nothing; empty when all is well."""
        return self._uniform.notice

    @property
    def window_id(self) -> int | None:
        """The followed window, for focus and input; None without one."""
        window = self._seen.window if self._seen is not None else None
        return window.id if window is not None else None

    @property
    def rect(self) -> Rect | None:
        """Where the newest picture came from, screen pixels; a hidden window keeps its last real place."""
        if self._follower is not None:
            return self._follower.rect
        return self._region

    @property
    def window_closed(self) -> bool:
        """Whether the followed window was closed (and no new one has been found since)."""
        return self._seen is not None and self._seen.state == "closed"

    def open(self) -> None:
        """Raises SourceError with a one-line cause."""
        if self._grabber is not None:
            return
        mss: Any = import_module("mss")
        cv2: Any = import_module("cv2")
        self._to_rgb = lambda picture: cv2.cvtColor(picture, cv2.COLOR_BGRA2RGB)  # pyright: ignore[reportUnknownLambdaType]
        try:
            self._port = current_port()
            self._grabber = mss.MSS()
            self._monitors = tuple(Rect(m["left"], m["top"], m["width"], m["height"]) for m in self._grabber.monitors[1:])
            self._check()
            self._refuse_black_wayland()
            self._scale = self._port.scale()
        except SourceError:
            self.close()
            raise
        except (PlatformError, mss.ScreenShotError, OSError) as problem:
            self.close()
            raise SourceError(f"the screen cannot be captured: {' '.join(str(problem).split())}") from problem
        self._uniform = UniformWatch()

    def grab(self) -> Frame | None:
        """The picture now; None while the window is away (``state``). Raises SourceError when the screen is gone."""
        if self._grabber is None:
            raise SourceError("the screen source is not open; open it first")
        try:
            target = self._target()
            at_ns = time.monotonic_ns()
            image = None if target is None else self._picture(target)
        except _CaptureFailed as problem:
            if self._follower is not None:
                # Mostly the window moved or went between the look and the grab; if the screen is gone, the next look says so.
                self._state = f"the window could not be captured ({problem})"
                return None
            raise self._gone(problem) from problem
        except _lost() as problem:
            raise self._gone(problem) from problem
        if target is None or image is None:
            return None
        self._state, self._size = "", (image.shape[1], image.shape[0])
        self._uniform.see(image, at_ns)
        frame = Frame(self._number, at_ns, image, target)
        self._number += 1
        return frame

    def close(self) -> None:
        grabber, port = self._grabber, self._port
        self._grabber = self._port = self._follower = None
        self._state = "not open"
        if grabber is not None:
            # A grabber whose server has gone cannot say goodbye to it.
            with contextlib.suppress(import_module("mss").ScreenShotError, AssertionError, OSError):
                grabber.close()
        if port is not None:
            port.close()

    def _check(self) -> None:
        if self._region is not None:
            if all(self._region.intersection(m) is None for m in self._monitors):
                raise SourceError(f"the {self.description} is outside every monitor ({_list(self._monitors)})")
        elif self._monitor is not None:
            if not 1 <= self._monitor <= len(self._monitors):
                raise SourceError(f"there is no monitor {self._monitor}; there is {_list(self._monitors)}")
            self._region = self._monitors[self._monitor - 1]
        else:
            assert self._port is not None
            self._follower = WindowFollower(self._port, self._title, part=self._part)
            self._seen = self._follower.look()
            if self._seen.state == "not_found" and not self._wait:
                raise SourceError(self._seen.text)
        self._state = self._seen.text if self._seen is not None else ""

    def _target(self) -> Rect | None:
        if self._follower is None:
            return self._region
        self._seen = self._follower.look()
        self._state = self._seen.text
        return self._seen.rect

    def _picture(self, target: Rect) -> Image | None:
        """RGB of the target; None when no monitor shows any of it."""
        screen = _bounds(self._monitors)
        shown = target.intersection(screen)
        if shown is None:
            self._state = f"the {self.description} at {target.left}, {target.top} is outside every monitor ({_list(self._monitors)})"
            return None
        image = self._shot(shown)
        if shown == target:
            return image
        # A picture may have more pixels than its place has units (two to one on a Retina screen).
        height, width = image.shape[:2]
        down, across = height / shown.height, width / shown.width
        whole = np.zeros((round(target.height * down), round(target.width * across), 3), np.uint8)
        top, left = round((shown.top - target.top) * down), round((shown.left - target.left) * across)
        part = whole[top : top + height, left : left + width]
        part[:] = image[: part.shape[0], : part.shape[1]]
        return whole

    def _shot(self, rect: Rect) -> Image:
        mss: Any = import_module("mss")
        try:
            shot = self._grabber.grab({"left": rect.left, "top": rect.top, "width": rect.width, "height": rect.height})
        except AssertionError as problem:  # what the grabber's X11 backend says when the server has gone
            raise _CaptureFailed("the connection to the display is lost") from problem
        except (mss.ScreenShotError, OSError) as problem:
            raise _CaptureFailed(" ".join(str(problem).split())) from problem
        return self._to_rgb(np.frombuffer(shot.raw, np.uint8).reshape(shot.height, shot.width, 4))

    def _refuse_black_wayland(self) -> None:
        """XWayland, the X server inside a Wayland session, shows programs an all black screen."""
        session = wayland_session()
        if session and not any(self._shows_something(monitor) for monitor in self._monitors):
            raise SourceError(f"this is a Wayland session ({session}), which shows programs a black screen; {WAYLAND_REMEDY}")

    def _shows_something(self, monitor: Rect) -> bool:
        try:
            return bool(self._shot(monitor).any())
        except _CaptureFailed:
            return False

    def _gone(self, problem: Exception) -> SourceError:
        self._state = f"the screen is gone: {' '.join(str(problem).split())}"
        return SourceError(self._state)


class _CaptureFailed(Exception):
    """The grabber gave no picture."""


class UniformWatch:
    """Notices pictures that are one colour for seconds: a protected, full-screen or Wayland window looks like that."""

    def __init__(self) -> None:
        self.notice = ""
        self._since_ns: int | None = None
        self._next_ns = 0

    def see(self, image: Image, time_ns: int) -> None:
        if time_ns < self._next_ns:
            return
        self._next_ns = time_ns + round(_UNIFORM_CHECK_S * 1e9)
        sample = image[::8, ::8].reshape(-1, 3)
        if (sample != sample[0]).any():
            self._since_ns, self.notice = None, ""
            return
        if self._since_ns is None:
            self._since_ns = time_ns
        elif time_ns - self._since_ns >= UNIFORM_S * 1e9:
            red, green, blue = (int(v) for v in sample[0])
            what = "black" if red == green == blue == 0 else f"one colour ({red}, {green}, {blue})"
            self.notice = (
                f"the pictures have been all {what} for {UNIFORM_S:g} s; show the game, or capture its window instead of the screen"
            )


def _bounds(monitors: Sequence[Rect]) -> Rect:
    left, top = min(m.left for m in monitors), min(m.top for m in monitors)
    return Rect(left, top, max(m.right for m in monitors) - left, max(m.bottom for m in monitors) - top)


def _list(monitors: Sequence[Rect]) -> str:
    return "; ".join(f"monitor {i}: {m.width}x{m.height} at {m.left}, {m.top}" for i, m in enumerate(monitors, 1)) or "no monitor at all"


def _lost() -> tuple[type[Exception], ...]:
    """What the window search raises when the X server goes away; nothing on other platforms."""
    try:
        from engine.platforms.xlib import LOST
    except ImportError:
        return ()
    return LOST
