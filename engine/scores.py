"""Normalised scores with honest intervals.

normalised = (policy - random) / (demonstrator - random), on the same episode seeds. The interval is a percentile
bootstrap over episodes; the denominators are resampled too, so their scatter is in the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate with its 95 % interval and the number of episodes behind it."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def mean_interval(scores: Sequence[float], seed: int = 0, draws: int = 4000) -> Interval:
    """The mean of episode scores. Raises ValueError when there are none."""
    values = _values(scores, "scores")
    rng = np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high), len(values))


def normalised_interval(
    policy: Sequence[float], demonstrator: Sequence[float], random: Sequence[float], seed: int = 0, draws: int = 4000
) -> Interval:
    """The normalised score of a policy. When the three were played on the same seeds (equal lengths), episodes are
    resampled jointly, else each list by itself. Raises ValueError when the demonstrator is no better than random
    (the scale has no length then)."""
    lists = [_values(policy, "policy"), _values(demonstrator, "demonstrator"), _values(random, "random")]
    points = [float(v.mean()) for v in lists]
    if points[1] <= points[2]:
        raise ValueError(f"the demonstrator ({points[1]:.2f}) scores no better than random ({points[2]:.2f}): no scale to measure on")
    rng = np.random.default_rng(seed)
    paired = len({len(v) for v in lists}) == 1
    rows = rng.integers(0, len(lists[0]), (draws, len(lists[0])))
    means = [v[rows if paired else rng.integers(0, len(v), (draws, len(v)))].mean(axis=1) for v in lists]
    # A resample whose denominator is not positive tells nothing about the ratio; it happens only with very few episodes.
    scale = means[1] - means[2]
    usable = scale > 1e-9
    ratios = (means[0] - means[2])[usable] / scale[usable]
    low, high = np.quantile(ratios, (0.025, 0.975)) if len(ratios) else (float("-inf"), float("inf"))
    return Interval((points[0] - points[2]) / (points[1] - points[2]), float(low), float(high), len(lists[0]))


def normalised_over_seeds(
    policies: Sequence[Sequence[float]], demonstrator: Sequence[float], random: Sequence[float], seed: int = 0, draws: int = 4000
) -> Interval:
    """The normalised score of a way of learning: ``policies`` are the episode scores of one policy a training seed, all on the same
    episode seeds as demonstrator and random. Training seeds and episodes are resampled, and with them the denominators; with few
    training seeds the interval knows little of their scatter. Raises ValueError where lengths differ or there is no scale."""
    if not policies:
        raise ValueError("policies: none was trained")
    lists = [_values(policy, f"policy {i}") for i, policy in enumerate(policies)]
    high, low = _values(demonstrator, "demonstrator"), _values(random, "random")
    lengths = {len(v) for v in (*lists, high, low)}
    if len(lengths) != 1:
        raise ValueError(f"policies, demonstrator and random must have been played on the same episodes; there are {sorted(lengths)}")
    scale = float(high.mean() - low.mean())
    if scale <= 0:
        raise ValueError(f"the demonstrator ({high.mean():.2f}) scores no better than random ({low.mean():.2f}): no scale to measure on")
    rng = np.random.default_rng(seed)
    table, n = np.stack(lists), len(high)
    rows = rng.integers(0, n, (draws, n))
    picked = rng.integers(0, len(lists), (draws, len(lists)))
    highs, lows = high[rows].mean(axis=1), low[rows].mean(axis=1)
    means = np.array([table[who][:, row].mean() for who, row in zip(picked, rows, strict=True)])
    usable = highs - lows > 1e-9
    ratios = (means - lows)[usable] / (highs - lows)[usable]
    bounds = np.quantile(ratios, (0.025, 0.975)) if len(ratios) else np.array([float("-inf"), float("inf")])
    return Interval((float(table.mean()) - float(low.mean())) / scale, float(bounds[0]), float(bounds[1]), n * len(lists))


def episodes_needed(gain: float, scatter: float, power: float = 0.8) -> int:
    """How many episodes a side a claim of this gain needs (two-sided 5 %, two independent means, normal
    approximation): n = 2 ((z_0.975 + z_power) scatter / gain)^2. ``gain`` and ``scatter`` in the same unit."""
    if gain <= 0 or scatter < 0:
        raise ValueError(f"gain {gain} must be positive and scatter {scatter} not negative")
    z_power = {0.5: 0.0, 0.8: 0.8416, 0.9: 1.2816}[power]
    return int(np.ceil(2.0 * ((1.96 + z_power) * scatter / gain) ** 2))


def _values(scores: Sequence[float], what: str) -> NDArray[np.float64]:
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{what}: no episodes were played")
    if not np.isfinite(values).all():
        raise ValueError(f"{what}: {int((~np.isfinite(values)).sum())} of {len(values)} scores are not finite")
    return values
