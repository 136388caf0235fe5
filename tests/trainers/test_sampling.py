"""Rows as live flight sees them, and the hand's lag: what stays, what moves, and that an off-by-one shows."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data.checkpoint import CheckpointError, load
from data.profile import ARENA_PROFILE
from data.schema import Action, Observation, Status, Step, Tracks
from data.steps import Steps, StepsBuilder, input_names
from data.track_lookup import click_rows
from data.windows import Part, stretches
from tests.trainers.synthetic import session
from trainers import executor
from trainers.loop import LoopSettings
from trainers.sampling import LiveModel, SamplingSettings, lagged, resample, unchanged

TICK_NS = 50_000_000
STILL = LiveModel(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    steps = [session(10)]
    one, two, other = (resample(steps, LiveModel(), seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.sessions[0].time_ns, two.sessions[0].time_ns)
    np.testing.assert_array_equal(one.sessions[0].track_boxes, two.sessions[0].track_boxes)
    assert len(one.kept[0]) != len(other.kept[0]) or (one.sessions[0].time_ns != other.sessions[0].time_ns).any()


def test_a_model_without_faults_changes_nothing() -> None:
    steps = session(10)
    same = resample([steps], STILL, 0).sessions[0]
    for field in dataclasses.fields(steps)[1:]:
        expected, values = getattr(steps, field.name), getattr(same, field.name)
        if expected is None:
            assert values is None
        else:
            np.testing.assert_allclose(values, expected, atol=1e-6, err_msg=field.name)


def test_ticks_jitter_come_late_are_skipped_and_see_old_pictures() -> None:
    steps = session(200)
    model = LiveModel()
    seen = resample([steps], model, 1)
    made, kept = seen.sessions[0], seen.kept[0]
    assert 1 - len(kept) / len(steps) == pytest.approx(model.skipped, abs=0.005)
    moved_s = (made.time_ns - steps.time_ns[kept]) / 1e9
    assert np.median(np.abs(moved_s)) == pytest.approx(0.67 * model.jitter_s, abs=0.0007)
    assert 0.02 < moved_s.max() <= model.late_s + 3 * model.jitter_s
    assert (np.diff(made.time_ns) >= 0).all()
    assert (made.frame_number != steps.frame_number[kept]).mean() == pytest.approx(model.stale, abs=0.006)
    lost = 1 - len(made.track_ids) / int(np.diff(steps.track_offsets)[kept].sum())
    assert lost == pytest.approx(model.lost, abs=0.003)
    known = np.isfinite(made.levels)
    assert (known == np.isfinite(steps.levels[kept])).all()
    np.testing.assert_array_equal(made.action_xy, steps.action_xy[kept])


def test_boxes_tremble_in_pixels_alike_along_both_axes() -> None:
    steps = session(100)
    model = replace(STILL, centre_widths=0.002)
    made = resample([steps], model, 2).sessions[0]
    width, height = ARENA_PROFILE.picture_size
    moved_px = (made.track_boxes[:, :2] - steps.track_boxes[:, :2]) * np.array([width, height])
    assert moved_px.std(0).tolist() == pytest.approx([0.002 * width] * 2, rel=0.06)


def test_no_press_is_lost_with_the_tick_that_never_came() -> None:
    steps = session(100)
    seen = resample([steps], replace(STILL, skipped=0.3), 5)
    made, kept = seen.sessions[0], seen.kept[0]
    clicks, wanted = click_rows(made), click_rows(steps)
    assert len(made.onset_codes) == len(steps.onset_codes)
    assert len(clicks) == len(wanted)
    assert (kept[clicks] >= wanted).all()
    assert (kept[clicks] == wanted)[np.isin(wanted, kept)].all()


def test_parts_and_labels_follow_the_rows_that_are_kept() -> None:
    steps = session(20)
    seen = resample([steps], replace(STILL, skipped=0.2), 6)
    (part,) = seen.parts([Part(0, 100, 300)])
    assert seen.kept[0][part.start] >= 100 > seen.kept[0][part.start - 1]
    assert seen.kept[0][part.stop - 1] < 300 <= seen.kept[0][part.stop]
    np.testing.assert_array_equal(seen.rows([np.arange(len(steps))])[0], seen.kept[0])
    assert unchanged([steps]).parts([Part(0, 3, 9)]) == (Part(0, 3, 9),)


def test_the_hand_answers_so_many_ticks_later() -> None:
    steps = session(10)
    (made,) = lagged([steps], 3)
    assert click_rows(made).tolist() == [row - 3 for row in click_rows(steps).tolist()]
    np.testing.assert_array_equal(made.cursor[:-3], steps.cursor[3:])
    np.testing.assert_array_equal(made.track_boxes, steps.track_boxes)
    assert stretches(made) == [(0, len(steps) - 3)]
    assert lagged([steps], 0)[0] is steps
    with pytest.raises(ValueError, match="-1 would answer"):
        lagged([steps], -1)


def test_no_hand_reaches_over_a_gap() -> None:
    steps = session(10)
    times = steps.time_ns.copy()
    times[100:] += 5_000_000_000
    (made,) = lagged([replace(steps, time_ns=times)], 3)
    assert stretches(made) == [(0, 97), (100, 197)]


def answering(lag: int, seed: int, seconds: float = 20.0) -> Steps:
    """An enemy jumps to another place at every tick; each click goes to where it was ``lag`` ticks before."""
    rng = np.random.default_rng(seed)
    rows, places = StepsBuilder(ARENA_PROFILE), rng.uniform(0.15, 0.85, (round(seconds * 20) + lag, 2))
    zeros = np.zeros(2, np.float32)
    for tick in range(round(seconds * 20)):
        now, then = places[tick + lag], places[tick]
        boxes = np.array([[0.5, 0.5, 0.03, 0.05], [*now, 0.03, 0.05]], np.float32)
        seen = Tracks(np.array([1, 2], np.int32), np.array([0, 1], np.int32), boxes, zeros + 1, np.zeros((2, 2), np.float32), zeros, zeros)
        time_ns = (tick + 1) * TICK_NS
        point = float(then[0]), float(then[1])
        onsets = ("mouse_left",) if tick % 4 == 0 else ()
        observation = Observation(time_ns, time_ns, tick, Status({"hp": 1.0}), seen, point)
        rows.append(Step(observation, Action(*point, onsets, frozenset(onsets)), "demonstrator", "rule"))
    return rows.build()


def test_a_policy_is_best_at_the_lag_that_the_hand_has(tmp_path: Path) -> None:
    # Lag 3: no moment of the Executor's history (0, 2, 4, 8, 16 ticks) gives away what an off-by-one would need.
    sessions = [answering(3, seed) for seed in range(3)]
    px: dict[int, float] = {}
    for lag in (2, 3, 4):
        sampling = SamplingSettings(live=False, reaction_lag_ticks=lag)
        loop = LoopSettings(12, 64, 3e-3, warmup_steps=5, device="cpu", checkpoints=False)
        settings = replace(executor.QUICK, loop=loop, width=32, sampling=sampling)
        px[lag] = load(executor.train(sessions, settings, tmp_path / str(lag)).best).card["points"]["point_px"]
    assert px[3] < 25
    assert min(px[2], px[4]) > 4 * px[3]


def test_resuming_with_another_sampling_is_refused(tmp_path: Path) -> None:
    sessions = [session(8, seed=i) for i in range(2)]
    settings = replace(executor.QUICK, loop=LoopSettings(1, 32, 1e-3, device="cpu"), width=32)
    executor.train(sessions, settings, tmp_path)
    assert load(tmp_path / "best_model").card["recipe"]["sampling"]["live"] is True
    with pytest.raises(CheckpointError, match="sampling"):
        executor.train(sessions, replace(settings, sampling=SamplingSettings(live=False)), tmp_path, resume=True)


def test_every_input_name_is_pressed_as_often_after_resampling() -> None:
    steps = session(60)
    made = resample([steps], LiveModel(), 9).sessions[0]
    for code in range(len(input_names(ARENA_PROFILE))):
        assert (made.onset_codes == code).sum() == (steps.onset_codes == code).sum()
