"""What a league's main agents are worth by now: many matches against every frozen player, in which nobody learns.

The matches of the league itself were played while the main was learning, so that they judge what it was as well. Here its weights
stand still, all opponents are met in the same worlds with the same random streams (paired seeds), far from those of training, and
every pair has as many games as asked for: 400 give Wilson's lower bound of 0.45 at parity.

The best-response check asks the other question: not whether a past player beats the main, but whether one can be made. A fresh
exploiter starts from the supervised policy and learns for a fixed budget against the frozen main alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from data.checkpoint import CheckpointError
from data.files import write_json, write_whole
from data.progress import Progress, Report, ignore, part_of
from league.imitate import load_policy
from league.league_run import LeagueError, LeagueRun, run_of
from league.matchmaking import Matchmaker
from league.payoff import pair_scores
from league.ratings import Interval, wilson
from league.results import read_best_responses
from league.rollout import Match, Played
from league.runners.base import RunnerSettings, weights_of
from league.runners.in_process import InProcessRunner
from league.store import BEST_RESPONSE, EVALUATION, LeagueStore, StoreError
from league.trainee import Trainee, Weights

WORLDS: Final = 256
"""Played at once."""
_HELD_OUT: Final = 7_000_000_000
"""Added to the run's seed: worlds and streams that nothing is learnt in."""
_UNROLL: Final = 64
_EXPLOITER: Final = "best_response-1"


class Frozen(NamedTuple):
    """A league as it was saved, read for judging it."""

    run: LeagueRun
    makers: Matchmaker
    weights: dict[str, Weights]
    """Of all learners, and of all snapshots that are whole."""
    notes: list[str]


def frozen_league(folder: Path) -> Frozen:
    """What the folder holds. Raises StoreError when it holds no good state or its learners cannot be read."""
    store = LeagueStore(folder)
    saved = store.load()
    try:
        run = run_of(saved.state["settings"])
        makers = Matchmaker.from_json(saved.state["matchmaker"], run.league)
        weights: dict[str, Weights] = {name: weights_of(load_policy(path / "learner")[0]) for name, path in saved.parts.items()}
    except (KeyError, TypeError, ValueError, CheckpointError) as error:
        raise StoreError(f"{folder}: its state cannot be judged ({error})") from error
    notes = [*saved.notes, *makers.check_snapshots(store.found_snapshots(makers.snapshots))]
    for snapshot in makers.snapshots.values():
        if not snapshot.benched:
            weights[snapshot.id] = store.read_snapshot(snapshot.id, snapshot.weights_hash)
    return Frozen(run, makers, weights, notes)


def _mains(makers: Matchmaker) -> list[str]:
    return [learner.id for learner in makers.learners.values() if learner.role == "main"]


def evaluate(
    folder: Path,
    matches: int = 400,
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Play ``matches`` matches of every main against every snapshot and write ``evaluation.jsonl``; notes on what was left out.

    A main sits with as many copies of the snapshot as there are other seats. When it is stopped, an older evaluation stays. Raises
    StoreError, LeagueError for fewer than one match, OSError.
    """
    if matches < 1:
        raise LeagueError(f"evaluation: {matches} matches of a pair; use 1 or more")
    league = frozen_league(folder)
    pairs = [(main, past) for main in _mains(league.makers) for past in league.makers.past()]
    rows: list[dict[str, Any]] = []
    for number, (main, past) in enumerate(pairs):
        report(Progress("plays the past", number / len(pairs), message=f"{main} against {past}"))
        played = duels(league.run, main, past, league.weights, matches, stop)
        if played is None:
            return [*league.notes, "the evaluation was stopped and is not kept"]
        frames = league.makers.learner(main).frames
        rows += [_row(one, number * matches + one.match.number, frames) for one in played]
    write_whole(folder / EVALUATION, "".join(json.dumps(row) + "\n" for row in rows).encode())
    report(Progress("done", 1.0))
    return league.notes


def _row(played: Played, number: int, frames: int) -> dict[str, Any]:
    told = {"match": number, "players": list(played.match.players), "placements": [float(p) for p in played.placements]}
    return {**told, "steps": int(played.steps), "truncated": bool(played.truncated), "frames": frames}


def duels(
    run: LeagueRun, a: str, b: str, weights: Mapping[str, Weights], matches: int, stop: Callable[[], bool] = lambda: False
) -> list[Played] | None:
    """``matches`` matches of ``a`` among copies of ``b``, by number; None when stopped. All pairs meet in the same worlds."""
    rollout = replace(run.runner_settings().rollout, worlds=min(WORLDS, matches), seed=_HELD_OUT + run.seed)
    runner = InProcessRunner(RunnerSettings(rollout, unroll=_UNROLL))
    for player in (a, b):
        runner.set_weights(player, weights[player], 0)
    players = (a, *(b,) * (run.ships - 1))
    numbers = iter(range(matches))

    def deal(count: int) -> Sequence[Match]:
        return [Match(number, players, (False,) * run.ships) for number in islice(numbers, count)]

    played: list[Played] = []
    while len(played) < matches:
        if stop():
            return None
        played += [one for chunk in runner.collect(deal, _UNROLL) for one in chunk.played]
    return sorted(played, key=lambda one: one.match.number)


def payoff_of(played: Sequence[Played]) -> Interval:
    """P[the first player ranks above the others], ties one half, with Wilson's interval; each match counts once."""
    scores: list[float] = []
    for one in played:
        (((a, _), score),) = pair_scores(one.match.players, one.placements).items()
        scores.append(score if a == one.match.players[0] else 1 - score)
    return wilson(sum(scores), len(scores))


@dataclass(frozen=True, slots=True)
class BestResponse:
    """How well a fresh exploiter does against a main after its budget."""

    main: str
    main_frames: int
    """What the main had learnt from by then."""
    budget: int
    frames: int
    """Learnt from by the exploiter: the budget, rounded up to a whole rollout."""
    before: Interval
    """Payoff of the supervised policy, from which it starts, against the main."""
    after: Interval
    """Payoff of the exploiter against the main: 0.5 or less means that none was found."""
    matches: int

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = {name: getattr(self, name) for name in ("main", "main_frames", "budget", "frames", "matches")}
        return {**told, "before": self.before._asdict(), "after": self.after._asdict()}


def best_response(
    folder: Path,
    main: str = "main-1",
    budget: int = 1_000_000,
    matches: int = 400,
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
) -> BestResponse | None:
    """Train a fresh exploiter for ``budget`` frames against ``main`` as it is now, judge it, and write it into
    ``best_response.json``, where those of other mains stay.

    None when stopped; nothing is written then. Raises StoreError, LeagueError for an unknown main or a number out of range, OSError.
    """
    league = frozen_league(folder)
    if main not in _mains(league.makers) or budget < 1 or matches < 1:
        raise LeagueError(
            f"best response to {main}: {budget} frames, {matches} matches; use 1 or more, and one of {', '.join(_mains(league.makers))}"
        )
    first = next(s.id for s in league.makers.snapshots.values() if s.number == 0)
    if first not in league.weights:
        raise StoreError(f"{folder}: {first}, the supervised policy, is missing; put its file back")
    me = Trainee(_EXPLOITER, league.weights[first], league.run, lambda run: InProcessRunner(run.runner_settings()))
    frames = _learn_against(me, main, league, budget, part_of(report, 0.0, 0.9, "best response: "), stop)
    if frames is None:
        return None
    weights = {main: league.weights[main], _EXPLOITER: me.weights(), first: league.weights[first]}
    found: list[Interval] = []
    for name in (first, _EXPLOITER):
        played = duels(league.run, name, main, weights, matches, stop)
        if played is None:
            return None
        found.append(payoff_of(played))
    response = BestResponse(main, league.makers.learner(main).frames, budget, frames, *found, matches)
    try:
        others = read_best_responses(folder / BEST_RESPONSE)
    except ValueError:  # not one that can be shown: this one takes its place
        others = {}
    write_json(folder / BEST_RESPONSE, others | {main: response.to_json()})
    report(Progress("done", 1.0))
    return response


def _learn_against(me: Trainee, main: str, league: Frozen, budget: int, report: Report, stop: Callable[[], bool]) -> int | None:
    """Rollouts and updates until ``budget`` frames were seen; how many there were."""
    ships = league.run.ships
    players, learning = (me.name, *(main,) * (ships - 1)), (True, *(False,) * (ships - 1))
    number = frames = 0

    def deal(count: int) -> Sequence[Match]:
        nonlocal number
        number += count
        return [Match(number - count + i, players, learning) for i in range(count)]

    me.show(main, lambda: league.weights[main], 0)
    while frames < budget:
        if stop():
            return None
        me.show(me.name, me.weights, me.version)
        frames += sum(chunk.frames for chunk in me.collect(deal))
        me.learn()
        report(Progress("learns", min(1.0, frames / budget), message=f"KL {me.losses.get('kl', 0.0):.3f}"))
    return frames
