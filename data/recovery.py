"""Repairs sessions whose writer died: keeps every whole picture and row, counts anew, says what was lost.

A repair may be repeated, and be interrupted anywhere: it changes nothing that is whole. A file that it has to
rewrite is kept beside the new one as ``<name>.damaged``.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from data.catalog import session_folders
from data.files import free_bytes, from_json, replace_path, sync_folder
from data.locks import LOCK_NAME, Locked, SessionLock, writer_alive
from data.metadata import METADATA_NAME, Metadata, Recovery, SessionError, Stretch, parse, read_metadata, read_raw, write_metadata
from data.steps_arrow import TableWriter, events_schema, read_table, steps_schema
from data.trash import trash_folder
from data.untyped import parquet, pyarrow
from data.verify import Finding, verify
from data.video import VideoError, VideoReader, remux
from data.workspace import Workspace

__all__ = ["Finding", "RecoveryReport", "keep_original", "recover", "recover_all", "unfinished", "verify"]

NEW_PREFIX: Final = ".new-"
"""Begins the name of a folder in which a session is being put together from others."""
_REPAIR: Final = ".repair"

Outcome = Literal["recovered", "trashed", "removed", "nothing", "refused"]


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What a repair did with one session. ``lost_s``: at most this much of the recording is missing at its end."""

    id: str
    outcome: Outcome
    message: str
    lost_s: float = 0.0
    damaged: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "damaged": list(self.damaged)}


def unfinished(folder: Path) -> bool:
    """Whether a session was left unfinished by a writer that is gone (cheap: metadata and lock only)."""
    if writer_alive(folder):
        return False
    try:
        return read_raw(folder).get("state") in ("recording", "unsaved")
    except SessionError:
        return (folder / LOCK_NAME).exists()


def recover_all(workspace: Path, progress: Callable[[str], None] | None = None) -> list[RecoveryReport]:
    """Repairs every session of a workspace that was left unfinished; to be run at start. Never raises for one session.

    progress: is told the id of each session before its repair.
    """
    clear_unfinished(workspace)
    reports: list[RecoveryReport] = []
    for folder in session_folders(workspace):
        try:
            if not unfinished(folder):
                continue
            if progress is not None:
                progress(folder.name)
            reports.append(recover(folder))
        except (OSError, ValueError) as error:
            reports.append(RecoveryReport(folder.name, "refused", f"{folder.name}: could not be repaired: {error}"))
    return reports


def clear_unfinished(workspace: Path) -> None:
    """Removes what a killed process had begun to put together from other sessions."""
    root = Workspace(workspace).sessions
    for folder in root.glob(f"{NEW_PREFIX}*") if root.is_dir() else ():
        if not writer_alive(folder):
            shutil.rmtree(folder, ignore_errors=True)


def recover(folder: Path) -> RecoveryReport:
    """Repairs one session. What is whole is left as it is, with outcome "nothing".

    Raises OSError when the disk refuses; what was there before is then still there.
    """
    alive_s, written_s = _changed_s(folder / LOCK_NAME), _changed_s(folder / "video.mkv")
    locked_before = (folder / LOCK_NAME).exists()
    try:
        lock = SessionLock(folder)
    except Locked as error:
        return RecoveryReport(folder.name, "refused", f"{error}; stop it first")
    try:
        return _repair(folder, alive_s if locked_before else None, written_s)
    finally:
        with suppress(OSError):
            lock.release()


def _repair(folder: Path, alive_s: float | None, written_s: float | None) -> RecoveryReport:
    _tidy(folder)
    damaged: list[str] = []
    try:
        metadata = read_metadata(folder)
    except SessionError as error:
        rebuilt = _metadata_from_events(folder) if _may_rebuild(folder) else None
        if rebuilt is None:
            if _empty(folder):
                return _remove(folder)
            return RecoveryReport(folder.name, "refused", f"{error}; nothing was changed")
        metadata = rebuilt
        metadata.notes.append("metadata.json was damaged and has been rebuilt: gaps, marks and views are not known any more")
        if (folder / METADATA_NAME).exists():
            damaged.append(keep_original(folder / METADATA_NAME).name)
    was_open = metadata.state in ("recording", "unsaved")
    times_ms, cut = _video(folder, damaged)
    rows = {
        "events": _table(folder, "events", events_schema(), damaged),
        "steps": _table(folder, "steps", steps_schema(metadata.profile), damaged),
    }
    claimed = metadata.counts.model_copy()
    if len(times_ms) == 0 and was_open:
        return _set_aside(folder, rows)
    counted = (len(times_ms), *rows.values())
    same = counted == (claimed.frames, claimed.events, claimed.steps)
    if not (was_open or damaged or cut or not same):
        return RecoveryReport(folder.name, "nothing", f"{folder.name}: whole, nothing to repair")
    lost_s = _lost_s(metadata, times_ms, alive_s, written_s) if metadata.state == "recording" else 0.0
    metadata.counts.frames, metadata.counts.events, metadata.counts.steps = counted
    measure(metadata, times_ms)
    message = _message(metadata, was_open, claimed.frames, lost_s, damaged)
    metadata.state = "recovered"
    metadata.recovery = Recovery(
        at=datetime.now(UTC).isoformat(timespec="seconds"), lost_s=round(lost_s, 1), message=message, damaged=damaged
    )
    write_metadata(folder, metadata)
    sync_folder(folder)
    return RecoveryReport(folder.name, "recovered", f"{folder.name}: {message}", round(lost_s, 1), tuple(damaged))


def _message(metadata: Metadata, was_open: bool, claimed_frames: int, lost_s: float, damaged: list[str]) -> str:
    counts = metadata.counts
    have = f"{metadata.duration_s:.1f} s with {counts.frames} frames, {counts.events} events and {counts.steps} steps are whole"
    if metadata.state == "unsaved":
        text = f"{have}; it had been neither saved nor discarded, nothing was lost"
    elif was_open:
        text = f"{have}; at most {lost_s:.1f} s at the end were lost"
    else:
        text = f"{have}; metadata.json had claimed {claimed_frames} frames"
    return f"{text}; damaged originals kept: {', '.join(damaged)}" if damaged else text


def _tidy(folder: Path) -> None:
    """Clears what an interrupted writer or repair left: the reserve, temporary files, a rename not finished."""
    for path in folder.iterdir():
        if path.name.endswith((".tmp", _REPAIR)) or path.name == ".reserve":
            path.unlink(missing_ok=True)
    for name in ("video.mkv", "events.arrows", "steps.arrows"):
        kept = folder / f"{name}.damaged"
        if kept.exists() and not (folder / name).exists() and not (folder / name).with_suffix(".parquet").exists():
            replace_path(kept, folder / name)


def keep_original(path: Path) -> Path:
    """Gives a damaged file a second name, under which it stays when it is replaced."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged{number if number > 1 else ''}")).exists():
        number += 1
    try:
        os.link(path, kept)
    except OSError:  # a file system without links
        replace_path(path, kept)
    return kept


def _replace(path: Path, repaired: Path, damaged: list[str]) -> None:
    damaged.append(keep_original(path).name)
    replace_path(repaired, path)


def _video(folder: Path, damaged: list[str]) -> tuple[NDArray[np.int64], bool]:
    """The times of the whole pictures, after a repair where one is needed, and whether it is cut still."""
    path = folder / "video.mkv"
    none = np.zeros(0, np.int64)
    if not path.exists():
        return none, False
    try:
        with VideoReader(path) as reader:
            times_ms, ended = reader.times_ms(), reader.ended()
    except VideoError:
        return none, True
    if ended or len(times_ms) == 0:
        return times_ms, False
    if free_bytes(folder) < path.stat().st_size * 1.1:
        return times_ms, True  # readable as it is; there is no room for a second copy
    repaired = folder / f"video.mkv{_REPAIR}"
    remux(path, repaired)
    with VideoReader(repaired) as reader:
        verified = reader.times_ms()
    _replace(path, repaired, damaged)
    return verified, False


def _table(folder: Path, name: str, schema: Any, damaged: list[str]) -> int:
    """The number of whole rows, after a torn stream has been rewritten."""
    path = folder / f"{name}.arrows"
    read = read_table(folder, name, schema)
    if not (read.torn and path.exists()) or (folder / f"{name}.parquet").exists():
        return read.table.num_rows
    repaired = folder / f"{path.name}{_REPAIR}"
    writer = TableWriter(repaired, read.table.schema)
    for batch in read.table.to_batches():
        writer.write(batch)
    writer.close()
    _replace(path, repaired, damaged)
    return read.table.num_rows


def _may_rebuild(folder: Path) -> bool:
    """Damaged metadata may be rebuilt; that of a newer version is none of ours."""
    try:
        read_raw(folder)
    except SessionError as error:
        return "newer version" not in str(error)
    return True


def _metadata_from_events(folder: Path) -> Metadata | None:
    """The metadata as it was at the start, from the copy in the events' schema."""
    pa = pyarrow()
    for name in ("events.parquet", "events.arrows"):
        try:
            with (folder / name).open("rb") as file:
                schema: Any = parquet().read_schema(file) if name.endswith("parquet") else pa.ipc.open_stream(file).schema
            return parse(from_json(schema.metadata[b"session"]))
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, ValidationError):
            continue
    return None


def _empty(folder: Path) -> bool:
    """Whether a folder was begun, but nothing had been written into its streams."""
    return all(path.stat().st_size == 0 or path.name in (LOCK_NAME, METADATA_NAME) for path in folder.iterdir())


def _remove(folder: Path) -> RecoveryReport:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return RecoveryReport(folder.name, "removed", f"{folder.name}: nothing had been captured; the empty folder was removed")


def _set_aside(folder: Path, rows: dict[str, int]) -> RecoveryReport:
    if not any(rows.values()) and not (folder / "labels.jsonl").exists():
        report = _remove(folder)
        return dataclasses.replace(report, message=f"{folder.name}: no whole picture had been captured; removed")
    (folder / LOCK_NAME).unlink(missing_ok=True)
    trash_folder(folder)
    message = f"{folder.name}: no whole picture had been captured ({rows['events']} events, {rows['steps']} steps); moved to the trash"
    return RecoveryReport(folder.name, "trashed", message)


CLOCKS_AGREE_S: Final = 5.0
"""Two ways to tell how much is missing may differ so far without one of them being wrong."""


def _changed_s(path: Path) -> float | None:
    """The wall time at which a file was last written; the lock is touched once a second while the writer lives."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _lost_s(metadata: Metadata, times_ms: NDArray[np.int64], alive_s: float | None, written_s: float | None) -> float:
    """At most how much is missing: from the last picture to a second after the writer's last sign of life.

    The pictures' clock stands still while the machine sleeps, and the wall clock may be set: then what the files were last written
    tells it, within the second or so that pictures wait to be written.
    """
    paused = bool(metadata.gaps) and metadata.gaps[-1].end_ns is None
    if alive_s is None or paused:
        return 1.0
    by_clock = alive_s - metadata.clock.wall_s - float(times_ms[-1]) / 1000
    by_files = by_clock if written_s is None else alive_s - written_s + 1.0
    return max(0.0, by_clock if abs(by_clock - by_files) < CLOCKS_AGREE_S else by_files) + 1.0


def measure(metadata: Metadata, times_ms: NDArray[np.int64]) -> None:
    """Duration and rate from the pictures on disk; a gap that never ended ends with the last picture."""
    if len(times_ms) == 0:
        metadata.duration_s = 0.0
        return
    times_ns = times_ms * 1_000_000 + metadata.clock.monotonic_ns
    for gap in metadata.gaps:
        if gap.end_ns is None:
            gap.end_ns = max(gap.start_ns, int(times_ns[-1]))
    metadata.duration_s = round(float(times_ms[-1] - times_ms[0]) / 1000, 3)
    metadata.rates.measured_fps = rate_hz(times_ns, metadata.gaps)


def rate_hz(times_ns: NDArray[np.int64], gaps: Sequence[Stretch]) -> float:
    """How many a second there are of what came at these times, recorded gaps left out; 0 when that cannot be told."""
    intervals = np.diff(times_ns)
    inside = np.ones(len(intervals), np.bool_)
    for gap in gaps:
        inside &= ~((times_ns[:-1] <= (gap.end_ns or 0)) & (times_ns[1:] >= gap.start_ns))
    total_s = float(intervals[inside].sum()) / 1e9
    return round(int(inside.sum()) / total_s, 3) if total_s else 0.0
