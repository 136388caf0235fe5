"""Tracks that are lost for a moment and found again, filled in: what hindsight knows and who looks ahead may not.

A detector misses a thing now and then, and something flies in front of it. A moment later it is there again with its id; it was there
all the time, about half-way between.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from data.steps import Steps


def without_absences(steps: Steps, longest_s: float) -> Steps:
    """The session with every track present in the rows between two sights of it that are at most ``longest_s`` apart: its box on the
    straight line between them, all else as in the sight before. The same session when there is no such row."""
    counts = np.diff(steps.track_offsets)
    rows = np.repeat(np.arange(len(steps), dtype=np.int64), counts)
    order = np.lexsort((rows, steps.track_ids))
    before, after = order[:-1], order[1:]
    between = rows[after] - rows[before] - 1
    near = steps.time_ns[rows[after]] - steps.time_ns[rows[before]] <= longest_s * 1e9
    lost = np.flatnonzero((steps.track_ids[before] == steps.track_ids[after]) & (between > 0) & near)
    if not len(lost):
        return steps
    many = between[lost]
    first, last = np.repeat(before[lost], many), np.repeat(after[lost], many)
    row = rows[first] + 1 + np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
    times = steps.time_ns
    share = ((times[row] - times[rows[first]]) / (times[rows[last]] - times[rows[first]]))[:, None]
    boxes = steps.track_boxes[first] * (1 - share) + steps.track_boxes[last] * share
    place = np.argsort(np.concatenate([rows, row]), kind="stable")
    columns = {
        name: np.concatenate([getattr(steps, name), getattr(steps, name)[first]])[place]
        for name in ("track_ids", "track_classes", "track_confidences", "track_velocities", "track_ages_s", "track_unseen_s")
    }
    columns["track_boxes"] = np.concatenate([steps.track_boxes, boxes.astype(np.float32)])[place]
    offsets = np.concatenate([[0], np.cumsum(counts + np.bincount(row, minlength=len(steps)))]).astype(np.int64)
    return replace(steps, track_offsets=offsets, **columns)
