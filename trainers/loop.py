"""The training loop that all three levels share.

Notable choices: data lies in contiguous tensors and a batch is an index (no loader, no workers); all randomness of an
epoch follows from (seed, epoch), so a resumed run repeats the uninterrupted one exactly, without saved generator states
going stale; the learning rate is a pure function of the step; a checkpoint is one renamed file, and the one before is kept;
half precision is for a GPU alone (on a processor it is slower, and would not repeat a run digit by digit).

Files of a run: ``metrics.jsonl`` (a line per step group and per epoch), ``events.out.tfevents...`` for TensorBoard,
``checkpoint_epoch_N`` (the last three, with optimiser), ``best_model`` (by validation) and ``last_model``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from data.checkpoint import Arrays, CheckpointError, checkpoints, fit_tensors, keep_newest, load, newest_whole, save
from data.memory import is_out_of_memory
from data.progress import Progress, Report, ignore
from trainers.device import Precision, TrainingError, pick_device
from trainers.run_log import Figures, RunLog

KEPT_CHECKPOINTS: Final = 3
_MADE_FOR: Final = ("level", "feature_version", "rules_version", "modes", "keys", "classes")
"""What a card says of what the network is for: where one of these differs a run is not gone on with."""
_FREE: Final = ("epochs", "device", "checkpoints", "mixed_precision")
"""Settings that may differ when a run is gone on with."""
Batch = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Of one level's training. The learning rate rises over ``warmup_steps`` (at most an eighth of all) to its peak and
    falls by a cosine to ``floor`` times the peak at the last step."""

    epochs: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-4
    warmup_steps: int = 100
    floor: float = 0.05
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    patience: int = 0  # epochs without a better validation before stopping; 0: never stop early
    seed: int = 0
    device: str = "auto"
    mixed_precision: bool = True  # on a GPU: matrix products in bfloat16, or in float16 with scaled losses where it lacks that
    checkpoints: bool = True  # False: nothing is written but the best and last model (helper runs)


class Task(Protocol):
    """What a level brings: its network, its data and what is learnt from a batch."""

    network: nn.Module
    train: Batch
    validation: Batch

    def loss(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Figures]:
        """Loss of a batch (with gradient) and figures to log. ``generator`` is for augmentation. A loss without gradient: nothing
        in the batch is labelled."""
        ...

    def validate(self) -> Figures:
        """Figures on the validation part; ``val_loss`` decides which model is best."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave. ``figures`` are the best epoch's; ``interrupted`` when Ctrl-C ended it."""

    run_dir: Path
    best: Path
    epochs: int
    figures: Figures
    interrupted: bool = False
    notes: tuple[str, ...] = ()


def learning_rate_at(step: int, total: int, settings: LoopSettings) -> float:
    """The learning rate of step 1..total: warm-up reaches the peak at its last step, the last step has the floor."""
    peak, low = settings.learning_rate, settings.learning_rate * settings.floor
    warm = max(1, min(settings.warmup_steps, total // 8))
    if step <= warm:
        return peak * step / warm
    return low + (peak - low) * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def rows_of(batch: Batch) -> int:
    return len(next(iter(batch.values())))


@dataclass(slots=True)
class _State:
    epoch: int = 0
    step: int = 0
    best_loss: float = math.inf
    best_epoch: int = 0
    best_figures: Figures = field(default_factory=dict)
    scaler: dict[str, Any] = field(default_factory=dict)
    skipped: int = 0  # batches in which nothing was labelled


def fit(
    task: Task,
    settings: LoopSettings,
    run_dir: Path,
    card: Mapping[str, Any],
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    finish: Callable[[], dict[str, Any]] = dict,
) -> Result:
    """Train ``task.network``. ``card`` goes into every checkpoint; ``finish`` gives more of it for the best model (tuned
    thresholds). ``stop`` is asked between batches, and Ctrl-C does the same: what the last whole epoch gave is kept. A Ctrl-C while the
    best model is completed, after the last epoch, is a stop too; ``resume`` then completes it.

    Raises TrainingError when there is nothing to learn from, on a loss that is not finite, and when memory runs out; CheckpointError
    when what it would go on from was made of other recordings or with other settings.
    """
    rows = rows_of(task.train)
    if rows < 2:
        raise TrainingError(f"{rows} training samples: at least 2 are needed; record more play")
    run_dir.mkdir(parents=True, exist_ok=True)
    notes: list[str] = []
    if settings.batch_size > rows:
        notes.append(f"batch size {settings.batch_size} is larger than the {rows} samples: each epoch is one batch of {rows}")
    per_epoch = math.ceil(rows / settings.batch_size)
    total = per_epoch * settings.epochs
    network = task.network
    optimiser = torch.optim.AdamW(_groups(network, settings.weight_decay), lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)
    state = _State()
    if resume:
        _resume(run_dir, network, optimiser, state, settings, total, card, notes)
    precision = Precision(next(network.parameters()).device, settings.mixed_precision)
    precision.load(state.scaler)
    if precision.dtype is not None:
        notes.append(f"mixed precision: {str(precision.dtype).removeprefix('torch.')} on {torch.cuda.get_device_name()}")
    log = RunLog(run_dir, state.epoch, state.step) if settings.checkpoints else None
    if log and log.unreadable:
        notes.append(f"{run_dir / 'metrics.jsonl'}: lines that cannot be read are passed over ({log.unreadable}): its curves have a gap")
    for note in notes:
        report(Progress("note", 0.0, message=note, run_dir=str(run_dir)))
    began_s, first_epoch, interrupted = time.monotonic(), state.epoch, False
    best = run_dir / "best_model"
    try:
        for epoch in range(state.epoch + 1, settings.epochs + 1):
            if settings.patience and state.epoch - state.best_epoch >= settings.patience:
                notes.append(f"stopped early: no better validation since epoch {state.best_epoch}")
                break
            losses = _train_epoch(task, optimiser, precision, settings, state.step, total, epoch, log, stop)
            if losses is None:
                interrupted = True
                break
            if not losses:
                raise TrainingError(f"epoch {epoch}: none of {per_epoch} batches has a label; label some play, or let the rules do it")
            network.eval()
            with torch.no_grad(), precision.autocast():
                figures = _finite(task.validate(), epoch)
            figures["train_loss"] = float(np.mean(losses))
            state.epoch, state.step, state.scaler = epoch, state.step + per_epoch, precision.state()
            state.skipped += per_epoch - len(losses)
            better = figures["val_loss"] < state.best_loss
            if better:
                state.best_loss, state.best_epoch, state.best_figures = figures["val_loss"], epoch, dict(figures)
            if log:
                log.epoch(epoch, state.step, figures)
            _save_epoch(run_dir, network, optimiser, state, settings, card, better)
            left_s = (time.monotonic() - began_s) / (epoch - first_epoch) * (settings.epochs - epoch)
            text = f"loss {figures['train_loss']:.3f}, validation {figures['val_loss']:.3f}"
            report(Progress(f"epoch {epoch}/{settings.epochs}", epoch / settings.epochs, left_s, text, str(run_dir)))
    except KeyboardInterrupt:
        interrupted = True
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # what this run held is there for the next one
        raise TrainingError(f"out of memory at batch size {settings.batch_size}; try {max(1, settings.batch_size // 4)}") from error
    finally:
        if log:
            log.close()
    if state.skipped:
        notes.append(f"{state.skipped} of {state.step} batches skipped: nothing in them is labelled")
    if interrupted and state.epoch == 0:
        notes.append("stopped before the first epoch was whole: no model was written")
        return Result(run_dir, best, 0, {}, True, tuple(notes))
    filled = {**card, "settings": asdict(settings)}
    try:
        whole = run_dir / f"checkpoint_epoch_{state.epoch}"
        if interrupted and whole in checkpoints(run_dir):  # the network itself has learnt from part of the next epoch
            load_network(network, whole)
        if not interrupted or settings.checkpoints:
            save(run_dir / "last_model", tensors_of(network), {**filled, "epoch": state.epoch})
        load_network(network, best)
        network.eval()
        with torch.no_grad():
            extra = finish()
        save(best, tensors_of(network), {**filled, "epoch": state.best_epoch, "figures": state.best_figures, **extra})
    except KeyboardInterrupt:  # the last epoch's checkpoint is there, and the best model without what ``finish`` gives
        interrupted = True
    if interrupted:
        notes.append(f"stopped after epoch {state.epoch}; go on with --resume")
    return Result(run_dir, best, state.epoch, state.best_figures, interrupted, tuple(notes))


def _train_epoch(
    task: Task,
    optimiser: torch.optim.Optimizer,
    precision: Precision,
    settings: LoopSettings,
    step: int,
    total: int,
    epoch: int,
    log: RunLog | None,
    stop: Callable[[], bool],
) -> list[float] | None:
    """The losses of an epoch's batches that have a label, or None when it was stopped."""
    network, rows = task.network, rows_of(task.train)
    network.train()
    torch.manual_seed(settings.seed * 100_003 + epoch)  # dropout
    generator = torch.Generator().manual_seed(settings.seed * 100_003 + epoch)
    order = torch.randperm(rows, generator=generator)
    losses: list[float] = []
    for index in order.split(settings.batch_size):
        if stop():
            return None
        step += 1
        rate = learning_rate_at(step, total, settings)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = {name: values[index] for name, values in task.train.items()}
        with precision.autocast():
            loss, figures = task.loss(batch, generator)
        if not loss.requires_grad:
            continue
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"epoch {epoch}: the loss is {value}; lower the learning rate ({settings.learning_rate})")
        norm = precision.step(loss, network, optimiser, settings.clip_norm)
        losses.append(value)
        if log:
            log.step(step, value, rate, norm, figures)
    return losses


def _finite(figures: Figures, epoch: int) -> Figures:
    """Without figures that can't be told (a class that validation lacks); the validation loss itself must be a number."""
    if not math.isfinite(figures["val_loss"]):
        raise TrainingError(f"epoch {epoch}: the validation loss is {figures['val_loss']}; lower the learning rate")
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def tensors_of(network: nn.Module) -> Arrays:
    """A network's parameters as numpy arrays by name."""
    return {name: values.detach().cpu().numpy() for name, values in network.state_dict().items()}


def load_network(network: nn.Module, path: Path) -> dict[str, Any]:
    """Fill a network from a checkpoint, whole or not at all; its card."""
    found = load(path)
    put_tensors(network, {n: v for n, v in found.tensors.items() if not n.startswith(_OPTIMISER)}, path)
    return found.card


def put_tensors(network: nn.Module, tensors: Mapping[str, Any], where: Path | str) -> None:
    wanted = {name: tuple(values.shape) for name, values in network.state_dict().items()}
    fitted = fit_tensors(tensors, wanted, where)
    network.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in fitted.items()})


_OPTIMISER: Final = "optimiser/"


def _save_epoch(
    run_dir: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    state: _State,
    settings: LoopSettings,
    card: Mapping[str, Any],
    better: bool,
) -> None:
    tensors = tensors_of(network)
    filled = {**card, "epoch": state.epoch, "settings": asdict(settings)}
    if better:
        save(run_dir / "best_model", tensors, {**filled, "figures": state.best_figures})
    if not settings.checkpoints:
        return
    for i, values in optimiser.state_dict()["state"].items():
        for name, value in values.items():
            tensors[f"{_OPTIMISER}{i}/{name}"] = torch.as_tensor(value).cpu().numpy().copy()
    save(run_dir / f"checkpoint_epoch_{state.epoch}", tensors, {**filled, "state": asdict(state)})
    keep_newest(run_dir, KEPT_CHECKPOINTS)


def _resume(
    run_dir: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    state: _State,
    settings: LoopSettings,
    total: int,
    card: Mapping[str, Any],
    notes: list[str],
) -> None:
    found, problems = newest_whole(checkpoints(run_dir))
    notes += problems
    if found is None:
        notes.append(f"{run_dir}: no whole checkpoint to go on from; starting anew")
        return
    if changed := _differences(found.card, card, settings):
        raise CheckpointError(f"{found.path}: {'; '.join(changed)}; resume with the same recordings and settings, or start a new run")
    before: dict[str, Any] = found.card["settings"]
    put_tensors(network, {n: v for n, v in found.tensors.items() if not n.startswith(_OPTIMISER)}, found.path)
    by_parameter: dict[int, dict[str, Tensor]] = {}
    for name, values in found.tensors.items():
        if name.startswith(_OPTIMISER):
            i, key = name.removeprefix(_OPTIMISER).split("/")
            by_parameter.setdefault(int(i), {})[key] = torch.from_numpy(np.array(values))
    optimiser.load_state_dict({"state": by_parameter, "param_groups": optimiser.state_dict()["param_groups"]})
    for key, value in found.card["state"].items():
        setattr(state, key, value)
    notes.append(f"resumed after epoch {state.epoch}")
    if before["epochs"] != settings.epochs:
        notes.append(
            f"{settings.epochs} epochs instead of {before['epochs']}: the learning rate follows the new schedule of {total} steps from here"
        )


def _differences(before: dict[str, Any], card: Mapping[str, Any], settings: LoopSettings) -> list[str]:
    """What differs between the card of a checkpoint and that of the run which would go on from it, a phrase for each."""
    names = (*_MADE_FOR, "profile", "split", "normaliser", "recipe", "labels")
    now: dict[str, Any] = json.loads(json.dumps({name: card.get(name) for name in names}))
    theirs, recipe = before.get("recipe") or {}, now["recipe"] or {}
    pairs = changed_settings(before["settings"], settings)
    pairs |= {k: (theirs.get(k), v) for k, v in recipe.items()} | {k: (before.get(k), now[k]) for k in _MADE_FOR}
    pairs["profile"] = (before.get("profile") or {}).get("name"), (now["profile"] or {}).get("name")
    found = [f"{name}: made with {old}, here {new}" for name, (old, new) in pairs.items() if old != new]
    if before.get("split") != now["split"]:
        found.append("split: of other recordings, or of other lengths")
    if not _close(before.get("normaliser"), now["normaliser"]):
        found.append("normaliser: of other play")
    if before.get("labels") not in (None, now["labels"]):
        found.append("labels: changed since, by a person or by other rules")
    return found


def changed_settings(before: Mapping[str, Any], settings: LoopSettings) -> dict[str, tuple[Any, Any]]:
    """The settings for which a run that was made with ``before`` is not gone on with, each as it was and as it would be."""
    pairs = {name: (before.get(name), value) for name, value in asdict(settings).items() if name not in _FREE}
    return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


def _close(before: Any, now: Any) -> bool:
    """The same but for the last digits of its numbers, which another processor may round otherwise."""
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(_close(before[k], now[k]) for k in now)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_close, before, now))
    if isinstance(before, float) and isinstance(now, float):
        return math.isclose(before, now, rel_tol=1e-4, abs_tol=1e-6)
    return before == now


def _groups(network: nn.Module, decay: float) -> Sequence[dict[str, Any]]:
    parameters = list(network.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


__all__ = [
    "Batch",
    "Figures",
    "LoopSettings",
    "Progress",
    "Report",
    "Result",
    "Task",
    "TrainingError",
    "changed_settings",
    "checkpoints",
    "fit",
    "ignore",
    "learning_rate_at",
    "load_network",
    "pick_device",
    "put_tensors",
    "rows_of",
    "tensors_of",
]
