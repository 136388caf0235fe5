"""Packing the rows of a finished session: from streams, which survive a crash while they grow, to smaller Parquet files.

A stream is removed only after its packed copy has been read back and found the same. Readers take either, the packed
one first; what was interrupted between the two is finished by the next run.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.files import replace_path, sync_folder
from data.locks import SessionLock
from data.metadata import read_metadata
from data.steps_arrow import events_schema, read_stream, steps_schema
from data.untyped import arrow_compute, parquet, pyarrow

FINISHED: Final = ("saved", "recovered")


class CompactionError(RuntimeError):
    """A session cannot be packed; says why and what to do. It is as it was."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was done with one session: the tables that were packed, and their sizes before and after."""

    id: str
    files: tuple[str, ...]
    bytes_before: int
    bytes_after: int

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def compact_session(folder: Path) -> Compacted:
    """Packs events and steps of a session folder. What is packed already stays, and what would not get smaller.

    Raises data.metadata.SessionError, data.locks.Locked (being written), CompactionError (unfinished or damaged),
    OSError when the disk refuses.
    """
    lock = SessionLock(folder)
    try:
        metadata = read_metadata(folder)
        if metadata.state not in FINISHED:
            raise CompactionError(f"{folder.name} was cut off; run 'secondseat sessions recover' first")
        tables = {"events": events_schema(), "steps": steps_schema(metadata.profile)}
        sizes = {name: _pack(folder, name, schema) for name, schema in tables.items() if (folder / f"{name}.arrows").exists()}
    finally:
        lock.release()
    packed = {name: size for name, size in sizes.items() if size is not None}
    return Compacted(folder.name, tuple(packed), sum(size[0] for size in packed.values()), sum(size[1] for size in packed.values()))


def _pack(folder: Path, name: str, schema: Any) -> tuple[int, int] | None:
    """The sizes of the stream and of what has taken its place; None when the stream is the smaller one (a few rows)."""
    stream, packed = folder / f"{name}.arrows", folder / f"{name}.parquet"
    read = read_stream(stream, schema)
    if read.problem:
        raise CompactionError(f"{folder.name}/{read.problem}; run 'secondseat sessions recover' first")
    before = stream.stat().st_size
    if not _holds(packed, read.table):
        new = folder / f".{packed.name}.{secrets.token_hex(4)}.tmp"
        try:
            _write(new, read.table)
            if not _holds(new, read.table):
                raise CompactionError(f"{folder.name}: {name} read back differently from what was written; the stream is kept")
            if new.stat().st_size >= before:
                return None
            replace_path(new, packed)
        finally:
            new.unlink(missing_ok=True)
        sync_folder(folder)
    stream.unlink()
    sync_folder(folder)
    return before, packed.stat().st_size


def _write(path: Path, table: Any) -> None:
    words, numbers = _leaves(table.schema)
    with path.open("xb") as file:
        # Readings hardly repeat: split into their bytes they pack to 60 % of the stream; with dictionaries to 95 %.
        # The lists' inner names stay what they are in the streams, so that both read back as one type.
        parquet().write_table(
            table,
            file,
            compression="zstd",
            compression_level=9,
            use_dictionary=words,
            use_byte_stream_split=numbers,
            write_statistics=False,
            use_compliant_nested_type=False,
        )
        file.flush()
        os.fsync(file.fileno())


def _leaves(schema: Any) -> tuple[list[str], list[str]]:
    """The paths of the columns of words, and of those of decimal numbers, as Parquet names them."""
    types = pyarrow().types
    words: list[str] = []
    numbers: list[str] = []
    for field in schema:
        kind, path = field.type, str(field.name)
        while types.is_list(kind) or types.is_fixed_size_list(kind):
            kind, path = kind.value_type, f"{path}.list.{kind.value_field.name}"
        if types.is_string(kind):
            words.append(path)
        elif types.is_floating(kind):
            numbers.append(path)
    return words, numbers


def _holds(path: Path, table: Any) -> bool:
    """Whether the packed file is there and holds exactly these rows and what the schema tells beside them."""
    try:
        with path.open("rb") as file:
            found: Any = parquet().read_table(file)
    except (OSError, pyarrow().ArrowException):
        return False
    if not found.schema.equals(table.schema, check_metadata=True) or found.num_rows != table.num_rows:
        return False
    return all(_same(a.combine_chunks(), b.combine_chunks()) for a, b in zip(found.columns, table.columns, strict=True))


def _same(a: Any, b: Any) -> bool:
    """Equality of two columns in which, other than Arrow's own, NaN (could not be read) equals NaN."""
    pa = pyarrow()
    if pa.types.is_list(a.type):
        return bool(arrow_compute().list_value_length(a).equals(arrow_compute().list_value_length(b))) and _same(a.flatten(), b.flatten())
    if pa.types.is_fixed_size_list(a.type):
        return len(a) == len(b) and _same(a.flatten(), b.flatten())
    if not pa.types.is_floating(a.type):
        return bool(a.equals(b))
    values = [np.asarray(column.to_numpy(zero_copy_only=False)) for column in (a, b)]
    return bool(a.is_null().equals(b.is_null())) and np.array_equal(*values, equal_nan=True)
