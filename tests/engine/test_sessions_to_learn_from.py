"""Which sessions, and which stretches of them, a training is given: those of the game as it is today, perturbed ones as asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from data.metadata import Source
from data.profile import ARENA_PROFILE, GameProfile
from data.session import SessionWriter
from data.statistics import session_statistics
from data.steps_arrow import parquet, read_table, steps_schema
from data.verify import verify
from data.windows import stretches
from engine.training import NothingToLearn, load_sessions
from league.arena.skirmish import RULES_VERSION
from tests.support.sessions import FRAME_NS, START_NS, frame, step

TAKES = count(1)


def record(workspace: Path, profile: GameProfile = ARENA_PROFILE, rules: int | None = RULES_VERSION, perturbed: bool = False) -> str:
    """60 steps, of which 20 to 29 may be perturbed, of play that no other session holds."""
    details = {} if rules is None else {"rules_version": rules}
    source = Source(kind="arena", description="skirmish")
    writer = SessionWriter.create(workspace, "play", profile, source, 30.0, (64, 48), start_ns=START_NS, details=details)
    take = next(TAKES)
    for number in range(60):
        said = step(number)
        writer.write_frame(frame(number))
        writer.write_step(replace(said, action=replace(said.action, x=take / 10_000)))
    if perturbed:
        writer.mark("perturbed", START_NS + 20 * FRAME_NS + 5_000_000, START_NS + 30 * FRAME_NS + 5_000_000)
    writer.close("saved")
    return writer.id


def test_perturbed_stretches_are_learnt_from_or_left_out_and_told_either_way(tmp_path: Path) -> None:
    name = record(tmp_path, perturbed=True)
    (steps,), told = load_sessions(tmp_path, "arena")
    assert steps.left_out is None
    assert told == [f"{name}: 1 perturbed stretches (10 rows, 0 s) are learnt from"]
    (steps,), told = load_sessions(tmp_path, "arena", perturbed="without")
    assert steps.left_out is not None
    assert np.flatnonzero(steps.left_out).tolist() == list(range(20, 30))
    assert stretches(steps) == [(0, 20), (30, 60)]
    assert told == [f"{name}: 1 perturbed stretches (10 rows, 0 s) are left out"]


def test_sessions_of_other_rules_or_classes_are_left_out_by_name(tmp_path: Path) -> None:
    today, unversioned = record(tmp_path), record(tmp_path, rules=None)
    before = record(tmp_path, rules=RULES_VERSION - 1)
    last = ARENA_PROFILE.classes[-1]
    other = record(tmp_path, ARENA_PROFILE.model_copy(update={"classes": ARENA_PROFILE.classes[:-1]}))
    sessions, told = load_sessions(tmp_path, "arena")
    assert len(sessions) == 2
    assert sorted(told) == sorted([
        f"{before}: does not fit the game of today: rules {RULES_VERSION - 1} instead of {RULES_VERSION}; record anew",
        f"{other}: does not fit the game of today: classes: lacks {last.name} ({last.role}); record anew",
    ])  # fmt: skip
    assert not any(line.startswith((f"{today}:", f"{unversioned}:")) for line in told)


def test_of_another_game_the_newest_session_says_what_fits(tmp_path: Path) -> None:
    game = ARENA_PROFILE.model_copy(update={"name": "mine"})
    older = record(tmp_path, game.model_copy(update={"keys": game.keys[:-1]}), rules=None)
    newest = record(tmp_path, game, rules=None)
    sessions, told = load_sessions(tmp_path, "mine")
    assert len(sessions) == 1
    assert told == [f"{older}: does not fit {newest}: keys: lacks {game.keys[-1]}; record anew"]


def test_all_sessions_are_seen_by_the_game_as_its_newest_one_has_it(tmp_path: Path) -> None:
    """Else a policy learns by a threat's distance that it does not fly by."""
    game = ARENA_PROFILE.model_copy(update={"name": "mine"})
    record(tmp_path, game, rules=None)
    record(tmp_path, game.model_copy(update={"threat_range": 0.4, "detector": "models/newer.onnx"}), rules=None)
    sessions, told = load_sessions(tmp_path, "mine")
    assert (len(sessions), told) == (2, [])
    assert {(steps.profile.threat_range, steps.profile.detector) for steps in sessions} == {(0.4, "models/newer.onnx")}


def test_pictures_of_another_shape_do_not_fit(tmp_path: Path) -> None:
    game = ARENA_PROFILE.model_copy(update={"name": "mine"})
    older = record(tmp_path, game.model_copy(update={"picture_size": (640, 480)}), rules=None)
    record(tmp_path, game.model_copy(update={"picture_size": (1280, 720)}), rules=None)
    newest = record(tmp_path, game, rules=None)
    sessions, told = load_sessions(tmp_path, "mine")
    assert len(sessions) == 2
    assert told == [f"{older}: does not fit {newest}: a picture of another shape: 640x480 instead of 640x360; record anew"]


def test_nothing_that_fits_is_nothing_to_learn_from(tmp_path: Path) -> None:
    record(tmp_path, rules=RULES_VERSION - 1)
    with pytest.raises(NothingToLearn, match="rules 1 instead of 2"):
        load_sessions(tmp_path, "arena")


def cut(path: Path, share: float) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def test_damaged_steps_are_told_and_never_taken_for_what_was_not_perceived(tmp_path: Path) -> None:
    """Who is told to perceive anew writes over what a copy, or a later version, could have brought back."""
    whole, torn, gone, odd = (record(tmp_path) for _ in range(4))
    folders = {name: tmp_path / "sessions" / name for name in (whole, torn, gone, odd)}
    stream = folders[torn] / "steps.arrows"
    cut(stream, 0.7)
    (folders[gone] / "steps.arrows").write_bytes(b"\0" * 500)
    table = read_table(folders[odd], "steps", steps_schema(ARENA_PROFILE)).table
    parquet().write_table(table.drop_columns(["cursor"]), folders[odd] / "steps.parquet")
    sessions, told = load_sessions(tmp_path, "arena")
    assert len(sessions) >= 1
    lines = {name: [line for line in told if line.startswith(f"{name}: ")] for name in folders}
    assert not lines[whole]
    assert len(lines[torn]) == len(lines[gone]) == len(lines[odd]) == 1
    assert "breaks off" in lines[torn][0]
    assert "damaged" in lines[gone][0]
    assert "nothing perceived" not in lines[gone][0]
    assert "cursor" in lines[odd][0]


def test_labels_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    name = record(tmp_path)
    (tmp_path / "sessions" / name / "labels.jsonl").write_bytes(b"\xff\n{broken\n")
    assert load_sessions(tmp_path, "arena")[1] == [f"{name}: 2 lines of labels.jsonl cannot be read: what they said is not known"]
    found = [str(one) for one in verify(tmp_path / "sessions" / name)]
    assert any("error: labels.jsonl: 2 lines" in line for line in found)
    assert any("2 lines of labels.jsonl" in line for line in session_statistics(tmp_path / "sessions" / name).suspicious)
