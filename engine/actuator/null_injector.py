"""An injector that presses nothing: for dry runs and the embedded arena on machines without a screen."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from data.geometry import Rect
from engine.platforms.keys import LINUX_CODES, code_of_name
from engine.platforms.port import GateResult, Injected, place_in_window


class NullInjector:
    """One window of the given size that always has the focus. The rules above it are the same as on a real screen."""

    def __init__(self, rect: Rect | None = None) -> None:
        self.rect = rect or Rect(0, 0, 640, 360)

    def inject(
        self,
        window_id: int,
        releases: Sequence[str],
        point: tuple[float, float] | None,
        presses: Sequence[str],
        margin_px: int,
        dry_run: bool = False,
    ) -> Injected:
        now_ns = time.monotonic_ns()
        return Injected("sent", now_ns, now_ns, *((None, None) if point is None else place_in_window(point, self.rect, margin_px)))

    def release(self, names: Collection[str]) -> None:
        """There is nothing to let go of."""

    def knows(self, name: str) -> bool:
        return name.startswith("mouse_") or name in LINUX_CODES or code_of_name(name) is not None

    def focus(self, window_id: int) -> GateResult:
        return "sent"

    def close(self) -> None:
        """There is no connection."""
