"""Flying whole episodes: a pilot in a world, tick by tick, from observation to score.

The same loop serves benchmarks, evaluation by state and the recording of demonstrations: ``on_tick`` sees each
observation with the decision it led to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from data.schema import Action, Observation
from league.arena.emulated import TruthObserver
from league.arena.pilots import Pilot, PilotDecision
from league.arena.score import score
from league.arena.skirmish import EPISODE_TICKS, KEYS, new_worlds, step
from league.arena.world import TICK_HZ, WorldState

CLICK_CODES = {"none": 0, "left": 1, "right": 2}
TICK_NS = 1_000_000_000 // TICK_HZ


class Observer(Protocol):
    """What makes observations of one world: exact, emulated, or by way of pixels."""

    def observe(self, state: WorldState, i: int, time_ns: int, cursor: tuple[float, float] | None) -> Observation: ...


def apply_action(state: WorldState, action: Action, ticks: int = 1) -> None:
    """Do ``action`` in a batch of one world and move on by ``ticks`` (20 Hz)."""
    key = KEYS.index(action.hotkey) if action.hotkey in KEYS else -1
    step(
        state,
        np.array([CLICK_CODES[action.click]], np.int8),
        np.array([[action.x, action.y]], np.float32),
        np.array([key], np.int8),
        ticks,
    )


def fly(
    pilot: Pilot,
    seed: int,
    ticks: int = EPISODE_TICKS,
    observer: Observer | None = None,
    on_tick: Callable[[Observation, PilotDecision], None] | None = None,
) -> tuple[float, WorldState]:
    """One episode from a fresh world. Returns its score and the world at the end."""
    state = new_worlds(1, [seed])
    eyes = TruthObserver() if observer is None else observer
    cursor = (0.5, 0.5)
    for tick in range(ticks):
        observation = eyes.observe(state, 0, (tick + 1) * TICK_NS, cursor)
        decision = pilot.act(observation)
        if on_tick is not None:
            on_tick(observation, decision)
        cursor = (decision.action.x, decision.action.y)
        apply_action(state, decision.action)
    return float(score(state)[0]), state
