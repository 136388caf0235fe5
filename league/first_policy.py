"""The league's first policy, from whatever play there is: files of the workspace, scripted pilots' matches, or both.

Load, imitate, then play the scripted pilots; the policy is on disk before it is judged, so that stopping there loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from data.checkpoint import CheckpointError
from data.progress import Progress, Report, ignore, part_of
from league.data_report import DataReport, data_report
from league.demonstrations import pilot_play
from league.imitate import ImitationResult, ImitationSettings, imitate, load_policy
from league.places import USUAL_FOLDERS
from league.players import SUFFIX, Versus, judge
from league.sources import load_play
from league.trajectories import TrajectorySequence

PLAY_DONE: Final = 0.2
LEARNT_DONE: Final = 0.9
"""Shares of the whole work at which play is gathered and learning is over: guesses that only the bar knows."""
EXPERTS: Final = ("expert",) * 4
"""Half of the pilots' matches: whom the policy is to meet should be seen. (1,000 sequences of mixed matches gave a payoff of 0.18 against
experts, 2,000 of experts among themselves 0.27; how much of that is the amount was not measured.)"""


@dataclass(frozen=True, slots=True)
class FirstPolicySettings:
    """Folders that are None are not looked into. Raises ImitationError from ``imitation`` for a value out of range."""

    data_dir: Path | None = None
    feedback_dir: Path | None = None
    live_dir: Path | None = None
    pilot_matches: int = 0
    """Matches of scripted pilots whose experts are imitated as well: half of experts alone, half with a novice and a random one."""
    judge_matches: int = 400
    """Matches against each kind of pilot afterwards; 0: none."""
    imitation: ImitationSettings = field(default_factory=ImitationSettings)


@dataclass(frozen=True, slots=True)
class FirstPolicy:
    """``learnt.path`` is the policy; ``data`` what it learnt from; ``versus`` what it is worth."""

    learnt: ImitationResult
    data: DataReport
    versus: tuple[Versus, ...]
    notes: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        return self.learnt.interrupted

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        learnt = self.learnt
        return {
            "policy": str(learnt.path),
            "epochs": learnt.epochs,
            "interrupted": learnt.interrupted,
            "validation_loss": learnt.validation_loss if learnt.epochs else None,
            "train_frames": learnt.train_frames,
            "validation_frames": learnt.validation_frames,
            "heads": {name: asdict(figures) for name, figures in learnt.figures.items()},
            "versus": [one.to_json() for one in self.versus],
            "data": self.data.to_json(),
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """For a terminal."""
        learnt, data = self.learnt, self.data
        lines = [f"learnt from {data.sequences} sequences of {data.episodes} episodes, {data.frames} frames"]
        lines.append(f"  {learnt.train_frames} frames to learn from, {learnt.validation_frames} of other episodes to check on")
        if learnt.figures:
            lines += ["", learnt.text(), "(accuracy beside always the most frequent, and the choice of the frame before)", ""]
        lines += [one.text() for one in self.versus]
        lines += [f"note: {note}" for note in self.notes]
        if learnt.epochs:
            lines.append(f"policy: {learnt.path}{SUFFIX}")
        return "\n".join(lines)


def usual_folders(workspace: Path) -> tuple[Path | None, Path | None, Path | None]:
    """Those of ``USUAL_FOLDERS`` that are there, for ``FirstPolicySettings``."""
    data, feedback, live = (folder if (folder := workspace / name).is_dir() else None for name in USUAL_FOLDERS)
    return data, feedback, live


def gather_play(
    settings: FirstPolicySettings, report: Report = ignore, stop: Callable[[], bool] = lambda: False
) -> tuple[list[TrajectorySequence], DataReport]:
    """All sequences of the folders and of the pilots, and a report of both."""
    loaded = load_play(settings.data_dir, settings.feedback_dir, settings.live_dir, report=report, stop=stop)
    sequences: list[TrajectorySequence] = list(loaded.sequences)
    notes = loaded.report.notes
    if settings.pilot_matches:
        notes = [note for note in notes if not note.startswith("no play was found")]
        seed, mixed = settings.imitation.seed, settings.pilot_matches // 2
        sequences += pilot_play(settings.pilot_matches - mixed, EXPERTS, seed=seed, report=report, stop=stop)
        if mixed:
            sequences += pilot_play(mixed, seed=seed + 1, report=report, stop=stop)
    return sequences, data_report(sequences, loaded.report.files, notes)


def make_first_policy(
    settings: FirstPolicySettings,
    path: Path,
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
) -> FirstPolicy:
    """Gather play, imitate it and write the policy to ``path`` (without suffix; its folder holds the epochs), then judge it.

    Ctrl-C and ``stop`` while learning keep the last whole epoch, while judging the policy; before, they raise KeyboardInterrupt.
    Raises ImitationError when there is nothing to
    learn from, CheckpointError when a policy is there already and is not to be resumed or does not fit, OSError.
    """
    if not resume and path.with_name(path.name + SUFFIX).exists():
        raise CheckpointError(f"{path}{SUFFIX}: is there already; go on with it by --resume, or name another --output")
    sequences, data = gather_play(settings, part_of(report, 0.0, PLAY_DONE), stop)
    if stop():  # part of the play would be taken for other data
        raise KeyboardInterrupt("stopped while play was gathered: nothing was changed")
    about = {
        "pilot_matches": settings.pilot_matches,
        "files": [{"name": f.name, "kind": f.kind, "frames": f.used} for f in data.files],
        "outcomes": data.outcomes,
    }
    learning = part_of(report, PLAY_DONE, LEARNT_DONE - PLAY_DONE)
    learnt = imitate(sequences, settings.imitation, path.parent, path.name, learning, stop, resume, about)
    versus: Sequence[Versus] = ()
    notes = [*data.notes, *learnt.notes]
    if settings.judge_matches and learnt.epochs and not learnt.interrupted:
        try:
            network, _ = load_policy(learnt.path)
            judging = part_of(report, LEARNT_DONE, 1.0 - LEARNT_DONE)
            versus = judge(network, matches=settings.judge_matches, seed=settings.imitation.seed, report=judging, stop=stop)
        except KeyboardInterrupt:
            notes.append("interrupted while it played the pilots; the policy is kept")
    report(Progress("done", 1.0))
    return FirstPolicy(learnt, data, tuple(versus), tuple(notes))
