"""Features: the live path and the training path give the same numbers; edge cases stay finite."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from data.features import (
    ANSWERED_S,
    FEATURE_VERSION,
    LAGS_S,
    SET_TRACKS,
    SLOTS,
    Normaliser,
    context_features,
    mirror,
    past_cursors,
    set_context_features,
    set_features,
    set_inputs,
    slot_features,
    slot_inputs,
    summary_features,
    summary_sequence,
    summary_vectors,
)
from data.profile import ARENA_PROFILE
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder
from data.track_lookup import NEVER_S, ClickLog, TrackIndex, lag_rows
from tests.trainers.synthetic import session

TICK_NS = 50_000_000
WANTED = [(4688.6803, -825.9459), (2401.5864, -7.2314), (655.5263, 278.73), (4785.5161, -1179.0964), (509.3637, 31.7812), (91.1064, 5.2851)]
"""Plain and weighted sums of the inputs of ``random_steps(seed=7)``."""


def random_steps(rows: int = 60, seed: int = 0) -> Steps:
    rng = np.random.default_rng(seed)
    built = StepsBuilder(ARENA_PROFILE)
    for row in range(rows):
        n = int(rng.integers(0, 30))
        ids = rng.permutation(40)[:n].astype(np.int32)
        boxes = np.concatenate([rng.random((n, 2)), 0.02 + 0.05 * rng.random((n, 2))], axis=1).astype(np.float32)
        classes = rng.integers(0, len(ARENA_PROFILE.classes), n).astype(np.int32)
        tracks = Tracks(
            ids,
            classes,
            boxes,
            rng.random(n).astype(np.float32),
            rng.normal(0, 0.2, (n, 2)).astype(np.float32),
            (5 * rng.random(n)).astype(np.float32),
            (0.5 * rng.random(n)).astype(np.float32),
        )
        status = Status(
            {"hp": float(rng.random()), "shield": None if rng.random() < 0.3 else 0.5},
            {"locked": bool(rng.random() < 0.5)},
            {"ammo": int(rng.integers(1, 4))},
            {"boost": float(rng.random())},
        )
        time_ns = (row + 1) * TICK_NS + int(rng.integers(-8_000_000, 8_000_000))
        cursor = None if rng.random() < 0.2 else (float(rng.random()), float(rng.random()))
        onsets = ("mouse_left",) if rng.random() < 0.2 else ()
        built.append(Step(Observation(time_ns, time_ns, row, status, tracks, cursor), Action(0.5, 0.5, onsets), "human"))
    return built.build()


def live(steps: Steps, rows: list[int]) -> Steps:
    """What the policy has: some observations, put into Steps anew."""
    built = StepsBuilder(steps.profile)
    for row in rows:
        built.append(Step(steps.observation(row), Action(0.5, 0.5)))
    return built.build()


def test_executor_inputs_are_the_same_live_and_in_training() -> None:
    steps = random_steps()
    trained = slot_inputs(steps, np.arange(len(steps)))
    for row in (0, 1, 7, 20, 59):
        wanted = np.unique(lag_rows(steps, np.array([row]), (0.0, 0.1, 0.2, 0.4, 0.8)))
        few = live(steps, [int(r) for r in wanted if r >= 0])
        flown = slot_inputs(few, np.array([len(few) - 1]))
        for name in ("slots", "present", "ids", "boxes", "context", "own"):
            np.testing.assert_allclose(getattr(flown, name)[0], getattr(trained, name)[row], atol=1e-6, err_msg=name)


def test_tactician_and_strategist_inputs_are_the_same_live_and_in_training() -> None:
    steps = random_steps(seed=1)
    log = ClickLog.of(steps)
    trained = set_inputs(steps, np.arange(len(steps)), log)
    summaries = summary_sequence(steps.profile, summary_vectors(steps, np.arange(0, 60, 20)), steps.time_ns[::20])
    seen = []
    for i, row in enumerate((0, 20, 40)):
        known = np.unique(lag_rows(steps, np.array([row]), (0.0, ANSWERED_S)))
        few = live(steps, [int(r) for r in known if r >= 0])
        last = np.array([len(few) - 1])
        flown = set_inputs(few, last, log)
        np.testing.assert_allclose(flown.tracks[0], trained.tracks[row], atol=1e-6)
        np.testing.assert_allclose(flown.context[0], trained.context[row], atol=1e-6)
        seen.append(summary_vectors(few, last)[0])
        np.testing.assert_allclose(
            summary_sequence(steps.profile, np.stack(seen), steps.time_ns[: i * 20 + 1 : 20])[-1], summaries[i], atol=1e-6
        )


def test_sizes_follow_the_names_and_ranges_hold() -> None:
    steps = random_steps(seed=2)
    rows = np.arange(len(steps))
    slots, chosen, summary = slot_inputs(steps, rows), set_inputs(steps, rows, ClickLog.of(steps)), summary_vectors(steps, rows)
    profile = steps.profile
    assert slots.slots.shape == (60, SLOTS, len(slot_features(profile)))
    assert slots.context.shape == (60, len(context_features(profile)))
    assert chosen.tracks.shape == (60, SET_TRACKS, len(set_features(profile)))
    assert chosen.context.shape == (60, len(set_context_features(profile)))
    assert summary.shape == (60, len(summary_features(profile)))
    for values, features in (
        (slots.slots, slot_features(profile)),
        (chosen.tracks, set_features(profile)),
        (summary, summary_features(profile)),
    ):
        flat = values.reshape(-1, values.shape[-1])
        for i, feature in enumerate(features):
            low, high = min(feature.low, 0.0), max(feature.high, 0.0)  # absent entries are 0
            assert low - 1e-6 <= flat[:, i].min(), feature.name
            assert flat[:, i].max() <= high + 1e-6, feature.name
        assert len({f.name for f in features}) == len(features)


def test_slots_keep_their_track_over_the_history() -> None:
    built = StepsBuilder(ARENA_PROFILE)
    for row in range(20):
        # Two drones change places in the list and in nearness; ids say which is which.
        order = [0, 1] if row % 2 else [1, 0]
        xs = np.array([0.3 + 0.01 * row, 0.7 - 0.01 * row])
        boxes = np.array([[xs[i], 0.5, 0.02, 0.02] for i in order], np.float32)
        zeros, still = np.zeros(2, np.float32), np.zeros((2, 2), np.float32)
        ids = np.array([7 + i for i in order], np.int32)
        tracks = Tracks(ids, np.ones(2, np.int32), boxes, zeros + 1, still, zeros, zeros)
        time_ns = (row + 1) * TICK_NS
        built.append(Step(Observation(time_ns, time_ns, row, Status(), tracks, None), Action(0, 0)))
    inputs = slot_inputs(built.build(), np.array([19]))
    names = [f.name for f in slot_features(ARENA_PROFILE)]
    slot = inputs.ids[0].tolist().index(7)
    now, then = inputs.slots[0, slot, names.index("dx")], inputs.slots[0, slot, names.index("dx.0.8s")]
    assert now - then == pytest.approx(0.16, abs=1e-5)
    assert inputs.slots[0, slot, names.index("missing.0.8s")] == 0


def test_past_cursors_are_those_of_the_rows_before_or_the_present_one() -> None:
    steps = random_steps()
    rows = np.arange(len(steps))
    past = past_cursors(steps, rows)
    assert past.shape == (len(steps), len(LAGS_S) - 1, 2)
    known = np.isfinite(steps.cursor).all(1)
    for row in rows.tolist():
        for lag, seen in zip(lag_rows(steps, rows[row : row + 1], LAGS_S[1:])[0].tolist(), past[row], strict=True):
            wanted = steps.cursor[lag if lag >= 0 and known[lag] else row]
            np.testing.assert_array_equal(seen, wanted)
    np.testing.assert_array_equal(past[0], np.broadcast_to(steps.cursor[0], (len(LAGS_S) - 1, 2)))


def test_no_tracks_and_no_status_stay_finite() -> None:
    built = StepsBuilder(ARENA_PROFILE)
    for row in range(3):
        built.append(Step(Observation((row + 1) * TICK_NS, 0, row, Status(), Tracks.empty(), None), Action(0, 0)))
    steps = built.build()
    rows = np.arange(3)
    slots = slot_inputs(steps, rows)
    assert not slots.present.any()
    assert np.isfinite(slots.slots).all()
    assert np.isfinite(slots.context).all()
    assert np.isfinite(summary_vectors(steps, rows)).all()
    assert np.isfinite(set_inputs(steps, rows, ClickLog.of(steps)).tracks).all()


def test_click_log_counts_only_earlier_clicks() -> None:
    log = ClickLog(np.array([5, 5, 6]), np.array([1_000_000_000, 3_000_000_000, 2_000_000_000]))
    ids = np.array([[5, 6, 9], [5, 6, 9]], np.int32)
    since = log.since(ids, np.array([3_000_000_000, 3_500_000_000]))
    assert since[0].tolist() == [2.0, 1.0, NEVER_S]
    assert since[1].tolist() == [0.5, 1.5, NEVER_S]


def test_track_index_finds_by_row_and_id() -> None:
    steps = random_steps(10, seed=3)
    index = TrackIndex(steps)
    for row in range(10):
        ids = steps.tracks(row).ids
        flat = index.find(np.full(1, row), ids[None, :])[0]
        assert flat.tolist() == list(range(int(steps.track_offsets[row]), int(steps.track_offsets[row + 1])))
    assert (index.find(np.array([-1]), np.array([[3]], np.int32)) == -1).all()


def test_normaliser_leaves_constant_features_unscaled() -> None:
    values = np.zeros((50, 3), np.float32)
    values[:, 1] = 4.0
    values[:, 2] = np.linspace(-1, 1, 50)
    fitted = Normaliser.fit(values)
    done = fitted.apply(values)
    assert np.isfinite(done).all()
    assert (done[:, :2] == 0).all()
    assert done[:, 2].std() == pytest.approx(1.0, abs=1e-3)
    again = Normaliser.from_json(fitted.to_json())
    np.testing.assert_array_equal(again.apply(values), done)


def test_mirror_turns_features_into_those_of_the_mirrored_picture() -> None:
    steps = random_steps(8, seed=4)
    boxes, velocities = steps.track_boxes.copy(), steps.track_velocities.copy()
    boxes[:, 0], velocities[:, 0] = 1 - boxes[:, 0], -velocities[:, 0]
    mirrored = dataclasses.replace(steps, track_boxes=boxes, track_velocities=velocities)
    rows = np.arange(8)
    plain, turned = slot_inputs(steps, rows), slot_inputs(mirrored, rows)
    for name, features in (("slots", slot_features(steps.profile)), ("context", context_features(steps.profile))):
        scale, shift = mirror(features, 0)
        expected = getattr(plain, name) * scale + shift
        if name == "slots":
            expected = expected * plain.present[..., None]
        np.testing.assert_allclose(getattr(turned, name), expected, atol=2e-5)


def test_the_values_are_those_of_this_version() -> None:
    """Policies that were learnt with version 4 get what they learnt from. Other values: raise ``FEATURE_VERSION``."""
    steps = random_steps(seed=7)
    rows = np.arange(len(steps))
    slots, chosen = slot_inputs(steps, rows), set_inputs(steps, rows, ClickLog.of(steps))
    summary = summary_sequence(steps.profile, summary_vectors(steps, rows[::20]), steps.time_ns[::20])
    found = [
        (float(values.sum(dtype=np.float64)), float((values * np.sin(np.arange(values.shape[-1]))).sum(dtype=np.float64)))
        for values in (slots.slots, slots.context, slots.boxes, chosen.tracks, chosen.context, summary)
    ]
    assert FEATURE_VERSION == 4
    np.testing.assert_allclose(found, WANTED, rtol=1e-5, atol=1e-3)


def test_history_and_clicks_end_at_a_gap_as_a_flight_forgets_what_was_before() -> None:
    steps = session(4)
    late = np.arange(len(steps)) >= 40
    apart = dataclasses.replace(steps, time_ns=steps.time_ns + late * 600_000_000)
    rows = np.array([39, 40, 45, 55])
    assert (lag_rows(steps, rows, LAGS_S) >= 0).all()
    assert (lag_rows(apart, rows, LAGS_S) >= 0).tolist() == [
        [True] * 5, [True, False, False, False, False], [True, True, True, False, False], [True, True, True, True, False]
    ]  # fmt: skip
    last = int(steps.track_ids[steps.track_offsets[28] + 1])  # clicked in row 28
    ids = np.array([[last]] * 4, np.int32)
    assert (ClickLog.of(steps).since(ids, steps.time_ns[rows]) < NEVER_S).all()
    assert (ClickLog.of(apart).since(ids, apart.time_ns[rows]) < NEVER_S).ravel().tolist() == [True, False, False, False]
