"""Who beats whom: the league's table of results.

The payoff of A against B is the chance that A ranks above B, a tie counting one half: 0.5 is parity in duels and in a free
for all alike. One match counts once for each pair of its players, however many seats they hold: the score is the mean over
their pairs of seats, a win above 0.5, a draw at 0.5. Wins, draws and losses are kept apart and whole; the payoff itself
forgets (``decay`` for each further game of the pair) and is the prior until a pair has ``prior_games``.

A pair is stored once, so that A's row always mirrors B's. A player does not play against itself: seats of one player are
not compared. Whose match it is gets bound when a world is reset (``bind``); a result whose players changed since, or one of
whose learners was reset meanwhile, is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PayoffSettings:
    """How payoffs forget. Raises ValueError naming the field that is out of range."""

    decay: float = 0.995
    """What older games of a pair weigh at each further one, above 0, up to 1."""
    prior: float = 0.5
    """Payoff of a pair that has played too little, 0..1."""
    prior_games: int = 20
    """Games of a pair from which on its own results are believed."""

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError(f"payoff settings: decay {self.decay}; use a number above 0, up to 1")
        if not 0 <= self.prior <= 1:
            raise ValueError(f"payoff settings: prior {self.prior}; use 0 to 1")
        if self.prior_games < 1:
            raise ValueError(f"payoff settings: prior_games {self.prior_games}; use 1 or more")


class Ticket(NamedTuple):
    """Whose match it is, bound when its world was reset."""

    players: tuple[str, ...]
    """One for each seat."""
    lives: tuple[int, ...]
    """How often each had been reset."""


class PairRecord(NamedTuple):
    """One pair of players, seen from the first of them."""

    wins: int
    draws: int
    losses: int
    decayed_games: float
    decayed_score: float
    score: float
    """Whole: of a match with several seats of one player each comparison counts, so that this is more than wins and half of the draws
    tell."""

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def mirrored(self) -> PairRecord:
        """The same, seen from the other one."""
        decayed = self.decayed_games - self.decayed_score
        return PairRecord(self.losses, self.draws, self.wins, self.decayed_games, decayed, self.games - self.score)


EARLIER_ROW: Final = 7
"""Values of a pair in tables of versions that kept no whole score."""
_NOTHING = PairRecord(0, 0, 0, 0.0, 0.0, 0.0)


def check_placements(players: Sequence[str], placements: Sequence[float]) -> None:
    """Raises ValueError unless there is one place of at least 1 for each of at least two seats."""
    if len(players) < 2 or len(players) != len(placements):
        raise ValueError(
            f"match of {', '.join(players) or 'nobody'}: {len(placements)} places for {len(players)} seats; one for each of 2 or more"
        )
    for player, place in zip(players, placements, strict=True):
        if not 1 <= place <= len(players):
            raise ValueError(f"match of {', '.join(players)}: {player} has place {place}; places go from 1, the best, to {len(players)}")


def pair_scores(players: Sequence[str], placements: Sequence[float]) -> dict[tuple[str, str], float]:
    """Score 0..1 of the first of each pair of different players: the share of their seats' comparisons it won, ties one half.

    Pairs are in alphabetical order. ``placements``: 1 is best, equal places are ties. Raises ValueError as ``check_placements``.
    """
    check_placements(players, placements)
    seats: dict[str, list[float]] = {}
    for player, place in zip(players, placements, strict=True):
        seats.setdefault(player, []).append(place)
    scores: dict[tuple[str, str], float] = {}
    for a, b in combinations(sorted(seats), 2):
        compared = np.subtract.outer(seats[b], seats[a])  # above 0 where a is placed before b
        scores[a, b] = float((np.sign(compared) + 1).mean() / 2)
    return scores


class PayoffTable:
    """Results of all pairs. Not for several threads at once."""

    def __init__(self, settings: PayoffSettings | None = None) -> None:
        self.settings = settings or PayoffSettings()
        self.dropped = 0
        """Results that were not counted since their players had changed."""
        self._lives: dict[str, int] = {}
        self._pairs: dict[tuple[str, str], PairRecord] = {}
        self._placements: dict[str, dict[str, int]] = {}

    @property
    def players(self) -> list[str]:
        return list(self._lives)

    @property
    def lives(self) -> dict[str, int]:
        """How often each player was reset."""
        return dict(self._lives)

    def add(self, player: str) -> None:
        """Enter a player that is not in the table. Raises ValueError when it is, or has no name."""
        if not player or player in self._lives:
            raise ValueError(
                f"payoff table: player {player!r} is there already; ids are given once" if player else "payoff table: a player needs an id"
            )
        self._lives[player] = 0

    def _known(self, players: Iterable[str]) -> None:
        for player in players:
            if player not in self._lives:
                raise KeyError(f"payoff table: no player {player!r}; add it first")

    def bind(self, players: Sequence[str]) -> Ticket:
        """Note who sits where in a world that is being reset. Raises KeyError on a player that is not in the table."""
        self._known(players)
        return Ticket(tuple(players), tuple(self._lives[player] for player in players))

    def record(self, ticket: Ticket, placements: Sequence[float], players: Sequence[str] | None = None) -> bool:
        """Count a finished match; ``players`` are those of its seats at the end, when they may have changed.

        Returns False when it was dropped: the players, or the lives of one of them, are not those bound at the reset.
        Raises ValueError on places that make no sense.
        """
        check_placements(ticket.players, placements)
        same = players is None or tuple(players) == ticket.players
        if not same or any(self._lives.get(player) != life for player, life in zip(ticket.players, ticket.lives, strict=True)):
            self.dropped += 1
            return False
        scores = pair_scores(ticket.players, placements)
        for pair, score in scores.items():
            self._pairs[pair] = self._after(self._pairs.get(pair, _NOTHING), score)
        if scores:  # self-play tells nothing about places either
            for player, place in zip(ticket.players, placements, strict=True):
                counts = self._placements.setdefault(player, {})
                key = f"{place:g}/{len(placements)}"
                counts[key] = counts.get(key, 0) + 1
        return True

    def _after(self, record: PairRecord, score: float) -> PairRecord:
        decay = self.settings.decay
        return PairRecord(
            record.wins + (score > 0.5),
            record.draws + (score == 0.5),
            record.losses + (score < 0.5),
            record.decayed_games * decay + 1.0,
            record.decayed_score * decay + score,
            record.score + score,
        )

    def pair(self, a: str, b: str) -> PairRecord:
        """What is known of a against b. Raises KeyError on players that are not in the table, ValueError on a against itself."""
        self._known((a, b))
        if a == b:
            raise ValueError(f"payoff table: {a} against itself is not counted")
        return self._pairs.get((a, b), _NOTHING) if a < b else self._pairs.get((b, a), _NOTHING).mirrored

    def payoff(self, a: str, b: str) -> float:
        """Chance 0..1 that a ranks above b; the prior while they have played too little, 0.5 against itself."""
        if a == b:
            return 0.5
        record = self.pair(a, b)
        return self.settings.prior if record.games < self.settings.prior_games else record.decayed_score / record.decayed_games

    def payoffs(self, a: str, others: Sequence[str]) -> NDArray[np.float64]:
        """Payoffs [n] of a against each of ``others``."""
        return np.array([self.payoff(a, b) for b in others], np.float64)

    def placements(self, player: str) -> dict[str, int]:
        """How often ``player`` took which place, by ``place/seats``; self-play left out."""
        self._known((player,))
        return dict(self._placements.get(player, {}))

    def pairs(self) -> dict[tuple[str, str], PairRecord]:
        """All pairs that have played, each once, in alphabetical order within the pair."""
        return dict(self._pairs)

    def reset(self, player: str) -> None:
        """Forget the player's results: it has new weights. Matches that are under way with the old ones will be dropped."""
        self._known((player,))
        self._lives[player] += 1
        self._pairs = {pair: record for pair, record in self._pairs.items() if player not in pair}
        self._placements.pop(player, None)

    def to_json(self) -> dict[str, Any]:
        """Everything but the settings, as JSON holds it exactly."""
        return {
            "players": dict(self._lives),
            "pairs": [[*pair, *record] for pair, record in self._pairs.items()],
            "placements": {player: dict(counts) for player, counts in self._placements.items()},
            "dropped": self.dropped,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any], settings: PayoffSettings | None = None) -> PayoffTable:
        """The table that ``to_json`` told. Raises ValueError saying what is wrong and where."""
        table = cls(settings)
        try:
            table._lives = {str(player): int(lives) for player, lives in told["players"].items()}
            table._placements = {str(p): {str(k): int(n) for k, n in counts.items()} for p, counts in told["placements"].items()}
            table.dropped = int(told["dropped"])
            rows = list(told["pairs"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"payoff table: broken ({error!r}); take the previous good state") from error
        for i, row in enumerate(rows):
            try:
                a, b, wins, draws, losses, games, decayed, *whole = row
                (score,) = whole or (int(wins) + 0.5 * int(draws),)  # tables of earlier versions do not tell it
                record = PairRecord(int(wins), int(draws), int(losses), float(games), float(decayed), float(score))
            except (TypeError, ValueError) as error:
                raise ValueError(f"payoff table: pairs[{i}] is {row!r}; two ids and six numbers are needed") from error
            if not (a < b and {a, b} <= table._lives.keys()):
                raise ValueError(
                    f"payoff table: pairs[{i}] names {a!r} and {b!r}; two players of the table in alphabetical order are needed"
                )
            possible = 0 <= record.decayed_score <= record.decayed_games * (1 + 1e-9) and 0 <= record.score <= record.games * (1 + 1e-9)
            if min(record[:3]) < 0 or not possible:
                raise ValueError(f"payoff table: pairs[{i}] of {a} and {b} has counts that cannot be: {row!r}")
            table._pairs[a, b] = record
        return table
