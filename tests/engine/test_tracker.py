"""The tracker: ids, velocities, occlusion, borders, and what becomes of things that are no longer found."""

from itertools import permutations

import numpy as np
import pytest

from data.profile import ARENA_PROFILE
from data.schema import Tracks
from engine.perception.assignment import assign
from engine.perception.detections import Detections, overlaps, suppress_doubles
from engine.perception.tracker import Tracker

TICK_NS = 50_000_000
NAMES = ARENA_PROFILE.class_names()
DRONE, ROCK, SHOT, LOCK = (NAMES.index(n) for n in ("drone", "rock", "hostile_shot", "lock"))


def found(*things: tuple[int, float, float, float], confidence: float = 0.9) -> Detections:
    """Things as (class, x, y, size in picture widths)."""
    boxes = np.array([(x, y, size, size * 16 / 9) for _, x, y, size in things], np.float32).reshape(-1, 4)
    return Detections(boxes, np.array([t[0] for t in things], np.int32), np.full(len(things), confidence, np.float32))


def tracker() -> Tracker:
    return Tracker(ARENA_PROFILE.roles())


def fly(eyes: Tracker, pictures: list[Detections], start: int = 0) -> list[Tracks]:
    return [eyes.update(p, (start + k) * TICK_NS) for k, p in enumerate(pictures)]


def test_id_and_velocity_of_a_moving_thing() -> None:
    dice = np.random.default_rng(0)
    seen = fly(tracker(), [found((DRONE, 0.2 + 0.01 * k + dice.normal(0, 0.001), 0.5, 0.03)) for k in range(40)])
    assert {int(t.ids[0]) for t in seen} == {int(seen[0].ids[0])}
    assert seen[-1].velocities[0] == pytest.approx((0.2, 0.0), abs=0.03)
    assert seen[-1].ages_s[0] == pytest.approx(39 * 0.05, abs=1e-3)


def test_velocity_is_in_pictures_per_second_on_both_axes() -> None:
    seen = fly(tracker(), [found((DRONE, 0.5, 0.2 + 0.01 * k, 0.03)) for k in range(30)])
    assert seen[-1].velocities[0] == pytest.approx((0.0, 0.2), abs=0.02)


def test_a_fast_shot_keeps_its_id_from_the_second_picture() -> None:
    seen = fly(tracker(), [found((SHOT, 0.1 + 420 / 640 * 0.05 * k, 0.5, 0.01)) for k in range(12)])
    assert {int(i) for t in seen for i in t.ids} == {0}
    assert seen[-1].velocities[0, 0] == pytest.approx(420 / 640, rel=0.1)


def shows_on(eyes: Tracker, *classes: int) -> Tracker:
    """A tracker whose detector lost things of these classes before, which were there all the same."""
    for kind in classes:
        for hidden in (False, True):
            eyes.comebacks.ended(np.array([kind], np.int32), np.array([hidden]), np.array([9], np.int32), back=True)
    return eyes


def test_a_weak_find_is_shown_only_when_confirmed() -> None:
    eyes = shows_on(tracker(), DRONE)
    weak = found((DRONE, 0.5, 0.5, 0.03), confidence=0.5)
    assert len(eyes.update(weak, 0)) == 0
    assert len(eyes.update(weak, TICK_NS)) == 1
    assert len(eyes.update(found((ROCK, 0.2, 0.2, 0.06), confidence=0.25), 2 * TICK_NS)) == 1, "too weak to begin a track"


def test_what_is_not_found_is_shown_on_once_such_things_came_back() -> None:
    eyes = tracker()
    drone, nothing = found((DRONE, 0.5, 0.5, 0.03)), Detections.empty()
    first = fly(eyes, [drone] * 3 + [nothing] * 2 + [drone])
    assert [len(t) for t in first] == [1, 1, 1, 1, 0, 1], "nothing is known yet: one picture is forgiven, then it is gone"
    assert first[-1].ids.tolist() == first[0].ids.tolist(), "but it was followed"
    again = fly(eyes, [nothing] * 3 + [drone], 6)
    assert [len(t) for t in again] == [1, 1, 0, 1], "from two pictures it came back, from three it did not yet"
    gone = fly(eyes, ([nothing] * 8 + [drone] * 2) * 3 + [nothing] * 2, 10)
    assert [len(t) for t in gone[:3]] == [1, 1, 1]
    assert [len(t) for t in gone[-2:]] == [1, 0], "three that were gone, two that came back"


def test_own_ship_is_shown_on_until_it_is_known_better() -> None:
    eyes = tracker()
    own = found((0, 0.5, 0.5, 0.034))
    assert [len(t) for t in fly(eyes, [own] * 3 + [Detections.empty()] * 2)] == [1] * 5


def test_what_another_flight_was_like_is_forgotten() -> None:
    eyes = shows_on(tracker(), DRONE)
    eyes.reset()
    assert [len(t) for t in fly(eyes, [found((DRONE, 0.5, 0.5, 0.03))] * 2 + [Detections.empty()] * 2)] == [1, 1, 1, 0]


def test_after_one_box_and_then_black_pictures_nothing_stays() -> None:
    eyes = shows_on(tracker(), DRONE)
    assert all(len(t) == 0 for t in fly(eyes, [Detections.empty()] * 100))
    once = eyes.update(found((DRONE, 0.5, 0.5, 0.03)), 100 * TICK_NS)
    assert len(once) == 1
    after = fly(eyes, [Detections.empty()] * 20, 101)
    unseen = [float(t.unseen_s[0]) for t in after if len(t)]
    assert unseen == sorted(unseen)
    assert 4 <= len(unseen) <= 6, "0.3 s where nothing covers it"
    assert all(len(t) == 0 for t in after[len(unseen) :])


def test_behind_another_thing_it_coasts_and_comes_back_with_its_id() -> None:
    eyes = shows_on(tracker(), DRONE)
    rock = (ROCK, 0.5, 0.5, 0.08)
    before = fly(eyes, [found(rock, (DRONE, 0.38 + 0.01 * k, 0.5, 0.03)) for k in range(10)])
    drone = int(before[-1].ids[list(before[-1].classes).index(DRONE)])
    hidden = fly(eyes, [found(rock)] * 7, 10)
    assert all(drone in t.ids for t in hidden)
    row = list(hidden[-1].ids).index(drone)
    assert hidden[-1].unseen_s[row] == pytest.approx(0.35, abs=1e-3)
    assert hidden[-1].boxes[row, 0] == pytest.approx(0.54, abs=0.01)
    back = eyes.update(found(rock, (DRONE, 0.55, 0.5, 0.03)), 17 * TICK_NS)
    row = list(back.ids).index(drone)
    assert back.unseen_s[row] == 0


@pytest.mark.parametrize("ticks", [5, 10, 20])
def test_a_thing_hidden_for_up_to_a_second_keeps_its_id(ticks: int) -> None:
    eyes = tracker()
    rock = (ROCK, 0.5, 0.5, 0.2)
    before = fly(eyes, [found(rock, (DRONE, 0.32 + 0.004 * k, 0.5, 0.03)) for k in range(23)])
    drone = int(before[-1].ids[list(before[-1].classes).index(DRONE)])
    fly(eyes, [found(rock)] * ticks, 23)
    back = eyes.update(found(rock, (DRONE, 0.32 + 0.004 * (23 + ticks), 0.5, 0.03)), (23 + ticks) * TICK_NS)
    assert [int(i) for i, kind in zip(back.ids, back.classes, strict=True) if kind == DRONE] == [drone]


def test_a_jump_begins_a_new_track_without_a_leap_in_velocity() -> None:
    eyes = tracker()
    before = fly(eyes, [found((0, 0.2, 0.3, 0.034))] * 12)
    after = fly(eyes, [found((0, 0.8, 0.7, 0.034))] * 8, 12)
    assert not set(before[-1].ids.tolist()) & {int(i) for t in after[1:] for i in t.ids}
    assert max(float(np.abs(t.velocities).max(initial=0.0)) for t in after) < 0.01


def test_a_hidden_thing_is_not_carried_on_for_ever() -> None:
    eyes = shows_on(tracker(), DRONE)
    rock = (ROCK, 0.5, 0.5, 0.2)
    fly(eyes, [found(rock, (DRONE, 0.5, 0.5, 0.03))] * 5)
    hidden = fly(eyes, [found(rock)] * 30, 5)
    last = max(k for k, t in enumerate(hidden) if DRONE in t.classes)
    assert 20 <= last + 1 <= 22, "a second and a picture or two"


def test_what_leaves_at_the_border_is_dropped_at_once() -> None:
    eyes = tracker()
    seen = fly(eyes, [found((DRONE, 0.90 + 0.01 * k, 0.5, 0.03)) for k in range(10)])
    assert len(seen[-1]) == 1
    assert len(eyes.update(Detections.empty(), 10 * TICK_NS)) == 0


def test_a_thing_found_twice_is_one_track() -> None:
    eyes = tracker()
    fly(eyes, [found((DRONE, 0.5, 0.5, 0.03))] * 3)
    twice = Detections(
        np.array([[0.5, 0.5, 0.03, 0.05], [0.51, 0.5, 0.03, 0.05]], np.float32),
        np.array([DRONE, DRONE], np.int32),
        np.array([0.9, 0.5], np.float32),
    )
    assert [len(t) for t in fly(eyes, [twice] * 3, 3)] == [1, 1, 1]


def test_own_ship_that_jumps_is_in_one_place_only() -> None:
    eyes = tracker()
    fly(eyes, [found((0, 0.2 + 0.01 * k, 0.5, 0.034)) for k in range(5)])
    after = eyes.update(found((0, 0.8, 0.3, 0.034)), 5 * TICK_NS)
    after = eyes.update(found((0, 0.8, 0.3, 0.034)), 6 * TICK_NS)
    assert after.boxes[after.classes == 0][:, 0].tolist() == [pytest.approx(0.8, abs=0.01)]


@pytest.mark.parametrize("kind", [NAMES.index("mark"), LOCK])
def test_what_is_set_elsewhere_is_not_where_it_was_as_well(kind: int) -> None:
    eyes = shows_on(tracker(), kind, DRONE)
    fly(eyes, [found((kind, 0.2, 0.5, 0.04), (DRONE, 0.5, 0.2, 0.03))] * 4)
    unsure = eyes.update(found((kind, 0.7, 0.4, 0.04), confidence=0.5), 4 * TICK_NS)
    assert unsure.boxes[unsure.classes == kind][:, 0].tolist() == [pytest.approx(0.2, abs=0.01)], "it may be nothing"
    after = eyes.update(found((kind, 0.8, 0.3, 0.04)), 5 * TICK_NS)
    assert after.boxes[after.classes == kind][:, 0].tolist() == [pytest.approx(0.8, abs=0.01)]
    assert (after.classes == DRONE).any(), "what moves by itself is carried on"
    both = fly(eyes, [found((kind, 0.8, 0.3, 0.04), (kind, 0.3, 0.6, 0.04))] * 2, 6)  # a game may show two at a time
    assert [int((seen.classes == kind).sum()) for seen in both] == [2, 2]


def test_of_two_own_ships_the_surer_one_is_shown() -> None:
    boxes = np.array([[0.2, 0.5, 0.034, 0.06], [0.7, 0.5, 0.034, 0.06]], np.float32)
    two = Detections(boxes, np.zeros(2, np.int32), np.array([0.9, 0.8], np.float32))
    for seen in fly(tracker(), [two] * 3):
        assert seen.boxes[:, 0].tolist() == [pytest.approx(0.2)]


def test_a_shot_that_hit_is_gone_at_once() -> None:
    eyes = tracker()
    fly(eyes, [found((SHOT, 0.1 + 0.02 * k, 0.5, 0.01)) for k in range(6)])
    after = fly(eyes, [Detections.empty()] * 4, 6)
    assert [len(t) for t in after] == [1, 0, 0, 0], "one miss is forgiven"


def test_ids_are_never_used_again() -> None:
    eyes = tracker()
    seen: set[int] = set()
    for k in range(5):
        now = eyes.update(found((DRONE, 0.5, 0.5, 0.03)), k * 10_000_000_000)
        assert not seen & set(now.ids.tolist())
        seen |= set(now.ids.tolist())
    eyes.reset()
    assert not seen & set(eyes.update(found((DRONE, 0.5, 0.5, 0.03)), 0).ids.tolist())


def test_the_same_picture_again_changes_nothing() -> None:
    eyes = tracker()
    first = eyes.update(found((DRONE, 0.5, 0.5, 0.03)), 0)
    again = eyes.update(Detections.empty(), 0)
    assert again.ids.tolist() == first.ids.tolist()
    assert again.unseen_s.tolist() == [0.0]


def test_crossing_things_of_one_class_keep_their_ids() -> None:
    def at(k: int) -> Detections:
        return found((DRONE, 0.3 + 0.01 * k, 0.45, 0.03), (DRONE, 0.7 - 0.01 * k, 0.45 + 0.002 * k, 0.03))

    seen = fly(tracker(), [at(k) for k in range(41)])
    first, last = seen[0], seen[-1]
    left = int(first.ids[int(first.boxes[:, 0].argmin())])
    assert int(last.ids[int(last.boxes[:, 0].argmax())]) == left


def test_a_class_is_never_matched_with_another() -> None:
    eyes = shows_on(tracker(), DRONE)
    fly(eyes, [found((DRONE, 0.5, 0.5, 0.03))] * 3)
    now = eyes.update(found((LOCK, 0.5, 0.5, 0.05)), 3 * TICK_NS)
    assert sorted(now.classes.tolist()) == sorted([DRONE, LOCK])


@pytest.mark.parametrize("seed", range(40))
def test_assignment_is_the_cheapest_complete_one(seed: int) -> None:
    dice = np.random.default_rng(seed)
    n, m = (int(v) for v in dice.integers(1, 6, 2))
    cost = dice.random((n, m)).astype(np.float32)
    cost[dice.random((n, m)) < 0.3] = np.inf
    rows, columns = assign(cost)
    assert len(set(rows.tolist())) == len(rows) == len(set(columns.tolist()))
    side = max(n, m)
    square = np.full((side, side), 1e3)
    square[:n, :m] = np.where(np.isfinite(cost), cost, 1e3)
    best = min(sum(square[i, p[i]] for i in range(side)) for p in permutations(range(side)))
    assert cost[rows, columns].sum() + 1e3 * (side - len(rows)) == pytest.approx(best, abs=1e-2)


def test_doubles_are_suppressed_by_class_and_by_role_only() -> None:
    boxes = np.array([[10, 10, 8, 8], [10.5, 10, 8, 8], [10, 10, 8, 8], [10, 10, 8, 8]], np.float32)
    classes = np.array([1, 1, 2, 8], np.int32)
    roles = np.array([1, 1, 1, 6], np.int32)
    stays = suppress_doubles(boxes, classes, np.array([0.6, 0.9, 0.5, 0.3], np.float32), roles, 10)
    assert stays.tolist() == [1, 3], "the surest enemy, and the ring round it"
    assert overlaps(boxes[:1], boxes[:2])[0].tolist() == pytest.approx([1.0, 7.5 * 8 / (2 * 64 - 60)])
