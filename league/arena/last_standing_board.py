"""The frame round a match of last man standing: a card for each player above, clock, zone and a person's keys below, the result.

Panels are opaque and drawn last. Colours and type are those of the arena's display (``hud``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing_rules as rules
from league.arena import last_standing_sprites as art
from league.arena import sprites
from league.arena.hud import DIM, GROOVE, PANEL, PANEL_EDGE, TEXT, Colour, text
from league.arena.last_standing import LastStandingState, placements
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.arena.world import DT_S

if TYPE_CHECKING:
    import pygame

WIDTH, HEIGHT = int(MAP_WIDTH_PX), int(MAP_HEIGHT_PX)
CARDS_TOP, CARDS_HEIGHT, STRIP_TOP = 3, 35, 341
_ABILITIES: Final = (("1 boost", rules.BOOST), ("2 burst", rules.BURST), ("3 jam", rules.JAM))
_READY: Final = (150, 226, 255)
_WARM: Final = (255, 150, 90)
_BANNER_ROW: Final = 17


class Flyer(NamedTuple):
    """Who sits in a seat: a name to show, a colour (an index, kept when seats rotate), and whether it is a person."""

    name: str
    colour: int
    person: bool = False


def flyers(names: list[str] | tuple[str, ...]) -> tuple[Flyer, ...]:
    """One for each player; those of the same name are numbered."""
    from league.players import PERSON

    shown: list[Flyer] = []
    for number, name in enumerate(names):
        many = names.count(name) > 1
        label = "you" if name == PERSON else name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".safetensors")
        shown.append(Flyer(f"{label} {names[: number + 1].count(name)}" if many else label, number, name == PERSON))
    return tuple(shown)


def place_words(places: Sequence[float]) -> list[str]:
    """``1st``, ``2nd``, ... for a match's places; those who share one all get the best of it, ``=2nd``."""
    words: list[str] = []
    for place in places:
        best = 1 + sum(other < place for other in places)
        shared = "=" if sum(other == place for other in places) > 1 else ""
        words.append(f"{shared}{best}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(best, 'th') }")
    return words


class Board:
    """Draws it at one scale."""

    def __init__(self, scale: int) -> None:
        import pygame

        self._pygame = pygame
        self.scale = scale

    def draw(self, surface: pygame.Surface, state: LastStandingState, i: int, players: tuple[Flyer, ...], line: str = "") -> None:
        """``line``: a word on the match, below to the right; a person's keys stand there while one flies."""
        place = placements(state)[i]
        words = place_words(place.tolist())
        width = (WIDTH - 8 - 4 * (len(players) - 1)) / len(players)
        for seat, player in enumerate(players):
            left = 4 + seat * (width + 4)
            self._card(surface, state, i, seat, player, (left, width), words[seat])
        self._strip(surface, state, i, players, line)
        if state.over[i]:
            self._result(surface, state, i, players, place, words)

    def _box(self, x: float, y: float, w: float, h: float) -> tuple[int, int, int, int]:
        s = self.scale
        return round(x * s), round(y * s), round((x + w) * s) - round(x * s), round((y + h) * s) - round(y * s)

    def _panel(self, surface: pygame.Surface, box: tuple[int, int, int, int], edge: Colour = PANEL_EDGE) -> None:
        surface.fill(PANEL, box)
        self._pygame.draw.rect(surface, edge, box, self.scale)

    def _write(self, surface: pygame.Surface, words: str, size: int, colour: Colour, x: float, y: float, align: float = 0.0) -> None:
        """``align``: 0 from x on, 0.5 round it, 1 up to it; ``y`` is the middle of the line."""
        picture = text(words, size * self.scale, colour)
        surface.blit(picture, (round(x * self.scale - align * picture.get_width()), round(y * self.scale - picture.get_height() / 2)))

    def _bar(self, surface: pygame.Surface, x: float, y: float, w: float, h: float, level: float, colour: Colour) -> None:
        surface.fill(GROOVE, self._box(x, y, w, h))
        level = min(1.0, max(0.0, level))
        if level > 0:
            surface.fill(colour, self._box(x, y, max(w * level, 1 / self.scale), h))

    def _card(
        self,
        surface: pygame.Surface,
        state: LastStandingState,
        i: int,
        seat: int,
        player: Flyer,
        where: tuple[float, float],
        place: str,
    ) -> None:
        left, width = where
        alive = bool(state.ship_alive[i, seat])
        colour = art.player_colour(player.colour)
        lit = colour if alive else GROOVE
        self._panel(surface, self._box(left, CARDS_TOP, width, CARDS_HEIGHT), (255, 255, 255) if player.person and alive else PANEL_EDGE)
        surface.fill(lit, self._box(left + 1, CARDS_TOP + 1, 3, CARDS_HEIGHT - 2))
        kills = int(state.kills[i, seat])
        told = f"x{kills}" if alive and kills else "" if alive else place
        room = width - 12 - (18 if told else 0)
        self._write(surface, self._fitted(player.name, 15, room), 15, colour if alive else DIM, left + 8, CARDS_TOP + 8)
        if told:
            self._write(surface, told, 15, TEXT if alive else _WARM, left + width - 5, CARDS_TOP + 8, 1.0)
        if not alive:
            told = f"{kills} shot down" if width > 110 else f"x{kills}" if kills else ""
            self._write(surface, told, 13, DIM, left + 8, CARDS_TOP + 24)
            return
        hull, x, w = float(state.ship_hp[i, seat]), left + 8, width - 13
        self._bar(surface, x, CARDS_TOP + 16, w, 5, hull, art.hull_colour(hull))
        self._bar(surface, x, CARDS_TOP + 22.5, w, 3.5, float(state.ship_shield[i, seat]), art.SHIELD_BLUE)
        tick = int(state.tick[i])
        jammed = bool(state.ship_jam_end[i, seat] > tick)
        self._bar(
            surface, x, CARDS_TOP + 27.5, w - 12, 3.5, float(state.ship_energy[i, seat]), art.JAM_VIOLET if jammed else art.ENERGY_YELLOW
        )
        left_ticks = max(0, int(state.ship_cooldown_end[i, seat]) - tick)
        ready = 1.0 - left_ticks * DT_S / rules.LONGEST_COOLDOWN_S
        self._bar(surface, x + w - 9, CARDS_TOP + 27.5, 9, 3.5, ready, _READY if not left_ticks else (96, 112, 140))

    def _fitted(self, words: str, size: int, room: float) -> str:
        """As much of a name as there is room for."""
        shown = words
        while len(shown) > 1 and text(shown, size * self.scale, TEXT).get_width() > room * self.scale:
            shown = shown[:-2] + "…" if not shown.endswith("…") else shown[:-2].rstrip() + "…"
        return shown

    def _strip(self, surface: pygame.Surface, state: LastStandingState, i: int, players: tuple[Flyer, ...], line: str) -> None:
        time_s, y = int(state.tick[i]) * DT_S, STRIP_TOP + 9.5
        self._panel(surface, self._box(4, STRIP_TOP, WIDTH - 8, 18))
        self._write(surface, f"{int(time_s) // 60}:{int(time_s) % 60:02d}", 17, TEXT, 12, y)
        radius, left_s = float(state.zone_radius[i]), rules.ZONE_S[-1] - time_s
        zone = f"zone {radius:.0f} px, gone in {left_s:.0f} s" if left_s > 0 else "the zone is gone"
        self._write(surface, zone, 14, _WARM if left_s < 10 else DIM, 48, y)
        self._write(surface, f"{int(state.ship_alive[i].sum())} of {len(players)} left", 16, TEXT, WIDTH / 2, y, 0.5)
        own = next((seat for seat, p in enumerate(players) if p.person), -1)
        if own < 0 or not state.ship_alive[i, own]:
            self._write(surface, line, 14, DIM, WIDTH - 12, y, 1.0)
            return
        self._keys(surface, state, i, own, y)

    def _keys(self, surface: pygame.Surface, state: LastStandingState, i: int, own: int, y: float) -> None:
        """The person's abilities with their cooldown, and whether an item is in reach."""
        left_s = max(0, int(state.ship_cooldown_end[i, own]) - int(state.tick[i])) * DT_S
        x = WIDTH - 236.0
        for words, _ in _ABILITIES:
            self._write(surface, words, 15, _READY if left_s <= 0 else DIM, x, y)
            x += 50
        self._write(surface, f"{left_s:.1f} s" if left_s > 0 else "ready", 14, DIM if left_s > 0 else _READY, x, y)
        offset = state.item_pos[i] - state.ship_pos[i, own]
        near = bool((state.item_alive[i] & (np.hypot(offset[:, 0], offset[:, 1]) <= rules.ITEM_REACH)).any())
        self._write(surface, "E take", 15, art.ENERGY_YELLOW if near else DIM, WIDTH - 12, y, 1.0)

    def _result(
        self,
        surface: pygame.Surface,
        state: LastStandingState,
        i: int,
        players: tuple[Flyer, ...],
        place: NDArray[np.float32],
        words: list[str],
    ) -> None:
        """Who won, and everybody's place."""
        order = np.argsort(place, kind="stable").tolist()
        height = 46 + _BANNER_ROW * len(players)
        top, left, width = HEIGHT / 2 - height / 2, WIDTH / 2 - 132, 264
        veil = self._pygame.Surface(self._box(0, 0, width, height)[2:], self._pygame.SRCALPHA, 32)
        veil.fill((8, 10, 20, 232))
        surface.blit(veil, self._box(left, top, width, height)[:2])
        self._pygame.draw.rect(surface, PANEL_EDGE, self._box(left, top, width, height), self.scale)
        best = [players[seat] for seat in order if place[seat] == place[order[0]]]
        title = f"{best[0].name} {'win' if best[0].name == 'you' else 'wins'}" if len(best) == 1 else "nobody is left"
        if len(best) > 1 and state.truncated[i]:
            title = f"time is up: {len(best)} share the best place"
        self._write(surface, title, 24, art.player_colour(best[0].colour) if len(best) == 1 else TEXT, WIDTH / 2, top + 17, 0.5)
        for row, seat in enumerate(order):
            y, colour = top + 42 + _BANNER_ROW * row, art.player_colour(players[seat].colour)
            self._write(surface, words[seat], 16, TEXT, left + 40, y, 1.0)
            icon = sprites.ship(art.player_look(players[seat].colour), 0, 0, 7.0, self.scale)
            surface.blit(icon, (round((left + 56) * self.scale) - icon.get_width() // 2, round(y * self.scale) - icon.get_height() // 2))
            self._write(surface, self._fitted(players[seat].name, 16, 96), 16, colour, left + 70, y)
            dealt = float(state.damage_dealt[i, seat]) * rules.HP
            self._write(surface, f"{int(state.kills[i, seat])} shot down, {dealt:.0f} damage", 13, DIM, left + width - 12, y, 1.0)
