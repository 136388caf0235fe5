"""Matches of last man standing one after another, for somebody to watch or to play in: any players in any seat.

No input or output here: a window or a film asks for steps and draws ``state``. Player k sits in seat k; where a seat begins is
drawn for each world, so that no player has a place of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.codec import HEADS, decode
from league.players import PERSON, Player

MOVES: Final = {"w": (0, -1), "a": (-1, 0), "s": (0, 1), "d": (1, 0), "up": (0, -1), "left": (-1, 0), "down": (0, 1), "right": (1, 0)}
ABILITY_KEYS: Final = {"1": rules.BOOST, "2": rules.BURST, "3": rules.JAM}
FIRE, TAKE = "mouse_left", "e"
KEYS: Final = (*MOVES, *ABILITY_KEYS, FIRE, TAKE)
"""What a person's hand knows."""


@dataclass(slots=True)
class Hand:
    """A person's keys and pointer as the action of a ship. A press counts even when it is over before the ship decides."""

    aim_px: tuple[float, float] = (320.0, 180.0)
    """Where the pointer is, in px of the 640x360 picture."""
    held: set[str] = field(default_factory=set[str])
    pressed: set[str] = field(default_factory=set[str])
    """Since the last action."""

    def press(self, name: str, down: bool) -> None:
        """A key or button of ``KEYS``; others do nothing."""
        if name not in KEYS:
            return
        if down:
            self.held.add(name)
            self.pressed.add(name)
        else:
            self.held.discard(name)

    def let_go(self) -> None:
        """Nothing is held any more: another window has the focus, or a new match begins."""
        self.held.clear()
        self.pressed.clear()

    def action(self, ship_px: Sequence[float]) -> NDArray[np.float32]:
        """float32 [7] in the order of ``codec.HEADS`` for a ship at ``ship_px``; presses are used up."""
        down = self.held | self.pressed
        self.pressed.clear()
        move_x, move_y = (sum(MOVES[name][axis] for name in down & MOVES.keys()) for axis in (0, 1))
        aim_x, aim_y = self.aim_px[0] - ship_px[0], self.aim_px[1] - ship_px[1]
        away = max(math.hypot(aim_x, aim_y), 1e-6)
        ability = next((number for key, number in ABILITY_KEYS.items() if key in down), rules.NO_ABILITY)
        return np.array(
            [min(1, max(-1, move_x)), min(1, max(-1, move_y)), aim_x / away, aim_y / away, FIRE in down, ability, TAKE in down], np.float32
        )


class Result(NamedTuple):
    """Of one match; lists by player."""

    seed: int
    places: list[float]
    shot_down: list[int]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class Matches:
    """One match at a time. ``state`` has one world; ``hand`` moves the seats of a person (all persons share it)."""

    def __init__(self, names: Sequence[str], players: Sequence[Player | None], seed: int = 0) -> None:
        """players: one for each seat, None where a person sits. Raises ValueError unless there are 2 to 8, or for two persons."""
        if sum(player is None for player in players) > 1:
            raise ValueError(f"last man standing: {list(names).count(PERSON)} persons; there is one keyboard, so one can play")
        self.names, self._players, self.seed = tuple(names), tuple(players), seed
        self.hand = Hand()
        self.results: list[Result] = []
        self.state = game.new_worlds(1, [seed], len(players))
        self._actions = np.zeros((1, len(players), len(HEADS)), np.float32)

    @property
    def person(self) -> int:
        """The seat of the person, or -1."""
        return next((seat for seat, player in enumerate(self._players) if player is None), -1)

    @property
    def over(self) -> bool:
        return bool(self.state.over[0])

    @property
    def out(self) -> bool:
        """There is a person, and their ship is lost."""
        return self.person >= 0 and not self.state.ship_alive[0, self.person]

    def advance(self) -> None:
        """One world step of 1/60 s; players decide at every third. The step that ends a match books its result."""
        if self.over:
            return
        if int(self.state.tick[0]) % rules.STEPS_PER_ACTION == 0:
            self._decide()
        game.advance(self.state, self._actions, 1)
        if self.over:
            place, shot_down = game.placements(self.state)[0].tolist(), self.state.kills[0].tolist()
            self.results.append(Result(self.seed, place, shot_down, int(self.state.tick[0]) / 60))

    def _decide(self) -> None:
        seen = game.build_observation(self.state)
        for seat, player in enumerate(self._players):
            if player is None:
                self._actions[0, seat] = self.hand.action(self.state.ship_pos[0, seat].tolist())
            else:
                self._actions[0, seat] = decode(player.act(seen[:, seat : seat + 1]))[0, 0]

    def restart(self, seed: int | None = None) -> None:
        """The next match: another world, the same players."""
        self.seed = self.seed + 1 if seed is None else seed
        self.state = game.new_worlds(1, [self.seed], len(self._players))
        self.hand.let_go()
        for seat, player in enumerate(self._players):
            if player is not None:
                player.reset(np.ones(1, np.bool_), np.array([self.seed + seat], np.int64))


def tally(names: Sequence[str], results: Sequence[Result]) -> list[dict[str, Any]]:
    """By player: matches, share of first places, mean place, ships shot down."""
    rows: list[dict[str, Any]] = []
    for seat, name in enumerate(names):
        places = [result.places[seat] for result in results]
        first = sum(place < 2 for place in places)
        shot_down = sum(result.shot_down[seat] for result in results)
        mean = sum(places) / len(places) if places else None
        rows.append({"player": name, "matches": len(places), "first": first, "mean_place": mean, "shot_down": shot_down})
    return rows
