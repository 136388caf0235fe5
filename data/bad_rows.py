"""Rows in which something is not finite: left out of what is learnt from, spoken of and judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from data.steps import Steps

_FINITE: Final = ("track_boxes", "track_velocities", "track_confidences", "track_ages_s", "track_unseen_s")
"""Columns of tracks in which every number must be one. Readings and the cursor may be NaN: unknown."""
_KNOWN: Final = ("levels", "flags", "choices", "cooldowns", "cursor")


def without_bad_rows(sessions: Sequence[Steps]) -> tuple[list[Steps], list[str]]:
    """The sessions with those rows left out in which something is infinite, or not a number where there must be one; and a line
    for each session that has any."""
    found: list[Steps] = []
    notes: list[str] = []
    for number, steps in enumerate(sessions):
        bad, columns = np.zeros(len(steps), np.bool_), list[str]()
        row_of = np.repeat(np.arange(len(steps)), np.diff(steps.track_offsets))
        for name in (*_FINITE, *_KNOWN):
            values = getattr(steps, name)
            wrong = np.isinf(values) if name in _KNOWN else ~np.isfinite(values)
            wrong = wrong.any(axis=tuple(range(1, values.ndim)))
            if wrong.any():
                columns.append(name)
                bad[row_of[wrong] if name in _FINITE else np.flatnonzero(wrong)] = True
        if columns:
            first = int(np.flatnonzero(bad)[0])
            notes.append(
                f"session {number}: {int(bad.sum())} of {len(bad)} rows dropped, not finite: {', '.join(columns)} (first: row {first})"
            )
            steps = replace(steps, left_out=bad if steps.left_out is None else bad | steps.left_out)
        found.append(steps)
    return found, notes
