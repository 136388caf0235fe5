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

from data.schema import Action
from league.arena import last_standing as game
from league.arena import last_standing_rules as rules
from league.arena.sizes import MAP_HEIGHT_PX, MAP_WIDTH_PX
from league.codec import HEADS, decode
from league.play_log import PlayLog
from league.players import PERSON, Player

MOVES: Final = {"w": (0, -1), "a": (-1, 0), "s": (0, 1), "d": (1, 0), "up": (0, -1), "left": (-1, 0), "down": (0, 1), "right": (1, 0)}
ABILITY_KEYS: Final = {"1": rules.BOOST, "2": rules.BURST, "3": rules.JAM}
FIRE, TAKE = "mouse_left", "e"
KEYS: Final = (*MOVES, *ABILITY_KEYS, FIRE, TAKE)
"""What a person's hand knows."""
_AIM_PX: Final = 110.0
"""How far from its ship a policy's pointer aims."""


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


@dataclass(slots=True)
class Fingers:
    """The way back: keys and pointer that make a ``Hand`` do a ship's action, so that a policy can play, and be recorded, as a person.

    Exact but for one thing: a mouse always aims somewhere, so (0, 0), which leaves the gun where it is, leaves the pointer.
    """

    cursor_px: tuple[float, float] = (320.0, 180.0)
    held: frozenset[str] = frozenset()

    def act(self, action: NDArray[np.float32], ship_px: Sequence[float]) -> Action:
        """What is held and newly pressed, and where the pointer is, for an action float [7] of a ship at ``ship_px``."""
        move_x, move_y, aim_x, aim_y, fire, ability, take = (float(part) for part in action)
        wished = (round(move_x), round(move_y))
        held = {name for name in ("w", "a", "s", "d") if any(part and part == wished[axis] for axis, part in enumerate(MOVES[name]))}
        held |= {FIRE} if fire > 0.5 else set()
        held |= {TAKE} if take > 0.5 else set()
        held |= {key for key, number in ABILITY_KEYS.items() if number == round(ability)}
        length = math.hypot(aim_x, aim_y)
        if length > 0:
            reach = _within(ship_px, (aim_x / length, aim_y / length))
            self.cursor_px = ship_px[0] + reach * aim_x / length, ship_px[1] + reach * aim_y / length
        onsets = tuple(sorted(held - self.held))
        self.held = frozenset(held)
        return Action(self.cursor_px[0] / MAP_WIDTH_PX, self.cursor_px[1] / MAP_HEIGHT_PX, onsets, self.held)


def _within(ship_px: Sequence[float], direction: tuple[float, float]) -> float:
    """How far from the ship the pointer is put: ``_AIM_PX``, or nearer where the picture ends."""
    reach = _AIM_PX
    for place, part, size in zip(ship_px, direction, (MAP_WIDTH_PX, MAP_HEIGHT_PX), strict=True):
        if part:
            reach = min(reach, ((size - 1.0 if part > 0 else 1.0) - place) / part)
    return max(reach, 1.0)


@dataclass(slots=True)
class Track:
    """A player that does what was done before, whatever it sees."""

    moves: NDArray[np.int8]
    """[T, 7] bin indices."""
    step: int = 0

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.int8]:
        """The next action, int8 [1, 1, 7]; the first bins once they are over."""
        del observation
        self.step += 1
        row = self.moves[self.step - 1] if self.step <= len(self.moves) else np.zeros(len(HEADS), np.int8)
        return row[None, None]

    def reset(self, which: NDArray[np.bool_], seeds: NDArray[Any] | None = None) -> None:
        """From the beginning."""
        del which, seeds
        self.step = 0


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

    def __init__(
        self,
        names: Sequence[str],
        players: Sequence[Player | None],
        seed: int = 0,
        episode_steps: int = rules.EPISODE_STEPS,
        again: bool = False,
    ) -> None:
        """players: one for each seat, None where a person sits. again: the next match is the same one once more, instead of one in
        the next seed's world. Raises ValueError unless there are 2 to 8, or for two persons."""
        if sum(player is None for player in players) > 1:
            raise ValueError(f"last man standing: {list(names).count(PERSON)} persons; there is one keyboard, so one can play")
        self.names, self._players, self.seed = tuple(names), tuple(players), seed
        self._episode_steps, self._again = episode_steps, again
        self.hand = Hand()
        self.log: PlayLog | None = None
        """What a person does is told to it."""
        self.results: list[Result] = []
        self.state = game.new_worlds(1, [seed], len(players), episode_steps)
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
            self._keep()

    def _keep(self) -> None:
        """What a person did, once their place is settled: a lost ship's never changes again."""
        if self.log is not None and self.person >= 0 and game.decided(self.state)[0, self.person]:
            self.log.end(self.seed, float(game.outcomes(self.state)[0, self.person]))

    def _decide(self) -> None:
        self._keep()
        seen = game.build_observation(self.state)
        for seat, player in enumerate(self._players):
            if player is None:
                self._actions[0, seat] = self.hand.action(self.state.ship_pos[0, seat].tolist())
                if self.log is not None and self.state.ship_alive[0, seat]:
                    self.log.note(seen[0, seat], self._actions[0, seat])
            else:
                self._actions[0, seat] = decode(player.act(seen[:, seat : seat + 1]))[0, 0]

    def restart(self, seed: int | None = None) -> None:
        """The next match: another world, the same players."""
        self._keep()
        if self.log is not None:
            self.log.forget()
        self.seed = seed if seed is not None else self.seed + (not self._again)
        self.state = game.new_worlds(1, [self.seed], len(self._players), self._episode_steps)
        self.hand.let_go()
        for seat, player in enumerate(self._players):
            if player is not None:
                player.reset(np.ones(1, np.bool_), np.array([(self.seed + seat) % 2**63], np.int64))


def tally(names: Sequence[str], results: Sequence[Result]) -> list[dict[str, Any]]:
    """By player: matches, first places, mean place, ships shot down."""
    rows: list[dict[str, Any]] = []
    for seat, name in enumerate(names):
        places = [result.places[seat] for result in results]
        first = sum(place < 2 for place in places)
        shot_down = sum(result.shot_down[seat] for result in results)
        mean = sum(places) / len(places) if places else None
        rows.append({"player": name, "matches": len(places), "first": first, "mean_place": mean, "shot_down": shot_down})
    return rows
