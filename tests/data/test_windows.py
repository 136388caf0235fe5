"""Windows, gaps, splits and folds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from data.features import slot_inputs
from data.windows import Part, Split, folds, sample_rows, split_sessions, stretches, stride_of, window_count, window_starts
from tests.trainers.synthetic import session


def test_the_count_is_the_formula_and_prints_its_numbers() -> None:
    counted = window_count(900, 16)
    assert stride_of(16) == 4
    assert counted.count == 222
    assert str(counted) == "floor((900 - 16) / 4) + 1 = 222"
    assert len(window_starts(900, 16)) == 222
    assert window_count(15, 16).count == 0
    assert window_starts(16, 16).tolist() == [0]
    assert stride_of(1) == 1
    with pytest.raises(ValueError, match="not a window"):
        window_count(10, 0)


def test_stretches_never_bridge_gaps_focus_loss_or_the_bot() -> None:
    steps = session(10)
    times = steps.time_ns.copy()
    times[100:] += 2_000_000_000
    focus = steps.focus.copy()
    focus[150:160] = False
    actor = steps.actor.copy()
    actor[20:30] = 2  # bot
    cut = dataclasses.replace(steps, time_ns=times, focus=focus, actor=actor)
    assert stretches(cut) == [(0, 20), (30, 100), (100, 150), (160, 200)]


def test_the_history_does_not_look_over_a_gap() -> None:
    steps = session(4)
    times = steps.time_ns.copy()
    times[40:] += 5_000_000_000
    cut = dataclasses.replace(steps, time_ns=times)
    after, whole = slot_inputs(cut, np.array([41])), slot_inputs(steps, np.array([41]))
    assert not np.allclose(after.context, whole.context)  # 0.1 s and more before: missing, not the rows over the gap


def test_sampling_follows_a_clock_with_a_phase() -> None:
    times = np.arange(100, dtype=np.int64) * 50_000_000
    assert sample_rows(times, 1.0).tolist() == [0, 20, 40, 60, 80]
    assert sample_rows(times, 1.0, 0.5).tolist() == [10, 30, 50, 70, 90]
    assert sample_rows(times, 5.0)[:3].tolist() == [0, 4, 8]


def test_a_split_leaks_nothing_and_is_fixed_by_its_seed() -> None:
    lengths = [100, 200, 300, 400, 500]
    split = split_sessions(lengths, seed=3)
    trained, checked = {p.session for p in split.train}, {p.session for p in split.validation}
    assert not trained & checked
    assert trained | checked == set(range(5))
    assert checked
    assert split == split_sessions(lengths, seed=3)
    assert Split.from_json(split.to_json()) == split
    assert any(split_sessions(lengths, seed=s) != split for s in range(10))


def test_a_lone_session_is_cut_into_blocks_with_a_gap() -> None:
    for seed in range(6):
        split = split_sessions([1000], seed, gap_rows=20)
        (train,), (check,) = split.train, split.validation
        first, second = sorted((train, check), key=lambda p: p.start)
        assert second.start - first.stop == 20
        assert check.stop - check.start == 200
    assert split_sessions([5], 0).validation == ()


def test_folds_predict_only_what_they_did_not_learn_from() -> None:
    parts = [Part(i, 0, 50) for i in range(7)]
    told: list[Part] = []
    for learn, tell in folds(parts, 3, 0):
        assert not set(learn) & set(tell)
        told += tell
    assert sorted(told, key=lambda p: p.session) == parts
    lone = folds([Part(0, 10, 110)], 2, 0)
    assert [sum(p.stop - p.start for p in tell) for _, tell in lone] == [50, 50]
