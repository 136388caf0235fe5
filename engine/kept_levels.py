"""The levels' figures of an evaluation that was kept, read from its JSON: what its version did not measure is not there.

Each figure stands beside what needs no skill, as ``engine.scoreboard`` made them. A number that this version does not know
by name is not lost: ``others`` lists it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from engine import scoreboard_figures

Level = Literal["mode", "target", "action"]
Unit = Literal["share", "px"]
NAN: Final = float("nan")
TOLD: Final[Mapping[str, str]] = {"predicted": "predicted, as in flight", "dropped": "dropped: it knows none", "true": "the true one"}
"""What the Executor was told of the target, in words."""
MAIN: Final[Mapping[Level, tuple[str, str]]] = {
    "mode": ("balanced accuracy", "mode: balanced accuracy"),
    "target": ("right where there is one", "target: right"),
    "action": ("left click, F1 in 2 ticks", "left click, F1 in 2 ticks"),
}
"""The figure of each level that sums it up, and what it is called where it stands alone."""
_MODE: Final = (
    *("seconds", "accuracy", "balanced_accuracy", "majority", "persistence", "second_run", "second_run_balanced"),
    *("persistence_balanced", "recalls", "confusion", "calibration"),
)
_TARGET: Final = (
    *("decisions", "accuracy", "on_target", "crowds", "crowd_decisions", "nearest", "nearest_in_crowds", "persistence", "none_share"),
    *("second_run", "second_run_in_crowds", "nearest_enemy", "nearest_enemy_in_crowds", "persistence_in_crowds", "calibration"),
)
_ACTION: Final = (
    *("clicks", "own_clicks", "cursor_lands", "calibration"),
    *("first_clicks", "first_lands", "first_told", "second_run_first_lands"),
    *("point_px", "cursor_before_px", "lands", "second_run_px", "second_run_lands", "onsets"),
)


@dataclass(frozen=True, slots=True)
class Base:
    """What a figure is held against, and what that scores."""

    words: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the policy. A ``share`` is better when higher, ``px`` when lower. ``bases`` need no skill; ``again`` is
    the demonstrator's second run, which nobody can be asked to beat (NaN: there was none)."""

    level: Level
    name: str
    value: float
    unit: Unit = "share"
    bases: tuple[Base, ...] = ()
    again: float = NAN
    interval: tuple[float, float] | None = None
    """From where to where it may lie (95 %); None where that was not kept, or the play was too short to tell."""

    @property
    def hardest(self) -> float:
        """The best of what needs no skill; NaN without any."""
        known = [base.value for base in self.bases if math.isfinite(base.value)]
        return (max(known) if self.unit == "share" else min(known)) if known else NAN

    @property
    def above(self) -> bool | None:
        """Whether it beats all that needs no skill; None where that cannot be told."""
        if not (math.isfinite(self.value) and math.isfinite(self.hardest)):
            return None
        return self.value > self.hardest if self.unit == "share" else self.value < self.hardest


@dataclass(frozen=True, slots=True)
class Onset:
    """New presses of one input: F1 within 2 ticks and in the very tick, beside even intervals and the second run."""

    name: str
    f1: float
    exact: float
    even: float
    again: float
    true: int
    predicted: int
    interval: tuple[float, float] | None
    """Of ``f1``."""


@dataclass(frozen=True, slots=True)
class Sureness:
    """In each tenth of confidence: how sure, how often right, how many answers. ``error``: their mean distance."""

    confidence: tuple[float, ...]
    right: tuple[float, ...]
    count: tuple[int, ...]
    error: float


def part(value: object, *path: str) -> dict[str, Any]:
    """The object at a place; empty when there is none."""
    for key in path:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def number(value: object, *path: str) -> float:
    """The number at a place; NaN when there is none."""
    found: object = part(value, *path[:-1]).get(path[-1])
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else NAN


def numbers(value: object, *path: str) -> tuple[float, ...]:
    """The list of numbers at a place; empty when there is none, NaN where one is not a number."""
    found: object = part(value, *path[:-1]).get(path[-1])
    return tuple(number({"x": item}, "x") for item in cast("list[object]", found)) if isinstance(found, list) else ()


def counts(value: object, *path: str) -> tuple[int, ...]:
    return tuple(int(n) if math.isfinite(n) else 0 for n in numbers(value, *path))


def interval(figures: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """Of a figure of a level, or of an input."""
    ends = numbers(figures, "intervals", name)
    return (ends[0], ends[1]) if len(ends) == 2 and all(map(math.isfinite, ends)) else None


def figures(levels: Mapping[str, Any]) -> list[Figure]:
    """The figures that sum a policy up, level by level; those that were not measured are left out."""
    mode, target = part(levels, "mode"), part(levels, "target")
    recalls = part(mode, "recalls")
    found = [
        Figure(
            "mode",
            "balanced accuracy",
            number(mode, "balanced_accuracy"),
            bases=(
                Base("one answer always", 1 / len(recalls) if recalls else NAN),
                Base("as before", number(mode, "persistence_balanced")),
            ),
            again=number(mode, "second_run_balanced"),
            interval=interval(mode, "balanced_accuracy"),
        ),
        Figure(
            "mode",
            "accuracy",
            number(mode, "accuracy"),
            bases=(Base("the commonest", number(mode, "majority")), Base("as before", number(mode, "persistence"))),
            again=number(mode, "second_run"),
            interval=interval(mode, "accuracy"),
        ),
        Figure(
            "target",
            "right where there is one",
            number(target, "on_target"),
            bases=(
                Base("the nearest", number(target, "nearest")),
                Base("the nearest enemy", number(target, "nearest_enemy")),
                Base("as before", number(target, "persistence")),
            ),
            again=number(target, "second_run"),
            interval=interval(target, "on_target"),
        ),
        Figure(
            "target",
            "in crowds",
            number(target, "crowds"),
            bases=(
                Base("the nearest", number(target, "nearest_in_crowds")),
                Base("the nearest enemy", number(target, "nearest_enemy_in_crowds")),
                Base("as before", number(target, "persistence_in_crowds")),
            ),
            again=number(target, "second_run_in_crowds"),
            interval=interval(target, "crowds"),
        ),
    ]
    found.append(_point(levels, "predicted"))
    found.append(
        Figure(
            "action",
            "clicks on the true track",
            number(levels, "actions", "predicted", "lands"),
            bases=(Base("the cursor", number(levels, "actions", "predicted", "cursor_lands")),),
            again=number(levels, "actions", "predicted", "second_run_lands"),
            interval=interval(part(levels, "actions", "predicted"), "lands"),
        )
    )
    for onset in onsets(levels, "predicted"):
        if onset.name == "mouse_left":
            bases = (Base("evenly", onset.even),)
            found.append(Figure("action", "left click, F1 in 2 ticks", onset.f1, "share", bases, onset.again, onset.interval))
    return [figure for figure in found if math.isfinite(figure.value)]


def shown(value: float, unit: Unit = "share") -> str:
    """0.81, 18 px; "none" for what was not measured."""
    if not math.isfinite(value):
        return "none"
    return f"{value:.0f} px" if unit == "px" else f"{value:.2f}"


def main_figures(levels: Mapping[str, Any]) -> dict[Level, Figure]:
    """The one figure of each level that stands for it where there is room for no more, under its name of ``MAIN``; levels without it are
    left out."""
    found = {(figure.level, figure.name): figure for figure in figures(levels)}
    return {level: replace(found[level, name], name=words) for level, (name, words) in MAIN.items() if (level, name) in found}


def in_both(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[Figure, Figure]]:
    """The figures that were measured of two policies, beside each other."""
    mine = {(figure.level, figure.name): figure for figure in figures(first)}
    return [(mine[figure.level, figure.name], figure) for figure in figures(second) if (figure.level, figure.name) in mine]


def _point(levels: Mapping[str, Any], told: str) -> Figure:
    found = part(levels, "actions", told)
    before = Base("cursor 0.5 s before", number(found, "cursor_before_px"))
    return Figure("action", "off at clicks", number(found, "point_px"), "px", (before,), number(found, "second_run_px"))


def told(levels: Mapping[str, Any]) -> list[str]:
    """What the Executor was told of the target, predicted first."""
    there = part(levels, "actions")
    return [*(name for name in TOLD if name in there), *(name for name in there if name not in TOLD)]


def onsets(levels: Mapping[str, Any], told: str) -> list[Onset]:
    """Every input that was pressed, the commonest first."""
    found = part(levels, "actions", told, "onsets")
    out = [
        Onset(
            name,
            number(one, "f1"),
            number(one, "exact"),
            number(one, "even"),
            number(one, "second_run"),
            *counts({"n": [one.get("true"), one.get("predicted")]}, "n"),
            interval=interval(one, "f1"),
        )
        for name, one in ((name, part(found, name)) for name in found)
    ]
    return sorted(out, key=lambda onset: (-onset.true, onset.name))


def recalls(levels: Mapping[str, Any]) -> dict[str, float]:
    """By mode, in the order they were written."""
    found = part(levels, "mode", "recalls")
    return {name: number(found, name) for name in found}


def confusion(levels: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Rows by the label, columns by the answer; empty when there is none, or it is not square."""
    rows: object = part(levels, "mode").get("confusion")
    found = [counts({"x": row}, "x") for row in cast("list[object]", rows)] if isinstance(rows, list) else []
    return found if all(len(row) == len(found) for row in found) else []


def sureness(levels: Mapping[str, Any], level: Literal["mode", "target"]) -> Sureness | None:
    found = part(levels, level, "calibration")
    if not found:
        return None
    lists = numbers(found, "confidence"), numbers(found, "right"), counts(found, "count")
    length = min(map(len, lists))
    return Sureness(lists[0][:length], lists[1][:length], lists[2][:length], number(found, "error")) if length else None


def lag_sweep(levels: Mapping[str, Any]) -> dict[int, float]:
    """F1 of left clicks in the very tick by the ticks that the policy's are moved back, in order."""
    found = part(levels, "lag_sweep")
    lags = sorted(int(name) for name in found if name.lstrip("+-").isdigit())
    return {lag: number(found, str(lag)) for lag in lags}


def best_lag(levels: Mapping[str, Any]) -> int | None:
    """The ticks by which it acts later than the demonstrator; None without a sweep that tells."""
    return scoreboard_figures.best_lag(lag_sweep(levels))


def others(levels: Mapping[str, Any], level: Literal["mode", "target", "action"]) -> list[tuple[str, float]]:
    """Numbers of a level that this version has no place for, by their own names."""
    known = {"mode": _MODE, "target": _TARGET, "action": _ACTION}[level]
    found = part(levels, "actions", "predicted") if level == "action" else part(levels, level)
    there = [(name.replace("_", " "), number(found, name)) for name in found if name not in known]
    return [(name, value) for name, value in there if math.isfinite(value)]
