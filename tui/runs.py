"""Training runs as the losses chart needs them: found under the workspace, their ``metrics.jsonl`` tailed.

All file work is done by one thread of our own; the face only reads the newest ``Curves``. Half a last line means
that its writer is still at it: it is read again later.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

POLL_S: Final = 1.0
MAX_POINTS: Final = 200_000
METRICS_NAME: Final = "metrics.jsonl"


@dataclass(frozen=True, slots=True)
class Curves:
    """What one run has written so far. Steps and values have equal lengths per curve."""

    run: str = ""
    train: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    val: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    learning_rate: float = math.nan
    epoch: float = math.nan
    bad_lines: int = 0
    figures: tuple[tuple[str, float], ...] = ()
    """The newest epoch's figures, the losses left out."""

    def best_val(self) -> tuple[float, float] | None:
        """The step and value of the lowest finite validation loss."""
        pairs = [(y, x) for x, y in zip(*self.val, strict=True) if math.isfinite(y)]
        return (min(pairs)[1], min(pairs)[0]) if pairs else None


class Tail:
    """Reads the whole new lines of a growing file. A file that shrank or was replaced is read from its beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._identity: tuple[int, int] | None = None

    def read(self) -> tuple[bool, list[bytes]]:
        """Whether it began anew, and the new whole lines. A missing file has none."""
        try:
            with self.path.open("rb") as file:
                import os

                stat = os.fstat(file.fileno())
                fresh = self._identity != (stat.st_dev, stat.st_ino) or stat.st_size < self._offset
                if fresh:
                    self._offset, self._identity = 0, (stat.st_dev, stat.st_ino)
                file.seek(self._offset)
                data = file.read(8_000_000)
        except OSError:
            return False, []
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        return fresh, data[:whole].splitlines()


class RunReader:
    """Follows one run's metrics."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._tail = Tail(run_dir / METRICS_NAME)
        self._clear()

    def _clear(self) -> None:
        self._train: tuple[list[float], list[float]] = ([], [])
        self._val: tuple[list[float], list[float]] = ([], [])
        self._learning_rate = self._epoch = math.nan
        self._bad = self._count = 0
        self._figures: tuple[tuple[str, float], ...] = ()

    def read(self) -> Curves | None:
        """The curves when something is new, else None."""
        fresh, lines = self._tail.read()
        if fresh:
            self._clear()
        if not lines:
            return None
        for line in lines:
            self._take(line)
        return Curves(
            f"{self.run_dir.parent.name}/{self.run_dir.name}",
            (tuple(self._train[0]), tuple(self._train[1])),
            (tuple(self._val[0]), tuple(self._val[1])),
            self._learning_rate,
            self._epoch,
            self._bad,
            self._figures,
        )

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            row: Any = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            self._bad += 1
            return
        values = cast("dict[str, object]", row)
        figures = values.get("figures")
        if isinstance(figures, dict):  # the row of an epoch; its train_loss is a mean of rows that were read already
            of_epoch = cast("dict[str, object]", figures)
            values = {**values, "val_loss": of_epoch.get("val_loss")}
            numbers = ((name, _number(value)) for name, value in of_epoch.items() if not name.endswith("_loss"))
            self._figures = tuple((name, value) for name, value in numbers if not math.isnan(value))
        else:
            self._count += 1
        step = _number(values.get("step"))
        if math.isnan(step):
            step = float(self._count)
        for name, (xs, ys) in (("train_loss", self._train), ("val_loss", self._val)):
            value = _number(values.get(name))
            if name in values and len(xs) < MAX_POINTS and not math.isnan(value):
                xs.append(step)
                ys.append(value)
        for name in ("learning_rate", "epoch"):
            value = _number(values.get(name))
            if not math.isnan(value):
                setattr(self, f"_{name}", value)


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


class RunWatcher:
    """The thread. ``models`` and ``running`` are asked each time: where runs lie, and which run is being written."""

    def __init__(self, models: Callable[[], Path | None], running: Callable[[], Path | None]) -> None:
        self._models = models
        self._running = running
        self._shift = 0
        self._wake = threading.Event()
        self._ending = False
        self._reader: RunReader | None = None
        self.curves = Curves()
        self.count = 0
        self.version = 0
        self._thread = threading.Thread(target=self._run, name="secondseat-runs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._wake.set()

    def shift(self, by: int) -> None:
        """Look at an older (+1) or newer (-1) run; 0 is the running or the newest one."""
        self._shift = max(0, min(self._shift + by, max(0, self.count - 1)))
        self._wake.set()

    def _run(self) -> None:
        while not self._ending:
            self.poll()
            self._wake.wait(POLL_S)
            self._wake.clear()

    def poll(self) -> None:
        """Look once."""
        models = self._models()
        runs = find_runs(models) if models is not None else []
        running = self._running()
        if running is not None and (running / METRICS_NAME).is_file():
            runs = [running, *(run for run in runs if run != running)]
        self.count = len(runs)
        if not runs:
            return
        wanted = runs[min(self._shift, len(runs) - 1)]
        if self._reader is None or self._reader.run_dir != wanted:
            self._reader = RunReader(wanted)
        if (curves := self._reader.read()) is not None:
            self.curves = curves
            self.version += 1
