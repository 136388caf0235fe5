"""Recipe of the Tactician: up to 32 tracks at 5 Hz -> the one the player goes for next, or none.

Notable choices: rows as the live path would have seen them (``sampling``); the mode it is given is the Strategist's out-of-fold
prediction, mixed with some labels; the time since a track was last clicked is dropped often, or the set would be read off past clicks
alone. What will be the target within a tenth of a second is it already; on request the rare rows in which it changes are learnt from at
the full rate (keyframes, Wen et al. 2021): most decisions only repeat what is locked or marked, and so are easily right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from data.bad_rows import without_bad_rows
from data.checkpoint import make_card
from data.features import SET_TRACKS, UNKNOWN_MODE, Normaliser, SetInputs, set_context_features, set_features, set_inputs
from data.hindsight import label_modes, label_targets
from data.labels import TARGET_ROLES
from data.schema import NO_TARGET
from data.steps import Steps
from data.track_lookup import ClickLog
from data.vocabulary import MODES
from data.windows import Part, Split, sample_rows, window_count
from trainers.augment import Augment, Mirrors, mirrors_of, tremble, wanted
from trainers.loop import Batch, Figures, LoopSettings, Progress, Report, Result, TrainingError, fit, ignore, pick_device
from trainers.networks.blocks import smoothed_cross_entropy
from trainers.networks.tactician import Tactician
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

CLOCK_HZ = 5.0


@dataclass(frozen=True, slots=True)
class TacticianSettings:
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(80, 64, 3e-4, patience=4))
    phases: int = 1
    width: int = 64
    layers: int = 2
    heads: int = 2
    dropout: float = 0.1
    smoothing: float = 0.05
    label_share: float = 0.3
    click_dropout: float = 0.3
    lead_s: float = 0.1
    """A new target is learnt so long before the hand sets out for it: half a reaction time, so that the Executor is told in time."""
    keyframe_s: float = 0.0
    """All ticks that are this near to a new target are learnt from, not only those of the 5 Hz clock; 0: only those."""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    augment: Augment = "auto"
    hidden: tuple[str, ...] = ()
    """Features that the network does not get, by name or pattern (``*``): for ablations."""


QUICK = TacticianSettings(LoopSettings(15, 64, 3e-4, patience=4))


class TacticianTask:
    """Network, sets and losses (see ``loop.Task``). A label is a place in the set, ``SET_TRACKS`` for none, -1 unlabelled."""

    def __init__(
        self,
        network: Tactician,
        train: Batch,
        validation: Batch,
        settings: TacticianSettings,
        none_weight: float,
        augmented: bool = False,
        mirrors: Mirrors | None = None,
    ) -> None:
        self.network, self.train, self.validation, self._settings = network, train, validation, settings
        self._augmented, self._mirrors = augmented, mirrors
        self._weights = torch.ones(SET_TRACKS + 1, device=train["labels"].device)
        self._weights[SET_TRACKS] = none_weight

    def loss(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Figures]:
        rows = len(batch["labels"])
        device = batch["labels"].device
        variant = torch.randint(batch["modes"].shape[1], (rows,), generator=generator).to(device)
        mode = batch["modes"].gather(1, variant[:, None])[:, 0]
        told = (torch.rand(rows, generator=generator) < self._settings.label_share).to(device)
        mode = torch.where(told, batch["mode_label"], mode)
        silent = (torch.rand(rows, generator=generator) < 0.1).to(device)
        mode = torch.where(silent, torch.full_like(mode, UNKNOWN_MODE), mode)
        if self._augmented:
            if self._mirrors:
                batch = self._mirrors.apply(batch, [(torch.rand(rows, generator=generator) < 0.5).to(device) for _ in "xy"])
            batch = batch | {
                "tracks": tremble(batch["tracks"], generator, batch["present"]),
                "context": tremble(batch["context"], generator),
            }
        tracks = batch["tracks"].clone()
        forget = (torch.rand(rows, generator=generator) < self._settings.click_dropout).to(device)
        tracks[..., -1] = torch.where(forget[:, None], batch["never"][:, None], tracks[..., -1])
        # Tracks come nearest first: what no row of the batch fills is cut off.
        used = max(1, int(batch["present"].sum(1).max()))
        logits = self.network(tracks[:, :used], batch["present"][:, :used], batch["context"], mode)
        logits = torch.cat([F.pad(logits[:, :used], (0, SET_TRACKS - used), value=float("-inf")), logits[:, used:]], dim=1)
        return smoothed_cross_entropy(logits, batch["labels"], self._settings.smoothing, self._weights), {}

    def validate(self) -> Figures:
        v = self.validation
        logits = torch.cat([
            self.network(v["tracks"][i], v["present"][i], v["context"][i], v["modes"][i, 0])
            for i in torch.arange(len(v["labels"])).split(512)
        ])  # fmt: skip
        labels = v["labels"]
        loss = smoothed_cross_entropy(logits, labels, 0.0, self._weights)
        predicted, known = logits.argmax(-1), labels >= 0
        hit = (predicted == labels)[known].float()
        wanted = known & (labels < SET_TRACKS)
        return {
            "val_loss": float(loss),
            "accuracy": float(hit.mean()) if len(hit) else float("nan"),
            "on_target": float((predicted == labels)[wanted].float().mean()) if bool(wanted.any()) else float("nan"),
            "none_share": float((labels[known] == SET_TRACKS).float().mean()) if len(hit) else float("nan"),
            "nearest": _nearest_baseline(v, wanted),
            "persistence": float(v["kept"][wanted].float().mean()) if bool(wanted.any()) else float("nan"),
        }


def _nearest_baseline(v: Batch, wanted: Tensor) -> float:
    """What always taking the nearest enemy or loot would hit, among rows with a target."""
    if not bool(wanted.any()):
        return float("nan")
    near = v["nearest"][wanted]
    return float((near == v["labels"][wanted]).float().mean())


def train(
    sessions: Sequence[Steps],
    settings: TacticianSettings,
    output_dir: Path,
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    split: Split | None = None,
    modes: Sequence[NDArray[np.int64]] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Result:
    """Train on sessions. ``modes`` int64 [T, V] of each session are what the Strategist said (out of fold); without them
    it is taken as silent, but for the share of rows that get labels. ``about``: more for the card."""
    check_sessions(sessions)
    sessions, notes = without_bad_rows(sessions)
    device = pick_device(settings.loop.device, notes)
    split = split or split_of(sessions, settings.loop.seed)
    notes.append(split_note(sessions, split))
    labels = [(label_modes(s).astype(np.int64), label_targets(s)) for s in sessions]
    seen = resample(sessions, settings.sampling.model, settings.loop.seed) if settings.sampling.live else unchanged(sessions)
    seen_labels = list(zip(seen.rows([m for m, _ in labels]), seen.rows([t for _, t in labels]), strict=True))
    arrays = [
        _examples(seen.sessions, seen.parts(split.train), settings, seen.rows(modes) if modes else None, seen_labels, settings.keyframe_s),
        _examples(sessions, split.validation, settings, modes, labels),
    ]
    if not len(arrays[0]["labels"]):
        raise TrainingError("0 examples at 5 Hz: record more play")
    names = {"tracks": set_features(sessions[0].profile), "context": set_context_features(sessions[0].profile)}
    for i, what in enumerate(("tactician", "tactician, validation")):
        good = drop_bad_rows({k: arrays[i][k] for k in names}, what, notes, names)
        arrays[i] = {k: v[good] for k, v in arrays[i].items()}
    if not (arrays[1]["labels"] >= 0).any():
        notes.append("nothing is left to validate on: validating on the training examples; record a second session")
        arrays[1] = dict(arrays[0])
    if not arrays[0]["present"].any():
        notes.append("no tracks in any session (no detector?): the Tactician can only learn to say none")
    fitted = Normaliser.fit(arrays[0]["tracks"], arrays[0]["present"]), Normaliser.fit(arrays[0]["context"])
    shown = hide(dict(zip(names, zip(names.values(), fitted, strict=True), strict=True)), settings.hidden)
    tracks, context = shown["tracks"], shown["context"]
    never = float((0.0 - tracks.mean[-1]) / tracks.std[-1])
    for part in arrays:
        part["tracks"] = tracks.apply(part["tracks"], part["present"])
        part["context"] = context.apply(part["context"])
        part["never"] = np.full(len(part["labels"]), never, np.float32)
    none = float((arrays[0]["labels"] == SET_TRACKS).mean())
    notes.append(f"{len(arrays[0]['labels'])} examples; {_count_text(sessions, split.train)}; {100 * none:.0f} % without a target")
    torch.manual_seed(settings.loop.seed)
    profile = sessions[0].profile
    network = make_network(len(set_features(profile)), len(set_context_features(profile)), settings).to(device)
    mirrors = mirrors_of(profile, {"tracks": (names["tracks"], tracks), "context": (names["context"], context)}, device, ("tracks",))
    none_weight, augmented = 1.0 if none < 0.8 else 0.5, wanted(settings.augment, sessions)
    task = TacticianTask(network, *(to_tensors(part, device) for part in arrays), settings, none_weight, augmented, mirrors)
    card = make_card(
        "tactician",
        profile,
        **common_card(sessions, about),
        normaliser={"tracks": tracks.to_json(), "context": context.to_json()},
        split=split.to_json(),
        labels=labels_digest([part for pair in labels for part in pair]),
        recipe=recipe_of(settings),
        network={"width": settings.width, "layers": settings.layers, "heads": settings.heads},
    )
    for note in notes:
        report(Progress("note", 0.0, message=note, run_dir=str(output_dir)))
    result = fit(task, settings.loop, output_dir, card, report, resume, stop)
    return Result(result.run_dir, result.best, result.epochs, result.figures, result.interrupted, (*notes, *result.notes))


def make_network(features: int, context: int, settings: TacticianSettings) -> Tactician:
    return Tactician(features, context, len(MODES), settings.width, settings.layers, settings.heads, settings.dropout)


def predict(
    network: Tactician, normalisers: dict[str, Normaliser], steps: Steps, part: Part, phase: float, modes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """[part's rows] the track id that a 5 Hz clock of this phase would hold at each row, given ``modes`` [T] of the session."""
    held = np.full(part.stop - part.start, NO_TARGET, np.int32)
    device = next(network.parameters()).device
    clicks = ClickLog.of(steps)
    for start, stop in usable_parts(steps, part):
        times = steps.time_ns[start:stop]
        rows = sample_rows(times, CLOCK_HZ, phase)
        if not len(rows):
            continue
        inputs = set_inputs(steps, rows + start, clicks)
        tracks = torch.from_numpy(normalisers["tracks"].apply(inputs.tracks, inputs.present)).to(device)
        present = torch.from_numpy(inputs.present).to(device)
        context = torch.from_numpy(normalisers["context"].apply(inputs.context)).to(device)
        mode = torch.from_numpy(modes[rows + start]).to(device)
        with torch.no_grad():
            chosen = torch.cat([network(tracks[i], present[i], context[i], mode[i]).argmax(-1) for i in torch.arange(len(rows)).split(512)])
        ids = np.concatenate([inputs.ids, np.full((len(rows), 1), NO_TARGET, np.int32)], axis=1)
        said = ids[np.arange(len(rows)), chosen.cpu().numpy()]
        held[start - part.start : stop - part.start] = hold(times, rows, said, NO_TARGET)
    return held


_COLUMNS: Final = ("tracks", "present", "context", "labels", "modes", "mode_label", "nearest", "kept")
"""``nearest``: the place of the nearest enemy or loot; ``kept``: whether the target is the one of the decision before (baselines)."""


def _examples(
    sessions: Sequence[Steps],
    parts: Sequence[Part],
    settings: TacticianSettings,
    modes: Sequence[NDArray[np.int64]] | None,
    said: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]],
    keyframe_s: float = 0.0,
) -> dict[str, NDArray]:
    profile = sessions[0].profile
    found: dict[str, list[NDArray]] = {k: [] for k in _COLUMNS}
    variants = modes[0].shape[1] if modes else 1
    preys = [i for i, c in enumerate(profile.classes) if c.role in TARGET_ROLES]
    first_class = next((i for i, f in enumerate(set_features(profile)) if f.name.startswith("class.")), 0)
    for part in parts:
        steps = sessions[part.session]
        (mode_labels, targets), clicks = said[part.session], ClickLog.of(steps)
        given = modes[part.session] if modes else np.full((len(mode_labels), 1), UNKNOWN_MODE, np.int64)
        for start, stop in usable_parts(steps, part):
            times = steps.time_ns[start:stop]
            ticks = [sample_rows(times, CLOCK_HZ, p / settings.phases) for p in range(settings.phases)]
            rows = np.unique(np.concatenate([*ticks, _keyframes(times, targets[start:stop], keyframe_s)])) + start
            inputs = set_inputs(steps, rows, clicks)
            labels = _labels(inputs, targets[rows], targets[start:stop][_later(times, rows - start, settings.lead_s)])
            one_hot = inputs.tracks[..., first_class : first_class + len(profile.classes)]
            prey = one_hot[..., preys].any(-1) & inputs.present
            near = np.where(prey, inputs.tracks[..., 2], -1.0).argmax(1)
            before = np.searchsorted(times, steps.time_ns[rows] - round(1e9 / CLOCK_HZ), side="right") - 1
            kept = (before >= 0) & (targets[start + np.maximum(before, 0)] == targets[rows])
            columns = (inputs.tracks, inputs.present, inputs.context, labels, given[rows], mode_labels[rows], near, kept)
            for name, values in zip(found, columns, strict=True):
                found[name].append(values)
    if not found["labels"]:
        return {
            "tracks": np.zeros((0, SET_TRACKS, len(set_features(profile))), np.float32),
            "present": np.zeros((0, SET_TRACKS), np.bool_),
            "context": np.zeros((0, len(set_context_features(profile))), np.float32),
            "labels": np.zeros(0, np.int64),
            "modes": np.zeros((0, variants), np.int64),
            "mode_label": np.zeros(0, np.int64),
            "nearest": np.zeros(0, np.int64),
            "kept": np.zeros(0, np.bool_),
        }
    return {name: np.concatenate(values) for name, values in found.items()}


def _later(times_ns: NDArray[np.int64], rows: NDArray[np.int64], seconds: float) -> NDArray[np.int64]:
    """The rows of a stretch that are so much later, the last one at most."""
    return np.minimum(np.searchsorted(times_ns, times_ns[rows] + round(seconds * 1e9)), len(times_ns) - 1)


def _keyframes(times_ns: NDArray[np.int64], targets: NDArray[np.int32], seconds: float) -> NDArray[np.int64]:
    """The rows of a stretch within so many seconds of a new target."""
    new = np.flatnonzero((targets[1:] != targets[:-1]) & (targets[1:] != NO_TARGET)) + 1
    if not len(new) or seconds <= 0:
        return np.zeros(0, np.int64)
    after = np.searchsorted(new, np.arange(len(times_ns)))
    away = np.abs(times_ns[:, None] - times_ns[new[np.clip(np.stack([after - 1, after], axis=1), 0, len(new) - 1)]])
    return np.flatnonzero(away.min(1) <= seconds * 1e9)


def _labels(inputs: SetInputs, now: NDArray[np.int32], soon: NDArray[np.int32]) -> NDArray[np.int64]:
    """[R] place in the set: of the target that there soon will be, if it is there already; else of the present one."""
    coming, present = ((inputs.ids == ids[:, None]) & inputs.present & (ids != NO_TARGET)[:, None] for ids in (soon, now))
    none = np.where(now == NO_TARGET, SET_TRACKS, -1)
    return np.where(coming.any(1), coming.argmax(1), np.where(present.any(1), present.argmax(1), none))


def _count_text(sessions: Sequence[Steps], parts: Sequence[Part]) -> str:
    rows = sum(len(sample_rows(sessions[p.session].time_ns[a:b], CLOCK_HZ)) for p in parts for a, b in usable_parts(sessions[p.session], p))
    return f"{window_count(rows, 1)} a phase"
