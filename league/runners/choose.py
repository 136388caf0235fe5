"""Runners by name."""

from __future__ import annotations

from typing import Final, Literal

from league.runners.base import Runner, RunnerSettings

RunnerName = Literal["processes", "in-process"]
RUNNERS: Final[tuple[RunnerName, ...]] = ("processes", "in-process")


def make_runner(name: RunnerName, settings: RunnerSettings) -> Runner:
    """A runner of that name; ``settings.ahead`` counts for processes alone. Raises ValueError for another name."""
    if name == "processes":
        from league.runners.processes import ProcessRunner

        return ProcessRunner(settings)
    if name == "in-process":
        from league.runners.in_process import InProcessRunner

        return InProcessRunner(settings)
    raise ValueError(f"runner {name!r}; use one of {', '.join(RUNNERS)}")
