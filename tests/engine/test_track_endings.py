"""How tracks end: only what vanishes in the open may have been killed."""

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from data.schema import Tracks
from engine.perception.detections import Detections
from engine.perception.endings import Ending, endings
from engine.perception.tracker import Tracker

TICK_NS = 50_000_000
NAMES = ARENA_PROFILE.class_names()
DRONE, ROCK, SHOT = (NAMES.index(n) for n in ("drone", "rock", "hostile_shot"))
Thing = tuple[int, float, float, float]


def found(*things: Thing) -> Detections:
    boxes = np.array([(x, y, size, size * 16 / 9) for _, x, y, size in things], np.float32).reshape(-1, 4)
    return Detections(boxes, np.array([t[0] for t in things], np.int32), np.full(len(things), 0.9, np.float32))


def ends(pictures: list[list[Thing]]) -> list[tuple[int, str]]:
    """(class, how) of every track that ends while the pictures go by."""
    eyes, before, all_ends = Tracker(ARENA_PROFILE.roles()), Tracks.empty(), list[Ending]()
    for k, things in enumerate(pictures):
        after = eyes.update(found(*things), k * TICK_NS)
        all_ends += endings(before, after, 0.05)
        before = after
    return [(e.kind, e.how) for e in all_ends]


@pytest.mark.parametrize("to_right", [True, False])
def test_a_ship_that_flies_out_has_left(to_right: bool) -> None:
    xs = [0.90 + 0.01 * k if to_right else 0.10 - 0.01 * k for k in range(9)]
    assert ends([[(DRONE, x, 0.5, 0.03)] for x in xs] + [[]] * 10) == [(DRONE, "left")]


def test_a_ship_killed_in_the_open_has_vanished() -> None:
    assert ends([[(DRONE, 0.3 + 0.005 * k, 0.5, 0.03)] for k in range(10)] + [[]] * 10) == [(DRONE, "vanished")]


def test_a_ship_at_the_border_that_flies_inward_and_dies_has_vanished() -> None:
    assert ends([[(DRONE, 0.02 + 0.003 * k, 0.5, 0.03)] for k in range(8)] + [[]] * 10) == [(DRONE, "vanished")]


def test_a_ship_that_stays_behind_a_rock_is_hidden() -> None:
    rock = (ROCK, 0.5, 0.5, 0.2)
    assert ends([[rock, (DRONE, 0.5, 0.5, 0.03)]] * 5 + [[rock]] * 30) == [(DRONE, "hidden")]


def test_a_shot_over_a_ship_does_not_hide_its_death() -> None:
    ship, shot = (DRONE, 0.5, 0.5, 0.03), (SHOT, 0.5, 0.5, 0.009)
    assert (DRONE, "vanished") in ends([[ship]] * 8 + [[shot]] * 30)


def test_tracks_that_go_on_have_not_ended_and_time_must_go_on() -> None:
    eyes = Tracker(ARENA_PROFILE.roles())
    now = eyes.update(found((DRONE, 0.5, 0.5, 0.03)), 0)
    assert endings(now, now, 0.05) == []
    with pytest.raises(ValueError, match="dt_s"):
        endings(now, now, 0.0)
