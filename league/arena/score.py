"""The one number a flight is judged by, and the lists of seeds it is judged on.

Weights are stated here and belong to ``RULES_VERSION``: whoever changes them changes it. Seed lists are disjoint by
construction, so that nothing tuned on one is judged on the same worlds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from league.arena.sizes import SHIP_KINDS
from league.arena.skirmish_rules import POINTS_CACHE, POINTS_LOOT
from league.arena.world import WorldState

KILL_POINTS: Final = (0.0, 1.0, 2.0, 2.0, 1.0, 8.0)
"""Points for a kill by ``ship_kind``."""
WEIGHTS: Final = {
    **{f"kills_{name}": points for name, points in zip(SHIP_KINDS[1:], KILL_POINTS[1:], strict=True)},
    "looted": POINTS_LOOT,
    "caches": POINTS_CACHE,
    "deaths": -3.0,
    "damage_taken": -0.5,
}
"""Points by counter. ``damage_taken`` counts full hp bars (100 hit points), lost from shield or hp alike."""

_FIRST_SEED: Final = {"train": 1_000_000, "validation": 2_000_000, "test": 3_000_000}
_LIST_SIZE: Final = 1_000_000


def counters(state: WorldState, i: int) -> dict[str, float]:
    """What seat 0 of world ``i`` has done so far: ``kills`` in all and by kind, and the rest of what a score is made of."""
    by_kind = state.kills[i, 0].tolist()
    found = {"kills": float(sum(by_kind))}
    found |= {f"kills_{name}": float(n) for name, n in zip(SHIP_KINDS[1:], by_kind[1:], strict=True)}
    return found | {name: float(getattr(state, name)[i, 0]) for name in ("looted", "caches", "deaths", "damage_taken", "damage_dealt")}


def score(state: WorldState) -> NDArray[np.float64]:
    """float64 [N]: the score of seat 0 so far, by ``WEIGHTS``."""
    total = state.kills[:, 0].astype(np.float64) @ np.array(KILL_POINTS)
    for name in ("looted", "caches", "deaths", "damage_taken"):
        total += WEIGHTS[name] * getattr(state, name)[:, 0].astype(np.float64)
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
