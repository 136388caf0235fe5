"""Checks a session against itself: what metadata claims against what is on disk, and times against each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.labels import LABELS_NAME, unread
from data.labels import read as read_labels
from data.locks import writer_alive
from data.metadata import Metadata, SessionError, Stretch, read_metadata
from data.steps_arrow import TableRead, events_schema, read_table, steps_schema
from data.video import VideoError, VideoReader
from data.vocabulary import CONTROL_HOTKEYS

GAP_S: Final = 0.5
"""Neighbours further apart than this (and than three usual intervals) have a gap between them."""
_MISALIGNED_MS: Final = 100
_AWAY_S: Final = 2.0
"""Input further from the pictures than this belongs to something else."""

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. ``error``: data is missing or wrong; ``warning``: usable, but look; ``info``."""

    severity: Severity
    file: str
    text: str

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return f"{self.severity}: {self.file}: {self.text}"


def verify(folder: Path) -> list[Finding]:
    """Everything that is wrong or remarkable with a session; changes nothing. An empty list: nothing at all.

    Reads the packets of the video but does not decode it (an hour takes seconds).
    """
    try:
        metadata = read_metadata(folder)
    except SessionError as error:
        return [Finding("error", "metadata.json", str(error))]
    found: list[Finding] = []
    alive = writer_alive(folder)
    if alive:
        found.append(Finding("info", "metadata.json", "is being recorded now; what follows is of this moment"))
    elif metadata.state in ("recording", "unsaved"):
        found.append(
            Finding("warning", "metadata.json", f"state {metadata.state!r}, but its writer is gone; run 'secondseat sessions recover'")
        )
    times = _video(folder, metadata, alive, found)
    events = read_table(folder, "events", events_schema())
    steps = read_table(folder, "steps", steps_schema(metadata.profile))
    for name, read, claimed in (("events", events, metadata.counts.events), ("steps", steps, metadata.counts.steps)):
        if read.problem:
            found.append(Finding("error", _table_file(folder, name), read.problem.partition(": ")[2]))
        if not alive and read.table.num_rows != claimed:
            found.append(_counts_differ(_table_file(folder, name), name, claimed, read.table.num_rows))
    _events(folder, metadata, events, times, found)
    _steps(folder, metadata, steps, times, found)
    if told := unread(read_labels(folder)[1]):
        found.append(Finding("error", LABELS_NAME, told))
    for gap in metadata.gaps:
        found.append(Finding("info", "metadata.json", f"recorded gap {_gap_text(gap)}"))
    found.extend(Finding("info", "metadata.json", note) for note in metadata.notes)
    for path in sorted(folder.glob("*.damaged*")):
        found.append(Finding("info", path.name, "the damaged original that a repair kept; it may be deleted"))
    return found


def _video(folder: Path, metadata: Metadata, alive: bool, found: list[Finding]) -> NDArray[np.int64]:
    name = "video.mkv"
    times = np.zeros(0, np.int64)
    if not (folder / name).exists():
        if metadata.counts.frames:  # an imported session has none
            found.append(Finding("error", name, f"missing; metadata.json says {metadata.counts.frames} frames"))
        return times
    try:
        with VideoReader(folder / name) as reader:
            times, ended = reader.times_ms(), reader.ended()
    except VideoError as error:
        found.append(Finding("error", name, str(error).partition(": ")[2]))
        return times
    if not ended and not alive:
        found.append(Finding("error", name, f"breaks off after {len(times)} whole frames"))
    if not alive and len(times) != metadata.counts.frames:
        found.append(_counts_differ(name, "frames", metadata.counts.frames, len(times)))
    text = irregular(times * 1_000_000 + metadata.clock.monotonic_ns, metadata.gaps)
    if text:
        found.append(Finding("warning", name, text))
    return times


def _events(folder: Path, metadata: Metadata, read: TableRead, frame_times_ms: NDArray[np.int64], found: list[Finding]) -> None:
    name = _table_file(folder, "events")
    times = np.asarray(read.table.column("time_ns").to_numpy(), np.int64)
    back = int((np.diff(times) < 0).sum())
    if back:
        found.append(Finding("warning", name, f"time goes back {back} times"))
    control = sorted(CONTROL_HOTKEYS.intersection(read.table.column("name").to_pylist()))
    if control:
        found.append(Finding("error", name, f"holds control hotkeys ({', '.join(control)}), which are never to be recorded"))
    found.extend(_jumps(name, metadata, read))
    places = np.stack([np.asarray(read.table.column(axis).to_numpy(zero_copy_only=False), np.float64) for axis in ("x", "y")])
    outside = int(((places < 0.0) | (places > 1.0)).any(axis=0).sum())
    if outside:
        found.append(Finding("warning", name, f"positions of the pointer outside the picture: {outside}"))
    if len(times) and len(frame_times_ms):
        first_ns, last_ns = (int(ms) * 1_000_000 + metadata.clock.monotonic_ns for ms in (frame_times_ms[0], frame_times_ms[-1]))
        away_s = np.maximum(first_ns - times, times - last_ns) / 1e9
        if away_s.max() > _AWAY_S:
            text = f"events before or after all pictures: {int((away_s > _AWAY_S).sum())} (by up to {away_s.max():.1f} s)"
            found.append(Finding("warning", name, text))


def _jumps(name: str, metadata: Metadata, read: TableRead) -> list[Finding]:
    """Relative motion of a mouse that no hand makes: further in one event than the picture is wide."""
    moves = np.asarray(read.table.column("kind").to_pylist(), str) == "move"
    motion = np.abs([read.table.column(axis).to_numpy().astype(np.int64) for axis in ("dx", "dy")]).max(axis=0, initial=0)
    limit = max([metadata.width_px, *(view.width_px for view in metadata.views)])
    far = motion[moves & (motion > limit)]
    if not len(far):
        return []
    text = f"{len(far)} move{'s' if len(far) > 1 else ''} of the mouse by more than the picture's width in one event (up to {far.max()})"
    return [Finding("warning", name, f"{text}; leave out its dx and dy")]


def _steps(folder: Path, metadata: Metadata, read: TableRead, frame_times_ms: NDArray[np.int64], found: list[Finding]) -> None:
    name = _table_file(folder, "steps")
    if read.table.num_rows == 0:
        return
    times = np.asarray(read.table.column("time_ns").to_numpy(), np.int64)
    text = irregular(times, metadata.gaps)
    if text:
        found.append(Finding("error" if "back" in text else "warning", name, text))
    pts = np.asarray(read.table.column("video_pts_ms").to_numpy(), np.int64)
    seen_ms = (np.asarray(read.table.column("frame_time_ns").to_numpy(), np.int64) - metadata.clock.monotonic_ns) // 1_000_000
    named = pts >= 0
    absent = named & ~np.isin(pts, frame_times_ms)
    last_ms = int(frame_times_ms[-1]) if len(frame_times_ms) else -1
    late = int((absent & (pts > last_ms)).sum())
    if late:
        found.append(Finding("warning", name, f"the last {late} steps saw pictures that the end of video.mkv does not hold any more"))
    if int(absent.sum()) > late:
        found.append(Finding("error", name, f"{int(absent.sum()) - late} steps name pictures that video.mkv does not hold"))
    wrong = int((named & (np.abs(pts - seen_ms) > _MISALIGNED_MS)).sum())
    if wrong:
        found.append(Finding("error", name, f"{wrong} steps name a picture of another time (more than {_MISALIGNED_MS} ms off)"))
    future = int((seen_ms - _MISALIGNED_MS > (times - metadata.clock.monotonic_ns) // 1_000_000).sum())
    if future:
        found.append(Finding("error", name, f"steps that saw a picture of later: {future}"))
    if not named.all():
        found.append(Finding("info", name, f"{int((~named).sum())} steps saw a picture that was not recorded"))


def irregular(times_ns: NDArray[np.int64], gaps: Sequence[Stretch]) -> str:
    """What is irregular about times in order ("1 duplicate, 1 gap 2.0 s"); recorded gaps do not count. "" if nothing."""
    if len(times_ns) < 2:
        return ""
    intervals_ns = np.diff(times_ns)
    parts: list[str] = []
    back, twice = int((intervals_ns < 0).sum()), int((intervals_ns == 0).sum())
    if back:
        parts.append(f"time goes back {back} times")
    if twice:
        parts.append(f"{twice} duplicate{'s' if twice > 1 else ''}")
    limit_ns = _longest_interval_ns(intervals_ns)
    untold = [i for i in np.flatnonzero(intervals_ns > limit_ns) if not _recorded(int(times_ns[i]), int(times_ns[i + 1]), limit_ns, gaps)]
    if untold:
        lengths = ", ".join(f"{intervals_ns[i] / 1e9:.1f} s" for i in untold[:5]) + (", …" if len(untold) > 5 else "")
        parts.append(f"{len(untold)} gap{'s' if len(untold) > 1 else ''} {lengths}")
    return ", ".join(parts)


def _longest_interval_ns(intervals_ns: NDArray[np.int64]) -> float:
    """Neighbours further apart than this have a gap between them."""
    positive = intervals_ns[intervals_ns > 0]
    return max(GAP_S * 1e9, 3.0 * float(np.median(positive)) if len(positive) else 0.0)


def holes(times_ns: NDArray[np.int64], gaps: Sequence[Stretch]) -> list[tuple[int, int, str]]:
    """Where there is nothing to see: start, end and reason of each hole between pictures (times in order), told or not.

    A hole begins when the picture before it would have been followed by another one at the usual pace.
    """
    if len(times_ns) < 2:
        return []
    intervals_ns = np.diff(times_ns)
    usual_ns = int(np.median(intervals_ns))
    found: list[tuple[int, int, str]] = []
    for i in np.flatnonzero(intervals_ns > _longest_interval_ns(intervals_ns)).tolist():
        start_ns, end_ns = int(times_ns[i]) + usual_ns, int(times_ns[i + 1])
        told = next((gap for gap in gaps if gap.start_ns < end_ns and (gap.end_ns is None or gap.end_ns > start_ns)), None)
        found.append((start_ns, end_ns, told.reason if told is not None else ""))
    return found


def _recorded(start_ns: int, end_ns: int, limit_ns: float, gaps: Sequence[Stretch]) -> bool:
    """Whether the recorded gaps explain a hole: what they leave of it is shorter than the limit."""
    covered = sum(max(0, min(end_ns, gap.end_ns or end_ns) - max(start_ns, gap.start_ns)) for gap in gaps)
    return end_ns - start_ns - covered <= limit_ns


def _gap_text(gap: Stretch) -> str:
    length = "without an end" if gap.end_ns is None else f"{(gap.end_ns - gap.start_ns) / 1e9:.1f} s"
    return f"{length} ({gap.reason})" if gap.reason else length


def _table_file(folder: Path, name: str) -> str:
    return f"{name}.parquet" if (folder / f"{name}.parquet").exists() else f"{name}.arrows"


def _counts_differ(file: str, what: str, claimed: int, found: int) -> Finding:
    return Finding("error", file, f"holds {found} {what}, but metadata.json says {claimed}; readers use the {found}")
