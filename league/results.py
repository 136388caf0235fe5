"""What ``matches.jsonl`` tells: every finished match counted again, to the same payoffs and Elo as the league's own.

A line is an object with ``players`` (an id for each seat) and ``placements`` (1 is best, equal places are ties). The league
writes more: ``match`` (its number; a second line of that number is left out), ``lives`` (how often each player had been
reset when the match began), ``counted``, ``learner``, ``branch``, ``asked``, ``round``, ``steps``, ``truncated``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from data.files import from_json
from league.payoff import PayoffSettings, PayoffTable, Ticket, pair_scores
from league.ratings import Counts, Elo, EloSettings, Interval, bradley_terry
from league.skill import Ranking, ranking_of

_SHOWN: Final = 3
_MOST_LIVES: Final = 1_000_000
_LONGEST_NAME: Final = 200


@dataclass(slots=True)
class Results:
    """Matches, counted."""

    table: PayoffTable
    elo: Elo
    matches: int = 0
    """Lines that are a match."""
    counted: int = 0
    self_play: int = 0
    """Matches of one player alone; they count nowhere."""
    dropped: int = 0
    """Finished after one of their players was reset."""
    truncated: int = 0
    rankings: list[Ranking] = field(default_factory=list[Ranking])
    """Of the counted matches, in their order."""
    seen: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """By learner: how often each branch was played."""
    asked: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """By learner: how often each branch was drawn; another was played when it had nobody to offer."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def counts(self) -> dict[tuple[str, str], Counts]:
        """Wins, draws and losses of every pair, from the first in alphabetical order."""
        return counts_of(self.table)

    def against(self, player: str) -> dict[str, Counts]:
        """Results of ``player`` against everyone it met."""
        return against(self.counts, player)


def counts_of(table: PayoffTable) -> dict[tuple[str, str], Counts]:
    """Whole results of every pair, each once."""
    found: dict[tuple[str, str], Counts] = {}
    for pair, record in table.pairs().items():
        plain = Counts(record.wins, record.draws, record.losses)
        found[pair] = plain if plain.score == record.score else plain._replace(points=record.score)
    return found


def against(counts: Mapping[tuple[str, str], Counts], player: str) -> dict[str, Counts]:
    """Results as ``player`` sees them, by opponent."""
    found: dict[str, Counts] = {}
    for (a, b), record in counts.items():
        if a == player:
            found[b] = record
        elif b == player:
            found[a] = record.mirrored
    return found


def rated(
    counts: Mapping[tuple[str, str], Counts], order: Sequence[str], samples: int = 200, seed: int = 0
) -> tuple[str, dict[str, Interval]]:
    """The anchor, whose rating is 0, and all ratings; empty without games. The first of ``order`` that played is the anchor, frozen ones
    before learners."""
    played = {player for pair, record in counts.items() if record.games for player in pair}
    if not played:
        return "", {}
    ranked = sorted(order, key=lambda player: "@" not in player)
    anchor = next((player for player in ranked if player in played), min(played))
    some = {pair: record for pair, record in counts.items() if record.games}
    return anchor, bradley_terry(some, anchor, samples=samples, seed=seed)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()


def match_of(row: Mapping[str, Any]) -> Ticket | None:
    """Who played, when the line tells players, places and lives that make sense."""
    players, places = row.get("players"), row.get("placements")
    if not isinstance(players, list) or not isinstance(places, list) or not all(_is_name(p) for p in players):
        return None
    lives = row.get("lives", [0] * len(players))
    if not isinstance(lives, list) or len(lives) != len(players) or not all(isinstance(n, int) and 0 <= n <= _MOST_LIVES for n in lives):
        return None
    if not all(isinstance(place, int | float) and not isinstance(place, bool) for place in places):
        return None
    ticket = Ticket(tuple(players), tuple(lives))
    try:
        pair_scores(ticket.players, places)
    except ValueError:
        return None
    return ticket


def count_matches(
    rows: Iterable[Mapping[str, Any]],
    payoff: PayoffSettings | None = None,
    elo: EloSettings | None = None,
    lives: Mapping[str, int] | None = None,
) -> Results:
    """Count lines in their order. ``lives``: how often each player has been reset by now, where that is known.

    Lines that make no sense, or repeat a match, are left out and told.
    """
    found = Results(PayoffTable(payoff), Elo(elo))
    known: dict[str, int] = {}
    seen: set[int] = set()
    bad: list[int] = []
    twice: list[int] = []
    for line, row in enumerate(rows, 1):
        ticket, number = match_of(row), row.get("match")
        if ticket is None:
            bad.append(line)
            continue
        if isinstance(number, int):
            if number in seen:
                twice.append(number)
                continue
            seen.add(number)
        _count(found, known, ticket, row)
    for player, life in (lives or {}).items():
        _renew(found.table, known, player, int(life))
    if bad:
        found.notes.append(f"{len(bad)} lines are no match and are left out: {_some(bad)}; a match has players and placements from 1")
    if twice:
        found.notes.append(f"{len(twice)} matches are told twice and counted once: {_some(twice)}")
    return found


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:_SHOWN])) + (" ..." if len(numbers) > _SHOWN else "")


def _renew(table: PayoffTable, known: dict[str, int], player: str, life: int) -> None:
    """Bring a player to its ``life``: what it did in earlier ones is forgotten."""
    if player not in known:
        table.add(player)
        known[player] = 0
    for _ in range(life - known[player]):
        table.reset(player)
    known[player] = max(known[player], life)


def _count(found: Results, known: dict[str, int], ticket: Ticket, row: Mapping[str, Any]) -> None:
    found.matches += 1
    found.truncated += row.get("truncated") is True
    learner, branch = row.get("learner"), row.get("branch")
    if isinstance(learner, str) and isinstance(branch, str):
        found.seen.setdefault(learner, Counter())[branch] += 1
        found.asked.setdefault(learner, Counter())[str(row.get("asked", branch))] += 1
    stale = row.get("counted") is False
    for player, life in zip(ticket.players, ticket.lives, strict=True):
        _renew(found.table, known, player, life)
    if stale or not found.table.record(ticket, row["placements"]):
        found.dropped += 1
        return
    scores = pair_scores(ticket.players, row["placements"])
    if not scores:
        found.self_play += 1
        return
    found.counted += 1
    found.elo.record(scores)
    ranking = ranking_of(ticket.players, ticket.lives, row["placements"])
    if ranking is not None:
        found.rankings.append(ranking)


def read_best_responses(path: Path) -> dict[str, dict[str, Any]]:
    """What ``league.evaluation.best_response`` wrote, by main; empty when there is no file. Raises ValueError when it says
    something else, OSError."""
    if not path.is_file():
        return {}
    told = from_json(path.read_bytes())
    try:
        for main, one in told.items():
            numbers = [*Interval(**one["after"]), *Interval(**one["before"]), one["frames"], one["main_frames"]]
            if one["main"] != main or not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
                raise ValueError(f"{main} is said to be {one['main']}, with {numbers}")
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(repr(error)) from error
    return told
