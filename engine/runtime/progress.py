"""What becomes of the reports of long work: parts of a whole, a time left, and the file that a job's starter tails."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.files import from_json
from data.progress import Progress, Report, ignore


def part(report: Report, start: float, share: float, prefix: str = "") -> Report:
    """A report for a part of a larger job: its 0..1 becomes ``start``..``start + share``."""

    def forward(progress: Progress) -> None:
        stage = f"{prefix}{progress.stage}"
        report(Progress(stage, start + share * min(max(progress.done, 0.0), 1.0), progress.eta_s, progress.message, progress.run_dir))

    return forward


class EtaReport:
    """Adds the time left, from the share done and the time passed since it was made."""

    def __init__(self, report: Report, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock_s, self._start_s = report, clock_s, clock_s()

    def __call__(self, progress: Progress) -> None:
        passed_s = self._clock_s() - self._start_s
        eta_s = passed_s * (1.0 - progress.done) / progress.done if progress.done > 0.01 and passed_s > 1.0 else None
        self._report(Progress(progress.stage, progress.done, eta_s, progress.message, progress.run_dir))


class ProgressFile:
    """Appends one JSON line per report (at most four a second, but every change of stage) to a file that the
    starter of the job tails; it is whole after each line, so a killed job leaves a readable file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last_s = 0.0
        self._last_stage = ""

    def __call__(self, progress: Progress) -> None:
        now_s = time.monotonic()
        if progress.stage == self._last_stage and now_s - self._last_s < 0.25 and progress.done < 1.0:
            return
        self._last_s, self._last_stage = now_s, progress.stage
        self.write(
            {
                "stage": progress.stage,
                "done": progress.done,
                "eta_s": progress.eta_s,
                "message": progress.message,
                "run_dir": progress.run_dir,
            }
        )

    def write(self, line: dict[str, Any]) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def last_line(path: Path, limit_bytes: int = 8192) -> dict[str, Any]:
    """The newest whole JSON object of a file that another process appends to; empty when there is none."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit_bytes))
            lines = file.read().split(b"\n")[:-1]  # what follows the last newline is still being written
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            value = from_json(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value  # pyright: ignore[reportUnknownVariableType]
    return {}


__all__ = ["EtaReport", "Progress", "ProgressFile", "Report", "ignore", "last_line", "part"]
