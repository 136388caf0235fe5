"""When an input is pressed, from the chance that the Executor gives it in each tick.

A click is made where its chance is high: a threshold, tuned on validation play. For keys no threshold is right. One that finds
as many presses as the person made leaves the game in states that nobody who can play stays in (an enemy marked, and not shot
at); nothing was learnt of those, the chance stays below the threshold, and the key is never pressed. One low enough for that
presses two to ten times as often as the person did.

So presses of a key are taken for what they are, events of a point process whose rate the Executor foretells. Between two of
them the rate's integral is exponentially distributed with mean 1 (time-rescaling theorem: Brown et al., 2002). In flight it is
summed up from press to press, and the next one is due at a half: the person would have pressed by then in two of five cases. A
small chance that lasts leads to a press, and at most twice as many are made as are foretold, however small the chances are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DUE: Final = 0.5
"""Summed rate at which a press is due. At 1 as many are made as are foretold, and late; sooner flies better (decision 23)."""
PRIOR_PRESSES: Final = 5.0
"""Presses that what the Executor says of itself is worth, beside those that were counted."""


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

    def expected(self, hazard: float, dt_s: float) -> float:
        """Presses to be expected within ``dt_s`` seconds."""
        return self.rate_s * dt_s * unweighted(hazard, self.weight) if self.rate_s else 0.0

    def __post_init__(self) -> None:
        for name, low, high in (("threshold", 0.0, 10.0), ("refractory_s", 0.0, 60.0), ("weight", 1e-6, 1e6), ("rate_s", 0.0, 1e4)):
            if not low <= getattr(self, name) <= high:  # NaN fails too
                raise ValueError(f"when an input is pressed: {name} {getattr(self, name)}; it lies in {low} to {high}")

    def to_json(self) -> dict[str, float]:
        told = {"threshold": self.threshold, "refractory_s": self.refractory_s}
        return told | ({"weight": self.weight, "rate_s": self.rate_s} if self.rate_s else {})


NEVER: Final = PressRule(2.0, 0.0)


def unweighted(hazard: Any, weight: float) -> Any:
    """Chances that were learnt with positive examples weighing ``weight``, as they are without."""
    return hazard / (hazard + weight * (1.0 - hazard))


@dataclass(slots=True)
class Presser:
    """One input in one flight: how much is due, and when it was pressed last."""

    rule: PressRule
    due: float = 0.0
    pressed_ns: int | None = None

    def ready(self, hazard: float, now_ns: int, dt_s: float, scale: float = 1.0) -> bool:
        """Whether it is to be pressed in this tick, ``dt_s`` after the one before; to be asked once a tick. ``scale`` multiplies the
        threshold."""
        if self.pressed_ns is not None and now_ns - self.pressed_ns <= self.rule.refractory_s * 1e9:
            return False  # what was likely is done, so that nothing of it is summed up
        self.due += self.rule.expected(hazard, dt_s)
        return hazard >= self.rule.threshold * scale or (self.rule.rate_s > 0 and self.due >= DUE)

    def book(self, now_ns: int) -> None:
        """It was pressed."""
        self.pressed_ns, self.due = now_ns, 0.0


def pressed_ticks(hazards: NDArray[Any], rule: PressRule, tick_s: float, scale: float = 1.0) -> NDArray[np.int64]:
    """Ticks of ``hazards`` [T] in which a flight through them would press."""
    presser, found = Presser(rule), []
    tick_ns = round(tick_s * 1e9)
    for t, hazard in enumerate(hazards.tolist()):
        if presser.ready(hazard, t * tick_ns, tick_s, scale):
            presser.book(t * tick_ns)
            found.append(t)
    return np.array(found, np.int64)


def key_rule(
    hazards: Sequence[float] | NDArray[Any], presses: int, weight: float, ahead: int, tick_s: float, refractory_s: float
) -> PressRule:
    """The rule of a key from validation play [T], in which it was pressed ``presses`` times.

    ahead: ticks within which a press counted in training, so that a chance of 1 lasting a tick would be one press in ``ahead``;
    that is what a key is taken for until its presses are counted. At once it is pressed when that is likelier than not.
    """
    chances = unweighted(np.asarray(hazards, np.float64), weight)
    per_tick = (presses + PRIOR_PRESSES) / (float(chances.sum()) + PRIOR_PRESSES * ahead)
    return PressRule(weight / (1.0 + weight), refractory_s, weight, per_tick / tick_s)
