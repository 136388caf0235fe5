"""Recipe of the Executor: the last 0.8 s at 20 Hz -> where to click next, and what to press now.

Notable choices: rows as the live path would have seen them, the hand as many ticks after the picture as it takes a person to answer
(``sampling``); no past action goes in, the cursor only where a click is timed, and there it is dropped for a fifth; mode and target are
the upper layers' out-of-fold predictions, mixed with at most 30 % labels, the target dropped for 10 %; when inputs are pressed
(``pressing``) is tuned on the validation part and stored in the card.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from data.bad_rows import without_bad_rows
from data.checkpoint import make_card
from data.features import SLOTS, UNKNOWN_MODE, Normaliser, context_features, slot_features
from data.hindsight import label_modes, label_targets
from data.steps import Steps, input_names
from data.vocabulary import MODES
from data.windows import Split
from trainers import executor_extras, metrics
from trainers.augment import Augment, Mirrors, tremble, wanted
from trainers.chunking import Chunk, flown
from trainers.executor_examples import Arrays, Horizons, examples
from trainers.loop import Batch, Figures, LoopSettings, Progress, Report, Result, TrainingError, fit, ignore, pick_device
from trainers.networks.executor import Executor, Seen
from trainers.networks.shape import Extras
from trainers.prepare import (
    Conditioning,
    check_sessions,
    common_card,
    drop_bad_rows,
    hide,
    labels_digest,
    recipe_of,
    split_note,
    split_of,
    to_tensors,
    usable_parts,
)
from trainers.pressing import NEVER, PressRule, begun_ticks, key_rule, pressed_ticks
from trainers.sampling import SamplingSettings, lagged, resample, unchanged

HELD_S = 0.3
"""Inputs that are down longer than this in the median are held by the policy, not only tapped."""
FEWEST_PRESSES = 3
"""A key that was pressed less often in what was trained on is not pressed by the policy."""
FEWEST_TO_TUNE = 4
"""With fewer clicks in validation their threshold is at most a half, if they were made twice as often in training."""
BEFORE_S = 0.5
"""The baseline of the point is the cursor so long before the click: in the very tick it lies there already."""


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(60, 128, 3e-4, patience=8))
    width: int = 64
    layers: int = 2
    heads: int = 2
    dropout: float = 0.1
    smoothing: float = 0.05
    label_share: float = 0.3
    target_dropout: float = 0.1
    cursor_dropout: float = 0.2
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    augment: Augment = "auto"
    horizons: Horizons = field(default_factory=Horizons)
    chunk: Chunk = field(default_factory=Chunk)
    """The next ticks foretold at once, and flown by; one tick: no chunks."""
    way_point: bool = False
    """Foretell where the ship will be (``Horizons.way_s``) and take that as a goal."""
    cursor_past: bool = False
    """See where the cursor was, not only where it is: a past action, and so a way to copy instead of to play. For ablations."""
    hidden: tuple[str, ...] = ()
    """Features that the network does not get, by name or pattern (``*``): for ablations."""

    @property
    def extras(self) -> Extras:
        return Extras(self.chunk.ticks, self.way_point, self.cursor_past)

    @property
    def key_ticks(self) -> int:
        """Within how many ticks a press counts for the chance that is flown by: chunks foretell each tick by itself."""
        return 1 if self.chunk.ticks > 1 else self.horizons.key_ticks


QUICK = ExecutorSettings(LoopSettings(10, 128, 5e-4))


class ExecutorTask:
    """Network, rows and losses (see ``loop.Task``)."""

    def __init__(
        self,
        network: Executor,
        train: Batch,
        validation: Batch,
        settings: ExecutorSettings,
        key_weights: Tensor,
        mirrors: Mirrors | None = None,
        augmented: bool = False,
    ) -> None:
        self.network, self.train, self.validation, self.settings = network, train, validation, settings
        self._mirrors, self._augmented = mirrors, augmented
        self._key_weights = key_weights

    def key_weight(self, i: int) -> float:
        """What rows weigh in which input ``i`` is pressed."""
        return float(self._key_weights[i])

    def loss(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Figures]:
        s, rows, device = self.settings, len(batch["choice"]), batch["choice"].device

        def chance(p: float) -> Tensor:
            return (torch.rand(rows, generator=generator) < p).to(device)

        variant = torch.randint(batch["modes"].shape[1] - 1, (rows,), generator=generator).to(device)
        variant = torch.where(chance(s.label_share), batch["modes"].shape[1] - 1, variant)[:, None]  # the last one: labels
        mode = batch["modes"].gather(1, variant)[:, 0]
        mode = torch.where(chance(0.05), torch.full_like(mode, UNKNOWN_MODE), mode)
        target = batch["target_slots"].gather(1, variant)[:, 0]
        target = torch.where(chance(s.target_dropout), torch.full_like(target, -1), target)
        known = batch["cursor_known"] & ~chance(s.cursor_dropout)
        if self._mirrors:
            flips = chance(0.5), chance(0.5)
            batch = self._mirrors.apply(batch, flips)
            if s.way_point:
                batch = batch | {"way": executor_extras.mirrored_way(batch["way"], flips)}
        if self._augmented:
            slots, context = tremble(batch["slots"], generator, batch["present"]), tremble(batch["context"], generator)
            batch = batch | {"slots": slots, "context": context}
        return self._losses(batch, self._see(batch, mode, target), known, chance(0.7))

    def _see(self, batch: Batch, mode: Tensor, target: Tensor) -> Seen:
        marked = F.one_hot(target.clamp(min=0), SLOTS).bool() & (target >= 0)[:, None]
        return self.network.see(batch["slots"], batch["present"], batch["boxes"], batch["own"], batch["context"], mode, marked)

    def _losses(self, batch: Batch, seen: Seen, known: Tensor, teach: Tensor) -> tuple[Tensor, Figures]:
        network, choice = self.network, batch["choice"]
        labelled = choice >= 0
        point, offset = seen.intent.new_zeros(()), seen.intent.new_zeros(())
        on_slot, ground = torch.nonzero((choice >= 0) & (choice < SLOTS))[:, 0], torch.nonzero(choice == SLOTS)[:, 0]
        if bool(labelled.any()):
            # One likelihood for both: a slot's probability, or the ground's density at the point.
            loss = torch.zeros_like(seen.intent)
            loss[on_slot] = -seen.log_p[on_slot, choice[on_slot]].clamp(min=-8)
            loss[ground] = -network.ground_log_density(_rows(seen, ground), batch["point"][ground, None])[:, 0].clamp(min=-8)
            open_ = torch.isfinite(seen.log_p[:, :SLOTS])
            spread = -(torch.where(open_, seen.log_p[:, :SLOTS], 0.0).sum(1) / open_.sum(1).clamp(min=1))
            point = (loss + self.settings.smoothing * spread)[labelled].mean()
            if len(on_slot):
                offset = F.smooth_l1_loss(seen.on_offset[on_slot, choice[on_slot]], batch["slot_offset"][on_slot], beta=0.3)
        with torch.no_grad():  # a choice and a place to aim at: nothing flows back through them
            guess, guessed = network.choose(seen)
        chosen = torch.where(labelled & teach, choice, guess)
        aim = torch.where((labelled & teach)[:, None], batch["point"], guessed)
        clicks, onsets, held = network.act(seen, chosen, aim, batch["cursor"], known, batch.get("cursor_past"))
        intent = F.binary_cross_entropy_with_logits(seen.intent, batch["intent"])
        click = F.binary_cross_entropy_with_logits(clicks, batch["click_soon"], pos_weight=clicks.new_tensor(2.0))
        keys = F.binary_cross_entropy_with_logits(onsets, batch["soon"], pos_weight=self._key_weights)
        down = F.binary_cross_entropy_with_logits(held, batch["held"])
        total = point + 0.5 * offset + intent + 2 * click + 10 * keys + down
        if self.settings.chunk.ticks > 1:
            total = total + executor_extras.chunk_loss(network, batch, seen, chosen, aim, known, self._key_weights)
        if self.settings.way_point:
            total = total + executor_extras.way_loss(batch, seen)
        return total, {n: float(v.detach()) for n, v in (("point", point), ("intent", intent), ("click", click), ("keys", keys))}

    def outputs(self, variant: int = 0, drop_target: bool = False, swap: bool = False) -> dict[str, Tensor]:
        """On the whole validation part, as in flight: the chosen point, probabilities and hazards. ``swap`` gives every row
        the pictures of a row far away but leaves its cursor."""
        found: dict[str, list[Tensor]] = {k: [] for k in ("log_p", "choice", "point", "intent", "click", "keys", "held")}
        v, total = self.validation, len(self.validation["choice"])
        for rows in torch.arange(total).split(512):
            batch = {name: values[rows] for name, values in v.items()}
            if swap:
                other = (rows + total // 2) % total
                batch |= {name: v[name][other] for name in ("slots", "present", "boxes", "own", "context")}
            target = torch.full_like(batch["choice"], -1) if drop_target else batch["target_slots"][:, variant]
            seen = self._see(batch, batch["modes"][:, variant], target)
            choice, point = self.network.choose(seen)
            hand = batch["cursor"], batch["cursor_known"], batch.get("cursor_past")
            clicks, onsets, held = self.network.act(seen, choice, point, *hand)
            if self.settings.chunk.ticks > 1:
                _, foretold = self.network.foretell(seen, choice, point, *hand)
                clicks = onsets = foretold  # [B, N, I]: what it flies by
            values = (seen.log_p.exp(), choice, point, seen.intent.sigmoid(), clicks.sigmoid(), onsets.sigmoid(), held.sigmoid())
            for name, value in zip(found, values, strict=True):
                found[name].append(value)
        return {name: torch.cat(parts) for name, parts in found.items()}

    def validate(self) -> Figures:
        v, parts = self.validation, list[tuple[float, int]]()
        for rows in torch.arange(len(v["choice"])).split(1024):
            batch = {name: values[rows] for name, values in v.items()}
            seen = self._see(batch, batch["modes"][:, 0], batch["target_slots"][:, 0])
            never = torch.zeros(len(rows), dtype=torch.bool, device=seen.intent.device)
            parts.append((float(self._losses(batch, seen, batch["cursor_known"], never)[0]), len(rows)))
        return {"val_loss": sum(loss * n for loss, n in parts) / sum(n for _, n in parts)}


def _rows(seen: Seen, rows: Tensor) -> Seen:
    return Seen(
        seen.slots[rows],
        seen.context[rows],
        seen.log_p[rows],
        seen.on_offset[rows],
        seen.on[rows],
        seen.on_spread[rows],
        seen.beside[rows],
        seen.spread[rows],
        seen.intent[rows],
        seen.way[rows],
    )


def train(
    sessions: Sequence[Steps],
    settings: ExecutorSettings,
    output_dir: Path,
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    split: Split | None = None,
    given: Conditioning | None = None,
    about: Mapping[str, Any] | None = None,
) -> Result:
    """Train on sessions. ``given`` is what the upper layers said (out of fold); without it they are taken as silent, but for
    the share of rows that get labels. ``about``: more for the card."""
    check_sessions(sessions)
    sessions, notes = without_bad_rows(sessions)
    device = pick_device(settings.loop.device, notes)
    split = split or split_of(sessions, settings.loop.seed)
    notes.append(split_note(sessions, split))
    full = _with_labels(sessions, given)
    sessions = lagged(sessions, settings.sampling.reaction_lag_ticks)
    seen = resample(sessions, settings.sampling.model, settings.loop.seed) if settings.sampling.live else unchanged(sessions)
    told = Conditioning(seen.rows(full.modes), seen.rows(full.targets))
    arrays = [
        examples(seen.sessions, seen.parts(split.train), told, settings.horizons, settings.extras),
        examples(sessions, split.validation, full, settings.horizons, settings.extras),
    ]
    if not arrays[0]:
        raise TrainingError("0 rows to learn from: record more play")
    profile = sessions[0].profile
    features = {"slots": slot_features(profile), "context": context_features(profile)}
    for i, what in enumerate(("executor", "executor, validation")):
        if arrays[i]:
            good = drop_bad_rows({k: arrays[i][k] for k in ("slots", "context", "boxes", "own")}, what, notes, features)
            arrays[i] = {name: values[good] for name, values in arrays[i].items()}
    if not arrays[1] or not len(arrays[1]["choice"]):
        notes.append("nothing is left to validate on: validating on the training rows; record a second session")
        arrays[1] = dict(arrays[0])
    fitted = Normaliser.fit(arrays[0]["slots"], arrays[0]["present"]), Normaliser.fit(arrays[0]["context"])
    shown = hide(dict(zip(features, zip(features.values(), fitted, strict=True), strict=True)), settings.hidden)
    slots, context = shown["slots"], shown["context"]
    for part in arrays:
        part["slots"] = slots.apply(part["slots"], part["present"])
        part["context"] = context.apply(part["context"])
    names = input_names(profile)
    notes += _data_notes(sessions, split, arrays[0], names)
    torch.manual_seed(settings.loop.seed)
    aspect = profile.picture_size[1] / profile.picture_size[0]
    network = make_network(len(features["slots"]), len(features["context"]), len(names), aspect, settings).to(device)
    rates = arrays[0]["soon"].mean(0)
    key_weights = torch.from_numpy(np.clip(0.08 / np.maximum(rates, 1e-4), 1, 12).astype(np.float32)).to(device)
    mirrors: Mirrors | None = None
    if profile.mirrored and settings.augment != "off":
        both = {"slots": (features["slots"], slots), "context": (features["context"], context)}
        places = ("boxes", "own", "cursor", "point", *(("path",) if settings.chunk.ticks > 1 else ()))
        places += ("cursor_past",) if settings.cursor_past else ()
        mirrors = Mirrors(both, device, ("slots",), places, ("slot_offset",))
    augmented = wanted(settings.augment, sessions)
    task = ExecutorTask(network, *(to_tensors(part, device) for part in arrays), settings, key_weights, mirrors, augmented)
    card = make_card(
        "executor",
        profile,
        **common_card(sessions, about),
        normaliser={"slots": slots.to_json(), "context": context.to_json()},
        split=split.to_json(),
        labels=labels_digest([part[:, -1] for part in (*full.modes, *full.targets)]),
        recipe=recipe_of(settings),
        network={"width": settings.width, "layers": settings.layers, "heads": settings.heads, **asdict(settings.extras)},
        chunk=asdict(settings.chunk),
        inputs=list(names),
    )
    for note in notes:
        report(Progress("note", 0.0, message=note, run_dir=str(output_dir)))
    result = fit(task, settings.loop, output_dir, card, report, resume, stop, lambda: _finish(task, arrays[1], sessions, names))
    return Result(result.run_dir, result.best, result.epochs, result.figures, result.interrupted, (*notes, *result.notes))


def make_network(slot_size: int, context_size: int, inputs: int, aspect: float, settings: ExecutorSettings) -> Executor:
    size = settings.width, settings.layers, settings.heads, settings.dropout
    return Executor(slot_size, context_size, len(MODES), inputs, aspect, *size, settings.extras)


def _with_labels(sessions: Sequence[Steps], given: Conditioning | None) -> Conditioning:
    """The upper layers' words with the labels as a last variant."""
    modes, targets = [], []
    for i, steps in enumerate(sessions):
        mode, target = label_modes(steps).astype(np.int64)[:, None], label_targets(steps)[:, None]
        said = given.modes[i] if given else np.full_like(mode, UNKNOWN_MODE)
        meant = given.targets[i] if given else np.full_like(target, -1)
        modes.append(np.concatenate([said, mode], axis=1))
        targets.append(np.concatenate([meant, target], axis=1))
    return Conditioning(modes, targets)


def _data_notes(sessions: Sequence[Steps], split: Split, arrays: Arrays, names: Sequence[str]) -> list[str]:
    rows = sum(b - a for p in split.train for a, b in usable_parts(sessions[p.session], p))
    learnt = len(arrays["choice"])
    onsets = arrays["onsets"].sum(0).astype(int)
    pressed = ", ".join(f"{n} {c}" for n, c in zip(names, onsets.tolist(), strict=True) if c)
    notes = [f"{learnt} examples, a moment and those before it each, of {rows} ticks; onsets: {pressed or 'none'}"]
    if not pressed:
        notes.append("nothing was ever pressed in these sessions: the policy will not act; record play with clicks or keys")
    if not arrays["present"].any():
        notes.append("no tracks in any session (no detector?): only the ground can be clicked")
    return notes


def _finish(task: ExecutorTask, arrays: Arrays, sessions: Sequence[Steps], names: Sequence[str]) -> dict[str, Any]:
    """Thresholds tuned on the validation part, and the figures that go with them."""
    size = sessions[0].profile.picture_size
    out = {name: values.cpu().numpy() for name, values in task.outputs().items()}
    if task.settings.chunk.ticks > 1:
        out |= {name: flown(out[name], arrays["stretch"], task.settings.chunk) for name in ("click", "keys")}
    tuned: dict[str, PressRule] = {}
    scores: dict[str, Any] = {}
    tick_s = float(np.median(np.concatenate([np.diff(s.time_ns) for s in sessions if len(s) > 1]))) / 1e9
    ever = task.train["onsets"].sum(0).cpu().numpy()
    held_s = {n: float(np.median(_runs(np.concatenate([_held(s, i) for s in sessions]))) * tick_s) for i, n in enumerate(names)}
    holds = [n for n, s in held_s.items() if s > HELD_S]
    edges = np.flatnonzero(np.diff(arrays["stretch"])) + 1
    stretches = list(itertools.pairwise([0, *edges.tolist(), len(arrays["stretch"])]))
    for i, name in enumerate(names):
        hazard = out["click"][:, i] if i < 2 else out["keys"][:, i]
        true = np.flatnonzero(arrays["onsets"][:, i])
        if i < 2:
            tuned[name] = _click_rule(hazard, true, int(ever[i]), tick_s)
        elif ever[i] >= FEWEST_PRESSES:
            rest_s = _shortest_s(sessions, i)
            tuned[name] = key_rule(hazard, len(true), task.key_weight(i), task.settings.key_ticks, tick_s, rest_s)
        else:
            tuned[name] = NEVER
        if name in holds and i >= 2:
            pressed = np.concatenate([a + begun_ticks(out["held"][a:b, i]) for a, b in stretches])
        else:
            pressed = np.concatenate([a + pressed_ticks(hazard[a:b], tuned[name], tick_s) for a, b in stretches])
        blind = np.concatenate([a + metrics.even_ticks(b - a, int(((a <= true) & (true < b)).sum())) for a, b in stretches])
        f1 = {f"f1_{ticks}": metrics.onset_score(pressed, true, ticks).f1 for ticks in (2, 0)}
        f1["even_2"] = metrics.onset_score(blind, true, 2).f1
        known = {ticks: round(value, 3) if np.isfinite(value) else None for ticks, value in f1.items()}
        scores[name] = {**known, "true": len(true), "pressed": len(pressed)}
    labelled = arrays["choice"] >= 0
    clicking = arrays["click"].any(1) & labelled
    figures = {
        f"{prefix}point_px": metrics.position_error(o["point"][clicking], arrays["point"][clicking], size)
        for prefix, o in _variants(task, out)
    }
    figures |= {
        f"{prefix}on_track": float((o["choice"] == arrays["choice"])[clicking & (arrays["choice"] < SLOTS)].mean())
        if (clicking & (arrays["choice"] < SLOTS)).any()
        else None
        for prefix, o in _variants(task, out)
    }
    before = _rows_before(arrays["stretch"], np.flatnonzero(clicking), round(BEFORE_S / tick_s))
    known = arrays["cursor_known"][before]
    figures["persistence_px"] = metrics.position_error(arrays["cursor"][before][known], arrays["point"][clicking][known], size)
    figures["causality"] = metrics.causality(out["point"], task.outputs(swap=True)["point"].cpu().numpy())
    return {
        "thresholds": {name: rule.to_json() for name, rule in tuned.items()},
        "onsets": scores,
        "points": {k: None if v is None or not np.isfinite(v) else round(v, 4) for k, v in figures.items()},
        "holds": holds,
        "tick_s": tick_s,
    }


def _click_rule(hazard: NDArray[Any], true: NDArray[np.int64], ever: int, tick_s: float) -> PressRule:
    """A click is wanted at its moment: the rule with the best F1 within two ticks."""
    few = len(true) < FEWEST_TO_TUNE
    tuned = metrics.tune_onsets(hazard, true, keeps=(0.0,)) if few else metrics.tune_onsets(hazard, true)
    threshold = min(tuned.threshold, 0.5) if few and ever >= 2 * FEWEST_TO_TUNE else tuned.threshold
    memory_s = -tick_s / math.log(tuned.keep) if tuned.keep else 0.0
    # Half a tick more, so that ticks that are not all of one length rest for as many as they were tuned for.
    return PressRule(threshold, round((tuned.refractory + 0.5) * tick_s, 3), memory_s=round(memory_s, 4))


def _shortest_s(sessions: Sequence[Steps], i: int) -> float:
    """How soon after one press of an input the next may come: as the player's quickest tenth, 0.1 to 0.4 s."""
    gaps: list[NDArray[np.int64]] = []
    for steps in sessions:
        rows = np.repeat(np.arange(len(steps)), np.diff(steps.onset_offsets))[steps.onset_codes == i]
        gaps.append(np.diff(steps.time_ns[rows]))
    known = np.concatenate(gaps)
    return round(float(np.clip(np.quantile(known, 0.1) / 1e9, 0.1, 0.4)), 3) if len(known) else 0.4


def _rows_before(stretch: NDArray[np.int64], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """``count`` rows earlier, but not before the stretch of each row began."""
    return np.maximum(rows - count, np.searchsorted(stretch, stretch[rows]))


def _variants(task: ExecutorTask, predicted: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    last = task.validation["modes"].shape[1] - 1
    dropped = {k: v.cpu().numpy() for k, v in task.outputs(drop_target=True).items()}
    told = {k: v.cpu().numpy() for k, v in task.outputs(variant=last).items()}
    return [("", predicted), ("dropped_", dropped), ("true_", told)]


def _held(steps: Steps, i: int) -> Any:
    return np.concatenate([((steps.held >> np.uint64(i)) & np.uint64(1)).astype(np.int8), np.zeros(1, np.int8)])


def _runs(down: Any) -> Any:
    """Lengths of runs of 1; a single 0 when there are none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], down, [0]])))
    lengths = edges[1::2] - edges[::2]
    return lengths if len(lengths) else np.zeros(1)
