"""A league's matches, to be looked at again: chosen ones, or any by its number.

A match whose moves were kept (``league.moves``) is shown exactly as it was, and checked: its world must end as ``matches.jsonl``
tells. Of any other match the world, the seats and the random streams are the same, but its learners' weights have changed since,
so it is another match: flown by its snapshots, and by its learners as they are by now. ``Replay.told`` says which of the two it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.checkpoint import CheckpointError
from league.arena import last_standing as game
from league.arena.last_standing_match import Matches, Track
from league.arena.last_standing_pilots import PILOTS
from league.arena.last_standing_rules import HP, SHIELD, STEPS_PER_ACTION
from league.imitate import load_policy
from league.league_run import run_of
from league.matchmaking import Matchmaker
from league.moves import KEPT_EVERY, KeptMatch, MovesError, seated, unpack_moves
from league.payoff import check_placements
from league.rollout import Actor, Match, Policy, RolloutSettings, world_seed
from league.runners.base import weights_of
from league.store import MATCHES, REPLAYS, LeagueStore, StoreError, read_journal, weights_hash

PICKS: Final = ("closest", "upset", "latest")
"""Words for chosen matches."""
_UNROLL: Final = 64
_MOST_COMPARED: Final = 2000
"""Newest kept matches among which the closest is looked for."""
_MOST_STEPS: Final = 10**9


class RewatchError(ValueError):
    """A match cannot be shown; the text says which, why and what to do."""


class Chosen(NamedTuple):
    """A match, and what is to be said of it."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Replay:
    """One match, ready to be looked at."""

    number: int
    names: tuple[str, ...]
    """By seat."""
    world: int
    moves: NDArray[np.int8]
    """[T, S, 7]"""
    episode_steps: int
    exact: bool
    """Every move is the one that was made."""
    told: str
    """What it is, in a sentence."""

    def matches(self) -> Matches:
        """To be shown by a window or a film; the next match is this one again."""
        tracks = [Track(self.moves[:, seat]) for seat in range(len(self.names))]
        return Matches(self.names, tracks, self.world, self.episode_steps, again=True)

    @property
    def line(self) -> str:
        """A few words for the picture."""
        return f"match {self.number}, {'as it was played' if self.exact else 'not as it was: flown anew'}"


@dataclass(slots=True)
class Rewatch:
    """A league's folder, read when it is made. Raises StoreError when it holds no matches."""

    folder: Path
    rows: dict[int, dict[str, Any]] = field(init=False)
    """Lines of ``matches.jsonl`` by number, in their order."""
    kept: dict[int, dict[str, Any]] = field(init=False)
    """Lines of ``replays.jsonl`` by number: of those told twice the last."""
    notes: list[str] = field(init=False)
    """On lines that are left out."""

    def __post_init__(self) -> None:
        self.rows, self.kept, self.notes = {}, {}, []
        bad = 0
        for row in read_journal(self.folder / MATCHES)[0]:
            if _is_match(row):
                self.rows.setdefault(row["match"], row)
            else:
                bad += 1
        if bad:
            self.notes.append(f"{MATCHES}: {bad} lines cannot be shown; a match has a number, players, placements from 1 and steps")
        path = self.folder / REPLAYS
        for told in read_journal(path)[0] if path.is_file() else []:
            if isinstance(told.get("match"), int):
                self.kept[told["match"]] = told

    def is_kept(self, number: int) -> bool:
        """Whether its moves are there. A line of a future that was cut off tells another match of the same number."""
        row, told = self.rows.get(number), self.kept.get(number)
        return row is not None and told is not None and all(told.get(name) == row[name] for name in ("players", "placements"))

    # choosing

    def choose(self, pick: str, ratings: Mapping[str, float]) -> Chosen | None:
        """The match that a word of ``PICKS`` means, among those that were kept if there are any; None when there is none.

        ratings: of all players, in Elo points; for the upset.
        """
        kept = [row for number, row in self.rows.items() if self.is_kept(number)]
        rows = kept or list(self.rows.values())
        if pick == "latest":
            mains = [row for row in rows if str(row.get("learner", "")).startswith("main-")]
            return Chosen(mains[-1]["match"], f"the latest of {mains[-1]['learner']}") if mains else None
        mixed = [row for row in rows if len(set(map(str, row["players"]))) > 1]
        return self._upset(mixed, ratings) if pick == "upset" else self._closest(mixed, bool(kept))

    @staticmethod
    def _upset(rows: Sequence[Mapping[str, Any]], ratings: Mapping[str, float]) -> Chosen | None:
        """Whose only winner was rated lowest beneath the mean of the others."""
        found: tuple[float, int, str] | None = None
        for row in rows:
            players, places = list(map(str, row["players"])), row["placements"]
            best = [p for p, place in zip(players, places, strict=False) if place == min(places)]
            if len(best) != 1 or not ratings.keys() >= set(players):
                continue
            others = [ratings[p] for p in players if p != best[0]]
            gap = sum(others) / len(others) - ratings[best[0]] if others else 0.0
            if gap > 0 and (found is None or gap > found[0]):
                found = gap, int(row["match"]), best[0]
        if found is None:
            return None
        return Chosen(found[1], f"the biggest upset: {found[2]} won, {found[0]:.0f} points beneath the mean of the others")

    def _closest(self, rows: Sequence[Mapping[str, Any]], kept: bool) -> Chosen | None:
        """With moves: whose winner had least left. Without: a draw, else the longest."""
        if not rows:
            return None
        if kept:
            numbers = [int(row["match"]) for row in rows[-_MOST_COMPARED:]]
            left = _left_of_winners([k for number in numbers if (k := self._readable(number)) is not None])
            if not left:
                return None
            number = min(left, key=lambda number: left[number])
            drawn = left[number] < 0
            return Chosen(number, "the closest: a draw" if drawn else f"the closest: the winner had {left[number]:.0f} hit points left")
        longest = max(rows, key=lambda row: (list(row["placements"]).count(min(row["placements"])), row.get("steps", 0)))
        drawn = list(longest["placements"]).count(min(longest["placements"])) > 1
        return Chosen(int(longest["match"]), f"{'a draw' if drawn else 'the longest'}: {longest.get('steps', 0) / 20:.0f} s")

    def _readable(self, number: int) -> KeptMatch | None:
        try:
            kept = _kept_of(self.kept[number])
            unpack_moves(kept.moves, len(kept.players))
        except MovesError:
            return None
        return kept

    # showing

    def replay(self, number: int) -> Replay:
        """Match ``number``. Raises RewatchError when there is none, or what it needs is missing, altered or of other rules."""
        row = self.rows.get(number)
        if row is None:
            there = f"{min(self.rows)} to {max(self.rows)}" if self.rows else "none yet"
            raise RewatchError(f"match {number}: {self.folder / MATCHES} has no such match that is over; there are {there}")
        try:
            return self._exactly(row) if self.is_kept(number) else self._anew(row)
        except (MovesError, StoreError, CheckpointError) as error:
            raise RewatchError(f"match {number} cannot be shown: {error}") from error

    def _exactly(self, row: Mapping[str, Any]) -> Replay:
        kept = _kept_of(self.kept[row["match"]])
        moves = unpack_moves(kept.moves, len(kept.players))
        state = _played([kept], [moves])
        if not state.over[0] or _by_player(state, kept.match) != kept.placements or _steps(state) != row.get("steps"):
            raise MovesError("its kept moves do not lead to the end that its line tells; one of the two was altered")
        told = "the match itself, move by move"
        return Replay(kept.match, kept.names, kept.world, moves, kept.episode_steps, True, told)

    def _anew(self, row: Mapping[str, Any]) -> Replay:
        """Flown by its snapshots, and by its learners as they are by now."""
        number, players = int(row["match"]), tuple(map(str, row["players"]))
        saved = LeagueStore(self.folder).load()
        try:
            run = run_of(saved.state["settings"])
            makers = Matchmaker.from_json(saved.state["matchmaker"], run.league)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"the league's state is of another version ({error!r})") from error
        if len(players) != run.ships:
            raise RewatchError(f"match {number}: {len(players)} players, the league's matches have {run.ships}; its line was altered")
        policies = {name: Policy(_network(name, makers, saved.parts, self.folder), 0) for name in set(players) - PILOTS.keys()}
        actor = Actor(RolloutSettings(1, run.ships, run.episode_steps, run.seed), kept_every=1)
        actor.begin({0: Match(number, players, (False,) * run.ships)})
        played = ()
        while not played:
            played = actor.rollout(policies, _UNROLL).played
        learners = sorted(set(players) & makers.learners.keys())
        as_now = f", {' and '.join(learners)} as {'it is' if len(learners) == 1 else 'they are'} by now" if learners else ""
        ended = "it ended in the same places" if list(played[0].placements) == row["placements"] else "it ended otherwise"
        told = f"not the match itself, whose moves were not kept: played again in its world by the snapshots{as_now}; {ended}"
        moves = unpack_moves(played[0].moves, run.ships)
        return Replay(number, seated(players, number), world_seed(run.seed, number), moves, run.episode_steps, False, told)


def _is_match(row: Mapping[str, Any]) -> bool:
    """Whether a line tells a match that can be shown: its number, players, places that make sense, and how long it was, if at all."""
    number, players, places, steps = row.get("match"), row.get("players"), row.get("placements"), row.get("steps", 0)
    if not _is_number(number, int) or number < 0 or not _is_number(steps, int) or not 0 <= steps <= _MOST_STEPS:
        return False
    if not isinstance(players, list) or not isinstance(places, list):
        return False
    if not all(isinstance(player, str) and player for player in players) or not all(_is_number(place, int | float) for place in places):
        return False
    try:
        check_placements(players, places)
    except ValueError:
        return False
    return True


def _is_number(value: Any, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _kept_of(told: Mapping[str, Any]) -> KeptMatch:
    """Of a line of ``replays.jsonl``. Raises MovesError for one that is none, numbers beyond any match's among them."""
    try:
        kept = KeptMatch.from_json(told)
    except OverflowError as error:
        raise MovesError(f"a line of kept moves is broken ({error})") from error
    if kept.episode_steps > _MOST_STEPS:
        raise MovesError(f"match {kept.match}: its line of kept moves is broken: {kept.episode_steps} steps")
    return kept


def _network(name: str, makers: Matchmaker, parts: Mapping[str, Path], folder: Path) -> Any:
    """A player's network. Raises StoreError or CheckpointError when its file is missing, altered or of other rules."""
    if name in parts:
        return load_policy(parts[name] / "learner")[0]
    snapshot = makers.snapshots.get(name)
    if snapshot is None:
        raise StoreError(f"{name} is neither a learner nor a snapshot of this league")
    network, _ = load_policy(LeagueStore(folder).snapshot_path(name))
    if weights_hash(weights_of(network)) != snapshot.weights_hash:
        raise StoreError(f"snapshot {name} was altered: its weights are not those that were frozen; put its file back")
    return network


def _played(kept: Sequence[KeptMatch], moves: Sequence[NDArray[np.int8]]) -> game.LastStandingState:
    """The ends of matches with as many ships and the same limit."""
    ships, steps = len(kept[0].players), max(map(len, moves))
    state = game.new_worlds(len(kept), np.array([k.world for k in kept], np.uint64), ships, kept[0].episode_steps)
    padded = np.zeros((steps, len(kept), ships, moves[0].shape[-1]), np.int8)
    for i, made in enumerate(moves):
        padded[: len(made), i] = made
    for actions in padded:
        game.step(state, actions)
    return state


def _by_player(state: game.LastStandingState, number: int, i: int = 0) -> tuple[float, ...]:
    places = game.placements(state)[i].tolist()
    return tuple(places[(k + number) % state.ships] for k in range(state.ships))


def _steps(state: game.LastStandingState, i: int = 0) -> int:
    return int(state.tick[i]) // STEPS_PER_ACTION


def _left_of_winners(kept: Sequence[KeptMatch]) -> dict[int, float]:
    """Hull and shield, in hit points, that the winner of each match had left; -1 where the best place is shared."""
    left: dict[int, float] = {}
    for form in {(len(k.players), k.episode_steps) for k in kept}:
        some = [k for k in kept if (len(k.players), k.episode_steps) == form]
        state = _played(some, [unpack_moves(k.moves, form[0]) for k in some])
        health = state.ship_hp * HP + state.ship_shield * SHIELD
        places = game.placements(state)
        for i, match in enumerate(some):
            best = np.flatnonzero(places[i] == places[i].min())
            left[match.match] = float(health[i, best[0]]) if len(best) == 1 else -1.0
    return left


__all__ = ["KEPT_EVERY", "PICKS", "Chosen", "Replay", "Rewatch", "RewatchError"]
