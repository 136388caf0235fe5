"""Line charts for a terminal: bucket to the columns, smooth, draw with braille dots (or ASCII).

Pure functions on plain sequences; the widget that shows the result is ``tui.panes.losses``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BRAILLE_BASE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by row and column."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: x grows; y may hold NaN (a gap)."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart. ``rows`` are (label, cells) from top to bottom; a cell is (character, series index or -1).
    ``x_axis`` is the ruler under the plot and ``x_labels`` the line of numbers under it, both as wide as the plot."""

    rows: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    x_axis: str
    x_labels: str
    label_width: int


def smooth(ys: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average with bias correction: 0 leaves the values as they are, 0.9 is strong."""
    if weight <= 0:
        return list(ys)
    out: list[float] = []
    mean, norm = 0.0, 0.0
    for y in ys:
        if math.isfinite(y):
            mean = weight * mean + (1 - weight) * y
            norm = weight * norm + (1 - weight)
        out.append(mean / norm if norm else y)
    return out


def bucket(xs: Sequence[float], ys: Sequence[float], low: float, high: float, columns: int) -> list[tuple[float, float, float] | None]:
    """For each of ``columns`` equal parts of low..high: lowest, highest and last finite y, or None when there is none."""
    out: list[tuple[float, float, float] | None] = [None] * columns
    width = (high - low) or 1.0
    for x, y in zip(xs, ys, strict=False):
        if not math.isfinite(y):
            continue
        column = min(columns - 1, max(0, int((x - low) / width * columns)))
        seen = out[column]
        out[column] = (y, y, y) if seen is None else (min(seen[0], y), max(seen[1], y), y)
    return out


def nice_number(value: float) -> str:
    """A short label: 3 significant digits, 12k, 1.2M, 3e-5."""
    if not math.isfinite(value):
        return "?"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    if size >= 1e-3 or size == 0:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def draw(
    series: Sequence[Series], width: int, height: int, *, log_scale: bool = False, braille: bool = True, axis: str = "│┤└─┬"
) -> Chart | None:
    """Draw into ``width`` x ``height`` cells, axes and labels included; None when there is nothing to draw or no room."""
    values = [y for one in series for y in one.ys if math.isfinite(y) and (not log_scale or y > 0)]
    xs = [x for one in series for x in one.xs]
    if not values or not xs or height < 4:
        return None
    bottom, top = min(values), max(values)
    if log_scale:
        bottom, top = math.log10(bottom), math.log10(top)
    if top - bottom < 1e-12:
        pad = abs(top) * 0.05 or 0.5
        bottom, top = bottom - pad, top + pad
    plot_rows = height - 2
    marks = _y_marks(plot_rows)
    labels = {row: nice_number(_unscale(top - (top - bottom) * row / max(1, plot_rows - 1), log_scale)) for row in marks}
    label_width = max(len(text) for text in labels.values())
    columns = width - label_width - 1
    if columns < 8:
        return None
    low, high = min(xs), max(xs)
    across, down = (2, 4) if braille else (1, 1)
    dots_x, dots_y = columns * across, plot_rows * down
    bits = [[0] * columns for _ in range(plot_rows)]
    owner = [[-1] * columns for _ in range(plot_rows)]

    def dot(x: int, y: int, index: int) -> None:
        row, column = y // down, x // across
        bits[row][column] |= _DOTS[y % 4][x % 2] if braille else 1
        owner[row][column] = index

    def y_of(value: float) -> int:
        return min(dots_y - 1, max(0, round((top - value) / (top - bottom) * (dots_y - 1))))

    for index, one in enumerate(series):
        ys = [math.log10(y) if log_scale and y > 0 else (math.nan if log_scale else y) for y in one.ys]
        before: tuple[int, int] | None = None
        for x, seen in enumerate(bucket(one.xs, ys, low, high, dots_x)):
            if seen is None:
                continue
            here = y_of(seen[2])
            if before is not None:
                _segment(before, (x, here), one.dashed, index, dot)
            else:
                dot(x, here, index)
            for y in range(y_of(seen[1]), y_of(seen[0]) + 1):
                if not one.dashed or y % 2 == 0:
                    dot(x, y, index)
            before = (x, here)
    ascii_marks = "*o+x"
    rows: list[tuple[str, tuple[tuple[str, int], ...]]] = []
    for row in range(plot_rows):
        label = labels.get(row, "").rjust(label_width) + (axis[1] if row in labels else axis[0])
        cells = tuple(
            (" " if not mask else chr(BRAILLE_BASE | mask) if braille else ascii_marks[owner[row][c] % 4], owner[row][c])
            for c, mask in enumerate(bits[row])
        )
        rows.append((label, cells))
    ruler, numbers = _x_axis(low, high, columns, axis)
    return Chart(tuple(rows), " " * label_width + ruler, " " * (label_width + 1) + numbers, label_width)


def _unscale(value: float, log_scale: bool) -> float:
    return 10.0**value if log_scale else value


def _y_marks(rows: int) -> list[int]:
    """The rows that get a number: top, bottom and some between."""
    count = max(2, min(5, rows // 4 + 1))
    return sorted({round(i * (rows - 1) / (count - 1)) for i in range(count)})


def _segment(start: tuple[int, int], end: tuple[int, int], dashed: bool, index: int, dot: object) -> None:
    """Dots from start to end, start excluded; a dashed line leaves two of each five out."""
    assert callable(dot)
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    for i in range(1, steps + 1):
        x = start[0] + round((end[0] - start[0]) * i / steps)
        y = start[1] + round((end[1] - start[1]) * i / steps)
        if not dashed or x % 5 < 3:
            dot(x, y, index)


def _x_axis(low: float, high: float, columns: int, axis: str) -> tuple[str, str]:
    ruler = [axis[3]] * columns
    numbers = [" "] * columns
    count = max(2, min(6, columns // 12))
    for i in range(count):
        column = round(i * (columns - 1) / (count - 1))
        text = nice_number(low + (high - low) * i / (count - 1))
        at = min(max(0, column - len(text) // 2), columns - len(text))
        ruler[column] = axis[4]
        numbers[at : at + len(text)] = text
    return axis[2] + "".join(ruler), "".join(numbers)[:columns]


def sparkline(values: Sequence[float], width: int, *, blocks: str = "▁▂▃▄▅▆▇█") -> str:
    """The newest values as one line of blocks, at most ``width``; empty for fewer than two values."""
    shown = [v for v in values if math.isfinite(v)]
    if len(shown) < 2 or width < 2:
        return ""
    cells = [cell for cell in bucket(range(len(shown)), shown, 0, len(shown) - 1, min(width, len(shown))) if cell is not None]
    low, high = min(c[2] for c in cells), max(c[2] for c in cells)
    scale = (len(blocks) - 1) / ((high - low) or 1.0)
    return "".join(blocks[round((c[2] - low) * scale)] for c in cells)
