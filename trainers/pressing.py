"""When an input is pressed, from the chance that the Executor gives it in each tick.

A click is made where its chance is high: a threshold, tuned on validation play, on the chance of this tick and those before, which
fade. (Without a memory the best threshold is passed as soon as the chance begins to rise, a tick or two before the person clicks.)
For keys no threshold is right. One that finds
as many presses as the person made leaves the game in states that nobody who can play stays in (an enemy marked, and not shot
at); nothing was learnt of those, the chance stays below the threshold, and the key is never pressed. One low enough for that
presses up to five times as often as the person did.

So presses of a key are taken for what they are, events of a point process whose rate the Executor foretells. Between two of
them the rate's integral is exponentially distributed with mean 1 (time-rescaling theorem: Brown et al., 2002). In flight it is
summed up from press to press, and the next one is due at 0.3: the person would have pressed by then in one of four cases. A small
chance that lasts leads to a press, and by the sum no more than 1 / 0.3 as many are made as are foretold. Where a press is likelier
than not within the time that a chance speaks of, it is made at once, whatever the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DUE: Final = 0.3
"""Summed rate at which a press is due, unless a rule says otherwise: chosen in flight on validation worlds (``benchmarks/pressing.py``,
decision 23). At 1 as many are made as are foretold, and late."""
PRIOR_PRESSES: Final = 5.0
"""Presses that what the Executor says of itself is worth, beside those that were counted."""
HELD_FROM: Final = 0.5
"""Chance from which an input that players hold is down."""
RANGES: Final = {
    "threshold": (0.0, 10.0),
    "refractory_s": (0.0, 60.0),
    "weight": (1e-6, 1e6),
    "rate_s": (0.0, 1e4),
    "due": (1e-3, 1e3),
    "memory_s": (0.0, 60.0),
}


@dataclass(frozen=True, slots=True)
class PressRule:
    """Of one input; ``Presser`` goes by it. Raises ValueError naming a number that is out of range."""

    threshold: float
    """Chance, as the network says it, from which it is pressed at once; above 1 never."""
    refractory_s: float
    """No press within this time of the one before."""
    weight: float = 1.0
    """What ticks with a press weighed in training: the chances are too high by that."""
    rate_s: float = 0.0
    """Presses a second that a chance of 1 (weight taken out) stands for; 0: only the threshold counts."""
    due: float = DUE
    """Presses foretold since the last one at which the next is made."""
    memory_s: float = 0.0
    """Time in which what was likely fades to 1 / e: the threshold is for the sum of this tick's chance and of those before. 0: this tick's
    alone."""

    def expected(self, hazard: float, dt_s: float) -> float:
        """Presses to be expected within ``dt_s`` seconds."""
        return self.rate_s * dt_s * unweighted(hazard, self.weight)

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:  # NaN fails too
                raise ValueError(f"when an input is pressed: {name} {getattr(self, name)}; it lies in {low} to {high}")

    def to_json(self) -> dict[str, float]:
        told = {"threshold": self.threshold, "refractory_s": self.refractory_s}
        told |= {"memory_s": self.memory_s} if self.memory_s else {}
        return told | ({"weight": self.weight, "rate_s": self.rate_s, "due": self.due} if self.rate_s else {})


NEVER: Final = PressRule(2.0, 0.0)


def unweighted(hazard: Any, weight: float) -> Any:
    """Chances that were learnt with positive examples weighing ``weight``, as they are without."""
    return hazard / (hazard + weight * (1.0 - hazard))


def weighted(chance: Any, weight: float) -> Any:
    """The other way round: chances as a network says them that learnt with positive examples weighing ``weight``."""
    return unweighted(chance, 1.0 / weight)


@dataclass(slots=True)
class Presser:
    """One input in one flight: how much is due, and when it was pressed last."""

    rule: PressRule
    due: float = 0.0
    likely: float = 0.0
    """Chances of this tick and of those before, faded."""
    pressed_ns: int | None = None

    def tick(self, hazard: float, now_ns: int, dt_s: float, scale: float = 1.0) -> bool:
        """One tick, ``dt_s`` after the one before: whether the input is to be pressed in it. ``scale`` multiplies the threshold."""
        if self.pressed_ns is not None and now_ns - self.pressed_ns <= self.rule.refractory_s * 1e9:
            return False  # what was likely is done, so that nothing of it is summed up
        expected = self.rule.expected(hazard, dt_s)
        if expected > 0:  # not if it is no number
            self.due += expected
        memory_s = self.rule.memory_s
        self.likely = hazard + (self.likely * math.exp(-dt_s / memory_s) if memory_s and math.isfinite(self.likely) else 0.0)
        return self.likely >= self.rule.threshold * scale or self.due >= self.rule.due

    def book(self, now_ns: int) -> None:
        """It was pressed."""
        self.pressed_ns, self.due, self.likely = now_ns, 0.0, 0.0


def pressed_ticks(hazards: NDArray[Any], rule: PressRule, tick_s: float, scale: float = 1.0) -> NDArray[np.int64]:
    """Ticks of ``hazards`` [T] in which a flight through them would press."""
    presser, found = Presser(rule), []
    tick_ns = round(tick_s * 1e9)
    for t, hazard in enumerate(hazards.tolist()):
        if presser.tick(hazard, t * tick_ns, tick_s, scale):
            presser.book(t * tick_ns)
            found.append(t)
    return np.array(found, np.int64)


def begun_ticks(held: NDArray[Any]) -> NDArray[np.int64]:
    """Ticks in which a flight would begin to hold an input, from the chances that it is down [T]."""
    down = np.asarray(held) > HELD_FROM
    return np.flatnonzero(down & ~np.concatenate([[False], down[:-1]]))


def key_rule(
    hazards: Sequence[float] | NDArray[Any], presses: int, weight: float, ahead: int, tick_s: float, refractory_s: float
) -> PressRule:
    """The rule of a key from validation play [T], in which it was pressed ``presses`` times.

    ahead: ticks within which a press counted in training, so that a chance of 1 lasting a tick would be one press in ``ahead``;
    that is what a key is taken for until its presses are counted. It is pressed at once when a press within ``ahead`` ticks is
    likelier than not, by what was counted.
    """
    chances = unweighted(np.asarray(hazards, np.float64), weight)
    per_tick = (presses + PRIOR_PRESSES) / (float(chances.sum()) + PRIOR_PRESSES * ahead)
    likely = 0.5 / (per_tick * ahead)
    threshold = weighted(likely, weight) if likely <= 1 else NEVER.threshold
    return PressRule(threshold, refractory_s, weight, per_tick / tick_s)
