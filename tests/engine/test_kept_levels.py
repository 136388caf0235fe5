"""The levels of a kept evaluation: every figure beside its baselines, nothing raised by what is missing or strange."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from engine import kept_levels
from engine.comparison import read_evaluations
from engine.scoreboard_figures import Scoreboard
from engine.scoreboard_page import draw_kept
from tests.support.evaluations import keep, levels


def test_figures_stand_beside_what_needs_no_skill() -> None:
    found = {figure.name: figure for figure in kept_levels.figures(levels(skill=0.7))}
    assert found["balanced accuracy"].above is True
    assert found["balanced accuracy"].hardest == pytest.approx(0.2)
    assert found["accuracy"].above is False, "the answer before is right more often"
    assert found["accuracy"].again == 0.93
    assert found["off at clicks"].unit == "px"
    assert found["off at clicks"].above is True, "fewer pixels are better"
    assert found["clicks on the true track"].above is None
    assert found["left click, F1 in 2 ticks"].again == 0.83


def test_every_baseline_that_was_kept_counts() -> None:
    made = levels(skill=0.7)
    made["mode"]["persistence_balanced"] = 0.74
    made["target"] |= {"nearest_enemy": 0.5, "nearest_enemy_in_crowds": 0.6, "persistence_in_crowds": 0.4}
    made["actions"]["predicted"] |= {"cursor_lands": 0.3, "clicks": 214, "points_at": 0.9}
    found = {figure.name: figure for figure in kept_levels.figures(made)}
    assert found["balanced accuracy"].above is False
    assert found["right where there is one"].hardest == 0.66
    assert (found["in crowds"].hardest, found["in crowds"].above) == (0.6, False)
    assert found["clicks on the true track"].above is True
    assert kept_levels.others(made, "action") == [("points at", 0.9)]


def test_details_of_the_levels() -> None:
    made = levels(skill=0.7)
    assert kept_levels.told(made) == ["predicted", "dropped", "true"]
    assert [(one.name, one.true, one.predicted) for one in kept_levels.onsets(made, "predicted")] == [
        ("mouse_left", 214, 198),
        ("space", 31, 44),
        ("q", 6, 0),
    ]
    assert math.isnan(kept_levels.onsets(made, "predicted")[1].again)
    assert list(kept_levels.lag_sweep(made)) == list(range(-4, 9))
    assert kept_levels.best_lag(made) == 1
    assert [sum(row) for row in kept_levels.confusion(made)] == [138, 79, 56, 20, 6]
    sure = kept_levels.sureness(made, "mode")
    assert sure is not None
    assert sum(sure.count) == 299


@pytest.mark.parametrize(
    ("sweep", "best"),
    [({}, None), ({0: float("nan")}, None), ({-1: 0.0, 0: 0.0, 1: 0.0}, None), ({-1: 0.5, 0: 0.0, 2: 0.5}, -1), ({0: 0.2, 3: 0.4}, 3)],
)
def test_the_lag_of_what_was_judged_and_of_what_was_kept_is_one(sweep: dict[int, float], best: int | None) -> None:
    board = Scoreboard("p", "made up", 1.0, lag_sweep=sweep)
    made = json.loads(json.dumps(board.to_json(), allow_nan=False))
    assert board.best_lag == made["best_lag"] == kept_levels.best_lag(made) == best


def test_numbers_that_are_not_known_by_name_are_not_lost() -> None:
    made = levels()
    made["mode"]["top_two"] = 0.91
    made["mode"]["note"] = "a word"
    assert kept_levels.others(made, "mode") == [("top two", 0.91)]
    assert kept_levels.others(made, "action") == []


@pytest.mark.parametrize(
    "strange",
    [
        {},
        {"mode": None, "target": [], "actions": 3, "lag_sweep": "x", "causality": None},
        {"mode": {"accuracy": None, "recalls": None, "confusion": [[1, 2], [3]], "calibration": {"count": []}}},
        {"mode": {"accuracy": True, "confusion": 5, "recalls": {"FIGHT": None}}},
        {"actions": {"predicted": {"onsets": {"q": None}}, "new_kind": {"point_px": 3}}, "lag_sweep": {"x": 1, "0": None}},
    ],
)
def test_what_is_missing_or_strange_is_left_out(strange: dict[str, Any], tmp_path: Path) -> None:
    assert [figure for figure in kept_levels.figures(strange) if figure.level == "mode"] == []
    assert kept_levels.confusion(strange) == []
    assert kept_levels.sureness(strange, "mode") is None
    assert kept_levels.best_lag(strange) is None
    assert all(math.isnan(onset.f1) for onset in kept_levels.onsets(strange, "predicted"))
    for level in ("mode", "target", "action"):
        assert kept_levels.others(strange, level) == []  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("judged", [True, False])
def test_the_page_of_an_old_evaluation_can_be_drawn_at_any_time(tmp_path: Path, judged: bool) -> None:
    keep(tmp_path, "20261128T140500Z", "night-3", judged=judged)
    kept = read_evaluations(tmp_path)[0][0]
    content = draw_kept(tmp_path / "page.svg", kept).read_bytes()
    assert b"night-3, 2026-11-28 14:05 UTC" in content
    assert (b"no Strategist" in content) is not judged
    with pytest.raises(ValueError, match=r"a page is \.png"):
        draw_kept(tmp_path / "page.txt", kept)
