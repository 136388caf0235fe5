"""What is drawn onto a recording's pictures while it plays: the cursor, fresh clicks; and the keys that are down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import Image
from tui.overlay import CYAN, cross, outline

if TYPE_CHECKING:
    from data.timeline import Timeline

CLICK_NS: Final = 300_000_000
"""How long a click stays marked."""
LOST_NS: Final = 2_000_000_000
"""A cursor that was not heard of for so long is not drawn."""


@dataclass(frozen=True, slots=True)
class Marks:
    """``times_ns`` int64 [N] in order, ``points`` float32 [N, 2] in 0..1: where the cursor was."""

    timeline: Timeline
    zero_ns: int
    """The moment of the video's beginning."""
    times_ns: NDArray[np.int64]
    points: NDArray[np.float32]

    def point_at(self, time_ns: int) -> tuple[float, float] | None:
        at = int(np.searchsorted(self.times_ns, time_ns, side="right")) - 1
        if at < 0 or time_ns - int(self.times_ns[at]) > LOST_NS:
            return None
        x, y = self.points[at].tolist()
        return x, y

    def draw(self, pixels: Image, time_ms: int) -> None:
        time_ns = self.zero_ns + time_ms * 1_000_000
        for lane in self.timeline.clicks:
            at = int(np.searchsorted(lane.starts_ns, time_ns, side="right")) - 1
            if at >= 0 and time_ns - int(lane.starts_ns[at]) <= CLICK_NS:
                outline(pixels, self.point_at(int(lane.starts_ns[at])), 2, CYAN)
        cross(pixels, self.point_at(time_ns))


def load_marks(folder: Path) -> Marks:
    """Read them from the input events, and from the steps where the events tell no position. Raises SessionError."""
    from data.session_reader import open_session
    from data.steps_arrow import events_schema, read_table
    from data.timeline import read_timeline

    table: Any = read_table(folder, "events", events_schema()).table
    times = np.asarray(table["time_ns"].to_numpy(), np.int64)
    points = np.stack([np.asarray(table[axis].to_numpy(zero_copy_only=False), np.float32) for axis in ("x", "y")], axis=1)
    known = ~np.isnan(points).any(axis=1)
    times, points = times[known], points[known]
    with open_session(folder) as session:
        if not len(times):
            steps = session.steps()
            seen = ~np.isnan(steps.cursor).any(axis=1)
            times, points = steps.time_ns[seen], steps.cursor[seen]
        order = np.argsort(times, kind="stable")
        return Marks(read_timeline(folder), session.metadata.clock.monotonic_ns, times[order], points[order])
