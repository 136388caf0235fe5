"""What training runs have written, as curves that grow: values by step and by time, smoothed as they arrive."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json
from tui.tail import Tail

METRICS_NAME: Final = "metrics.jsonl"
CARD_NAME: Final = "best_model.json"
MAX_POINTS: Final = 500_000
_LOSS_PARTS: Final = frozenset({"policy", "value", "upgo"})
_NOT_CURVES: Final = frozenset({"step", "epoch", "time_s"})


class Curve:
    """One quantity of a run. ``hours`` counts from the run's first line; NaN where a line has no time."""

    def __init__(self) -> None:
        self.steps = array("d")
        self.hours = array("d")
        self.values = array("d")
        self._smoothed: dict[float, tuple[array[float], float, float]] = {}

    def __len__(self) -> int:
        return len(self.values)

    def add(self, step: float, hours: float, value: float) -> None:
        if len(self.values) < MAX_POINTS:
            self.steps.append(step)
            self.hours.append(hours)
            self.values.append(value)

    def smoothed(self, weight: float) -> array[float]:
        """An exponential moving average with bias correction: 0 leaves the values as they are, 0.9 is strong.

        Only what came since the last call is computed.
        """
        if weight <= 0:
            return self.values
        out, mean, norm = self._smoothed.get(weight, (array("d"), 0.0, 0.0))
        for at in range(len(out), len(self.values)):
            mean = weight * mean + (1 - weight) * self.values[at]
            norm = weight * norm + (1 - weight)
            out.append(mean / norm)
        self._smoothed = {weight: (out, mean, norm)}
        return out

    def least(self) -> tuple[int, float] | None:
        """Where the lowest value is, and the value."""
        if not self.values:
            return None
        value = min(self.values)
        return self.values.index(value), value


class RunCurves:
    """Follows one run's metrics. Half a last line means that its writer is still at it: it is read again later."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.level = run_dir.parent.name
        self.name = f"{run_dir.parent.name}/{run_dir.name}"
        self._tail = Tail(run_dir / METRICS_NAME)
        self._card_seen: tuple[int, int] | None = None
        self.card: dict[str, float] = {}
        """Figures that are told once, with the best checkpoint: by name, clicks and keys as ``<key>_f1``."""
        self._clear()

    def _clear(self) -> None:
        self.curves: dict[str, Curve] = {}
        self.bad_lines = 0
        self._rows = 0
        self._start_s = math.nan

    def read(self) -> bool:
        """Take up what was written since; whether there was anything."""
        fresh, lines = self._tail.read()
        if fresh:
            self._clear()
        for line in lines:
            self._take(line)
        return self._read_card() or fresh or bool(lines)

    def _read_card(self) -> bool:
        path = self.run_dir / CARD_NAME
        try:
            stat = path.stat()
            if self._card_seen == (stat.st_mtime_ns, stat.st_size):
                return False
            self._card_seen = (stat.st_mtime_ns, stat.st_size)
            card: Any = from_json(path.read_bytes())
        except (OSError, ValueError):
            return False
        self.card = _card_figures(cast("dict[str, Any]", card)) if isinstance(card, dict) else {}
        return True

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            row: Any = from_json(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            self.bad_lines += 1
            return
        values = cast("dict[str, object]", row)
        figures = values.get("figures")
        items: Iterable[tuple[str, object]] = values.items()
        if isinstance(figures, dict):  # the row of an epoch; its train_loss is a mean of rows that were read already
            items = ((name, value) for name, value in cast("dict[str, object]", figures).items() if name != "train_loss")
        elif isinstance(losses := values.get("losses"), dict):  # the row of an iteration of a league's learner, or of a refinement
            self._rows += 1
            whose = f"{values['learner']}_" if isinstance(values.get("learner"), str) else ""
            parts = cast("dict[str, object]", losses).items()
            items = ((f"{whose}{name}{'_loss' if name in _LOSS_PARTS else ''}", value) for name, value in parts)
        else:
            self._rows += 1
        step, time_s = _number(values.get("step")), _number(values.get("time_s"))
        if math.isnan(step):
            step = float(self._rows)
        if math.isnan(self._start_s):
            self._start_s = time_s if time_s > 1e9 else 0.0  # wall clock, or seconds since the start
        for name, value in items:
            number = math.nan if name in _NOT_CURVES else _number(value)
            if math.isfinite(number):
                self.curves.setdefault(name, Curve()).add(step, (time_s - self._start_s) / 3600, number)

    def figure(self, name: str) -> float | None:
        """The newest value of a quantity."""
        curve = self.curves.get(name)
        return curve.values[-1] if curve else self.card.get(name)


def _card_figures(card: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("figures", "points"):
        table = card.get(name)
        if isinstance(table, dict):
            found |= {str(key): _number(value) for key, value in cast("dict[str, object]", table).items()}
    onsets = card.get("onsets")
    if isinstance(onsets, dict):
        for key, scores in cast("dict[str, Any]", onsets).items():
            if isinstance(scores, dict) and cast("dict[str, Any]", scores).get("true"):
                told = cast("dict[str, object]", scores)
                found |= {f"{key}_f1": _number(told.get("f1_2")), f"{key}_even": _number(told.get("even_2"))}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def find_runs(models: Path) -> list[Path]:
    """The folders under ``<models>/<level>/`` that hold metrics, newest first."""
    found: list[tuple[float, Path]] = []
    try:
        for path in models.glob(f"*/*/{METRICS_NAME}"):
            found.append((path.stat().st_mtime, path.parent))
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]
