"""Last man standing in a window: watch any players, or sit in a seat oneself.

A person flies with w a s d (or the arrows), aims with the mouse, fires with the left button, takes items with e and uses
abilities with 1, 2, 3. Space pauses, n begins the next match, f goes faster (never while a person's ship flies), Escape leaves.
60 world steps a second by deadline, as in the arena's own window.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from league.arena.flight import STEP_NS
from league.arena.hud import text
from league.arena.last_standing_board import flyers
from league.arena.last_standing_match import FIRE, Matches
from league.arena.last_standing_view import SIZE, Painter
from league.arena.looks import CLASSIC, Look
from league.arena.sdl import open_window, place_of, wait_until
from league.arena.window import CATCH_UP_STEPS

if TYPE_CHECKING:
    import pygame

TITLE: Final = "Secondseat league: last man standing"
OVER_S: Final = 4.0
"""How long a result is shown before the next match begins."""
SPEEDS: Final = (1, 2, 4)


class LastStandingWindow:
    """The loop: events, world steps, picture, once every 1/60 s. ``closing`` ends it."""

    def __init__(
        self, matches: Matches, count: int = 0, scale: int = 2, look: Look = CLASSIC, line: str = "", driver: str | None = None
    ) -> None:
        """count: close after so many matches, 0: go on. driver: SDL's, e.g. "dummy". Raises DisplayError."""
        import pygame

        self._pygame = pygame
        self.matches, self._count, self._look, self._line = matches, count, look, line
        self.closing = threading.Event()
        open_window((SIZE[0] * scale, SIZE[1] * scale), TITLE, driver)
        self._keys = _key_table()
        self.paused = False
        self.speed = 1
        self._visible = True
        self._cursor = (0.5, 0.5)
        self._over_steps = 0
        self._painter: Painter | None = None
        self._canvas: pygame.Surface | None = None

    def run(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Until it is closed, ``closing`` is set, ``stop`` says so, or the asked matches are over."""
        gc.collect()
        gc.freeze()
        due_ns = time.monotonic_ns()
        while not self.closing.is_set() and not stop():
            wait_until(due_ns, self.closing, self.take_events)
            behind = (time.monotonic_ns() - due_ns) // STEP_NS
            due_ns += (behind + 1) * STEP_NS
            self.take_events(self._pygame.event.get())
            self.advance(min(behind + 1, CATCH_UP_STEPS))
            self.show()

    def close(self) -> None:
        self._pygame.display.quit()

    def take_events(self, events: list[pygame.event.Event]) -> None:
        """Keys, buttons and what becomes of the window."""
        pg, hand = self._pygame, self.matches.hand
        for event in events:
            if event.type == pg.QUIT:
                self.closing.set()
            elif event.type == pg.MOUSEMOTION:
                self._point(event.pos)
            elif event.type in (pg.MOUSEBUTTONDOWN, pg.MOUSEBUTTONUP):
                self._point(event.pos)
                if event.button == 1:
                    hand.press(FIRE, event.type == pg.MOUSEBUTTONDOWN)
            elif event.type in (pg.KEYDOWN, pg.KEYUP):
                self._key(event.key, event.scancode, event.type == pg.KEYDOWN)
            elif event.type == pg.WINDOWFOCUSLOST:
                hand.let_go()
            elif event.type in (pg.WINDOWMINIMIZED, pg.WINDOWHIDDEN):
                self._visible = False
            elif event.type in (pg.WINDOWRESTORED, pg.WINDOWSHOWN, pg.WINDOWEXPOSED):
                self._visible = True

    def _point(self, pos: tuple[int, int]) -> None:
        self._cursor = place_of(pos)
        self.matches.hand.aim_px = (self._cursor[0] * SIZE[0], self._cursor[1] * SIZE[1])

    def _key(self, key: int, scancode: int, down: bool) -> None:
        pg = self._pygame
        name = self._keys.get(-scancode) or self._keys.get(key)
        if name is not None:
            self.matches.hand.press(name, down)
        elif not down:
            return
        elif key == pg.K_ESCAPE:
            self.closing.set()
        elif key == pg.K_SPACE:
            self.paused = not self.paused
        elif key == pg.K_n:
            self._next()
        elif key == pg.K_f and not self._playing:
            self.speed = SPEEDS[(SPEEDS.index(self.speed) + 1) % len(SPEEDS)]

    @property
    def _playing(self) -> bool:
        return self.matches.person >= 0 and not self.matches.out

    def advance(self, steps: int) -> None:
        """So many world steps at the present speed; results stand for ``OVER_S``, then the next match begins."""
        if self.paused:
            return
        for _ in range(steps * (1 if self._playing else self.speed)):
            self.matches.advance()
            if self._painter is not None:
                self._painter.notice(self.matches.state)
        if not self.matches.over:
            return
        self._over_steps += steps
        if self._count and len(self.matches.results) >= self._count and self._over_steps >= OVER_S * 60:
            self.closing.set()
        elif self._over_steps >= OVER_S * 60:
            self._next()

    def _next(self) -> None:
        """A match that is broken off counts for nobody."""
        if self._count and len(self.matches.results) >= self._count:
            self.closing.set()
            return
        self._over_steps = 0
        self.matches.restart()
        if self._painter is not None:
            self._painter.moments.clear()

    def show(self) -> None:
        """Draw the world at the next whole scale and fit it into the window, whatever its size."""
        if not self._visible:
            return
        surface = self._pygame.display.get_surface()
        size = surface.get_size()
        scale = min(4, max(1, -(-size[0] // SIZE[0]), -(-size[1] // SIZE[1])))
        if self._painter is None or self._painter.scale != scale or self._canvas is None:
            self._painter = Painter(flyers(self.matches.names), scale, self._look, self._line)
            self._canvas = self._pygame.Surface((SIZE[0] * scale, SIZE[1] * scale), 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))
        self._painter.line = self._told()
        self._painter.draw(self._canvas, self.matches.state, 0, self._cursor if self._playing else None)
        if self.paused:
            words = text("paused - Space goes on", 24 * scale, (244, 248, 255))
            self._canvas.blit(words, ((self._canvas.get_width() - words.get_width()) // 2, 60 * scale))
        if self._canvas.get_size() == size:
            surface.blit(self._canvas, (0, 0))
        else:
            surface.blit(self._pygame.transform.smoothscale(self._canvas, size), (0, 0))
        self._pygame.display.flip()

    def _told(self) -> str:
        speed = f"{self.speed}x  " if self.speed > 1 and not self._playing else ""
        return f"{speed}Space pause  n next  f faster" if not self._line else f"{speed}{self._line}"


def _key_table() -> dict[int, str]:
    """Minus scan codes (places on the keyboard: w a s d and digits lie alike on every layout), and codes of other keys."""
    import pygame

    table = {-getattr(pygame, f"KSCAN_{name.upper()}"): name for name in ("w", "a", "s", "d", "e", "1", "2", "3")}
    table |= {getattr(pygame, f"K_{name.upper()}"): name for name in ("up", "down", "left", "right")}
    return table | {getattr(pygame, f"K_KP{digit}"): digit for digit in "123"}
