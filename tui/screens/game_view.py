"""Which part of a picture is shown in how many cells, and where a person points in it. Pure arithmetic, no widget.

A cell shows two pixels one above the other at a scale of 1; at a scale of 4 each pixel of the picture takes four columns
and two rows, so that a bar of 4 px is 8 rows high and can be hit.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from data.schema import Image
from data.untyped import opencv
from engine.game_builder_gauges import Box

SCALES: Final = (1, 2, 3, 4, 6, 8, 12, 16)
_EXACT: Final = 1e-6
"""Thirds of a pixel that add up to a whole one are that one."""


class PictureView:
    """Positions of cells are column, row from the upper left; those of the picture x, y in px."""

    def __init__(self, size: tuple[int, int], columns: int, rows: int) -> None:
        self.size = size
        self.columns, self.rows = max(1, columns), max(1, rows)
        self._level = 0
        self.left = self.top = 0
        self.x, self.y = size[0] // 2, size[1] // 2
        """Where the keyboard's pointer is."""

    @property
    def scales(self) -> tuple[float, ...]:
        """From the whole picture to single pixels."""
        fit = min(self.columns / self.size[0], 2 * self.rows / self.size[1], 1.0)
        return (fit, *(scale for scale in SCALES if scale > 1.2 * fit))

    @property
    def scale(self) -> float:
        """Columns for each pixel across, and half rows for each one down."""
        return self.scales[min(self._level, len(self.scales) - 1)]

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = max(1, columns), max(1, rows)
        self._level = min(self._level, len(self.scales) - 1)
        self._keep_inside()

    def zoom(self, by: int, at: tuple[int, int] | None = None) -> None:
        """In or out by so many steps, so that a pixel (the pointer's without one) stays in sight."""
        x, y = at or (self.x, self.y)
        before = self.px_to_cell(x, y)
        self._level = max(0, min(self._level + by, len(self.scales) - 1))
        column = min(max(before[0], 0), self.columns - 1)
        row = min(max(before[1], 0), self.rows - 1)
        self.left = math.ceil(x - column / self.scale)
        self.top = math.ceil(y - 2 * row / self.scale)
        self._keep_inside()

    def move(self, dx: int, dy: int) -> None:
        """The pointer by so many steps: a pixel each, or as many as a column shows; the view follows."""
        step = max(1, round(1 / self.scale))
        self.x = min(max(self.x + dx * step, 0), self.size[0] - 1)
        self.y = min(max(self.y + dy * step, 0), self.size[1] - 1)
        self._follow()

    def point(self, x: int, y: int) -> None:
        self.x, self.y = min(max(x, 0), self.size[0] - 1), min(max(y, 0), self.size[1] - 1)

    def cell_box(self, column: int, row: int) -> Box | None:
        """The pixels that a cell shows; None beside the picture."""
        left, top = self.left + column / self.scale, self.top + 2 * row / self.scale
        x, y = math.floor(left + _EXACT), math.floor(top + _EXACT)
        if not (0 <= x < self.size[0] and 0 <= y < self.size[1]) or column >= self.columns or row >= self.rows:
            return None
        right, bottom = math.ceil(left + 1 / self.scale - _EXACT), math.ceil(top + 2 / self.scale - _EXACT)
        return x, y, min(max(right, x + 1), self.size[0]), min(max(bottom, y + 1), self.size[1])

    def pointer_box(self) -> Box:
        """The pixels under the keyboard's pointer: one, or as many as a column shows."""
        step = max(1, round(1 / self.scale))
        return self.x, self.y, min(self.x + step, self.size[0]), min(self.y + step, self.size[1])

    def px_to_cell(self, x: int, y: int) -> tuple[int, int]:
        """The cell that shows a pixel; it may lie outside the view."""
        return math.floor((x - self.left) * self.scale), math.floor((y - self.top) * self.scale / 2)

    def frame_of(self, box: Box) -> tuple[int, int, int, int]:
        """First and last column and row of the cells right outside a box, where its frame is drawn."""
        left, top = self.px_to_cell(box[0], box[1])
        right = math.ceil((box[2] - self.left) * self.scale)
        bottom = math.ceil((box[3] - self.top) * self.scale / 2)
        return left - 1, top - 1, right, bottom

    def pixels(self, image: Image) -> Image:
        """What is seen, at two pixels a cell: uint8 RGB [2 * rows, columns, 3], black beside the picture."""
        scale, canvas = self.scale, np.zeros((2 * self.rows, self.columns, 3), np.uint8)
        right = min(self.size[0], math.ceil(self.left + self.columns / scale))
        bottom = min(self.size[1], math.ceil(self.top + 2 * self.rows / scale))
        part = image[self.top : bottom, self.left : right]
        if scale >= 1:
            whole = round(scale)
            shown = part.repeat(whole, 0).repeat(whole, 1)
        else:
            size = max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale))
            cv2 = opencv()
            shown = np.asarray(cv2.resize(np.ascontiguousarray(part), size, interpolation=cv2.INTER_AREA))
        height, width = min(shown.shape[0], canvas.shape[0]), min(shown.shape[1], canvas.shape[1])
        canvas[:height, :width] = shown[:height, :width]
        return canvas

    def _follow(self) -> None:
        """The view goes where the pointer is."""
        wide, high = self._seen()
        if self.x < self.left:
            self.left = self.x - wide // 4
        elif self.x >= self.left + wide:
            self.left = self.x - wide + max(1, wide // 4)
        if self.y < self.top:
            self.top = self.y - high // 4
        elif self.y >= self.top + high:
            self.top = self.y - high + max(1, high // 4)
        self._keep_inside()

    def _seen(self) -> tuple[int, int]:
        """How many pixels are seen across and down."""
        return max(1, math.floor(self.columns / self.scale)), max(1, math.floor(2 * self.rows / self.scale))

    def _keep_inside(self) -> None:
        wide, high = self._seen()
        self.left = min(max(self.left, 0), max(0, self.size[0] - wide))
        self.top = min(max(self.top, 0), max(0, self.size[1] - high))


def joined(a: Box, b: Box) -> Box:
    """The rectangle from one place to another."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
