"""Steps and input events as Arrow tables: the schemas on disk, and the way there and back.

Streams are Arrow IPC with zstd, one record batch a second. A stream cut anywhere reads to its last whole batch.
Tracks are list columns of equal lengths within a row. Codes (onsets, held) count ``input_names`` of the profile,
which the schema's metadata repeats.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.files import StreamFile
from data.profile import GameProfile
from data.schema import EventKind, InputEvent, Step
from data.steps import Steps, StepsBuilder, empty_steps, input_names
from data.untyped import parquet, pyarrow
from data.vocabulary import ActorKind

NO_FRAME: Final = -1
"""The ``video_pts_ms`` of a step whose picture is not in the video (dropped, or skipped to keep the rate)."""

_SCALARS: Final[Mapping[str, str]] = {
    "time_ns": "int64",
    "frame_time_ns": "int64",
    "frame_number": "int64",
    "focus": "bool",
    "held": "uint64",
    "actor": "int8",
    "model_version": "int32",
    "mode": "int8",
    "target_id": "int32",
}
_TRACK_LISTS: Final[Mapping[str, tuple[str, int]]] = {
    "track_ids": ("int32", 1),
    "track_classes": ("int32", 1),
    "track_boxes": ("float32", 4),
    "track_confidences": ("float32", 1),
    "track_velocities": ("float32", 2),
    "track_ages_s": ("float32", 1),
    "track_unseen_s": ("float32", 1),
}
_WIDE: Final = ("cursor", "levels", "flags", "choices", "cooldowns", "action_xy")
"""Columns of a fixed width per profile; kept as lists, since a width of 0 is legal."""


def _widths(profile: GameProfile) -> dict[str, int]:
    return {
        "cursor": 2,
        "levels": len(profile.level_names()),
        "flags": len(profile.flag_names()),
        "choices": len(profile.choices),
        "cooldowns": len(profile.cooldown_names()),
        "action_xy": 2,
    }


def steps_schema(profile: GameProfile) -> Any:
    """The Arrow schema of ``steps.arrows`` for a profile. The schema's metadata is for other readers; ours needs none of it."""
    pa = pyarrow()

    columns: list[Any] = [pa.field(name, pa.type_for_alias(kind)) for name, kind in _SCALARS.items()]
    columns += [pa.field("video_pts_ms", pa.int64()), pa.field("age_s", pa.float32()), pa.field("actor_name", pa.string())]
    columns += [pa.field(name, pa.list_(pa.float32())) for name in _WIDE]
    for name, (kind, width) in _TRACK_LISTS.items():
        item = pa.type_for_alias(kind) if width == 1 else pa.list_(pa.type_for_alias(kind), width)
        columns.append(pa.field(name, pa.list_(item)))
    columns.append(pa.field("onset_codes", pa.list_(pa.int16())))
    said = {"secondseat": "steps 1", "input_names": json.dumps(input_names(profile)), "classes": json.dumps(profile.class_names())}
    return pa.schema(columns, metadata=said)


def events_schema() -> Any:
    """The Arrow schema of ``events.arrows``: one row per ``InputEvent``, its fields by their names."""
    pa = pyarrow()

    return pa.schema(
        [
            ("time_ns", pa.int64()),
            ("kind", pa.string()),
            ("name", pa.string()),
            ("x", pa.float64()),
            ("y", pa.float64()),
            ("dx", pa.int32()),
            ("dy", pa.int32()),
            ("actor", pa.string()),
            ("actor_name", pa.string()),
            ("device", pa.string()),
            ("note", pa.string()),
        ],
        metadata={"secondseat": "events 1"},
    )


def steps_batch(steps: Steps, video_pts_ms: Sequence[int], actor_names: Sequence[str]) -> Any:
    """``Steps`` as one record batch. ``video_pts_ms`` and ``actor_names`` have one entry per row."""
    pa = pyarrow()

    rows = len(steps)
    columns: dict[str, Any] = {name: pa.array(getattr(steps, name)) for name in _SCALARS}
    columns["video_pts_ms"] = pa.array(video_pts_ms, pa.int64())
    columns["age_s"] = pa.array(((steps.time_ns - steps.frame_time_ns) / 1e9).astype(np.float32))
    columns["actor_name"] = pa.array(actor_names, pa.string())
    for name, width in _widths(steps.profile).items():
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
        columns[name] = pa.ListArray.from_arrays(offsets, pa.array(getattr(steps, name).reshape(-1)))
    offsets = pa.array(steps.track_offsets.astype(np.int32))
    for name, (kind, width) in _TRACK_LISTS.items():
        values = pa.array(np.ascontiguousarray(getattr(steps, name)).reshape(-1), pa.type_for_alias(kind))
        if width > 1:
            values = pa.FixedSizeListArray.from_arrays(values, width)
        columns[name] = pa.ListArray.from_arrays(offsets, values)
    columns["onset_codes"] = pa.ListArray.from_arrays(pa.array(steps.onset_offsets.astype(np.int32)), pa.array(steps.onset_codes))
    schema = steps_schema(steps.profile)
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def rows_batch(profile: GameProfile, rows: Sequence[Step], video_pts_ms: Sequence[int]) -> Any:
    """Step rows, in time order, as one record batch."""
    builder = StepsBuilder(profile)
    for row in rows:
        builder.append(row)
    return steps_batch(builder.build(), video_pts_ms, [row.actor_name for row in rows])


def steps_from_table(profile: GameProfile, table: Any) -> Steps:
    """A table of ``steps_schema`` as ``Steps``.

    Raises ValueError when a column is missing or has another type, or its widths do not fit the profile.
    """
    if table.num_rows == 0:
        return empty_steps(profile)
    expected = steps_schema(profile)
    found = {field.name: field.type for field in table.schema}
    for field in expected:
        if field.name not in found:
            raise ValueError(f"steps: column {field.name!r} is missing")
        if found[field.name] != field.type:
            table = table.set_column(table.schema.get_field_index(field.name), field, table.column(field.name).cast(field.type))
    columns = {name: table.column(name).combine_chunks() for name in expected.names}
    values: dict[str, Any] = {name: _numpy(columns[name]) for name in _SCALARS}
    for name, width in _widths(profile).items():
        flat = _numpy(columns[name].flatten())
        if len(flat) != table.num_rows * width:
            raise ValueError(f"steps: column {name!r} does not fit the profile {profile.name!r} ({width} values a row)")
        values[name] = flat.reshape(table.num_rows, width)
    values["track_offsets"] = _offsets(columns["track_ids"])
    for name, (_, width) in _TRACK_LISTS.items():
        if width > 1:
            values[name] = _numpy(columns[name].flatten().flatten()).reshape(-1, width)
        else:
            values[name] = _numpy(columns[name].flatten())
        if len(values[name]) != values["track_offsets"][-1]:
            raise ValueError(f"steps: column {name!r} has not as many entries as 'track_ids'")
    values["onset_offsets"] = _offsets(columns["onset_codes"])
    values["onset_codes"] = _numpy(columns["onset_codes"].flatten())
    return Steps(profile=profile, **values)


def _numpy(column: Any) -> NDArray[Any]:
    return np.array(column.to_numpy(zero_copy_only=False))


def _offsets(column: Any) -> NDArray[np.int64]:
    offsets = np.asarray(column.offsets.to_numpy(), np.int64)
    return offsets - offsets[0]


def events_batch(events: Sequence[InputEvent]) -> Any:
    """Input events as one record batch."""
    pa = pyarrow()

    schema = events_schema()
    return pa.RecordBatch.from_arrays(
        [pa.array([getattr(event, field.name) for event in events], field.type) for field in schema], schema=schema
    )


def events_from_table(table: Any) -> list[InputEvent]:
    """A table of ``events_schema`` as input events; columns that an older file lacks take their defaults."""
    names = [name for name in events_schema().names if name in table.schema.names]
    columns = [cast("list[Any]", table.column(name).to_pylist()) for name in names]
    events: list[InputEvent] = []
    for row in zip(*columns, strict=True):
        values = dict(zip(names, row, strict=True))
        values["kind"] = cast("EventKind", values["kind"])
        values["actor"] = cast("ActorKind", values.get("actor", "human"))
        events.append(InputEvent(**values))
    return events


class TableWriter:
    """One Arrow stream on disk. Each ``write`` is one batch, on the disk when it returns."""

    def __init__(self, path: Path, schema: Any) -> None:
        pa = pyarrow()

        self.file = StreamFile(path)
        self.rows = 0
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer: Any = pa.ipc.new_stream(pa.PythonFile(self.file, mode="w"), schema, options=options)
        self._writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))  # the schema is on disk from the start
        self._whole = self.file.end

    def write(self, batch: Any) -> None:
        """Adds a batch. Raises OSError when the disk refuses; ``abandon`` then cuts what was begun."""
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        self._whole = self.file.end

    def close(self) -> None:
        if self.file.closed:
            return
        self._writer.close()
        self.file.sync()
        self.file.close()

    def abandon(self) -> None:
        """Ends after a failed write: the file is cut to its last whole batch."""
        if not self.file.closed:
            with contextlib.suppress(OSError):  # else the torn batch stays, and readers stop before it
                self.file.cut(self._whole)
            self.file.close()


@dataclass(frozen=True, slots=True)
class TableRead:
    """What a stream or table file gave. ``torn``: it broke off inside a batch. ``ended``: it had its end mark."""

    table: Any
    batches: int
    torn: bool
    problem: str = ""


def read_stream(path: Path, schema: Any) -> TableRead:
    """Every whole batch of a stream; a missing file, or one cut inside its header, gives an empty table."""
    pa = pyarrow()

    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return TableRead(schema.empty_table(), 0, torn=False, problem=f"{path.name}: missing")
    batches: list[Any] = []
    torn, problem, found = False, "", schema
    try:
        reader: Any = pa.ipc.open_stream(pa.BufferReader(content))
        found = reader.schema
        _check_columns(found, schema)
        for batch in reader:
            batch.validate(full=True)
            batches.append(batch)
    except (pa.ArrowException, OSError, ValueError) as error:
        torn, problem = True, f"{path.name}: breaks off after {len(batches)} whole batches ({str(error).splitlines()[0][:120]})"
    if not batches:
        return TableRead(schema.empty_table(), 0, torn, problem)
    return TableRead(pa.Table.from_batches(batches, found), len(batches), torn, problem)


def _check_columns(found: Any, wanted: Any) -> None:
    """Raises ValueError when a wanted column is missing, of another type, or when a name is not even text."""
    types = {name: found.field(index).type for index, name in enumerate(found.names)}
    for field in wanted:
        if types.get(field.name) != field.type:
            raise ValueError(f"column {field.name!r} is missing or of another type")


def read_table(folder: Path, name: str, schema: Any) -> TableRead:
    """The rows ``name`` of a session: from ``<name>.parquet`` when it was compacted, else from ``<name>.arrows``."""
    pa = pyarrow()

    path = folder / f"{name}.parquet"
    if not path.exists():
        return read_stream(folder / f"{name}.arrows", schema)
    pq = parquet()

    try:
        with path.open("rb") as file:
            table: Any = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        problem = f"{path.name}: cannot be read ({str(error).splitlines()[0][:120]})"
        stream = read_stream(folder / f"{name}.arrows", schema)
        return TableRead(stream.table, stream.batches, torn=True, problem=problem)
    return TableRead(table, 1, torn=False)
