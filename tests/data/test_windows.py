"""Windows, gaps, splits and folds."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from data.features import slot_inputs
from data.windows import (
    Part,
    Split,
    folds,
    gap_between,
    play_s,
    sample_rows,
    split_sessions,
    stretches,
    stride_of,
    window_count,
    window_starts,
)
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
    assert any(split_sessions(lengths, seed=s) != split for s in range(10))


BOT_LAST = [[(0, 3000)], [(0, 3000)], [(0, 1500), (2000, 3000)], []]
"""Stretches of four sessions of 3,000 rows: the last was flown by the bot."""


def test_only_rows_that_are_learnt_from_are_split_and_folded() -> None:
    for seed in range(8):
        split = split_sessions([3000] * 4, seed, learnt=BOT_LAST)
        assert {p.session for p in (*split.train, *split.validation)} == {0, 1, 2}
        assert len(split.validation) == 1
        for learn, tell in folds(split.train, 3, seed, BOT_LAST):
            assert learn
            assert {p.session for p in learn}.isdisjoint(p.session for p in tell)


def test_a_lone_session_is_cut_by_the_rows_that_are_learnt_from() -> None:
    learnt = [[(6000, 10_000)], []]  # the bot flew first
    for seed in range(8):
        split = split_sessions([10_000, 5000], seed, learnt=learnt)
        (train,), (check,) = split.train, split.validation
        rows = [max(0, p.stop - max(6000, p.start)) for p in (train, check)]
        assert rows[1] == 800
        assert rows[0] == 4000 - 800 - gap_between(4000)
        pieces = [tell for _, tell in folds((Part(0, 0, 10_000),), 3, seed, learnt)]
        assert sorted(max(0, p.stop - max(6000, p.start)) for (p,) in pieces) == [1333, 1333, 1334]


def held_out(split: Split) -> int:
    return sum(p.stop - p.start for p in split.validation)


@pytest.mark.parametrize(
    "lengths",
    [
        [100, 200, 300, 400, 500],
        [1200, 6000, 6000, 7200, 12_000],
        [9000, 400, 400, 400, 3000, 6000],
        [600, 600, 600],
        [650, 350],
        [34, 9, 57],
    ],
)
def test_whole_sessions_hold_out_about_a_fifth(lengths: list[int]) -> None:
    wanted = 0.2 * sum(lengths)
    subsets = itertools.chain.from_iterable(itertools.combinations(lengths, n) for n in range(1, len(lengths)))
    nearest = min(abs(sum(s) - wanted) for s in subsets if 0.1 <= sum(s) / sum(lengths) <= 0.35)
    for seed in range(20):
        split = split_sessions(lengths, seed)
        assert all((p.start, p.stop) == (0, lengths[p.session]) for p in (*split.train, *split.validation))
        assert sorted(p.session for p in (*split.train, *split.validation)) == list(range(len(lengths)))
        assert abs(held_out(split) - wanted) <= max(nearest, 0.1 * wanted)


@pytest.mark.parametrize("lengths", [[36_000, 1200], [600, 600], [1000, 40, 0], [400, 10_000, 500], [5000, 5000, 100]])
def test_where_no_session_is_a_fifth_the_longest_is_cut_with_a_gap(lengths: list[int]) -> None:
    ends: set[int] = set()
    for seed in range(8):
        split = split_sessions(lengths, seed, gap_rows=20)
        (check,) = split.validation
        assert lengths[check.session] == max(lengths)
        assert held_out(split) == round(0.2 * sum(lengths))
        (rest,) = [p for p in split.train if p.session == check.session]
        first, second = sorted((rest, check), key=lambda p: p.start)
        assert (first.start, second.start - first.stop, second.stop) == (0, 20, max(lengths))
        others = [p for p in split.train if p.session != check.session]
        assert others == [Part(i, 0, n) for i, n in enumerate(lengths) if n and i != check.session]
        assert split == split_sessions(lengths, seed, gap_rows=20)
        ends.add(check.start)
    assert len(ends) > 1, "which end is held out is drawn"


def test_equal_sessions_are_drawn_whole_by_the_seed() -> None:
    drawn = [tuple(p.session for p in split_sessions([2400] * 10, seed).validation) for seed in range(40)]
    assert {len(sessions) for sessions in drawn} == {2}
    assert {session for sessions in drawn for session in sessions} == set(range(10))


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


def test_no_fold_has_to_learn_from_the_least_of_the_play() -> None:
    parts = [Part(0, 0, 28_540), Part(1, 0, 1200)]
    pairs = folds(parts, 3, 0)
    assert len(pairs) == 3
    assert all(sum(p.stop - p.start for p in learn) > 0.3 * 29_740 for learn, _ in pairs)
    told = sorted((p for _, tell in pairs for p in tell), key=lambda p: (p.session, p.start))
    assert [(p.session, p.start) for p in told if p.start == 0] == [(0, 0), (1, 0)]
    assert sum(p.stop - p.start for p in told) == 29_740


@pytest.mark.parametrize(("rows", "gap"), [(100, 20), (1200, 60), (3600, 180), (36_000, 640)])
def test_blocks_of_one_session_know_nothing_of_each_other(rows: int, gap: int) -> None:
    assert gap_between(rows) == gap
    for seed in range(4):
        split = split_sessions([rows], seed)
        first, second = sorted((*split.train, *split.validation), key=lambda p: p.start)
        assert second.start - first.stop == gap
        for learn, tell in folds((Part(0, 0, rows),), 3, seed):
            for mine, theirs in itertools.product(learn, tell):
                between = max(mine.start - theirs.stop, theirs.start - mine.stop)
                assert between >= min(gap_between(2 * (rows // 3)), rows // 3 // 4)
            assert sum(part.stop - part.start for part in learn) > rows / 3


def test_a_pause_is_no_play() -> None:
    steps = session(12.0)
    times = steps.time_ns.copy()
    times[120:] += 3600 * 1_000_000_000
    paused = dataclasses.replace(steps, time_ns=times)
    assert play_s([steps]) == pytest.approx(11.95)
    assert play_s([paused, steps]) == pytest.approx(11.9 + 11.95)
    assert play_s([dataclasses.replace(steps, focus=np.zeros(len(steps), np.bool_))]) == 0
