"""What happened just now in one world of last man standing, for whoever draws it: the rules keep no record of a moment.

``Moments.notice`` is called after every world step, or every few; it compares the world with what it saw last. Nothing here
changes a world.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from league.arena import last_standing_rules as rules
from league.arena.last_standing import LastStandingState
from league.arena.world import DT_S

Kind = Literal["hit", "gain", "blast", "burst", "jam"]
LIFE_S: Final[dict[str, float]] = {"hit": 0.7, "gain": 1.1, "blast": 0.7, "burst": 0.45, "jam": 0.6}
GAINS: Final = ("+hull", "+shield", "power")
"""Words for an item, by its kind."""
_SMALLEST_HIT: Final = 2.0
"""Hit points lost at once below which it was the zone, whose burning is seen anyway."""


class Moment(NamedTuple):
    """Something that lasts for ``LIFE_S``, at a place in px."""

    kind: Kind
    x: float
    y: float
    tick: int
    seat: int
    words: str = ""

    def share(self, tick: int) -> float:
        """0..1 of its life at ``tick``."""
        return (tick - self.tick) * DT_S / LIFE_S[self.kind]


class Moments:
    """Of one world, newest last."""

    def __init__(self) -> None:
        self.shown: list[Moment] = []
        self.clock = 0
        """The world's tick; once the world is over and stands still, it goes on with each ``notice``, so that moments pass."""
        self._before: LastStandingState | None = None

    def clear(self) -> None:
        """A new match begins."""
        self.shown.clear()
        self._before = None

    def notice(self, state: LastStandingState, i: int = 0) -> None:
        """Take in how world ``i`` stands now. A world that went back in time is a new one."""
        now, before = state.world(i), self._before
        tick = int(now.tick[0])
        if before is not None and tick < int(before.tick[0]):
            self.clear()
            before = None
        self._before = now
        self.clock = self.clock + 1 if now.over[0] and before is not None and tick == int(before.tick[0]) else tick
        self.shown = [m for m in self.shown if m.share(self.clock) < 1.0]
        if before is not None and tick > int(before.tick[0]):
            for seat in np.flatnonzero(before.ship_alive[0]).tolist():
                self._ship(before, now, seat, tick)

    def _ship(self, before: LastStandingState, now: LastStandingState, seat: int, tick: int) -> None:
        x, y = now.ship_pos[0, seat].tolist()
        if not now.ship_alive[0, seat]:
            self._add("blast", x, y, tick, seat)
            return
        lost = (before.damage_taken[0, seat] - now.damage_taken[0, seat]) * -rules.HP
        if lost >= _SMALLEST_HIT:
            self._add("hit", x, y, tick, seat, f"{lost:.0f}")
        if now.ship_cooldown_end[0, seat] > before.ship_cooldown_end[0, seat] and now.ship_ability[0, seat] in (rules.BURST, rules.JAM):
            self._add("burst" if now.ship_ability[0, seat] == rules.BURST else "jam", x, y, tick, seat)
        if now.items_taken[0, seat] > before.items_taken[0, seat]:
            gone = np.flatnonzero(before.item_alive[0] & ~now.item_alive[0])
            away = np.hypot(*(before.item_pos[0, gone] - now.ship_pos[0, seat]).T)
            if len(gone):
                self._add("gain", x, y, tick, seat, GAINS[int(before.item_kind[0, gone[np.argmin(away)]])])

    def _add(self, kind: Kind, x: float, y: float, tick: int, seat: int, words: str = "") -> None:
        self.shown.append(Moment(kind, x, y, tick, seat, words))
