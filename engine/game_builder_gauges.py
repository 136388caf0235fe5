"""Fitting a gauge to what a person marked: where the bar lies, its colour, and where it grows to.

From one picture or from two (full, and less full). The mark need not be exact: the bar is looked for inside it. What is
fitted is read back with the reader that the live path uses, and a fit that cannot be read is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.profile import Colour, GameProfile, Gauge, Region
from data.schema import Image
from engine.perception.gauges import GaugeReader

Direction = Literal["right", "left", "up", "down"]
Kind = Literal["level", "cooldown"]
Box = tuple[int, int, int, int]
"""left, top, right, bottom in px of the picture; right and bottom are the first beyond it."""

DEFAULT_TOLERANCE: Final = 48
_SAME: Final = 14
"""Colours nearer than this (largest difference of a channel) are one: noise and compression."""
_STEP: Final = 20
"""Along a shaded bar neighbouring lines differ by less than this; at its edge by more."""
_SHADED: Final = 32
"""A lighter or darker line of a bar (a highlight) differs from its main colour by less than this."""
_CHANGED: Final = 28
"""A pixel that differs by more between two pictures has changed."""
_SPARE: Final = 10
"""How much more than what was seen the tolerance allows."""


class FitError(Exception):
    """No gauge could be fitted; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A gauge, its value in the picture (and in the second one), and what the person should know of it."""

    gauge: Gauge
    value: float
    less_value: float | None = None
    remark: str = ""


def fit_gauge(
    image: Image,
    mark: Box,
    name: str = "gauge",
    *,
    less: Image | None = None,
    colour: Colour | None = None,
    direction: Direction | None = None,
    kind: Kind = "level",
) -> Fit:
    """The gauge inside a mark. ``less``: a second picture of the same size in which the bar is less full; ``colour`` and
    ``direction``: what the person has said of it already. Raises FitError."""
    left, top, right, bottom = _inside(image, mark)
    if less is not None and less.shape != image.shape:
        raise FitError("the two pictures differ in size; take both with the window as it is")
    patch = image[top:bottom, left:right].astype(np.int16)
    other = None if less is None else less[top:bottom, left:right].astype(np.int16)
    bar = _grown(patch, _seed(patch, other, colour))
    if other is None and _melts(image, mark, bar, patch):
        raise FitError("nothing stands out in the mark; mark a bar while it is not empty, its whole length")
    across, grows, guessed = _direction(patch, other, bar, direction)
    span, by_mark = _length(patch, other, bar, across, grows)
    box = (span[0], bar[1], span[1], bar[3]) if across else (bar[0], span[0], bar[2], span[1])
    fill = patch[bar[1] : bar[3], bar[0] : bar[2]].reshape(-1, 3)
    empty = _empty_pixels(patch, other, box, bar)
    chosen, tolerance = _colour(fill, empty, colour)
    region = region_of((left + box[0], top + box[1], left + box[2], top + box[3]), image)
    gauge = Gauge(name=name, region=region, colour=chosen, tolerance=tolerance, direction=grows, kind=kind)
    value = read_gauge(gauge, image)
    less_value = None if less is None else read_gauge(gauge, less)
    if value is None or (less is not None and less_value is None):
        raise FitError("what is marked cannot be read as a bar of one colour; mark the bar alone, its empty part too")
    remarks: list[str] = []
    if guessed:
        remarks.append(f"it is full, so that {grows} is a guess: change it, or take a second picture with less")
    if by_mark:
        remarks.append("its empty part looks like what is round it: its end is where your mark ends")
    return Fit(gauge, value, less_value, "; ".join(remarks))


def read_gauge(gauge: Gauge, image: Image) -> float | None:
    """The gauge's value in a picture, as the live path reads it."""
    status = GaugeReader(GameProfile(name="gauge", gauges=(gauge,))).read(image)
    return (status.levels if gauge.kind == "level" else status.cooldowns)[gauge.name]


def colour_share(image: Image, region: Region, colour: Colour, tolerance: int) -> float:
    """The share of a region's pixels that have the colour; 0 when the region holds no pixel."""
    height, width = image.shape[:2]
    part = image[round(region[1] * height) : round(region[3] * height), round(region[0] * width) : round(region[2] * width)]
    return 0.0 if not part.size else float(_near(part.astype(np.int16), colour, tolerance).mean())


def region_of(box: Box, image: Image) -> Region:
    """A box as a region. Raises FitError when it has no area."""
    height, width = image.shape[:2]
    if box[2] <= box[0] or box[3] <= box[1]:
        raise FitError("what is marked has no area; mark a rectangle")
    return (round(box[0] / width, 6), round(box[1] / height, 6), round(box[2] / width, 6), round(box[3] / height, 6))


def box_of(region: Region, image: Image) -> Box:
    """The pixels that the reader looks at for a region."""
    height, width = image.shape[:2]
    return round(region[0] * width), round(region[1] * height), round(region[2] * width), round(region[3] * height)


def _inside(image: Image, mark: Box) -> Box:
    height, width = image.shape[:2]
    left, top, right, bottom = max(0, mark[0]), max(0, mark[1]), min(width, mark[2]), min(height, mark[3])
    if right - left < 2 or bottom - top < 1:
        raise FitError("the mark is too small; mark the whole bar, its empty part too")
    return left, top, right, bottom


def _near(pixels: NDArray[np.int16], colour: Colour | NDArray[np.int16], tolerance: int) -> NDArray[np.bool_]:
    return np.asarray((np.abs(pixels - np.asarray(colour, np.int16)) <= tolerance).all(-1))


def _far(a: NDArray[np.int16], b: NDArray[np.int16]) -> int:
    return int(np.abs(a - b).max())


# ---- where the colour is


def _seed(patch: NDArray[np.int16], other: NDArray[np.int16] | None, colour: Colour | None) -> Box:
    """The part of the patch that surely is the bar's filled part."""
    if other is not None:
        changed = np.asarray((np.abs(patch - other) > _CHANGED).any(-1))
        if changed.sum() < max(3, 0.01 * changed.size):
            raise FitError("the two pictures show the same in the mark; take the second when the bar has fallen")
        fill = np.median(patch[changed], axis=0).astype(np.int16)
        box = _solid(_near(patch, fill, DEFAULT_TOLERANCE) & changed) or _solid(changed)
    elif colour is not None:
        box = _solid(_near(patch, colour, DEFAULT_TOLERANCE))
        if box is None:
            red, green, blue = colour
            raise FitError(f"the colour {red:02x}{green:02x}{blue:02x} does not occur in the mark; choose it by pointing at the bar")
    else:
        box = _most_like_a_bar(patch)
    if box is None:
        raise FitError("no bar is seen in the mark; mark it while it is not empty, or take two pictures")
    return box


def _melts(image: Image, mark: Box, bar: Box, patch: NDArray[np.int16]) -> bool:
    """Whether the found bar is the whole mark and looks like what lies round it."""
    if _area(bar) < patch.shape[0] * patch.shape[1]:
        return False
    left, top, right, bottom = _inside(image, (mark[0] - 2, mark[1] - 2, mark[2] + 2, mark[3] + 2))
    around = image[top:bottom, left:right].astype(np.int16)
    ring = np.ones(around.shape[:2], np.bool_)
    ring[mark[1] - top : mark[3] - top, mark[0] - left : mark[2] - left] = False
    fill = np.median(patch.reshape(-1, 3), axis=0).astype(np.int16)
    return not ring.any() or float(_near(around[ring], fill, _SAME).mean()) > 0.8


def _most_like_a_bar(patch: NDArray[np.int16]) -> Box | None:
    """The most striking solid rectangle of one colour: strong colours before greys, bright before dark."""
    left = np.ones(patch.shape[:2], np.bool_)
    ring = np.concatenate([patch[0], patch[-1], patch[:, 0], patch[:, -1]])
    best: tuple[float, NDArray[np.int16]] | None = None
    for _ in range(6):
        pixels = patch[left]
        if len(pixels) < max(3, 0.01 * left.size):
            break
        cells, counts = np.unique(pixels >> 4, axis=0, return_counts=True)
        colour = np.median(pixels[(pixels >> 4 == cells[counts.argmax()]).all(-1)], axis=0).astype(np.int16)
        mask = _near(patch, colour, DEFAULT_TOLERANCE // 2) & left
        left &= ~mask
        box = _solid(mask)
        if box is not None:
            strength = int(colour.max() - colour.min()) + 0.6 * int(colour.max())
            outside = float(_near(ring, colour, _SAME).mean())
            score = strength * (1.0 - 0.8 * outside) * min(1.0, (_area(box) / left.size) ** 0.25 + 0.2)
            if best is None or score > best[0]:
                best = score, colour
    return _solid(_near(patch, best[1], _SHADED)) if best is not None else None


def _solid(mask: NDArray[np.bool_]) -> Box | None:
    """The rectangle that the mask fills: its lines that hold at least half of what the fullest hold."""
    if not mask.any():
        return None
    box = (0, 0, mask.shape[1], mask.shape[0])
    for _ in range(3):
        part = mask[box[1] : box[3], box[0] : box[2]]
        rows, columns = part.mean(1), part.mean(0)
        top, bottom = _longest(rows >= 0.5 * rows.max(), max(1, len(rows) // 20))
        left, right = _longest(columns >= 0.5 * columns.max(), max(1, len(columns) // 20))
        box = (box[0] + left, box[1] + top, box[0] + right, box[1] + bottom)
    dense = mask[box[1] : box[3], box[0] : box[2]].mean() >= 0.6
    return box if dense and max(box[2] - box[0], box[3] - box[1]) >= 2 else None


def _longest(flags: NDArray[np.bool_], gap: int) -> tuple[int, int]:
    """The longest stretch of True, holes of up to ``gap`` (letters over a bar) closed."""
    at = np.flatnonzero(flags)
    cuts = np.flatnonzero(np.diff(at) > gap + 1)
    starts, ends = at[np.concatenate([[0], cuts + 1])], at[np.concatenate([cuts, [len(at) - 1]])] + 1
    best = int((ends - starts).argmax())
    return int(starts[best]), int(ends[best])


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _grown(patch: NDArray[np.int16], seed: Box) -> Box:
    """The seed with the lines beside it that go on in its shading, as far as there is no edge."""
    left, top, right, bottom = seed
    rows = np.median(patch[:, left:right], axis=1).astype(np.int16)
    top, bottom = _walk(rows, top, -1), _walk(rows, bottom - 1, 1) + 1
    left, right = _beyond_letters(np.median(patch[top:bottom], axis=0).astype(np.int16), left, right)
    top, bottom = _beyond_letters(rows, top, bottom)
    return left, top, right, bottom


def _beyond_letters(lines: NDArray[np.int16], start: int, end: int) -> tuple[int, int]:
    """The stretch with its shading, and with what goes on in its colour behind letters that stand on the bar."""
    start, end = _walk(lines, start, -1), _walk(lines, end - 1, 1) + 1
    colour = np.median(lines[start:end], axis=0).astype(np.int16)
    flags = _near(lines, colour, _SHADED)
    flags[start:end] = True
    first, last = _longest(flags, max(1, len(lines) // 12))
    return (first, last) if first <= start and end <= last else (start, end)


def _walk(lines: NDArray[np.int16], at: int, by: int, step: int = _STEP) -> int:
    """The last line, going from one to the next, before an edge. A single odd line is stepped over."""
    while 0 <= at + by < len(lines):
        if _far(lines[at], lines[at + by]) <= step:
            at += by
        elif 0 <= at + 2 * by < len(lines) and _far(lines[at], lines[at + 2 * by]) <= step // 2:
            at += 2 * by
        else:
            break
    return at


# ---- where it grows to, and how far


def _direction(patch: NDArray[np.int16], other: NDArray[np.int16] | None, bar: Box, said: Direction | None) -> tuple[bool, Direction, bool]:
    """Whether the bar lies across, where it grows to, and whether that is a guess."""
    if said is not None:
        return said in ("left", "right"), said, False
    return (None if other is None else _by_change(patch, other, bar)) or _by_gaps(patch, bar)


def _by_gaps(patch: NDArray[np.int16], bar: Box) -> tuple[bool, Direction, bool]:
    """The bar grows toward the side where the mark is emptier; where both are as empty, toward the one where an empty track is seen."""
    height, width = patch.shape[:2]
    across = width >= height
    toward: Direction = "right" if across else "up"
    back: Direction = "left" if across else "down"
    beyond, before = (width - bar[2], bar[0]) if across else (bar[1], height - bar[3])
    if abs(beyond - before) > max(1, 0.04 * (width if across else height)):
        return across, toward if beyond > before else back, False
    lines = _lines(patch, bar, across, toward)
    ahead, behind = _track_seen(lines[len(lines) - beyond :]), _track_seen(lines[:before][::-1])
    if abs(ahead - behind) > 1:
        return across, toward if ahead > behind else back, False
    return across, toward, True


def _track_seen(lines: NDArray[np.int16]) -> int:
    """How many lines beyond a bar's end, from it outward, reach as far as the last one that is unlike the outermost."""
    unlike = np.flatnonzero((np.abs(lines - lines[-1:]) > _SAME).any(-1))
    return int(unlike[-1]) + 1 if len(unlike) else 0


def _by_change(patch: NDArray[np.int16], other: NDArray[np.int16], bar: Box) -> tuple[bool, Direction, bool] | None:
    """The bar grows toward the side that emptied; None when all of it did."""
    left, top, right, bottom = bar
    changed = (np.abs(patch[top:bottom, left:right] - other[top:bottom, left:right]) > _CHANGED).any(-1)
    columns, rows = changed.mean(0) >= 0.5, changed.mean(1) >= 0.5
    whole_columns, whole_rows = bool(columns.all()), bool(rows.all())
    if whole_columns and whole_rows:
        return None
    across = whole_rows or (not whole_columns and right - left >= bottom - top)
    line = columns if across else rows
    first, last = bool(line[0]), bool(line[-1])
    if first == last:
        raise FitError("the bar changed in its middle, not at one end; take two pictures in which only the bar's level differs")
    if across:
        return True, "left" if first else "right", False
    return False, "up" if first else "down", False


def _length(
    patch: NDArray[np.int16], other: NDArray[np.int16] | None, bar: Box, across: bool, grows: Direction
) -> tuple[tuple[int, int], bool]:
    """From where to where the bar can reach along its axis, and whether its end was taken from the mark."""
    lines = _lines(patch, bar, across, grows)
    start, end = (bar[0], bar[2]) if across else (bar[1], bar[3])
    if grows in ("left", "up"):
        start, end = len(lines) - end, len(lines) - start
    reach, by_mark = _reach(lines, start, end)
    if other is not None and by_mark and _was_full(lines, _lines(other, bar, across, grows), start, end):
        reach = end
    if other is not None and reach == end:
        by_mark = False
    if grows in ("left", "up"):
        return (len(lines) - reach, len(lines) - start), by_mark
    return (start, reach), by_mark


def _lines(patch: NDArray[np.int16], bar: Box, across: bool, grows: Direction) -> NDArray[np.int16]:
    """[lines, 3] the colours of the lines across a bar's axis, over the mark's whole length, in the direction that it grows to."""
    strip = patch[bar[1] : bar[3]] if across else patch[:, bar[0] : bar[2]].swapaxes(0, 1)
    lines = np.median(strip, axis=0).astype(np.int16)
    return lines[::-1] if grows in ("left", "up") else lines


def _was_full(lines: NDArray[np.int16], fallen: NDArray[np.int16], start: int, end: int) -> bool:
    """Whether the track that the second picture shows where the bar fell is unlike what lies beyond the bar in the first one."""
    emptied = (np.abs(fallen[start:end] - lines[start:end]) > _CHANGED).any(-1)
    return bool(emptied.any()) and _far(np.median(fallen[start:end][emptied], axis=0).astype(np.int16), lines[end]) > _SAME


def _reach(lines: NDArray[np.int16], start: int, end: int) -> tuple[int, bool]:
    """How far the track of a bar goes that fills the lines from ``start`` to ``end`` and grows to higher ones."""
    rest, before = len(lines) - end, start
    if rest <= 0:
        return end, False
    reach = _walk(lines, end, 1, _SAME) + 1
    if not before or _far(lines[end], lines[start - 1]) > _SAME:
        return reach, reach == len(lines) and before > 0
    if reach == len(lines):  # what lies beyond is what lies before: no track is seen
        return (len(lines) - before, True) if rest > before + max(2, 0.06 * (end - start)) else (end, False)
    border = start - _walk(lines, start - 1, -1, _SAME)
    return (end if reach - end <= border + 1 else reach - border), False


def _empty_pixels(patch: NDArray[np.int16], other: NDArray[np.int16] | None, box: Box, bar: Box) -> NDArray[np.int16]:
    """Pixels of the bar's place that are not filled: in this picture beyond its end, in the other one where it fell."""
    outside = np.ones(patch.shape[:2], np.bool_)
    outside[bar[1] : bar[3], bar[0] : bar[2]] = False
    track = np.zeros_like(outside)
    track[box[1] : box[3], box[0] : box[2]] = True
    parts = [patch[outside & track]]
    if other is not None:
        fell = (np.abs(patch - other) > _CHANGED).any(-1) & track
        parts.append(other[fell])
    return np.concatenate(parts)


def _colour(fill: NDArray[np.int16], empty: NDArray[np.int16], said: Colour | None) -> tuple[Colour, int]:
    """The bar's colour and a tolerance that takes in its shading and leaves out the empty part."""
    middle = np.median(fill, axis=0)
    low, high = np.percentile(fill, 8, axis=0), np.percentile(fill, 92, axis=0)
    if said is not None:
        chosen = np.asarray(said, np.float64)
    elif max((high - middle).max(), (middle - low).max()) + _SPARE <= DEFAULT_TOLERANCE:
        chosen = middle
    else:  # shaded: the middle between its ends lets the tolerance be smallest
        chosen = (low + high) / 2
    chosen = np.rint(chosen)
    need = int(np.ceil(max((high - chosen).max(), (chosen - low).max()))) + _SPARE
    room = 255 if not len(empty) else int(np.percentile(np.abs(empty - chosen).max(-1), 10)) - 1
    tolerance = DEFAULT_TOLERANCE if need <= DEFAULT_TOLERANCE <= room else min(need, room) if need > DEFAULT_TOLERANCE else room
    if tolerance < need - _SPARE:
        raise FitError("the bar's colours and those of its empty part are too alike to be told apart; point at the bar's colour")
    red, green, blue = (int(v) for v in chosen)
    return (red, green, blue), max(1, min(255, tolerance))
