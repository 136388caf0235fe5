"""Figures that can't flatter: balanced accuracy and recalls, onset F1, position error, baselines, causality.

Pure numpy on label and prediction arrays. Legend: T ticks, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class OnsetScore:
    """How well predicted onsets meet the true ones, one to one, within a tolerance; NaN where there were none on either side."""

    f1: float
    precision: float
    recall: float
    predicted: int
    true: int


def recalls(labels: NDArray[Any], predicted: NDArray[Any], classes: int) -> NDArray[np.float64]:
    """[C] share of each class found; NaN for a class without rows. Unlabelled rows (below 0) are left out."""
    found = np.full(classes, np.nan)
    for c in range(classes):
        mine = labels == c
        if mine.any():
            found[c] = float((predicted[mine] == c).mean())
    return found


def balanced_accuracy(labels: NDArray[Any], predicted: NDArray[Any], classes: int) -> float:
    """Mean recall over the classes that occur; NaN when nothing is labelled."""
    found = recalls(labels, predicted, classes)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")


def histogram(labels: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """[C] labelled rows of each class."""
    return np.bincount(labels[labels >= 0].astype(np.int64), minlength=classes)


def majority_accuracy(labels: NDArray[Any]) -> float:
    """What always saying the commonest class would get."""
    known = labels[labels >= 0]
    return float(np.bincount(known).max() / len(known)) if len(known) else float("nan")


def persistence_accuracy(labels: NDArray[Any]) -> float:
    """What saying the row before's label would get (it may not be known live; a figure to beat, not a rule). labels [..., T]: rows of
    different windows are no neighbours."""
    now, before = labels[..., 1:], labels[..., :-1]
    known = (now >= 0) & (before >= 0)
    return float((now == before)[known].mean()) if known.any() else float("nan")


def imbalance_warning(counts: NDArray[np.int64], names: Sequence[str], share: float = 0.1) -> str:
    """A line with the percentages when a class that occurs has less than ``share`` of the labels; else empty."""
    total = int(counts.sum())
    if not total:
        return "no row is labelled"
    rare = [n for n, c in zip(names, counts.tolist(), strict=True) if 0 < c < share * total]
    absent = [n for n, c in zip(names, counts.tolist(), strict=True) if c == 0]
    if not rare and not absent:
        return ""
    listed = ", ".join(f"{n} {100 * c / total:.1f} %" for n, c in zip(names, counts.tolist(), strict=True))
    return f"uneven classes: {listed}; rare ones weigh more, and recall is shown for each"


def balanced_weights(counts: NDArray[np.int64], power: float = 0.5) -> NDArray[np.float32]:
    """[C] loss weights that lift rare classes; mean 1 over the rows, absent classes 1."""
    share = counts / max(1, counts.sum())
    weights = np.where(counts > 0, np.maximum(share, 1e-3) ** -power, 0.0)
    mean = float((weights * share).sum()) or 1.0
    return np.where(counts > 0, weights / mean, 1.0).astype(np.float32)


def onset_score(predicted: NDArray[Any], true: NDArray[Any], tolerance: int) -> OnsetScore:
    """F1 of onset ticks (sorted tick numbers), each true one met by at most one prediction within ``tolerance`` ticks.

    Without any onset on either side nothing was measured: NaN, not perfect agreement.
    """
    hits, i, j = 0, 0, 0
    while i < len(predicted) and j < len(true):
        if abs(int(predicted[i]) - int(true[j])) <= tolerance:
            hits, i, j = hits + 1, i + 1, j + 1
        elif predicted[i] < true[j]:
            i += 1
        else:
            j += 1
    if not len(predicted) and not len(true):
        nan = float("nan")
        return OnsetScore(nan, nan, nan, 0, 0)
    precision = hits / len(predicted) if len(predicted) else 0.0
    recall = hits / len(true) if len(true) else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return OnsetScore(f1, precision, recall, len(predicted), len(true))


def fire(hazards: NDArray[Any], threshold: float, refractory: int) -> NDArray[np.int64]:
    """Ticks at which a hazard over ``threshold`` fires, none within ``refractory`` ticks of the one before."""
    over = np.flatnonzero(hazards >= threshold)
    fired: list[int] = []
    for tick in over.tolist():
        if not fired or tick - fired[-1] > refractory:
            fired.append(tick)
    return np.array(fired, np.int64)


def even_ticks(ticks: int, count: int) -> NDArray[np.int64]:
    """``count`` onsets at even intervals within ``ticks`` ticks: what pressing as often, without looking, comes to."""
    return np.linspace(0, ticks, count + 2)[1:-1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class TunedOnsets:
    """When a hazard fires: where the sum of this tick's and of those before, each tick fading to the share ``keep``, passes ``threshold``,
    but not within ``refractory`` ticks of the last time. ``f1``: what it had where it was tuned; NaN where nothing was to be met."""

    threshold: float
    refractory: int
    keep: float
    f1: float


def tune_onsets(
    hazards: NDArray[Any],
    true: NDArray[Any],
    tolerance: int = 2,
    refractories: Sequence[int] = (2, 4, 6, 8),
    keeps: Sequence[float] = (0.0, 0.5, 0.7, 0.85),
) -> TunedOnsets:
    """The rule with the best onset F1 on hazards [T] whose true onsets are at ticks ``true``. Ties go to the shorter memory and the lower
    threshold, since a policy that never acts is the worse mistake. With no true onset: a threshold that is never reached, and NaN."""
    if not len(true):
        return TunedOnsets(1.01, int(refractories[0]), 0.0, float("nan"))
    if not len(hazards):
        return TunedOnsets(0.5, int(refractories[0]), 0.0, 0.0)
    candidates = np.unique(
        np.concatenate([np.quantile(hazards, 1 - np.geomspace(0.25 * len(true) / len(hazards), 0.5, 24).clip(0, 1)), [0.5]])
    )
    asked = candidates[candidates >= 0.02]
    thresholds, rests = (grid.ravel() for grid in np.meshgrid(asked, np.asarray(refractories), indexing="ij"))
    best = TunedOnsets(0.5, int(refractories[0]), 0.0, -1.0)
    for keep in keeps:
        for threshold, rest, fired in zip(thresholds.tolist(), rests.tolist(), fire_all(hazards, thresholds, rests, keep), strict=True):
            score = onset_score(fired, true, tolerance).f1
            if score > best.f1 + 1e-9:
                best = TunedOnsets(threshold, int(rest), keep, score)
    if best.f1 < 0.2:
        # Nothing meets the true ticks well: then at least press as often as the player did.
        rate = min(candidates.tolist(), key=lambda t: abs(len(fire(hazards, t, best.refractory)) - len(true)))
        best = TunedOnsets(float(rate), best.refractory, 0.0, best.f1)
    return best


def fire_all(
    hazards: NDArray[Any], thresholds: NDArray[np.floating[Any]], refractories: NDArray[np.integer[Any]], keep: float = 0.0
) -> list[NDArray[np.int64]]:
    """Of each of N rules the ticks at which it fires (see ``TunedOnsets``) through hazards [T]."""
    likely, rested = np.zeros(len(thresholds)), np.full(len(thresholds), len(hazards) + int(refractories.max(initial=0)))
    fired = np.zeros((len(hazards), len(thresholds)), np.bool_)
    for tick, hazard in enumerate(hazards.tolist()):
        rested += 1
        likely = np.where(rested > refractories, likely * keep + hazard, 0.0)
        hit = fired[tick] = likely >= thresholds
        hit &= rested > refractories
        likely[hit], rested[hit] = 0.0, 0
    return [np.flatnonzero(column) for column in fired.T]


def position_error(predicted: NDArray[Any], true: NDArray[Any], picture_size: tuple[int, int]) -> float:
    """Median distance in px of points [T, 2] in 0..1; NaN when there are none."""
    if not len(true):
        return float("nan")
    return float(np.median(np.hypot(*((predicted - true) * np.array(picture_size)).T)))


def causality(points: NDArray[Any], swapped: NDArray[Any], tolerance: float = 0.03) -> float:
    """How much the policy goes by what it sees: the share of rows whose point [T, 2] moves by more than ``tolerance`` (0..1 of
    the picture) when the pictures are swapped for others and all else is kept. 0: a copycat that does not look."""
    return float((np.abs(points - swapped).max(1) > tolerance).mean()) if len(points) else float("nan")
