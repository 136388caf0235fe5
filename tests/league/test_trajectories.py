"""Sequences: shapes and numbers are checked, what came after each step stays true, and files are read without trust."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from league.codec import BINS, FIELD, OBSERVATION_HIGH, OBSERVATION_LOW
from league.privileged import TOLD_HIGH, TOLD_LOW, TOLD_SIZE
from league.trajectories import TrajectoryError, TrajectorySequence, concatenate, load, observation_version, write_arrays


def played(steps: int = 6, columns: int = 3, seed: int = 0, **changed: Any) -> TrajectorySequence:
    """Random play without an end; every observation differs, so that a wrong successor shows."""
    rng = np.random.default_rng(seed)
    frame = (steps, columns)
    values: dict[str, Any] = {
        "observation": rng.uniform(OBSERVATION_LOW, OBSERVATION_HIGH, (*frame, 19)).astype(np.float32),
        "action": rng.integers(0, BINS, (*frame, 7)).astype(np.int8),
        "head_mask": rng.random((*frame, 7)) < 0.8,
        "behaviour_log_prob": -rng.random((*frame, 7), np.float32),
        "reward": rng.random(frame, np.float32),
        "terminated": np.zeros(frame, bool),
        "truncated": np.zeros(frame, bool),
        "living": np.ones(frame, bool),
        "bootstrap_observation": rng.uniform(OBSERVATION_LOW, OBSERVATION_HIGH, (columns, 19)).astype(np.float32),
        "weights_version": 4,
        "episodes": tuple(f"match {i}" for i in range(columns)),
        "extras": {"ammo": rng.random((*frame, 2))},
    }
    return TrajectorySequence(**{**values, **changed})


def cut_at(sequence: TrajectorySequence, step: int, column: int) -> TrajectorySequence:
    """The same, truncated at a step, with a successor of its own."""
    truncated = sequence.truncated.copy()
    truncated[step, column] = True
    final = np.full((1, 19), 0.125, np.float32)
    return dataclasses.replace(
        sequence,
        truncated=truncated,
        final_at=np.concatenate([sequence.final_at, np.array([[step, column]], np.int32)]),
        final_observation=np.concatenate([sequence.final_observation, final]),
    )


def same(a: TrajectorySequence, b: TrajectorySequence) -> bool:
    arrays = [f.name for f in dataclasses.fields(a) if isinstance(getattr(a, f.name), np.ndarray)]
    equal = all(np.array_equal(getattr(a, n), getattr(b, n)) for n in arrays)
    extras = a.extras.keys() == b.extras.keys() and all(np.array_equal(v, b.extras[n]) for n, v in a.extras.items())
    return equal and extras and a.episodes == b.episodes and a.weights_version == b.weights_version


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"observation": np.zeros((6, 3), np.float32)}, "observation has shape"),
        ({"action": np.zeros((6, 3, 7), np.int64)}, "action is int64"),
        ({"head_mask": np.ones((6, 3, 6), bool)}, "head_mask is bool (6, 3, 6)"),
        ({"reward": np.zeros((6, 2), np.float32)}, "reward is float32 (6, 2)"),
        ({"living": None}, "living is NoneType"),
        ({"bootstrap_observation": np.zeros((2, 19), np.float32)}, "bootstrap_observation"),
        ({"final_at": np.zeros((1, 2), np.int32)}, "final_observation"),
        ({"episodes": ("one",)}, "1 episode names for 3 columns"),
        ({"extras": {"ammo": np.zeros((3, 6))}}, "extras['ammo']"),
    ],
)
def test_a_wrong_shape_or_kind_is_named(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(TrajectoryError) as error:
        played(**changed)
    assert told in str(error.value)


def test_no_steps_are_no_sequence() -> None:
    with pytest.raises(TrajectoryError, match="0 steps of 3 columns"):
        played(observation=np.zeros((0, 3, 19), np.float32))


def test_a_wrong_number_is_named_with_its_place() -> None:
    sequence = played()
    sequence.observation[2, 1, FIELD["enemy_aim"]] = np.nan
    with pytest.raises(TrajectoryError, match=r"observation\[2, 1, 14\] \(enemy_aim\) = nan is not a finite number"):
        sequence.check()
    sequence.observation[2, 1, FIELD["enemy_aim"]] = 1.5
    with pytest.raises(TrajectoryError, match=r"enemy_aim\) = 1.5 is out of the field's range"):
        sequence.check()


def test_actions_log_probabilities_and_ends_are_checked() -> None:
    sequence = played()
    sequence.action[0, 0, 4] = 2
    with pytest.raises(TrajectoryError, match=r"action\[0, 0, 4\] \(fire\) = 2 is no bin"):
        sequence.check()
    sequence = played()
    sequence.behaviour_log_prob[5, 2, 0] = 0.5
    with pytest.raises(TrajectoryError, match="no log-probability"):
        sequence.check()
    sequence = played()
    sequence.terminated[1, 1] = sequence.truncated[1, 1] = True
    with pytest.raises(TrajectoryError, match="only one can be"):
        sequence.check()


def test_a_frame_that_does_not_count_follows_an_end() -> None:
    sequence = played()
    sequence.living[3:, 1] = False
    with pytest.raises(TrajectoryError, match=r"living\[2, 1\]"):
        sequence.check()
    sequence.terminated[2, 1] = True
    assert sequence.check().frames == 15


def test_a_truncated_step_needs_its_successor() -> None:
    sequence = played()
    sequence.truncated[2, 0] = True
    with pytest.raises(TrajectoryError, match=r"truncated\[2, 0\].*successor"):
        sequence.check()
    cut = cut_at(played(), 2, 0).check()
    following = cut.next_observation()
    assert (following[2, 0] == 0.125).all()
    assert np.array_equal(following[2, 1], cut.observation[3, 1])
    assert np.array_equal(following[5], cut.bootstrap_observation)
    twice = cut_at(cut, 2, 0)
    with pytest.raises(TrajectoryError, match="twice"):
        twice.check()
    outside = dataclasses.replace(cut, final_at=np.array([[5, 0]], np.int32))
    with pytest.raises(TrajectoryError, match="not before the last"):
        outside.check()
    not_cut = dataclasses.replace(cut, final_at=np.array([[1, 0]], np.int32), truncated=np.zeros((6, 3), bool))
    with pytest.raises(TrajectoryError, match="not truncated"):
        not_cut.check()


def test_columns_taken_and_put_together_are_the_same() -> None:
    sequence = cut_at(cut_at(played(), 2, 0), 3, 2)
    assert same(concatenate(sequence.split_columns(2)), sequence)
    swapped = sequence.take([2, 0]).check()
    assert swapped.episodes == ("match 2", "match 0")
    assert np.array_equal(swapped.next_observation(), sequence.next_observation()[:, [2, 0]])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 9])
def test_steps_split_keep_what_came_after_each(count: int) -> None:
    sequence = cut_at(cut_at(played(), 2, 0), 3, 2)
    parts = sequence.split_steps(count)
    assert sum(p.steps for p in parts) == 6
    assert np.array_equal(np.concatenate([p.check().next_observation() for p in parts]), sequence.next_observation())
    assert np.array_equal(np.concatenate([p.extras["ammo"] for p in parts]), sequence.extras["ammo"])


def test_padding_cuts_what_went_on_and_leaves_what_had_ended() -> None:
    sequence = played()
    sequence.terminated[-1, 1] = True
    padded = sequence.padded(9).check()
    assert padded.frames == 18
    assert padded.truncated[5].tolist() == [True, False, True]
    assert np.array_equal(padded.next_observation()[5, [0, 2]], sequence.bootstrap_observation[[0, 2]])
    with pytest.raises(TrajectoryError, match="split them first"):
        sequence.padded(5)


def test_sequences_of_different_length_and_version_side_by_side() -> None:
    both = concatenate([played(4, 2), played(6, 1, weights_version=2, episodes=())]).check()
    assert (both.steps, both.columns, both.frames, both.weights_version) == (6, 3, 14, 2)
    assert both.episodes == ("match 0", "match 1", "unnamed 1")
    with pytest.raises(TrajectoryError, match=r"extras \['ammo'\] beside \[\]"):
        concatenate([played(), played(extras={})])
    with pytest.raises(TrajectoryError, match="at least one"):
        concatenate([])


def test_what_only_a_value_is_told_goes_the_same_ways(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    told, after = (rng.uniform(TOLD_LOW, TOLD_HIGH, (*shape, TOLD_SIZE)).astype(np.float32) for shape in ((6, 3), (3,)))
    sequence = played(observation=told, bootstrap_observation=after)
    assert sequence.final_observation.shape == (0, TOLD_SIZE)
    assert np.array_equal(sequence.check().seen, told[..., :19])
    assert same(concatenate(sequence.split_columns(2)), sequence)
    parts = sequence.split_steps(4)
    assert np.array_equal(np.concatenate([p.check().next_observation() for p in parts]), sequence.next_observation())
    assert np.array_equal(sequence.padded(8).check().final_observation, after)
    sequence.save(tmp_path / "a.npz")
    assert same(load(tmp_path / "a.npz"), sequence)
    with pytest.raises(TrajectoryError, match="19 numbers beside 88"):
        concatenate([played(), sequence])
    told[1, 2, 30] = 3.0
    with pytest.raises(TrajectoryError, match=r"observation\[1, 2, 30\] \(own_shot_1_damage\)"):
        sequence.check()


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    sequence = cut_at(played(), 2, 0)
    sequence.save(tmp_path / "new" / "a.npz")
    assert same(load(tmp_path / "new" / "a.npz"), sequence)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.npz"]


def test_what_is_no_good_is_not_saved(tmp_path: Path) -> None:
    sequence = played()
    sequence.reward[0, 0] = np.inf
    with pytest.raises(TrajectoryError, match="reward"):
        sequence.save(tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.98])
def test_a_torn_file_is_told(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "a.npz"
    played().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept < 1 else int(kept)])
    with pytest.raises(TrajectoryError, match=r"a\.npz: not a whole file"):
        load(path)


def test_damage_within_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    played().save(path)
    content = bytearray(path.read_bytes())
    content[400:420] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(TrajectoryError, match=r"a\.npz"):
        load(path)


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle in a trajectory was run",))


def test_pickles_in_a_file_are_never_run(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, head=np.array([Bomb()], object))
    with pytest.raises(TrajectoryError, match="not a whole file of ours"):
        load(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(TrajectoryError, match="not a whole file of ours"):
        load(path)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ([], "not an object"),
        ({"format": 99}, "format 99"),
        ({"format": 1, "observation_version": "other"}, "record it again"),
        ({"format": 1, "observation_version": observation_version()}, "action, behaviour_log_prob.*missing"),
    ],
)
def test_a_foreign_head_is_refused(tmp_path: Path, head: Any, told: str) -> None:
    write_arrays(tmp_path / "a.npz", {}, head)
    with pytest.raises(TrajectoryError, match=told):
        load(tmp_path / "a.npz")
