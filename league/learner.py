"""The learner: one network, Adam, and the league's loss, one batch of sequences after another.

Saved exactly: weights, moments and counters stand in one safetensors file with a JSON card, which is also a policy like any
other (``league.imitate.load_policy`` reads it). A restored learner makes the same updates, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from data.checkpoint import CARD_VERSION, CheckpointError, fit_tensors, load, save
from league.gradients import UpdateGradient
from league.imitate import made_for
from league.losses import LossSettings, UpdateSettings
from league.network import ActorCritic
from league.store import weights_hash
from league.threads import no_denormals
from league.trajectories import TrajectorySequence

_OPTIMISER: Final = "optimiser/"
Weights = Mapping[str, NDArray[Any]]


class LeagueLearner:
    """``network`` is trained in place; ``reference`` (the supervised policy) never changes.

    ``frames`` counts frames learnt from, each as often as it was (``reuse`` times as a rule); the KL's weight and the learning rate fall
    by fresh frames, ``frames / reuse``. ``version`` grows by one with every update, and never falls; ``updates`` counts those since it
    last began anew.
    """

    def __init__(
        self,
        network: ActorCritic,
        reference: ActorCritic | None = None,
        loss: LossSettings | None = None,
        update: UpdateSettings | None = None,
        *,
        pseudo_rewards: bool = False,
        reuse: int | None = None,
    ) -> None:
        """``pseudo_rewards``: rewards are paid along the way, so that the discount is the one for those. ``reuse``: how often each frame is
        learnt from; without, ``update.replay_reuse``."""
        self.network = network.requires_grad_(True).train()
        self.reference = None if reference is None else reference.requires_grad_(False).eval()
        self.loss, self.settings = loss or LossSettings(), update or UpdateSettings()
        self.gamma = self.loss.discount(pseudo_rewards)
        self.reuse = reuse or self.settings.replay_reuse
        self.frames = 0
        self.version = 0
        self.updates = 0
        self._gradient = UpdateGradient(self.network)
        self._parameters = [[*part.parameters()] for part in (self.network.actor, self.network.critic)]
        self._optimiser = self._new_optimiser()

    def _new_optimiser(self) -> torch.optim.Adam:
        critic = {"params": [*self.network.critic.parameters()], "lr": self.settings.critic_learning_rate}
        return torch.optim.Adam([{"params": [*self.network.actor.parameters()]}, critic], self.settings.learning_rate, fused=True)

    @property
    def fresh_frames(self) -> int:
        """``frames`` without what is learnt from again."""
        return self.frames // self.reuse

    def update(self, batch: TrajectorySequence) -> dict[str, float]:
        """One step of Adam on a batch [T, B]; what the loss was made of (``league.losses.Loss.parts``), its total, the gradient's norm
        before clipping and the KL's weight.

        Raises ValueError when nothing in it counts or the numbers are broken; the weights are as before then.
        """
        with no_denormals():
            return self._update(batch)

    def _update(self, batch: TrajectorySequence) -> dict[str, float]:
        parts = self._gradient.set(batch, self.loss, gamma=self.gamma, frames_learnt=self.fresh_frames, reference=self.reference)
        norms = [float(nn.utils.clip_grad_norm_(parameters, self.settings.clip_norm)) for parameters in self._parameters]
        if not np.isfinite(norms).all():
            raise ValueError("learner: the gradient is not finite; go back to the last checkpoint and lower the learning rate")
        if self.updates < self.settings.critic_first:
            for parameter in self._parameters[0]:
                parameter.grad = torch.zeros_like(parameter)
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate_at(self.fresh_frames)
        self._optimiser.step()
        weight = self.loss.kl_weight_at(self.fresh_frames)
        self.frames += int(parts["frames"])
        self.version += 1
        self.updates += 1
        return {**parts, "gradient_norm": norms[0], "kl_weight": weight}

    def weights(self) -> dict[str, NDArray[Any]]:
        """Copies."""
        return {name: values.detach().numpy().copy() for name, values in self.network.state_dict().items()}

    def reset(self, weights: Weights) -> None:
        """Begin anew from ``weights`` (the supervised policy): moments and frames are forgotten, the version grows.

        Raises CheckpointError when they do not fit; nothing is changed then.
        """
        self._put(weights, "weights to begin anew from")
        self._optimiser = self._new_optimiser()
        self.frames = 0
        self.updates = 0
        self.version += 1

    def _put(self, weights: Weights, where: Path | str) -> None:
        wanted = {name: tuple(values.shape) for name, values in self.network.state_dict().items()}
        fitted = fit_tensors(weights, wanted, where)
        self.network.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in fitted.items()})

    def save(self, path: Path, about: Mapping[str, Any] | None = None, role: str = "learner") -> None:
        """Write everything to ``path`` (without suffix), whole or not at all. ``about``: plain values for the card. Raises OSError."""
        tensors = self.weights()
        for i, values in self._optimiser.state_dict()["state"].items():
            tensors |= {f"{_OPTIMISER}{i}/{key}": torch.as_tensor(value).numpy().copy() for key, value in values.items()}
        save(path, tensors, {**self.card(role, about), "state": {"frames": self.frames, "version": self.version, "updates": self.updates}})

    def card(self, role: str, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What is checked when a policy is loaded, and what it was made with."""
        return {
            "card_version": CARD_VERSION,
            **made_for(),
            "role": role,
            "hidden": self.network.hidden,
            "recipe": {"loss": asdict(self.loss), "update": asdict(self.settings), "gamma": self.gamma},
            "reference": "" if self.reference is None else weights_hash(_arrays(self.reference)),
            "about": dict(about or {}),
        }

    def restore(self, path: Path) -> dict[str, Any]:
        """Go on from what ``save`` wrote; gives the card's ``about``. Raises CheckpointError when it was made with other settings, another
        reference or rules, or is torn; nothing is changed then."""
        found = load(path)
        mine = self.card("")
        wrong = [
            f"{key}: made with {found.card.get(key)}, here {mine[key]}"
            for key in (*made_for(), "hidden", "recipe", "reference")
            if found.card.get(key) != mine[key]
        ]
        state = found.card.get("state")
        if not isinstance(state, dict) or not all(isinstance(state.get(k), int) for k in ("frames", "version", "updates")):
            wrong.append(f"state: {state} is no learner's")
        if wrong or not isinstance(state, dict):
            raise CheckpointError(f"{path}: {'; '.join(wrong)}. Resume with the same settings, or start a new run")
        moments = self._moments({n: v for n, v in found.tensors.items() if n.startswith(_OPTIMISER)}, path)
        self._put({n: v for n, v in found.tensors.items() if not n.startswith(_OPTIMISER)}, path)
        self._optimiser.load_state_dict({"state": moments, "param_groups": self._optimiser.state_dict()["param_groups"]})
        self.frames, self.version, self.updates = state["frames"], state["version"], state["updates"]
        return dict(found.card.get("about") or {})

    def _moments(self, tensors: Weights, path: Path) -> dict[int, dict[str, Tensor]]:
        """Adam's, by parameter; none before the first update."""
        shapes = [tuple(p.shape) for p in self.network.parameters()]
        wanted = {
            f"{_OPTIMISER}{i}/{key}": (1,) if key == "step" else shape  # a file holds no array without an axis
            for i, shape in enumerate(shapes)
            for key in ("step", "exp_avg", "exp_avg_sq")
        }
        if not tensors:
            return {}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, values in fit_tensors(tensors, wanted, path).items():
            number, key = name.removeprefix(_OPTIMISER).split("/")
            moments.setdefault(int(number), {})[key] = torch.from_numpy(np.array(values[0] if key == "step" else values))
        return moments


def _arrays(network: ActorCritic) -> dict[str, NDArray[Any]]:
    return {name: values.detach().numpy() for name, values in network.state_dict().items()}
