"""Pictures made of characters: two pixels a cell, the upper one in the colour of "▀", the lower one behind it.

Colours are quantised before runs of equal cells are merged, so that a frame stays small on its way to the terminal:
to 32 levels a channel in a terminal with all colours, to xterm's cube and greys with 256, and to the nearest of
xterm's sixteen with 16 (nearest by red, green and blue weighted 2:4:3, about as the eye weighs them; shadows are lifted
and colours strengthened first, or a dark picture would be black and grey). Without colour a cell is one character of a
ramp from dark to bright.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Span, Text

from data.schema import Image
from data.untyped import opencv

if TYPE_CHECKING:
    from tui.app import SecondseatApp

Depth = Literal[24, 8, 4, 0]
"""Bits of colour that the terminal shows; 0 without colour."""

RAMP: Final = " .:-=+*#%@"
_GAMMA: Final = 0.6
"""Below 1: dark pictures keep their shapes on the short ramp."""
_LIFT: Final = 0.7
_STRENGTH: Final = 1.6
_WEIGHTS: Final = np.array([2, 4, 3], np.int64)
_CUBE: Final = np.array([0, 95, 135, 175, 215, 255], np.int32)
_SIXTEEN: Final = np.array(
    [
        *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
        *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)),
    ],
    np.int32,
)


def depth_of(face: SecondseatApp) -> Depth:
    """The colours that the terminal shows; none where NO_COLOR is set or blocks cannot be drawn."""
    if face.no_color or not face.look.glyphs.braille:
        return 0
    return {"truecolor": 24, "256": 8}.get(face.console.color_system or "", 4)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a picture lies within ``columns`` x ``rows`` cells; its own size in cells."""

    left: int
    top: int
    columns: int
    rows: int


def place(image_size: tuple[int, int], columns: int, rows: int) -> Place:
    """The largest place for a picture of ``image_size`` (width, height) that keeps its aspect, in the middle."""
    width, height = image_size
    scale = min(columns / width, 2 * rows / height)
    across = min(columns, max(1, round(width * scale)))
    down = min(rows, max(1, round(height * scale / 2)))
    return Place((columns - across) // 2, (rows - down) // 2, across, down)


def shrink(image: Image, at: Place) -> Image:
    """The picture at two pixels a cell: uint8 RGB [2 * rows, columns, 3], a copy that may be drawn on."""
    cv2 = opencv()
    size = (at.columns, 2 * at.rows)
    smaller = size[0] <= image.shape[1] and size[1] <= image.shape[0]
    return np.array(cv2.resize(image, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_NEAREST), np.uint8)


def encode(pixels: Image, depth: Depth) -> NDArray[np.int32]:
    """int32 [rows, columns]: one number a cell that stands for its look. pixels: as ``shrink`` gives them."""
    if depth == 0:
        luma = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
        pairs = (luma[0::2] + luma[1::2]) / 510.0
        return np.rint(pairs**_GAMMA * (len(RAMP) - 1)).astype(np.int32)
    five = (pixels >> 3).astype(np.int32)
    codes = five[..., 0] << 10 | five[..., 1] << 5 | five[..., 2]
    if depth != 24:
        codes = _table(depth)[codes]
    return codes[0::2] << 15 | codes[1::2]


def runs(row: NDArray[np.int32], depth: Depth) -> Iterator[tuple[str, Style]]:
    """The text and style of each run of equal cells of one encoded row."""
    edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
    for start, end, code in zip(edges, edges[1:], row[edges[:-1]].tolist(), strict=False):
        if depth == 0:
            yield RAMP[code] * (end - start), _PLAIN
        else:
            yield (" " if code >> 15 == code & 0x7FFF else "▀") * (end - start), _style(code, depth)


def picture_lines(image: Image, columns: int, rows: int, colours: bool = True, depth: Depth = 24) -> list[Text]:
    """The picture in the middle of ``rows`` lines of ``columns`` cells, as large as its aspect allows.

    image: uint8 RGB [H, W, 3]. Without ``colours`` (or at depth 0) it is drawn in ASCII.
    """
    depth = depth if colours else 0
    at = place((image.shape[1], image.shape[0]), columns, rows)
    return placed(encode(shrink(image, at), depth), at, rows, depth)


def placed(cells: NDArray[np.int32], at: Place, rows: int, depth: Depth) -> list[Text]:
    """Encoded cells as ``rows`` lines, the picture at its place among them."""
    margin = " " * at.left
    lines = [_line(margin, cells[y], depth) for y in range(at.rows)]
    return [*(Text() for _ in range(at.top)), *lines, *(Text() for _ in range(rows - at.top - at.rows))]


def _line(margin: str, row: NDArray[np.int32], depth: Depth) -> Text:
    parts, spans, at = [margin], list[Span](), len(margin)
    for text, style in runs(row, depth):
        parts.append(text)
        if style is not _PLAIN:
            spans.append(Span(at, at + len(text), style))
        at += len(text)
    return Text("".join(parts), spans=spans, no_wrap=True)


_PLAIN: Final = Style.null()


@lru_cache(maxsize=1 << 16)
def _style(code: int, depth: Depth) -> Style:
    upper, lower = code >> 15, code & 0x7FFF
    return Style.from_color(None if upper == lower else _colour(upper, depth), _colour(lower, depth))


@lru_cache(maxsize=1 << 15)
def _colour(code: int, depth: Depth) -> Color:
    if depth != 24:
        return Color.from_ansi(code)
    red, green, blue = (level << 3 | level >> 2 for level in (code >> 10, code >> 5 & 31, code & 31))
    return Color.from_rgb(red, green, blue)


@cache
def _table(depth: Depth) -> NDArray[np.int32]:
    """int32 [32768]: the terminal's colour for each colour of five bits a channel."""
    levels = np.arange(32, dtype=np.int32)
    levels = levels << 3 | levels >> 2
    colours = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    if depth == 4:
        return np.argmin(_distance(_strong(colours)[:, None], _SIXTEEN[None]), axis=1).astype(np.int32)
    steps = np.argmin(np.abs(colours[..., None] - _CUBE), axis=-1)
    grey = np.clip((colours.sum(axis=1) // 3 - 3) // 10, 0, 23)
    grey_is_nearer = _distance(colours, np.repeat((8 + 10 * grey)[:, None], 3, axis=1)) < _distance(colours, _CUBE[steps])
    return np.asarray(np.where(grey_is_nearer, 232 + grey, 16 + steps @ np.array([36, 6, 1])), np.int32)


def _strong(colours: NDArray[np.int32]) -> NDArray[np.int32]:
    """Brighter shadows, and further from grey."""
    lifted = 255.0 * (colours / 255.0) ** _LIFT
    grey = lifted.mean(axis=1, keepdims=True)
    return np.rint(np.clip(grey + _STRENGTH * (lifted - grey), 0, 255)).astype(np.int32)


def _distance(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.square(a - b, dtype=np.int64) @ _WEIGHTS
