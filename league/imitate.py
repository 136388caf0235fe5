"""Imitation: a first policy ``pi_sup`` from play of people, scripts or earlier agents, by cross-entropy for each head.

Notable choices: a batch is single frames in random order (the network has no memory, so that neighbours teach less than
strangers), each in the ship's own frame (``league.symmetry``); heads without effect teach nothing; training and validation share
no episode, and all seats of a match are one episode; accuracy stands beside what costs nothing: the most frequent choice, and the
choice of the frame before. At 20 decisions a second the latter is hard to beat, so that accuracy where the choice changes is told
as well.

All randomness of an epoch follows from (seed, epoch), and the last whole epoch is kept with its optimiser: a resumed run
gives the same weights as one that was never stopped. Files: ``<name>`` (best by validation) and ``checkpoint_epoch_N``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from data.checkpoint import CARD_VERSION, CheckpointError, checkpoints, fit_tensors, keep_newest, load, newest_whole, read_card, save
from data.locks import only_one
from data.progress import Progress, Report, ignore
from league.arena.last_standing_rules import RULES_VERSION
from league.codec import HEAD_NAMES
from league.imitation_data import Frames, HeadFigures, ImitationError, frames_of, head_figures, split_episodes
from league.network import HEAD_SLICES, NETWORK_VERSION, ActorCritic, action_log_prob, log_softmax_heads
from league.symmetry import fold, fold_actions, fold_heads
from league.trajectories import TrajectorySequence, observation_version

KIND: Final = "league policy"
KEPT_CHECKPOINTS: Final = 2
ASK_BATCHES: Final = 16
"""Batches between two questions whether to stop."""
USUAL_BATCH: Final = 64
"""Frames in one step that the learning rate is meant for."""
_REPORT_S: Final = 0.5
_LOCK: Final = ".imitate.lock"
_ROLE: Final = "pi_sup"
_OPTIMISER: Final = "optimiser/"
_AT_ONCE: Final = 65_536
"""Frames looked at together when validating."""


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """Raises ImitationError naming the field that is out of range."""

    epochs: int = 2
    batch_size: int = USUAL_BATCH
    """Frames in one step."""
    learning_rate: float = 1.4e-3
    """Of Adam in the first epoch, for batches of 64; it grows with the square root of the batch (Malladi et al., 2022). From 20,000
    sequences of experts, 8 epochs in batches of 512: 1.37 nats a frame, a payoff of 0.38 with 1e-3 throughout; 1.01 and 0.42 with this."""
    learning_rate_decay: float = 0.8
    """What an epoch's learning rate is of that of the epoch before."""
    clip_norm: float = 1.0
    hidden: int = 128
    """Width of both layers."""
    validation_share: float = 0.1
    """Share of the episodes that are only checked on, at least one."""
    patience: int = 2
    """Epochs without a better validation before stopping early; 0: never."""
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {"epochs": (1, 10_000), "batch_size": (1, 1_000_000), "hidden": (1, 4096), "patience": (0, 10_000), "seed": (0, 2**31)}
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ImitationError(f"imitation settings: {name} {getattr(self, name)}; use {low} to {high}")
        for name in ("learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ImitationError(f"imitation settings: {name} {getattr(self, name)}; use a number above 0")
        if not 0 < self.learning_rate_decay <= 1:
            raise ImitationError(f"imitation settings: learning_rate_decay {self.learning_rate_decay}; use a number above 0, at most 1")
        if not 0 < self.validation_share < 1:
            raise ImitationError(f"imitation settings: validation_share {self.validation_share}; use a number between 0 and 1")

    def learning_rate_in(self, epoch: int) -> float:
        """Of Adam in an epoch (from 1), for batches of ``batch_size``."""
        return self.learning_rate * math.sqrt(self.batch_size / USUAL_BATCH) * self.learning_rate_decay ** (epoch - 1)


@dataclass(frozen=True, slots=True)
class ImitationResult:
    """``figures`` are the best epoch's. ``interrupted``: it was stopped; what the last whole epoch gave is kept."""

    path: Path
    """Of the checkpoint, without suffix."""
    epochs: int
    validation_loss: float
    figures: dict[str, HeadFigures]
    train_frames: int
    validation_frames: int
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """A table for people: each head beside the two baselines."""
        rows = [f"{'head':<10}{'frames':>9}{'loss':>8}{'accuracy':>10}{'majority':>10}{'before':>8}{'changes':>9}"]
        for name, f in self.figures.items():
            shares = [f"{v:.3f}" if v is not None else "-" for v in (f.loss, f.accuracy, f.majority, f.persistence, f.changes)]
            rows.append(f"{name:<10}{f.frames:>9}{shares[0]:>8}{shares[1]:>10}{shares[2]:>10}{shares[3]:>8}{shares[4]:>9}")
        return "\n".join(rows)


@dataclass(slots=True)
class _State:
    epoch: int = 0
    best_loss: float = math.inf
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class _Run:
    def __init__(self, frames: Frames, settings: ImitationSettings) -> None:
        self.frames, self.settings = frames, settings
        self.train, self.validation = split_episodes(frames, settings.validation_share, settings.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.network = ActorCritic(settings.hidden)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate_in(1))
        self.observation, self.mask = torch.from_numpy(frames.observation), torch.from_numpy(frames.mask)
        self.action = torch.from_numpy(frames.action).long()
        self.own, turn = fold(self.observation)
        self.own_mask, self.own_action = fold_heads(self.mask, turn), fold_actions(self.action, turn)
        self.state = _State()
        self.batches = math.ceil(len(self.train) / settings.batch_size)

    def epoch(self, epoch: int, stop: Callable[[], bool], tell: Callable[[int, float], None]) -> float | None:
        """Mean training loss of an epoch, or None when it was stopped on the way."""
        generator = torch.Generator().manual_seed(self.settings.seed * 100_003 + epoch)
        order = torch.from_numpy(self.train)[torch.randperm(len(self.train), generator=generator)]
        self.network.train()
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.learning_rate_in(epoch)
        total = torch.zeros(())
        for number, index in enumerate(order.split(self.settings.batch_size)):
            if number % ASK_BATCHES == 0:
                if stop():
                    return None
                tell(number, float(total) / max(number, 1))
            total += self._step(index)
        loss = float(total) / self.batches
        if not math.isfinite(loss):
            raise ImitationError(f"epoch {epoch}: the loss is {loss}; lower the learning rate ({self.settings.learning_rate})")
        return loss

    def _step(self, index: Tensor) -> Tensor:
        log_p = log_softmax_heads(self.network.actor(self.own[index]))
        loss = -action_log_prob(log_p, self.own_action[index], self.own_mask[index]).sum() / len(index)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip_norm)
        self.optimiser.step()
        return loss.detach()

    @torch.no_grad()
    def validate(self) -> tuple[float, dict[str, HeadFigures]]:
        """Cross-entropy per frame (nats, all heads together) and each head's figures."""
        self.network.eval()
        chosen, log_probs = [], []
        for index in torch.from_numpy(self.validation).split(_AT_ONCE):
            logits = self.network.logits(self.observation[index])
            log_probs.append(action_log_prob(log_softmax_heads(logits), self.action[index], self.mask[index]))
            chosen.append(torch.stack([logits[..., HEAD_SLICES[name]].argmax(-1) for name in HEAD_NAMES], -1))
        log_prob = torch.cat(log_probs).double().numpy()
        figures = head_figures(self.frames, self.train, self.validation, torch.cat(chosen).numpy(), log_prob)
        return float(-log_prob.sum() / len(log_prob)), figures


def imitate(
    sequences: Sequence[TrajectorySequence],
    settings: ImitationSettings,
    run_dir: Path,
    name: str = "pi_sup",
    report: Report = ignore,
    stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    about: Mapping[str, Any] | None = None,
) -> ImitationResult:
    """Learn a policy and write it to ``run_dir/name``. ``about`` (plain values: where the data is from) goes into the card.

    ``stop`` is asked between batches, and Ctrl-C does the same: the last whole epoch is kept. Raises ImitationError,
    CheckpointError when a resumed run had other data or settings, or files of other work bear the names of this one's, OSError.
    """
    _refuse_others(run_dir, name)
    with only_one(run_dir / _LOCK) as alone:
        if not alone:
            raise ImitationError(f"{run_dir}: another process is learning there; stop it, or name another folder")
        return _imitate(sequences, settings, run_dir, name, report, stop, resume, about)


def _imitate(
    sequences: Sequence[TrajectorySequence],
    settings: ImitationSettings,
    run_dir: Path,
    name: str,
    report: Report,
    stop: Callable[[], bool],
    resume: bool,
    about: Mapping[str, Any] | None,
) -> ImitationResult:
    run = _Run(frames_of(sequences), settings)
    card = _card(run, about or {})
    notes: list[str] = []
    if resume:
        _resume(run, run_dir, card, notes)
    began_s, first, told_s, interrupted = time.monotonic(), run.state.epoch, 0.0, False

    def tell(batch: int, loss: float) -> None:
        nonlocal told_s
        now_s = time.monotonic()
        if now_s - told_s < _REPORT_S:
            return
        told_s = now_s
        share = (run.state.epoch + batch / run.batches) / settings.epochs
        fresh = share - first / settings.epochs
        left_s = (now_s - began_s) / fresh * (1 - share) if fresh > 0 else None
        text = f"loss {loss:.3f}" if batch else ""
        report(Progress(f"epoch {run.state.epoch + 1}/{settings.epochs}", share, left_s, text, str(run_dir)))

    try:
        while run.state.epoch < settings.epochs and not _has_settled(run.state, settings, notes):
            loss = run.epoch(run.state.epoch + 1, stop, tell)
            if loss is None:
                interrupted = True
                break
            _end_epoch(run, loss, run_dir, name, card)
            told_s = 0.0
            tell(0, loss)
    except KeyboardInterrupt:
        interrupted = True
    return _result(run, run_dir / name, interrupted, notes)


def imitations(run_dir: Path) -> list[Path]:
    """An imitation's checkpoints without suffix, newest first; torn ones are passed over."""
    found: list[Path] = []
    for path in checkpoints(run_dir):
        with contextlib.suppress(CheckpointError):
            if read_card(path).get("role") == _ROLE:
                found.append(path)
    return found


def _refuse_others(run_dir: Path, name: str) -> None:
    """Raise CheckpointError when imitation would write over what it has not written."""
    for path in (run_dir / name, *checkpoints(run_dir)):
        role = _ROLE
        with contextlib.suppress(CheckpointError):  # absent, or torn: passed over where it resumes
            role = read_card(path).get("role")
        if role != _ROLE:
            raise CheckpointError(f"{path}.safetensors: is no policy or checkpoint of imitation ({role}); name another --output")


def _has_settled(state: _State, settings: ImitationSettings, notes: list[str]) -> bool:
    settled = bool(settings.patience) and state.epoch - state.best_epoch >= settings.patience
    if settled:
        notes.append(f"stopped early: no better validation since epoch {state.best_epoch}")
    return settled


def _end_epoch(run: _Run, loss: float, run_dir: Path, name: str, card: dict[str, Any]) -> None:
    validation_loss, figures = run.validate()
    state = run.state
    state.epoch += 1
    told = {"epoch": state.epoch, "train_loss": loss, "validation_loss": validation_loss}
    state.history.append({**told, "heads": {head: asdict(f) for head, f in figures.items()}})
    better = validation_loss < state.best_loss
    if better:
        state.best_loss, state.best_epoch = validation_loss, state.epoch
    tensors = {key: values.detach().numpy().copy() for key, values in run.network.state_dict().items()}
    filled = {**card, "epoch": state.epoch, "figures": state.history[state.best_epoch - 1], "history": state.history}
    if better:
        save(run_dir / name, tensors, filled)
    for i, values in run.optimiser.state_dict()["state"].items():
        tensors |= {f"{_OPTIMISER}{i}/{key}": torch.as_tensor(value).numpy().copy() for key, value in values.items()}
    save(run_dir / f"checkpoint_epoch_{state.epoch}", tensors, {**filled, "state": asdict(state), "name": name})
    keep_newest(run_dir, KEPT_CHECKPOINTS)


def _card(run: _Run, about: Mapping[str, Any]) -> dict[str, Any]:
    """What is checked at load and resume, and what the policy was made from."""
    digest = hashlib.sha256()
    for values in run.frames[:5]:
        digest.update(np.ascontiguousarray(values).tobytes())
    digest.update(json.dumps(run.frames.names).encode())
    return {
        "card_version": CARD_VERSION,
        **made_for(),
        "role": _ROLE,
        "hidden": run.settings.hidden,
        "recipe": {**asdict(run.settings), "loss": "cross-entropy of each head, masked", "data": digest.hexdigest()[:16]},
        "split": {"train_frames": len(run.train), "validation_frames": len(run.validation), "episodes": len(run.frames.names)},
        "about": dict(about),
    }


def _resume(run: _Run, run_dir: Path, card: dict[str, Any], notes: list[str]) -> None:
    found, problems = newest_whole(checkpoints(run_dir))
    notes += problems
    if found is None:
        notes.append(f"{run_dir}: no whole checkpoint to go on from; starting anew")
        return
    theirs: dict[str, Any] = found.card.get("recipe") or {}
    changed = {k: (theirs.get(k), v) for k, v in card["recipe"].items() if k not in ("epochs", "patience") and theirs.get(k) != v}
    if changed:
        told = "; ".join(f"{k}: made with {old}, here {new}" for k, (old, new) in changed.items())
        raise CheckpointError(f"{found.path}: {told}. Resume with the same settings and data, or start a new run")
    _put(run.network, {n: v for n, v in found.tensors.items() if not n.startswith(_OPTIMISER)}, found.path)
    moments: dict[int, dict[str, Tensor]] = {}
    for key, values in found.tensors.items():
        if key.startswith(_OPTIMISER):
            number, what = key.removeprefix(_OPTIMISER).split("/")
            moments.setdefault(int(number), {})[what] = torch.from_numpy(np.array(values))
    run.optimiser.load_state_dict({"state": moments, "param_groups": run.optimiser.state_dict()["param_groups"]})
    run.state = _State(**found.card["state"])
    notes.append(f"resumed after epoch {run.state.epoch}")


def _result(run: _Run, path: Path, interrupted: bool, notes: list[str]) -> ImitationResult:
    state = run.state
    if not state.epoch:
        notes.append("stopped before the first epoch was whole: no policy was written")
    elif interrupted:
        notes.append(f"stopped after epoch {state.epoch}; go on with --resume")
    heads: dict[str, Any] = state.history[state.best_epoch - 1]["heads"] if state.best_epoch else {}
    figures = {head: HeadFigures(**values) for head, values in heads.items()}
    return ImitationResult(path, state.epoch, state.best_loss, figures, len(run.train), len(run.validation), interrupted, tuple(notes))


def _put(network: nn.Module, tensors: Mapping[str, Any], where: Path) -> None:
    wanted = {key: tuple(values.shape) for key, values in network.state_dict().items()}
    fitted = fit_tensors(tensors, wanted, where)
    network.load_state_dict({key: torch.from_numpy(np.array(values)) for key, values in fitted.items()})


def made_for() -> dict[str, Any]:
    """What stands in the card of every policy of the league: where this differs it does not fit."""
    return {
        "kind": KIND,
        "rules_version": RULES_VERSION,
        "observation_version": observation_version(),
        "network_version": NETWORK_VERSION,
    }


def load_policy(path: Path) -> tuple[ActorCritic, dict[str, Any]]:
    """A policy of the league and its card; ``path`` without suffix.

    Raises CheckpointError that names every difference when it was made for other rules, another observation or another
    network, when a frozen one has other weights than its card tells, and when the file is torn or missing.
    """
    from league.store import weights_hash  # which needs what policies are made for

    found = load(path)
    here = made_for()
    wrong = [f"{key}: made with {found.card.get(key)}, here {value}" for key, value in here.items() if found.card.get(key) != value]
    hidden = found.card.get("hidden")
    if not isinstance(hidden, int) or not 1 <= hidden <= 4096:
        wrong.append(f"hidden: {hidden} is no width")
    if wrong or not isinstance(hidden, int):
        raise CheckpointError(f"{path}: does not fit. {'; '.join(wrong)}. Imitate again: secondseat league imitate")
    weights = {name: values for name, values in found.tensors.items() if not name.startswith(_OPTIMISER)}
    if "weights_hash" in found.card and found.card["weights_hash"] != weights_hash(weights):
        raise CheckpointError(
            f"{path}.safetensors: its weights are others than those that were frozen; put the file back, or name another policy"
        )
    network = ActorCritic(hidden)
    _put(network, weights, path)
    return network.eval(), found.card
