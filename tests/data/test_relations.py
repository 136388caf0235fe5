"""What lies where to what: the features that decide a mode or a target, on a picture made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from data.features import mirror, set_features, set_inputs, summary_features, summary_vectors
from data.profile import ARENA_PROFILE
from data.relations import nearness_to
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder
from data.track_lookup import ClickLog

NAMES = [f.name for f in summary_features(ARENA_PROFILE)]
TRACK_NAMES = [f.name for f in set_features(ARENA_PROFILE)]
ASPECT = 360 / 640
Thing = tuple[str, float, float]


def picture(*things: Thing, hp: float = 1.0) -> Steps:
    """One row with these things (class, x and y in 0..1); ids count up from 0."""
    built, count = StepsBuilder(ARENA_PROFILE), len(things)
    boxes = np.array([[x, y, 0.03, 0.05] for _, x, y in things], np.float32)
    classes = np.array([ARENA_PROFILE.class_names().index(name) for name, _, _ in things], np.int32)
    ones, zeros = np.ones(count, np.float32), np.zeros(count, np.float32)
    tracks = Tracks(np.arange(count, dtype=np.int32), classes, boxes, ones, np.zeros((count, 2), np.float32), ones, zeros)
    built.append(Step(Observation(1_000_000_000, 1_000_000_000, 0, Status({"hp": hp}), tracks, None), Action(0.5, 0.5)))
    return built.build()


def summary(steps: Steps) -> dict[str, float]:
    return dict(zip(NAMES, summary_vectors(steps, np.zeros(1, np.int64))[0].tolist(), strict=True))


def near(widths: float) -> float:
    return math.exp(-widths / 0.25)


def test_the_locked_enemy_is_told_from_the_others() -> None:
    told = summary(picture(("self", 0.5, 0.5), ("raider", 0.6, 0.5), ("raider", 0.8, 0.5), ("drone", 0.5, 0.7), ("lock", 0.6, 0.5)))
    assert (told["lock.raider"], told["lock.drone"]) == (1, 0)
    assert told["lock.near"] == pytest.approx(near(0.1), abs=1e-5)
    assert told["unlocked.raider"] == pytest.approx(near(0.3), abs=1e-5)
    assert told["unlocked.drone"] == pytest.approx(near(0.2 * ASPECT), abs=1e-5)
    assert told["near.raider"] == pytest.approx(near(0.1), abs=1e-5)


def test_danger_near_the_ship_and_near_loot() -> None:
    told = summary(picture(("self", 0.5, 0.5), ("hunter", 0.7, 0.5), ("cache", 0.8, 0.5), ("loot", 0.3, 0.5)))
    assert told["danger.near"] == pytest.approx(near(0.2), abs=1e-5)
    assert told["danger.threat"] == 1
    assert told["cache.danger"] == pytest.approx(near(0.1), abs=1e-5)
    assert told["loot.danger"] == pytest.approx(near(0.4), abs=1e-5)
    far = summary(picture(("self", 0.2, 0.5), ("hunter", 0.7, 0.5)))
    assert (far["danger.threat"], far["cache.danger"]) == (0, 0)


def test_loot_that_can_be_fetched_without_losing_the_target() -> None:
    things = [("self", 0.5, 0.5), ("drone", 0.6, 0.5), ("loot", 0.52, 0.5), ("loot", 0.45, 0.5)]
    # The first crate is nearer to both: the larger of its two ways is that to the drone.
    assert summary(picture(*things, ("lock", 0.6, 0.5)))["loot.with_lock"] == pytest.approx(near(0.08), abs=1e-5)
    assert summary(picture(*things))["loot.with_lock"] == 0


def test_what_the_destination_mark_lies_on() -> None:
    things = [("self", 0.5, 0.5), ("loot", 0.7, 0.5), ("cache", 0.2, 0.5), ("drone", 0.9, 0.5)]
    told = summary(picture(*things, ("mark", 0.703, 0.5)))
    assert (told["mark.on.loot"], told["mark.on.cache"], told["mark.on.drone"]) == (1, 0, 0)
    assert told["mark.dx"] == pytest.approx(0.203, abs=1e-5)
    assert told["mark.away"] == pytest.approx(0.197 - 0.4, abs=1e-5)
    beside = summary(picture(*things, ("mark", 0.75, 0.5)))
    assert beside["mark.on.loot"] == 0
    assert all(v == 0 for k, v in summary(picture(*things)).items() if k.startswith("mark."))


def test_low_hp_is_what_the_profile_calls_low() -> None:
    ship = ("self", 0.5, 0.5)
    assert summary(picture(ship, hp=ARENA_PROFILE.low_hp - 0.01))["low.hp"] == 1
    assert summary(picture(ship, hp=ARENA_PROFILE.low_hp + 0.01))["low.hp"] == 0


def test_a_track_of_the_set_knows_the_lock_danger_and_the_mark() -> None:
    steps = picture(
        ("self", 0.5, 0.5), ("drone", 0.6, 0.5), ("loot", 0.7, 0.5), ("hunter", 0.9, 0.5), ("lock", 0.6, 0.5), ("mark", 0.7, 0.5)
    )
    inputs = set_inputs(steps, np.zeros(1, np.int64), ClickLog.of(steps))
    rows = {int(i): dict(zip(TRACK_NAMES, inputs.tracks[0, k].tolist(), strict=True)) for k, i in enumerate(inputs.ids[0]) if i >= 0}
    assert (rows[1]["locked"], rows[2]["locked"]) == (1, 0)
    assert (rows[1]["marked"], rows[2]["marked"], rows[5]["marked"]) == (0, 1, 0)
    assert rows[2]["to_lock"] == pytest.approx(near(0.1), abs=1e-5)
    assert rows[2]["to_danger"] == pytest.approx(near(0.2), abs=1e-5)
    assert rows[3]["to_danger"] == 1


def test_nearness_to_several_and_to_none() -> None:
    relative = np.array([[[0.0, 0.0], [0.1, 0.0], [0.4, 0.0]], [[0.0, 0.0], [0.1, 0.0], [0.4, 0.0]]], np.float32)
    these = np.array([[True, False, True], [False, False, False]])
    np.testing.assert_allclose(nearness_to(relative, these), [[1, near(0.1), 1], [0, 0, 0]], atol=1e-6)


def test_summaries_are_mirrored_like_the_picture() -> None:
    things = [("self", 0.4, 0.3), ("drone", 0.6, 0.55), ("loot", 0.7, 0.5), ("mark", 0.7, 0.5)]
    plain = summary_vectors(picture(*things), np.zeros(1, np.int64))
    for axis in (0, 1):
        turned = [(n, 1 - x if axis == 0 else x, 1 - y if axis == 1 else y) for n, x, y in things]
        scale, shift = mirror(summary_features(ARENA_PROFILE), axis)
        np.testing.assert_allclose(summary_vectors(picture(*turned), np.zeros(1, np.int64)), plain * scale + shift, atol=1e-5)


def test_a_summary_says_what_there_was_when_the_player_made_up_its_mind() -> None:
    built, names = StepsBuilder(ARENA_PROFILE), [f.name for f in summary_features(ARENA_PROFILE)]
    for tick in range(8):
        things = [("self", 0.5, 0.5), *([("drone", 0.6, 0.5)] if tick < 6 else [])]
        steps = picture(*things, hp=1.0 - tick / 10)
        seen = replace(steps.observation(0), time_ns=tick * 50_000_000)
        built.append(Step(seen, Action(0.5, 0.5)))
    found = [dict(zip(names, row.tolist(), strict=True)) for row in summary_vectors(built.build(), np.array([7, 2]))]
    assert (found[0]["count.drone"], found[0]["count.drone@0.2s"]) == (0, 1 / 8)
    assert found[0]["near.drone@0.2s"] == pytest.approx(near(0.1))
    assert (found[0]["level.hp"], found[0]["level.hp@0.2s"]) == (pytest.approx(0.3), pytest.approx(0.7))
    assert found[1]["level.hp@0.2s"] == found[1]["level.hp"], "nothing is known of the moment before"
