"""The loss of one league update: V-trace policy gradient, UPGO, TD(lambda) value, KL to the supervised policy, entropy.

    loss = w_policy * policy + w_upgo * upgo + w_value * value + w_kl(frames) * kl - w_entropy * entropy

each a mean over the frames that count (``living``); heads without effect (``head_mask``) are left out of the
log-probabilities of both policies, of the KL and of the entropy alike. The formulas are in ``league.returns``; what has a
gradient is here. This is the definition, for people and for tests; the learner takes the same numbers from ``league.gradients``,
which writes the gradient out by hand. Notable choices:

- The value learns from TD(0.8) without importance weights (Vinyals et al., 2019); V-trace targets serve the policy alone.
- ``joint`` traces take the product of all heads' ratios. ``split`` traces have a V-trace of their own for move, aim and
  buttons: with a deviation of 0.1 per head in the log-ratio, seven heads and 16 steps, what is left of a trace is about
  0.18 joint and 0.53 for a single head.
- Normalising divides the advantages by their deviation after taking off their mean. UPGO's are divided by the same
  number and keep their mean, so that the two terms keep their proportion and UPGO its sign.

Shapes: T steps, B sequences, H = 7 heads, G groups of heads (1 when joint), time-major.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from league import returns
from league.codec import BINS, HEAD_NAMES, HEADS, LOGITS, OBSERVATION_SIZE
from league.network import GROUPS, ActorCritic, action_log_prob, log_softmax_heads, spread_heads
from league.symmetry import fold_sequence
from league.trajectories import TrajectorySequence

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights and constants of the loss. Raises ValueError naming the field that is out of range."""

    gamma: float = 1.0
    """Discount for each step, 0..1: 1 since only the outcome is paid."""
    gamma_pseudo_rewards: float = 0.999
    """Discount for each step when pseudo-rewards are paid along the way, 0..1."""
    lambda_: float = 0.8
    """Trace decay of V-trace and TD(lambda), 0..1 (Vinyals et al., 2019)."""
    rho_bar: float = 1.0
    """Clip of the ratio in the temporal difference (Espeholt et al., 2018): which policy's value is learnt."""
    c_bar: float = 1.0
    """Clip of the ratio along the trace: how far a correction travels."""
    pg_rho_bar: float = 1.0
    """Clip of the ratio in front of the policy gradient and of UPGO."""
    policy_weight: float = 1.0
    upgo_weight: float = 0.2
    """Of self-imitation of what went better than expected; 0 switches it off."""
    value_weight: float = 0.5
    """Of the squared error of the value."""
    kl_weight: float = 0.02
    """Of KL(pi_sup || pi) in nats at the first frame. Advantages are normalised, so that the pull is felt all the more the better a policy
    is: with 0.05 falling to 0.005 the policy stands still 1.7 nats from ``pi_sup``, at a payoff of 0.72 against experts."""
    kl_weight_end: float = 0.0002
    """The same after ``kl_frames``; linear between."""
    kl_frames: int = 15_000_000
    """Frames (agent-steps that count) over which the KL's weight falls."""
    entropy_weight: float = 0.0005
    """Of the entropy in nats, summed over heads. With 0.002 and little KL it stands still as well, at 0.76."""
    traces: Literal["joint", "split"] = "joint"
    normalise_advantages: bool = True
    trust_region: float = 0.2
    """A frame whose ratio has gone further than this from 1 the way its advantage asks for no longer moves the policy (the clip of PPO,
    Schulman et al., 2017; with V-trace: IMPACT, Luo et al., 2020). 0: no limit. Advantages that are normalised need one: without it
    the entropy fell from 2.5 to 0.6 nats within 1.4 M frames, and with it the policy."""

    def __post_init__(self) -> None:
        for name in ("gamma", "gamma_pseudo_rewards", "lambda_"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"loss settings: {name} {getattr(self, name)}; use 0 to 1")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (int, float)) and not 0.0 <= value < float("inf"):
                raise ValueError(f"loss settings: {field.name} {value}; use a number that is not negative")
        if self.traces not in ("joint", "split"):
            raise ValueError(f"loss settings: traces {self.traces!r}; use 'joint' or 'split'")

    def discount(self, pseudo_rewards: bool) -> float:
        """gamma for play with or without pseudo-rewards."""
        return self.gamma_pseudo_rewards if pseudo_rewards else self.gamma

    def with_kl(self, weight: float) -> LossSettings:
        """The same with another weight of the KL at the first frame, which falls by as much as here."""
        share = self.kl_weight_end / self.kl_weight if self.kl_weight else 0.0
        return replace(self, kl_weight=weight, kl_weight_end=weight * share)

    def kl_weight_at(self, frames: int) -> float:
        """Weight of the KL after ``frames`` learnt frames."""
        if frames < 0:
            raise ValueError(f"frames: {frames} have been learnt; that cannot be less than 0")
        share = min(1.0, frames / self.kl_frames) if self.kl_frames else 1.0
        return self.kl_weight + (self.kl_weight_end - self.kl_weight) * share


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """How the learner steps. Raises ValueError naming the field that is out of range."""

    learning_rate: float = 5e-4
    """Of Adam, for each update of the policy at the first frame."""
    learning_rate_end: float = 1e-4
    """The same after ``decay_frames``, linear between: the better the policy, the more of its gradient is noise. (The noise scale is 50,000
    frames at a payoff of 0.25 against experts, 320,000 at 0.7.)"""
    decay_frames: int = 40_000_000
    """Fresh frames over which the learning rate falls."""
    critic_learning_rate: float = 1e-3
    """The same of the value."""
    critic_first: int = 64
    """Updates at the beginning in which only the value learns: advantages from a value that knows nothing undo what was imitated."""
    clip_norm: float = 1.0
    """Largest norm of the policy's gradient, and of the value's."""
    unroll_steps: int = 64
    """T, steps in one sequence."""
    sequences: int = 256
    """B, sequences in one update. The gradient's noise scale (McCandlish et al., 2018) is some 50,000 frames at the beginning: of an update
    of 4,000 frames one part in thirteen is signal, and learning walks off at random."""
    replay_reuse: int = 2
    """How often each sequence is learnt from."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "critic_first" else 1e-12
            if not least <= value < float("inf"):
                raise ValueError(f"update settings: {field.name} {value}; use a number {'from 0 on' if not least else 'above 0'}")

    def with_learning_rate(self, rate: float) -> UpdateSettings:
        """The same with another learning rate at the first frame, which falls by as much as here."""
        return replace(self, learning_rate=rate, learning_rate_end=rate * self.learning_rate_end / self.learning_rate)

    def learning_rate_at(self, frames: int) -> float:
        """Of the policy after ``frames`` fresh frames."""
        share = min(1.0, frames / self.decay_frames)
        return self.learning_rate + (self.learning_rate_end - self.learning_rate) * share


class Update(NamedTuple):
    """One batch as the loss takes it: tensors on one device, time-major."""

    logits: Tensor
    """[T, B, LOGITS] of the policy that learns, with gradient."""
    values: Tensor
    """[T, B], with gradient."""
    next_values: Tensor
    """[T, B], V of the true successor (see ``league.returns.successor_values``)."""
    action: Tensor
    """int [T, B, H], bin indices."""
    head_mask: Tensor
    """bool [T, B, H]; False: the head had no effect."""
    behaviour_log_prob: Tensor
    """[T, B, H], stored when the action was sampled."""
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    living: Tensor
    """bool [T, B]; False: the frame does not count."""
    reference_logits: Tensor | None = None
    """[T, B, LOGITS] of the supervised policy."""


class Loss(NamedTuple):
    """``total`` has the gradient; ``parts`` are unweighted means for people to read."""

    total: Tensor
    parts: dict[str, float]
    """policy, upgo, value, kl, entropy; mean_ratio (1 at lag 0), clipped (share of ratios above ``rho_bar``), frames,
    advantage_std, explained_variance (of the targets by the values; 1 is perfect)."""


REFERENCE_LOGITS = "reference_logits"
"""Name in a sequence's ``extras`` under which the supervised policy's logits [T, B, LOGITS] are stored, in the ship's own frame."""

_STORED = ("action", "head_mask", "behaviour_log_prob", "reward", "terminated", "truncated", "living")


def evaluate(network: ActorCritic, sequence: TrajectorySequence, reference: ActorCritic | None = None) -> Update:
    """What ``network`` says of a sequence now, ready for ``update_loss``; tensors are on the network's device.

    ``reference`` is the supervised policy, asked when the sequence does not hold its logits already. Successors are valued
    without gradient: the bootstrap of each column, and the final observation of each truncated step. All of it is in the ship's own
    frame (``league.symmetry``): actions, masks and logits too.
    """
    device = next(network.parameters()).device

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    sequence = fold_sequence(sequence)
    observation = tensor(sequence.observation)
    logits, values = network.own_frame(observation)
    with torch.no_grad():
        beyond = network.values(tensor(np.concatenate([sequence.bootstrap_observation, sequence.final_observation])))
        next_values = torch.cat([values[1:], beyond[None, : sequence.columns]])
        at = tensor(sequence.final_at).long()
        next_values[at[:, 0], at[:, 1]] = beyond[sequence.columns :]
        stored = sequence.extras.get(REFERENCE_LOGITS)
        reference_logits = None if reference is None or stored is not None else reference.actor(observation[..., :OBSERVATION_SIZE])
        if stored is not None:
            reference_logits = tensor(stored)
    told = {name: tensor(getattr(sequence, name)) for name in _STORED}
    return Update(logits=logits, values=values, next_values=next_values, **told, reference_logits=reference_logits)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().numpy()


def _check(update: Update) -> None:
    steps, sequences = update.values.shape[:2] if update.values.ndim == 2 else (0, 0)
    if not steps * sequences:
        raise ValueError(f"values: shape {tuple(update.values.shape)}; time-major [T, B] with at least one frame is needed")
    last_axes = {
        "logits": LOGITS,
        "reference_logits": LOGITS,
        "action": len(HEADS),
        "head_mask": len(HEADS),
        "behaviour_log_prob": len(HEADS),
    }
    for name, last in last_axes.items():
        tensor = getattr(update, name)
        if tensor is not None and tensor.shape != (steps, sequences, last):
            raise ValueError(
                f"{name}: shape {tuple(tensor.shape)}; values are [{steps}, {sequences}], so [{steps}, {sequences}, {last}] is needed"
            )
    if not bool(update.living.any()):
        raise ValueError("living: no frame of this update counts; leave sequences out in which nobody is alive")


def _valid_actions(update: Update, counted: Tensor) -> Tensor:
    """The actions, 0 where they do not count. Raises ValueError at the first counted one that no head has."""
    bins = torch.as_tensor(BINS, device=update.action.device)
    wrong = ((update.action < 0) | (update.action >= bins)) & counted
    if bool(wrong.any()):
        t, b, head = torch.nonzero(wrong)[0].tolist()
        name = HEAD_NAMES[head]
        raise ValueError(f"action[{t}, {b}]: {name} is bin {int(update.action[t, b, head])}; it has 0 to {HEADS[name] - 1}")
    return torch.where(counted, update.action, update.action.new_zeros(()))


def _grouping(settings: LossSettings, like: Tensor) -> Tensor:
    """[H, G]: which heads' log-probabilities are summed into one trace."""
    groups = GROUPS.values() if settings.traces == "split" else (HEAD_NAMES,)
    return torch.tensor([[float(name in group) for group in groups] for name in HEAD_NAMES], dtype=like.dtype, device=like.device)


class _Targets(NamedTuple):
    policy: Floats
    """[T, B, G], what multiplies grad log pi."""
    upgo: Floats
    values: Floats
    """[T, B]"""
    ratio: Floats
    scale: float


def _targets(frames: returns.Frames, log_pi: Floats, log_mu: Floats, settings: LossSettings) -> _Targets:
    """Everything that carries no gradient."""
    clips = {"rho_bar": settings.rho_bar, "c_bar": settings.c_bar, "pg_rho_bar": settings.pg_rho_bar}
    trace = returns.vtrace_of(frames, log_pi, log_mu, lambda_=settings.lambda_, **clips)
    counted = frames.living
    advantage = trace.advantage
    upgoing = (returns.upgo_of(frames).returns - frames.values)[..., None]
    upgo = np.minimum(settings.pg_rho_bar, trace.ratio) * upgoing
    spread = advantage[counted].std(0)
    if settings.normalise_advantages:
        divisor = spread + 1e-8
        advantage = np.where(counted[..., None], (advantage - advantage[counted].mean(0)) / divisor, 0)
        upgo = upgo / divisor
    advantage, upgo = (_trusted(strength, trace.ratio, settings.trust_region) for strength in (advantage, upgo))
    return _Targets(
        advantage.astype(log_pi.dtype),
        upgo.astype(log_pi.dtype),
        returns.td_lambda_of(frames, settings.lambda_),
        trace.ratio,
        float(spread.mean()),
    )


def _trusted(strength: Floats, ratio: Floats, region: float) -> Floats:
    """0 where a ratio is beyond the trust region and would be driven on."""
    if not region:
        return strength
    return np.where(((strength > 0) & (ratio > 1 + region)) | ((strength < 0) & (ratio < 1 - region)), 0, strength)


def _explained_variance(frames: returns.Frames, targets: Floats) -> float:
    counted = targets[frames.living]
    spread = float(counted.var())
    return 1.0 - float((counted - frames.values[frames.living]).var()) / spread if spread > 0 else 0.0


def update_loss(update: Update, settings: LossSettings, *, gamma: float | None = None, frames_learnt: int = 0) -> Loss:
    """The loss of one update; call ``total.backward()``.

    ``gamma`` replaces the settings' own (``LossSettings.discount`` knows about pseudo-rewards). ``frames_learnt`` so far
    sets the KL's weight. Raises ValueError, saying what and where, on shapes that differ, an action that no head has, an
    update in which no frame counts, numbers that are not finite, and a KL weight without ``reference_logits``.
    """
    _check(update)
    kl_weight = settings.kl_weight_at(frames_learnt)
    if update.reference_logits is None and kl_weight > 0:
        raise ValueError(
            f"reference_logits: none are given, but the KL weighs {kl_weight}; give the supervised policy's, or set kl_weight 0"
        )
    frames = returns.checked_frames(
        _numpy(update.values),
        _numpy(update.next_values),
        _numpy(update.reward),
        _numpy(update.terminated),
        _numpy(update.truncated),
        settings.gamma if gamma is None else gamma,
        _numpy(update.living),
    )
    counted_heads = update.head_mask & update.living[..., None]
    action = _valid_actions(update, counted_heads)
    grouping = _grouping(settings, update.logits)
    log_p = log_softmax_heads(update.logits)
    log_pi = action_log_prob(log_p, action, counted_heads) @ grouping
    log_mu = torch.where(counted_heads, update.behaviour_log_prob, update.behaviour_log_prob.new_zeros(())).to(grouping.dtype) @ grouping
    targets = _targets(frames, _numpy(log_pi), _numpy(log_mu), settings)

    count = float(frames.living.sum())
    device = update.logits.device
    policy_weights, upgo_weights = (torch.from_numpy(array).to(device) for array in (targets.policy, targets.upgo))
    policy = -(policy_weights * log_pi).sum() / count
    upgo = -(upgo_weights * log_pi).sum() / count
    errors = torch.where(update.living, update.values - torch.from_numpy(targets.values).to(device), update.values.new_zeros(()))
    value = errors.square().sum() / count
    weights = spread_heads(counted_heads.to(log_p.dtype) / count)
    entropy = -(log_p.exp() * log_p * weights).sum()
    total = (
        settings.policy_weight * policy + settings.upgo_weight * upgo + settings.value_weight * value - settings.entropy_weight * entropy
    )
    kl = total.new_zeros(())
    if update.reference_logits is not None:
        with torch.no_grad():
            log_reference = log_softmax_heads(update.reference_logits)
            reference = log_reference.exp()
        kl = (reference * weights * (log_reference - log_p)).sum()
        total = total + kl_weight * kl
    named = {"policy": policy, "upgo": upgo, "value": value, "kl": kl, "entropy": entropy}
    parts = {name: float(part.detach()) for name, part in named.items()}
    if not np.isfinite(list(parts.values())).all():
        raise ValueError(
            f"loss: not finite ({parts}); the logits or the weights are broken: go back to the last checkpoint and lower the learning rate"
        )
    ratios = targets.ratio[frames.living]
    parts |= {
        "mean_ratio": float(ratios.mean()),
        "clipped": float((ratios > settings.rho_bar * (1 + 1e-6)).mean()),
        "frames": count,
        "advantage_std": targets.scale,
        "explained_variance": _explained_variance(frames, targets.values),
    }
    return Loss(total, parts)
