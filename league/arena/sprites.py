"""The arena's ships, boxes, shots and marks as small pictures, drawn once and kept.

Everything is drawn as polygons on a surface ``SUPERSAMPLE`` times too large and then scaled down, so that edges are
smooth at every scale. Shapes are given in world units (1 unit = 1 px at scale 1), the nose to the right (heading 0),
y down. Kinds differ by shape first and by colour second: no two of them differ by red against green alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from league.arena.looks import CLASSIC, Group, Look

if TYPE_CHECKING:
    import pygame

Point = tuple[float, float]
Colour = tuple[int, int, int]

SUPERSAMPLE: Final = 4
HEADING_BUCKETS: Final = 72
"""Ships turn in steps of 5 degrees: the cached picture nearest to the heading is used."""

INK: Final = (8, 10, 20)
PLAYER: Final = (222, 236, 255)
PLAYER_TRIM: Final = (64, 132, 255)
DRONE: Final = (255, 158, 44)
DRONE_DARK: Final = (150, 74, 10)
RAIDER: Final = (236, 52, 78)
RAIDER_DARK: Final = (122, 14, 44)
MENDER: Final = (92, 226, 190)
MENDER_DARK: Final = (14, 92, 84)
BOMBER: Final = (176, 182, 206)
BOMBER_DARK: Final = (44, 46, 62)
BOMBER_LIGHT: Final = (255, 74, 36)
HUNTER: Final = (214, 60, 190)
HUNTER_DARK: Final = (62, 12, 66)
CACHE: Final = (96, 112, 255)
CACHE_TRIM: Final = (255, 226, 120)
BLAST: Final = (255, 170, 60)
MENDING: Final = (120, 255, 190)
LOOT: Final = (255, 208, 64)
LOOT_BAND: Final = (46, 214, 224)
PORTAL: Final = (176, 108, 255)
SHOT: Final = (150, 226, 255)
HOSTILE_SHOT: Final = (255, 128, 40)
LOCK: Final = (255, 220, 80)
LOCK_FIRING: Final = (255, 110, 60)
MARK: Final = (120, 255, 206)


class Pen:
    """Draws shapes in world units round the middle of one picture, turned by ``heading`` (rad)."""

    def __init__(self, half_px: float, scale: int, look: Look, group: Group, heading: float = 0.0, ground: Colour = INK) -> None:
        """``half_px``: half the side of the square picture, in world units. ``group``: whose colours of ``look`` to use.
        ``ground``: the colour that fully transparent pixels hide; smooth edges blend towards it."""
        import pygame

        self._look, self._group = look, group

        self._pygame = pygame
        self.scale = scale
        self.side_px = 2 * math.ceil(half_px * scale)
        self._unit = scale * SUPERSAMPLE
        self._middle = self.side_px * SUPERSAMPLE / 2
        self._cos, self._sin = math.cos(heading), math.sin(heading)
        side = self.side_px * SUPERSAMPLE
        self._surface = pygame.Surface((side, side), pygame.SRCALPHA, 32)
        self._surface.fill((*self._tone(ground), 0))

    def _tone(self, colour: Colour) -> Colour:
        return self._look.tone(self._group, colour)

    def at(self, x: float, y: float) -> Point:
        return (
            self._middle + (x * self._cos - y * self._sin) * self._unit,
            self._middle + (x * self._sin + y * self._cos) * self._unit,
        )

    def polygon(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        self._pygame.draw.polygon(self._surface, (*self._tone(colour), alpha), [self.at(*p) for p in points])

    def mirrored(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        """The polygon and its twin on the other side of the ship's long axis."""
        self.polygon(points, colour, alpha)
        self.polygon([(x, -y) for x, y in points], colour, alpha)

    def disc(self, x: float, y: float, radius: float, colour: Colour, alpha: int = 255) -> None:
        self._pygame.draw.circle(self._surface, (*self._tone(colour), alpha), self.at(x, y), radius * self._unit)

    def ring(
        self, radius: float, width: float, colour: Colour, alpha: int = 255, arcs: int = 0, share: float = 0.6, turn: float = 0.0
    ) -> None:
        """A ring whose outer edge is at ``radius``; ``arcs`` > 0 cuts it into that many dashes of ``share`` each."""
        if arcs == 0:
            self._pygame.draw.circle(
                self._surface, (*self._tone(colour), alpha), self.at(0, 0), radius * self._unit, max(1, round(width * self._unit))
            )
            return
        for k in range(arcs):
            start = turn + 2 * math.pi * k / arcs
            angles = [start + 2 * math.pi / arcs * share * t / 8 for t in range(9)]
            outer = [(radius * math.cos(a), radius * math.sin(a)) for a in angles]
            inner = [((radius - width) * math.cos(a), (radius - width) * math.sin(a)) for a in reversed(angles)]
            self.polygon(outer + inner, colour, alpha)

    def done(self) -> pygame.Surface:
        return self._pygame.transform.smoothscale(self._surface, (self.side_px, self.side_px))


def scaled(points: Sequence[Point], by: float) -> list[Point]:
    return [(x * by, y * by) for x, y in points]


def heading_bucket(heading: float) -> int:
    return round(heading / (2 * math.pi) * HEADING_BUCKETS) % HEADING_BUCKETS


def bucket_heading(bucket: int) -> float:
    return bucket * 2 * math.pi / HEADING_BUCKETS


def _player(pen: Pen, r: float) -> None:
    hull = [(1.0, 0.0), (0.18, 0.30), (-0.42, 0.86), (-0.78, 0.82), (-0.56, 0.26), (-0.72, 0.0)]
    outline = [*hull, *[(x, -y) for x, y in reversed(hull[1:-1])]]
    pen.polygon(scaled(outline, r), INK)
    pen.polygon(scaled(outline, r * 0.88), PLAYER)
    pen.mirrored(scaled([(-0.12, 0.42), (-0.40, 0.72), (-0.66, 0.70), (-0.50, 0.36)], r), PLAYER_TRIM)
    pen.mirrored(scaled([(0.80, 0.0), (0.16, 0.20), (-0.50, 0.16), (-0.58, 0.0)], r), (176, 198, 232))
    pen.polygon(scaled([(0.46, 0.0), (0.10, 0.15), (-0.14, 0.0), (0.10, -0.15)], r), (24, 74, 150))
    pen.polygon(scaled([(0.38, 0.0), (0.12, -0.11), (0.02, 0.0)], r), (130, 214, 255))


def _drone(pen: Pen, r: float) -> None:
    pen.disc(0, 0, r * 0.98, INK)
    for k in range(3):
        a = math.pi / 3 + k * 2 * math.pi / 3
        c, s = math.cos(a), math.sin(a)
        arm = [(0.55, 0.20), (0.98, 0.13), (0.98, -0.13), (0.55, -0.20)]
        pen.polygon([((x * c - y * s) * r, (x * s + y * c) * r) for x, y in arm], DRONE_DARK)
    pen.disc(0, 0, r * 0.80, DRONE)
    pen.disc(-0.08 * r, -0.10 * r, r * 0.62, (255, 186, 92))
    pen.disc(0, 0, r * 0.50, DRONE_DARK)
    pen.disc(0.18 * r, 0, r * 0.25, (255, 240, 200))


def _raider(pen: Pen, r: float) -> None:
    wing = [(0.98, 0.34), (0.10, 0.98), (-0.86, 0.72), (-0.40, 0.40), (-0.62, 0.0), (0.30, 0.0), (0.36, 0.30)]
    pen.mirrored(scaled(wing, r), INK)
    pen.mirrored(scaled([(0.78, 0.38), (0.08, 0.86), (-0.66, 0.66), (-0.28, 0.40), (-0.46, 0.06), (0.22, 0.06), (0.24, 0.40)], r), RAIDER)
    pen.mirrored(scaled([(0.06, 0.84), (-0.64, 0.66), (-0.30, 0.44)], r), RAIDER_DARK)
    pen.polygon(scaled([(0.24, 0.14), (-0.46, 0.12), (-0.46, -0.12), (0.24, -0.14)], r), RAIDER_DARK)
    pen.disc(-0.02 * r, 0, r * 0.15, (255, 226, 214))


def _mender(pen: Pen, r: float) -> None:
    """A wide ring with a cross in it: no gun, no nose."""
    pen.disc(0, 0, r * 0.98, INK)
    pen.disc(0, 0, r * 0.86, MENDER)
    pen.disc(0, 0, r * 0.64, MENDER_DARK)
    for long, wide in ((0.56, 0.19), (0.19, 0.56)):
        pen.polygon(scaled([(-long, -wide), (long, -wide), (long, wide), (-long, wide)], r), (236, 255, 250))
    pen.polygon(scaled([(0.98, 0.0), (0.72, 0.2), (0.72, -0.2)], r), MENDER)


def _bomber(pen: Pen, r: float) -> None:
    """A spiked ball with a warning light."""
    spikes = 8
    star = [
        (n * r * math.cos(a), n * r * math.sin(a))
        for a, n in ((math.pi * k / spikes, 0.99 if k % 2 == 0 else 0.60) for k in range(2 * spikes))
    ]
    pen.polygon(star, INK)
    pen.polygon(scaled(star, 0.86), BOMBER)
    pen.disc(0, 0, r * 0.56, BOMBER_DARK)
    pen.disc(0, 0, r * 0.38, BOMBER_LIGHT)
    pen.disc(-0.08 * r, -0.08 * r, r * 0.16, (255, 226, 170))


def _hunter(pen: Pen, r: float) -> None:
    """Large, with two long jaws and a burning eye."""
    jaw = [(1.0, 0.20), (0.30, 0.66), (-0.30, 0.98), (-0.92, 0.70), (-0.62, 0.34), (-0.80, 0.0), (0.10, 0.0), (0.34, 0.26)]
    pen.mirrored(scaled(jaw, r), INK)
    inner = [(0.86, 0.26), (0.26, 0.58), (-0.28, 0.86), (-0.74, 0.66), (-0.46, 0.34), (-0.62, 0.05), (0.04, 0.05), (0.28, 0.34)]
    pen.mirrored(scaled(inner, r), HUNTER_DARK)
    pen.mirrored(scaled([(0.84, 0.28), (0.26, 0.56), (-0.26, 0.82), (-0.10, 0.58), (0.22, 0.40)], r), HUNTER)
    pen.mirrored(scaled([(-0.34, 0.80), (-0.70, 0.64), (-0.44, 0.52)], r), HUNTER)
    pen.disc(-0.10 * r, 0, r * 0.24, (255, 206, 60))
    pen.disc(-0.04 * r, 0, r * 0.11, (120, 10, 20))


SHIP_SHAPES: Final[tuple[Callable[[Pen, float], None], ...]] = (_player, _drone, _raider, _mender, _bomber, _hunter)
"""By ``ship_kind``."""
FLAME_COLOURS: Final[tuple[Colour, ...]] = (
    (96, 176, 255), (255, 150, 50), (255, 84, 84), (110, 240, 200), (255, 120, 40), (230, 90, 220),
)  # fmt: skip


@cache
def ship(look: Look, kind: int, bucket: int, radius: float, scale: int) -> pygame.Surface:
    pen = Pen(radius + 1, scale, look, "foe" if kind else "own", bucket_heading(bucket))
    SHIP_SHAPES[kind](pen, radius)
    return pen.done()


@cache
def flame(look: Look, kind: int, bucket: int, radius: float, length: int, scale: int) -> pygame.Surface:
    """The glow behind a flying ship; ``length`` 1..3 (3: boosting)."""
    colour = FLAME_COLOURS[kind]
    reach = radius * (0.72 + 0.14 + 0.18 * length)
    pen = Pen(reach + 1, scale, look, "foe" if kind else "own", bucket_heading(bucket), ground=colour)
    width, throat = 0.20 * radius, -0.72 * radius
    pen.polygon(
        [(-0.4 * radius, width), (throat, width * 1.25), (-reach, 0), (throat, -width * 1.25), (-0.4 * radius, -width)], colour, 205
    )
    pale = ((colour[0] + 255) // 2, (colour[1] + 255) // 2, (colour[2] + 255) // 2)
    tip = throat - 0.55 * (reach + throat)
    pen.polygon([(-0.4 * radius, width * 0.5), (throat, width * 0.62), (tip, 0), (throat, -width * 0.62), (-0.4 * radius, 0)], pale, 240)
    return pen.done()


@cache
def shield(look: Look, radius: float, level: int, scale: int) -> pygame.Surface:
    """A thin bubble round a ship; ``level`` 1..4 quarters of the shield."""
    colour = (110, 186, 255)
    pen = Pen(radius + 1, scale, look, "own", ground=colour)
    pen.disc(0, 0, radius, colour, 7 * level)
    pen.ring(radius, 1.0, colour, 26 + 32 * level)
    return pen.done()


@cache
def static(look: Look, radius: float, phase: int, scale: int) -> pygame.Surface:
    """Crackling round a jammed ship."""
    colour = (206, 150, 255)
    pen = Pen(radius + 1, scale, look, "own", ground=colour)
    pen.ring(radius, 1.4, colour, 230, arcs=5, share=0.32, turn=phase * math.pi / 10)
    pen.ring(radius * 0.78, 1.0, (240, 226, 255), 190, arcs=4, share=0.25, turn=-phase * math.pi / 8)
    return pen.done()


@cache
def loot(look: Look, radius: float, scale: int) -> pygame.Surface:
    pen = Pen(radius + 1, scale, look, "loot")
    r = radius
    square = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    pen.polygon(scaled(square, r), INK)
    pen.polygon(scaled(square, r * 0.86), LOOT)
    pen.polygon(scaled([(-0.86, 0.52), (0.86, 0.52), (0.86, 0.86), (-0.86, 0.86)], r), (196, 138, 24))
    pen.polygon(scaled([(-0.86, -0.86), (0.86, -0.86), (0.86, -0.60), (-0.86, -0.60)], r), (255, 236, 150))
    pen.polygon(scaled([(-0.26, -0.86), (0.26, -0.86), (0.26, 0.86), (-0.26, 0.86)], r), LOOT_BAND)
    pen.polygon(scaled([(-0.86, -0.22), (0.86, -0.22), (0.86, 0.22), (-0.86, 0.22)], r), LOOT_BAND)
    pen.disc(0, 0, 0.34 * r, INK)
    pen.disc(0, 0, 0.20 * r, (236, 255, 255))
    return pen.done()


@cache
def cache_box(look: Look, radius: float, scale: int) -> pygame.Surface:
    """A six-sided chest with a star: not to be taken for a crate."""
    pen = Pen(radius + 1, scale, look, "loot")
    r = radius
    corners = [(math.cos(math.pi / 6 + k * math.pi / 3), math.sin(math.pi / 6 + k * math.pi / 3)) for k in range(6)]
    wide = [(x / 0.866, y) for x, y in corners]  # as wide as it is high
    pen.polygon(scaled(wide, r), INK)
    pen.polygon(scaled(wide, r * 0.90), CACHE_TRIM)
    pen.polygon(scaled(wide, r * 0.70), CACHE)
    star = [
        (n * math.cos(a), n * math.sin(a)) for a, n in ((k * math.pi / 5 - math.pi / 2, 0.56 if k % 2 == 0 else 0.24) for k in range(10))
    ]
    pen.polygon(scaled(star, r), (255, 250, 226))
    pen.polygon(scaled([(-0.5, -0.72), (0.5, -0.72), (0.42, -0.62), (-0.42, -0.62)], r), (255, 250, 210))
    return pen.done()


@cache
def blast(look: Look, radius: float, phase: int, scale: int) -> pygame.Surface:
    """An explosion, ``phase`` 0..7 of its life: a flash, then a ring that grows and fades."""
    share = (phase + 1) / 8
    pen = Pen(radius + 1, scale, look, "hostile", ground=BLAST)
    fade = 1.0 - share
    pen.disc(0, 0, radius * (0.25 + 0.6 * share), BLAST, round(110 * fade))
    if share < 0.6:
        pen.disc(0, 0, radius * 0.6 * fade**2, (255, 240, 200), 255)
    pen.ring(radius * (0.3 + 0.7 * share), max(1.0, radius * 0.14 * fade), BLAST, round(235 * fade))
    for k in range(7):
        a, d = k * 2.4, radius * (0.2 + 0.72 * share) * (0.7 + 0.3 * (k % 3) / 2)
        pen.disc(d * math.cos(a), d * math.sin(a), max(0.6, radius * 0.07 * fade), (255, 220, 150), round(255 * fade))
    return pen.done()


@cache
def mending(look: Look, radius: float, phase: int, scale: int) -> pygame.Surface:
    """A ring that closes round a ship being mended; ``phase`` 0..7."""
    share = (phase + 1) / 8
    pen = Pen(radius * 1.5 + 1, scale, look, "foe", ground=MENDING)
    pen.ring(radius * (1.5 - 0.5 * share), 1.4, MENDING, round(230 * (1.0 - share)), arcs=4, share=0.6, turn=share)
    return pen.done()


@lru_cache(maxsize=512)
def rock(look: Look, radius: float, seed: int, scale: int) -> pygame.Surface:
    """A grey lump, its outline and craters drawn from ``seed``."""
    import random

    dice = random.Random(seed)
    corners = dice.randint(11, 15)
    angles = [2 * math.pi * (k + dice.uniform(-0.25, 0.25)) / corners for k in range(corners)]
    rough = [(n * math.cos(a), n * math.sin(a)) for a, n in ((a, dice.uniform(0.84, 1.0)) for a in angles)]
    left, right = min(x for x, _ in rough), max(x for x, _ in rough)
    top, bottom = min(y for _, y in rough), max(y for _, y in rough)
    # Stretched to fill its box: truth boxes are made from the radius alone.
    outline = [(radius * ((x - left) / (right - left) * 2 - 1), radius * ((y - top) / (bottom - top) * 2 - 1)) for x, y in rough]
    pen = Pen(radius + 1, scale, look, "rock")
    pen.polygon(outline, (30, 33, 44))
    pen.polygon(scaled(outline, 0.93), (84, 88, 102))
    lit = [(x * 0.82 - radius * 0.07, y * 0.82 - radius * 0.07) for x, y in outline]
    pen.polygon(lit, (112, 117, 132))
    pen.polygon([(x * 0.52 - radius * 0.14, y * 0.52 - radius * 0.16) for x, y in outline], (132, 137, 152))
    for _ in range(3 + int(radius) // 10):
        a, d = dice.uniform(0, 2 * math.pi), dice.uniform(0.1, 0.58) * radius
        size = dice.uniform(0.09, 0.19) * radius
        x, y = d * math.cos(a), d * math.sin(a)
        pen.disc(x, y, size, (70, 74, 88))
        pen.disc(x + size * 0.2, y + size * 0.22, size * 0.74, (98, 103, 118))
    return pen.done()


@cache
def portal(look: Look, radius: float, phase: int, scale: int) -> pygame.Surface:
    """Violet rings turning against each other; ``phase`` 0..23."""
    pen = Pen(radius + 1, scale, look, "portal", ground=(90, 40, 170))
    turn = phase * 2 * math.pi / 24 / 3
    for k in range(6):
        pen.disc(0, 0, radius * (0.90 - 0.13 * k), (70 + 14 * k, 24 + 4 * k, 140 + 12 * k), 60 + 24 * k)
    pen.disc(0, 0, radius * 0.30, (18, 6, 40))
    pen.ring(radius, max(1.6, radius * 0.13), PORTAL, 255)
    pen.ring(radius * 0.78, max(1.2, radius * 0.10), (214, 176, 255), 235, arcs=3, share=0.55, turn=turn * 3)
    pen.ring(radius * 0.54, max(1.2, radius * 0.10), (236, 214, 255), 220, arcs=3, share=0.45, turn=-turn * 3)
    return pen.done()


@cache
def shot(look: Look, kind: int, hostile: bool, bucket: int, radius: float, scale: int) -> pygame.Surface:
    """A bolt with a faint streak behind it: the own ship's are darts (``kind`` 1 standard, 2 heavy and fat, 3 piercing
    and thin), all others round balls."""
    colour = HOSTILE_SHOT if hostile else SHOT
    tail = radius * 3.2
    pen = Pen(tail, scale, look, "hostile" if hostile else "shot", bucket_heading(bucket), ground=colour)
    r = radius
    width = {2: 1.0, 3: 0.62}.get(kind, 0.84) * r
    pen.polygon([(0, width * 0.7), (-tail, 0), (0, -width * 0.7)], colour, 70)
    pen.polygon([(0, width * 0.5), (-tail * 0.6, 0), (0, -width * 0.5)], colour, 110)
    if hostile:
        pen.disc(0, 0, r, (150, 40, 10), 200)
        pen.disc(0, 0, r * 0.86, colour)
        pen.disc(0, 0, r * (0.36 if kind == 5 else 0.52), (255, 236, 190))
    else:
        pen.polygon([(r * 1.05, 0), (0.2 * r, width), (-r, 0), (0.2 * r, -width)], colour)
        pen.polygon([(r * 0.8, 0), (0.2 * r, width * 0.55), (-0.5 * r, 0), (0.2 * r, -width * 0.55)], (250, 253, 255))
    return pen.done()


@cache
def lock(look: Look, radius: float, firing: bool, phase: int, scale: int) -> pygame.Surface:
    """The ring round the locked ship: turning dashes, or a whole ring with four teeth while firing."""
    pen = Pen(radius + 1, scale, look, "lock", ground=LOCK)
    if not firing:
        pen.ring(radius, 2.0, LOCK, 255, arcs=6, share=0.58, turn=phase * math.pi / 36)
        return pen.done()
    pen.ring(radius, 2.0, LOCK, 255)
    for k in range(4):
        a = math.pi / 4 + k * math.pi / 2
        c, s = math.cos(a), math.sin(a)
        tooth = [(radius, -2.2), (radius, 2.2), (radius - 6.0, 0.0)]
        pen.polygon([(x * c - y * s, x * s + y * c) for x, y in tooth], LOCK_FIRING)
    return pen.done()


@cache
def mark(look: Look, radius: float, scale: int) -> pygame.Surface:
    """The destination: a ring with a cross through its gaps, to be seen round a crate too."""
    pen = Pen(radius + 1, scale, look, "mark", ground=MARK)
    pen.ring(radius * 0.78, 1.4, MARK, 230, arcs=4, share=0.62, turn=math.pi / 4 - math.pi / 4 * 0.62)
    for k in range(4):
        c, s = math.cos(k * math.pi / 2), math.sin(k * math.pi / 2)
        spoke = [(radius, -0.7), (radius, 0.7), (radius * 0.6, 0.7), (radius * 0.6, -0.7)]
        pen.polygon([(x * c - y * s, x * s + y * c) for x, y in spoke], MARK)
    pen.disc(0, 0, 1.1, (235, 255, 248))
    return pen.done()


@cache
def cursor(scale: int) -> pygame.Surface:
    """An arrow pointer; its hot spot is the middle of the picture."""
    pen = Pen(17, scale, CLASSIC, "own", ground=INK)
    arrow = [(0.0, 0.0), (0.0, 15.0), (3.6, 11.8), (6.0, 16.6), (8.4, 15.4), (6.2, 10.8), (10.8, 10.4)]
    pen.polygon(arrow, INK)
    pen.polygon([(1.2, 2.8), (1.2, 12.2), (3.9, 9.9), (6.5, 14.9), (6.9, 14.7), (4.6, 9.9), (8.2, 9.5)], (250, 250, 250))
    return pen.done()
