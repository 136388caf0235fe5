"""How far a figure of the scoreboard is to be trusted: play cut into parts, each left out in turn."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import scoreboard
from engine.kept_levels import figures, onsets
from engine.policy import load_policy
from engine.scoreboard import judge
from engine.scoreboard_figures import Scoreboard
from engine.scoreboard_parts import MOST_PARTS, Again, Said, parts_of
from engine.scores import jackknife_interval, mean_interval
from tests.engine.test_scoreboard import oracle
from tests.trainers.synthetic import session


def test_of_a_mean_the_jackknife_is_students_interval() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.0, 9)
    without = [float(np.delete(values, i).mean()) for i in range(len(values))]
    found, known = jackknife_interval(float(values.mean()), without), mean_interval(values.tolist())
    assert (found.low, found.high, found.n) == (pytest.approx(known.low), pytest.approx(known.high), 9)


def test_of_a_ratio_the_jackknife_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(400):
        hits, tries = rng.binomial(20, 0.7, 12), rng.integers(15, 25, 12)
        right = np.minimum(hits, tries)
        truth = 14 / 19.5
        without = [float(np.delete(right, i).sum() / np.delete(tries, i).sum()) for i in range(12)]
        found = jackknife_interval(float(right.sum() / tries.sum()), without)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize(("value", "without"), [(0.5, [0.5]), (0.5, [0.4, float("nan")]), (float("nan"), [0.4, 0.6])])
def test_what_is_not_known_without_each_part_has_no_interval(value: float, without: list[float]) -> None:
    found = jackknife_interval(value, without)
    assert (found.low, found.high) == (-np.inf, np.inf)


def caught(monkeypatch: pytest.MonkeyPatch, bundle: Path, sessions: list[Any], again: bool = False) -> list[Said]:
    """What the scoreboard makes parts of."""
    found: list[Said] = []
    monkeypatch.setattr(scoreboard, "parts_of", lambda said: found.extend(said) or [])

    def second_run(session: int, start: int, stop: int) -> list[Again]:
        return [Again((), 0, row, (0.5, 0.5)) for row in range(start, stop)]

    judge(load_policy(bundle), sessions, "made up", second_run if again else None)
    return found


def test_parts_hold_all_of_the_play_once_each_answer_with_its_row(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = caught(monkeypatch, bundle, [session(150, seed=1), session(70, seed=2), session(20, seed=3)], again=True)
    parts = parts_of(said)
    pieces = [one for part in parts for one in part]
    assert [(one.start, one.stop) for one in pieces] == [(0, 1500), (1500, 3000), (0, 1400), (0, 400)]  # minutes, and what is shorter
    assert len(parts) == 4
    for name in ("mode_rows", "mode_likely", "mode_chosen", "target_rows", "target_ids", "target_likely", "target_chosen"):
        for whole in said:
            mine = [getattr(one, name) for one in pieces if one.steps is whole.steps]
            np.testing.assert_array_equal(np.concatenate(mine), getattr(whole, name))
    for one in pieces:
        for actions in (*one.actions.values(), one.swapped):
            np.testing.assert_array_equal(actions.rows, np.arange(one.start, one.stop))
        assert {len(ids) for ids in one.told.values()} == {one.stop - one.start}
        assert one.again is not None
        assert [again.target_id for again in one.again] == list(range(one.start, one.stop))


def test_many_short_stretches_are_put_together(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = caught(monkeypatch, bundle, [session(4, seed=seed) for seed in range(MOST_PARTS + 9)])
    parts = parts_of(said)
    assert len(parts) == MOST_PARTS
    assert sorted(map(len, parts)) == [1] * (MOST_PARTS - 9) + [2] * 9


def board_of(bundle: Path, lates: list[int]) -> Scoreboard:
    """Of a player who clicks so many ticks away from the policy, in each minute."""
    policy = load_policy(bundle)
    sessions = [session(60, seed=i, lag=late) for i, late in enumerate(lates)]
    return judge(oracle(policy, sessions[0]), sessions, "made up")


def test_a_figure_that_changes_from_minute_to_minute_is_trusted_less(bundle: Path) -> None:
    steady, mixed = (board_of(bundle, lates).actions["predicted"].onsets["mouse_left"] for lates in ([0, 0, 0], [0, 5, 0, 5]))
    assert (steady.f1, "f1" in steady.intervals) == (1.0, False)  # alike in every minute: it is not known how rarely it fails
    low, high = mixed.intervals["f1"]
    assert mixed.f1 == pytest.approx(0.5, abs=0.02)
    assert low < 0.2
    assert 0.8 < high <= 1.0


def test_play_of_one_part_has_no_intervals(bundle: Path) -> None:
    board = judge(load_policy(bundle), [session(80, seed=1)], "made up")
    assert board.mode is not None
    assert board.target is not None
    for found in (board.mode, board.target, *board.actions.values(), *board.actions["true"].onsets.values()):
        assert found.intervals == {}


def test_the_intervals_are_kept_and_read_again(bundle: Path) -> None:
    board = judge(load_policy(bundle), [session(60, seed=seed) for seed in range(3)], "made up")
    levels = board.to_json()
    assert board.mode is not None
    assert levels["mode"]["intervals"]["accuracy"] == pytest.approx(board.mode.intervals["accuracy"])
    shown = {(figure.level, figure.name): figure for figure in figures(levels)}
    assert shown["mode", "accuracy"].interval == board.mode.intervals["accuracy"]
    assert shown["action", "off at clicks"].interval is None
    for found in board.actions["predicted"].onsets.values():
        for name, (low, high) in found.intervals.items():
            assert 0.0 <= low < high
            assert name == "of_second_run" or high <= 1.0
    left = next(one for one in onsets(levels, "predicted") if one.name == "mouse_left")
    assert left.interval == board.actions["predicted"].onsets["mouse_left"].intervals.get("f1")
    levels["target"]["intervals"] = None  # a file of somebody else
    levels["mode"]["intervals"]["accuracy"] = [0.1]
    found = {(figure.level, figure.name): figure.interval for figure in figures(levels)}
    assert found["target", "right where there is one"] is found["mode", "accuracy"] is None


def test_what_was_found_of_all_the_play_is_not_taken_for_a_part(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = caught(monkeypatch, bundle, [session(150, seed=1)])
    said.fired["predicted", 0] = np.arange(3)
    assert said.cut(0, 1000).fired == {}
    assert dataclasses.replace(said, stop=100).fired  # the whole keeps it
