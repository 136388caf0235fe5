"""What pictures cost a terminal in bytes, and a budget for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tui.halfblock import Depth

_RUN_BYTES: Final[dict[Depth, int]] = {24: 42, 8: 27, 4: 15, 0: 0}
"""What a run of equal cells costs beside its characters: both colours and the way back."""
_SPAN_BYTES: Final = 9
"""What it costs to go to a place on the screen."""


def cost(cells: NDArray[np.int32], changed: NDArray[np.bool_], depth: Depth) -> int:
    """About how many bytes the changed cells are on their way to a terminal; rather more than less."""
    spans = int((np.diff(changed, axis=1, prepend=False) & changed).sum())
    new_run = np.diff(cells, axis=1, prepend=-1) != 0
    starts = changed & (new_run | np.diff(changed, axis=1, prepend=False))
    blocks = changed & (cells >> 15 != cells & 0x7FFF) if depth else np.zeros_like(changed)
    return spans * _SPAN_BYTES + int(starts.sum()) * _RUN_BYTES[depth] + int(changed.sum()) + 2 * int(blocks.sum())


@dataclass(slots=True)
class Budget:
    """Bytes that may be written: ``bytes_s`` a second, half a second of it may be saved up."""

    bytes_s: float
    left: float = 0.0
    at_s: float = field(default_factory=time.monotonic)

    def wait_s(self, now_s: float) -> float:
        """How long until the debt of the last picture is paid."""
        self.left = min(self.bytes_s / 2, self.left + (now_s - self.at_s) * self.bytes_s)
        self.at_s = now_s
        return max(0.0, -self.left / self.bytes_s)

    def spend(self, count: int) -> None:
        self.left -= count
