"""The gradient of an update written out by hand: forward, loss and backward of policy and value, three layers each, without autograd.

What is computed is said readably in ``league.losses`` (``evaluate``, then ``update_loss(...).total.backward()``), which the tests
compare this with, and which is asked what is wrong with an update that cannot be learnt from. What is gained: nothing is copied or
allocated, layers work through blocks of rows that stay in the cache, matrix products are numpy's (up to 1.6 times as fast as torch's
on the machine this was measured on), and the loss is compiled (``league.loss_kernel``).

Legend: T steps, B sequences, N = T * B frames, R = N + B + K rows (K truncated steps before the last), G groups of heads.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from league.codec import HEAD_NAMES, HEADS, LOGITS, OBSERVATION_SIZE
from league.forward import BLOCK, Floats, Layers, fold_rows, fold_taken, layer_kernel
from league.losses import REFERENCE_LOGITS, LossSettings, evaluate, update_loss
from league.network import GROUPS, HEAD_SLICES, ActorCritic
from league.privileged import TOLD_SIZE
from league.symmetry import fold
from league.trajectories import TrajectorySequence

_SMALL: Final = 1e-8
"""Beside a deviation that may be 0; as ``league.losses`` has it."""


@cache
def compiled() -> tuple[Any, Any]:
    """The kernels of the layers and of the loss; the first call of all on a machine compiles them, which takes 10 to 20 CPU-seconds."""
    layers = layer_kernel()
    from league import loss_kernel

    return layers, loss_kernel


@cache
def _heads(traces: str) -> NDArray[np.int64]:
    """[H, 3]: first bin, bins and trace of each head."""
    groups = list(GROUPS.values()) if traces == "split" else [HEAD_NAMES]
    return np.array([
        (HEAD_SLICES[name].start, size, next(g for g, group in enumerate(groups) if name in group)) for name, size in HEADS.items()
    ])  # fmt: skip


class _Memory:
    """Arrays by name that are written to again and again; what is in them at first is left over."""

    def __init__(self) -> None:
        self._held: dict[str, Floats] = {}

    def take(self, name: str, *shape: int) -> Floats:
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.size < size:
            held = self._held[name] = np.zeros(size + size // 8, np.float32)
        return held[:size].reshape(shape)


class _Passed(NamedTuple):
    """What a forward pass leaves for the backward one."""

    seen: dict[str, Floats]
    """Of ``actor`` [N, 19] and ``critic`` [R, 88], in the ship's own frame, as everything here."""
    hidden: dict[str, tuple[Floats, Floats]]
    """Of ``actor`` (frames alone) and ``critic`` (all rows), both layers."""
    out: Floats
    """[LOGITS + 1, R], values last; logits of the frames alone."""


class UpdateGradient:
    """Gives all parameters of ``network`` their gradients. The network is of float32, in the processor's memory."""

    def __init__(self, network: ActorCritic) -> None:
        self._network, self._memory = network, _Memory()
        parts = {"actor": network.actor, "critic": network.critic}
        self._parameters = {name: [*part.parameters()] for name, part in parts.items()}
        self._layers = {name: Layers.of(part) for name, part in parts.items()}
        self._gradients = {name: Layers(*(np.zeros_like(values) for values in layers)) for name, layers in self._layers.items()}

    def set(
        self,
        batch: TrajectorySequence,
        settings: LossSettings,
        *,
        gamma: float,
        frames_learnt: int = 0,
        reference: ActorCritic | None = None,
    ) -> dict[str, float]:
        """Set ``grad`` of all parameters to that of the loss of ``batch``; gives ``league.losses.Loss.parts`` and the ``total``.

        Arguments as of ``evaluate`` and ``update_loss``. Raises ValueError as those do; no ``grad`` is touched then.
        """
        kl_weight = settings.kl_weight_at(frames_learnt)
        logits = _reference_logits(batch, reference)
        found = None
        if batch.living.any() and batch.observation.shape[2] == TOLD_SIZE and (logits is not None or not kl_weight):
            with np.errstate(all="ignore"):  # broken numbers are found by the loss
                own = _own_frame(batch)
                passed = self._forward(own)
                found = _Loss(own, settings, gamma, kl_weight, passed, self._memory).differentiate(logits)
                if found is not None:
                    gradient = self._memory.take("gradient", LOGITS + 1, batch.living.size)
                    self._backward("actor", passed, gradient[:LOGITS])
                    self._backward("critic", passed, gradient[LOGITS:])
        if found is None:
            told = evaluate(self._network, batch, reference)
            update_loss(told, settings, gamma=gamma, frames_learnt=frames_learnt)  # says what is wrong, and where
            raise ValueError("loss: its numbers overflow; go back to the last checkpoint and lower the learning rate")
        for name, parameters in self._parameters.items():
            for parameter, gradient in zip(parameters, self._gradients[name], strict=True):
                parameter.grad = torch.from_numpy(gradient)
        return found

    def _forward(self, batch: TrajectorySequence) -> _Passed:
        """Frames, then what came after the last of each column, then after each truncated step."""
        frames, columns = batch.living.size, batch.columns
        rows = frames + columns + len(batch.final_at)
        told = self._memory.take("told", rows, TOLD_SIZE)
        told[:frames] = batch.observation.reshape(frames, TOLD_SIZE)
        told[frames : frames + columns] = batch.bootstrap_observation
        told[frames + columns :] = batch.final_observation
        seen = self._memory.take("seen", frames, OBSERVATION_SIZE)
        seen[:] = told[:frames, :OBSERVATION_SIZE]
        out = self._memory.take("out", LOGITS + 1, rows)
        actor = self._through("actor", seen, out[:LOGITS, :frames])
        return _Passed({"actor": seen, "critic": told}, {"actor": actor, "critic": self._through("critic", told, out[LOGITS:])}, out)

    def _through(self, part: str, seen: Floats, out: Floats) -> tuple[Floats, Floats]:
        """The layers of one part, from ``seen`` to ``out`` [its outputs, rows]."""
        layer, weights = compiled()[0], self._layers[part]
        rows, hidden = len(seen), len(weights.bias_1)
        hidden_1, hidden_2 = (self._memory.take(f"{part} {i}", rows, hidden) for i in (1, 2))
        for begin in range(0, rows, BLOCK):
            block = slice(begin, begin + BLOCK)
            np.matmul(seen[block], weights.weight_1.T, out=hidden_1[block])
            layer.add_and_cut(hidden_1[block], weights.bias_1)
            np.matmul(hidden_1[block], weights.weight_2.T, out=hidden_2[block])
            layer.add_and_cut(hidden_2[block], weights.bias_2)
            np.matmul(weights.weight_3, hidden_2[block].T, out=out[:, block])
        out += weights.bias_3[:, None]
        return hidden_1, hidden_2

    def _backward(self, part: str, passed: _Passed, gradient: Floats) -> None:
        """``gradient`` [outputs of the part, N]: of what its last layer gave."""
        layer, weights, found = compiled()[0], self._layers[part], self._gradients[part]
        for array in found:
            array[:] = 0
        hidden = len(weights.bias_1)
        hidden_1, hidden_2 = passed.hidden[part]
        back_1, back_2 = (self._memory.take(name, BLOCK, hidden) for name in ("back_1", "back_2"))
        parts = [self._memory.take(f"{part} part {i}", *array.shape) for i, array in enumerate(found)]
        frames = gradient.shape[1]
        for begin in range(0, frames, BLOCK):
            size = min(BLOCK, frames - begin)
            block = slice(begin, begin + size)
            one, two = back_1[:size], back_2[:size]
            found.weight_3[:] += np.matmul(gradient[:, block], hidden_2[block], out=parts[4])
            np.matmul(gradient[:, block].T, weights.weight_3, out=two)
            layer.cut_back(two, hidden_2[block], found.bias_2)
            found.weight_2[:] += np.matmul(two.T, hidden_1[block], out=parts[2])
            np.matmul(two, weights.weight_2, out=one)
            layer.cut_back(one, hidden_1[block], found.bias_1)
            found.weight_1[:] += np.matmul(one.T, passed.seen[part][block], out=parts[0])
        np.sum(gradient, axis=1, out=found.bias_3)


def _own_frame(batch: TrajectorySequence) -> TrajectorySequence:
    """``league.symmetry.fold_sequence``, compiled."""
    frames = batch.living.size
    own, turns = fold_rows(batch.observation.reshape(frames, -1))
    taken = (told.reshape(frames, -1) for told in (batch.action, batch.head_mask, batch.behaviour_log_prob))
    action, head_mask, log_prob = fold_taken(turns, *taken)
    return replace(
        batch,
        observation=own.reshape(batch.observation.shape),
        action=action.reshape(batch.action.shape),
        head_mask=head_mask.reshape(batch.head_mask.shape),
        behaviour_log_prob=log_prob.reshape(batch.behaviour_log_prob.shape),
        bootstrap_observation=fold_rows(batch.bootstrap_observation)[0],
        final_observation=fold_rows(batch.final_observation)[0],
    )


def _reference_logits(batch: TrajectorySequence, reference: ActorCritic | None) -> Floats | None:
    """[N, LOGITS] of the supervised policy in the ship's own frame: those that are stored, else asked for now; None: there is neither."""
    stored = batch.extras.get(REFERENCE_LOGITS)
    if stored is None:
        if reference is None:
            return None
        with torch.no_grad():
            stored = reference.actor(fold(torch.from_numpy(np.ascontiguousarray(batch.seen)))[0]).numpy()
    return np.ascontiguousarray(stored, np.float32).reshape(batch.living.size, LOGITS)


class _Loss(NamedTuple):
    """One update's loss, whose gradient goes into the memory's ``gradient``."""

    batch: TrajectorySequence
    settings: LossSettings
    gamma: float
    kl_weight: float
    passed: _Passed
    memory: _Memory

    def differentiate(self, reference: Floats | None) -> dict[str, float] | None:
        """The parts and the total, or None when the loss's reference has to say what is wrong."""
        kernel = compiled()[1]
        batch, settings, memory = self.batch, self.settings, self.memory
        shape, frames = batch.living.shape, batch.living.size
        flat = [np.ascontiguousarray(a).reshape(frames, -1) for a in (batch.action, batch.head_mask, batch.behaviour_log_prob)]
        action, head_mask, mu = flat
        timed = [np.ascontiguousarray(a) for a in (batch.reward, batch.terminated, batch.truncated, batch.living)]
        living = timed[3].reshape(frames)
        count = int(np.count_nonzero(living))
        heads = _heads(settings.traces)
        groups = int(heads[:, 2].max()) + 1
        gradient, target = memory.take("gradient", LOGITS + 1, frames), memory.take("target", frames)
        log_pi, log_mu, ratio, advantage, upgoing = memory.take("of groups", 5, groups, frames)
        sums, statistics, moments = np.zeros(3), np.zeros(4), np.zeros((groups, 2))

        none = np.zeros((0, LOGITS), np.float32)
        pulls = np.array([self.kl_weight, settings.entropy_weight]) / count
        out = self.passed.out
        right = kernel.log_policy(
            out, none if reference is None else reference, action, head_mask, living, mu, heads, pulls, gradient, log_pi, log_mu, sums
        )
        kl, entropy = sums[:2] / count
        values, following = out[LOGITS, :frames], self._following()
        constants = np.array([self.gamma, settings.lambda_, settings.rho_bar, settings.c_bar, settings.pg_rho_bar])
        by_group = [a.reshape(groups, *shape) for a in (log_pi, log_mu, ratio, advantage, upgoing)]
        right = right and kernel.targets(
            *by_group[:2], values.reshape(shape), following.reshape(shape), *timed, constants, *by_group[2:], target.reshape(shape)
        )
        if not right:
            return None
        kernel.measure(ratio, advantage, values, target, living, settings.rho_bar, moments, statistics)
        spread = float(moments[:, 1].mean())
        if settings.normalise_advantages:
            moments[:, 1] += _SMALL
        else:
            moments[:] = 0.0, 1.0
        weights = np.array([settings.policy_weight, settings.upgo_weight, settings.value_weight]) / count
        region = np.array([1 - settings.trust_region, 1 + settings.trust_region]) if settings.trust_region else np.array([0.0, np.inf])
        told = (action, head_mask, living, heads, log_pi, values, target, ratio, advantage, upgoing)
        kernel.policy_gradient(out, *told, weights, region, moments, gradient, sums)
        policy, upgo, value = sums / count
        parts = {"policy": policy, "upgo": upgo, "value": value, "kl": kl, "entropy": entropy}
        if not np.isfinite(list(parts.values())).all():
            return None
        total = settings.policy_weight * policy + settings.upgo_weight * upgo + settings.value_weight * value
        parts |= {
            "mean_ratio": statistics[0],
            "clipped": statistics[1],
            "frames": count,
            "advantage_std": spread,
            "explained_variance": 1.0 - statistics[3] / statistics[2] if statistics[2] > 0 else 0.0,
            "total": total - settings.entropy_weight * entropy + self.kl_weight * kl,
        }
        return {name: float(part) for name, part in parts.items()}

    def _following(self) -> Floats:
        """[N], V of the true successors."""
        batch, values = self.batch, self.passed.out[LOGITS]
        frames, columns = batch.living.size, batch.columns
        following = self.memory.take("following", frames)
        following[: frames - columns] = values[columns:frames]
        following[frames - columns :] = values[frames : frames + columns]
        at = batch.final_at
        following[at[:, 0] * columns + at[:, 1]] = values[frames + columns :]
        return following
