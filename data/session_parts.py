"""Putting a session together from stretches of others: pictures, events, steps and labels, each at its new time.

The new session is made in a hidden folder and appears under its name when it is whole; nothing is left of one that
failed or was stopped.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data import labels
from data.annotations import Annotations
from data.annotations import write as write_annotations
from data.files import free_bytes, sync_folder
from data.labels import Label
from data.locks import SessionLock
from data.metadata import Metadata, write_metadata
from data.progress import Progress, Report
from data.recovery import NEW_PREFIX, measure, rate_hz
from data.schema import NO_TARGET, InputEvent
from data.session_reader import Session, TableName
from data.steps_arrow import NO_FRAME, TableWriter, events_batch, events_from_table, events_schema, steps_schema
from data.untyped import arrow_compute, pyarrow
from data.video import VideoReader, VideoWriter
from data.video_copy import append_pictures
from data.workspace import Workspace

_MS_NS: Final = 1_000_000
_BATCH_ROWS: Final = 400
_REPORT_PICTURES: Final = 50

I64 = NDArray[np.int64]


class SessionEditError(RuntimeError):
    """A session cannot be made from these; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """What happened in ``session`` from ``start_ns`` up to, not including, ``end_ns``; it stands ``shift_ns`` later in
    the new session. ``shift_ns`` keeps whole ms whole: pictures' times have no finer ones."""

    session: Session
    start_ns: int
    end_ns: int
    shift_ns: int = 0

    def pictures(self) -> int:
        times = self.session.frame_times_ns()
        return int(((times >= self.start_ns) & (times < self.end_ns)).sum())


def assemble(workspace: Path, metadata: Metadata, parts: Sequence[Part], said: Annotations, report: Report) -> Path:
    """Makes the session that ``metadata`` describes (but for counts, rates and duration) of ``parts``, in order.

    Returns its folder. Raises SessionEditError when the disk has no room, OSError when it refuses.
    """
    root = Workspace(workspace).sessions
    _check_room(root, parts)
    folder = root / f"{NEW_PREFIX}{secrets.token_hex(6)}"
    folder.mkdir()
    try:
        lock = SessionLock(folder)
        _fill(folder, metadata, parts, report)
        _carry_words(folder, parts, said)
        lock.release()
        sync_folder(folder)
        return _publish(folder, root, metadata)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_room(root: Path, parts: Sequence[Part]) -> None:
    needed = sum(path.stat().st_size for part in parts for path in part.session.folder.iterdir() if path.is_file())
    free = free_bytes(root)
    if free < needed * 1.05:
        raise SessionEditError(f"no room in {root}: up to {needed / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free; make room first")


def _publish(folder: Path, root: Path, metadata: Metadata) -> Path:
    began = "".join(letter for letter in metadata.started_at[:19] if letter not in "-:")
    name, number = f"{began}Z_{metadata.kind}_{metadata.game}", 1
    while True:
        target = root / (name if number == 1 else f"{name}_{number}")
        try:
            if os.name == "posix":  # where a rename would replace a folder that a recorder has just begun
                target.mkdir()
            folder.rename(target)
        except FileExistsError:
            number += 1
        else:
            sync_folder(root)
            return target


def _fill(folder: Path, metadata: Metadata, parts: Sequence[Part], report: Report) -> None:
    times_ms = _pictures(folder, metadata, parts, report)
    report(Progress("rows", 0.95))
    counts = metadata.counts
    schema = events_schema()
    embedded = {**schema.metadata, b"session": metadata.model_dump_json().encode("utf-8")}
    counts.events = _write_table(folder / "events.arrows", schema.with_metadata(embedded), (_events(part) for part in parts))
    step_times: list[I64] = []
    counts.steps = _write_table(
        folder / "steps.arrows", steps_schema(metadata.profile), _steps(parts, metadata.clock.monotonic_ns, times_ms, step_times)
    )
    counts.frames = len(times_ms)
    measure(metadata, times_ms)
    metadata.rates.measured_hz = rate_hz(np.concatenate([np.zeros(0, np.int64), *step_times]), metadata.gaps)
    write_metadata(folder, metadata)


def _pictures(folder: Path, metadata: Metadata, parts: Sequence[Part], report: Report) -> I64:
    total = sum(part.pictures() for part in parts)
    done = 0

    def told(count: int) -> None:
        if count % _REPORT_PICTURES == 0:
            report(Progress("pictures", 0.95 * (done + count) / max(1, total), message=f"{done + count} of {total}"))

    path = folder / "video.mkv"
    writer = VideoWriter(path, metadata.width_px, metadata.height_px, metadata.rates.asked_fps)
    try:
        for part in parts:
            anchor_ns = part.session.metadata.clock.monotonic_ns
            start_ms, end_ms = (-((anchor_ns - edge) // _MS_NS) for edge in (part.start_ns, part.end_ns))  # rounded up
            shift_ms = _pts_shift_ms(part, metadata.clock.monotonic_ns)
            done += append_pictures(writer, part.session.folder / "video.mkv", start_ms, end_ms, shift_ms, told)
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    with VideoReader(path) as reader:
        return reader.times_ms()


def _pts_shift_ms(part: Part, anchor_ns: int) -> int:
    return (part.session.metadata.clock.monotonic_ns + part.shift_ns - anchor_ns) // _MS_NS


def _write_table(path: Path, schema: Any, tables: Iterator[Any]) -> int:
    writer = TableWriter(path, schema)
    try:
        for table in tables:
            for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
                writer.write(batch)
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    return writer.rows


def _within(part: Part, name: TableName, schema: Any) -> Any:
    """The rows of a table that fall into the part, in order, with the columns of the schema."""
    table = part.session.table(name).select(schema.names)
    times = np.asarray(table["time_ns"].to_numpy(), np.int64)
    return table.filter(pyarrow().array((times >= part.start_ns) & (times < part.end_ns)))


def _changed(table: Any, schema: Any, new: dict[str, Any]) -> Any:
    return pyarrow().Table.from_arrays([new.get(name, table[name]) for name in schema.names], schema=schema)


def _events(part: Part) -> Any:
    """The part's events; what is down at its start is pressed first, what is down at its end let go of."""
    pa, schema = pyarrow(), events_schema()
    table = part.session.table("events")
    compute = arrow_compute()
    switched = events_from_table(table.filter(compute.is_in(table["kind"], value_set=pa.array(["press", "release"]))))
    before = _held([event for event in switched if event.time_ns < part.start_ns])
    after = _held([event for event in switched if event.time_ns < part.end_ns])
    first = [replace(event, time_ns=part.start_ns, note="held_at_start") for event in before]
    last = [replace(event, time_ns=part.end_ns - 1, kind="release", note="forced_release") for event in after]
    rows = [events_batch(first), *_within(part, "events", schema).to_batches(), events_batch(last)]
    joined = pa.Table.from_batches([row.cast(schema) for row in rows], schema)
    return _changed(joined, schema, {"time_ns": pa.array(np.asarray(joined["time_ns"].to_numpy(), np.int64) + part.shift_ns)})


def _held(switched: list[InputEvent]) -> list[InputEvent]:
    """The presses of what is down after these events."""
    held: dict[str, InputEvent] = {}
    for event in sorted(switched, key=lambda event: event.time_ns):
        if event.kind == "press":
            held.setdefault(event.name, event)
        else:
            held.pop(event.name, None)
    return list(held.values())


def _steps(parts: Sequence[Part], anchor_ns: int, times_ms: I64, step_times: list[I64]) -> Iterator[Any]:
    """The parts' steps. Ids of tracks, and numbers of pictures, go on from part to part: none means two things."""
    pa = pyarrow()
    next_id = next_number = 0
    for part in parts:
        schema = steps_schema(part.session.metadata.profile)
        table = _within(part, "steps", schema).combine_chunks()
        if table.num_rows == 0:
            continue
        columns = {
            name: np.asarray(table[name].to_numpy(), np.int64)
            for name in ("time_ns", "frame_time_ns", "frame_number", "target_id", "video_pts_ms")
        }
        pts = columns["video_pts_ms"] + _pts_shift_ms(part, anchor_ns)
        there = (columns["video_pts_ms"] != NO_FRAME) & np.isin(pts, times_ms)
        target = columns["target_id"]
        ids = table["track_ids"].combine_chunks()
        flat = np.asarray(ids.flatten().to_numpy(), np.int64)
        offsets = np.concatenate([[0], np.cumsum(np.asarray(arrow_compute().list_value_length(ids).to_numpy(), np.int64))])
        number = columns["frame_number"]
        new = {
            "time_ns": pa.array(columns["time_ns"] + part.shift_ns),
            "frame_time_ns": pa.array(columns["frame_time_ns"] + part.shift_ns),
            "frame_number": pa.array(np.where(number >= 0, number + next_number, number)),
            "target_id": pa.array(np.where(target == NO_TARGET, target, target + next_id).astype(np.int32)),
            "video_pts_ms": pa.array(np.where(there, pts, NO_FRAME)),
            "track_ids": pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array((flat + next_id).astype(np.int32))),
        }
        next_id += int(max(flat.max(initial=-1), target.max(initial=-1))) + 1
        next_number += int(number.max(initial=-1)) + 1
        step_times.append(columns["time_ns"] + part.shift_ns)
        yield _changed(table, schema, new)


def _carry_words(folder: Path, parts: Sequence[Part], said: Annotations) -> None:
    carried = [new for part in parts for label in labels.read(part.session.folder)[0] for new in moved_label(label, part)]
    if carried:
        labels.append(folder, carried)
    if said != Annotations():
        write_annotations(folder, said)


def moved_label(label: Label, part: Part) -> list[Label]:
    """What a label says of the part, at its new time: nothing when it lies outside. A target outside is left out."""
    start_ns, end_ns = max(label.start_ns, part.start_ns), min(label.end_ns, part.end_ns)
    if start_ns >= end_ns:
        return []
    target = label.target
    if target is not None:
        inside = part.start_ns <= target.time_ns < part.end_ns
        target = target.model_copy(update={"time_ns": target.time_ns + part.shift_ns}) if inside else None
    return [label.model_copy(update={"start_ns": start_ns + part.shift_ns, "end_ns": end_ns + part.shift_ns, "target": target})]
