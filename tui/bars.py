"""Bars of characters: a value with its interval on a scale, shares, small columns, and cells of a heat table.

Each can be read without colours: what is full, what is uncertain and where the value stands are different characters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from rich.text import Text

from engine.scores import Interval
from tui.theme import Look

SHADES: Final = " ░▒▓█"
ASCII_SHADES: Final = " .:*#"


def figure(value: float, digits: int = 2) -> str:
    """0.81; "none" for what was not measured."""
    return "none" if not math.isfinite(value) else f"{value:.{digits}f}"


def cell_of(value: float, width: int, low: float = 0.0, high: float = 1.0) -> int:
    """The cell, from 0, in which a value lies on a scale of ``width`` cells; clamped to its ends."""
    return max(0, min(width - 1, int((value - low) / (high - low) * width)))


def interval_bar(found: Interval, width: int, look: Look) -> Text:
    """A score between random (0, left) and the demonstrator (1, right): full up to the interval's lower end, a line over the
    interval, a mark at the value. What lies beyond an end is an arrow there."""
    glyphs, palette = look.glyphs, look.palette
    width = max(3, width)
    if not math.isfinite(found.value):
        return Text("none".ljust(width)[:width], palette.dim)
    low, value, high = (cell_of(v, width) for v in (found.low, found.value, found.high))
    cells = [glyphs.bar_full] * low + [glyphs.solid[0]] * (high - low + 1) + [glyphs.bar_empty] * (width - high - 1)
    cells[value] = glyphs.recording
    if found.low < 0 and value > 0:
        cells[0] = "<"
    if found.high > 1 and value < width - 1:
        cells[-1] = ">"
    if found.value < 0 or found.value > 1:
        cells[value] = "<" if found.value < 0 else ">"
    line = Text("".join(cells), palette.good, no_wrap=True)
    line.stylize(palette.dim, high + 1, width)
    return line


def gain_bar(found: Interval, width: int, reach: float, look: Look) -> Text:
    """A difference with its interval on a scale from -reach to reach; the middle is no difference."""
    glyphs, palette = look.glyphs, look.palette
    low, value, high = (cell_of(v, width, -reach, reach) for v in (found.low, found.value, found.high))
    cells = [" "] * width
    cells[low : high + 1] = [glyphs.solid[0]] * (high - low + 1)
    cells[width // 2] = glyphs.separator
    cells[value] = glyphs.recording
    style = palette.good if found.low > 0 else palette.bad if found.high < 0 else palette.dim
    return Text("".join(cells), style, no_wrap=True)


def share_bar(value: float, width: int, look: Look, marks: Sequence[float] = ()) -> Text:
    """A share from 0 to 1, with a stroke where each of ``marks`` lies."""
    glyphs, palette = look.glyphs, look.palette
    filled = round(max(0.0, min(1.0, value if math.isfinite(value) else 0.0)) * width)
    cells = [glyphs.bar_full] * filled + [glyphs.bar_empty] * (width - filled)
    line = Text("".join(cells), palette.good, no_wrap=True)
    line.stylize(palette.dim, filled, width)
    for mark in marks:
        if math.isfinite(mark):
            at = cell_of(mark, width)
            line = Text.assemble(line[:at], (glyphs.separator, palette.warn), line[at + 1 :], no_wrap=True)
    return line


def columns(values: Sequence[float], look: Look, cell: int = 1, most: float = 0.0) -> Text:
    """One column of blocks a value, ``cell`` characters wide, as high as its share of ``most`` (the greatest when 0); a dot
    where there is none."""
    blocks = look.glyphs.blocks
    known = [value for value in values if math.isfinite(value)]
    top = most or max(known, default=0.0)
    line = Text(no_wrap=True)
    for value in values:
        if not math.isfinite(value):
            line.append(look.glyphs.dot * cell, look.palette.dim)
        else:
            height = 0 if top <= 0 else max(0, min(len(blocks) - 1, math.ceil(value / top * len(blocks)) - 1))
            line.append(blocks[height] * cell, look.palette.learn)
    return line


def heat(share: float, look: Look) -> Text:
    """A cell of a heat table, six wide: two shades and the percentage."""
    shades = SHADES if look.glyphs.braille else ASCII_SHADES
    shade = shades[max(0, min(len(shades) - 1, math.ceil(share * (len(shades) - 1))))]
    return Text.assemble((shade * 2, look.palette.good), f"{share * 100:>3.0f} ", no_wrap=True)


def beside(left: Sequence[Text], right: Sequence[Text], at: int) -> list[Text]:
    """Two blocks next to each other, the right one beginning at column ``at``."""
    out: list[Text] = []
    for number in range(max(len(left), len(right))):
        line = left[number].copy() if number < len(left) else Text(no_wrap=True)
        if number < len(right):
            line.append(" " * max(1, at - line.cell_len))
            line.append_text(right[number])
        out.append(line)
    return out
