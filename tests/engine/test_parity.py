"""What a policy is trained on and what it gets in flight are the same: play that was perceived live, and its own recording perceived anew.

(That one moment's features are equal to 1e-6, however they are asked for, is in ``tests/data/test_features.py`` and ``test_policy.py``.)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.features import LAGS_S, context_features, slot_features, slot_inputs, summary_features, summary_vectors
from data.session import open_session
from data.steps import Steps
from engine.perceive_session import perceive_session
from engine.record_arena import record_session

NEAR = 0.1
"""How far means and deviations may lie apart: in deviations of the live feature, and as much again in its own unit (most are 0..1)."""


def steps_of(folder: Path) -> Steps:
    with open_session(folder) as session:
        return session.steps()


def features_of(steps: Steps) -> dict[str, np.ndarray]:
    rows = np.arange(round(max(LAGS_S) * 20), len(steps))
    seen = slot_inputs(steps, rows)
    return {"slots": seen.slots[seen.present], "context": seen.context, "summary": summary_vectors(steps, rows)}


@pytest.mark.timeout(120)
def test_a_recording_perceived_anew_has_the_features_of_the_live_flight(tmp_path: Path) -> None:
    made = record_session(tmp_path, "expert", 5, 8.0)
    folder = tmp_path / "sessions" / made.session
    live = steps_of(folder)
    perceive_session(folder)
    anew = steps_of(folder)
    assert np.array_equal(live.time_ns, anew.time_ns)
    assert not np.array_equal(live.track_boxes, anew.track_boxes), "it was perceived anew, from pictures that were compressed"
    names = {"slots": slot_features, "context": context_features, "summary": summary_features}
    first, second = features_of(live), features_of(anew)
    for kind, told in names.items():
        before, after = first[kind], second[kind]
        assert len(before) > 100
        assert abs(len(before) - len(after)) < 0.05 * len(before)
        spread = before.std(0)
        moved = np.abs(before.mean(0) - after.mean(0)) / (NEAR * (spread + 1))
        widened = np.abs(spread - after.std(0)) / (NEAR * (spread + 1))
        for what, by in (("mean", moved), ("deviation", widened)):
            worst = int(np.argmax(by))
            assert by[worst] < 1, f"{kind}: the {what} of {told(live.profile)[worst].name} differs"
        assert (spread > 0.05).sum() > 5, "features that never change show nothing"
