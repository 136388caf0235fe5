"""The one number a flight is judged by, and the lists of seeds it is judged on.

Weights are stated here and belong to ``RULES_VERSION``: whoever changes them changes it. Seed lists are disjoint by
construction, so that nothing tuned on one is judged on the same worlds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from league.arena.world import WorldState

WEIGHTS: Final = {
    "kills_drone": 1.0,
    "kills_raider": 2.0,
    "looted": 0.5,
    "deaths": -3.0,
    "damage_taken": -0.5,
}
"""Points by counter. ``damage_taken`` counts full hp bars (100 hit points), lost from shield or hp alike."""

_FIRST_SEED: Final = {"train": 1_000_000, "validation": 2_000_000, "test": 3_000_000}
_LIST_SIZE: Final = 1_000_000


def score(state: WorldState) -> NDArray[np.float64]:
    """float64 [N]: the score of seat 0 so far, by ``WEIGHTS``."""
    total = np.zeros(len(state), np.float64)
    for name, weight in WEIGHTS.items():
        total += weight * getattr(state, name)[:, 0].astype(np.float64)
    return total


def seeds(name: str, count: int, start: int = 0) -> NDArray[np.int64]:
    """int64 [count]: seeds ``start`` to ``start + count`` of the list "train", "validation" or "test".

    Raises ValueError for another name or a range outside the list.
    """
    if name not in _FIRST_SEED:
        raise ValueError(f"arena seeds: no list is called {name!r}; use one of {', '.join(_FIRST_SEED)}")
    if count < 0 or start < 0 or start + count > _LIST_SIZE:
        raise ValueError(f"arena seeds {name}: {start} to {start + count} is outside the list of {_LIST_SIZE}")
    return np.arange(start, start + count, dtype=np.int64) + _FIRST_SEED[name]
