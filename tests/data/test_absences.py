"""Tracks that are lost for a moment are there in hindsight."""

from __future__ import annotations

import numpy as np

from data.absences import without_absences
from data.profile import ARENA_PROFILE
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder, empty_steps

TICK_NS = 50_000_000


def steps_with(places: list[dict[int, float]], times: list[int] | None = None) -> Steps:
    """By row: track id -> x. ``times`` in ticks."""
    rows = StepsBuilder(ARENA_PROFILE)
    for row, things in enumerate(places):
        n, zeros = len(things), np.zeros(len(things), np.float32)
        boxes = np.array([[x, 0.5, 0.03, 0.05] for x in things.values()], np.float32).reshape(-1, 4)
        ids, classes = np.array(list(things), np.int32), np.array([1 + i % 3 for i in things], np.int32)
        tracks = Tracks(ids, classes, boxes, zeros + 1, np.zeros((n, 2), np.float32), zeros, zeros)
        time_ns = (times[row] if times else row) * TICK_NS
        rows.append(
            Step(Observation(time_ns, time_ns, row, Status({}), tracks, (0.5, 0.5)), Action(0.5, 0.5), "demonstrator", "someone", 0)
        )
    return rows.build()


def shown(steps: Steps) -> list[dict[int, float]]:
    return [
        {int(i): round(float(box[0]), 3) for i, box in zip(t.ids, t.boxes, strict=True)}
        for t in (steps.tracks(r) for r in range(len(steps)))
    ]


def test_a_short_absence_is_filled_on_the_straight_way_and_a_long_one_is_not() -> None:
    steps = steps_with([{4: 0.1, 5: 0.9}, {5: 0.8}, {5: 0.7}, {4: 0.4}, {4: 0.5}, {}, {}, {}, {}, {4: 0.9}])
    found = without_absences(steps, 0.2)
    assert shown(found) == [
        {4: 0.1, 5: 0.9}, {5: 0.8, 4: 0.2}, {5: 0.7, 4: 0.3}, {4: 0.4}, {4: 0.5}, {}, {}, {}, {}, {4: 0.9},
    ]  # fmt: skip
    assert [found.tracks(1).classes.tolist(), found.tracks(2).classes.tolist()] == [[3, 2], [3, 2]]
    assert shown(steps)[1] == {5: 0.8}, "the session itself is as it was"


def test_the_way_is_divided_by_time_and_a_gap_is_not_bridged() -> None:
    assert shown(without_absences(steps_with([{4: 0.1}, {}, {4: 0.5}], [0, 1, 4]), 0.2))[1] == {4: 0.2}
    assert shown(without_absences(steps_with([{4: 0.1}, {}, {4: 0.5}], [0, 1, 5]), 0.2))[1] == {}


def test_nothing_to_fill() -> None:
    whole = steps_with([{4: 0.1}, {4: 0.2}])
    assert without_absences(whole, 0.3) is whole
    assert without_absences(steps_with([{}, {}]), 0.3).track_ids.tolist() == []
    assert len(without_absences(empty_steps(ARENA_PROFILE), 0.3)) == 0
