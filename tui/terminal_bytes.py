"""What pictures cost a terminal in bytes, and a budget for it.

Textual sends a changed line from the widget's left edge up to the last changed cell; more regions on one line would send
its beginning more than once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tui.halfblock import Depth

_BLOCK_BYTES: Final[dict[Depth, int]] = {24: 42, 8: 27, 4: 15, 0: 0}
"""A run of blocks beside its characters: both colours and the way back."""
_BLANK_BYTES: Final[dict[Depth, int]] = {24: 24, 8: 16, 4: 11, 0: 0}
"""A run of blanks: one colour and the way back."""
_LINE_BYTES: Final = 120
"""Going to a line, its border and its margin."""


def sent(cells: NDArray[np.int32], before: NDArray[np.int32] | None) -> NDArray[np.bool_]:
    """bool [rows, columns]: the cells that are sent when ``before`` (None: nothing) becomes ``cells``."""
    if before is None:
        return np.ones(cells.shape, bool)
    different = cells != before
    return np.logical_or.accumulate(different[:, ::-1], axis=1)[:, ::-1]


def cost(cells: NDArray[np.int32], sent: NDArray[np.bool_], depth: Depth) -> int:
    """About how many bytes the sent cells are on their way to a terminal; rather more than less."""
    lines = int(sent[:, 0].sum())
    if depth == 0:
        return lines * _LINE_BYTES + int(sent.sum())
    block = cells >> 15 != cells & 0x7FFF
    begins = sent & (np.diff(cells, axis=1, prepend=-1) != 0)
    styles = int((begins & block).sum()) * _BLOCK_BYTES[depth] + int((begins & ~block).sum()) * _BLANK_BYTES[depth]
    return lines * _LINE_BYTES + styles + int(sent.sum()) + 2 * int((sent & block).sum())


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
