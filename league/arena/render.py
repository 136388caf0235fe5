"""The arena's picture: one world drawn at 640x360 (times a whole scale), the same on the screen and off it.

What is drawn depends on nothing but the world's arrays, so two processes that hold the same world draw the same
picture. ``boxes`` tells where things are in that picture: for training and judging the detector, never for a policy.
Sprites, text and the background are drawn once and kept; a picture is then a few dozen blits.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from league.arena import sizes, sprites
from league.arena import skirmish_rules as rules
from league.arena.hud import Hud, Reading, text
from league.arena.looks import CLASSIC, Look
from league.arena.score import score
from league.arena.skirmish import EPISODE_TICKS
from league.arena.truth import objects
from league.arena.world import DT_S, STEPS_PER_TICK, WorldState

if TYPE_CHECKING:
    import pygame

SIZE: Final = (640, 360)
BACKGROUNDS_KEPT: Final = 8
HP_BAR_PX: Final = (20, 3)
NAME: Final = (168, 178, 198)
_NUMBER_COLOURS: Final = {rules.FX_HIT: (255, 255, 255), rules.FX_HURT: (255, 120, 110), rules.FX_PICKUP: (255, 226, 110)}
_WRITTEN: Final = tuple(_NUMBER_COLOURS)


class Painter:
    """Draws worlds on surfaces of ``640 * scale`` x ``360 * scale`` px."""

    def __init__(self, scale: int = 1, episode_steps: int = EPISODE_TICKS * STEPS_PER_TICK, look: Look = CLASSIC) -> None:
        """scale: 1 to 4. episode_steps: world steps of an episode, for the clock. Needs no display."""
        if not 1 <= scale <= 4:
            raise ValueError(f"arena: scale {scale} cannot be drawn; use 1 to 4")
        self.scale, self.look, self._episode_steps = scale, look, episode_steps
        self._hud = Hud(scale)
        self._backgrounds: OrderedDict[bytes, pygame.Surface] = OrderedDict()

    def draw(self, surface: pygame.Surface, state: WorldState, i: int, cursor: tuple[float, float] | None = None) -> None:
        """Draw world ``i``. ``cursor``: a pointer at x, y in 0..1 of the picture; None draws none."""
        surface.blit(self._background(state, i), (0, 0))
        tick = int(state.tick[i])
        blits: list[tuple[pygame.Surface, tuple[int, int]]] = []
        self._things(blits, state, i, tick)
        self._shots(blits, state, i)
        self._ships(blits, state, i, tick)
        self._effects(blits, state, i)
        surface.fblits(blits)
        self._labels(surface, state, i)
        self._numbers(surface, state, i)
        self._hud.draw(surface, reading(state, i, self._episode_steps))
        if cursor is not None:
            pointer: list[tuple[pygame.Surface, tuple[int, int]]] = []
            self._put(pointer, sprites.cursor(self.scale), cursor[0] * SIZE[0], cursor[1] * SIZE[1])
            surface.fblits(pointer)

    def _put(self, blits: list[tuple[pygame.Surface, tuple[int, int]]], picture: pygame.Surface, x: float, y: float) -> None:
        half = picture.get_width() / 2
        blits.append((picture, (math.floor(x * self.scale - half + 0.5), math.floor(y * self.scale - half + 0.5))))

    def _things(self, blits: list[tuple[pygame.Surface, tuple[int, int]]], state: WorldState, i: int, tick: int) -> None:
        turn = tick // 3 % 24
        for x, y in state.portal_pos[i].tolist():
            self._put(blits, sprites.portal(self.look, self._size(sizes.BOX_PX["portal"]) / 2, turn, self.scale), x, y)
        pictures = (
            sprites.loot(self.look, self._size(sizes.BOX_PX["loot"]) / 2, self.scale),
            sprites.cache_box(self.look, self._size(sizes.BOX_PX["cache"]) / 2, self.scale),
        )
        loot = zip(state.loot_alive[i].tolist(), state.loot_kind[i].tolist(), state.loot_pos[i].tolist(), strict=True)
        for alive, kind, (x, y) in loot:
            if alive:
                self._put(blits, pictures[kind], x, y)
        if state.ship_alive[i, 0] and state.ship_has_dest[i, 0]:
            x, y = state.ship_dest[i, 0].tolist()
            self._put(blits, sprites.mark(self.look, self._size(sizes.BOX_PX["mark"]) / 2, self.scale), x, y)

    def _shots(self, blits: list[tuple[pygame.Surface, tuple[int, int]]], state: WorldState, i: int) -> None:
        radius = self._size(sizes.BOX_PX["shot"]) / 2
        shots = np.flatnonzero(state.shot_alive[i])
        hostile = state.ship_team[i, state.shot_owner[i, shots]] != state.ship_team[i, 0]
        columns = (state.shot_pos[i, shots], state.shot_vel[i, shots], state.shot_kind[i, shots], hostile)
        for (x, y), (vx, vy), kind, foe in zip(*(column.tolist() for column in columns), strict=True):
            bucket = sprites.heading_bucket(math.atan2(vy, vx))
            self._put(blits, sprites.shot(self.look, kind, foe, bucket, radius, self.scale), x, y)

    def _ships(self, blits: list[tuple[pygame.Surface, tuple[int, int]]], state: WorldState, i: int, tick: int) -> None:
        s = self.scale
        locked = int(state.ship_lock[i, 0]) if state.ship_alive[i, 0] else -1
        alive = state.ship_alive[i].tolist()
        positions = state.ship_pos[i].tolist()
        speeds = np.hypot(state.ship_vel[i, :, 0], state.ship_vel[i, :, 1]).tolist()
        for k in range(len(alive) - 1, -1, -1):  # the own ship last: on top
            if not alive[k]:
                continue
            x, y = positions[k]
            kind = int(state.ship_kind[i, k])
            radius = self._size(sizes.SHIP_BOX_PX[kind]) / 2
            bucket = sprites.heading_bucket(float(state.ship_heading[i, k]))
            if speeds[k] > 8.0:
                length = 3 if state.ship_boost_s[i, k] > 0 else 2 if tick // 4 % 2 else 1
                self._put(blits, sprites.flame(self.look, kind, bucket, radius, length, s), x, y)
            self._put(blits, sprites.ship(self.look, kind, bucket, radius, s), x, y)
            level = math.ceil(float(state.ship_shield[i, k]) * 4 - 1e-3)
            if level > 0:
                self._put(blits, sprites.shield(self.look, radius + 1.0, level, s), x, y)
            if state.ship_jammed_s[i, k] > 0:
                self._put(blits, sprites.static(self.look, radius, tick // 4 % 20, s), x, y)
            if k == locked:
                ring = self._size(sizes.SHIP_BOX_PX[kind] + sizes.LOCK_MARGIN_PX) / 2
                self._put(blits, sprites.lock(self.look, ring, bool(state.ship_firing[i, 0]), tick // 3 % 12, s), x, y)

    def _size(self, px: float) -> float:
        return px * self.look.size

    def _labels(self, surface: pygame.Surface, state: WorldState, i: int) -> None:
        """Each NPC's hp bar and, where the look shows them, its name."""
        s = self.scale
        width, height = HP_BAR_PX
        for k in np.flatnonzero(state.ship_alive[i, 1:]).tolist():
            k += 1
            kind = int(state.ship_kind[i, k])
            x, y = state.ship_pos[i, k].tolist()
            hp = float(state.ship_hp[i, k])
            left = round((x - width / 2) * s)
            top = round((y - self._size(sizes.SHIP_BOX_PX[kind]) / 2 - 6) * s)
            surface.fill((6, 8, 16), (left - s, top - s, (width + 2) * s, (height + 2) * s))
            colour = (236, 240, 250) if hp > 0.6 else (250, 206, 110) if hp > 0.3 else (250, 120, 120)
            surface.fill(colour, (left, top, max(1, round(hp * width * s)), height * s))
            if self.look.names:
                name = text(f"{sizes.SHIP_KINDS[kind].capitalize()} {int(state.ship_serial[i, k]) % 100}", 12 * s, NAME)
                surface.blit(name, (round(x * s) - name.get_width() // 2, top - name.get_height()))

    def _effects(self, blits: list[tuple[pygame.Surface, tuple[int, int]]], state: WorldState, i: int) -> None:
        """Explosions and mending."""
        if not self.look.effects:
            return
        for f in np.flatnonzero((state.fx_kind[i] == rules.FX_BLAST) | (state.fx_kind[i] == rules.FX_MEND)).tolist():
            phase = min(7, int(float(state.fx_age_s[i, f]) / rules.FX_S * 8))
            x, y = state.fx_pos[i, f].tolist()
            if state.fx_kind[i, f] == rules.FX_BLAST:
                self._put(blits, sprites.blast(self.look, float(state.fx_value[i, f]), phase, self.scale), x, y)
            else:
                self._put(blits, sprites.mending(self.look, self._size(float(state.fx_value[i, f])) / 2, phase, self.scale), x, y)

    def _numbers(self, surface: pygame.Surface, state: WorldState, i: int) -> None:
        """Hit points lost and points won, rising and fading where it happened."""
        if not self.look.numbers:
            return
        s = self.scale
        for f in np.flatnonzero(np.isin(state.fx_kind[i], _WRITTEN)).tolist():
            kind, value, share = int(state.fx_kind[i, f]), float(state.fx_value[i, f]), float(state.fx_age_s[i, f]) / rules.FX_S
            words = f"+{value:g}" if kind == rules.FX_PICKUP else f"{value:.0f}"
            picture = _faded(words, (15 if kind == rules.FX_HIT else 17) * s, _NUMBER_COLOURS[kind], min(7, int(share * 8)))
            x, y = state.fx_pos[i, f].tolist()
            surface.blit(picture, (round((x + 9) * s) - picture.get_width() // 2, round((y - 4 - 16 * share) * s) - picture.get_height()))

    def _background(self, state: WorldState, i: int) -> pygame.Surface:
        key = state.rng[i, 0].tobytes() + state.map_kind[i].tobytes() + state.rock_pos[i].tobytes() + state.rock_radius[i].tobytes()
        kept = self._backgrounds.get(key)
        if kept is not None:
            self._backgrounds.move_to_end(key)
            return kept
        there = state.rock_radius[i] > 0
        belt = int(state.map_kind[i]) == 1
        made = _paint_background(int(state.rng[i, 0]), state.rock_pos[i, there], state.rock_radius[i, there], self.scale, self.look, belt)
        self._backgrounds[key] = made
        if len(self._backgrounds) > BACKGROUNDS_KEPT:
            self._backgrounds.popitem(last=False)
        return made


def _paint_background(
    seed: int, rock_pos: NDArray[np.float32], rock_radius: NDArray[np.float32], scale: int, look: Look, belt: bool
) -> pygame.Surface:
    """Space behind one world: a dim nebula, stars, a faint grid, dust along a belt, and the rocks, which never move."""
    import pygame

    dice = np.random.default_rng(seed)
    size = (SIZE[0] * scale, SIZE[1] * scale)
    nebula = pygame.Surface((160, 90), 0, 32)
    pygame.surfarray.blit_array(nebula, _nebula(dice, look, rock_pos if belt else rock_pos[:0]))
    surface = pygame.transform.smoothscale(nebula, size)
    grid = pygame.Surface(size, pygame.SRCALPHA, 32)
    for x in range(0, SIZE[0], 40):
        grid.fill((120, 150, 220, look.grid), (x * scale, 0, 1, size[1]))
    for y in range(0, SIZE[1], 40):
        grid.fill((120, 150, 220, look.grid), (0, y * scale, size[0], 1))
    surface.blit(grid, (0, 0))
    for _ in range(look.stars):
        x, y = int(dice.integers(size[0])), int(dice.integers(size[1]))
        light = int(dice.integers(46, 120))
        warm, cold = int(dice.integers(0, 16)), int(dice.integers(0, 24))
        side = scale if dice.random() < 0.25 else max(1, scale - 1)
        surface.fill((light + warm, light, min(255, light + cold)), (x, y, side, side))
    blits: list[tuple[pygame.Surface, tuple[int, int]]] = []
    for k, ((x, y), radius) in enumerate(zip(rock_pos.tolist(), rock_radius.tolist(), strict=True)):
        picture = sprites.rock(look, float(radius), (seed * 31 + k) & 0xFFFFFFFF, scale)
        half = picture.get_width() / 2
        blits.append((picture, (math.floor(x * scale - half + 0.5), math.floor(y * scale - half + 0.5))))
    surface.fblits(blits)
    return surface


def _nebula(dice: np.random.Generator, look: Look, dust: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Some dim, wide clouds of light, uint8 [160, 90, 3], and dust round the places ``dust`` [R, 2]; rounded at random, since so
    few levels would show as bands."""
    x, y = np.meshgrid(np.arange(160.0), np.arange(90.0), indexing="ij")
    light = np.zeros((160, 90, 3)) + np.array(look.ground, np.float64)
    tints = np.array(look.clouds, np.float64)
    for k in range(6):
        centre_x, centre_y, width, height, turn = dice.uniform((0, 0, 22, 12, 0), (160, 90, 60, 30, np.pi))
        u = (x - centre_x) * np.cos(turn) + (y - centre_y) * np.sin(turn)
        v = (y - centre_y) * np.cos(turn) - (x - centre_x) * np.sin(turn)
        light += np.exp(-((u / width) ** 2) - (v / height) ** 2)[..., None] * tints[k % len(tints)] * dice.uniform(0.4, 0.8)
    for centre_x, centre_y in (dust / 4.0).tolist():
        light += np.exp(-(((x - centre_x) / 13.0) ** 2) - ((y - centre_y) / 7.0) ** 2)[..., None] * np.array([13.0, 12.0, 11.0])
    return np.minimum(light + dice.random((160, 90, 1)), look.brightest).astype(np.uint8)


@lru_cache(maxsize=512)
def _faded(words: str, size: int, colour: tuple[int, int, int], phase: int) -> pygame.Surface:
    """Text with a dark edge, ``phase`` 0..7 of its life: whole at first, then fainter."""
    ink, edge = text(words, size, colour), text(words, size, (10, 12, 20))
    import pygame

    picture = pygame.Surface((ink.get_width() + 2, ink.get_height() + 2), pygame.SRCALPHA, 32)
    for place in ((0, 1), (2, 1), (1, 0), (1, 2)):
        picture.blit(edge, place)
    picture.blit(ink, (1, 1))
    picture.set_alpha(255 if phase < 4 else 255 - (phase - 3) * 55)
    return picture


def reading(state: WorldState, i: int, episode_steps: int) -> Reading:
    """What the own ship's display shows in world ``i``."""
    alive = bool(state.ship_alive[i, 0])
    repair, boost, jam = state.ship_cooldowns[i, 0].tolist()
    locked = alive and int(state.ship_lock[i, 0]) >= 0
    return Reading(
        hp=float(state.ship_hp[i, 0]) if alive else 0.0,
        shield=float(state.ship_shield[i, 0]) if alive else 0.0,
        heavy_ammo=float(state.ship_heavy[i, 0]),
        locked=locked,
        firing=locked and bool(state.ship_firing[i, 0]),
        ammo=int(state.ship_ammo[i, 0]),
        cooldowns=(repair, boost, jam),
        score=float(score(state)[i]),
        left_s=max(0.0, (episode_steps - int(state.tick[i])) * DT_S),
        respawn_s=0.0 if alive else float(state.ship_respawn_s[i, 0]),
    )


@lru_cache(maxsize=4)
def _painter(scale: int) -> Painter:
    return Painter(scale)


def draw(surface: pygame.Surface, state: WorldState, i: int, cursor: tuple[float, float] | None = None) -> None:
    """Draw world ``i`` on a surface whose size is 640x360 times a whole number."""
    width, height = surface.get_size()
    scale = max(1, width // SIZE[0])
    if (width, height) != (SIZE[0] * scale, SIZE[1] * scale):
        raise ValueError(f"arena: a surface of {width}x{height} px does not fit; use 640x360 times a whole number")
    _painter(scale).draw(surface, state, i, cursor)


class Renderer:
    """Worlds as numpy pictures, with no display."""

    def __init__(self, look: Look = CLASSIC) -> None:
        import cv2
        import pygame

        self._swap = cv2.cvtColor
        self._order = cv2.COLOR_BGRA2RGB
        self._painter = Painter(1, look=look)
        self._surface = pygame.Surface(SIZE, 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))

    def picture(self, state: WorldState, i: int, cursor: tuple[float, float] | None = None) -> NDArray[np.uint8]:
        """World ``i`` as uint8 RGB [360, 640, 3], a new array each time."""
        self._painter.draw(self._surface, state, i, cursor)
        pixels = np.frombuffer(self._surface.get_buffer(), np.uint8).reshape(SIZE[1], SIZE[0], 4)
        return np.asarray(self._swap(pixels, self._order))


def boxes(state: WorldState, i: int, look: Look = CLASSIC) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Where things are in the picture of world ``i``: classes int32 [M] (``sizes.CLASSES``) and boxes float32 [M, 4]
    (centre x, centre y, width, height, in 0..1 of the picture). Truth: for detectors and scores only."""
    found = objects(state, i, look.size)
    return found.classes, found.boxes()
