"""Whole episodes in lockstep: an observer and an actor in an arena world, tick by tick, as fast as they can.

The same loop serves the benchmarks, evaluation by state, with emulated perception or from pixels, and recordings made
in memory. The actor is a scripted pilot or a policy; the observer is exact, emulated or renders and perceives.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import numpy as np

from data.profile import ARENA_PROFILE, GameProfile
from data.schema import NO_TARGET, Action, Observation, Step, Tracks
from data.steps import Steps, StepsBuilder
from data.vocabulary import MODES, Mode
from league.arena.emulated import TruthObserver
from league.arena.episode import TICK_NS, Observer, apply_action
from league.arena.score import counters as counters_of
from league.arena.score import score
from league.arena.skirmish import EPISODE_TICKS, new_worlds
from league.arena.world import WorldState


class Decision(Protocol):
    @property
    def action(self) -> Action: ...
    @property
    def mode(self) -> str: ...
    @property
    def target_id(self) -> int: ...


class Actor(Protocol):
    """Whoever flies: a pilot or a policy, already reset for the episode."""

    def act(self, observation: Observation) -> Decision: ...


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """Score of one episode, and the world's counters of the player."""

    seed: int
    ticks: int
    score: float
    counters: dict[str, float] = field(default_factory=dict[str, float])


OnStep = Callable[[Observation, Decision], None]
Disturb = Callable[[int, tuple[float, float]], tuple[float, float]]
"""``disturb(tick, cursor)``: where the cursor is before that tick is seen, in 0..1 of the picture."""
_DISPLACEMENT_TICKS = 40
SAME_OBJECT: Final = 0.03
"""How far (picture widths) a thing and a perceived track may lie apart and still be the same."""


def displaced_cursor(seed: int, share: float) -> Disturb:
    """Puts the cursor somewhere else now and then, so that the way back is seen and learnt: noise injection after Laskey et al.
    (DART, 2017). ``share`` 0..1 of the play is disturbed: there, on average once in 2 s. Raises ValueError outside 0..1."""
    if not 0 <= share <= 1:
        raise ValueError(f"displaced cursors: a share of {share}; use 0 (never) to 1")
    dice = random.Random(seed)

    def disturb(tick: int, cursor: tuple[float, float]) -> tuple[float, float]:
        del tick
        if dice.random() < share / _DISPLACEMENT_TICKS:
            return dice.uniform(0.05, 0.95), dice.uniform(0.05, 0.95)
        return cursor

    return disturb


def run_episode(
    observer: Observer,
    actor: Actor,
    seed: int,
    ticks: int = EPISODE_TICKS,
    on_step: OnStep | None = None,
    disturb: Disturb | None = None,
    own_eyes: Observer | None = None,
) -> EpisodeResult:
    """Fly one episode from a fresh world. ``disturb(tick, cursor)`` may put the cursor elsewhere before a tick is seen.

    ``own_eyes``: by these the actor flies; what ``observer`` saw goes to ``on_step`` alone.
    """
    state = new_worlds(1, [seed])
    cursor = (0.5, 0.5)
    for tick in range(ticks):
        if disturb is not None:
            cursor = disturb(tick, cursor)
        time_ns = (tick + 1) * TICK_NS
        seen = observer.observe(state, 0, time_ns, cursor)
        decision = actor.act(seen if own_eyes is None else own_eyes.observe(state, 0, time_ns, cursor))
        if on_step is not None:
            on_step(seen, decision)
        cursor = (decision.action.x, decision.action.y)
        apply_action(state, decision.action)
    counters = counters_of(state, 0)
    return EpisodeResult(seed, ticks, float(score(state)[0]), counters)


def record_episode(
    observer: Observer,
    actor: Actor,
    actor_name: str,
    seed: int,
    ticks: int = EPISODE_TICKS,
    disturb: Disturb | None = None,
    profile: GameProfile = ARENA_PROFILE,
    witness: Callable[[Observation], None] | None = None,
) -> tuple[Steps, EpisodeResult]:
    """Fly one episode and keep its steps in memory, as a demonstrator's.

    What ``observer`` perceives is kept. The demonstrator is a person: it looks at the picture itself, whatever a detector makes of that,
    so it flies by exact observations, which ``witness`` is told as well.
    """
    rows, eyes = StepsBuilder(profile), _Eyes(witness)

    def keep(seen: Observation, decision: Decision) -> None:
        target = same_track(eyes.seen, decision.target_id, seen.tracks)
        rows.append(Step(seen, decision.action, "demonstrator", actor_name, 0, known_mode(decision.mode), target))

    result = run_episode(observer, actor, seed, ticks, keep, disturb, eyes)
    return rows.build(), result


class _Eyes:
    """Exact ones that remember the last thing they saw."""

    def __init__(self, witness: Callable[[Observation], None] | None) -> None:
        self._truth, self._witness = TruthObserver(), witness
        self.seen = Tracks.empty()

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: tuple[float, float] | None) -> Observation:
        found = self._truth.observe(state, i, time_ns, cursor)
        self.seen = found.tracks
        if self._witness is not None:
            self._witness(found)
        return found


def same_track(exact: Tracks, target_id: int, tracks: Tracks) -> int:
    """The perceived track that is the thing ``target_id`` of the truth, or NO_TARGET when there is none of its class near."""
    rows = np.flatnonzero(exact.ids == target_id)
    if target_id == NO_TARGET or not len(rows) or not len(tracks):
        return NO_TARGET
    row = int(rows[0])
    apart = np.abs(tracks.boxes[:, :2] - exact.boxes[row, :2]).max(axis=1)
    apart = np.where(tracks.classes == exact.classes[row], apart, np.inf)
    nearest = int(np.argmin(apart))
    return int(tracks.ids[nearest]) if apart[nearest] <= SAME_OBJECT else NO_TARGET


def known_mode(name: str) -> Mode | Literal[""]:
    """A mode by its name; empty for what is none."""
    for mode in MODES:
        if mode == name:
            return mode
    return ""
