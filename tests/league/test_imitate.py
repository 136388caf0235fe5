"""Imitation: it learns what can be learnt, its figures are right, nothing leaks, and a resumed run is the same run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.checkpoint import CheckpointError, load, save
from data.progress import Progress
from league.codec import FIELD, HEAD_NAMES
from league.imitate import ImitationSettings, imitate, load_policy
from league.imitation_data import ImitationError, frames_of, head_figures, split_episodes
from league.trajectories import TrajectorySequence, concatenate


def episode(name: str, seed: int, steps: int = 60, columns: int = 1) -> TrajectorySequence:
    """A teacher that moves by where the enemy is and fires when it is aimed at; abilities at random, and never an effect."""
    rng = np.random.default_rng(seed)
    frame = (steps, columns)
    observation = rng.uniform(-1, 1, (*frame, 19)).astype(np.float32)
    action = np.zeros((*frame, 7), np.int8)
    action[..., 0] = 1 + np.sign(np.round(observation[..., FIELD["enemy_dx"]] * 1.5))
    action[..., 4] = observation[..., FIELD["enemy_aim"]] > 0
    action[..., 5] = rng.integers(0, 4, frame)
    mask = np.ones((*frame, 7), bool)
    mask[..., 5] = False
    terminated = np.zeros(frame, bool)
    terminated[-1] = True
    return TrajectorySequence(
        observation=observation,
        action=action,
        head_mask=mask,
        behaviour_log_prob=np.zeros((*frame, 7), np.float32),
        reward=np.zeros(frame, np.float32),
        terminated=terminated,
        truncated=np.zeros(frame, bool),
        living=np.ones(frame, bool),
        bootstrap_observation=np.zeros((columns, 19), np.float32),
        episodes=(name,) * columns,
    )


DATA = [episode(f"match {i}", i) for i in range(12)]
SMALL = ImitationSettings(hidden=16, epochs=3, batch_size=32, learning_rate=5e-3)


def weights(path: Path) -> dict[str, Any]:
    return load(path).tensors


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(v, b[n]) for n, v in a.items())


def test_it_learns_what_the_teacher_does_and_beats_the_baselines(tmp_path: Path) -> None:
    result = imitate(DATA, dataclasses.replace(SMALL, epochs=20, learning_rate=2e-2, learning_rate_decay=0.95, patience=0), tmp_path)
    for head in ("move_x", "fire"):
        figures = result.figures[head]
        assert figures.accuracy is not None
        assert figures.majority is not None
        assert figures.persistence is not None
        assert figures.accuracy > 0.8 > max(figures.majority, figures.persistence)
    ability = result.figures["ability"]
    assert (ability.frames, ability.accuracy, ability.loss) == (0, None, None)
    assert "ability" in result.text()
    network, card = load_policy(result.path)
    enemy_right = torch.zeros(1, 19)
    enemy_right[0, FIELD["enemy_dx"]] = 1.0
    assert network.act(enemy_right, greedy=True).action[0, 0] == 2
    assert card["figures"]["heads"]["fire"]["accuracy"] == result.figures["fire"].accuracy
    assert card["recipe"]["epochs"] == 20


def test_frames_that_do_not_count_teach_nothing() -> None:
    padded = concatenate([DATA[0].padded(100), DATA[1]])
    frames = frames_of([padded])
    assert len(frames.observation) == 120
    assert frames.names == ("match 0", "match 1")
    assert frames.before[0] == -1
    assert frames.before[60] == -1
    assert np.array_equal(frames.before[1:60], np.arange(59))


def test_the_frame_before_is_never_of_another_episode() -> None:
    sequence = episode("two in one column", 0, steps=10)
    sequence.terminated[3] = True
    assert np.flatnonzero(frames_of([sequence]).before < 0).tolist() == [0, 4]


def test_no_frame_at_all_and_a_single_episode_are_told(tmp_path: Path) -> None:
    with pytest.raises(ImitationError, match="no frame with an action"):
        imitate([dataclasses.replace(DATA[0], living=np.zeros((60, 1), bool))], SMALL, tmp_path)
    with pytest.raises(ImitationError, match="no frame with an action"):
        imitate([], SMALL, tmp_path)
    with pytest.raises(ImitationError, match="one episode"):
        imitate([episode("same match", 0), episode("same match", 1)], SMALL, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_episode_is_on_both_sides_and_order_does_not_matter() -> None:
    pieces = [part for sequence in DATA for part in sequence.split_steps(20)]  # each match in three parts
    frames, turned = frames_of(pieces), frames_of(pieces[::-1])
    train, checked = split_episodes(frames, 0.25, 3)
    assert len(train) + len(checked) == 720
    assert not set(frames.episode[train]) & set(frames.episode[checked])
    names = {frames.names[i] for i in frames.episode[checked]}
    assert len(names) == 3
    assert names == {turned.names[i] for i in turned.episode[split_episodes(turned, 0.25, 3)[1]]}
    assert names != {frames.names[i] for i in frames.episode[split_episodes(frames, 0.25, 4)[1]]}


def test_baselines_by_hand() -> None:
    sequence = episode("a", 0, steps=6)
    sequence.action[:, 0, 0] = [2, 2, 0, 0, 2, 2]
    sequence.head_mask[3, 0, 0] = False
    frames = frames_of([sequence])
    rows = np.arange(6)
    chosen = np.zeros((6, 7), np.int64)
    found = head_figures(frames, rows, rows, chosen, np.full((6, 7), -0.5))["move_x"]
    assert (found.frames, found.loss) == (5, 0.5)
    assert found.majority == pytest.approx(4 / 5)  # 2 four times, 0 once where it counts
    # first frame: majority, right. Then right, wrong (2 -> 0), [masked], after a masked one: majority, right, right
    assert found.persistence == pytest.approx(4 / 5)
    assert found.accuracy == pytest.approx(1 / 5)
    assert found.changes == 1.0  # the one counted change is to 0, which was chosen


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    whole = imitate(DATA, SMALL, tmp_path / "whole")
    imitate(DATA, dataclasses.replace(SMALL, epochs=1), tmp_path / "parts")
    asked = iter([False, True])
    stopped = imitate(DATA, SMALL, tmp_path / "parts", resume=True, stop=lambda: next(asked))
    assert stopped.interrupted
    assert stopped.epochs == 1
    assert any("--resume" in note for note in stopped.notes)
    resumed = imitate(DATA, SMALL, tmp_path / "parts", resume=True)
    assert resumed.notes == ("resumed after epoch 1",)
    assert resumed.figures == whole.figures
    assert equal(weights(tmp_path / "whole" / "checkpoint_epoch_3"), weights(tmp_path / "parts" / "checkpoint_epoch_3"))
    assert equal(weights(whole.path), weights(resumed.path))
    assert not (tmp_path / "parts" / "checkpoint_epoch_1.safetensors").exists()
    other = imitate(DATA, dataclasses.replace(SMALL, seed=1), tmp_path / "other")
    assert not equal(weights(whole.path), weights(other.path))


def test_a_torn_checkpoint_is_passed_over(tmp_path: Path) -> None:
    imitate(DATA, dataclasses.replace(SMALL, epochs=2), tmp_path)
    file = tmp_path / "checkpoint_epoch_2.safetensors"
    file.write_bytes(file.read_bytes()[:500])
    result = imitate(DATA, SMALL, tmp_path, resume=True)
    assert "falling back" in result.notes[0]
    assert result.notes[1] == "resumed after epoch 1"
    assert result.epochs == 3


def test_other_data_or_settings_are_no_resume(tmp_path: Path) -> None:
    imitate(DATA, dataclasses.replace(SMALL, epochs=1), tmp_path)
    with pytest.raises(CheckpointError, match="data: made with"):
        imitate(DATA[1:], SMALL, tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"learning_rate: made with 0\.005, here 0\.1"):
        imitate(DATA, dataclasses.replace(SMALL, learning_rate=0.1), tmp_path, resume=True)


def test_stopped_before_anything_was_whole_leaves_no_policy(tmp_path: Path) -> None:
    result = imitate(DATA, SMALL, tmp_path, stop=lambda: True)
    assert result.interrupted
    assert result.figures == {}
    assert "no policy was written" in result.notes[0]
    assert not list(tmp_path.glob("pi_sup*"))


def test_ctrl_c_is_a_stop(tmp_path: Path) -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    assert imitate(DATA, SMALL, tmp_path, stop=interrupt).interrupted


def test_it_stops_early_when_nothing_gets_better(tmp_path: Path) -> None:
    noise = [dataclasses.replace(s, action=np.random.default_rng(i).integers(0, 2, (60, 1, 7)).astype(np.int8)) for i, s in enumerate(DATA)]
    settings = dataclasses.replace(SMALL, epochs=200, learning_rate=0.1, patience=2)
    result = imitate(noise, settings, tmp_path)
    assert result.epochs < 200
    assert "stopped early" in result.notes[0]
    assert load(result.path).card["epoch"] == result.epochs - 2


def test_progress_tells_the_share_and_the_time_left(tmp_path: Path) -> None:
    told: list[Progress] = []
    imitate(DATA, SMALL, tmp_path, report=told.append)
    shares = [p.done for p in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(p.eta_s is not None and p.eta_s >= 0 for p in told if p.done > 0)


def test_a_loss_that_is_no_number_is_told(tmp_path: Path) -> None:
    broken = dataclasses.replace(DATA[0], observation=np.full((60, 1, 19), np.nan, np.float32))
    with pytest.raises(ImitationError, match="lower the learning rate"):
        imitate([broken, *DATA[1:]], SMALL, tmp_path)
    assert not list(tmp_path.glob("pi_sup*"))


def test_a_policy_made_for_something_else_is_refused(tmp_path: Path) -> None:
    result = imitate(DATA[:3], dataclasses.replace(SMALL, epochs=1), tmp_path)
    found = load(result.path)
    save(tmp_path / "other", found.tensors, {**found.card, "rules_version": 0, "observation_version": "x"})
    with pytest.raises(CheckpointError, match=r"rules_version: made with 0, here .*observation_version: made with x"):
        load_policy(tmp_path / "other")
    save(tmp_path / "wide", found.tensors, {**found.card, "hidden": 32})
    with pytest.raises(CheckpointError, match="wrong shape"):
        load_policy(tmp_path / "wide")
    save(tmp_path / "odd", found.tensors, {**found.card, "hidden": "wide"})
    with pytest.raises(CheckpointError, match="is no width"):
        load_policy(tmp_path / "odd")
    with pytest.raises(CheckpointError, match="no such file"):
        load_policy(tmp_path / "absent")


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate_decay": 1.1},
        {"validation_share": 1.0},
        {"hidden": 0},
        {"patience": -1},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ImitationError, match=f"imitation settings: {next(iter(wrong))}"):
        ImitationSettings(**wrong)


def test_the_defaults_are_two_epochs_of_64() -> None:
    assert (ImitationSettings().epochs, ImitationSettings().batch_size, len(HEAD_NAMES)) == (2, 64, 7)


def test_the_learning_rate_grows_with_the_batch_and_falls_by_the_epoch(tmp_path: Path) -> None:
    settings = ImitationSettings(batch_size=256, learning_rate=0.01, learning_rate_decay=0.5)
    assert [settings.learning_rate_in(epoch) for epoch in (1, 2, 3)] == pytest.approx([0.02, 0.01, 0.005])
    assert ImitationSettings().learning_rate_in(1) == ImitationSettings().learning_rate
    taken: list[float] = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *args: Any, **how: Any) -> Any:
        taken.append(self.param_groups[0]["lr"])
        return step(self, *args, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", spy)
        imitate(DATA, dataclasses.replace(SMALL, epochs=2), tmp_path)
        imitate(DATA, dataclasses.replace(SMALL, epochs=3), tmp_path, resume=True)
    assert [*dict.fromkeys(taken)] == pytest.approx([SMALL.learning_rate_in(epoch) for epoch in (1, 2, 3)])
