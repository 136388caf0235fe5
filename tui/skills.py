"""What each level can do, as one row of a table: a figure, what somebody without the level would reach, the trend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tui.curves import RunCurves


@dataclass(frozen=True, slots=True)
class Skill:
    """``figure`` names a quantity of the run's metrics or card; ``base`` another one, or a value that needs no skill."""

    level: str
    word: str
    metric: str
    figure: str
    base: str | float
    in_px: bool = False
    less_is_better: bool = False


SKILLS: Final[tuple[Skill, ...]] = (
    Skill("strategist", "mode", "balanced accuracy", "balanced_accuracy", 0.2),
    Skill("tactician", "target", "right target", "on_target", "nearest"),
    Skill("executor", "cursor", "error on clicks", "point_px", "persistence_px", in_px=True, less_is_better=True),
    Skill("executor", "click", "onset F1 ±2", "mouse_left_f1", 0.0),
    Skill("detector", "boxes", "mAP 50", "val_map50", 0.0),
)
"""The base of the mode is one of five at random, of the target the nearest object, of the cursor where it was half a second before."""


@dataclass(frozen=True, slots=True)
class Row:
    skill: Skill
    now: str
    base: str
    better: bool
    trend: tuple[float, ...]


def rows(levels: Mapping[str, RunCurves]) -> list[Row]:
    """A row for every skill whose figure is known."""
    out: list[Row] = []
    for skill in SKILLS:
        run = levels.get(skill.level)
        value = run.figure(skill.figure) if run is not None else None
        if run is None or value is None:
            continue
        base = run.figure(skill.base) if isinstance(skill.base, str) else skill.base
        curve = run.curves.get(skill.figure) or run.curves.get("val_loss")
        trend = tuple(curve.values[-200:]) if curve else ()
        better = base is not None and (value < base if skill.less_is_better else value > base)
        out.append(Row(skill, _shown(value, skill), "" if base is None else _shown(base, skill), better, trend))
    return out


def _shown(value: float, skill: Skill) -> str:
    return f"{value:.0f}px" if skill.in_px else f"{value:.2f}".removeprefix("0")
