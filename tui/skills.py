"""What each level can do, as one row of a table: a figure, what somebody without the level would reach, the trend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tui.curves import RunCurves


@dataclass(frozen=True, slots=True)
class Skill:
    """``figure`` names a quantity of the run's metrics or card; ``base`` tells what needs no skill of them, None where they do not."""

    level: str
    word: str
    metric: str
    figure: str
    base: Callable[[RunCurves], float | None]
    in_px: bool = False
    less_is_better: bool = False


def _told(name: str) -> Callable[[RunCurves], float | None]:
    return lambda run: run.figure(name)


def _one_answer(run: RunCurves) -> float | None:
    """The balanced accuracy of one answer always: 1 / the modes that occur in validation, each of which has a recall."""
    found = {name for name in (*run.curves, *run.card) if name.startswith("recall_")}
    return 1 / len(found) if found else None


def _nothing(run: RunCurves) -> float:
    """Who finds nothing."""
    return 0.0


SKILLS: Final[tuple[Skill, ...]] = (
    Skill("strategist", "mode", "balanced accuracy", "balanced_accuracy", _one_answer),
    Skill("tactician", "target", "right target", "on_target", _told("nearest")),
    Skill("executor", "cursor", "error on clicks", "point_px", _told("persistence_px"), in_px=True, less_is_better=True),
    Skill("executor", "click", "onset F1 ±2", "mouse_left_f1", _told("mouse_left_even")),
    Skill("detector", "boxes", "mAP 50", "val_map50", _nothing),
)
"""The base of the mode is one answer always, of the target the nearest object, of the cursor where it was half a second before, of clicks
pressing as often at even intervals, which meets many of them by luck (runs of earlier versions do not tell it: no base then)."""


@dataclass(frozen=True, slots=True)
class Row:
    """``better``: than the base; None without one."""

    skill: Skill
    now: str
    base: str
    better: bool | None
    trend: tuple[float, ...]


def rows(levels: Mapping[str, RunCurves]) -> list[Row]:
    """A row for every skill whose figure is known."""
    out: list[Row] = []
    for skill in SKILLS:
        run = levels.get(skill.level)
        value = run.figure(skill.figure) if run is not None else None
        if run is None or value is None:
            continue
        base = skill.base(run)
        curve = run.curves.get(skill.figure) or run.curves.get("val_loss")
        trend = tuple(curve.values[-200:]) if curve else ()
        better = None if base is None else value < base if skill.less_is_better else value > base
        out.append(Row(skill, _shown(value, skill), "" if base is None else _shown(base, skill), better, trend))
    return out


def _shown(value: float, skill: Skill) -> str:
    return f"{value:.0f}px" if skill.in_px else f"{value:.2f}".removeprefix("0")
