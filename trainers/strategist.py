"""Recipe of the Strategist: one summary a second -> the mode now.

Notable choices: rows as the live path would have seen them (``sampling``); windows of ``history`` seconds with stride history / 4, at
several phases of the 1 Hz clock; every second of a window is an example (causal attention); labels come from hindsight rules unless
given; rare modes weigh more; what is decided is not the likeliest mode but the likeliest for how common it is (logit adjustment, Menon
et al. 2021), as far as that raises the balanced accuracy on the validation part.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from data.bad_rows import without_bad_rows
from data.checkpoint import checkpoints, make_card, newest_whole
from data.features import Normaliser, summary_features, summary_sequence, summary_vectors
from data.hindsight import label_modes
from data.profile import GameProfile
from data.progress import part_of, without_notes
from data.steps import Steps
from data.vocabulary import MODES
from data.windows import STRATEGIST_HISTORY, Part, Split, learnt_windows, sample_rows, window_starts
from trainers import metrics
from trainers.augment import Augment, Mirrors, mirrors_of, tremble, wanted
from trainers.loop import Batch, Figures, LoopSettings, Report, Result, TrainingError, fit, ignore, pick_device
from trainers.networks.blocks import smoothed_cross_entropy
from trainers.networks.strategist import Strategist
from trainers.prepare import (
    check_sessions,
    common_card,
    drop_bad_rows,
    hide,
    hold,
    labels_digest,
    recipe_of,
    split_note,
    split_of,
    to_tensors,
    usable_parts,
)
from trainers.sampling import SamplingSettings, resample, unchanged

CLOCK_HZ = 1.0
SHORTER_HISTORY = 4


@dataclass(frozen=True, slots=True)
class StrategistSettings:
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(100, 32, 3e-4, patience=10))
    history: int = STRATEGIST_HISTORY
    """Seconds that it sees."""
    shorter: int = SHORTER_HISTORY
    """Seconds that it sees instead, where with so few it is better on the validation part: of little play, a long past is known by heart.
    0: not tried."""
    phases: int = 8
    width: int = 64
    layers: int = 2
    heads: int = 2
    dropout: float = 0.1
    forget: float = 0.0
    """Share of the windows in training whose seconds are each judged without those before, so that rare stretches are not known by heart
    from their history."""
    adjust: tuple[float, ...] = (0.0, 0.25, 0.5)
    """How much of the logarithm of a mode's share of the play is taken off its logit when deciding: the best of these on the validation
    part. The loss weighs modes by the root of their share, which is the other half."""
    smoothing: float = 0.05
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    augment: Augment = "auto"
    hidden: tuple[str, ...] = ()
    """Features that the network does not get, by name or pattern (``*``): for ablations."""


QUICK = StrategistSettings(LoopSettings(20, 32, 3e-4, patience=10), phases=4)


@dataclass(frozen=True, slots=True)
class _Windows:
    x: NDArray[np.float32]  # [W, H, D]
    labels: NDArray[np.int64]  # [W, H], -1 unlabelled
    real: NDArray[np.bool_]  # [W, H], False where a short stretch was filled up


class StrategistTask:
    """Network, windows and losses (see ``loop.Task``)."""

    def __init__(
        self,
        network: Strategist,
        train: Batch,
        validation: Batch,
        smoothing: float,
        weights: Tensor,
        augmented: bool = False,
        mirrors: Mirrors | None = None,
    ) -> None:
        self.network, self.train, self.validation = network, train, validation
        self._smoothing, self._weights = smoothing, weights
        self._augmented, self._mirrors = augmented, mirrors

    def loss(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Figures]:
        x = batch["x"]
        if self._augmented:
            if self._mirrors:
                flips = [torch.rand(len(x), generator=generator).to(x.device) < 0.5 for _ in "xy"]
                x = self._mirrors.apply({"x": x}, flips)["x"]
            x = tremble(x, generator)
        logits = self.network(x)
        loss = smoothed_cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), self._smoothing, self._weights)
        return loss, {}

    def validate(self) -> Figures:
        logits = self.network(self.validation["x"]).flatten(0, 1)
        labels = self.validation["labels"].flatten()
        loss = smoothed_cross_entropy(logits, labels, 0.0, self._weights)
        predicted, known = logits.argmax(-1).cpu().numpy(), labels.cpu().numpy()
        figures = {
            "val_loss": float(loss),
            "accuracy": float((predicted == known)[known >= 0].mean()) if (known >= 0).any() else float("nan"),
            "balanced_accuracy": metrics.balanced_accuracy(known, predicted, len(MODES)),
            "majority": metrics.majority_accuracy(known),
            "persistence": metrics.persistence_accuracy(self.validation["labels"].cpu().numpy()),
        }
        found = metrics.recalls(known, predicted, len(MODES))
        return figures | {f"recall_{m.lower()}": float(r) for m, r in zip(MODES, found, strict=True) if np.isfinite(r)}


def train(
    sessions: Sequence[Steps],
    settings: StrategistSettings,
    output_dir: Path,
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    split: Split | None = None,
    labels: Sequence[NDArray[np.int8]] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Result:
    """Train on sessions. ``labels`` int8 [T] of each session override the hindsight rules (-1: unlabelled); ``about``: more
    for the card."""
    check_sessions(sessions)
    sessions, notes = without_bad_rows(sessions)
    device = pick_device(settings.loop.device, notes)
    split = split or split_of(sessions, settings.loop.seed)
    notes.append(split_note(sessions, split))
    modes = [label_modes(s) for s in sessions] if labels is None else list(labels)
    recipe = recipe_of(settings)
    if 0 < settings.shorter < settings.history:
        known = _history_of(output_dir, settings) if resume else None
        if known is None:
            known = _best_history(sessions, settings, output_dir, part_of(report, 0.0, 2 / 3), stop, split, modes, notes)
            if known is None:
                notes.append("stopped before the first epoch was whole: no model was written")
                return Result(output_dir, output_dir / "best_model", 0, {}, True, tuple(notes))
            report = part_of(report, 2 / 3, 1 / 3)
        settings = replace(settings, history=known, shorter=0)
    seen = resample(sessions, settings.sampling.model, settings.loop.seed) if settings.sampling.live else unchanged(sessions)
    trained = _windows(seen.sessions, seen.rows(modes), seen.parts(split.train), settings)
    checked = _windows(sessions, modes, split.validation, settings)
    if not len(trained.x):
        raise TrainingError("0 windows of 1 s summaries: record at least a few seconds of play without a break")
    trained = _whole(trained, "strategist", notes, sessions[0].profile)
    checked = _whole(checked, "strategist, validation", notes, sessions[0].profile)
    counts = metrics.histogram(trained.labels.ravel(), len(MODES))
    if not counts.sum():
        raise TrainingError("no second of these sessions is labelled: label some play (secondseat labels), or let the rules do it")
    if not (checked.labels >= 0).any():
        notes.append("nothing is left to validate on: validating on the training windows; record a second session")
        checked = trained
    features = summary_features(sessions[0].profile)
    fitted = Normaliser.fit(trained.x, trained.real)
    normaliser = hide({"summary": (features, fitted)}, settings.hidden)["summary"]
    notes.append(f"windows: {_count_text(sessions, split.train, settings)} -> {len(trained.x)} with {settings.phases} phases")
    warning = metrics.imbalance_warning(counts, MODES)
    if warning:
        notes.append(warning)
    torch.manual_seed(settings.loop.seed)
    network = make_network(len(features), settings).to(device)
    weights = torch.from_numpy(metrics.balanced_weights(counts)).to(device)
    tensors = [to_tensors({"x": normaliser.apply(w.x), "labels": w.labels}, device) for w in (trained, checked)]
    augmented = wanted(settings.augment, sessions)
    mirrors = mirrors_of(sessions[0].profile, {"x": (features, normaliser)}, device)
    task = StrategistTask(network, tensors[0], tensors[1], settings.smoothing, weights, augmented, mirrors)
    card = make_card(
        "strategist",
        sessions[0].profile,
        **common_card(sessions, about),
        normaliser={"summary": normaliser.to_json()},
        split=split.to_json(),
        labels=labels_digest(modes),
        history=settings.history,
        network={"width": settings.width, "layers": settings.layers, "heads": settings.heads},
        recipe=recipe,
        class_counts=dict(zip(MODES, counts.tolist(), strict=True)),
    )

    def finish() -> dict[str, Any]:
        with torch.no_grad():
            logits = network(task.validation["x"]).flatten(0, 1).cpu().numpy()
        return {"mode_bias": mode_bias(logits, task.validation["labels"].flatten().cpu().numpy(), counts, settings.adjust).tolist()}

    result = fit(task, settings.loop, output_dir, card, _first_notes(report, notes, output_dir), resume, stop, finish)
    return Result(result.run_dir, result.best, result.epochs, result.figures, result.interrupted, (*notes, *result.notes))


def _history_of(run_dir: Path, settings: StrategistSettings) -> int | None:
    """What the run that is gone on with sees; None where there is no such run. One that sees neither is refused when it is gone on with."""
    found, _ = newest_whole(checkpoints(run_dir))
    if found is None:
        return None
    return settings.shorter if found.card.get("history") == settings.shorter else settings.history


def _best_history(
    sessions: Sequence[Steps],
    settings: StrategistSettings,
    output_dir: Path,
    report: Report,
    stop: Callable[[], bool],
    split: Split,
    modes: Sequence[NDArray[np.int8]],
    notes: list[str],
) -> int | None:
    """Of the two histories the one with the lower validation loss, each learnt once for this alone. None: stopped."""
    lengths, losses = (settings.history, settings.shorter), list[float]()
    try:
        for i, history in enumerate(lengths):
            tried = replace(settings, history=history, shorter=0, loop=replace(settings.loop, checkpoints=False))
            told = part_of(without_notes(report), i / len(lengths), 1 / len(lengths), f"if it sees {history} s: ")
            found = train(sessions, tried, output_dir / "history" / str(history), told, stop=stop, split=split, labels=modes)
            if found.interrupted:
                return None
            losses.append(found.figures["val_loss"])
    finally:
        shutil.rmtree(output_dir / "history", ignore_errors=True)
    best = lengths[int(np.argmin(losses))]
    notes.append(
        f"it sees {best} s: validation loss {', '.join(f'{loss:.3f} with {h} s' for loss, h in zip(losses, lengths, strict=True))}"
    )
    return best


def _whole(windows: _Windows, what: str, notes: list[str], profile: GameProfile) -> _Windows:
    """Without windows in which something is not finite."""
    good = drop_bad_rows({"summary": windows.x}, what, notes, {"summary": summary_features(profile)})
    return _Windows(windows.x[good], windows.labels[good], windows.real[good])


def mode_bias(
    logits: NDArray[np.float32], labels: NDArray[np.int64], counts: NDArray[np.int64], adjust: Sequence[float]
) -> NDArray[np.float32]:
    """[modes] what is added to the logits when deciding: -t log(share of the mode), t the one of ``adjust`` with the best balanced
    accuracy on validation rows (logits [R, modes], labels [R], -1 unlabelled); ties go to the smaller. Post-hoc logit adjustment (Menon
    et al., Long-tail learning via logit adjustment, 2021). Nothing is added to a mode that never occurred."""
    prior = np.log(np.where(counts > 0, np.maximum(counts / max(1, counts.sum()), 1e-3), 1.0)).astype(np.float32)
    rated = [(metrics.balanced_accuracy(labels, (logits - t * prior).argmax(1), len(MODES)), -t) for t in adjust]
    best = max((one for one in rated if np.isfinite(one[0])), default=(0.0, 0.0))
    return (best[1] * prior).astype(np.float32) + 0.0  # no minus nought


def make_network(features: int, settings: StrategistSettings) -> Strategist:
    size = settings.width, settings.layers, settings.heads, settings.dropout
    return Strategist(features, len(MODES), *size, settings.history, settings.forget)


def predict(
    network: Strategist, normaliser: Normaliser, steps: Steps, part: Part, phase: float, before: int, bias: Sequence[float] | None = None
) -> NDArray[np.int64]:
    """[part's rows] the mode that a 1 Hz clock of this phase would hold at each row, as in flight. ``bias``: the card's ``mode_bias``."""
    added = torch.zeros(len(MODES)) if bias is None else torch.tensor(bias)
    held = np.full(part.stop - part.start, before, np.int64)
    device = next(network.parameters()).device
    for start, stop in usable_parts(steps, part):
        times = steps.time_ns[start:stop]
        rows = sample_rows(times, CLOCK_HZ, phase)
        if not len(rows):
            continue
        x = normaliser.apply(summary_sequence(steps.profile, summary_vectors(steps, rows + start), times[rows]))
        said = np.empty(len(rows), np.int64)
        with torch.no_grad():
            for i in range(0, len(rows), 256):
                ends = np.arange(i, min(i + 256, len(rows)))
                lengths = np.minimum(ends + 1, network.history)
                index = (ends - lengths + 1)[:, None] + np.arange(network.history)[None, :]
                windows = torch.from_numpy(x[np.minimum(index, ends[:, None])]).to(device)
                logits = network(windows)[torch.arange(len(ends)), torch.from_numpy(lengths - 1)]
                said[ends] = (logits.cpu() + added).argmax(-1).numpy()
        held[start - part.start : stop - part.start] = hold(times, rows, said, before)
    return held


def _windows(sessions: Sequence[Steps], modes: Sequence[NDArray[np.int8]], parts: Sequence[Part], settings: StrategistSettings) -> _Windows:
    """All windows of all phases. A stretch shorter than the history gives one, filled up with unlabelled seconds."""
    xs: list[NDArray[np.float32]] = []
    ys: list[NDArray[np.int64]] = []
    reals: list[NDArray[np.bool_]] = []
    width = len(summary_features(sessions[0].profile))
    for part in parts:
        steps = sessions[part.session]
        for start, stop in usable_parts(steps, part):
            for phase in range(settings.phases):
                rows = sample_rows(steps.time_ns[start:stop], CLOCK_HZ, phase / settings.phases) + start
                if not len(rows):
                    continue
                x = summary_sequence(steps.profile, summary_vectors(steps, rows), steps.time_ns[rows])
                y = modes[part.session][rows].astype(np.int64)
                short, real = settings.history - len(rows), np.ones(len(rows), np.bool_)
                if short > 0:
                    x, y = np.pad(x, ((0, short), (0, 0))), np.pad(y, (0, short), constant_values=-1)
                    real = np.pad(real, (0, short))
                index = window_starts(len(x), settings.history)[:, None] + np.arange(settings.history)[None, :]
                xs.append(x[index])
                ys.append(y[index])
                reals.append(real[index])
    if not xs:
        shape = 0, settings.history
        return _Windows(np.zeros((*shape, width), np.float32), np.zeros(shape, np.int64), np.zeros(shape, np.bool_))
    return _Windows(np.concatenate(xs), np.concatenate(ys), np.concatenate(reals))


def _count_text(sessions: Sequence[Steps], parts: Sequence[Part], settings: StrategistSettings) -> str:
    lengths = [len(sample_rows(sessions[p.session].time_ns[a:b], CLOCK_HZ)) for p in parts for a, b in usable_parts(sessions[p.session], p)]
    return learnt_windows(lengths, settings.history)[1]


def _first_notes(report: Report, notes: list[str], run_dir: Path) -> Report:
    from trainers.loop import Progress

    for note in notes:
        report(Progress("note", 0.0, message=note, run_dir=str(run_dir)))
    return report


__all__ = ["CLOCK_HZ", "QUICK", "StrategistSettings", "StrategistTask", "make_network", "mode_bias", "predict", "train"]
