"""Episodes recorded in memory: who sees what."""

from __future__ import annotations

import numpy as np
import pytest

from data.schema import NO_TARGET, Observation, Tracks
from engine.lockstep import SAME_OBJECT, record_episode, run_episode, same_track
from engine.pixels import PixelEyes
from league.arena.emulated import EmulatedObserver, TruthObserver
from league.arena.pilots import make_pilot

SEED, TICKS = 5, 400


def test_a_demonstrator_flies_by_its_own_eyes_and_what_was_perceived_is_kept() -> None:
    saw: list[Observation] = []
    steps, flown = record_episode(EmulatedObserver(seed=SEED), make_pilot("expert", SEED), "expert", SEED, TICKS, witness=saw.append)
    alone = run_episode(TruthObserver(), make_pilot("expert", SEED), SEED, TICKS)
    assert (flown.score, flown.counters) == (alone.score, alone.counters)
    assert len(saw) == len(steps) == TICKS
    assert any(len(seen.tracks) != len(steps.tracks(row)) for row, seen in enumerate(saw)), "perception misses some things"


def test_its_target_is_told_in_ids_of_what_was_perceived() -> None:
    saw: list[Observation] = []
    steps, _ = record_episode(EmulatedObserver(seed=SEED), make_pilot("expert", SEED), "expert", SEED, TICKS, witness=saw.append)
    aimed = np.flatnonzero(steps.target_id != NO_TARGET)
    assert len(aimed) > TICKS / 4
    assert all(steps.target_id[row] in steps.tracks(row).ids for row in aimed.tolist())


def test_from_pictures_a_demonstrator_plays_just_so() -> None:
    steps = PixelEyes().record("expert", SEED, ticks=TICKS // 4)
    exact, _ = record_episode(TruthObserver(), make_pilot("expert", SEED), "expert", SEED, TICKS // 4)
    assert np.array_equal(steps.action_xy, exact.action_xy)
    assert np.array_equal(steps.onset_codes, exact.onset_codes)
    assert np.array_equal(steps.mode, exact.mode)
    assert not np.array_equal(steps.track_offsets, exact.track_offsets)
    aimed = np.flatnonzero(steps.target_id != NO_TARGET)
    assert len(aimed)
    assert all(steps.target_id[row] in steps.tracks(row).ids for row in aimed.tolist())


@pytest.mark.parametrize(
    ("target", "found"),
    [(7, 70), (8, NO_TARGET), (9, NO_TARGET), (NO_TARGET, NO_TARGET)],
    ids=["the nearer of two", "of another class", "nothing of that name", "none"],
)
def test_a_thing_is_found_among_tracks_by_class_and_place(target: int, found: int) -> None:
    def tracks(ids: list[int], classes: list[int], xs: list[float]) -> Tracks:
        boxes = np.array([[x, 0.5, 0.05, 0.05] for x in xs], np.float32)
        one = np.ones(len(ids), np.float32)
        velocities = np.zeros((len(ids), 2), np.float32)
        return Tracks(np.array(ids, np.int32), np.array(classes, np.int32), boxes, one, velocities, one, 0 * one)

    exact = tracks([7, 8], [1, 2], [0.5, 0.2])
    perceived = tracks([70, 71, 72], [1, 1, 1], [0.51, 0.52, 0.2])
    assert same_track(exact, target, perceived) == found
    far = tracks([70], [1], [0.5 + 2 * SAME_OBJECT])
    assert same_track(exact, target, far) == same_track(exact, target, Tracks.empty()) == NO_TARGET
