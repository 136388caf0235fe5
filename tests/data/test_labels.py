"""The journal of labels: nothing is overwritten, a person has the last word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from data.labels import LABELS_NAME, Label, Target, append, find_target, read, resolve
from data.schema import NO_TARGET, Tracks

BOX = (0.5, 0.5, 0.1, 0.1)


def test_what_is_appended_is_read_in_order(tmp_path: Path) -> None:
    first = Label(start_ns=0, end_ns=10, source="rules", mode="FIGHT")
    second = Label(
        start_ns=10, end_ns=20, source="vlm", target=Target(time_ns=12, class_name="drone", box=BOX), description="ほし 🎮", by="model"
    )
    append(tmp_path, [first])
    append(tmp_path, [second])
    assert read(tmp_path) == ([first, second], 0)
    assert read(tmp_path / "nowhere") == ([], 0)


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    labels = [Label(start_ns=n, end_ns=n + 1, source="human", mode="LOOT") for n in range(3)]
    append(tmp_path, labels)
    path = tmp_path / LABELS_NAME
    path.write_bytes(path.read_bytes()[:-12])
    append(tmp_path, [labels[0]])
    assert read(tmp_path) == ([*labels[:2], labels[0]], 1)


def test_human_beats_vlm_beats_rules_field_by_field() -> None:
    target = Target(time_ns=5, class_name="drone", box=BOX)
    (window, other) = resolve(
        [
            Label(start_ns=0, end_ns=10, source="human", mode="FLEE"),
            Label(start_ns=0, end_ns=10, source="human", mode="LOOT"),
            Label(start_ns=0, end_ns=10, source="vlm", mode="FIGHT", description="chases a drone", target=target),
            Label(start_ns=0, end_ns=10, source="rules", mode="EXPLORE", description="?", health=0.5),
            Label(start_ns=20, end_ns=30, source="rules", mode="EXPLORE"),
        ]
    )
    assert (window.mode, window.description, window.health, window.target, window.source) == (
        "LOOT",
        "chases a drone",
        0.5,
        target,
        "human",
    )
    assert (other.mode, other.source) == ("EXPLORE", "rules")


def test_a_person_may_say_that_there_was_no_target() -> None:
    target = Target(time_ns=5, class_name="drone", box=BOX)
    vlm = Label(start_ns=0, end_ns=10, source="vlm", target=target)
    (window,) = resolve([vlm, Label(start_ns=0, end_ns=10, source="human", no_target=True)])
    assert (window.target, window.no_target) == (None, True)
    (window,) = resolve([Label(start_ns=0, end_ns=10, source="rules", no_target=True), vlm])
    assert (window.target, window.no_target) == (target, False)


def test_a_target_is_found_by_class_and_overlap() -> None:
    tracks = Tracks(
        np.array([11, 12, 13], np.int32),
        np.array([0, 1, 1], np.int32),
        np.array([BOX, (0.52, 0.5, 0.1, 0.1), (0.8, 0.8, 0.1, 0.1)], np.float32),
        np.ones(3, np.float32),
        np.zeros((3, 2), np.float32),
        np.zeros(3, np.float32),
        np.zeros(3, np.float32),
    )
    assert find_target(Target(time_ns=0, class_name="raider", box=BOX), tracks, ("drone", "raider")) == 12
    assert find_target(Target(time_ns=0, class_name="loot", box=BOX), tracks, ("drone", "raider")) == NO_TARGET
    assert find_target(Target(time_ns=0, class_name="drone", box=(0.1, 0.1, 0.1, 0.1)), tracks, ("drone", "raider")) == NO_TARGET
    assert find_target(Target(time_ns=0, class_name="drone", box=BOX), Tracks.empty(), ("drone",)) == NO_TARGET


@pytest.mark.parametrize("change", [{"mode": "DANCE"}, {"source": "rumour"}, {"health": 2.0}, {"description": "x" * 3000}])
def test_what_is_out_of_bounds_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Label.model_validate({"start_ns": 0, "end_ns": 1, "source": "human", **change})
