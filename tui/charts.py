"""Line charts for a terminal: bucketed to the columns, drawn with braille dots (or ASCII).

Pure functions; ``tui.runs`` calls them in a thread of its own and ``tui.panes.losses`` shows the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

BRAILLE_BASE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by row and column."""
ASCII_MARKS: Final = "*o+x#%"
MARK: Final = "@"
"""Stands for a marked point in ``Chart.rows``; who shows the chart puts its own sign there."""

Bucket = tuple[float, float, float]
"""Lowest, highest and last value of a column."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: x grows; y may hold NaN (a gap). ``mark`` is a point to single out."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    dashed: bool = False
    mark: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart. ``rows`` are (label, cells) from top to bottom; a cell is (character, series index or -1).
    ``x_axis`` is the ruler under the plot and ``x_labels`` the line of numbers under it, both as wide as the plot."""

    rows: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    x_axis: str
    x_labels: str
    label_width: int


def bucket(xs: Sequence[float], ys: Sequence[float], low: float, high: float, columns: int) -> list[Bucket | None]:
    """For each of ``columns`` equal parts of low..high: lowest, highest and last finite y, or None when there is none.

    What lies outside low..high is left out.
    """
    import numpy as np

    out: list[Bucket | None] = [None] * columns
    x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
    keep = np.isfinite(y) & (x >= low) & (x <= high)
    x, y = x[keep], y[keep]
    if not len(x):
        return out
    if (np.diff(x) < 0).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    width = (high - low) or 1.0
    at = np.clip(((x - low) / width * columns).astype(np.int64), 0, columns - 1)
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    ends = np.append(starts[1:], len(at)) - 1
    least, most = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    for column, a, b, c in zip(at[starts].tolist(), least.tolist(), most.tolist(), y[ends].tolist(), strict=True):
        out[column] = (a, b, c)
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


def nice_hours(value: float) -> str:
    """A time of training: 40s, 12m, 1.5h."""
    if abs(value) < 1 / 60:
        return f"{value * 3600:.0f}s"
    return f"{value * 60:.3g}m" if abs(value) < 1 else f"{value:.3g}h"


def extent(series: Sequence[Series]) -> tuple[float, float] | None:
    """The lowest and highest x of all series."""
    ends = [(min(one.xs), max(one.xs)) for one in series if len(one.xs)]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


def draw(
    series: Sequence[Series],
    width: int,
    height: int,
    *,
    window: tuple[float, float] | None = None,
    log_scale: bool = False,
    braille: bool = True,
    axis: str = "│┤└─┬",
    x_text: Callable[[float], str] = nice_number,
) -> Chart | None:
    """Draw into ``width`` x ``height`` cells, axes and labels included; None when there is nothing to draw or no room.

    ``window`` is the stretch of x that is shown, all of it when None; y is scaled to what is seen there.
    """
    whole = extent(series)
    if whole is None or height < 4:
        return None
    low, high = window or whole
    fine = width * (2 if braille else 1)  # the labels take some of it; good enough for the scale
    seen = [cell for one in series for cell in bucket(one.xs, one.ys, low, high, fine) if cell is not None]
    values = [y for cell in seen for y in cell[:2] if not log_scale or y > 0]
    if not values:
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
    plot = _Plot(columns, plot_rows, low, high, bottom, top, log_scale, braille)
    for index, one in enumerate(series):
        plot.line(index, one)
    for index, one in enumerate(series):
        if one.mark is not None:
            plot.mark(index, *one.mark)
    rows = tuple(
        (labels.get(row, "").rjust(label_width) + (axis[1] if row in labels else axis[0]), cells) for row, cells in enumerate(plot.rows())
    )
    ruler, numbers = _x_axis(low, high, columns, axis, x_text)
    return Chart(rows, " " * label_width + ruler, " " * (label_width + 1) + numbers, label_width)


class _Plot:
    """The dots of a chart, and which series each cell belongs to."""

    def __init__(self, columns: int, rows: int, low: float, high: float, bottom: float, top: float, log_scale: bool, braille: bool) -> None:
        self._columns, self._rows, self._braille, self._log = columns, rows, braille, log_scale
        self._low, self._high, self._bottom, self._top = low, high, bottom, top
        self._across, self._down = (2, 4) if braille else (1, 1)
        self._bits = [[0] * columns for _ in range(rows)]
        self._owner = [[-1] * columns for _ in range(rows)]
        self._marked: dict[tuple[int, int], int] = {}

    def line(self, index: int, series: Series) -> None:
        before: tuple[int, int] | None = None
        for x, seen in enumerate(bucket(series.xs, series.ys, self._low, self._high, self._columns * self._across)):
            if seen is None or (self._log and seen[0] <= 0):
                continue
            here = self._y(seen[2])
            if before is not None:
                for point in _segment(before, (x, here), series.dashed):
                    self._dot(*point, index)
            else:
                self._dot(x, here, index)
            for y in range(self._y(seen[1]), self._y(seen[0]) + 1):
                if not series.dashed or y % 2 == 0:
                    self._dot(x, y, index)
            before = (x, here)

    def mark(self, index: int, x: float, y: float) -> None:
        """Single a point out, when it is seen."""
        if self._low <= x <= self._high and (y > 0 or not self._log):
            column = min(self._columns - 1, int((x - self._low) / ((self._high - self._low) or 1.0) * self._columns))
            self._marked[self._y(y) // self._down, column] = index

    def rows(self) -> list[tuple[tuple[str, int], ...]]:
        return [tuple(self._cell(row, column) for column in range(self._columns)) for row in range(self._rows)]

    def _cell(self, row: int, column: int) -> tuple[str, int]:
        if (row, column) in self._marked:
            return MARK, self._marked[row, column]
        bits, owner = self._bits[row][column], self._owner[row][column]
        if not bits:
            return " ", owner
        return (chr(BRAILLE_BASE | bits) if self._braille else ASCII_MARKS[owner % len(ASCII_MARKS)]), owner

    def _dot(self, x: int, y: int, index: int) -> None:
        row, column = y // self._down, x // self._across
        self._bits[row][column] |= _DOTS[y % 4][x % 2] if self._braille else 1
        self._owner[row][column] = index

    def _y(self, value: float) -> int:
        if self._log:
            value = math.log10(value)
        dots = self._rows * self._down
        return min(dots - 1, max(0, round((self._top - value) / (self._top - self._bottom) * (dots - 1))))


def _unscale(value: float, log_scale: bool) -> float:
    return 10.0**value if log_scale else value


def _y_marks(rows: int) -> list[int]:
    """The rows that get a number: top, bottom and some between."""
    count = max(2, min(5, rows // 4 + 1))
    return sorted({round(i * (rows - 1) / (count - 1)) for i in range(count)})


def _segment(start: tuple[int, int], end: tuple[int, int], dashed: bool) -> list[tuple[int, int]]:
    """Dots from start to end, start excluded; a dashed line leaves two of each five out."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    dots: list[tuple[int, int]] = []
    for i in range(1, steps + 1):
        x = start[0] + round((end[0] - start[0]) * i / steps)
        if not dashed or x % 5 < 3:
            dots.append((x, start[1] + round((end[1] - start[1]) * i / steps)))
    return dots


def _x_axis(low: float, high: float, columns: int, axis: str, x_text: Callable[[float], str]) -> tuple[str, str]:
    ruler = [axis[3]] * columns
    numbers = [" "] * columns
    count = max(2, min(6, columns // 12))
    for i in range(count):
        column = round(i * (columns - 1) / (count - 1))
        text = x_text(low + (high - low) * i / (count - 1))
        at = min(max(0, column - len(text) // 2), columns - len(text))
        ruler[column] = axis[4]
        numbers[at : at + len(text)] = text
    return axis[2] + "".join(ruler), "".join(numbers)[:columns]


def sparkline(values: Sequence[float], width: int, blocks: str = "▁▂▃▄▅▆▇█") -> str:
    """The values as one line of blocks, at most ``width``; empty for fewer than two values."""
    shown = [v for v in values if math.isfinite(v)]
    if len(shown) < 2 or width < 2:
        return ""
    columns = min(width, len(shown))
    cells = [shown[min(len(shown), round((i + 1) * len(shown) / columns)) - 1] for i in range(columns)]
    low, high = min(cells), max(cells)
    scale = (len(blocks) - 1) / ((high - low) or 1.0)
    return "".join(blocks[round((cell - low) * scale)] for cell in cells)
