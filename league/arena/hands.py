"""A scripted pilot's hand: it moves the cursor as people do, and clicks only where the cursor has arrived.

A reach follows a minimum-jerk course (Flash and Hogan, 1985) over a number of ticks that grows with the distance,
ends a little beside the wanted point, and is re-aimed while under way when the thing it is meant for moves. The
click comes in the tick after arrival; buttons and keys go down in one tick and up in the next.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from data.schema import Action
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX

MIN_TICKS = 2
MAX_TICKS = 6
_DISPLACED_PX = 12.0


@dataclass(slots=True)
class _Reach:
    button: str
    start: tuple[float, float]
    end: tuple[float, float]
    error: tuple[float, float]
    ticks: int
    done: int = 0


class Hand:
    """One hand on mouse and keys. Places are px at 1x. ``ticks_per_px`` sets its speed."""

    def __init__(self, rng: random.Random, aim_px: float, ticks_per_px: float) -> None:
        self._rng = rng
        self._aim_px = aim_px
        self._ticks_per_px = ticks_per_px
        self.cursor = (MAP_WIDTH_PX / 2, MAP_HEIGHT_PX / 2)
        self._reach: _Reach | None = None
        self._keys: list[str] = []
        self._down: frozenset[str] = frozenset()

    @property
    def busy(self) -> bool:
        """Under way to a click."""
        return self._reach is not None

    def click_at(self, x: float, y: float, button: str = "mouse_left") -> None:
        """Begin a reach that ends in a click; an unfinished one is given up."""
        distance = ((x - self.cursor[0]) ** 2 + (y - self.cursor[1]) ** 2) ** 0.5
        ticks = min(max(round(MIN_TICKS + distance * self._ticks_per_px), MIN_TICKS), MAX_TICKS)
        spread = self._aim_px * (0.7 + distance / 400.0)
        error = (self._rng.gauss(0.0, spread), self._rng.gauss(0.0, spread))
        self._reach = _Reach(button, self.cursor, (x, y), error, ticks)

    def aim_at(self, x: float, y: float) -> None:
        """The thing reached for is now at (x, y)."""
        if self._reach is not None:
            self._reach.end = (x, y)

    def give_up(self) -> None:
        self._reach = None

    def press(self, key: str) -> None:
        """Press a key in the next tick it is up (one key a tick, in order)."""
        self._keys.append(key)

    def tick(self, cursor: tuple[float, float] | None) -> Action:
        """Move by one tick. ``cursor`` is where the cursor really is, in 0..1: a hand feels that without delay."""
        if cursor is not None:
            self._notice(cursor[0] * MAP_WIDTH_PX, cursor[1] * MAP_HEIGHT_PX)
        onsets: list[str] = []
        reach = self._reach
        if reach is not None and reach.done >= reach.ticks:
            onsets.append(reach.button)
            self._reach = None
        elif reach is not None:
            reach.done += 1
            share = reach.done / reach.ticks
            share = share**3 * (10.0 + share * (6.0 * share - 15.0))
            end_x, end_y = reach.end[0] + reach.error[0], reach.end[1] + reach.error[1]
            x = reach.start[0] + (end_x - reach.start[0]) * share
            y = reach.start[1] + (end_y - reach.start[1]) * share
            self.cursor = (min(max(x, 1.0), MAP_WIDTH_PX - 1.0), min(max(y, 1.0), MAP_HEIGHT_PX - 1.0))
        if self._keys and self._keys[0] not in self._down:
            onsets.append(self._keys.pop(0))
        self._down = frozenset(onsets)
        return Action(self.cursor[0] / MAP_WIDTH_PX, self.cursor[1] / MAP_HEIGHT_PX, tuple(onsets), self._down)

    def _notice(self, x: float, y: float) -> None:
        """When something else moved the cursor, go on from where it is."""
        moved = abs(x - self.cursor[0]) + abs(y - self.cursor[1]) > _DISPLACED_PX
        self.cursor = (x, y)
        if moved and self._reach is not None:
            reach = self._reach
            self.click_at(*reach.end, reach.button)
