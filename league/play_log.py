"""A person's matches of last man standing, kept as recorder trajectories: what ``league.sources`` reads, and a policy learns from.

    {"episode_id": "20261129T111500Z-7-0", "seat": "person", "step": 0, "observation": [19], "action": [7 bins]}
    ...                                                                  the last one: "done": true, "outcome": -1..1

A match is written when the person's place is settled (their ship is lost, or the match is over), as a whole gzip member at the end of
the file, so that what was played before is safe from whatever comes after. One that is broken off before is forgotten: nobody knows how
it would have ended.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from league.codec import encode

SUFFIX: Final = ".jsonl.gz"
_DIGITS: Final = 5
"""Of a number of the observation: finer than a tenth of a pixel."""


class PlayLog:
    """Into ``path``, which is made with the first match that is over. ``matches`` and ``moves`` are written; ``error`` says what kept
    later ones from being, else ""."""

    def __init__(self, path: Path) -> None:
        self.path, self.matches, self.moves, self.error = path, 0, 0, ""
        self._rows: list[dict[str, Any]] = []

    def note(self, observation: NDArray[np.float32], action: NDArray[np.float32]) -> None:
        """One decision: what the ship saw [19] and did [7] (``codec.HEADS``)."""
        seen = [round(value, _DIGITS) for value in observation.tolist()]
        self._rows.append({"step": len(self._rows), "observation": seen, "action": encode(action).tolist()})

    def end(self, seed: int, outcome: float) -> None:
        """Their place is settled; ``outcome``: +1 for the first, -1 for the last. Nothing happens when nothing was noted since."""
        rows, self._rows = self._rows, []
        if not rows or self.error:
            return
        stem = self.path.name.removesuffix(SUFFIX)
        rows[-1] |= {"done": True, "outcome": round(outcome, 6)}
        named = [{"episode_id": f"{stem}-{seed}-{self.matches}", "seat": "person", **row} for row in rows]
        content = gzip.compress("".join(json.dumps(row, allow_nan=False) + "\n" for row in named).encode())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.error = f"{self.path.name}: {error.strerror or error}; matches from number {self.matches + 1} on are not kept"
            return
        self.matches += 1
        self.moves += len(rows)

    def forget(self) -> None:
        """The match is broken off."""
        self._rows.clear()
