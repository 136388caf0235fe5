"""Normalised scores with honest intervals.

normalised = (policy - random) / (demonstrator - random), on the same episode seeds. Intervals are Student's t (1908) over episodes, with
n - 1 degrees of freedom, so that they are wide where episodes are few; a percentile bootstrap of 5 episodes misses the truth three times
as often as it says. A ratio is made linear first (the delta method: Casella and Berger, "Statistical Inference", 5.5.4), so the scatter
of the denominators is in its interval; where parts scatter apart from each other, their degrees of freedom are those of Satterthwaite
(1946), which for two lists are Welch's (1947). With fewer than two episodes an interval is infinite: it knows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

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


def mean_interval(scores: Sequence[float]) -> Interval:
    """The mean of episode scores. Raises ValueError when there are none."""
    values = _values(scores, "scores")
    return _interval(float(values.mean()), [_scatter(values)], len(values))


def difference_interval(first: Sequence[float], second: Sequence[float], paired: bool) -> Interval:
    """How much higher the second's mean is: over pairs of episodes on the same seed (equal lengths then), or of two lists of their own
    (Welch). Raises ValueError when there are none, or pairs are not."""
    a, b = _values(first, "first"), _values(second, "second")
    if paired and len(a) != len(b):
        raise ValueError(f"pairs need as many episodes of both: {len(a)} and {len(b)}")
    parts = [_scatter(b - a)] if paired else [_scatter(a), _scatter(b)]
    return _interval(float(b.mean() - a.mean()), parts, min(len(a), len(b)))


def normalised_interval(policy: Sequence[float], demonstrator: Sequence[float], random: Sequence[float]) -> Interval:
    """The normalised score of a policy. When the three were played on the same seeds (equal lengths), their episodes scatter together,
    else each list by itself. Raises ValueError when the demonstrator is no better than random (the scale has no length then)."""
    lists = [_values(policy, "policy"), _values(demonstrator, "demonstrator"), _values(random, "random")]
    ours, high, low = (float(v.mean()) for v in lists)
    scale = _scale(high, low)
    value = (ours - low) / scale
    # The ratio's slopes by the three means: 1, -value and value - 1, all over the scale.
    slopes = [slope * v / scale for slope, v in zip((1.0, -value, value - 1.0), lists, strict=True)]
    paired = len({len(v) for v in lists}) == 1
    parts = [_scatter(slopes[0] + slopes[1] + slopes[2])] if paired else [_scatter(v) for v in slopes]
    return _interval(value, parts, len(lists[0]))


def normalised_over_seeds(policies: Sequence[Sequence[float]], demonstrator: Sequence[float], random: Sequence[float]) -> Interval:
    """The normalised score of a way of learning: ``policies`` are the episode scores of one policy a training seed, all on the same
    episode seeds as demonstrator and random. The scatter of training seeds (S) and of episodes (n) is told apart as in a crossed
    analysis of variance; one training seed says nothing of the first, and two or three say little: the interval is wide then. Raises
    ValueError where lengths differ or there is no scale."""
    if not policies:
        raise ValueError("policies: none was trained")
    lists = [_values(policy, f"policy {i}") for i, policy in enumerate(policies)]
    highs, lows = _values(demonstrator, "demonstrator"), _values(random, "random")
    lengths = {len(v) for v in (*lists, highs, lows)}
    if len(lengths) != 1:
        raise ValueError(f"policies, demonstrator and random must have been played on the same episodes; there are {sorted(lengths)}")
    table_Sn = np.stack(lists)
    scale = _scale(float(highs.mean()), float(lows.mean()))
    value = (float(table_Sn.mean()) - float(lows.mean())) / scale
    linear_Sn = (table_Sn - value * highs + (value - 1.0) * lows) / scale
    seeds, n = linear_Sn.shape
    by_episode = _scatter(linear_Sn.mean(axis=0))
    if seeds < 2 or n < 2:
        return _interval(value, [by_episode], seeds * n)
    by_seed = _scatter(linear_Sn.mean(axis=1))
    rest_Sn = linear_Sn - linear_Sn.mean(axis=0) - linear_Sn.mean(axis=1, keepdims=True) + linear_Sn.mean()
    free = (seeds - 1) * (n - 1)
    both = float((rest_Sn**2).sum()) / free / (seeds * n)  # what is neither the seed's nor the episode's is in both parts: once is enough
    variance = max(by_seed[0] + by_episode[0] - both, by_seed[0], by_episode[0])
    return _interval(value, [by_seed, by_episode, (both, free)], seeds * n, variance)


def jackknife_interval(value: float, without: Sequence[float]) -> Interval:
    """Of any figure of G parts of play: ``without`` [G] holds the figure with each of them left out in turn. The delete-a-group
    jackknife (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 11; Kott 2001, "The delete-a-group jackknife"):
    variance (G - 1) / G * sum (without - mean)^2, G - 1 degrees of freedom. Infinite with fewer than two parts, or where the figure is
    not known without each."""
    values = np.asarray(without, np.float64)
    n = len(values)
    if n < 2 or not np.isfinite(values).all() or not math.isfinite(value):
        return Interval(value, -math.inf, math.inf, n)
    variance = (n - 1) / n * float(((values - values.mean()) ** 2).sum())
    return _interval(value, [(variance, n - 1)], n)


def episodes_needed(gain: float, scatter: float, power: float = 0.8) -> int:
    """How many episodes a side a claim of this gain needs (two-sided 5 %, two independent means, normal
    approximation): n = 2 ((z_0.975 + z_power) scatter / gain)^2. ``gain`` and ``scatter`` in the same unit."""
    if gain <= 0 or scatter < 0:
        raise ValueError(f"gain {gain} must be positive and scatter {scatter} not negative")
    z_power = {0.5: 0.0, 0.8: 0.8416, 0.9: 1.2816}[power]
    return int(np.ceil(2.0 * ((1.96 + z_power) * scatter / gain) ** 2))


@lru_cache(maxsize=1024)
def student_t(free: float) -> float:
    """The point that |t| stays below in 95 % of cases, for ``free`` >= 1 degrees of freedom, which need not be whole.

    With t = sqrt(free) tan(angle) the density of t is proportional to cos(angle)^(free - 1), smooth on a quarter turn.
    """
    free = min(free, 1e4)  # from there on it is the normal distribution's 1.960
    angles = np.linspace(0.0, np.pi / 2, 4097)
    density = np.cos(angles) ** (free - 1.0)
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(free) * math.tan(cast("float", np.interp(0.95 * below[-1], below, angles)))


def _interval(value: float, parts: Sequence[tuple[float, float]], n: int, variance: float | None = None) -> Interval:
    """Of the variances of the mean with their degrees of freedom; ``variance``: their sum, where they do not just add up."""
    if any(free < 1 for _, free in parts):
        return Interval(value, -math.inf, math.inf, n)
    total = sum(v for v, _ in parts) if variance is None else variance
    below = sum(v * v / free for v, free in parts)
    half = student_t(max(1.0, total * total / below)) * math.sqrt(total) if below > 0 else 0.0
    return Interval(value, value - half, value + half, n)


def _scatter(values: NDArray[np.float64]) -> tuple[float, float]:
    """The variance of the mean, and its degrees of freedom."""
    n = len(values)
    return (float(values.var(ddof=1)) / n if n > 1 else math.nan, n - 1)


def _scale(high: float, low: float) -> float:
    if high <= low:
        raise ValueError(f"the demonstrator ({high:.2f}) scores no better than random ({low:.2f}): no scale to measure on")
    return high - low


def _values(scores: Sequence[float], what: str) -> NDArray[np.float64]:
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{what}: no episodes were played")
    if not np.isfinite(values).all():
        raise ValueError(f"{what}: {int((~np.isfinite(values)).sum())} of {len(values)} scores are not finite")
    return values
