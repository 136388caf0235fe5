"""Gauges, icons and choices fitted to several pictures of which a person says what they show.

What is fitted is read back from every picture by the reader that the live path uses; the person sees what they said beside
what is read. A fit that does not tell the pictures apart is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from data.profile import Choice, Colour, GameProfile, Gauge, Icon, Region
from data.schema import Image
from engine.game_builder_gauges import DEFAULT_TOLERANCE, Direction, FitError, Kind, box_of, colour_share, fit_gauge, read_gauge
from engine.perception.gauges import GaugeReader

LEAST_APART: Final = 0.1
"""Two pictures of a gauge say something of each other when their values differ by this."""
LARGEST_ERROR: Final = 0.1
LEAST_MARGIN: Final = 0.05
"""By so much more of an icon's region its colour has to show when it is on."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A picture: what the person said, and what is read of it (None: nothing)."""

    known: float
    read: float | None


@dataclass(frozen=True, slots=True)
class KnownFit:
    """What was fitted, and what it reads in each of the pictures, in their order."""

    part: Gauge | Icon | Choice
    readings: tuple[Reading, ...]


def fit_known_gauge(pictures: Sequence[tuple[Image, float]], region: Region, name: str, kind: Kind = "level") -> KnownFit:
    """The gauge inside a marked region. pictures: each with the share 0..1 of the bar that is filled.

    Tried are all pairs of pictures that differ, and each picture alone with each direction; the best over all is taken.
    Raises FitError when fewer than two values differ, or none of them reads all pictures within ``LARGEST_ERROR`` on average.
    """
    values = [value for _, value in pictures]
    if len(pictures) < 2 or max(values) - min(values) < LEAST_APART:
        raise FitError(f"gauge {name}: give two pictures at least, in which it is differently full (by {LEAST_APART:g} or more)")
    best: tuple[float, Gauge] | None = None
    for gauge in _gauges(pictures, region, name, kind):
        error = float(np.mean([_error(read_gauge(gauge, image), value) for image, value in pictures]))
        if best is None or error < best[0] - 1e-9:
            best = error, gauge
    if best is None:
        raise FitError(f"gauge {name}: no bar is seen in the marked region; mark the whole bar, its empty part too")
    error, gauge = best
    readings = tuple(Reading(value, read_gauge(gauge, image)) for image, value in pictures)
    if error > LARGEST_ERROR:
        pairs = ", ".join(f"{r.known:g} reads {'nothing' if r.read is None else f'{r.read:.2f}'}" for r in readings)
        raise FitError(f"gauge {name}: nothing that is found reads your values ({pairs}); mark the bar alone, or look at the values again")
    return KnownFit(gauge, readings)


def _gauges(pictures: Sequence[tuple[Image, float]], region: Region, name: str, kind: Kind) -> list[Gauge]:
    found: list[Gauge] = []
    tries: list[tuple[Image, Image | None, Direction | None]] = []
    for (image, value), (less, lower) in product(pictures, repeat=2):
        if value - lower >= LEAST_APART and image.shape == less.shape:
            tries += [(image, less, direction) for direction in (None, *get_args(Direction))]
    tries += [(image, None, direction) for image, value in pictures if value > 0 for direction in get_args(Direction)]
    for image, less, direction in tries:
        try:
            found.append(fit_gauge(image, box_of(region, image), name, less=less, direction=direction, kind=kind).gauge)
        except FitError:
            continue
    return found


def _error(read: float | None, known: float) -> float:
    return 1.0 if read is None else abs(read - known)


def fit_known_icon(pictures: Sequence[tuple[Image, bool]], region: Region, name: str) -> KnownFit:
    """The colour that shows in a region when the icon is on and not when it is off, and how much of it. Raises FitError."""
    on = [image for image, lit in pictures if lit]
    off = [image for image, lit in pictures if not lit]
    if not on or not off:
        raise FitError(f"icon {name}: give one picture at least in which it is on and one in which it is off")
    colour, share = _telling(name, [(image, region) for image in on], [(image, region) for image in off])
    icon = Icon(name=name, region=region, colour=colour, share=share)
    reader = GaugeReader(GameProfile(name="icon", icons=(icon,)))
    read = [reader.read(image).flags[name] for image, _ in pictures]
    readings = tuple(Reading(float(lit), None if r is None else float(r)) for (_, lit), r in zip(pictures, read, strict=True))
    return _all_right(KnownFit(icon, readings), f"icon {name}")


def fit_known_choice(pictures: Sequence[tuple[Image, int]], regions: tuple[Region, ...], name: str) -> KnownFit:
    """The colour by which one of several icons is lit. pictures: each with the number of the lit one, from 1. Raises FitError."""
    if len(regions) < 2 or len({lit for _, lit in pictures}) < 2:
        raise FitError(f"choice {name}: give two regions at least, and pictures in which different ones are lit")
    if wrong := [lit for _, lit in pictures if not 1 <= lit <= len(regions)]:
        raise FitError(f"choice {name}: {wrong[0]} is none of its {len(regions)} regions, which are counted from 1")
    on = [(image, regions[lit - 1]) for image, lit in pictures]
    off = [(image, region) for image, lit in pictures for number, region in enumerate(regions, 1) if number != lit]
    colour, share = _telling(name, on, off)
    choice = Choice(name=name, regions=regions, colour=colour, share=share)
    reader = GaugeReader(GameProfile(name="choice", choices=(choice,)))
    read = [reader.read(image).choices[name] for image, _ in pictures]
    readings = tuple(Reading(float(lit), None if r is None else float(r)) for (_, lit), r in zip(pictures, read, strict=True))
    return _all_right(KnownFit(choice, readings), f"choice {name}")


def _all_right(fit: KnownFit, what: str) -> KnownFit:
    if wrong := [k for k, reading in enumerate(fit.readings, 1) if reading.read != reading.known]:
        raise FitError(
            f"{what}: what was fitted reads picture {wrong[0]} otherwise than you say; look at it again, or mark a smaller region"
        )
    return fit


Patch = tuple[Image, Region]


def _telling(name: str, on: Sequence[Patch], off: Sequence[Patch]) -> tuple[Colour, float]:
    """The colour whose share tells lit regions from unlit ones best, and the share between the two. Raises FitError."""
    best: tuple[float, Colour, float] | None = None
    for colour in _colours(on):
        least = min(colour_share(image, region, colour, DEFAULT_TOLERANCE) for image, region in on)
        most = max(colour_share(image, region, colour, DEFAULT_TOLERANCE) for image, region in off)
        if best is None or least - most > best[0]:
            best = least - most, colour, (least + most) / 2
    if best is None or best[0] < LEAST_MARGIN:
        raise FitError(f"{name}: no colour shows when it is on that does not show when it is off; mark the part that lights up")
    return best[1], round(best[2], 3)


def _colours(patches: Sequence[Patch]) -> list[Colour]:
    """The commonest colours of the patches, each the median of a cell of alike ones."""
    pixels: NDArray[np.int16] = np.concatenate([_pixels(*patch) for patch in patches])
    cells, counts = np.unique(pixels >> 5, axis=0, return_counts=True)
    found: list[Colour] = []
    for cell in cells[np.argsort(-counts, kind="stable")[:24]]:
        red, green, blue = (int(v) for v in np.median(pixels[(pixels >> 5 == cell).all(-1)], axis=0))
        found.append((red, green, blue))
    return found


def _pixels(image: Image, region: Region) -> NDArray[np.int16]:
    left, top, right, bottom = box_of(region, image)
    part = image[top:bottom, left:right].reshape(-1, 3).astype(np.int16)
    if not len(part):
        raise FitError("a marked region holds no pixel of the picture; mark a larger one")
    return part
