"""Where recordings go: whether one can begin there now, and the lock that keeps a second recorder out meanwhile."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from data.files import free_bytes, write_refusal
from data.locks import Locked, RecorderLock
from data.workspace import Workspace

LEAST_FREE_BYTES: Final = 4 * 1024 * 1024
"""With less free space than this a recording does not begin."""
TOUCH_S: Final = 1.0


class RecordingPlace:
    """``claim`` may be called from any thread, one at a time; ``tend`` by one."""

    def __init__(self) -> None:
        self.free_bytes = 0
        """As last looked at; 0: not yet."""
        self._lock: RecorderLock | None = None
        self._touched_s = 0.0

    def claim(self, root: Path) -> str | None:
        """Why a recording cannot begin: a folder that cannot be written, a full disk, another recorder. None: it can,
        and nobody else's can until it is given up."""
        workspace = Workspace(root)
        refusal = write_refusal(workspace.sessions)
        if refusal is not None:
            return refusal
        self.free_bytes = free_bytes(workspace.sessions)
        if self.free_bytes < LEAST_FREE_BYTES:
            free_mb = self.free_bytes / 1e6
            return f"the disk is full: {free_mb:.1f} MB are free in {workspace.sessions}; make room or choose another folder"
        if self._lock is None:
            try:
                self._lock = RecorderLock(workspace.root)
            except Locked as locked:
                return str(locked)
        return None

    def tend(self, needed: bool) -> None:
        """Now and then: shows that the claim's owner lives, or gives up the claim."""
        if self._lock is None:
            return
        if not needed:
            self._lock.release()
            self._lock = None
        elif time.monotonic() - self._touched_s >= TOUCH_S:
            self._touched_s = time.monotonic()
            self._lock.touch()
