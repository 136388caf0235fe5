"""Whole episodes in lockstep: an observer and an actor in an arena world, tick by tick, as fast as they can.

The same loop serves the benchmarks, evaluation by state, with emulated perception or from pixels, and recordings made
in memory. The actor is a scripted pilot or a policy; the observer is exact, emulated or renders and perceives.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from data.profile import ARENA_PROFILE, GameProfile
from data.schema import Action, Observation, Step
from data.steps import Steps, StepsBuilder
from data.vocabulary import MODES, Mode
from league.arena.episode import TICK_NS, Observer, apply_action
from league.arena.score import counters as counters_of
from league.arena.score import score
from league.arena.skirmish import EPISODE_TICKS, new_worlds


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
) -> EpisodeResult:
    """Fly one episode from a fresh world. ``disturb(tick, cursor)`` may put the cursor elsewhere before a tick is seen."""
    state = new_worlds(1, [seed])
    cursor = (0.5, 0.5)
    for tick in range(ticks):
        if disturb is not None:
            cursor = disturb(tick, cursor)
        seen = observer.observe(state, 0, (tick + 1) * TICK_NS, cursor)
        decision = actor.act(seen)
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
) -> tuple[Steps, EpisodeResult]:
    """Fly one episode and keep its steps in memory, as a demonstrator's."""
    rows = StepsBuilder(profile)

    def keep(seen: Observation, decision: Decision) -> None:
        mode = _known_mode(decision.mode)
        rows.append(Step(seen, decision.action, "demonstrator", actor_name, 0, mode, decision.target_id))

    result = run_episode(observer, actor, seed, ticks, keep, disturb)
    return rows.build(), result


def _known_mode(name: str) -> Mode | Literal[""]:
    for mode in MODES:
        if mode == name:
            return mode
    return ""
