"""What part of which runs a person looks at, and the picture that is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tui.charts import Chart, Series, draw, extent, nice_hours, nice_number
from tui.curves import Curve, RunCurves

LOSSES: Final = ("train_loss", "val_loss")
CLOSEST: Final = 1 / 256
"""The smallest share of a run that can be zoomed to."""
MOST_SERIES: Final = 6


@dataclass(frozen=True, slots=True)
class ChartView:
    """``span`` is the share of x that is seen and ``end`` where it ends, both of the whole; with ``tail`` it ends with
    the newest value. ``words`` choose the quantities by their names (commas between them); empty: the losses."""

    width: int = 0
    height: int = 0
    smoothing: float = 0.6
    log_scale: bool = False
    by_time: bool = False
    words: str = ""
    span: float = 1.0
    end: float = 1.0
    tail: bool = True
    braille: bool = True
    axis: str = "│┤└─┬"

    def zoomed(self, factor: float) -> ChartView:
        """Nearer (below 1) or farther (above 1), around the middle; with ``tail`` around the newest value."""
        span = min(1.0, max(CLOSEST, self.span * factor))
        end = 1.0 if self.tail else min(1.0, max(span, self.end + (span - self.span) / 2))
        return replace(self, span=span, end=end, tail=self.tail or span >= 1.0)

    def panned(self, share: float) -> ChartView:
        """Left (negative) or right by a share of what is seen."""
        end = min(1.0, max(self.span, self.end + share * self.span))
        return replace(self, end=end, tail=end >= 1.0)

    def window(self, low: float, high: float) -> tuple[float, float]:
        right = low + (high - low) * (1.0 if self.tail else self.end)
        return right - (high - low) * self.span, right


@dataclass(frozen=True, slots=True)
class Legend:
    """One line of the chart in words. ``trend`` is -1, 0 or 1; ``best`` the x and value of a validation loss's least."""

    name: str
    value: float
    trend: int
    dashed: bool
    best: tuple[str, float] | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn view. ``chart`` is None when there is nothing to draw or no room for it."""

    view: ChartView
    runs: tuple[str, ...]
    chart: Chart | None
    legend: tuple[Legend, ...]
    names: tuple[str, ...]
    """Every quantity of these runs, for who chooses among them."""
    bad_lines: int = 0


def make_picture(view: ChartView, runs: Sequence[RunCurves]) -> Picture:
    """Bucket, smooth and draw; takes milliseconds, so it is not done where keys are waited for."""
    names = tuple(dict.fromkeys(name for run in runs for name in run.curves))
    chosen = _chosen(view.words, names)
    series: list[Series] = []
    legend: list[Legend] = []
    for run in runs:
        for name in chosen:
            curve = run.curves.get(name)
            if curve is None or not len(curve) or len(series) == MOST_SERIES:
                continue
            one = _series(view, run, curve, name)
            series.append(one)
            word = name.removesuffix("_loss").replace("_", " ")
            shown = f"{run.name} {word}" if len(runs) > 1 else word
            before = curve.values[-2] if len(curve) > 1 else curve.values[-1]
            trend = (curve.values[-1] > before) - (curve.values[-1] < before)
            best = None
            if one.mark is not None:
                best = (nice_hours(one.mark[0]) if view.by_time else nice_number(one.mark[0]), one.mark[1])
            legend.append(Legend(shown, curve.values[-1], trend, one.dashed, best))
    whole = extent(series)
    chart = None
    if whole is not None:
        chart = draw(
            series,
            view.width,
            view.height,
            window=view.window(*whole),
            log_scale=view.log_scale,
            braille=view.braille,
            axis=view.axis,
            x_text=nice_hours if view.by_time else nice_number,
        )
    return Picture(view, tuple(run.name for run in runs), chart, tuple(legend), names, sum(run.bad_lines for run in runs))


def _chosen(words: str, names: Sequence[str]) -> list[str]:
    wanted = [word.strip().lower().replace(" ", "_") for word in words.split(",") if word.strip()]
    if not wanted:
        return [name for name in LOSSES if name in names] or [name for name in names if name.endswith("value_loss")]
    return [name for name in names if any(word in name.lower() for word in wanted)]


def _series(view: ChartView, run: RunCurves, curve: Curve, name: str) -> Series:
    """Validation is dashed where training is drawn beside it, and has its least value marked."""
    validation = name == "val_loss"
    xs = curve.hours if view.by_time else curve.steps
    ys = curve.values if validation else curve.smoothed(view.smoothing)
    best = curve.least() if validation and len(curve) > 1 else None
    mark = (xs[best[0]], best[1]) if best is not None else None
    return Series(name, xs, ys, dashed=validation and "train_loss" in run.curves, mark=mark)
