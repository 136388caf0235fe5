"""Ratings of free-for-all matches from their full placements, not from pairs: Plackett-Luce, by openskill where it is installed.

A match of four tells more than six pairs do: who came second is one event, not three. The model is Weng and Lin's Bayesian
approximation for ranked teams of one (JMLR 12, 2011, algorithm 4), match by match in the order of play. ``mu`` is the strength,
25 for a newcomer, ``sigma`` how unsure it is, 8.33 for a newcomer.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from league.ratings import Z95, Interval

PACKAGE: Final = "openskill"
MISSING: Final = "no Plackett-Luce ratings: openskill is not installed (pip install 'secondseat[ratings]')"
MOST_MATCHES: Final = 20_000
"""Of a league's matches only the newest so many are rated: a second of work. Its players change; older matches say little of them."""

Life = tuple[str, int]
"""A player, and how often it had been reset: another life is another player."""


class Ranking(NamedTuple):
    """One match. Every player once, and its place (1 is best, equal places are ties); that of several seats is their mean."""

    players: tuple[Life, ...]
    places: tuple[float, ...]


class Skill(NamedTuple):
    """What is believed of one player's strength."""

    mu: float
    sigma: float
    matches: int

    @property
    def interval(self) -> Interval:
        """``mu`` with 95 % of what is believed."""
        return Interval(self.mu, self.mu - Z95 * self.sigma, self.mu + Z95 * self.sigma)


def ranking_of(players: Sequence[str], lives: Sequence[int], places: Sequence[float]) -> Ranking | None:
    """One match's ranking; None when only one player had all seats."""
    seats: dict[Life, list[float]] = {}
    for player, life, place in zip(players, lives, places, strict=True):
        seats.setdefault((player, life), []).append(float(place))
    if len(seats) < 2:
        return None
    return Ranking(tuple(seats), tuple(sum(mine) / len(mine) for mine in seats.values()))


def skills(rankings: Sequence[Ranking]) -> tuple[dict[str, Skill], str]:
    """Of each player's last life, and what is to be said: that the package is missing, or that old matches were left out."""
    if not rankings:
        return {}, ""
    try:
        models: Any = import_module(f"{PACKAGE}.models")
    except ImportError:
        return {}, MISSING
    model, known, counts = models.PlackettLuce(), dict[Life, Any](), dict[Life, int]()
    for players, places in rankings[-MOST_MATCHES:]:
        teams = [[known.get(player) or model.rating()] for player in players]
        for player, (rating,) in zip(players, model.rate(teams, ranks=list(places)), strict=True):
            known[player] = rating
            counts[player] = counts.get(player, 0) + 1
    newest = dict(sorted(known))
    found = {name: Skill(known[name, life].mu, known[name, life].sigma, counts[name, life]) for name, life in newest.items()}
    left_out = len(rankings) - MOST_MATCHES
    told = f"Plackett-Luce ratings are of the newest {MOST_MATCHES} matches; {left_out} older ones are left out" if left_out > 0 else ""
    return found, told
