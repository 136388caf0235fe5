"""Labels of time windows: an append-only journal, and which label holds where several speak.

Sources in order of precedence: human, vlm, rules. Of one source the later word holds, for its stretch of time. A line
``{"undo": source}`` takes back the newest label of that source which was not taken back before. A target is kept as
time, class and box, and found again by overlap, since track ids change when a session is perceived anew.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from data.files import from_json
from data.locks import edit_lock
from data.profile import Unit
from data.schema import NO_TARGET, Tracks
from data.steps import NO_MODE, UNSAID_TARGET, Steps
from data.text import text_refusal
from data.vocabulary import MODES, Mode

LABELS_NAME: Final = "labels.jsonl"
LabelSource = Literal["human", "vlm", "rules"]
SOURCES: Final[tuple[LabelSource, ...]] = ("rules", "vlm", "human")
"""From the least to the most believed."""
TARGET_ROLES: Final = ("enemy", "loot")
"""Roles of what can be a target, for a person as for the rules."""
TimeNs = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A time as steps have it: what is beyond can be no time of a session."""
NEAR_NS: Final = 300_000_000
"""A target is looked for in the steps so near to the time at which it was pointed at."""


class Target(BaseModel):
    """Which object was meant: where one of this class was at a time. box: centre x, y, width, height in 0..1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time_ns: TimeNs
    class_name: str
    box: tuple[Unit, Unit, Unit, Unit]


class Label(BaseModel):
    """What one source says of one window; a field that is None says nothing. ``no_target`` says "none was meant",
    ``withdrawn`` that what this source had said of the window does not hold any more."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    start_ns: TimeNs
    end_ns: TimeNs
    source: LabelSource
    mode: Mode | None = None
    target: Target | None = None
    no_target: bool = False
    description: str | None = Field(default=None, max_length=2000)
    health: Unit | None = None
    confidence: Unit | None = None
    withdrawn: bool = False
    by: str = Field(default="", description="who: a model's name, a rule set's version; empty for a person")
    wall_s: float = Field(default=0.0, description="when it was said, seconds since 1970 UTC")

    @property
    def window(self) -> tuple[int, int]:
        return (self.start_ns, self.end_ns)


@dataclass(frozen=True, slots=True)
class ModeStretch:
    """The mode that holds from ``start_ns`` up to, not including, ``end_ns``, and who says so."""

    start_ns: int
    end_ns: int
    mode: Mode
    source: LabelSource


@dataclass(frozen=True, slots=True)
class TargetStretch:
    """The target that holds (None: that there is none) from ``start_ns`` up to, not including, ``end_ns``, and who says so."""

    start_ns: int
    end_ns: int
    target: Target | None
    source: LabelSource


def append(folder: Path, labels: Iterable[Label]) -> None:
    """Adds labels to the journal of a session folder, synchronised when it returns. Raises OSError."""
    _append_lines(folder, [label.model_dump_json(exclude_defaults=True) for label in labels])


def set_mode(folder: Path, start_ns: int, end_ns: int, mode: Mode | None) -> Label:
    """Says as a person which mode a stretch is, or (None) takes back all that a person said of it.

    Raises ValueError for a stretch without a length, OSError when the journal cannot be written.
    """
    if mode is None:
        return _say(folder, Label(start_ns=start_ns, end_ns=end_ns, source="human", withdrawn=True))
    return say(folder, start_ns, end_ns, mode=mode)


def say(
    folder: Path,
    start_ns: int,
    end_ns: int,
    *,
    mode: Mode | None = None,
    target: Target | None = None,
    no_target: bool = False,
    description: str | None = None,
) -> Label:
    """Says as a person what a stretch is; what is not given is left as it was said before.

    Raises ValueError for a stretch without a length, when nothing is said, a target and none at once, or a description that cannot be kept;
    OSError likewise.
    """
    if target is not None and no_target:
        raise ValueError("a stretch has a target or none, not both")
    if mode is None and target is None and not no_target and not description:
        raise ValueError("a label that says nothing is none: give a mode, a target or a description")
    if description and (refusal := text_refusal(description)):
        raise ValueError(f"the description cannot be kept: {refusal}")
    label = Label(
        start_ns=start_ns, end_ns=end_ns, source="human", mode=mode, target=target, no_target=no_target, description=description or None
    )
    return _say(folder, label)


def _say(folder: Path, label: Label) -> Label:
    if label.end_ns <= label.start_ns:
        raise ValueError(f"a label needs a stretch: its end ({label.end_ns}) is not after its start ({label.start_ns})")
    label = label.model_copy(update={"wall_s": round(time.time(), 3)})
    append(folder, [label])
    return label


def undo_last(folder: Path) -> Label | None:
    """Takes back the newest human label; returns it, or None when there is none. May be repeated. Raises OSError."""
    with edit_lock(folder):
        last = next((label for label in reversed(read(folder)[0]) if label.source == "human"), None)
        if last is not None:
            _write_lines(folder, [json.dumps({"undo": "human", "wall_s": round(time.time(), 3)})])
    return last


def _append_lines(folder: Path, lines: Sequence[str]) -> None:
    if lines:
        with edit_lock(folder):
            _write_lines(folder, lines)


def _write_lines(folder: Path, lines: Sequence[str]) -> None:
    content = "".join(f"{line}\n" for line in lines)
    with (folder / LABELS_NAME).open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that a crash cut off stays a line of its own
                content = f"\n{content}"
        file.write(content.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def read(folder: Path) -> tuple[list[Label], int]:
    """All labels of a session that hold or once held, in the order they were said, without those that were undone;
    and the number of lines that could not be read."""
    try:
        content = (folder / LABELS_NAME).read_bytes()
    except FileNotFoundError:
        return [], 0
    labels: list[Label] = []
    bad = 0
    for line in content.splitlines():
        if not line.strip():
            continue
        try:
            value: Any = from_json(line)
            source = cast("dict[str, Any]", value).get("undo") if isinstance(value, dict) else None
            if source is not None:
                _undo(labels, source)
            else:
                labels.append(Label.model_validate(value))
        except (ValueError, ValidationError):
            bad += 1
    return labels, bad


def _undo(labels: list[Label], source: object) -> None:
    place = next((i for i in range(len(labels) - 1, -1, -1) if labels[i].source == source), None)
    if place is not None:
        del labels[place]


def mode_stretches(labels: Iterable[Label]) -> list[ModeStretch]:
    """Which mode holds when, in order and without overlap: of the highest source that says one, its latest word."""
    stretches: list[ModeStretch] = []
    for start, end, label in _holding(labels, lambda said: said.mode is not None):
        mode = cast("Mode", label.mode)
        before = stretches[-1] if stretches else None
        if before is not None and (before.end_ns, before.mode, before.source) == (start, mode, label.source):
            stretches[-1] = ModeStretch(before.start_ns, end, mode, label.source)
        else:
            stretches.append(ModeStretch(start, end, mode, label.source))
    return stretches


def target_stretches(labels: Iterable[Label]) -> list[TargetStretch]:
    """Which target holds when, likewise. A word of the mode alone says nothing of the target, and the other way round."""
    stretches: list[TargetStretch] = []
    for start, end, label in _holding(labels, lambda said: said.target is not None or said.no_target):
        before = stretches[-1] if stretches else None
        if before is not None and (before.end_ns, before.target, before.source) == (start, label.target, label.source):
            stretches[-1] = TargetStretch(before.start_ns, end, label.target, label.source)
        else:
            stretches.append(TargetStretch(start, end, label.target, label.source))
    return stretches


def _holding(labels: Iterable[Label], speaks: Callable[[Label], bool]) -> list[tuple[int, int, Label]]:
    """(start, end, label) of the label that holds, among those that speak of one thing or were withdrawn; in order, none overlapping."""
    spoken = [label for label in labels if (speaks(label) or label.withdrawn) and label.end_ns > label.start_ns]
    edges = np.unique(np.array([edge for label in spoken for edge in label.window], np.int64))
    if not len(edges):
        return []
    holds = np.full(len(edges) - 1, -1, np.int64)
    for source in SOURCES:
        own = np.full(len(holds), -1, np.int64)
        for place, label in enumerate(spoken):
            if label.source == source:
                first, last = np.searchsorted(edges, label.window)
                own[first:last] = -1 if label.withdrawn else place
        holds = np.where(own >= 0, own, holds)
    return [(int(edges[i]), int(edges[i + 1]), spoken[holds[i]]) for i in np.flatnonzero(holds >= 0).tolist()]


def modes_at(stretches: Sequence[ModeStretch], times_ns: NDArray[np.int64]) -> NDArray[np.int8]:
    """int8 [T]: index into MODES of the mode that holds at each of the times (in order), NO_MODE where none is said."""
    modes = np.full(len(times_ns), NO_MODE, np.int8)
    for stretch in stretches:
        first, last = np.searchsorted(times_ns, (stretch.start_ns, stretch.end_ns))
        modes[first:last] = MODES.index(stretch.mode)
    return modes


def unread(bad: int) -> str:
    """That so many lines of a journal cannot be read, in words; empty for none."""
    return f"{bad} line{'s' if bad > 1 else ''} of {LABELS_NAME} cannot be read: what they said is not known" if bad else ""


def labelled_and_unread(steps: Steps, folder: Path) -> tuple[Steps, str]:
    """The steps of a session with what the journal in its folder says of them, and what of it cannot be read. Raises OSError."""
    labels, bad = read(folder)
    said_mode = modes_at(mode_stretches(labels), steps.time_ns)
    return replace(steps, said_mode=said_mode, said_target=targets_at(target_stretches(labels), steps)), unread(bad)


def labelled(steps: Steps, folder: Path) -> Steps:
    """The steps alone."""
    return labelled_and_unread(steps, folder)[0]


def targets_at(stretches: Sequence[TargetStretch], steps: Steps) -> NDArray[np.int32]:
    """int32 [T]: the id of the track that is said to be the target at each step, NO_TARGET where it is said that there is none,
    or that track is not there in the row, UNSAID_TARGET where nothing is said or no track is the one that is meant.

    A track is followed from where it was pointed at to both ends of its stretch, under another id where it overlaps itself.
    """
    found = np.full(len(steps), UNSAID_TARGET, np.int32)
    for stretch in stretches:
        first, last = (int(row) for row in np.searchsorted(steps.time_ns, (stretch.start_ns, stretch.end_ns)))
        if stretch.target is None:
            found[first:last] = NO_TARGET
        elif first < last and len(ids := _followed(stretch.target, steps, first, last)):
            found[first:last] = ids
    return found


def _followed(target: Target, steps: Steps, first: int, last: int) -> NDArray[np.int32]:
    """int32 [last - first] ids of a target in these rows; of length 0 when it is found in none near the time it was pointed at."""
    names = steps.profile.class_names()
    nearest = np.abs(steps.time_ns - target.time_ns)
    for row in np.flatnonzero(nearest <= NEAR_NS)[np.argsort(nearest[nearest <= NEAR_NS], kind="stable")].tolist():
        if (track := find_target(target, steps.tracks(row), names)) != NO_TARGET:
            break
    else:
        return np.zeros(0, np.int32)
    ids = np.full(len(steps), NO_TARGET, np.int32)
    for rows in (range(row, max(last, row + 1)), range(row - 1, min(first, row) - 1, -1)):
        known, seen = track, target
        for at in rows:
            tracks = steps.tracks(at)
            here = np.flatnonzero(tracks.ids == known)
            again = known if len(here) else find_target(seen, tracks, names)
            if again == NO_TARGET:
                continue
            known = again
            box = np.clip(tracks.boxes[tracks.ids == known][0], 0.0, 1.0)
            seen = Target(time_ns=int(steps.time_ns[at]), class_name=target.class_name, box=(box[0], box[1], box[2], box[3]))
            ids[at] = known
    return ids[first:last]


def find_target(target: Target, tracks: Tracks, class_names: tuple[str, ...], min_overlap: float = 0.3) -> int:
    """The id of the track that ``target`` means: of its class, with the largest overlap (intersection over union).

    tracks: those at the target's time. Returns NO_TARGET when none overlaps by ``min_overlap``.
    """
    if target.class_name not in class_names or len(tracks) == 0:
        return NO_TARGET
    box = np.array(target.box, np.float32)
    low = np.maximum(tracks.boxes[:, :2] - tracks.boxes[:, 2:] / 2, box[:2] - box[2:] / 2)
    high = np.minimum(tracks.boxes[:, :2] + tracks.boxes[:, 2:] / 2, box[:2] + box[2:] / 2)
    shared = np.prod(np.clip(high - low, 0.0, None), axis=1)
    union = np.prod(tracks.boxes[:, 2:], axis=1) + float(np.prod(box[2:])) - shared
    overlap = np.where(tracks.classes == class_names.index(target.class_name), shared / np.maximum(union, 1e-9), 0.0)
    best = int(np.argmax(overlap))
    return int(tracks.ids[best]) if cast("float", overlap[best]) >= min_overlap else NO_TARGET
