"""The arena's head-up display: gauges, icons, ammo, cooldowns, score and clock.

Everything the profile reads (``data.profile.ARENA_PROFILE``) is drawn exactly in the profile's own regions and
colours, which are looked up here and not repeated. Panels are opaque and drawn last, so that nothing in flight
can be taken for a gauge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from data.profile import ARENA_PROFILE, Region

if TYPE_CHECKING:
    import pygame

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]
"""left, top, width, height in px."""

PANEL: Final = (12, 15, 27)
PANEL_EDGE: Final = (46, 56, 86)
GROOVE: Final = (30, 35, 52)
TEXT: Final = (200, 210, 230)
DIM: Final = (104, 114, 138)

STATUS_PANEL: Final[Box] = (4, 3, 182, 35)
ABILITY_PANEL: Final[Box] = (188, 341, 206, 19)
SCORE_PANEL: Final[Box] = (548, 3, 88, 35)
PANELS: Final[tuple[Box, ...]] = (STATUS_PANEL, ABILITY_PANEL, SCORE_PANEL)
"""The parts of the 640x360 picture that panels hide."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the display shows. levels and cooldowns 0..1; ``ammo`` 1..3; ``left_s`` of the episode; ``respawn_s``
    until the own ship is back (0: it flies)."""

    hp: float
    shield: float
    heavy_ammo: float
    locked: bool
    firing: bool
    ammo: int
    cooldowns: tuple[float, float, float]
    score: float
    left_s: float
    respawn_s: float = 0.0


@lru_cache(maxsize=16)
def _font(size: int) -> pygame.font.Font:
    import pygame

    pygame.font.init()
    return pygame.font.Font(None, size)


@lru_cache(maxsize=1024)
def text(text: str, size: int, colour: Colour) -> pygame.Surface:
    """A line of text in pygame's own bundled font, so that it is the same picture on every machine."""
    return _font(size).render(text, True, colour)


def region_box(region: Region, scale: int) -> Box:
    """A profile's region in px of the picture at ``scale``."""
    left, top, right, bottom = region[0] * 640, region[1] * 360, region[2] * 640, region[3] * 360
    x, y = round(left * scale), round(top * scale)
    return x, y, round(right * scale) - x, round(bottom * scale) - y


class Hud:
    """Draws the display at one scale; the parts that never change are drawn once."""

    def __init__(self, scale: int) -> None:
        import pygame

        self._pygame = pygame
        self.scale = scale
        self._gauges = {g.name: (region_box(g.region, scale), g.colour) for g in ARENA_PROFILE.gauges}
        self._icons = {i.name: (region_box(i.region, scale), i.colour) for i in ARENA_PROFILE.icons}
        ammo = ARENA_PROFILE.choices[0]
        self._slots = [region_box(r, scale) for r in ammo.regions]
        self._slot_colour = ammo.colour
        self._panels = [self._panel(box) for box in PANELS]
        self._label(self._panels[0], STATUS_PANEL)

    def draw(self, surface: pygame.Surface, reading: Reading) -> None:
        s = self.scale
        for panel, box in zip(self._panels, PANELS, strict=True):
            surface.blit(panel, (box[0] * s, box[1] * s))
        for name, level in (("hp", reading.hp), ("shield", reading.shield), ("heavy_ammo", reading.heavy_ammo)):
            self._bar(surface, name, level)
        self._icon(surface, "locked", "LOCK", reading.locked)
        self._icon(surface, "firing", "FIRE", reading.firing)
        for k, box in enumerate(self._slots):
            self._slot(surface, box, str(k + 1), chosen=reading.ammo == k + 1)
        for name, letter, left in zip(("repair", "boost", "jam"), "QER", reading.cooldowns, strict=True):
            self._bar(surface, name, left)
            x, y, w, _ = self._gauges[name][0]
            ready = left <= 0.0
            self._centred(surface, text(letter, 14 * s, TEXT if ready else DIM), x + w // 2 - 6 * s, y - 5 * s)
            self._ability_glyph(surface, name, x + w // 2 + 6 * s, y - 5 * s, TEXT if ready else DIM)
        self._numbers(surface, reading)

    def _numbers(self, surface: pygame.Surface, reading: Reading) -> None:
        s, (left, top, width, _) = self.scale, SCORE_PANEL
        right = (left + width - 6) * s
        score = text(f"{reading.score:.1f}", 25 * s, (255, 255, 255))
        surface.blit(score, (right - score.get_width(), (top + 2) * s))
        seconds = max(0, int(reading.left_s + 0.999))
        clock = text(f"{seconds // 60}:{seconds % 60:02d}", 17 * s, (255, 150, 90) if seconds <= 10 else DIM)
        surface.blit(clock, (right - clock.get_width(), (top + 21) * s))
        if reading.respawn_s > 0:
            line = text(f"ship lost - back in {reading.respawn_s:.1f} s", 24 * s, (255, 214, 190))
            self._centred(surface, line, 320 * s, 150 * s)

    def _bar(self, surface: pygame.Surface, name: str, level: float) -> None:
        (x, y, w, h), colour = self._gauges[name]
        surface.fill(GROOVE, (x, y, w, h))
        filled = round(min(1.0, max(0.0, level)) * w)
        if filled:
            surface.fill(colour, (x, y, filled, h))
            light = (min(255, colour[0] + 26), min(255, colour[1] + 26), min(255, colour[2] + 26))
            surface.fill(light, (x, y, filled, max(1, h // 4)))

    def _icon(self, surface: pygame.Surface, name: str, word: str, on: bool) -> None:
        (x, y, w, h), colour = self._icons[name]
        self._pygame.draw.rect(surface, colour if on else GROOVE, (x, y, w, h), border_radius=2 * self.scale)
        self._centred(surface, text(word, 13 * self.scale, (54, 28, 8) if on else DIM), x + w // 2, y + h // 2 + self.scale // 2)

    def _slot(self, surface: pygame.Surface, box: Box, digit: str, *, chosen: bool) -> None:
        self._pygame.draw.rect(surface, self._slot_colour if chosen else GROOVE, box, border_radius=2 * self.scale)
        x, y, w, h = box
        self._centred(surface, text(digit, 16 * self.scale, (20, 24, 40) if chosen else DIM), x + w // 2, y + h // 2)

    def _ability_glyph(self, surface: pygame.Surface, name: str, cx: int, cy: int, ink: Colour) -> None:
        s, draw = self.scale, self._pygame.draw
        if name == "repair":
            surface.fill(ink, (cx - 3 * s, cy - s // 2 - s // 2, 7 * s, 2 * s))
            surface.fill(ink, (cx - s // 2 - s // 2, cy - 3 * s, 2 * s, 7 * s))
        elif name == "boost":
            for k in (-3, 1):
                points = [(cx + (k - 1) * s, cy - 3 * s), (cx + (k + 2) * s, cy), (cx + (k - 1) * s, cy + 3 * s)]
                draw.lines(surface, ink, False, points, max(1, round(1.4 * s)))
        else:
            draw.circle(surface, ink, (cx, cy), 2 * s, max(1, s))
            draw.circle(surface, ink, (cx, cy), 5 * s, max(1, s), draw_top_left=True, draw_bottom_right=True)

    def _panel(self, box: Box) -> pygame.Surface:
        s = self.scale
        panel = self._pygame.Surface((box[2] * s, box[3] * s), 0, 32)
        panel.fill(PANEL)
        self._pygame.draw.rect(panel, PANEL_EDGE, panel.get_rect(), s)
        return panel

    def _label(self, panel: pygame.Surface, box: Box) -> None:
        s = self.scale
        for name, label in (("hp", "HP"), ("shield", "SH"), ("heavy_ammo", "AM")):
            x, y, _, h = self._gauges[name][0]
            word = text(label, 13 * s, DIM)
            cx, cy = x - 11 * s - box[0] * s, y + h // 2 - box[1] * s
            panel.blit(word, (cx - word.get_width() // 2, cy - word.get_height() // 2))

    @staticmethod
    def _centred(surface: pygame.Surface, picture: pygame.Surface, cx: int, cy: int) -> None:
        surface.blit(picture, (cx - picture.get_width() // 2, cy - picture.get_height() // 2))
