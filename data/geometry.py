"""Rectangles in screen pixels, apart from the rest so that small processes need not load numpy for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle in screen pixels. ``left`` and ``top`` may be negative (monitors left of or above the first)."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The first column to the right of the rectangle."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """The first row below the rectangle."""
        return self.top + self.height

    def part(self, region: tuple[float, float, float, float]) -> Rect:
        """The pixels of a region (left, top, right, bottom in 0..1 of the rectangle); at least one."""
        left, top = min(round(region[0] * self.width), self.width - 1), min(round(region[1] * self.height), self.height - 1)
        right, bottom = max(round(region[2] * self.width), left + 1), max(round(region[3] * self.height), top + 1)
        return Rect(self.left + left, self.top + top, right - left, bottom - top)

    def intersection(self, other: Rect) -> Rect | None:
        """What both cover, or None when they do not meet."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Rect(left, top, right - left, bottom - top) if right > left and bottom > top else None
