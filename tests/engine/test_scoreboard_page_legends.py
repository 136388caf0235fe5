"""The page of plots: no legend lies over a bar, however tall."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from engine.comparison import read_evaluations
from engine.scoreboard_page import draw_kept
from tests.support.evaluations import keep

INPUTS = ("e", "mouse_right", "r", "w", "one", "two")


def test_no_legend_covers_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, "20261128T140500Z", "night-3", 1.0)
    (kept,), _ = read_evaluations(tmp_path)
    for name in INPUTS:
        onsets = kept.levels["actions"]["predicted"]["onsets"]
        onsets[name] = {"f1": 1.0, "exact": 0.5, "even": 1.0, "second_run": 1.0, "true": 9, "predicted": 9}
    kept.levels["target"] |= {"crowds": 1.0, "nearest_in_crowds": 1.0, "second_run": 1.0, "second_run_in_crowds": 1.0}
    pyplot: Any = import_module("matplotlib.pyplot")
    drawn: list[Any] = []
    monkeypatch.setattr(pyplot, "close", drawn.append)
    path = draw_kept(tmp_path / "page.png", kept)
    monkeypatch.undo()
    assert path.stat().st_size > 10_000
    (figure,) = drawn
    seen = 0
    for axis in figure.axes:
        legend = axis.get_legend()
        if legend is None or not axis.patches:
            continue
        box = legend.get_window_extent()
        under = [bar for bar in axis.patches if bar.get_window_extent().overlaps(box)]
        assert not under, f"{axis.get_title()}: its legend lies over {len(under)} bars"
        assert box.y1 <= axis.get_window_extent().y1
        seen += 1
    assert seen == 4
    pyplot.close(figure)
