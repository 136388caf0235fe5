"""New whole lines of a file that another process writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 8_000_000
"""What one call reads at most; the rest comes with the next."""


class Tail:
    """Reads the whole new lines of a growing file. A file that shrank or was replaced is read from its beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._identity: tuple[int, int] | None = None

    def read(self) -> tuple[bool, list[bytes]]:
        """Whether it began anew, and the new whole lines. A missing file has none."""
        try:
            with self.path.open("rb") as file:
                stat = os.fstat(file.fileno())
                fresh = self._identity != (stat.st_dev, stat.st_ino) or stat.st_size < self._offset
                if fresh:
                    self._offset, self._identity = 0, (stat.st_dev, stat.st_ino)
                file.seek(self._offset)
                data = file.read(MOST_BYTES)
        except OSError:
            return False, []
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        return fresh, data[:whole].splitlines()
