"""What last man standing adds to the arena's pictures: eight players' colours, guns, items and marks, drawn once and kept.

Players differ by colour, and by the name that always stands with them; kinds of items differ by shape first. Sizes are world
units (1 unit = 1 px at scale 1), y down.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final

from league.arena import last_standing_rules as rules
from league.arena.looks import CLASSIC, Look, Tone
from league.arena.sprites import INK, Colour, Pen, bucket_heading, scaled

if TYPE_CHECKING:
    import pygame

SHIELD_BLUE: Final = (80, 160, 255)
ENERGY_YELLOW: Final = (240, 190, 60)
HULL_WHITE: Final = (236, 240, 250)
BURST_BLUE: Final = (130, 200, 255)
JAM_VIOLET: Final = (206, 150, 255)
ITEM_PX: Final = 9.0
"""Half the side of an item's picture."""
_HULL_HUE, _HULL_SATURATION = 214.5, 0.13
_SHOT_HUE, _SHOT_SATURATION = 196.6, 0.41
"""Of the arena's own ship and shot, from which each player's tone turns away."""
_HUES: Final = ((205, 0.55), (32, 0.78), (318, 0.45), (164, 0.62), (54, 0.60), (8, 0.72), (266, 0.42), (210, 0.03))
"""Hue and saturation of the players' colours: sky, orange, pink, teal, yellow, vermilion, violet, grey."""
PLAYERS: Final = len(_HUES)


def _look(number: int) -> Look:
    hue, saturation = _HUES[number]
    hull = Tone(hue - _HULL_HUE, saturation / _HULL_SATURATION)
    return Look(f"player {number + 1}", own=hull, shot=Tone(hue - _SHOT_HUE, max(saturation, 0.25) / _SHOT_SATURATION))


LOOKS_OF_PLAYERS: Final = tuple(_look(number) for number in range(PLAYERS))


@cache
def player_colour(number: int) -> Colour:
    """A player's colour, as bright as text should be."""
    import colorsys

    hue, saturation = _HUES[number % PLAYERS]
    red, green, blue = colorsys.hsv_to_rgb(hue / 360, saturation * 0.85, 1.0)
    return round(red * 255), round(green * 255), round(blue * 255)


def player_look(number: int) -> Look:
    return LOOKS_OF_PLAYERS[number % PLAYERS]


def hull_colour(hull: float) -> Colour:
    """White, then amber, then red, as everywhere in the arena."""
    return HULL_WHITE if hull > 0.6 else (250, 206, 110) if hull > 0.3 else (250, 120, 120)


@cache
def gun(number: int, bucket: int, scale: int) -> pygame.Surface:
    """A barrel from the ship's middle over its edge."""
    r = rules.RADIUS
    pen = Pen(r * 1.45, scale, player_look(number), "own", bucket_heading(bucket))
    pen.polygon([(0.0, -0.19 * r), (1.34 * r, -0.16 * r), (1.34 * r, 0.16 * r), (0.0, 0.19 * r)], INK)
    pen.polygon([(0.1 * r, -0.10 * r), (1.26 * r, -0.075 * r), (1.26 * r, 0.075 * r), (0.1 * r, 0.10 * r)], (222, 236, 255))
    pen.disc(0, 0, 0.27 * r, INK)
    pen.disc(0, 0, 0.17 * r, (240, 246, 255))
    return pen.done()


@cache
def flash(number: int, bucket: int, scale: int) -> pygame.Surface:
    """Fire at the muzzle, in the first moments of a shot."""
    pen = Pen(rules.RADIUS * 2.2, scale, CLASSIC, "hostile", bucket_heading(bucket), ground=player_colour(number))
    r = rules.RADIUS
    pen.polygon(
        [(1.2 * r, -0.2 * r), (1.55 * r, -0.42 * r), (2.1 * r, 0), (1.55 * r, 0.42 * r), (1.2 * r, 0.2 * r)], player_colour(number), 170
    )
    pen.polygon([(1.2 * r, -0.12 * r), (1.5 * r, -0.2 * r), (1.8 * r, 0), (1.5 * r, 0.2 * r), (1.2 * r, 0.12 * r)], (255, 252, 240), 240)
    return pen.done()


@cache
def item(kind: int, scale: int) -> pygame.Surface:
    """Heal: a box with a cross. Shield: a crest. Power: a bolt in a disc."""
    r = ITEM_PX
    pen = Pen(r + 1, scale, CLASSIC, "loot")
    if kind == rules.HEAL:
        square = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
        pen.polygon(scaled(square, 0.92 * r), INK)
        pen.polygon(scaled(square, 0.78 * r), (240, 244, 250))
        for long, wide in ((0.58, 0.19), (0.19, 0.58)):
            pen.polygon(scaled([(-long, -wide), (long, -wide), (long, wide), (-long, wide)], r), (226, 64, 92))
    elif kind == rules.SHIELD_ITEM:
        crest = [(0.0, -1.0), (0.86, -0.7), (0.80, 0.1), (0.46, 0.66), (0.0, 1.0), (-0.46, 0.66), (-0.80, 0.1), (-0.86, -0.7)]
        pen.polygon(scaled(crest, r), INK)
        pen.polygon(scaled(crest, 0.84 * r), SHIELD_BLUE)
        pen.polygon(scaled([(0.0, -0.78), (0.0, 0.78), (-0.38, 0.52), (-0.64, 0.06), (-0.68, -0.56)], r), (150, 206, 255))
        pen.polygon(scaled([(0.0, -0.34), (0.30, 0.0), (0.0, 0.34), (-0.30, 0.0)], r), (240, 248, 255))
    else:
        pen.disc(0, 0, 0.98 * r, INK)
        pen.disc(0, 0, 0.84 * r, ENERGY_YELLOW)
        pen.disc(-0.08 * r, -0.1 * r, 0.66 * r, (255, 220, 110))
        pen.polygon(scaled([(0.18, -0.70), (-0.42, 0.14), (-0.04, 0.14), (-0.20, 0.72), (0.42, -0.14), (0.04, -0.14)], r), (74, 40, 6))
    return pen.done()


@cache
def halo(kind: int, phase: int, scale: int) -> pygame.Surface:
    """A soft ring round an item, breathing; ``phase`` 0..11."""
    colour = ((240, 244, 250), SHIELD_BLUE, ENERGY_YELLOW)[kind]
    breath = 0.5 - 0.5 * math.cos(phase * math.pi / 6)
    pen = Pen(ITEM_PX * 1.9, scale, CLASSIC, "loot", ground=colour)
    for k in range(4):
        pen.disc(0, 0, ITEM_PX * (1.75 - 0.2 * k) * (0.9 + 0.1 * breath), colour, round(9 + 7 * k + 8 * breath))
    return pen.done()


@cache
def power(phase: int, scale: int) -> pygame.Surface:
    """Sparks round a ship whose shots are stronger; ``phase`` 0..11."""
    pen = Pen(rules.RADIUS * 1.7, scale, CLASSIC, "lock", ground=ENERGY_YELLOW)
    pen.ring(rules.RADIUS * 1.5, 1.2, ENERGY_YELLOW, 220, arcs=8, share=0.3, turn=phase * math.pi / 48)
    return pen.done()


@cache
def wreck(number: int, scale: int) -> pygame.Surface:
    """Where a ship was lost: a faint cross in its player's colour."""
    colour = player_colour(number)
    pen = Pen(8, scale, CLASSIC, "rock", ground=colour)
    for turn in (math.pi / 4, -math.pi / 4):
        c, s = math.cos(turn), math.sin(turn)
        bar = [(-5.5, -1.0), (5.5, -1.0), (5.5, 1.0), (-5.5, 1.0)]
        pen.polygon([(x * c - y * s, x * s + y * c) for x, y in bar], colour, 120)
    return pen.done()


@cache
def here(phase: int, scale: int) -> pygame.Surface:
    """Four corners round the ship that a person flies; ``phase`` 0..11."""
    pen = Pen(rules.RADIUS * 2.0, scale, CLASSIC, "mark", ground=(255, 255, 255))
    pen.ring(rules.RADIUS * 1.85, 1.3, (255, 255, 255), 200, arcs=4, share=0.28, turn=math.pi / 4 - 0.14 * math.pi + phase * math.pi / 240)
    return pen.done()


@cache
def wave(colour: Colour, radius_px: int, width_px: int, alpha: int) -> pygame.Surface:
    """A ring that spreads, in px of the picture: what a burst or a jam reaches."""
    import pygame

    side = 2 * radius_px + 4
    surface = pygame.Surface((side, side), pygame.SRCALPHA, 32)
    surface.fill((*colour, 0))
    middle = (side // 2, side // 2)
    pygame.draw.circle(surface, (*colour, alpha // 6), middle, radius_px)
    pygame.draw.circle(surface, (*colour, alpha), middle, radius_px, width_px)
    return surface
