"""A picture of the live preview with the boxes of what was found on it, as lines. Imported when one is first drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.text import Text

from data.text import printable
from engine.state import Picture
from tui.halfblock import Depth, Place, depth_of, encode, place, placed, shrink
from tui.overlay import Colour, cross, frame
from tui.terminal_bytes import cost, sent

if TYPE_CHECKING:
    from tui.app import SecondseatApp

MANY_CELLS: Final = 1200
"""A picture of more cells is drawn with 256 colours."""
NAMES_FROM: Final = 70
"""Columns of a picture on which the names of things have room beside them."""
_COLOURS: Final[tuple[tuple[str, Colour], ...]] = (
    ("#ff6b7a", (255, 107, 122)),
    ("#f0b952", (240, 185, 82)),
    ("#5cd0dd", (92, 208, 221)),
    ("#c297ff", (194, 151, 255)),
    ("#6cb6ff", (108, 182, 255)),
)
"""Of boxes by the order of their names: as text, and in pixels."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as lines; what it costs when all of it is sent; what is on it."""

    lines: list[Text]
    cost: int
    legend: Text


def fair_depth(face: SecondseatApp, cells: int) -> Depth:
    """The terminal's colours; for a large picture fewer."""
    full = depth_of(face)
    return 8 if full == 24 and cells > MANY_CELLS else full


def draw(picture: Picture, columns: int, rows: int, depth: Depth) -> Drawn:
    """The picture with the boxes of what was found and the cursor, in the middle of ``rows`` lines."""
    image = np.frombuffer(picture.rgb, np.uint8).reshape(picture.height_px, picture.width_px, 3)
    at = place((picture.source_width_px, picture.source_height_px), columns, rows)
    pixels = shrink(image, at)
    names = sorted({box.name for box in picture.boxes})
    height, width = pixels.shape[:2]
    tags: list[tuple[int, int, Text]] = []
    for box in picture.boxes:
        left, right = (round((box.x + side * box.width / 2) * width - 0.5) for side in (-1, 1))
        top, bottom = (round((box.y + side * box.height / 2) * height - 0.5) for side in (-1, 1))
        style, colour = _COLOURS[names.index(box.name) % len(_COLOURS)]
        frame(pixels, left, top, right, bottom, colour)
        tags.append((at.top + bottom // 2 + 1, at.left + max(0, left), Text(printable(box.name), style if depth >= 8 else "")))
    cross(pixels, picture.cursor)
    cells = encode(pixels, depth)
    lines = placed(cells, at, rows, depth)
    if at.columns >= NAMES_FROM:
        for y, x, tag in tags:
            if at.top <= y < at.top + at.rows:
                lines[y] = written(lines[y], x, tag, at)
    legend = Text("" if picture.boxes else "nothing found on it  ", no_wrap=True)
    for name, count in sorted(Counter(box.name for box in picture.boxes).items()):
        legend.append(f"{count} {printable(name)}  ", _COLOURS[names.index(name) % len(_COLOURS)][0] if depth >= 8 else "")
    legend.append(f"{picture.source_width_px}x{picture.source_height_px}")
    return Drawn(lines, cost(cells, sent(cells, None), depth), legend)


def written(line: Text, x: int, words: Text, at: Place) -> Text:
    """The line with words over what stands at cell ``x``, as far as they lie on the picture."""
    shown = words[: max(0, at.left + at.columns - x)]
    return Text.assemble(line[:x], shown, line[x + len(shown) :], no_wrap=True) if len(shown) else line
