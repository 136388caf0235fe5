"""All sessions of a workspace, quickly: metadata only. A session that cannot be read is listed with the reason."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from data.files import folder_bytes
from data.locks import LOCK_NAME, writer_alive
from data.workspace import Workspace


class SessionNotFound(LookupError):
    """No session, or more than one, goes by that name."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One line of the list. ``state`` is the session's own, or "corrupt" with a ``reason``.

    ``live``: a process is writing it now. Counts of an unfinished session are those of a few seconds before.
    """

    id: str
    folder: Path
    kind: str
    game: str
    state: str
    duration_s: float
    frames: int
    events: int
    steps: int
    size_bytes: int
    started_at: str
    live: bool = False
    reason: str = ""
    title: str = ""
    note: str = ""
    labels: int = 0
    """Labels in the journal that were not undone."""
    tags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; the folder relative to the workspace."""
        values = dataclasses.asdict(self)
        values["folder"] = f"{self.folder.parent.name}/{self.folder.name}"
        return values


def session_folders(workspace: Path) -> list[Path]:
    """The session folders of a workspace, oldest first; hidden ones, which are still being made, are passed over."""
    sessions = Workspace(workspace).sessions
    try:
        with os.scandir(sessions) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
    except FileNotFoundError:
        return []
    return [sessions / name for name in names]


def list_sessions(workspace: Path) -> list[SessionInfo]:
    """Every session of the workspace, oldest first. Files beside the session folders are passed over.

    What was read before and has not changed since is taken from an index in the workspace's cache.
    """
    from data.session_index import SessionIndex

    index = SessionIndex(Workspace(workspace).cache)
    infos = [index.info(folder) or index.learn(describe(folder)) for folder in session_folders(workspace)]
    index.save()
    return infos


def describe(folder: Path) -> SessionInfo:
    """One session folder as a line of the list; never raises for what the folder holds."""
    from data.annotations import read as read_annotations
    from data.metadata import SessionError, read_raw

    try:
        info = _info(folder, folder_bytes(folder), read_raw(folder))
    except (SessionError, OSError, TypeError, ValueError, OverflowError) as error:
        kind, game = _named(folder.name)
        live = writer_alive(folder)
        info = SessionInfo(folder.name, folder, kind, game, "corrupt", 0.0, 0, 0, 0, _size(folder), "", live, str(error))
    said = read_annotations(folder)
    reason = "; ".join(text for text in (info.reason, said.problem) if text)
    return dataclasses.replace(info, reason=reason, title=said.title, tags=said.tags, note=said.note, labels=_labels(folder))


def _labels(folder: Path) -> int:
    from data.labels import read

    try:
        return len(read(folder)[0])
    except OSError:
        return 0


def _info(folder: Path, size: int, raw: Mapping[str, Any]) -> SessionInfo:
    counts, profile = _part(raw, "counts"), _part(raw, "profile")
    state, kind, game = raw.get("state"), raw.get("kind"), profile.get("name")
    if state not in ("recording", "unsaved", "saved", "recovered"):
        raise ValueError(f"{folder.name}/metadata.json: state {state!r} is not one of recording, unsaved, saved, recovered")
    if not isinstance(kind, str) or not isinstance(game, str):
        raise TypeError(f"{folder.name}/metadata.json: kind or profile is missing; run 'secondseat sessions recover'")
    duration_s = float(raw.get("duration_s", 0.0))
    if not 0 <= duration_s < math.inf:  # NaN fails too
        raise ValueError(f"{folder.name}/metadata.json: duration_s {duration_s} is no length of time")
    live = (folder / LOCK_NAME).exists() and writer_alive(folder)
    reason = "" if live or state in ("saved", "recovered") else "its writer is gone; run 'secondseat sessions recover'"
    return SessionInfo(
        folder.name,
        folder,
        kind,
        game,
        state,
        duration_s,
        int(counts.get("frames", 0)),
        int(counts.get("events", 0)),
        int(counts.get("steps", 0)),
        size,
        str(raw.get("started_at", "")),
        live,
        reason,
    )


def _part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name, {})
    if not isinstance(value, dict):
        raise TypeError(f"metadata.json: {name} is not an object")
    return cast("Mapping[str, Any]", value)


def _named(name: str) -> tuple[str, str]:
    """Kind and game as the folder's name tells them."""
    parts = name.split("_")
    return (parts[1], parts[2]) if len(parts) >= 3 else ("", "")


def _size(folder: Path) -> int:
    try:
        return folder_bytes(folder)
    except OSError:
        return 0


def find(workspace: Path, name: str) -> Path:
    """The folder of the session of this id, or whose id alone begins with ``name``; "last" is the newest.

    Raises SessionNotFound, naming the candidates.
    """
    ids = [folder.name for folder in session_folders(workspace)]
    return Workspace(workspace).sessions / unambiguous(name, ids, "session")


def unambiguous(name: str, ids: list[str], what: str) -> str:
    """The one of ``ids`` that is ``name``, or that alone begins with it; "last" is the last.

    Raises SessionNotFound.
    """
    if not ids:
        raise SessionNotFound(f"there is no {what} yet")
    if name == "last":
        return ids[-1]
    if name in ids:
        return name
    matches = [one for one in ids if name and one.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise SessionNotFound(f"{what} {name!r} may be any of {len(matches)}: {', '.join(matches[:5])}{', …' if len(matches) > 5 else ''}")
    raise SessionNotFound(f"there is no {what} {name!r}; the newest are {', '.join(ids[-3:])}")
