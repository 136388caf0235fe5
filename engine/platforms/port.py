"""What every platform offers: window search, focus, injection and listening, behind one set of words.

Positions are screen pixels (x to the right, y down) unless a name says otherwise. Key names are physical, those of
``engine.platforms.keys``; buttons are ``mouse_left`` and so on. A port belongs to one thread at a time; injectors and
listeners have connections of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from data.geometry import Rect


class PlatformError(Exception):
    """Something that the platform cannot do here; the text says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """A top-level window at one moment. ``rect`` is its client area; None while it is hidden or minimised."""

    id: int
    title: str
    rect: Rect | None
    visible: bool = True
    minimised: bool = False


@dataclass(frozen=True, slots=True)
class RawInput:
    """One event of any device, whatever has the focus; auto-repeat is folded into the first press.

    ``name`` is a key or button (unknown keys keep their code: ``key248``), empty for moves and scrolls. ``x``, ``y``
    are the pointer's position where it is known. ``dx``, ``dy`` are scroll steps; of a move, the device's own relative
    motion (before acceleration) since the last one, 0 where it is not known. ``injected``: the event came from
    a program, not from a device, or the platform cannot tell (the program need not be Secondseat).
    """

    time_ns: int
    kind: Literal["move", "press", "release", "scroll"]
    name: str = ""
    x: int | None = None
    y: int | None = None
    dx: int = 0
    dy: int = 0
    device: str = ""
    injected: bool = False


GateResult = Literal["sent", "no_focus", "hidden", "closed", "covered", "off_screen", "elevated"]
"""What became of an injection. Everything but ``sent`` means that nothing at all was pressed or moved."""

ELEVATED: Final = (
    "its program runs with more rights than Secondseat (as administrator), and Windows lets it neither be heard nor driven;"
    " start the game without them, or Secondseat with the same"
)
"""What is said of an ``elevated`` window."""


@dataclass(frozen=True, slots=True)
class Injected:
    """``x``, ``y``: where the cursor went, screen pixels. The times are taken right before and after injecting."""

    result: GateResult
    before_ns: int
    after_ns: int
    x: int | None = None
    y: int | None = None


class Injector(Protocol):
    """Puts input into one window, and only while that window has the focus."""

    def inject(
        self,
        window_id: int,
        releases: Sequence[str],
        point: tuple[float, float] | None,
        presses: Sequence[str],
        margin_px: int,
        dry_run: bool = False,
    ) -> Injected:
        """Releases, moves to ``point`` (0..1 of the client area, kept ``margin_px`` inside its edge), then presses.

        The window's rectangle and focus are looked up anew each time. A dry run does all but the injecting.
        """
        ...

    def release(self, names: Collection[str]) -> None:
        """Lets go of keys and buttons whatever has the focus. A key that is not down is not an error."""
        ...

    def knows(self, name: str) -> bool:
        """Whether a key or button of this name can be pressed here."""
        ...

    def focus(self, window_id: int) -> GateResult:
        """``sent`` when an injection would go through now, else why not."""
        ...

    def close(self) -> None: ...


class Listener(Protocol):
    """Hands every input event of the machine to a callback, in a thread of its own."""

    def start(self) -> None:
        """Raises PlatformError when listening is impossible here."""
        ...

    def stop(self) -> None: ...

    @property
    def failure(self) -> str:
        """Why it no longer listens; empty while it does."""
        ...


class Port(Protocol):
    """One platform. ``name`` is ``x11``, ``windows`` or ``macos``."""

    name: str

    def windows(self) -> list[WindowInfo]:
        """All top-level windows with a title, hidden and minimised ones too."""
        ...

    def window(self, window_id: int) -> WindowInfo | None:
        """The window as it is now; None when it is closed."""
        ...

    def client_rect(self, window_id: int) -> Rect | None:
        """Only the client area, and quickly; None while the window is hidden, minimised or closed."""
        ...

    def focused_window(self) -> int | None:
        """The top-level window that gets the keyboard now."""
        ...

    def has_focus(self, window_id: int) -> bool: ...

    def pointer(self) -> tuple[int, int]: ...

    def pressed(self) -> frozenset[str]:
        """The keys and buttons that are down now, by any device."""
        ...

    def scale(self) -> float:
        """Screen pixels per unit of the toolkit's coordinates; 1.0 where they are the same."""
        ...

    def obstacle(self, window_id: int | None = None) -> str:
        """Why the window (the focused one by default) can be neither driven nor heard, though it is there; empty when it can."""
        ...

    def injector(self) -> Injector: ...

    def listener(self, callback: Callable[[RawInput], None]) -> Listener: ...

    def close(self) -> None: ...


def place_in_window(point: tuple[float, float], rect: Rect, margin_px: int) -> tuple[int, int]:
    """The screen pixel of a point (0..1) of a window, kept at least ``margin_px`` inside its edge."""
    margin_x, margin_y = min(margin_px, (rect.width - 1) // 2), min(margin_px, (rect.height - 1) // 2)
    x = min(max(round(point[0] * rect.width), margin_x), rect.width - 1 - margin_x)
    y = min(max(round(point[1] * rect.height), margin_y), rect.height - 1 - margin_y)
    return rect.left + x, rect.top + y


def find_windows(port: Port, title_part: str) -> list[WindowInfo]:
    """Windows whose title contains the text (capitals do not matter); exact titles come first, then visible ones."""
    wanted = title_part.casefold()
    found = [w for w in port.windows() if wanted in w.title.casefold()]
    return sorted(found, key=lambda w: (w.title.casefold() != wanted, not w.visible))


def describe_missing_window(title_part: str, windows: Sequence[WindowInfo]) -> str:
    """One line that says which window was looked for and which there are."""
    titles = sorted({w.title for w in windows})
    listed = ", ".join(repr(t if len(t) <= 40 else t[:39] + "…") for t in titles[:8])
    more = f" and {len(titles) - 8} more" if len(titles) > 8 else ""
    return f"window {title_part!r} not found, {len(titles)} candidate{'' if len(titles) == 1 else 's'}" + (
        f": {listed}{more}" if titles else ""
    )
