"""How a track ended: left at the border, hidden by something else, or vanished in the open.

Only what vanished in the open may have been killed, taken or spent; what left or is hidden still exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from data.schema import Tracks

How = Literal["left", "hidden", "vanished"]
BORDER: Final = 0.01
"""A thing whose box comes this near the picture's edge, in picture lengths, can leave by it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one track. ``how``: "left" by the border, "hidden" behind something, "vanished" in the open."""

    track: int
    kind: int
    how: How


def endings(before: Tracks, after: Tracks, dt_s: float) -> list[Ending]:
    """The tracks of ``before`` that ``after`` no longer has, in the order of ``before``.

    dt_s: time between the two, more than 0. A thing is "left" when its box, carried on for dt_s, touches the border
    it moves towards, or its middle lies outside; "hidden" when its middle then lies in a thing of another class that is
    at least as large, and is seen in ``after``. Leaving comes first: what lies behind a panel at the border has left.

    Raises ValueError for a dt_s that is not above 0.
    """
    if not dt_s > 0:
        raise ValueError(f"endings, dt_s: {dt_s} s; the later tracks must lie after the earlier ones")
    gone = np.flatnonzero(~np.isin(before.ids, after.ids))
    covers = after.boxes[after.unseen_s == 0]
    cover_kinds = after.classes[after.unseen_s == 0]
    ended: list[Ending] = []
    for row in gone.tolist():
        velocity = before.velocities[row]
        place = before.boxes[row, :2] + velocity * np.float32(dt_s)
        size = before.boxes[row, 2:]
        low = (place - size / 2 <= BORDER) & (velocity < 0)
        high = (place + size / 2 >= 1 - BORDER) & (velocity > 0)
        outside = (place < 0) | (place > 1)
        over = (np.abs(covers[:, :2] - place) <= covers[:, 2:] / 2).all(axis=1) & (covers[:, 2:] >= size).all(axis=1)
        over &= cover_kinds != before.classes[row]
        how: How = "left" if (low | high | outside).any() else "hidden" if over.any() else "vanished"
        ended.append(Ending(int(before.ids[row]), int(before.classes[row]), how))
    return ended
