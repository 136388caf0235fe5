"""Gauges, icons and choices read off the picture by colour.

All regions of a profile are looked up in one go: their pixels, in a fixed order, are compared with the colour each
should have; the matches are then summed per column (or row) of a bar and per icon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.profile import Colour, GameProfile, Gauge, Region
from data.schema import Image, Status

_LINE_SHARE: Final = 0.5
"""A column of a bar is filled when so much of it has the bar's colour."""
_STRAY_SHARE: Final = 0.15
"""More columns than that on the wrong side of the bar's end: something covers it, it cannot be read."""
_BLACK: Final = 6
"""A picture whose regions are all darker shows no display at all (a black screen, a menu)."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A run of pixels that is judged as one: ``start`` its first index, ``count`` how many."""

    start: int
    count: int


class GaugeReader:
    """Reads the status of one profile from pictures of any size."""

    def __init__(self, profile: GameProfile) -> None:
        self._profile = profile
        self._size: tuple[int, int] | None = None

    def read(self, image: Image | None) -> Status:
        """The status in a picture (RGB uint8 [H, W, 3]). A value is None where it cannot be read: no picture, a region
        too small to see at this size, something in front of a bar, or a display that is not there at all."""
        profile = self._profile
        if image is None or not image.size:
            return self._nothing()
        size = image.shape[0], image.shape[1]
        if size != self._size:
            self._lay_out(*size)
        if not len(self._indices):
            return self._nothing()
        pixels = image.reshape(-1, 3)[self._indices] if image.flags.c_contiguous else image[self._rows, self._columns]
        if int(pixels.max()) <= _BLACK:
            return self._nothing()
        match = (np.abs(pixels.astype(np.int16) - self._colours) <= self._tolerances).all(1)
        shares = np.add.reduceat(match, self._starts, dtype=np.int32) / self._counts
        levels: dict[str, float | None] = {}
        cooldowns: dict[str, float | None] = {}
        for gauge in profile.gauges:
            part = self._parts[gauge.name][0]
            value = _bar_level(shares[part] >= _LINE_SHARE) if part is not None else None
            (levels if gauge.kind == "level" else cooldowns)[gauge.name] = value
        flags: dict[str, bool | None] = {}
        for icon in profile.icons:
            part = self._parts[icon.name][0]
            flags[icon.name] = bool(shares[part][0] >= icon.share) if part is not None else None
        choices: dict[str, int | None] = {}
        for choice in profile.choices:
            lit = [float(shares[part][0]) if part is not None else 0.0 for part in self._parts[choice.name]]
            best = max(range(len(lit)), key=lit.__getitem__)
            choices[choice.name] = best + 1 if lit[best] >= choice.share else None
        return Status(levels, flags, choices, cooldowns)

    def _nothing(self) -> Status:
        profile = self._profile
        return Status(
            dict.fromkeys(profile.level_names()),
            dict.fromkeys(profile.flag_names()),
            dict.fromkeys(profile.choice_sizes()),
            dict.fromkeys(profile.cooldown_names()),
        )

    def _lay_out(self, height: int, width: int) -> None:
        """Find every pixel that is looked at in pictures of this size."""
        rows: list[NDArray[np.intp]] = []
        columns: list[NDArray[np.intp]] = []
        colours: list[tuple[Colour, int, int]] = []
        lines: list[_Line] = []
        self._parts: dict[str, list[slice | None]] = {}
        total = 0

        def add(name: str, region: Region, colour: Colour, tolerance: int, gauge: Gauge | None) -> None:
            nonlocal total
            grid = _pixels(region, height, width, gauge)
            if grid is None:
                self._parts.setdefault(name, []).append(None)
                return
            first = len(lines)
            for line_rows, line_columns in grid:
                rows.append(line_rows)
                columns.append(line_columns)
                lines.append(_Line(total, len(line_rows)))
                colours.append((colour, tolerance, len(line_rows)))
                total += len(line_rows)
            self._parts.setdefault(name, []).append(slice(first, len(lines)))

        for gauge in self._profile.gauges:
            add(gauge.name, gauge.region, gauge.colour, gauge.tolerance, gauge)
        for icon in self._profile.icons:
            add(icon.name, icon.region, icon.colour, icon.tolerance, None)
        for choice in self._profile.choices:
            for region in choice.regions:
                add(choice.name, region, choice.colour, choice.tolerance, None)
        self._size = height, width
        self._rows = np.concatenate(rows) if rows else np.zeros(0, np.intp)
        self._columns = np.concatenate(columns) if columns else np.zeros(0, np.intp)
        self._indices = self._rows * width + self._columns
        repeats = [n for _, _, n in colours]
        self._colours = np.repeat(np.array([c for c, _, _ in colours], np.int16).reshape(-1, 3), repeats, axis=0)
        self._tolerances = np.repeat(np.array([t for _, t, _ in colours], np.int16), repeats)[:, None]
        self._starts = np.array([line.start for line in lines], np.intp)
        self._counts = np.array([line.count for line in lines], np.float32)


def _pixels(region: Region, height: int, width: int, gauge: Gauge | None) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None:
    """The pixels of a region as lines, each (rows, columns): across a bar, from its start; one line for an icon.

    None when the region holds no whole pixel at this size.
    """
    left, right = round(region[0] * width), round(region[2] * width)
    top, bottom = round(region[1] * height), round(region[3] * height)
    if right <= left or bottom <= top or right > width or bottom > height:
        return None
    rows, columns = np.meshgrid(np.arange(top, bottom), np.arange(left, right), indexing="ij")
    if gauge is None:
        return [(rows.ravel(), columns.ravel())]
    if gauge.direction in ("left", "right"):
        rows, columns = rows.T, columns.T
    if gauge.direction in ("left", "up"):
        rows, columns = rows[::-1], columns[::-1]
    return list(zip(rows, columns, strict=True))


def _bar_level(filled: NDArray[np.bool_]) -> float | None:
    """Where the bar ends, as a share of its length: the cut with the fewest columns on its wrong side."""
    n = len(filled)
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(filled)])
    wrong = np.arange(n + 1) - sums + (sums[-1] - sums)
    end = int(wrong.argmin())
    return end / n if wrong[end] <= _STRAY_SHARE * n else None
