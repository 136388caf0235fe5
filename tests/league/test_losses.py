"""The whole loss of an update against the same written out slowly, and what must not change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from league import returns
from league.codec import BINS, HEADS, LOGITS
from league.losses import REFERENCE_LOGITS, Loss, LossSettings, Update, UpdateSettings, evaluate, update_loss
from league.network import GROUPS, HEAD_SLICES, ActorCritic
from league.privileged import TOLD_SIZE
from league.trajectories import TrajectorySequence

T, B, H = 12, 4, len(HEADS)
EVERY_LOSS = LossSettings(kl_weight=0.05, kl_weight_end=0.05, entropy_weight=0.02, rho_bar=1.5, pg_rho_bar=1.2)


def update(seed: int = 0, dtype: torch.dtype = torch.float64) -> Update:
    """Off-policy play with ends of both kinds, dead frames, and heads without effect."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=dtype)

    terminated, truncated, living = (torch.zeros(T, B, dtype=torch.bool) for _ in range(3))
    living[:] = True
    terminated[4, 1], living[5:9, 1], terminated[6, 2], truncated[8, 3] = True, False, True, True
    values = normal(T, B)
    following = returns.successor_values(values.numpy(), normal(B).numpy(), truncated.numpy(), normal(T, B).numpy())
    action = (torch.rand(T, B, H, generator=g) * torch.as_tensor(BINS)).to(torch.int8)
    return Update(
        logits=normal(T, B, LOGITS).requires_grad_(),
        values=values.requires_grad_(),
        next_values=torch.from_numpy(following),
        action=action,
        head_mask=torch.rand(T, B, H, generator=g) > 0.3,
        behaviour_log_prob=normal(T, B, H) * 0.3 - 1,
        reward=normal(T, B),
        terminated=terminated,
        truncated=truncated,
        living=living,
        reference_logits=normal(T, B, LOGITS),
    )


def written_out(u: Update, s: LossSettings) -> dict[str, Tensor]:
    """The loss from LEAGUE's formulas, head by head and frame by frame."""
    assert u.reference_logits is not None
    n = u.living.sum()
    mask = (u.head_mask & u.living[..., None]).double()
    log_pi: list[Tensor] = []
    kl = entropy = torch.zeros((), dtype=torch.float64)
    for h, name in enumerate(HEADS):
        log_p = torch.log_softmax(u.logits[..., HEAD_SLICES[name]], -1)
        log_r = torch.log_softmax(u.reference_logits[..., HEAD_SLICES[name]], -1)
        log_pi.append(log_p.gather(-1, u.action[..., h : h + 1].long())[..., 0] * mask[..., h])
        kl = kl + ((log_r.exp() * (log_r - log_p)).sum(-1) * mask[..., h]).sum() / n
        entropy = entropy - ((log_p.exp() * log_p).sum(-1) * mask[..., h]).sum() / n
    frames = [t.detach().numpy() for t in (u.values, u.next_values, u.reward, u.terminated, u.truncated)]
    living: Any = u.living.numpy()
    upgoing = returns.upgo_returns(*frames, gamma=s.gamma, living=living).returns - frames[0]
    target = returns.td_lambda(*frames[1:], gamma=s.gamma, lambda_=s.lambda_, living=living)
    policy = upgo = torch.zeros((), dtype=torch.float64)
    for group in GROUPS.values() if s.traces == "split" else [tuple(HEADS)]:
        chosen = [h for h, name in enumerate(HEADS) if name in group]
        pi = torch.stack([log_pi[h] for h in chosen]).sum(0)
        mu = (u.behaviour_log_prob * mask)[..., chosen].sum(-1)
        clips = {"rho_bar": s.rho_bar, "c_bar": s.c_bar, "pg_rho_bar": s.pg_rho_bar, "lambda_": s.lambda_}
        trace = returns.vtrace(pi.detach().numpy(), mu.numpy(), *frames, gamma=s.gamma, living=living, **clips)
        up = np.minimum(s.pg_rho_bar, trace.ratio) * upgoing
        advantage = trace.advantage
        if s.normalise_advantages:
            counted = advantage[living]
            advantage, up = (advantage - counted.mean()) / counted.std(), up / counted.std()
        if s.trust_region:
            for strength in (advantage, up):
                driven_on = np.where(strength > 0, trace.ratio - 1, 1 - trace.ratio) > s.trust_region
                strength[driven_on] = 0
        policy = policy - (torch.from_numpy(advantage * living) * pi).sum() / n
        upgo = upgo - (torch.from_numpy(up * living) * pi).sum() / n
    value = ((u.values - torch.from_numpy(target)).square() * u.living).sum() / n
    total = s.policy_weight * policy + s.upgo_weight * upgo + s.value_weight * value + s.kl_weight * kl - s.entropy_weight * entropy
    return {"total": total, "policy": policy, "upgo": upgo, "value": value, "kl": kl, "entropy": entropy}


def gradients(u: Update, total: Tensor) -> tuple[Tensor, Tensor]:
    logits, values = torch.autograd.grad(total, (u.logits, u.values))
    return logits, values


@pytest.mark.parametrize("traces", ["joint", "split"])
@pytest.mark.parametrize("normalise", [True, False])
def test_the_loss_is_the_one_written_out(traces: Any, normalise: bool) -> None:
    settings = replace(EVERY_LOSS, traces=traces, normalise_advantages=normalise)
    u = update()
    expected = written_out(u, settings)
    got = update_loss(u, settings)
    for name in ("policy", "upgo", "value", "kl", "entropy"):
        assert got.parts[name] == pytest.approx(expected[name].item(), abs=1e-6), name
    for mine, theirs in zip(gradients(u, got.total), gradients(u, expected["total"]), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-7, rtol=1e-6)


def test_float32_agrees_with_float64() -> None:
    u = update()
    told: Any = u._asdict()
    single = Update(
        **{name: t.detach().float().requires_grad_(t.requires_grad) if t.dtype == torch.float64 else t for name, t in told.items()}
    )
    one, two = update_loss(u, EVERY_LOSS), update_loss(single, EVERY_LOSS)
    for mine, theirs in zip(gradients(u, one.total), gradients(single, two.total), strict=True):
        torch.testing.assert_close(mine.float(), theirs, atol=1e-5, rtol=1e-4)


def test_dead_frames_and_heads_without_effect_change_nothing() -> None:
    u = update()
    dead = ~u.living
    idle = ~u.head_mask | dead[..., None]
    other = u._replace(
        values=torch.where(dead, 77.0, u.values.detach()).requires_grad_(),
        next_values=torch.where(dead, torch.nan, u.next_values),
        reward=torch.where(dead, torch.nan, u.reward),
        action=torch.where(idle, torch.tensor(99, dtype=torch.int8), u.action),
        behaviour_log_prob=torch.where(idle, -torch.inf, u.behaviour_log_prob),
        logits=torch.where(dead[..., None], 5.0, u.logits.detach()).requires_grad_(),
    )
    for traces in ("joint", "split"):
        settings = replace(EVERY_LOSS, traces=traces)
        one, two = update_loss(u, settings), update_loss(other, settings)
        assert one.parts == pytest.approx(two.parts)
        for mine, theirs in zip(gradients(u, one.total), gradients(other, two.total), strict=True):
            torch.testing.assert_close(mine, theirs)
            assert not theirs[dead].any()


def test_a_head_without_effect_learns_nothing_and_the_others_do() -> None:
    u = update()
    mask = torch.ones(T, B, H, dtype=torch.bool)
    mask[..., 5] = False
    logits, _ = gradients(u, update_loss(u._replace(head_mask=mask), EVERY_LOSS).total)
    assert not logits[..., HEAD_SLICES["ability"]].any()
    assert all(logits[..., where][u.living].any() for name, where in HEAD_SLICES.items() if name != "ability")


def played(network: ActorCritic, lag: float = 0.0) -> tuple[Update, Loss]:
    """Play of ``network``, learnt from after its weights moved by ``lag``."""
    g = torch.Generator().manual_seed(1)
    base = update(dtype=torch.float32)
    observation = torch.randn(T, B, TOLD_SIZE, generator=g)
    decision = network.act(observation, base.head_mask, g)
    with torch.no_grad():
        for weights in network.parameters():
            weights += lag * torch.randn(weights.shape, generator=g)
    logits, values = network(observation)
    u = base._replace(logits=logits, values=values, action=decision.action, behaviour_log_prob=decision.log_prob)
    return u, update_loss(u, LossSettings())


def test_at_lag_zero_the_mean_ratio_is_one() -> None:
    torch.manual_seed(0)
    for traces in ("joint", "split"):
        u, _ = played(ActorCritic())
        parts = update_loss(u, LossSettings(traces=traces)).parts
        assert parts["mean_ratio"] == pytest.approx(1.0, abs=1e-5)
        assert parts["clipped"] == pytest.approx(0.0, abs=0.2)
    _, lagged = played(ActorCritic(), lag=0.3)
    assert abs(lagged.parts["mean_ratio"] - 1) > 0.01


def test_kl_has_the_supervised_policy_first_and_pulls_towards_it() -> None:
    u = update()
    wanted = HEAD_SLICES["fire"]
    reference = torch.zeros(T, B, LOGITS, dtype=torch.float64)
    reference[..., wanted] = torch.tensor([4.0, -4.0], dtype=torch.float64)
    ours = torch.zeros_like(reference).requires_grad_()
    mask = torch.ones(T, B, H, dtype=torch.bool)
    settings = LossSettings(policy_weight=0, upgo_weight=0, value_weight=0, entropy_weight=0)
    got = update_loss(u._replace(logits=ours, reference_logits=reference, head_mask=mask), settings)
    p = torch.softmax(torch.tensor([4.0, -4.0], dtype=torch.float64), -1)
    assert got.parts["kl"] == pytest.approx(float((p * (p.log() - np.log(0.5))).sum()))  # the other way round it would be 3.3
    (gradient,) = torch.autograd.grad(got.total, ours)
    assert (gradient[..., wanted.start][u.living] < 0).all()
    assert (gradient[..., wanted.start + 1][u.living] > 0).all()


def test_the_kl_weight_falls_linearly() -> None:
    settings = LossSettings(kl_weight=0.05, kl_weight_end=0.005, kl_frames=10_000_000)
    assert [settings.kl_weight_at(n) for n in (0, 5_000_000, 10_000_000, 99_000_000)] == pytest.approx([0.05, 0.0275, 0.005, 0.005])
    u = update()
    early, late = update_loss(u, settings), update_loss(u, settings, frames_learnt=10_000_000)
    assert (early.total - late.total).item() == pytest.approx(0.045 * early.parts["kl"])
    with pytest.raises(ValueError, match="less than 0"):
        settings.kl_weight_at(-1)
    other = settings.with_kl(0.2)
    assert [other.kl_weight_at(n) for n in (0, 10_000_000)] == pytest.approx([0.2, 0.02])
    assert settings.with_kl(0.0).kl_weight_at(5_000_000) == 0
    assert LossSettings(kl_weight=0.0).with_kl(0.1).kl_weight_end == 0


def test_defaults_are_the_documented_ones() -> None:
    s, u = LossSettings(), UpdateSettings()
    assert (s.gamma, s.gamma_pseudo_rewards, s.lambda_, s.rho_bar, s.c_bar, s.pg_rho_bar) == (1.0, 0.999, 0.8, 1, 1, 1)
    assert (s.policy_weight, s.upgo_weight, s.value_weight, s.kl_weight, s.entropy_weight) == (1, 0.2, 0.5, 0.02, 0.0005)
    assert (s.kl_weight_end, s.kl_frames) == (0.0002, 15_000_000)
    assert (u.learning_rate, u.clip_norm, u.unroll_steps, u.sequences, u.replay_reuse) == (5e-4, 1.0, 64, 256, 2)
    assert (s.discount(False), s.discount(True)) == (1.0, 0.999)


def test_learning_from_a_rewarded_choice_makes_it_likelier() -> None:
    """A bandit: firing is paid. Off-policy play of a uniform policy is enough to learn it."""
    torch.manual_seed(0)
    network, g = ActorCritic(16), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    settings = LossSettings(kl_weight=0.0, kl_weight_end=0.0)
    observation = torch.ones(1, 256, TOLD_SIZE)
    ends, never, mask = torch.ones(1, 256, dtype=torch.bool), torch.zeros(1, 256, dtype=torch.bool), torch.ones(1, 256, H, dtype=torch.bool)
    for _ in range(30):
        decision = network.act(observation, mask, g)
        reward = decision.action[..., 4].float()
        logits, values = network(observation)
        u = Update(logits, values, torch.zeros(1, 256), decision.action, mask, decision.log_prob, reward, ends, never, ends)
        optimiser.zero_grad()
        update_loss(u, settings).total.backward()
        optimiser.step()
    assert torch.softmax(network(observation[0, :1])[0][0, HEAD_SLICES["fire"]], -1)[1] > 0.9


def recorded(seed: int = 0) -> TrajectorySequence:
    """The play of ``update`` as an actor stores it: one truncation inside, one at the last step."""
    u, random = update(seed, torch.float32), np.random.default_rng(seed)
    truncated = u.truncated.numpy().copy()
    truncated[T - 1, 0] = True
    observation, bootstrap, final = (random.random((*shape, TOLD_SIZE), np.float32) for shape in [(T, B), (B,), (1,)])
    timed: dict[str, Any] = {name: getattr(u, name).numpy() for name in Update._fields[3:10]}
    timed |= {"truncated": truncated, "observation": observation}
    return TrajectorySequence(**timed, bootstrap_observation=bootstrap, final_at=np.array([[8, 3]], np.int32), final_observation=final)


def test_a_sequence_is_evaluated_with_its_true_successors() -> None:
    torch.manual_seed(0)
    network, supervised, sequence = ActorCritic(16), ActorCritic(16), recorded()
    u = evaluate(network, sequence, supervised)
    with torch.no_grad():
        torch.testing.assert_close(u.next_values, network(torch.from_numpy(sequence.next_observation()))[1])
    assert not u.next_values.requires_grad
    assert u.logits.requires_grad
    assert u.reference_logits is not None
    assert not u.reference_logits.requires_grad
    loss = update_loss(u, LossSettings())
    loss.total.backward()
    assert all(weights.grad is not None and torch.isfinite(weights.grad).all() for weights in network.parameters())
    assert all(weights.grad is None for weights in supervised.parameters())
    stored = {REFERENCE_LOGITS: u.reference_logits.numpy()}
    again = evaluate(network, replace(sequence, extras=stored))
    assert update_loss(again, LossSettings()).parts == loss.parts
    assert evaluate(network, sequence).reference_logits is None


BAD: list[tuple[dict[str, Any], str]] = [
    ({"reward": torch.full((T, B), torch.nan)}, r"rewards\[0, 0\]: not a finite number"),
    ({"logits": torch.zeros(T, B, 7)}, r"logits: shape \(12, 4, 7\)"),
    ({"action": torch.zeros(T, B + 1, H, dtype=torch.int8)}, r"action: shape"),
    (
        {"action": torch.full((T, B, H), 2, dtype=torch.int8), "head_mask": torch.ones(T, B, H, dtype=torch.bool)},
        r"fire is bin 2; it has 0 to 1",
    ),
    ({"living": torch.zeros(T, B, dtype=torch.bool)}, "no frame of this update counts"),
    ({"reference_logits": None}, r"KL weighs 0.02; give"),
    ({"logits": torch.full((T, B, LOGITS), torch.nan, dtype=torch.float64)}, "not a finite number|not finite"),
    ({"reference_logits": torch.full((T, B, LOGITS), torch.nan, dtype=torch.float64)}, "loss: not finite"),
    ({"values": torch.zeros(T)}, "time-major"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_errors_say_what_and_where(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        update_loss(update()._replace(**change), LossSettings())


@pytest.mark.parametrize("field", ["gamma", "lambda_", "rho_bar", "kl_weight"])
def test_settings_out_of_range_are_named(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} -1"):
        replace(LossSettings(), **{field: -1})
    with pytest.raises(ValueError, match="learning_rate 0"):
        UpdateSettings(learning_rate=0)
    with pytest.raises(ValueError, match="use 'joint' or 'split'"):
        LossSettings(traces="both")  # pyright: ignore[reportArgumentType]
