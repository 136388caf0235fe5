"""Runners by name."""

from __future__ import annotations

from typing import Final, Literal

from league.runners.base import Runner, RunnerSettings

RunnerName = Literal["processes", "in-process", "ray"]
RUNNERS: Final[tuple[RunnerName, ...]] = ("processes", "in-process", "ray")


def check_runner(name: str, address: str) -> None:
    """Raises ValueError when there is no such runner, or it has no use for an address."""
    if name not in RUNNERS:
        raise ValueError(f"runner {name!r}; use one of {', '.join(RUNNERS)}")
    if address and name != "ray":
        raise ValueError(f"address {address}: only for runner ray, not for {name}; use --runner ray, or leave it out")


def make_runner(name: RunnerName, settings: RunnerSettings, address: str = "") -> Runner:
    """A runner of that name; ``settings.ahead`` counts where actors are apart, ``address`` for Ray alone.

    Raises ValueError for another name, RunnerError when actors cannot be had.
    """
    check_runner(name, address)
    if name == "processes":
        from league.runners.processes import ProcessRunner

        return ProcessRunner(settings)
    if name == "ray":
        from league.runners.ray_runner import RayRunner

        return RayRunner(settings, address)
    from league.runners.in_process import InProcessRunner

    return InProcessRunner(settings)
