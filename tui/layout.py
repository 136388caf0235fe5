"""How much room the columns of the live screen have: what a person chose, kept sane at any size of the terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

Part = Literal["left", "middle", "right", "log"]
Mode = Literal["wide", "single", "small"]

STEP: Final = 2
LEAST: Final = {"left": 22, "middle": 34, "right": 28, "log": 4}
"""The fewest columns of each column, and the fewest rows of the log."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Columns of the outer columns, rows of the log; the middle has the rest."""

    left: int = 30
    right: int = 38
    log: int = 8

    def fitted(self, columns: int, rows: int) -> Sizes:
        """The same as far as there is room: the middle keeps its least, the log at most half the screen."""
        left = max(self.left, LEAST["left"])
        right = max(self.right, LEAST["right"])
        over = left + right + LEAST["middle"] - columns
        if over > 0:
            spare_left, spare_right = left - LEAST["left"], right - LEAST["right"]
            take = min(spare_right, round(over * spare_right / max(1, spare_left + spare_right)))
            left, right = max(LEAST["left"], left - (over - take)), right - take
        return Sizes(left, right, max(LEAST["log"], min(self.log, rows // 2)))

    def resized(self, part: Part, by: int, columns: int, rows: int) -> Sizes:
        """One step wider (+1) or narrower (-1), from what is seen now."""
        now = self.fitted(columns, rows)
        step = by * STEP
        if part == "middle":
            wanted = replace(now, left=now.left - step // 2, right=now.right - step // 2)
        elif part == "log":
            wanted = replace(now, log=now.log + by)
        elif part == "left":
            wanted = replace(now, left=min(now.left + step, columns - now.right - LEAST["middle"]))
        else:
            wanted = replace(now, right=min(now.right + step, columns - now.left - LEAST["middle"]))
        return wanted.fitted(columns, rows)


def mode_of(columns: int, rows: int, full: bool) -> Mode:
    """All panes at 100x30 and more, one pane with a tab line below that, a hint below 60x16."""
    if columns < 60 or rows < 16:
        return "small"
    return "single" if full or columns < 100 or rows < 30 else "wide"
