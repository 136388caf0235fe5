"""How the arena may look: palettes, backgrounds, sizes and effects, for people and for detectors that must not learn one picture.

Every look draws the same shapes; it shifts the colours of one group of things at a time, so that no look has to list them
all. The head-up display is the same in all of them, since a profile reads gauges by their colours; and own shots stay cold
and hostile ones warm, as games keep it: at 6 px there is no shape to tell them by. A detector trains on all looks but
``HELD_OUT``, which tells how it does on a palette it never saw.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Colour = tuple[int, int, int]
Group = Literal["own", "foe", "loot", "rock", "portal", "shot", "hostile", "lock", "mark"]


@dataclass(frozen=True, slots=True)
class Tone:
    """A change of colours: hue turned by ``hue`` degrees, saturation and brightness multiplied."""

    hue: float = 0.0
    saturation: float = 1.0
    light: float = 1.0


PLAIN: Final = Tone()


@dataclass(frozen=True, slots=True)
class Look:
    """One way to draw. ``ground`` is the darkest colour of space, ``clouds`` the tints that are added to it, ``stars`` their
    number in an empty picture, ``grid`` how strong its lines are (0..255). ``size`` multiplies whatever flies or lies about."""

    name: str
    own: Tone = PLAIN
    foe: Tone = PLAIN
    loot: Tone = PLAIN
    rock: Tone = PLAIN
    portal: Tone = PLAIN
    shot: Tone = PLAIN
    hostile: Tone = PLAIN
    lock: Tone = PLAIN
    mark: Tone = PLAIN
    ground: Colour = (8, 10, 20)
    clouds: tuple[Colour, ...] = ((30, 10, 44), (4, 26, 40), (16, 12, 52), (4, 30, 30))
    brightest: int = 64
    stars: int = 150
    grid: int = 11
    size: float = 1.0
    names: bool = True
    numbers: bool = True
    effects: bool = True

    def tone(self, group: Group, colour: Colour) -> Colour:
        """``colour`` as this look shows it on things of ``group``."""
        return _toned(getattr(self, group), colour)


@lru_cache(maxsize=4096)
def _toned(tone: Tone, colour: Colour) -> Colour:
    if tone == PLAIN:
        return colour
    hue, saturation, light = colorsys.rgb_to_hsv(*(c / 255 for c in colour))
    turned = (hue + tone.hue / 360.0) % 1.0
    red, green, blue = colorsys.hsv_to_rgb(turned, min(saturation * tone.saturation, 1.0), min(light * tone.light, 1.0))
    return round(red * 255), round(green * 255), round(blue * 255)


_ALL: Final = (
    Look("classic"),
    Look(
        "amber",
        own=Tone(-160, 0.9),
        foe=Tone(12, 1.0, 0.95),
        loot=Tone(150),
        portal=Tone(-60),
        shot=Tone(-45, 0.7),
        hostile=Tone(14, 1.1),
        mark=Tone(-90),
        ground=(22, 12, 6),
        clouds=((50, 26, 4), (40, 14, 2), (30, 24, 6), (44, 10, 10)),
        brightest=84,
        stars=90,
        grid=6,
        size=1.05,
    ),
    Look(
        "ice",
        own=Tone(20, 0.7, 1.0),
        foe=Tone(-25, 0.9, 0.92),
        loot=Tone(-30, 0.8),
        rock=Tone(0, 1.6, 1.35),
        portal=Tone(-80, 0.8),
        shot=Tone(40, 1.1),
        hostile=Tone(-20, 1.0, 0.9),
        lock=Tone(-12),
        mark=Tone(40, 0.9, 0.85),
        ground=(52, 74, 100),
        clouds=((30, 36, 40), (10, 30, 44), (34, 30, 40), (18, 40, 46)),
        brightest=168,
        stars=40,
        grid=20,
        size=0.95,
        names=False,
    ),
    Look(
        "neon",
        own=Tone(95, 1.6),
        foe=Tone(-70, 1.3, 1.05),
        loot=Tone(60, 1.2),
        rock=Tone(0, 2.5, 0.7),
        portal=Tone(100, 1.2),
        shot=Tone(-50, 1.5),
        hostile=Tone(-45, 1.2),
        lock=Tone(80),
        mark=Tone(-120, 1.2),
        ground=(4, 2, 10),
        clouds=((10, 0, 20), (0, 8, 18), (14, 2, 10), (2, 10, 10)),
        brightest=34,
        stars=30,
        grid=40,
        size=1.1,
    ),
    Look(
        "dusk",
        own=Tone(-10, 1.3, 0.95),
        foe=Tone(28, 0.85),
        loot=Tone(-14, 0.9, 0.95),
        rock=Tone(190, 2.0, 0.85),
        portal=Tone(40),
        shot=Tone(-25, 0.7),
        hostile=Tone(-30, 1.1),
        lock=Tone(20, 0.8),
        mark=Tone(60),
        ground=(50, 28, 46),
        clouds=((70, 34, 20), (40, 14, 44), (60, 30, 10), (20, 24, 50)),
        brightest=132,
        stars=60,
        grid=5,
    ),
    Look(
        "blueprint",
        own=Tone(0, 0.3, 1.0),
        foe=Tone(-15, 0.8),
        loot=Tone(10, 0.6),
        rock=Tone(0, 2.2, 0.9),
        portal=Tone(-40, 0.6),
        shot=Tone(0, 0.4),
        hostile=Tone(-10, 0.8),
        lock=Tone(5, 0.7),
        mark=Tone(-40, 0.6),
        ground=(14, 40, 86),
        clouds=((6, 12, 24), (0, 10, 20), (8, 8, 18), (4, 12, 22)),
        brightest=120,
        stars=0,
        grid=46,
        size=0.92,
        numbers=False,
        effects=False,
    ),
    Look(
        "ash",
        own=Tone(0, 0.5, 0.95),
        foe=Tone(8, 0.55, 0.9),
        loot=Tone(0, 0.5, 0.95),
        rock=Tone(0, 0.5, 0.75),
        portal=Tone(0, 0.5, 0.9),
        shot=Tone(0, 0.5),
        hostile=Tone(0, 0.7, 0.95),
        lock=Tone(0, 0.6),
        mark=Tone(0, 0.6, 0.9),
        ground=(30, 30, 32),
        clouds=((20, 18, 18), (14, 16, 18), (18, 18, 16), (12, 12, 14)),
        brightest=88,
        stars=110,
        grid=0,
        size=1.0,
    ),
    Look(
        "reef",
        own=Tone(-40, 1.1),
        foe=Tone(-50, 1.0),
        loot=Tone(200, 0.9),
        rock=Tone(150, 2.4, 0.95),
        portal=Tone(-110),
        shot=Tone(60, 0.8),
        hostile=Tone(24, 1.1),
        lock=Tone(-30),
        mark=Tone(150),
        ground=(4, 34, 34),
        clouds=((2, 40, 30), (4, 30, 44), (10, 44, 22), (0, 26, 30)),
        brightest=110,
        stars=70,
        grid=8,
        size=1.02,
    ),
    Look(
        "orchid",
        own=Tone(60, 1.2),
        foe=Tone(-100, 0.95),
        loot=Tone(100, 1.0),
        rock=Tone(80, 2.0, 1.0),
        portal=Tone(160),
        shot=Tone(50, 1.2),
        hostile=Tone(-38, 1.0),
        lock=Tone(-60),
        mark=Tone(90),
        ground=(30, 10, 40),
        clouds=((50, 10, 50), (24, 8, 44), (56, 20, 30), (30, 6, 30)),
        brightest=104,
        stars=100,
        grid=14,
        size=1.04,
    ),
)
LOOKS: Final[dict[str, Look]] = {look.name: look for look in _ALL}
CLASSIC: Final = LOOKS["classic"]
HELD_OUT: Final = "orchid"
"""The look that no detector trains on."""


def look_named(name: str) -> Look:
    """Raises ValueError, with the names there are, for one that is none of them."""
    if name not in LOOKS:
        raise ValueError(f"[arena] look: none is called {name!r}; use one of {', '.join(LOOKS)}")
    return LOOKS[name]
