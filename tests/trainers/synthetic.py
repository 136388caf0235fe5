"""Small made-up sessions for trainers' tests: one ship, some enemies, and a player whose clicks follow a simple rule."""

from __future__ import annotations

import numpy as np

from data.profile import ARENA_PROFILE
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder

TICK_NS = 50_000_000


def session(seconds: float = 12.0, seed: int = 0, tracks: bool = True, lag: int = 0) -> Steps:
    """The player clicks the one enemy there is every second, ``lag`` ticks after a new one has appeared."""
    rng = np.random.default_rng(seed)
    rows = StepsBuilder(ARENA_PROFILE)
    enemy, enemy_id = np.array([0.7, 0.4]), 10
    for tick in range(round(seconds * 20)):
        if tick % 20 == 0:
            enemy, enemy_id = rng.uniform(0.2, 0.8, 2), enemy_id + 1
        low = tick % 100 >= 80
        boxes = np.array([[0.5, 0.5, 0.03, 0.05], [*enemy, 0.03, 0.05]], np.float32)
        seen = Tracks(
            np.array([1, enemy_id], np.int32),
            np.array([0, 1], np.int32),
            boxes,
            np.ones(2, np.float32),
            np.zeros((2, 2), np.float32),
            np.array([tick / 20, (tick % 20) / 20], np.float32),
            np.zeros(2, np.float32),
        )
        status = Status(
            {"hp": 0.2 if low else 1.0, "shield": 1.0, "heavy_ammo": None},
            {"locked": False, "firing": False},
            {"ammo": 1},
            {"repair": 0.0, "boost": 0.0, "jam": 0.0},
        )
        time_ns = (tick + 1) * TICK_NS
        cursor = (float(enemy[0]), float(enemy[1])) if tick % 20 >= 5 else (0.5, 0.5)
        observation = Observation(time_ns, time_ns, tick, status, seen if tracks else Tracks.empty(), cursor)
        onsets = ("mouse_left",) if tick % 20 == 8 + lag else ()
        rows.append(Step(observation, Action(float(enemy[0]), float(enemy[1]), onsets, frozenset(onsets)), "demonstrator", "rule"))
    return rows.build()
