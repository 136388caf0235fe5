"""What stands before a person's work on boxes: pictures up to a number, and proposals in those that nobody has looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.runtime.progress import Report, ignore, part
from engine.teach import TeachProject
from engine.teach_guesses import Proposed, propose
from engine.teach_sampling import sample
from engine.teach_training import newest_model


@dataclass(frozen=True, slots=True)
class Prepared:
    """``taken`` of ``asked`` pictures; ``asked`` 0: enough were there. ``proposed`` None: every picture had been looked at."""

    asked: int
    taken: int
    proposed: Proposed | None

    def lines(self) -> list[str]:
        """What was done, for a person; nothing where nothing was."""
        told: list[str] = []
        if self.asked:
            short = "; the rest of the recordings looks the same" if self.taken < self.asked else ""
            told.append(f"{self.taken} pictures taken from the recordings{short}")
        if self.proposed is not None and (self.proposed.by or self.proposed.moving):
            told.append(str(self.proposed))
        return told


def prepare(
    project: TeachProject,
    wanted: int,
    sessions: Sequence[str] = (),
    report: Report = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Have ``wanted`` pictures in all, and propose boxes in those that are still open, by the newest model if there is one.

    Raises TeachError, engine.perception.card.DetectorError, WorkspaceError, OSError; KeyboardInterrupt when it was to stop.
    """
    asked = max(0, wanted - len(project.pictures()))
    share = 0.6 if asked else 0.0
    taken = sample(project, asked, sessions, part(report, 0.0, share), should_stop) if asked else 0
    proposed = None
    if any(p.state in ("new", "proposed") for p in project.pictures()):
        proposed = propose(project, newest_model(project), part(report, share, 1 - share), should_stop)
    return Prepared(asked, taken, proposed)
