"""Last man standing as a picture: one world drawn at 640x360 (times a whole scale), on the screen and off it.

Drawn in the arena's look: its background, ships, shots and type (``render``, ``sprites``, ``hud``). A hull points where the ship
flies, its gun where it aims. Outside the zone space is red, and a dashed ring shows where the zone's edge will be in a few
seconds. ``Painter`` remembers the moments just past (hits, pickups, bursts, wrecks), so it wants to see every step by ``notice``.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing_rules as rules
from league.arena import last_standing_sprites as art
from league.arena import render, sprites
from league.arena.hud import text
from league.arena.last_standing import LastStandingState
from league.arena.last_standing_board import Board, Flyer
from league.arena.last_standing_moments import Moment, Moments
from league.arena.looks import CLASSIC, Look
from league.arena.sizes import PLAY_AREA_PX
from league.arena.world import DT_S

# Two of ``render``'s private functions are used here. They are not made public: a detector is made for one version of the arena's
# pictures, which is a hash over the files that draw them (``engine.arena_pictures.picture_version``), and the shipped one would not be
# of this version any more for a change that moves no pixel. They move when the next detector is trained.

if TYPE_CHECKING:
    import pygame

SIZE: Final = render.SIZE
ZONE_AHEAD_S: Final = 6.0
"""The dashed ring is where the zone's edge will be then."""
BURNING: Final = (120, 14, 34, 92)
"""Over space outside the zone."""
EDGE: Final = (255, 122, 92)
BARS_PX: Final = 22
HULL_PX: Final = rules.RADIUS + 1.5
"""How large a ship is drawn: a little larger than what shots meet, as its wings are thin."""
_FLASH_TICKS: Final = 4
_LABEL_ROOM: Final = 38.0
"""px below the upper edge in which a ship's label stands under it."""
_STILL: Final = 12.0
"""px/s below which a hull points along its gun: a ship that hardly moves has no course."""
Blits = list[tuple["pygame.Surface", tuple[int, int]]]


def zone_radius_at(time_s: float) -> float:
    """Radius of the zone, px."""
    return float(np.interp(time_s, rules.ZONE_S, rules.ZONE_RADIUS))


class Painter:
    """Draws one match on surfaces of ``640 * scale`` x ``360 * scale`` px. Needs no display."""

    def __init__(self, players: tuple[Flyer, ...], scale: int = 1, look: Look = CLASSIC, line: str = "") -> None:
        """players: one for each seat. scale: 1 to 4. line: a word on the match, shown below."""
        if not 1 <= scale <= 4:
            raise ValueError(f"arena: scale {scale} cannot be drawn; use 1 to 4")
        import pygame

        self._pygame = pygame
        self.players, self.scale, self.look, self.line = players, scale, look, line
        self.moments = Moments()
        self._board = Board(scale)
        self._grounds: OrderedDict[int, pygame.Surface] = OrderedDict()
        left, top, right, bottom = (round(side * scale) for side in PLAY_AREA_PX)
        self._area = pygame.Rect(left, top, right - left, bottom - top)
        self._veil = pygame.Surface((SIZE[0] * scale, SIZE[1] * scale), pygame.SRCALPHA, 32)

    def notice(self, state: LastStandingState, i: int = 0) -> None:
        """Take in what a step brought; what happened in it is shown for a while."""
        self.moments.notice(state, i)

    def draw(self, surface: pygame.Surface, state: LastStandingState, i: int = 0, cursor: tuple[float, float] | None = None) -> None:
        """Draw world ``i``. ``cursor``: a person's cross-hairs at x, y in 0..1 of the picture. Raises ValueError for other seats."""
        if state.ships != len(self.players):
            raise ValueError(f"last man standing: {state.ships} ships cannot be drawn for {len(self.players)} players")
        tick = int(state.tick[i])
        surface.blit(self._ground(int(state.rng[i, 0])), (0, 0))
        self._zone(surface, state, i)
        blits: Blits = []
        self._marks(blits, state, i, tick)
        self._items(blits, state, i, tick)
        self._waves(blits, self.moments.clock)
        self._shots(blits, state, i, tick)
        for seat in np.flatnonzero(state.ship_alive[i]).tolist():
            self._ship(blits, state, i, seat, tick)
        self._blasts(blits, self.moments.clock)
        surface.fblits(blits)
        self._labels(surface, state, i)
        self._words(surface, self.moments.clock)
        self._board.draw(surface, state, i, self.players, self.line)
        if cursor is not None:
            self._cross_hairs(surface, cursor)

    def _ground(self, seed: int) -> pygame.Surface:
        """Space behind a world, drawn once; the play area's edge is a thin line."""
        kept = self._grounds.get(seed)
        if kept is None:
            nothing = np.zeros((0, 2), np.float32)
            kept = render._paint_background(seed, nothing, nothing[:, 0], self.scale, self.look, False)
            self._pygame.draw.rect(kept, (52, 64, 96), self._area.inflate(2 * self.scale, 2 * self.scale), self.scale)
            self._grounds[seed] = kept
            if len(self._grounds) > 4:
                self._grounds.popitem(last=False)
        return kept

    def _put(self, blits: Blits, picture: pygame.Surface, x: float, y: float) -> None:
        half = picture.get_width() / 2
        blits.append((picture, (math.floor(x * self.scale - half + 0.5), math.floor(y * self.scale - half + 0.5))))

    def _zone(self, surface: pygame.Surface, state: LastStandingState, i: int) -> None:
        """Red outside, a bright edge, and where the edge will soon be."""
        s, draw = self.scale, self._pygame.draw
        x, y = (float(v) * s for v in state.zone_middle[i])
        radius = float(state.zone_radius[i]) * s
        veil = self._veil
        veil.fill(BURNING)
        if radius >= 1:
            draw.circle(veil, (0, 0, 0, 0), (x, y), radius)
        surface.set_clip(self._area)
        surface.blit(veil, (0, 0))
        if radius >= 1:
            for grow, shade in ((2.0 * s, 0.35), (1.0 * s, 0.7), (0.0, 1.0)):
                draw.aacircle(surface, tuple(round(c * shade) for c in EDGE), (x, y), radius + grow, max(1, s))
        soon = zone_radius_at(int(state.tick[i]) * DT_S + ZONE_AHEAD_S) * s
        if not state.over[i] and 8 * s < soon < radius - 3 * s:
            dashes = max(16, round(soon / s / 3.2))
            for k in range(dashes):
                a, b = (2 * math.pi * (k + part) / dashes for part in (0.0, 0.45))
                ends = [(x + soon * math.cos(t), y + soon * math.sin(t)) for t in (a, (a + b) / 2, b)]
                draw.aalines(surface, (236, 190, 176), False, ends)
        surface.set_clip(None)

    def _marks(self, blits: Blits, state: LastStandingState, i: int, tick: int) -> None:
        for seat in np.flatnonzero(~state.ship_alive[i]).tolist():
            self._put(blits, art.wreck(self.players[seat].colour, self.scale), *state.ship_pos[i, seat].tolist())
        for seat, player in enumerate(self.players):
            if player.person and state.ship_alive[i, seat]:
                self._put(blits, art.here(tick // 10 % 12, self.scale), *state.ship_pos[i, seat].tolist())

    def _items(self, blits: Blits, state: LastStandingState, i: int, tick: int) -> None:
        for k in np.flatnonzero(state.item_alive[i]).tolist():
            kind, (x, y) = int(state.item_kind[i, k]), state.item_pos[i, k].tolist()
            self._put(blits, art.halo(kind, (tick // 6 + 4 * k) % 12, self.scale), x, y)
            self._put(blits, art.item(kind, self.scale), x, y)

    def _waves(self, blits: Blits, tick: int) -> None:
        """What a burst or a jam reaches, spreading."""
        for moment in self.moments.shown:
            if moment.kind not in ("burst", "jam"):
                continue
            share = min(1.0, moment.share(tick))
            spread = 1.0 - (1.0 - share) ** 2
            reach = rules.BURST_REACH if moment.kind == "burst" else rules.JAM_REACH
            colour = art.BURST_BLUE if moment.kind == "burst" else art.JAM_VIOLET
            radius = max(4, round(reach * spread * self.scale / 4) * 4)
            alpha = round(210 * (1.0 - share) / 15) * 15
            self._put(blits, art.wave(colour, radius, max(1, round((3 - 2 * share) * self.scale)), alpha), moment.x, moment.y)

    def _shots(self, blits: Blits, state: LastStandingState, i: int, tick: int) -> None:
        for p in np.flatnonzero(state.shot_end[i] > tick).tolist():
            seat = p // rules.SHOTS_PER_SHIP
            (x, y), (vx, vy) = state.shot_pos[i, p].tolist(), state.shot_vel[i, p].tolist()
            bucket = sprites.heading_bucket(math.atan2(vy, vx))
            strong = float(state.shot_damage[i, p]) > rules.SHOT_DAMAGE
            radius = rules.SHOT_RADIUS * (1.35 if strong else 1.0)
            self._put(blits, sprites.shot(self._look(seat), 2 if strong else 1, False, bucket, radius, self.scale), x, y)

    def _look(self, seat: int) -> Look:
        return art.player_look(self.players[seat].colour)

    def _ship(self, blits: Blits, state: LastStandingState, i: int, seat: int, tick: int) -> None:
        s, look, r = self.scale, self._look(seat), HULL_PX
        x, y = state.ship_pos[i, seat].tolist()
        vx, vy = state.ship_vel[i, seat].tolist()
        gun = sprites.heading_bucket(math.atan2(*reversed(state.ship_gun[i, seat].tolist())))
        speed = math.hypot(vx, vy)
        course = sprites.heading_bucket(math.atan2(vy, vx)) if speed > _STILL else gun
        if speed > _STILL:
            length = 3 if state.ship_boost_end[i, seat] > tick else 2 if tick // 4 % 2 else 1
            self._put(blits, sprites.flame(look, 0, course, r, length, s), x, y)
        if state.ship_power_end[i, seat] > tick:
            self._put(blits, art.power(tick // 4 % 12, s), x, y)
        self._put(blits, sprites.ship(look, 0, course, r, s), x, y)
        self._put(blits, art.gun(self.players[seat].colour, gun, s), x, y)
        fired = round(rules.RELOAD_S / DT_S) - (int(state.ship_reload_end[i, seat]) - tick)
        if 0 <= fired < _FLASH_TICKS and state.ship_reload_end[i, seat] > tick:
            self._put(blits, art.flash(self.players[seat].colour, gun, s), x, y)
        level = math.ceil(float(state.ship_shield[i, seat]) * 4 - 1e-3)
        if level > 0:
            self._put(blits, sprites.shield(self.look, r + 3.0, level, s), x, y)
        if state.ship_jam_end[i, seat] > tick:
            self._put(blits, sprites.static(self.look, r + 2.0, tick // 4 % 20, s), x, y)

    def _blasts(self, blits: Blits, tick: int) -> None:
        for moment in self.moments.shown:
            if moment.kind == "blast":
                self._put(blits, sprites.blast(self.look, 30.0, min(7, int(moment.share(tick) * 8)), self.scale), moment.x, moment.y)

    def _labels(self, surface: pygame.Surface, state: LastStandingState, i: int) -> None:
        """Over each ship its name and three bars: hull, shield, energy."""
        s = self.scale
        for seat in np.flatnonzero(state.ship_alive[i]).tolist():
            x, y = state.ship_pos[i, seat].tolist()
            hull = float(state.ship_hp[i, seat])
            below = y < PLAY_AREA_PX[1] + _LABEL_ROOM
            left, top = round((x - BARS_PX / 2) * s), round((y + (HULL_PX + 7 if below else -HULL_PX - 13)) * s)
            surface.fill((6, 8, 16), (left - s, top - s, (BARS_PX + 2) * s, 9 * s))
            bars = (
                (hull, 3, 0, art.hull_colour(hull)),
                (float(state.ship_shield[i, seat]), 1, 4, art.SHIELD_BLUE),
                (float(state.ship_energy[i, seat]), 1, 6, art.ENERGY_YELLOW),
            )
            for level, height, offset, colour in bars:
                width = round(min(1.0, level) * BARS_PX * s)
                if width:
                    surface.fill(colour, (left, top + offset * s, width, height * s))
            name = text(self.players[seat].name, 13 * s, art.player_colour(self.players[seat].colour))
            surface.blit(name, (round(x * s) - name.get_width() // 2, top + (9 * s if below else -s - name.get_height())))

    def _words(self, surface: pygame.Surface, tick: int) -> None:
        """Hit points lost and items taken, rising and fading where it happened."""
        for moment in self.moments.shown:
            if moment.words:
                self._word(surface, moment, tick)

    def _word(self, surface: pygame.Surface, moment: Moment, tick: int) -> None:
        s, share = self.scale, min(1.0, moment.share(tick))
        gain = moment.kind == "gain"
        picture = render._faded(
            moment.words, (16 if gain else 14) * s, (255, 226, 110) if gain else (255, 255, 255), min(7, int(share * 8))
        )
        side = 0.0 if gain else 16.0
        x, y = (moment.x + side) * s - picture.get_width() / 2, (moment.y + (-34 if gain else -2) - 16 * share) * s
        surface.blit(picture, (round(x), round(y) - picture.get_height()))

    def _cross_hairs(self, surface: pygame.Surface, cursor: tuple[float, float]) -> None:
        s, draw = self.scale, self._pygame.draw
        x, y = cursor[0] * SIZE[0] * s, cursor[1] * SIZE[1] * s
        draw.aacircle(surface, (8, 10, 20), (x, y), 9 * s, 3 * s)
        draw.aacircle(surface, (255, 255, 255), (x, y), 8 * s, max(1, s))
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            draw.line(surface, (255, 255, 255), (x + 5 * s * dx, y + 5 * s * dy), (x + 11 * s * dx, y + 11 * s * dy), max(1, s))


class Renderer:
    """A match as numpy pictures, with no display."""

    def __init__(self, players: tuple[Flyer, ...], scale: int = 1, look: Look = CLASSIC, line: str = "") -> None:
        import cv2
        import pygame

        self._swap, self._order = cv2.cvtColor, cv2.COLOR_BGRA2RGB
        self.painter = Painter(players, scale, look, line)
        self._size = (SIZE[0] * scale, SIZE[1] * scale)
        self._surface = pygame.Surface(self._size, 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))

    def notice(self, state: LastStandingState, i: int = 0) -> None:
        self.painter.notice(state, i)

    def picture(self, state: LastStandingState, i: int = 0) -> NDArray[np.uint8]:
        """World ``i`` as uint8 RGB [360 * scale, 640 * scale, 3], a new array each time."""
        self.painter.draw(self._surface, state, i)
        pixels = np.frombuffer(self._surface.get_buffer(), np.uint8).reshape(self._size[1], self._size[0], 4)
        return np.asarray(self._swap(pixels, self._order))
