"""What the list of sessions remembers between two looks, so that thousands of them are listed at once.

A file in the workspace's cache, which may be deleted at any time. An entry holds only while the session's folder and
small files are as they were (times and sizes); what is being written, or changed a moment ago, is always read anew.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypedDict

from data.catalog import SessionInfo
from data.files import from_json, write_whole

INDEX_NAME: Final = "sessions.json"
WATCHED: Final = ("metadata.json", "annotations.json", "labels.jsonl")
"""The files that an entry depends on: it says what a session says of itself, not what its pictures and rows hold."""
ROWS: Final = ("steps.arrows", "steps.parquet")
_SETTLED_NS: Final = 2_000_000_000
"""Changes less old than this may be followed by one that leaves time and size the same: they are not remembered."""
_PLACES: Final = tuple((name, 1 + 2 * number) for number, name in enumerate(WATCHED))
_FIELDS: Final = tuple(field.name for field in dataclasses.fields(SessionInfo) if field.name not in ("id", "folder", "tags"))


class _Entry(TypedDict):
    key: list[int]
    said: list[Any]
    tags: Sequence[str]


class SessionIndex:
    """Used by one thread, for one look at the sessions. A file that cannot be read or written costs only time."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / INDEX_NAME
        self._entries = _load(self._path)
        self._used: dict[str, _Entry] = {}
        self._changed = False

    def info(self, folder: Path) -> SessionInfo | None:
        """What is known of a session folder; None when it must be read."""
        name = folder.name
        entry = self._entries.get(name)
        if entry is None or not _unchanged(os.fspath(folder), entry["key"]):
            return None
        self._used[name] = entry
        return SessionInfo(name, folder, *entry["said"], tags=tuple(entry["tags"]))

    def learn(self, info: SessionInfo) -> SessionInfo:
        """Remembers what was read just now, unless it may still change unseen, or is gone. Returns it."""
        try:
            key = _key(os.fspath(info.folder))
        except OSError:  # moved to the trash in this very moment
            return info
        if not info.live and time.time_ns() - max(key) > _SETTLED_NS:
            self._used[info.id] = {"key": key, "said": [getattr(info, name) for name in _FIELDS], "tags": info.tags}
            self._changed = True
        return info

    def save(self) -> None:
        """Writes what is known, if that is not what the file says."""
        if not self._changed and self._used.keys() == self._entries.keys():
            return
        content = json.dumps({"fields": _FIELDS, "sessions": self._used}, ensure_ascii=False, separators=(",", ":"))
        with suppress(OSError):  # a workspace that cannot be written is listed all the same
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, content.encode("utf-8"))


def stamps(folder: Path) -> list[int]:
    """Changes whenever what a session says of itself does, or its steps do. Raises OSError when there is no such folder."""
    key = _key(os.fspath(folder))
    for name in ROWS:
        key += _stamp(os.fspath(folder), name)
    return key


def _key(folder: str) -> list[int]:
    """Times of change and sizes of the folder and the watched files; 0 for one that is not there."""
    key = [os.stat(folder).st_mtime_ns]
    for name in WATCHED:
        key += _stamp(folder, name)
    return key


def _unchanged(folder: str, key: list[int]) -> bool:
    """A file that was not there is not looked for: one that has come meanwhile would have changed the folder's time."""
    try:
        return os.stat(folder).st_mtime_ns == key[0] and all(
            not key[place] or _stamp(folder, name) == (key[place], key[place + 1]) for name, place in _PLACES
        )
    except OSError:
        return False


def _stamp(folder: str, name: str) -> tuple[int, int]:
    try:
        found = os.stat(f"{folder}{os.sep}{name}")
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _load(path: Path) -> dict[str, _Entry]:
    """The entries of a file that is whole; none of any other."""
    try:
        value: Any = from_json(path.read_bytes())
        entries: dict[str, Any] = value["sessions"] if value["fields"] == list(_FIELDS) else {}
        return {name: entry for name, entry in entries.items() if _is_entry(entry)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _is_entry(entry: Any) -> bool:
    return len(entry["key"]) == 1 + 2 * len(WATCHED) and len(entry["said"]) == len(_FIELDS) and isinstance(entry["tags"], list)
