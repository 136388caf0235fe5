"""Labels of time windows: an append-only journal, and which label holds where several speak.

Sources in order of precedence: human, vlm, rules. A target is kept as time, class and box, and found again by
overlap, since track ids change when a session is perceived anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from data.profile import Unit
from data.schema import NO_TARGET, Tracks
from data.vocabulary import Mode

LABELS_NAME: Final = "labels.jsonl"
LabelSource = Literal["human", "vlm", "rules"]
_RANK: Final[dict[LabelSource, int]] = {"rules": 0, "vlm": 1, "human": 2}


class Target(BaseModel):
    """Which object was meant: where one of this class was at a time. box: centre x, y, width, height in 0..1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time_ns: int
    class_name: str
    box: tuple[Unit, Unit, Unit, Unit]


class Label(BaseModel):
    """What one source says of one window; a field that is None says nothing. ``no_target`` says "none was meant"."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    start_ns: int
    end_ns: int
    source: LabelSource
    mode: Mode | None = None
    target: Target | None = None
    no_target: bool = False
    description: str | None = Field(default=None, max_length=2000)
    health: Unit | None = None
    confidence: Unit | None = None
    by: str = Field(default="", description="who: a model's name, a rule set's version; empty for a person")
    wall_s: float = Field(default=0.0, description="when it was said, seconds since 1970 UTC")

    @property
    def window(self) -> tuple[int, int]:
        return (self.start_ns, self.end_ns)


def append(folder: Path, labels: Iterable[Label]) -> None:
    """Adds labels to the journal of a session folder, synchronised when it returns. Raises OSError."""
    lines = "".join(label.model_dump_json(exclude_defaults=True) + "\n" for label in labels)
    with (folder / LABELS_NAME).open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that a crash cut off stays a line of its own
                lines = "\n" + lines
        file.write(lines.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def read(folder: Path) -> tuple[list[Label], int]:
    """All labels of a session in the order they were said, and the number of lines that could not be read."""
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
            labels.append(Label.model_validate(json.loads(line)))
        except (ValueError, ValidationError):
            bad += 1
    return labels, bad


def resolve(labels: Iterable[Label]) -> list[Label]:
    """One label per window, by start: each field from the highest source that says something of it; of one source
    the later word holds. The result's ``source`` is the highest that spoke."""
    ordered = sorted(enumerate(labels), key=lambda item: (_RANK[item[1].source], item[0]))
    merged: dict[tuple[int, int], dict[str, Any]] = {}
    for _, label in ordered:
        values = merged.setdefault(label.window, {})
        said = label.model_dump(exclude_none=True, exclude_defaults=True)
        if "target" in said or label.no_target:
            values.pop("target", None)
            values.pop("no_target", None)
        values.update(said)
        values.update(start_ns=label.start_ns, end_ns=label.end_ns, source=label.source)
    return [Label.model_validate(values) for _, values in sorted(merged.items())]


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
