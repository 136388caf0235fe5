"""How long work tells how far it is: a callback with the stage, the share done and the time left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` is 0..1 of the whole job; ``eta_s`` None when it can't be told yet."""

    stage: str
    done: float
    eta_s: float | None = None
    message: str = ""
    run_dir: str = ""


Report = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """A report that nobody reads."""
    del progress
