"""How long work tells how far it is: a callback with the stage, the share done and the time left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` is 0..1 of the whole job; ``eta_s`` None when it can't be told yet."""

    stage: str
    done: float
    eta_s: float | None = None
    message: str = ""
    run_dir: str = ""


Report = Callable[[Progress], None]


def is_note(progress: Progress) -> bool:
    """Whether a report is a remark; of a level in a larger training its stage is "tactician note"."""
    return progress.stage.split(" ")[-1] == "note"


def note_text(progress: Progress) -> str:
    """A remark, with the part of the work that it is of."""
    part = progress.stage.rpartition(" ")[0].removesuffix(":")
    return f"{part}: {progress.message}" if part else progress.message


def ignore(progress: Progress) -> None:
    """A report that nobody reads."""
    del progress


def without_notes(report: Report) -> Report:
    """For helpers, which tell how far they are, not their remarks."""

    def forward(progress: Progress) -> None:
        if not is_note(progress):
            report(progress)

    return forward


def part_of(report: Report, start: float, share: float, prefix: str = "") -> Report:
    """A report for a part of a larger job: its 0..1 becomes ``start``..``start + share``. The part's own time left is
    dropped: whoever shows the whole tells it (``engine.runtime.progress.EtaReport``)."""

    def forward(progress: Progress) -> None:
        done = start + share * min(max(progress.done, 0.0), 1.0)
        report(replace(progress, stage=f"{prefix}{progress.stage}", done=done, eta_s=None if share < 1 else progress.eta_s))

    return forward
