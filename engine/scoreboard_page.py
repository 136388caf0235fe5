"""The scoreboard as one page of plots, PNG or SVG: what each level can, beside what needs no skill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.vocabulary import MODES

if TYPE_CHECKING:
    from engine.evaluate import Evaluation
    from engine.scoreboard import ActionFigures, Calibration, ModeFigures, Scoreboard, TargetFigures

KINDS: Final = (".png", ".svg", ".pdf")
_OURS, _BASE, _AGAIN = "#2f6fb0", "#c8c8c8", "#e2a03f"


def draw(path: Path, board: Scoreboard, evaluation: Evaluation | None = None) -> Path:
    """Write the page. Raises ValueError for a kind of file that it cannot be, OSError when it cannot be written."""
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"{path}: a page is {', '.join(KINDS)}")
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
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
        figure.suptitle(f"{board.policy}: {board.minutes:.1f} min of {board.play}", fontsize=10)
        plots = axes.ravel()
        _ladder(plots[0], evaluation)
        _confusion(plots[1], board.mode)
        _recalls(plots[2], board.mode)
        _targets(plots[3], board.target)
        _onsets(plots[4], board.actions.get("predicted"))
        _told(plots[5], board.actions)
        _lags(plots[6], board)
        _calibration(plots[7], board)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
        pyplot.close(figure)
    return path


def _ladder(axis: Any, evaluation: Evaluation | None) -> None:
    axis.set_title("closed loop: 0 random, 1 the demonstrator")
    if evaluation is None:
        _nothing(axis, "not flown this time")
        return
    names = [r.rung for r in evaluation.rungs]
    values = [r.normalised for r in evaluation.rungs]
    low, high = [v.value - v.low for v in values], [v.high - v.value for v in values]
    axis.errorbar(range(len(names)), [v.value for v in values], yerr=(low, high), fmt="o", color=_OURS, capsize=4)
    axis.set_xticks(range(len(names)), names)
    axis.set_xlim(-0.5, len(names) - 0.5)
    for height in (0.0, 1.0):
        axis.axhline(height, color=_BASE, linewidth=1, zorder=0)


def _confusion(axis: Any, mode: ModeFigures | None) -> None:
    axis.set_title("modes: label (down), answer (across), %")
    if mode is None:
        _nothing(axis, "no Strategist")
        return
    shares = [[n / max(1, sum(row)) for n in row] for row in mode.confusion]
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axis.set_xticks(range(len(MODES)), [m.title() for m in MODES], rotation=30)
    axis.set_yticks(range(len(MODES)), [f"{m.title()} ({sum(row)})" for m, row in zip(MODES, mode.confusion, strict=True)])
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            axis.text(x, y, f"{100 * share:.0f}", ha="center", va="center", color="white" if share > 0.6 else "black")


def _recalls(axis: Any, mode: ModeFigures | None) -> None:
    axis.set_title("mode: share found of each class")
    if mode is None:
        _nothing(axis, "no Strategist")
        return
    axis.bar([m.title() for m in mode.recalls], list(mode.recalls.values()), color=_OURS)
    axis.axhline(mode.balanced_accuracy, color="black", linewidth=1, label=f"balanced {mode.balanced_accuracy:.2f}")
    axis.axhline(1 / max(1, len(mode.recalls)), color=_BASE, linestyle="--", label="one answer always")
    axis.set_ylim(0, 1)
    axis.legend()


def _targets(axis: Any, target: TargetFigures | None) -> None:
    axis.set_title("target: share right where there is one")
    if target is None:
        _nothing(axis, "no Tactician")
        return
    pairs = {"all": (target.on_target, target.nearest), f"crowds ({target.crowd_decisions})": (target.crowds, target.nearest_in_crowds)}
    _bars(axis, list(pairs), [[a for a, _ in pairs.values()], [b for _, b in pairs.values()]], ("policy", "the nearest"))
    axis.axhline(target.persistence, color="black", linewidth=1, linestyle=":", label="the target before")
    axis.legend()


def _onsets(axis: Any, actions: ActionFigures | None) -> None:
    axis.set_title("new presses: F1 within 2 ticks")
    if actions is None or not actions.onsets:
        _nothing(axis, "nothing was pressed")
        return
    names = [f"{name.removeprefix('mouse_')} ({found.true})" for name, found in actions.onsets.items()]
    rows = [[getattr(found, kind) for found in actions.onsets.values()] for kind in ("f1", "even", "second_run")]
    _bars(axis, names, rows, ("policy", "at even intervals", "the demonstrator again"))
    axis.tick_params(axis="x", rotation=40)
    axis.legend()


def _told(axis: Any, actions: dict[str, ActionFigures]) -> None:
    axis.set_title("px off at clicks, by the target it is told")
    if not actions:
        _nothing(axis, "no Executor")
        return
    axis.bar(list(actions), [a.point_px for a in actions.values()], color=_OURS)
    for i, found in enumerate(actions.values()):
        if math.isfinite(found.point_px):
            axis.text(i, found.point_px, f"lands {found.lands:.0%}", ha="center", va="bottom")
    before = next(iter(actions.values())).cursor_before_px
    axis.axhline(before, color="black", linewidth=1, linestyle=":", label="where the cursor was half a second before")
    axis.legend()


def _lags(axis: Any, board: Scoreboard) -> None:
    axis.set_title("left clicks, moved back by so many ticks: F1")
    axis.plot(list(board.lag_sweep), list(board.lag_sweep.values()), "o-", color=_OURS)
    axis.axvline(
        board.best_lag, color=_BASE, zorder=0, label=f"best {board.best_lag:+d}; pictures swapped: {board.causality:.0%} of points move"
    )
    axis.legend()


def _calibration(axis: Any, board: Scoreboard) -> None:
    axis.set_title("how often right, by how sure")
    axis.plot([0, 1], [0, 1], color=_BASE)
    levels: list[tuple[str, Calibration, str]] = []
    if board.mode is not None:
        levels.append(("mode", board.mode.calibration, _OURS))
    if board.target is not None:
        levels.append(("target", board.target.calibration, _AGAIN))
    for name, found, colour in levels:
        points = [(c, r) for c, r, n in zip(found.confidence, found.right, found.count, strict=True) if n]
        axis.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{name}: off by {found.error:.2f}")
    if levels:
        axis.legend()


def _bars(axis: Any, names: list[str], rows: Sequence[Sequence[float]], labels: Sequence[str]) -> None:
    width = 0.8 / len(rows)
    for i, (values, label, colour) in enumerate(zip(rows, labels, (_OURS, _BASE, _AGAIN), strict=False)):
        if any(math.isfinite(v) for v in values):
            axis.bar([x + (i - (len(rows) - 1) / 2) * width for x in range(len(names))], values, width, color=colour, label=label)
    axis.set_xticks(range(len(names)), names)
    axis.set_ylim(0, 1)


def _nothing(axis: Any, why: str) -> None:
    axis.text(0.5, 0.5, why, ha="center", va="center", transform=axis.transAxes, color="grey")
    axis.set_xticks([])
    axis.set_yticks([])
