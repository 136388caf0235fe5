"""The learner: what changes it, what must not, and that it comes back exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.checkpoint import CheckpointError
from league.imitate import load_policy
from league.learner import LeagueLearner
from league.losses import LossSettings, UpdateSettings
from league.network import ActorCritic
from league.rollout import Actor, Match, Policy, RolloutSettings
from league.trajectories import TrajectorySequence

UPDATE = UpdateSettings(unroll_steps=16, sequences=8, critic_first=0)


def network(seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    made = ActorCritic(16)
    for part in (made.actor, made.critic):
        torch.nn.init.normal_(part[4].weight, 0.0, 0.3)
    return made


@pytest.fixture(scope="module")
def play() -> TrajectorySequence:
    """Some columns whose stretches end, by death and by the limit."""
    actor = Actor(RolloutSettings(worlds=4, episode_steps=42))
    actor.begin({w: Match(w, ("a",) * 4, (True,) * 4) for w in range(4)})
    policies = {"a": Policy(network().eval(), 0)}
    parts = [actor.rollout(policies, 16).sequence for _ in range(3)]
    last = parts[-1]
    assert last is not None
    assert last.truncated.any()
    terminated, truncated = last.terminated.copy(), last.truncated.copy()
    ends = np.argwhere(truncated)
    for t, b in ends[::2]:
        terminated[t, b], truncated[t, b] = True, False
    keep = [i for i, (t, b) in enumerate(last.final_at) if truncated[t, b]]
    reward = np.where(terminated, np.float32(-1), last.reward).astype(np.float32)
    return replace(
        last,
        terminated=terminated,
        truncated=truncated,
        reward=reward,
        final_at=last.final_at[keep],
        final_observation=last.final_observation[keep],
    ).check()


def learner(**settings: float) -> LeagueLearner:
    return LeagueLearner(network(), network(1), LossSettings(**settings), UPDATE)


def test_at_lag_zero_the_ratio_is_one_and_an_update_moves_it(play: TrajectorySequence) -> None:
    one = learner()
    first = one.update(play)
    assert first["mean_ratio"] == pytest.approx(1.0, abs=1e-5)
    assert first["clipped"] < 0.05
    assert one.frames == play.frames
    assert one.version == 1
    assert one.fresh_frames == play.frames // 2
    for _ in range(20):
        later = one.update(play)
    assert later["clipped"] > 0.1
    assert later["value"] < first["value"]


def test_what_is_seen_after_a_terminal_step_and_what_does_not_count_have_no_effect(play: TrajectorySequence) -> None:
    wild = play.observation.copy()
    wild[~play.living] = 7.0
    beyond = play.bootstrap_observation.copy()
    gone = play.terminated[-1] | ~play.living[-1]
    beyond[gone] = 7.0
    assert (~play.living).any()
    assert gone.any()
    one, other = learner(), learner()
    told = one.update(play)
    assert told == other.update(replace(play, observation=wild, bootstrap_observation=beyond))
    for name, values in one.weights().items():
        np.testing.assert_allclose(values, other.weights()[name], atol=1e-7, err_msg=name)
    living_end = replace(play, final_observation=play.final_observation * 0.0)
    assert learner().update(living_end)["value"] != told["value"]


def test_the_reference_is_left_alone(play: TrajectorySequence) -> None:
    one = learner()
    before = {name: values.clone() for name, values in network(1).state_dict().items()}
    one.update(play)
    assert one.reference is not None
    assert all(torch.equal(values, before[name]) for name, values in one.reference.state_dict().items())


def test_the_kl_weight_falls_by_fresh_frames(play: TrajectorySequence) -> None:
    one = learner(kl_weight=0.4, kl_weight_end=0.0, kl_frames=play.frames)
    assert [one.update(play)["kl_weight"] for _ in range(3)] == pytest.approx([0.4, 0.2, 0.0], abs=0.01)


def test_the_policys_learning_rate_falls_by_fresh_frames(play: TrajectorySequence) -> None:
    settings = replace(UPDATE, learning_rate=4e-4, learning_rate_end=1e-4, decay_frames=1000)
    assert [settings.learning_rate_at(frames) for frames in (0, 500, 1000, 9000)] == pytest.approx([4e-4, 2.5e-4, 1e-4, 1e-4])
    moved: list[float] = []
    for frames in (0, 2000):  # learnt from, each twice
        one = LeagueLearner(network(), network(1), LossSettings(), settings)
        one.frames = frames
        before = one.weights()["actor.0.bias"]
        one.update(play)
        moved.append(float(np.abs(one.weights()["actor.0.bias"] - before).max()))
    assert moved[1] == pytest.approx(moved[0] / 4, rel=0.05)


def test_saved_and_restored_it_makes_the_same_updates(play: TrajectorySequence, tmp_path: Path) -> None:
    one = learner()
    one.save(tmp_path / "before")
    for _ in range(3):
        one.update(play)
    one.save(tmp_path / "main-1", {"why": "a test"})
    other = learner()
    assert other.restore(tmp_path / "main-1") == {"why": "a test"}
    assert (other.frames, other.version) == (one.frames, one.version)
    for _ in range(2):
        assert one.update(play) == other.update(play)
    assert all(np.array_equal(values, other.weights()[name]) for name, values in one.weights().items())
    policy, card = load_policy(tmp_path / "main-1")
    assert card["role"] == "learner"
    assert policy.hidden == 16
    other.restore(tmp_path / "before")
    assert other.version == 0
    assert all(torch.equal(values, network().state_dict()[name]) for name, values in other.network.state_dict().items())


def test_a_reset_forgets_moments_and_frames_but_its_version_grows(play: TrajectorySequence) -> None:
    one = learner()
    for _ in range(3):
        one.update(play)
    one.reset({name: values.numpy() for name, values in network().state_dict().items()})
    assert (one.frames, one.version) == (0, 4)
    fresh = learner()
    assert one.update(play)["total"] == fresh.update(play)["total"]
    assert all(np.array_equal(values, fresh.weights()[name]) for name, values in one.weights().items())
    with pytest.raises(CheckpointError, match=r"missing: actor\.0\.bias"):
        one.reset({})


def test_at_the_beginning_and_after_a_reset_the_value_learns_alone(play: TrajectorySequence) -> None:
    one = LeagueLearner(network(), network(1), LossSettings(), replace(UPDATE, critic_first=2))
    given = one.weights()
    for _ in range(2):
        one.update(play)
    now = one.weights()
    assert all(np.array_equal(values, given[name]) == name.startswith("actor") for name, values in now.items())
    one.update(play)
    assert not np.array_equal(one.weights()["actor.0.weight"], given["actor.0.weight"])
    one.reset(given)
    one.update(play)
    assert np.array_equal(one.weights()["actor.0.weight"], given["actor.0.weight"])
    assert not np.array_equal(one.weights()["critic.0.weight"], given["critic.0.weight"])


def test_another_recipe_or_reference_or_a_torn_file_is_refused(play: TrajectorySequence, tmp_path: Path) -> None:
    one = learner()
    one.update(play)
    one.save(tmp_path / "x")
    with pytest.raises(CheckpointError, match="recipe: made with"):
        learner(upgo_weight=0.0).restore(tmp_path / "x")
    with pytest.raises(CheckpointError, match="reference: made with"):
        LeagueLearner(network(), network(2), LossSettings(), UPDATE).restore(tmp_path / "x")
    file = tmp_path / "x.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="not a whole safetensors file"):
        learner().restore(tmp_path / "x")


def test_broken_weights_are_told_and_nothing_is_learnt(play: TrajectorySequence) -> None:
    one = learner()
    with torch.no_grad():
        one.network.actor[4].bias.fill_(float("nan"))
    with pytest.raises(ValueError, match="not a finite"):
        one.update(play)
    assert one.version == 0
    dead = replace(play, living=np.zeros_like(play.living))
    with pytest.raises(ValueError, match="no frame of this update counts"):
        learner().update(dead)


def is_flushed() -> bool:
    return not (np.array([1e-40], np.float32) * np.float32(1.0)).any()


def test_an_update_computes_without_denormals_and_nothing_else_does(play: TrajectorySequence, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sure policy's gradient is full of them, and they cost most of an update's time."""
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot leave them out")
    torch.set_flush_denormal(False)
    one, seen = learner(), list[bool]()
    gradient = one._gradient.set

    def watched(*given: Any, **named: Any) -> dict[str, float]:
        seen.append(is_flushed())
        return gradient(*given, **named)

    monkeypatch.setattr(one._gradient, "set", watched)
    one.update(play)
    assert seen == [True]
    assert not is_flushed()
    monkeypatch.setattr(one._gradient, "set", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        one.update(play)
    assert not is_flushed()
