"""What a policy remembers gives the same steps as putting the observations together anew."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from data.profile import ARENA_PROFILE
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder
from engine.recent import Recent

TICK_NS = 50_000_000


def observation(dice: np.random.Generator, tick: int, count: int) -> Observation:
    tracks = Tracks(
        dice.integers(0, 1000, count).astype(np.int32),
        dice.integers(0, len(ARENA_PROFILE.classes), count).astype(np.int32),
        dice.random((count, 4), np.float32),
        dice.random(count, np.float32),
        dice.random((count, 2), np.float32),
        dice.random(count, np.float32),
        dice.random(count, np.float32),
    )
    status = Status(
        {"hp": float(dice.random()), "shield": None}, {"locked": bool(dice.random() < 0.5)}, {"ammo": 2}, {"boost": 0.25, "other": 1.0}
    )
    cursor = None if dice.random() < 0.3 else (float(dice.random()), float(dice.random()))
    return Observation(tick * TICK_NS, tick * TICK_NS - 3, tick, status, tracks, cursor, bool(dice.random() < 0.5))


def same(found: Steps, wanted: Steps) -> None:
    for column in fields(Steps)[1:]:
        np.testing.assert_array_equal(getattr(found, column.name), getattr(wanted, column.name), err_msg=column.name)
        if getattr(wanted, column.name) is not None:
            assert getattr(found, column.name).dtype == getattr(wanted, column.name).dtype, column.name


def test_the_steps_are_those_of_the_last_second() -> None:
    dice, recent, seen = np.random.default_rng(0), Recent(ARENA_PROFILE, 1.0), list[Observation]()
    for tick in range(1, 700):
        # Now and then none, and once more than the buffers hold.
        seen.append(observation(dice, tick, 0 if tick % 50 == 0 else 9000 if tick == 400 else int(dice.integers(1, 60))))
        recent.add(seen[-1])
        if tick % 7 and tick not in (400, 401):
            continue
        wanted = StepsBuilder(ARENA_PROFILE)
        for one in seen:
            if seen[-1].time_ns - one.time_ns <= 1_000_000_000:
                wanted.append(Step(one, Action(0.5, 0.5)))
        assert recent.times_ns == [r.observation.time_ns for r in wanted._rows]
        same(recent.steps(), wanted.build())


def test_what_is_forgotten_is_gone() -> None:
    dice, recent = np.random.default_rng(1), Recent(ARENA_PROFILE, 1.0)
    for tick in range(1, 5):
        recent.add(observation(dice, tick, 3))
    recent.clear()
    assert len(recent) == 0
    assert len(recent.steps()) == 0
    recent.add(observation(dice, 9, 3))
    assert recent.times_ns == [9 * TICK_NS]
    assert recent.steps().track_offsets.tolist() == [0, 3]


def test_more_ticks_than_fit_leave_the_newest() -> None:
    dice, recent = np.random.default_rng(2), Recent(ARENA_PROFILE, 1e6)
    for tick in range(1, 600):
        recent.add(observation(dice, tick, 2))
    steps = recent.steps()
    assert 0 < len(steps) <= 256
    assert steps.time_ns[-1] == 599 * TICK_NS
    assert (np.diff(steps.time_ns) == TICK_NS).all()
