"""Marks on small pictures (uint8 RGB, two pixels a cell): the cursor, squares round points, boxes of things."""

from __future__ import annotations

from typing import Final

from data.schema import Image

Colour = tuple[int, int, int]
Point = tuple[float, float]

WHITE: Final[Colour] = (255, 255, 255)
YELLOW: Final[Colour] = (255, 220, 0)
CYAN: Final[Colour] = (0, 220, 255)


def cross(pixels: Image, point: Point | None) -> None:
    """The cursor: a white pixel with four yellow arms."""
    at = _pixel(pixels, point)
    if at is not None:
        x, y = at
        pixels[max(0, y - 1) : y + 2, x] = YELLOW
        pixels[y, max(0, x - 1) : x + 2] = YELLOW
        pixels[y, x] = WHITE


def outline(pixels: Image, point: Point | None, radius: int, colour: Colour) -> None:
    """A square round a point."""
    at = _pixel(pixels, point)
    if at is not None:
        x, y = at
        frame(pixels, x - radius, y - radius, x + radius, y + radius, colour)


def frame(pixels: Image, left: int, top: int, right: int, bottom: int, colour: Colour) -> None:
    """The edges of a rectangle, as far as they lie on the picture; the corners belong to it."""
    height, width = pixels.shape[:2]
    rows, columns = slice(max(0, top), max(0, bottom + 1)), slice(max(0, left), max(0, right + 1))
    for y in (top, bottom):
        if 0 <= y < height:
            pixels[y, columns] = colour
    for x in (left, right):
        if 0 <= x < width:
            pixels[rows, x] = colour


def _pixel(pixels: Image, point: Point | None) -> tuple[int, int] | None:
    if point is None or not (0 <= point[0] <= 1 and 0 <= point[1] <= 1):
        return None
    height, width = pixels.shape[:2]
    return min(width - 1, int(point[0] * width)), min(height - 1, int(point[1] * height))
