"""The gradient written out by hand against autograd through the readable loss, and its compiled parts against golden vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from league import gradients, returns
from league.codec import BINS, HEADS
from league.gradients import UpdateGradient
from league.losses import REFERENCE_LOGITS, LossSettings, evaluate, update_loss
from league.network import ActorCritic
from league.privileged import TOLD_SIZE
from league.symmetry import fold
from league.trajectories import TrajectorySequence
from tests.league.test_losses import EVERY_LOSS, recorded
from tests.league.test_returns import FRAME_ARRAYS, arrays, cases, play, ratios

H = len(HEADS)


def network(seed: int, hidden: int = 24) -> ActorCritic:
    torch.manual_seed(seed)
    made = ActorCritic(hidden)
    for values in made.parameters():
        torch.nn.init.normal_(values, 0.0, 0.3)
    return made


def long_play(seed: int) -> TrajectorySequence:
    """More frames than a block of either kernel or of the layers, and not a multiple of one; ends of both kinds, dead frames."""
    random, (steps, columns) = np.random.default_rng(seed), (31, 43)
    ended = random.random((steps, columns)) < 0.1
    terminated = ended & (random.random(ended.shape) < 0.5)
    living = np.ones_like(ended)
    living[9:12] = ~ended[8]
    truncated = ended & ~terminated
    at = np.argwhere(truncated[:-1]).astype(np.int32)
    views = [random.standard_normal((*shape, TOLD_SIZE), np.float32) for shape in [(steps, columns), (columns,), (len(at),)]]
    return TrajectorySequence(
        observation=views[0],
        action=(random.random((steps, columns, H)) * BINS).astype(np.int8),
        head_mask=random.random((steps, columns, H)) > 0.3,
        behaviour_log_prob=-random.random((steps, columns, H), np.float32) * 2,
        reward=random.standard_normal((steps, columns), np.float32),
        terminated=terminated,
        truncated=truncated,
        living=living,
        bootstrap_observation=views[1],
        final_at=at,
        final_observation=views[2],
    )


def compare(batch: TrajectorySequence, settings: LossSettings, gamma: float, frames_learnt: int = 0, asked: bool = True) -> None:
    mine, reference = network(1), network(2) if asked else None
    loss = update_loss(evaluate(mine, batch, reference), settings, gamma=gamma, frames_learnt=frames_learnt)
    loss.total.backward()
    expected = [p.grad.clone() for p in mine.parameters() if p.grad is not None]
    parts = UpdateGradient(mine).set(batch, settings, gamma=gamma, frames_learnt=frames_learnt, reference=reference)
    for name, value in {**loss.parts, "total": float(loss.total.detach())}.items():
        assert parts[name] == pytest.approx(value, rel=2e-5, abs=2e-6), name
    for got, theirs in zip(mine.parameters(), expected, strict=True):
        assert got.grad is not None
        np.testing.assert_allclose(got.grad, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max()))


@pytest.mark.parametrize("traces", ["joint", "split"])
@pytest.mark.parametrize("normalise", [True, False])
def test_it_is_autograds(traces: Any, normalise: bool) -> None:
    settings = replace(EVERY_LOSS, traces=traces, normalise_advantages=normalise)
    for seed in range(3):
        compare(recorded(seed), settings, gamma=1.0)
        compare(long_play(seed), settings, gamma=0.97, frames_learnt=1000)


@pytest.mark.parametrize("only", ["policy_weight", "upgo_weight", "value_weight", "kl_weight", "entropy_weight"])
def test_each_part_alone_is_autograds(only: str) -> None:
    nothing = dict.fromkeys(("policy_weight", "upgo_weight", "value_weight", "kl_weight", "kl_weight_end", "entropy_weight"), 0.0)
    compare(long_play(0), LossSettings(**{**nothing, only: 1.0}), gamma=1.0)


def test_without_a_supervised_policy_nothing_pulls() -> None:
    compare(long_play(0), LossSettings(kl_weight=0.0, kl_weight_end=0.0), gamma=1.0, asked=False)


def test_stored_logits_are_taken_as_the_supervised_policys() -> None:
    batch = long_play(3)
    with torch.no_grad():
        logits = network(2).actor(fold(torch.from_numpy(batch.seen))[0]).numpy()
    stored = replace(batch, extras={REFERENCE_LOGITS: np.ascontiguousarray(logits)})
    compare(stored, LossSettings(), gamma=1.0, asked=False)
    asked, told = UpdateGradient(network(1)), UpdateGradient(network(1))
    assert asked.set(batch, LossSettings(), gamma=1.0, reference=network(2)) == told.set(stored, LossSettings(), gamma=1.0)


def test_heads_far_below_others_keep_their_digits() -> None:
    mine = network(1)
    with torch.no_grad():
        mine.actor[4].bias[:3] -= 60.0  # all of move_x
        mine.actor[4].bias[6] += 60.0  # one bin of aim_x
    batch, settings = long_play(1), replace(EVERY_LOSS, kl_weight=0.0, kl_weight_end=0.0)
    loss = update_loss(evaluate(mine, batch), settings)
    parts = UpdateGradient(mine).set(batch, settings, gamma=1.0)
    for name in ("entropy", "policy"):
        assert parts[name] == pytest.approx(loss.parts[name], rel=1e-4), name


def test_what_an_update_before_left_behind_has_no_effect() -> None:
    used, fresh = UpdateGradient(network(1)), UpdateGradient(network(1))
    for seed in (0, 1):
        used.set(long_play(seed), replace(EVERY_LOSS, traces="split"), gamma=1.0, reference=network(2))
    smaller = recorded()
    assert used.set(smaller, EVERY_LOSS, gamma=1.0, reference=network(2)) == fresh.set(smaller, EVERY_LOSS, gamma=1.0, reference=network(2))
    for one, two in zip(used._gradients, fresh._gradients, strict=True):
        np.testing.assert_array_equal(one, two)


def test_dead_frames_and_heads_without_effect_may_hold_anything() -> None:
    batch = long_play(0)
    idle = ~batch.head_mask | ~batch.living[..., None]
    wild = replace(
        batch,
        action=np.where(idle, np.int8(99), batch.action),
        behaviour_log_prob=np.where(idle, np.float32(-np.inf), batch.behaviour_log_prob),
        reward=np.where(batch.living, batch.reward, np.float32(np.nan)),
    )
    one, two = UpdateGradient(network(1)), UpdateGradient(network(1))
    assert one.set(batch, EVERY_LOSS, gamma=1.0, reference=network(2)) == two.set(wild, EVERY_LOSS, gamma=1.0, reference=network(2))
    for mine, theirs in zip(one._gradients, two._gradients, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def kernel_targets(log_pi: Any, log_mu: Any, *frames: Any, gamma: float, lambda_: float, **clips: float) -> list[Any]:
    """ratio, advantage, upgoing [T, B] and target of the compiled recursions; ``frames`` as ``FRAME_ARRAYS``."""
    singles = [np.ascontiguousarray(f, np.float32)[None] for f in (log_pi, log_mu)]
    values, following, reward = (np.ascontiguousarray(f, np.float32) for f in frames[:3])
    flags = [np.ascontiguousarray(f, bool) for f in frames[3:]]
    out = [np.full((1, *values.shape), np.nan, np.float32) for _ in range(3)]
    target = np.full(values.shape, np.nan, np.float32)
    constants = np.array([gamma, lambda_, clips.get("rho_bar", 1.0), clips.get("c_bar", 1.0), clips.get("pg_rho_bar", 1.0)])
    living = np.ones(values.shape, bool)
    assert gradients.compiled()[1].targets(*singles, values, following, reward, *flags, living, constants, *out, target)
    return [*(a[0] for a in out), target]


@pytest.mark.parametrize("case", cases("vtrace"))
def test_compiled_vtrace_agrees_with_the_golden_vectors(case: dict[str, Any]) -> None:
    told = arrays(case, ("log_pi", "log_mu", *FRAME_ARRAYS), np.float32)
    _, advantage, _, _ = kernel_targets(*told, **case["params"])
    np.testing.assert_allclose(advantage, case["outputs"]["pg_advantage"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", cases("td_lambda"))
def test_compiled_td_lambda_agrees_with_the_golden_vectors(case: dict[str, Any]) -> None:
    following, *rest = arrays(case, FRAME_ARRAYS[1:], np.float32)
    zeros = np.zeros_like(following)
    for name, expected in case["outputs"].items():
        lambda_ = float(name.removeprefix("lambda_"))
        target = kernel_targets(zeros, zeros, zeros, following, *rest, **case["params"], lambda_=lambda_)[3]
        np.testing.assert_allclose(target, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", cases("upgo"))
def test_compiled_upgo_agrees_with_the_golden_vectors(case: dict[str, Any]) -> None:
    values, *rest = arrays(case, FRAME_ARRAYS, np.float32)
    zeros = np.zeros_like(values)
    upgoing = kernel_targets(zeros, zeros, values, *rest, **{"lambda_": 0.8, **case["params"]})[2]
    np.testing.assert_allclose(values + upgoing, case["outputs"]["upgo_return"], rtol=1e-5, atol=1e-5)


def test_absurd_lags_are_clipped() -> None:
    frames = [f.astype(np.float32) if f.dtype != bool else f for f in play().values()]
    logs = ratios(3, frames[0].shape)
    far = logs["log_pi"] + np.where(np.arange(frames[0].shape[1]) % 2, 200.0, -200.0)
    got = kernel_targets(far, logs["log_mu"], *frames, gamma=1.0, lambda_=0.8)[1]
    np.testing.assert_allclose(got, returns.vtrace(far, logs["log_mu"], *frames, gamma=1.0, lambda_=0.8).advantage, rtol=1e-4, atol=1e-5)


def broken(**change: Any) -> TrajectorySequence:
    return replace(long_play(0), **change)


def test_errors_are_those_of_the_readable_loss() -> None:
    good = long_play(0)
    nan = good.reward.copy()
    nan[3, 4] = np.nan
    both = good.terminated | good.truncated
    dead = good.living.copy()
    dead[20:] = False
    for batch, message in (
        (broken(reward=nan), r"rewards\[3, 4\]: not a finite number"),
        (broken(action=np.full_like(good.action, 2)), r"(fire|interact) is bin 2; it has 0 to 1"),
        (broken(terminated=both, truncated=both), "both are set"),
        (broken(living=dead), "neither terminated nor truncated"),
        (broken(living=np.zeros_like(dead)), "no frame of this update counts"),
        (broken(observation=np.full_like(good.observation, np.nan)), "not a finite number"),
        (broken(behaviour_log_prob=np.full_like(good.behaviour_log_prob, np.nan)), "log_mu.*not a finite number"),
    ):
        with pytest.raises(ValueError, match=message):
            UpdateGradient(network(1)).set(batch, LossSettings(), gamma=1.0, reference=network(2))
    with pytest.raises(ValueError, match="KL weighs"):
        UpdateGradient(network(1)).set(good, LossSettings(), gamma=1.0)
