"""Hindsight labels by the rules, on made-up play."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from data.hindsight import label_modes, label_targets
from data.profile import ARENA_PROFILE, GameProfile
from data.schema import NO_TARGET, Action, Observation, Status, Step, Tracks
from data.steps import NO_MODE, UNSAID_TARGET, Steps, StepsBuilder, empty_steps
from data.vocabulary import MODES
from tests.trainers.synthetic import TICK_NS, session

SELF, DRONE, RAIDER, HUNTER, LOOT, LOCK = (
    ARENA_PROFILE.class_names().index(n) for n in ("self", "drone", "raider", "hunter", "loot", "lock")
)
Thing = tuple[int, float, float]
Place = tuple[float, float]
REST: Place = (0.02, 0.02)


def play(
    seconds: float,
    things: dict[int, Thing] | Callable[[int], dict[int, Thing]],
    path: Place = (0.0, 0.0),
    hp: float = 1.0,
    firing: Callable[[int], bool] = lambda row: False,
    clicks: dict[int, Place] | None = None,
    locks: Callable[[int], int] = lambda row: NO_TARGET,
    ship: Callable[[int], bool] = lambda row: True,
    profile: GameProfile = ARENA_PROFILE,
    reach_rows: int = 4,
    button: str = "mouse_left",
) -> Steps:
    """The ship starts in the middle and moves by ``path`` (1/s). ``things``: id -> class, x, y. ``clicks``: row -> place, the cursor
    sets out ``reach_rows`` rows before. ``locks``: row -> the id that carries the lock."""
    rows = StepsBuilder(profile)
    cursor = REST
    for row in range(round(seconds * 20)):
        own = (0.5 + path[0] * row / 20, 0.5 + path[1] * row / 20)
        objects = {**({1: (SELF, *own)} if ship(row) else {}), **(things if isinstance(things, dict) else things(row))}
        if (locked := locks(row)) in objects:
            objects[99] = (LOCK, *objects[locked][1:])
        boxes = np.array([[x, y, 0.03, 0.05] for _, x, y in objects.values()], np.float32).reshape(-1, 4)
        n = len(objects)
        zeros = np.zeros(n, np.float32)
        classes = np.array([c for c, _, _ in objects.values()], np.int32)
        tracks = Tracks(np.array(list(objects), np.int32), classes, boxes, zeros + 1, np.zeros((n, 2), np.float32), zeros, zeros)
        time_ns = (row + 1) * TICK_NS
        status = Status({"hp": hp, "shield": 1.0}, {"locked": locked != NO_TARGET, "firing": firing(row)})
        coming = next((r for r in sorted(clicks or {}) if row <= r), None)
        if coming is not None and coming - row < reach_rows:
            aim, share = (clicks or {})[coming], (reach_rows - (coming - row)) / reach_rows
            cursor = (cursor[0] + (aim[0] - cursor[0]) * share, cursor[1] + (aim[1] - cursor[1]) * share)
        at = (clicks or {}).get(row)
        action = Action(*(at or cursor), (button,) if at else ())
        rows.append(Step(Observation(time_ns, time_ns, row, status, tracks, cursor), action))
    return rows.build()


def modes(steps: Steps) -> list[str]:
    return [MODES[m] for m in label_modes(steps)]


def test_nothing_near_is_explore() -> None:
    steps = play(3, {5: (DRONE, 0.95, 0.95)})
    assert set(modes(steps)) == {"EXPLORE"}
    assert set(label_targets(steps).tolist()) == {NO_TARGET}


def test_without_the_own_ship_it_is_explore_whatever_else_holds() -> None:
    steps = play(4, {5: (HUNTER, 0.55, 0.5)}, ship=lambda row: row >= 40)
    assert set(modes(steps)[:40]) == {"EXPLORE"}
    assert set(modes(steps)[50:]) == {"FLEE"}


def test_a_game_that_never_shows_the_own_ship_is_judged_from_the_middle() -> None:
    steps = play(2, {5: (DRONE, 0.6, 0.5)}, ship=lambda row: False, locks=lambda row: 5)
    assert set(modes(steps)) == {"FIGHT"}


def test_the_hand_under_way_belongs_to_its_click() -> None:
    """From where the cursor left its rest, up to and with the click; the rows before say nothing yet."""
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, clicks={80: (0.9, 0.5)}, reach_rows=12)
    said, targets = modes(steps), label_targets(steps)
    begun = said.index("FIGHT")
    assert 66 <= begun <= 69
    assert set(said[begun:81]) == {"FIGHT"}
    assert set(said[:begun]) == {"EXPLORE"}
    assert set(targets[begun:81].tolist()) == {5}
    assert set(targets[:begun].tolist()) == {NO_TARGET}


def test_the_hand_wins_over_danger_since_a_player_may_attack_it() -> None:
    steps = play(4, {5: (HUNTER, 0.6, 0.5)}, clicks={60: (0.6, 0.5)})
    assert modes(steps)[60] == "FIGHT"
    assert label_targets(steps)[60] == 5
    assert modes(steps)[40] == "FLEE"


def test_a_dangerous_enemy_in_threat_range_is_fled_whatever_the_health_and_lock() -> None:
    things = {5: (HUNTER, 0.65, 0.5), 6: (DRONE, 0.45, 0.5)}
    assert set(modes(play(3, things))[6:]) == {"FLEE"}
    assert set(modes(play(3, things, locks=lambda row: 6, firing=lambda row: True))[6:]) == {"FLEE"}
    assert set(modes(play(3, things, locks=lambda row: 5, firing=lambda row: True))) == {"FIGHT"}  # it is what is fought
    assert "FLEE" not in modes(play(3, {5: (HUNTER, 0.95, 0.5)}))  # far


def test_the_way_to_loot_holds_until_the_loot_is_seen_to_be_gone_under_whatever_id() -> None:
    def things(row: int) -> dict[int, Thing]:
        return {6 if row < 50 else 7: (LOOT, 0.8, 0.5)} if row < 90 else {}

    steps = play(7, things, clicks={30: (0.8, 0.5)})
    said, targets = modes(steps), label_targets(steps)
    assert set(said[28:94]) == {"LOOT"}
    assert set(said[94:]) == {"EXPLORE"}
    assert set(targets[30:50].tolist()) == {6}
    assert set(targets[50:90].tolist()) == {7}  # the tracker gave it another id
    assert set(targets[90:].tolist()) == {NO_TARGET}


def test_what_is_lost_for_a_moment_was_there_though_no_target_while_it_is_not_seen() -> None:
    def things(row: int) -> dict[int, Thing]:
        return {} if row in (29, 30, 31, 60) else {6: (LOOT, 0.8, 0.5)}

    whole, steps = play(5, {6: (LOOT, 0.8, 0.5)}, clicks={30: (0.8, 0.5)}), play(5, things, clicks={30: (0.8, 0.5)})
    assert modes(steps) == modes(whole)
    assert set(modes(steps)[28:]) == {"LOOT"}
    assert [label_targets(steps)[row] for row in (28, 30, 32, 59, 60, 61)] == [6, NO_TARGET, 6, 6, NO_TARGET, 6]


def test_another_click_leads_elsewhere_but_one_that_locks_keeps_the_way_to_loot() -> None:
    things = {5: (DRONE, 0.2, 0.8), 6: (LOOT, 0.8, 0.5)}
    ground = modes(play(6, things, clicks={30: (0.8, 0.5), 60: (0.5, 0.1)}))
    assert ground[50] == "LOOT"
    assert ground[70] == "EXPLORE"
    locking = play(6, things, clicks={30: (0.8, 0.5), 60: (0.2, 0.8)}, locks=lambda row: 5 if row > 61 else NO_TARGET)
    assert modes(locking)[60] == "FIGHT"
    assert modes(locking)[70] == "LOOT"
    assert label_targets(locking)[70] == 6


def test_firing_at_the_locked_enemy_is_fight_and_names_it() -> None:
    steps = play(4, {5: (DRONE, 0.6, 0.5)}, firing=lambda row: True, locks=lambda row: 5)
    assert set(modes(steps)) == {"FIGHT"}
    assert set(label_targets(steps).tolist()) == {5}


def test_a_lock_that_flickers_is_one_lock() -> None:
    steps = play(4, {5: (DRONE, 0.6, 0.5)}, locks=lambda row: NO_TARGET if row % 10 < 3 else 5)
    assert set(modes(steps)[3:]) == {"FIGHT"}


def test_ground_clicks_while_an_enemy_is_locked_circle_it() -> None:
    steps = play(4, {5: (DRONE, 0.6, 0.5)}, firing=lambda row: True, locks=lambda row: 5, clicks={40: (0.5, 0.2)})
    assert modes(steps)[40] == "FIGHT"
    assert label_targets(steps)[40] == 5


def test_ground_clicks_near_an_enemy_are_flee_when_hp_is_low_else_cautious() -> None:
    things = {5: (DRONE, 0.6, 0.5)}
    assert modes(play(4, things, path=(-0.06, 0.0), hp=0.2, clicks={40: (0.1, 0.5)}))[40] == "FLEE"
    assert modes(play(4, things, path=(-0.06, 0.0), hp=0.9, clicks={40: (0.1, 0.5)}))[40] == "CAUTIOUS"


def test_a_click_that_lets_go_of_the_lock_is_caution_or_flight() -> None:
    def locks(row: int) -> int:
        return 5 if row <= 40 else NO_TARGET

    things = {5: (DRONE, 0.6, 0.5)}
    careful = play(4, things, firing=lambda row: row <= 40, locks=locks, clicks={40: (0.2, 0.5)}, button="mouse_right")
    assert modes(careful)[30] == "FIGHT"
    assert set(modes(careful)[40:60]) == {"CAUTIOUS"}
    assert set(label_targets(careful)[40:60].tolist()) == {NO_TARGET}
    hurt = play(4, things, hp=0.2, firing=lambda row: row <= 40, locks=locks, clicks={40: (0.2, 0.5)}, button="mouse_right")
    assert set(modes(hurt)[40:60]) == {"FLEE"}


def test_low_hp_near_an_enemy_is_flee_without_any_click() -> None:
    assert set(modes(play(3, {5: (DRONE, 0.6, 0.5)}, hp=0.2))) == {"FLEE"}


def test_an_enemy_in_threat_range_that_is_not_approached_is_cautious() -> None:
    assert set(modes(play(4, {5: (DRONE, 0.6, 0.5)}, path=(-0.02, 0.0)))) == {"CAUTIOUS"}
    assert set(modes(play(4, {5: (DRONE, 0.6, 0.5)}))) == {"CAUTIOUS"}  # range kept
    assert modes(play(4, {5: (DRONE, 0.7, 0.5)}, path=(0.05, 0.0)))[0] == "EXPLORE"  # closing in


def test_between_two_stretches_it_is_what_comes() -> None:
    """The target dies, the next one is clicked a second later: all of it is one fight, and the pause names the next target."""

    def things(row: int) -> dict[int, Thing]:
        return {6: (RAIDER, 0.9, 0.1)} | ({5: (DRONE, 0.6, 0.5)} if row < 40 else {})

    steps = play(5, things, locks=lambda row: 5 if row < 40 else 6 if row > 60 else NO_TARGET, clicks={60: (0.9, 0.1)})
    assert set(modes(steps)) == {"FIGHT"}
    assert set(label_targets(steps)[:40].tolist()) == {5}
    assert set(label_targets(steps)[40:].tolist()) == {6}
    later = play(7, things, locks=lambda row: 5 if row < 40 else 6 if row > 120 else NO_TARGET, clicks={120: (0.9, 0.1)})
    assert set(modes(later)[45:110]) == {"EXPLORE"}  # too long a pause


def test_the_earliest_event_decides_not_the_kind_of_it() -> None:
    things = {5: (DRONE, 0.9, 0.9), 6: (LOOT, 0.1, 0.9)}
    steps = play(5, things, clicks={40: (0.1, 0.9), 52: (0.9, 0.9)}, locks=lambda row: 5 if row > 53 else NO_TARGET)
    assert modes(steps)[40] == "LOOT"
    assert modes(steps)[52] == "FIGHT"


def test_a_click_just_beside_an_enemy_or_loot_is_meant_for_it() -> None:
    drone = play(3, {5: (DRONE, 0.9, 0.9)}, clicks={40: (0.9 + 0.03, 0.9)})
    assert modes(drone)[40] == "FIGHT"
    assert label_targets(drone)[40] == 5
    assert modes(play(3, {6: (LOOT, 0.9, 0.5)}, clicks={40: (0.9, 0.5 + 0.06)}))[40] == "LOOT"
    assert modes(play(3, {6: (LOOT, 0.9, 0.5)}, clicks={40: (0.9, 0.7)}))[40] == "EXPLORE"


def test_a_fight_without_a_lock_lasts_two_seconds_or_as_long_as_its_target() -> None:
    game = ARENA_PROFILE.model_copy(
        update={
            "name": "nolocks",
            "classes": tuple(c for c in ARENA_PROFILE.classes if c.role not in ("lock", "mark")),
            "icons": (),
        }
    )
    steps = play(6, {5: (DRONE, 0.95, 0.95)}, clicks={40: (0.95, 0.95)}, profile=game)
    assert set(modes(steps)[40:80]) == {"FIGHT"}
    assert set(modes(steps)[82:]) == {"EXPLORE"}
    dies = play(6, lambda row: {5: (DRONE, 0.95, 0.95)} if row < 60 else {}, clicks={40: (0.95, 0.95)}, profile=game)
    assert modes(dies)[59] == "FIGHT"
    assert modes(dies)[61] == "EXPLORE"


def test_a_game_of_keys_alone_is_judged_by_locks_firing_and_distance() -> None:
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, locks=lambda row: 5 if row >= 80 else NO_TARGET)
    said = modes(steps)
    assert said[30] == "EXPLORE"
    assert said[45] == "FIGHT"
    assert label_targets(steps)[45] == 5
    assert label_targets(steps)[30] == NO_TARGET
    closing = play(3, {6: (LOOT, 0.62, 0.5)}, path=(0.05, 0.0))
    assert modes(closing)[5] == "LOOT"
    assert label_targets(closing)[5] == 6


def test_what_a_person_says_holds_before_the_rules() -> None:
    steps = play(4, {5: (DRONE, 0.6, 0.5), 6: (RAIDER, 0.4, 0.5)}, firing=lambda row: True, locks=lambda row: 5)
    said_mode = np.full(len(steps), NO_MODE, np.int8)
    said_mode[10:20] = MODES.index("FLEE")
    said_target = np.full(len(steps), UNSAID_TARGET, np.int32)
    said_target[15:30] = 6
    said_target[40:50] = NO_TARGET
    said_target[60:70] = 77  # not there in these rows
    told = dataclasses.replace(steps, said_mode=said_mode, said_target=said_target)
    assert set(modes(told)[10:20]) == {"FLEE"}
    targets = label_targets(told)
    assert set(targets[10:15].tolist()) == {NO_TARGET}  # flight has none
    assert set(targets[15:30].tolist()) == {6}
    assert set(targets[30:40].tolist()) == {5}
    assert set(targets[40:50].tolist()) == {NO_TARGET}
    assert set(targets[60:70].tolist()) == {NO_TARGET}
    np.testing.assert_array_equal(label_targets(told.slice(12, 45)), targets[12:45])


def test_the_click_belongs_to_its_own_row_not_to_the_next() -> None:
    """Off by one: the label of the clicking row is the click, of the row in which the next enemy appears the next click's."""
    steps = session(6)
    rows = np.flatnonzero(np.diff(steps.onset_offsets) > 0)
    targets = label_targets(steps)
    for row in rows[:-1]:
        assert targets[row] == int(steps.track_ids[steps.track_offsets[row] + 1])
    late = label_targets(session(6, lag=1))
    assert not np.array_equal(late, targets)
    first = np.flatnonzero(targets != NO_TARGET)
    assert set(first.tolist()) >= set(rows[:-1].tolist())


def test_a_gap_hides_what_comes_after_it() -> None:
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, locks=lambda row: 5 if row >= 80 else NO_TARGET)
    times = steps.time_ns.copy()
    times[78:] += 3_000_000_000
    assert modes(dataclasses.replace(steps, time_ns=times))[60] == "EXPLORE"


def test_empty_and_trackless_sessions_are_labelled_without_error() -> None:
    assert len(label_modes(empty_steps(ARENA_PROFILE))) == 0
    assert len(label_targets(empty_steps(ARENA_PROFILE))) == 0
    bare = session(3, tracks=False)
    assert set(modes(bare)) == {"EXPLORE"}
    assert (label_targets(bare) == NO_TARGET).all()


def test_half_an_hour_is_labelled_in_seconds() -> None:
    minute = play(60, {i: (DRONE, 0.9 - i / 100, 0.5) for i in range(5, 20)}, clicks=dict.fromkeys(range(10, 1190, 12), (0.8, 0.5)))
    began = time.process_time()
    for _ in range(30):
        label_modes(minute)
    assert time.process_time() - began < 6.0  # about 1 s; slack for a busy machine
