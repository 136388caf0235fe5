"""Recordings in which the cursor is put elsewhere now and then: seen, noted, and left out when that is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.session import open_session
from engine.lockstep import displaced_cursor
from engine.record_arena import PERTURBED_TICKS, record_session
from engine.training import load_sessions


def test_how_often_a_cursor_is_displaced_follows_from_the_share() -> None:
    here = (0.5, 0.5)
    never, always = displaced_cursor(3, 0.0), displaced_cursor(3, 1.0)
    assert all(never(tick, here) == here for tick in range(2000))
    moved = [place for tick in range(40_000) if (place := always(tick, here)) != here]
    assert 900 < len(moved) < 1100  # once in 2 s of 20 ticks
    assert np.min(moved) >= 0.05
    assert np.max(moved) <= 0.95
    one, other = displaced_cursor(3, 1.0), displaced_cursor(3, 1.0)
    assert [one(t, here) for t in range(200)] == [other(t, here) for t in range(200)]
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="use 0"):
            displaced_cursor(0, share)


def test_a_displaced_cursor_is_seen_noted_and_can_be_left_out(tmp_path: Path) -> None:
    recorded = record_session(tmp_path, "expert", 5, 6.0, displaced=1.0)
    session = open_session(tmp_path / "sessions" / recorded.session)
    spans = session.metadata.perturbed
    assert 1 <= len(spans) <= 8
    assert {s.reason for s in spans} == {"cursor displaced"}
    steps = session.steps()
    for span in spans:
        row = int(np.searchsorted(steps.time_ns, span.start_ns))
        # The cursor jumped from where the hand had left it to where an event says it was put.
        assert np.abs(steps.cursor[row] - steps.action_xy[row - 1]).max() > 0.02
    whole, told = load_sessions(tmp_path, "arena")
    assert whole[0].left_out is None
    assert any("perturbed stretches" in line and "learnt from" in line for line in told)
    without, _ = load_sessions(tmp_path, "arena", perturbed="without")
    assert without[0].left_out is not None
    rows = int(without[0].left_out.sum())
    assert PERTURBED_TICKS <= rows <= PERTURBED_TICKS * len(spans) + len(spans)
