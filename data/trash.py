"""The trash: where discarded sessions go, and come back from."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data.catalog import SessionInfo, describe, find, unambiguous
from data.files import folder_bytes, replace_path
from data.locks import writer_alive
from data.workspace import Workspace

_DAY_S: Final = 86_400.0


class TrashError(RuntimeError):
    """A session cannot be trashed or brought back; says why."""


@dataclass(frozen=True, slots=True)
class Emptied:
    """What emptying the trash removed for good."""

    sessions: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _trashed(workspace: Path) -> Path:
    return Workspace(workspace).trash / "sessions"


def trash(workspace: Path, name: str) -> SessionInfo:
    """Moves the session of this id (or unambiguous beginning) to the trash and describes it there.

    Raises SessionNotFound; TrashError when it is being recorded.
    """
    return describe(trash_folder(find(workspace, name)))


def refuse_live(folders: Collection[Path]) -> None:
    """Raises TrashError when one of these session folders is being recorded: asked before any of them is moved, so that none is."""
    for folder in folders:
        if writer_alive(folder):
            rest = "; nothing was moved" if len(folders) > 1 else ""
            raise TrashError(f"{folder.name} is being recorded now; stop it first{rest}")


def trash_folder(folder: Path) -> Path:
    """Moves a session folder of a workspace to that workspace's trash; returns where it lies now. Raises as ``refuse_live``."""
    refuse_live([folder])
    target_root = _trashed(folder.parent.parent)
    target_root.mkdir(parents=True, exist_ok=True)
    target, number = target_root / folder.name, 2
    while target.exists():
        target = target_root / f"{folder.name}_{number}"
        number += 1
    replace_path(folder, target)
    os.utime(target)  # the folder's own time tells when it was trashed
    return target


def list_trash(workspace: Path) -> list[SessionInfo]:
    """The sessions in the trash, the one trashed last at the end."""
    return [describe(folder) for folder in _by_time(workspace)]


def _by_time(workspace: Path) -> list[Path]:
    root = _trashed(workspace)
    folders = [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
    return sorted(folders, key=lambda path: (path.stat().st_mtime_ns, path.name))


def undo(workspace: Path, name: str = "last") -> SessionInfo:
    """Brings a session back from the trash: the one trashed last, or that of this id or unambiguous beginning.

    Raises SessionNotFound; TrashError when a session of its name exists.
    """
    folder = _trashed(workspace) / unambiguous(name, [path.name for path in _by_time(workspace)], "session in the trash")
    target = Workspace(workspace).sessions / folder.name
    if target.exists():
        raise TrashError(f"{folder.name}: a session of this name exists; rename or trash that one first")
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_path(folder, target)
    return describe(target)


def empty(workspace: Path, older_than_days: float = 0.0) -> Emptied:
    """Deletes for good what has been in the trash for at least so many days."""
    now_s, count, size = time.time(), 0, 0
    for folder in _by_time(workspace):
        if now_s - folder.stat().st_mtime < older_than_days * _DAY_S:
            continue
        size += folder_bytes(folder)
        count += 1
        shutil.rmtree(folder)
    return Emptied(count, size)
