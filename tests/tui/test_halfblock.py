from __future__ import annotations

import time

import numpy as np
import pytest
from rich.color import ColorType

from tui import halfblock
from tui.halfblock import picture_lines, place


def scene(width: int = 640, height: int = 360) -> np.ndarray:
    """A dark field with a gradient and many small bright things, as a game shows it."""
    rng = np.random.default_rng(1)
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 2] = np.linspace(10, 60, width).astype(np.uint8)
    for x, y in zip(rng.integers(0, width - 12, 60), rng.integers(0, height - 12, 60), strict=True):
        image[y : y + 12, x : x + 12] = rng.integers(60, 256, 3)
    return image


def test_the_two_pixels_of_a_cell_are_its_colour_and_what_is_behind() -> None:
    image = np.zeros((2, 3, 3), np.uint8)
    image[0, 0], image[1, 0] = (255, 0, 0), (0, 0, 255)
    image[:, 1:] = (0, 255, 0)
    (line,) = picture_lines(image, 3, 1)
    assert line.plain == "▀  "
    first, rest = line.spans
    assert (first.style.color.triplet, first.style.bgcolor.triplet) == ((255, 0, 0), (0, 0, 255))
    assert (rest.start, rest.end, rest.style.bgcolor.triplet) == (1, 3, (0, 255, 0))


@pytest.mark.parametrize(("size", "columns", "rows"), [((640, 360), 80, 20), ((360, 640), 80, 20), ((100, 100), 21, 40), ((7, 900), 30, 9)])
def test_the_aspect_is_kept_and_the_picture_is_in_the_middle(size: tuple[int, int], columns: int, rows: int) -> None:
    at = place(size, columns, rows)
    wanted = size[0] / size[1]
    assert abs(at.columns - 2 * at.rows * wanted) <= wanted + 1
    assert at.columns == columns or at.rows == rows
    assert abs(columns - at.columns - 2 * at.left) <= 1
    lines = picture_lines(np.full((size[1], size[0], 3), 200, np.uint8), columns, rows)
    assert len(lines) == rows
    assert [bool(line.plain.strip() or line.spans) for line in lines] == [at.top <= y < at.top + at.rows for y in range(rows)]


def test_without_colour_brightness_becomes_ascii() -> None:
    image = np.repeat(np.linspace(0, 255, 40).astype(np.uint8)[None, :, None], 3, axis=2).repeat(8, axis=0)
    line = picture_lines(image, 40, 4, colours=False)[1]
    assert line.plain.isascii()
    assert not line.spans
    levels = [halfblock.RAMP.index(c) for c in line.plain]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (0, len(halfblock.RAMP) - 1)


@pytest.mark.parametrize(
    ("depth", "kind", "wanted"),
    [
        (
            4,
            ColorType.STANDARD,
            {(250, 5, 5): 9, (0, 0, 0): 0, (8, 12, 20): 0, (250, 250, 250): 15, (130, 128, 127): 8, (0, 120, 10): 2, (120, 30, 30): 1},
        ),
        (8, ColorType.EIGHT_BIT, {(255, 0, 0): 196, (0, 0, 0): 16, (255, 255, 255): 231, (130, 128, 127): 244, (94, 136, 174): 67}),
    ],
)
def test_fewer_colours_are_the_nearest_ones(depth: halfblock.Depth, kind: ColorType, wanted: dict[tuple[int, int, int], int]) -> None:
    for colour, number in wanted.items():
        (line,) = picture_lines(np.full((2, 2, 3), colour, np.uint8), 2, 1, depth=depth)
        style = line.spans[0].style
        assert (style.bgcolor.type, style.bgcolor.number) == (kind, number), colour


def test_equal_neighbours_are_one_run() -> None:
    (line,) = picture_lines(np.full((2, 100, 3), (100, 101, 99), np.uint8), 100, 1)
    assert len(line.spans) == 1


def test_a_picture_of_100x40_cells_is_quick() -> None:
    image = scene(200, 80)
    picture_lines(image, 100, 40)
    times: list[float] = []
    for _ in range(20):
        begin = time.thread_time()
        picture_lines(image, 100, 40)
        times.append(time.thread_time() - begin)
    assert min(times) < 0.006
