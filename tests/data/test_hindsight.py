"""Hindsight labels by the rules, on made-up play."""

from __future__ import annotations

import dataclasses

import numpy as np

from data.hindsight import label_modes, label_targets
from data.profile import ARENA_PROFILE
from data.schema import NO_TARGET, Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder, empty_steps
from data.vocabulary import MODES
from tests.trainers.synthetic import TICK_NS, session

SELF, DRONE, HUNTER, LOOT, LOCK = (ARENA_PROFILE.class_names().index(n) for n in ("self", "drone", "hunter", "loot", "lock"))


def play(
    seconds: float,
    things: dict[int, tuple[int, float, float]],
    path: tuple[float, float] = (0.0, 0.0),
    hp: float = 1.0,
    firing: bool = False,
    clicks: dict[int, tuple[float, float]] | None = None,
    lock_from: int | None = None,
) -> Steps:
    """The ship starts in the middle and moves by ``path`` (1/s). ``things``: id -> class, x, y. ``clicks``: row -> place."""
    rows = StepsBuilder(ARENA_PROFILE)
    for row in range(round(seconds * 20)):
        own = (0.5 + path[0] * row / 20, 0.5 + path[1] * row / 20)
        objects = {1: (SELF, *own), **things}
        if lock_from is not None and row >= lock_from:
            drone = next((x, y) for c, x, y in things.values() if c == DRONE)
            objects[99] = (LOCK, *drone)
        boxes = np.array([[x, y, 0.03, 0.05] for _, x, y in objects.values()], np.float32)
        n = len(objects)
        zeros = np.zeros(n, np.float32)
        classes = np.array([c for c, _, _ in objects.values()], np.int32)
        tracks = Tracks(np.array(list(objects), np.int32), classes, boxes, zeros + 1, np.zeros((n, 2), np.float32), zeros, zeros)
        time_ns = (row + 1) * TICK_NS
        status = Status({"hp": hp, "shield": 1.0}, {"locked": lock_from is not None and row >= lock_from, "firing": firing})
        at = (clicks or {}).get(row)
        action = Action(*(at or own), ("mouse_left",) if at else ())
        rows.append(Step(Observation(time_ns, time_ns, row, status, tracks, own), action))
    return rows.build()


def modes(steps: Steps) -> list[str]:
    return [MODES[m] for m in label_modes(steps)]


def test_nothing_near_is_explore() -> None:
    assert set(modes(play(3, {5: (DRONE, 0.95, 0.95)}))) == {"EXPLORE"}


def test_an_enemy_clicked_or_locked_is_fight_from_the_time_it_was_aimed_at() -> None:
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, lock_from=83, clicks={80: (0.9, 0.5)})
    said = modes(steps)
    assert said[73] == "EXPLORE"
    assert said[74] == said[80] == said[119] == "FIGHT"
    targets = label_targets(steps)
    assert targets[45] == targets[81] == targets[119] == 5  # what comes within two seconds, then what is locked
    assert targets[30] == NO_TARGET


def test_what_was_clicked_lasts_two_seconds_in_a_game_without_locks() -> None:
    profile = ARENA_PROFILE.model_copy(
        update={"classes": tuple(c for c in ARENA_PROFILE.classes if c.role != "lock"), "icons": (), "name": "lockless"}
    )
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, clicks={40: (0.9, 0.5)})
    steps = dataclasses.replace(steps, profile=profile, flags=steps.flags[:, :0])
    said = modes(steps)
    assert (said[20], said[40], said[79], said[82]) == ("EXPLORE", "FIGHT", "FIGHT", "EXPLORE")


def test_firing_at_the_locked_enemy_is_fight_and_names_it() -> None:
    steps = play(4, {5: (DRONE, 0.6, 0.5)}, firing=True, lock_from=0)
    assert set(modes(steps)) == {"FIGHT"}
    assert set(label_targets(steps).tolist()) == {5}


def test_loot_is_loot_from_the_aim_until_it_is_taken() -> None:
    clicked = play(4, {6: (LOOT, 0.8, 0.5)}, clicks={60: (0.8, 0.5)})
    assert modes(clicked)[53] == "EXPLORE"
    assert modes(clicked)[54] == modes(clicked)[60] == modes(clicked)[79] == "LOOT"
    assert label_targets(clicked)[60] == label_targets(clicked)[70] == 6
    gone = taken(clicked, 6, 70)
    assert (modes(gone)[69], modes(gone)[70]) == ("LOOT", "EXPLORE")
    assert label_targets(gone)[70] == NO_TARGET
    closing = play(3, {6: (LOOT, 0.62, 0.5)}, path=(0.05, 0.0))
    assert modes(closing)[5] == "LOOT"  # nobody clicks anything here


def test_a_click_elsewhere_ends_the_way_to_loot_and_a_lock_does_not() -> None:
    things = {6: (LOOT, 0.8, 0.5), 5: (DRONE, 0.2, 0.2)}
    elsewhere = play(4, things, clicks={20: (0.8, 0.5), 50: (0.5, 0.9)})
    assert (modes(elsewhere)[49], modes(elsewhere)[50]) == ("LOOT", "EXPLORE")
    locking = play(4, things, clicks={20: (0.8, 0.5), 50: (0.2, 0.2)}, lock_from=51)
    assert (modes(locking)[40], modes(locking)[50], modes(locking)[60]) == ("LOOT", "FIGHT", "LOOT")
    assert label_targets(locking)[60] == 6


def taken(steps: Steps, track_id: int, row: int) -> Steps:
    """The same play with a thing gone from a row on."""
    rows = np.repeat(np.arange(len(steps)), np.diff(steps.track_offsets))
    keep = ~((steps.track_ids == track_id) & (rows >= row))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=len(steps)))])
    columns = {
        f.name: getattr(steps, f.name)[keep] for f in dataclasses.fields(steps) if f.name.startswith("track_") and f.name != "track_offsets"
    }
    return dataclasses.replace(steps, track_offsets=offsets.astype(np.int64), **columns)


def test_a_dangerous_enemy_near_is_flee_whatever_else_unless_it_is_fought() -> None:
    assert set(modes(play(3, {5: (HUNTER, 0.6, 0.5)}))) == {"FLEE"}
    assert set(modes(play(3, {5: (HUNTER, 0.6, 0.5), 6: (LOOT, 0.8, 0.5)}, clicks={30: (0.8, 0.5)}))) == {"FLEE"}
    assert set(modes(play(3, {5: (HUNTER, 0.95, 0.5)}))) == {"EXPLORE"}


def test_without_the_own_ship_it_is_explore() -> None:
    steps = play(3, {5: (HUNTER, 0.6, 0.5)})
    assert modes(taken(steps, 1, 40))[39:41] == ["FLEE", "EXPLORE"]


def test_moving_away_is_flee_when_hp_is_low_else_cautious() -> None:
    assert modes(play(4, {5: (DRONE, 0.6, 0.5)}, path=(-0.06, 0.0), hp=0.2))[0] == "FLEE"
    assert modes(play(4, {5: (DRONE, 0.6, 0.5)}, path=(-0.06, 0.0), hp=0.9))[0] == "CAUTIOUS"
    assert modes(play(4, {5: (DRONE, 0.6, 0.5)}))[0] == "CAUTIOUS"  # range kept
    assert modes(play(4, {5: (DRONE, 0.7, 0.5)}, path=(0.05, 0.0)))[0] == "EXPLORE"  # closing in, no lock
    chased = play(4, {5: (DRONE, 0.6, 0.5)}, path=(-0.06, 0.0), hp=0.2)
    chased.track_boxes[chased.track_ids == 5, 0] -= np.float32(0.1) * np.arange(80, dtype=np.float32) / 20
    assert modes(chased)[0] == "FLEE"  # it flies away, though the other comes nearer


def test_the_click_belongs_to_its_own_row_not_to_the_next() -> None:
    """Off by one: the label of the clicking row is the click, of the row after it the next click's."""
    steps = session(6)
    rows = np.flatnonzero(np.diff(steps.onset_offsets) > 0)
    targets = label_targets(steps)
    for row in rows[:-1]:
        clicked = int(steps.track_ids[steps.track_offsets[row] + 1])
        assert targets[row] == clicked
        assert targets[row + 1] == NO_TARGET  # the next click is at a track that is not there yet
    late = session(6, lag=1)
    moved = label_targets(late)
    assert (moved[1:] == targets[:-1])[rows[:-1]].all() or not np.array_equal(moved, targets)
    assert [r + 1 for r in rows] == np.flatnonzero(np.diff(late.onset_offsets) > 0).tolist()


def test_a_gap_hides_what_comes_after_it() -> None:
    steps = play(6, {5: (DRONE, 0.9, 0.5)}, lock_from=80, clicks={80: (0.9, 0.5)})
    assert modes(steps)[77] == "FIGHT"
    times = steps.time_ns.copy()
    times[78:] += 3_000_000_000
    assert modes(dataclasses.replace(steps, time_ns=times))[77] == "EXPLORE"


def test_empty_and_trackless_sessions_are_labelled_without_error() -> None:
    assert len(label_modes(empty_steps(ARENA_PROFILE))) == 0
    bare = session(3, tracks=False)
    assert set(modes(bare)) == {"EXPLORE"}
    assert (label_targets(bare) == NO_TARGET).all()
