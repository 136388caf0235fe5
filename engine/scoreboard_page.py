"""The scoreboard as one page of plots, PNG or SVG: what each level can, beside what needs no skill.

Drawn from what is kept of an evaluation, so that the page of an old one can be made at any time; what its version did not
measure is said to be missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.vocabulary import MODES
from engine import kept_levels
from engine.kept_levels import number

if TYPE_CHECKING:
    from engine.comparison import Kept
    from engine.evaluate import Evaluation
    from engine.scoreboard import Scoreboard
    from engine.scores import Interval

KINDS: Final = (".png", ".svg", ".pdf")
_OURS, _BASE, _AGAIN = "#2f6fb0", "#c8c8c8", "#e2a03f"
_NAN: Final = float("nan")


def draw(path: Path, board: Scoreboard, evaluation: Evaluation | None = None) -> Path:
    """Write the page of a scoreboard. Raises ValueError for a kind of file that it cannot be, OSError when it cannot be written."""
    rungs = [(r.rung, r.normalised) for r in evaluation.rungs] if evaluation is not None else []
    return _draw(path, board.policy, board.to_json(), rungs)


def draw_kept(path: Path, kept: Kept) -> Path:
    """Write the page of an evaluation that was kept. Raises as ``draw`` does."""
    return _draw(path, f"{kept.policy}, {kept.at} UTC", kept.levels, [(r.name, r.normalised) for r in kept.rungs])


def _draw(path: Path, title: str, levels: Mapping[str, Any], rungs: Sequence[tuple[str, Interval]]) -> Path:
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"{path}: a page is {', '.join(KINDS)}")
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    minutes = number(levels, "minutes")
    with pyplot.rc_context(
        {
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.fontsize": 7,
            "legend.framealpha": 0.85,
            "svg.hashsalt": "secondseat",
        }
    ):
        figure, axes = pyplot.subplots(2, 4, figsize=(15, 7.4), layout="constrained")
        judged = f": {minutes:.1f} min of {levels.get('play', 'play')}" if math.isfinite(minutes) else ""
        figure.suptitle(f"{title}{judged}", fontsize=10)
        plots = axes.ravel()
        _ladder(plots[0], rungs)
        _confusion(plots[1], levels)
        _recalls(plots[2], levels)
        _targets(plots[3], levels)
        _onsets(plots[4], levels)
        _told(plots[5], levels)
        _lags(plots[6], levels)
        _calibration(plots[7], levels)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
        pyplot.close(figure)
    return path


def _ladder(axis: Any, rungs: Sequence[tuple[str, Interval]]) -> None:
    axis.set_title("closed loop: 0 random, 1 the demonstrator")
    if not rungs:
        _nothing(axis, "not flown this time")
        return
    names, values = [name for name, _ in rungs], [value for _, value in rungs]
    low, high = [v.value - v.low for v in values], [v.high - v.value for v in values]
    axis.errorbar(range(len(names)), [v.value for v in values], yerr=(low, high), fmt="o", color=_OURS, capsize=4)
    axis.set_xticks(range(len(names)), names)
    axis.set_xlim(-0.5, len(names) - 0.5)
    for height in (0.0, 1.0):
        axis.axhline(height, color=_BASE, linewidth=1, zorder=0)


def _confusion(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("modes: label (down), answer (across), %")
    confusion = kept_levels.confusion(levels)
    if not confusion:
        _nothing(axis, "no Strategist")
        return
    names = [*MODES, *map(str, range(len(MODES), len(confusion)))][: len(confusion)]
    shares = [[n / max(1, sum(row)) for n in row] for row in confusion]
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axis.set_xticks(range(len(names)), [m.title() for m in names], rotation=30)
    axis.set_yticks(range(len(names)), [f"{m.title()} ({sum(row)})" for m, row in zip(names, confusion, strict=True)])
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            axis.text(x, y, f"{100 * share:.0f}", ha="center", va="center", color="white" if share > 0.6 else "black")


def _recalls(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("mode: share found of each class")
    recalls = kept_levels.recalls(levels)
    if not recalls:
        _nothing(axis, "no Strategist")
        return
    balanced = number(levels, "mode", "balanced_accuracy")
    axis.bar([m.title() for m in recalls], list(recalls.values()), color=_OURS)
    ends = kept_levels.interval(kept_levels.part(levels, "mode"), "balanced_accuracy")
    between = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if ends is not None else ""
    axis.axhline(balanced, color="black", linewidth=1, label=f"balanced {balanced:.2f}{between}")
    axis.axhline(1 / len(recalls), color=_BASE, linestyle="--", label="one answer always")
    _legend(axis, 1.0)


def _targets(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("target: share right where there is one")
    target = kept_levels.part(levels, "target")
    if not target:
        _nothing(axis, "no Tactician")
        return
    (many,) = kept_levels.counts({"n": [target.get("crowd_decisions")]}, "n")
    names, keys = (
        ("all", f"crowds ({many})"),
        (("on_target", "nearest", "second_run"), ("crowds", "nearest_in_crowds", "second_run_in_crowds")),
    )
    rows = [[number(target, kinds[i]) for kinds in keys] for i in range(3)]
    _bars(axis, names, rows, ("policy", "the nearest", "the demonstrator again"))
    _whiskers(axis, rows, [kept_levels.interval(target, name) for name in ("on_target", "crowds")])
    axis.axhline(number(target, "persistence"), color="black", linewidth=1, linestyle=":", label="the target before")
    _legend(axis, 1.0)


def _onsets(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("new presses: F1 within 2 ticks")
    onsets = kept_levels.onsets(levels, "predicted")
    if not onsets:
        _nothing(axis, "nothing was pressed")
        return
    names = [f"{found.name.removeprefix('mouse_')} ({found.true})" for found in onsets]
    rows = [[found.f1 for found in onsets], [found.even for found in onsets], [found.again for found in onsets]]
    _bars(axis, names, rows, ("policy", "at even intervals", "the demonstrator again"))
    _whiskers(axis, rows, [found.interval for found in onsets])
    axis.tick_params(axis="x", rotation=40)
    _legend(axis, 1.0)


def _told(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("px off at clicks, by the target it is told")
    told = kept_levels.told(levels)
    if not told:
        _nothing(axis, "no Executor")
        return
    points = [number(levels, "actions", name, "point_px") for name in told]
    axis.bar(told, points, color=_OURS)
    for i, (name, point) in enumerate(zip(told, points, strict=True)):
        lands = number(levels, "actions", name, "lands")
        if math.isfinite(point) and math.isfinite(lands):
            axis.text(i, point, f"lands {lands:.0%}", ha="center", va="bottom")
    before = number(levels, "actions", told[0], "cursor_before_px")
    axis.axhline(before, color="black", linewidth=1, linestyle=":", label="where the cursor was half a second before")
    _legend(axis, max((value for value in (*points, before) if math.isfinite(value)), default=1.0))


def _lags(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("left clicks, moved back by so many ticks: F1")
    sweep, best, causality = kept_levels.lag_sweep(levels), kept_levels.best_lag(levels), number(levels, "causality")
    if not sweep:
        _nothing(axis, "not measured")
        return
    moved = f"; pictures swapped: {causality:.0%} of points move" if math.isfinite(causality) else ""
    axis.plot(list(sweep), list(sweep.values()), "o-", color=_OURS)
    axis.axvline(_NAN if best is None else best, color=_BASE, zorder=0, label=f"best {'none' if best is None else f'{best:+d}'}{moved}")
    axis.legend()


def _calibration(axis: Any, levels: Mapping[str, Any]) -> None:
    axis.set_title("how often right, by how sure")
    axis.plot([0, 1], [0, 1], color=_BASE)
    drawn = False
    levels_drawn = (("mode", kept_levels.sureness(levels, "mode"), _OURS), ("target", kept_levels.sureness(levels, "target"), _AGAIN))
    for level, found, colour in levels_drawn:
        points = [(c, r) for c, r, n in zip(found.confidence, found.right, found.count, strict=True) if n] if found is not None else []
        if found is not None and points:
            axis.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{level}: off by {found.error:.2f}")
            drawn = True
    if drawn:
        axis.legend()


def _bars(axis: Any, names: Sequence[str], rows: Sequence[Sequence[float]], labels: Sequence[str]) -> None:
    width = 0.8 / len(rows)
    for i, (values, label, colour) in enumerate(zip(rows, labels, (_OURS, _BASE, _AGAIN), strict=False)):
        if any(math.isfinite(v) for v in values):
            axis.bar([x + (i - (len(rows) - 1) / 2) * width for x in range(len(names))], values, width, color=colour, label=label)
    axis.set_xticks(range(len(names)), names)


def _whiskers(axis: Any, rows: Sequence[Sequence[float]], intervals: Sequence[tuple[float, float] | None]) -> None:
    """On the bars of the first row: from where to where its figures may lie."""
    left = (len(rows) - 1) / 2 * 0.8 / len(rows)
    for x, (value, ends) in enumerate(zip(rows[0], intervals, strict=True)):
        if ends is not None and math.isfinite(value):
            reach = ([max(0.0, value - ends[0])], [max(0.0, ends[1] - value)])
            axis.errorbar([x - left], [value], yerr=reach, fmt="none", color="black", linewidth=0.8, capsize=2)


def _legend(axis: Any, top: float) -> None:
    """Above what is drawn from 0 to ``top``, in two columns, so that it covers nothing."""
    ticks = [tick for tick in axis.get_yticks() if 0 <= tick <= top + 1e-9]
    lines = math.ceil(len(axis.get_legend_handles_labels()[1]) / 2)
    axis.set_ylim(0, max(top, 1e-9) * (1.1 + 0.08 * lines))
    axis.set_yticks(ticks)
    axis.legend(loc="upper center", ncols=2)


def _nothing(axis: Any, why: str) -> None:
    axis.text(0.5, 0.5, why, ha="center", va="center", transform=axis.transAxes, color="grey")
    axis.set_xticks([])
    axis.set_yticks([])
