"""Snapshots over a wire: what went out comes back the same; what is wrong is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.state import EngineState, JobState, Notice, TickState


def state() -> EngineState:
    return EngineState(
        sequence=3,
        tick=TickState(stage_p50_ms={"detect": 10.5}),
        jobs=(JobState("j", "train", "train all", "running", eta_s=12.5), JobState("k", "train", "train all")),
        notices=(Notice(1.0, "warning", "engine", "ä"),),
        checks=(("display", "ok", "X11 :0"),),
    )


def test_a_snapshot_comes_back_the_same() -> None:
    assert EngineState.from_json(json.loads(json.dumps(state().to_json()))) == state()


def test_another_version_s_fields_do_no_harm() -> None:
    sent = json.loads(json.dumps(state().to_json()))
    sent["weather"] = "fine"
    sent["tick"]["colour"] = 7
    del sent["checks"]
    sent["time_s"] = 5  # JSON knows no difference between 5 and 5.0
    assert EngineState.from_json(sent) == replace(state(), checks=(), time_s=5.0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sequence": "three"}, r"EngineState.sequence: 'three' is not of kind int"),
        ({"sequence": True}, r"EngineState.sequence"),
        ({"jobs": [{"id": "j"}]}, r"EngineState.jobs\[0\].*kind"),
        ({"bot": {"phase": "dancing"}}, r"EngineState.bot.phase: 'dancing' is not one of disarmed"),
        ({"checks": [["display", "ok"]]}, r"EngineState.checks\[0\].*a list of 3"),
        ({"recorder": []}, r"EngineState.recorder: '\[\]' is not an object"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        EngineState.from_json({**state().to_json(), **change})
