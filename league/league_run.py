"""What a run of the league is told, and what it tells: settings, figures for its live picture (``league.live``), and the result."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.arena.last_standing_rules import EPISODE_STEPS, FEWEST_SHIPS, MOST_SHIPS
from league.live import LeagueProgress as LeagueProgress
from league.live import PlayerView
from league.losses import LossSettings, UpdateSettings
from league.matchmaking import LeagueSettings, Matchmaker
from league.payoff import PayoffSettings
from league.ratings import EloSettings, Interval
from league.replay import ReplaySettings
from league.results import counts_of, rated
from league.rollout import RolloutSettings
from league.runners.base import RunnerSettings
from league.runners.choose import RunnerName, check_runner

COURSE: Final = ("rounds", "save_every_s", "runner", "address")
"""Settings that may be others when a league goes on; without being asked they are as before."""
_RATED_EVERY_S: Final = 5.0
_RATE_OVER_S: Final = 10.0


class LeagueError(ValueError):
    """A league cannot be run as asked; the text says what, where and what to do."""


@dataclass(frozen=True, slots=True)
class LeagueRun:
    """Raises LeagueError naming the field that is out of range."""

    supervised: Path | None = None
    """Checkpoint of ``pi_sup``, without suffix. Going on, the league's own copy is used."""
    rounds: int = 2
    """In all: going on with more plays the rest."""
    rl_iterations_per_round: int = 3
    """Iterations of each learner in a round, one learner after the other."""
    actor_rollouts: int = 2
    """Rollouts of all its worlds in one iteration; after each the learner learns."""
    learner_updates: int = 1
    """Times that the learner goes through what it was brought, each with ``updates.replay_reuse``."""
    ships: int = 4
    """Seats of a match, 2 to 8."""
    runner: RunnerName = "processes"
    address: str = ""
    """Of a Ray cluster, for runner ray; without: one of this machine alone."""
    actors: int = 1
    """Of each learner."""
    worlds: int = 256
    """Of each actor."""
    stagger: int = 8
    """A rollout begins matches in at most one of so many worlds, so that they do not all end together."""
    seed: int = 0
    episode_steps: int = EPISODE_STEPS
    """After which a match is cut."""
    pseudo_reward_scale: float = 0.0
    """Paid in each step for 100 hit points of damage; 0: the outcome alone counts."""
    draw_reward: float = 0.0
    """Paid to all when all are lost within the same action, -1..1."""
    save_every_s: float = 30.0
    """The state is saved after the first iteration that ends later than this; 0: after each."""
    ahead: bool = True
    """Not in one process: actors play on while the learner learns, with weights that are one rollout older."""
    league: LeagueSettings = field(default_factory=LeagueSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    updates: UpdateSettings = field(default_factory=lambda: UpdateSettings(learning_rate_end=1e-5, decay_frames=120_000_000))
    """A learner's rate falls over as many frames of its life as a main gets in an hour on two cores; exploiters, who begin anew, keep a
    fast one. (Where it stood at 1e-4 from 40 M frames on, a main was at its best after 60 M and wandered off: ``docs/log.md``.)"""
    elo: EloSettings = field(default_factory=EloSettings)

    def __post_init__(self) -> None:
        ranges = {
            "rounds": (1, 10**9), "rl_iterations_per_round": (1, 10**6), "actor_rollouts": (1, 10**4), "learner_updates": (1, 1000),
            "ships": (FEWEST_SHIPS, MOST_SHIPS), "actors": (1, 1024), "worlds": (1, 10**5), "stagger": (1, 65_536), "seed": (0, 2**31 - 1),
            "episode_steps": (1, 10**6), "draw_reward": (-1, 1),
        }  # fmt: skip
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise LeagueError(f"league run: {name} {getattr(self, name)}; use {low} to {high}")
        for name in ("pseudo_reward_scale", "save_every_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise LeagueError(f"league run: {name} {getattr(self, name)}; use a number that is not negative")
        try:
            check_runner(self.runner, self.address)
        except ValueError as error:
            raise LeagueError(f"league run: {error}") from error

    def runner_settings(self) -> RunnerSettings:
        """Of each learner's runner."""
        rollout = RolloutSettings(self.worlds, self.ships, self.episode_steps, self.seed, self.pseudo_reward_scale, self.draw_reward)
        ahead = self.ahead and self.runner != "in-process"
        learners = self.league.mains + self.league.main_exploiters + self.league.league_exploiters
        return RunnerSettings(rollout, self.actors, self.updates.unroll_steps, self.stagger, ahead=ahead, cores=1 / learners)

    def replay_settings(self, seed: int) -> ReplaySettings:
        """Of each learner's replay: room for all that one rollout brings, and for what is left of the one before."""
        columns = self.actors * self.worlds * self.ships + 2 * self.updates.sequences
        return ReplaySettings(columns, self.updates.sequences, self.updates.replay_reuse * self.learner_updates, seed)

    def recipe(self) -> dict[str, Any]:
        """Everything that must be the same to go on, as plain values."""
        return {name: value for name, value in asdict(self).items() if name not in ("supervised", *COURSE)}

    def course(self) -> dict[str, Any]:
        """What may be others when it goes on, as plain values."""
        return {name: getattr(self, name) for name in COURSE}

    def refuse_other(self, theirs: Mapping[str, Any]) -> None:
        """Raises LeagueError naming every setting that is another than the saved league's."""
        mine, theirs = self.recipe(), {**theirs, "league": _whole(theirs.get("league", {}))}
        changed = [f"{name}: was {theirs.get(name)}, here {mine[name]}" for name in mine if theirs.get(name) != mine[name]]
        if changed:
            raise LeagueError(f"this league was begun with other settings. {'; '.join(changed)}. Go on with the same, or start a new one")


def run_of(recipe: Mapping[str, Any]) -> LeagueRun:
    """The run whose ``recipe`` was saved. Raises TypeError or ValueError when it is none."""
    values = dict(recipe)
    league = _whole(values.pop("league"))
    return LeagueRun(
        **{name: value for name, value in values.items() if name not in ("losses", "updates", "elo")},
        league=LeagueSettings(**{**league, "payoff": PayoffSettings(**league["payoff"])}),
        losses=LossSettings(**values["losses"]),
        updates=UpdateSettings(**values["updates"]),
        elo=EloSettings(**values["elo"]),
    )


def _whole(league: Mapping[str, Any]) -> dict[str, Any]:
    """The league's settings as plain values, with what leagues of before were played by in those that their state does not name."""
    return {"one_opponent_share": 0.0, **league}


def saved_run(folder: Path) -> LeagueRun:
    """The run of the league in ``folder`` as it was begun, for as long and by the runner that was last asked for; states of before that was
    kept have the defaults. Raises StoreError."""
    from league.store import LeagueStore, StoreError

    state = LeagueStore(folder).load().state
    try:
        return run_of({**state["settings"], **{name: value for name, value in state.get("course", {}).items() if name in COURSE}})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{folder}: its settings cannot be read ({error}); begin a new league") from error


def going_on(begun: LeagueRun, changed: Mapping[str, Any]) -> LeagueRun:
    """``begun`` with the fields that are ``changed``; where another runner takes over from ray, the cluster's address is left behind.

    Raises LeagueError.
    """
    without = {"address": ""} if changed.get("runner", "ray") != "ray" else {}
    return replace(begun, **{**without, **changed})


@dataclass(frozen=True, slots=True)
class LeagueResult:
    """``interrupted``: stopped before the last round was over; what was saved goes on with ``resume``."""

    folder: Path
    rounds: int
    """That are over."""
    frames: int
    matches: int
    snapshots: int
    """Frozen players, the supervised policy's included."""
    interrupted: bool
    notes: tuple[str, ...]
    summary: dict[str, Any] = field(default_factory=dict[str, Any])
    """As in ``summary.json``."""
    idle: bool = False
    """Nothing was left to play: as many rounds as asked for, or more, were over."""


class Meter:
    """How fast frames come in, over the last seconds; and live ratings, not counted more often than they are needed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = clock()
        self._frames: deque[tuple[float, int]] = deque([(self._began_s, 0)])
        self._rated_s = -math.inf
        self._ratings: dict[str, Interval] = {}

    def add(self, frames: int) -> None:
        now_s = self._clock()
        self._frames.append((now_s, frames))
        while len(self._frames) > 2 and self._frames[1][0] < now_s - _RATE_OVER_S:
            self._frames.popleft()

    @property
    def frames_per_s(self) -> float:
        """0 before the first were counted."""
        spent_s = self._frames[-1][0] - self._frames[0][0]
        return sum(frames for _, frames in list(self._frames)[1:]) / spent_s if spent_s > 0 else 0.0

    def left_s(self, done: float, first: float) -> float | None:
        """Seconds left when this run came from ``first`` to ``done`` of 1."""
        return (self._clock() - self._began_s) / (done - first) * (1 - done) if done > first else None

    def ratings(self, makers: Matchmaker) -> dict[str, Interval]:
        """Of all that met somebody."""
        if self._clock() - self._rated_s >= _RATED_EVERY_S:
            self._ratings = rated(counts_of(makers.table), list(makers.snapshots), samples=50)[1]
            self._rated_s = self._clock()
        return self._ratings


def views_of(makers: Matchmaker) -> tuple[PlayerView, ...]:
    """All players: learners, then frozen ones, oldest first."""
    learners = [PlayerView(x.id, x.role, False, x.frames, x.snapshots, x.resets, "") for x in makers.learners.values()]
    return (*learners, *(PlayerView(x.id, x.role, True, x.frames, 0, 0, x.benched) for x in makers.snapshots.values()))


def live_table(makers: Matchmaker) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Payoffs and games [n, n] in the order of ``views_of``."""
    names = [*makers.learners, *makers.snapshots]
    index = {name: i for i, name in enumerate(names)}
    payoffs, games = np.full((len(names), len(names)), makers.settings.payoff.prior), np.zeros((len(names), len(names)), np.int64)
    for (a, b), record in makers.table.pairs().items():
        i, j = index[a], index[b]
        games[i, j] = games[j, i] = record.games
        payoffs[i, j], payoffs[j, i] = makers.table.payoff(a, b), makers.table.payoff(b, a)
    np.fill_diagonal(payoffs, 0.5)
    return payoffs, games
