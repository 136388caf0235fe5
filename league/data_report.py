"""What loaded play holds, for people and as JSON: a look at it before anything is learnt from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from league.codec import FIELD, HEADS
from league.trajectories import TrajectorySequence

_MOST_NAMES = 8


@dataclass(slots=True)
class FileReport:
    """One file. ``dropped``: rows or lines left out, by why. ``defaulted``: rows in which something was assumed, by what."""

    name: str
    kind: str
    used: int = 0
    sequences: int = 0
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    defaulted: dict[str, int] = field(default_factory=dict[str, int])
    unknown: dict[str, int] = field(default_factory=dict[str, int])
    """Keys that are not read, and how often they were met."""
    notes: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class FieldRange:
    """Of one number of the observation over all frames that count."""

    low: float
    mean: float
    high: float


@dataclass(slots=True)
class DataReport:
    """Everything that was loaded. ``actions``: how often each bin was chosen where the head had an effect."""

    files: list[FileReport]
    notes: list[str]
    sequences: int = 0
    episodes: int = 0
    frames: int = 0
    shortest: int = 0
    median: float = 0.0
    longest: int = 0
    actions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    """Sequences that were won, lost, ended between, or whose end is not known."""
    observation: dict[str, FieldRange] = field(default_factory=dict[str, FieldRange])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def text(self) -> str:
        """For a terminal."""
        lines = [_file_text(f) for f in self.files] + self.notes
        lines.append(
            f"{self.sequences} sequences of {self.episodes} episodes, {self.frames} frames; "
            f"lengths {self.shortest} to {self.longest}, median {self.median:g}"
        )
        if not self.frames:
            return "\n".join(lines)
        lines.append("outcomes: " + ", ".join(f"{name} {count}" for name, count in self.outcomes.items()))
        lines += [f"  {name:<9}" + " ".join(f"{n:>8}" for n in counts) for name, counts in self.actions.items()]
        constant = [name for name, r in self.observation.items() if r.low == r.high]
        lines += [f"  {name:<15}{r.low:>8.3f}{r.mean:>8.3f}{r.high:>8.3f}" for name, r in self.observation.items()]
        if constant:
            lines.append(f"never change, so nothing can be learnt from them: {', '.join(constant)}")
        return "\n".join(lines)


def _file_text(file: FileReport) -> str:
    told = [f"{file.name} ({file.kind}): {file.used} rows in {file.sequences} sequences"]
    for what, counts in (("dropped", file.dropped), ("defaulted", file.defaulted), ("not read", file.unknown)):
        if counts:
            names = sorted(counts.items(), key=lambda item: -item[1])
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            told.append(f"  {what}: " + ", ".join(f"{name} {count}" for name, count in names[:_MOST_NAMES]) + more)
    return "\n".join([*told, *(f"  {note}" for note in file.notes)])


def data_report(sequences: Sequence[TrajectorySequence], files: Sequence[FileReport] = (), notes: Sequence[str] = ()) -> DataReport:
    """The report of some play, with what the loaders said of each file."""
    report = DataReport(list(files), list(notes))
    lengths: list[int] = []
    outcomes: Counter[str] = Counter()
    names: set[str] = set()
    actions = {name: np.zeros(bins, np.int64) for name, bins in HEADS.items()}
    seen: list[Any] = []
    for number, sequence in enumerate(sequences):
        living = sequence.living
        lengths += living.sum(0).tolist()
        outcomes.update(_outcomes(sequence))
        names |= set(sequence.episodes or [f"unnamed {number}"])
        rows = sequence.observation[living]
        if len(rows):
            seen.append((rows.min(0), rows.sum(0, dtype=np.float64), rows.max(0)))
        for head, (name, bins) in enumerate(HEADS.items()):
            chosen = sequence.action[..., head][living & sequence.head_mask[..., head]]
            actions[name] += np.bincount(chosen, minlength=bins)
    report.sequences, report.episodes, report.frames = len(lengths), len(names), sum(lengths)
    report.outcomes = {name: outcomes[name] for name in ("won", "lost", "between", "not known")}
    report.actions = {name: counts.tolist() for name, counts in actions.items()}
    if lengths:
        report.shortest, report.median, report.longest = min(lengths), float(np.median(lengths)), max(lengths)
    if seen:
        low, total, high = (np.stack(part) for part in zip(*seen, strict=True))
        numbers = zip(low.min(0).tolist(), (total.sum(0) / report.frames).tolist(), high.max(0).tolist(), strict=True)
        report.observation = {name: FieldRange(*values) for name, values in zip(FIELD, numbers, strict=True)}
    return report


def _outcomes(sequence: TrajectorySequence) -> list[str]:
    """How each column ended: by its last reward where it is terminated."""
    ended = (sequence.terminated & sequence.living).any(0)
    paid = np.where(sequence.living, sequence.reward, 0.0).sum(0)
    names = np.where(paid >= 1, "won", np.where(paid <= -1, "lost", "between"))
    return np.where(ended, names, "not known").tolist()
