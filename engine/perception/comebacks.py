"""Does a thing that is not found come back? What a tracker has seen of its own detector, counted.

A detector that misses much makes things flicker that are there; one that misses little is right when it finds nothing, and what is
carried on all the same is a ghost: a killed enemy, loot that was taken. Which it is shows in what became of those not found before, of
this class, after as many pictures, hidden by something or not. Shares of Laplace's rule: one that came back and one that did not are
counted beforehand, so that half a chance is where nothing is known. The first picture without a thing is forgiven whatever the counts
say: a ghost of one picture is seen for less time than anybody needs to answer it, and a thing that flickers is answered at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.schema import I32

MOST_PICTURES: Final = 8
"""Longer ones are counted with those of so many pictures."""
FORGIVEN: Final = 1
"""In so many pictures in a row a thing may not be found, and is shown."""
LEAST_SHARE: Final = 0.5
"""A thing is shown on while more than this share came back."""

Bool = NDArray[np.bool_]


class Comebacks:
    """Counts by class. ``trusted`` [classes]: those that are shown on at first, before anything is known of them."""

    def __init__(self, trusted: Bool) -> None:
        self._counts = np.zeros((2, len(trusted), 2, MOST_PICTURES))  # gone and back; class; hidden; pictures in a row
        self._trusted = trusted

    def ended(self, classes: I32, hidden: Bool, pictures: I32, back: bool) -> None:
        """Things [N] that were not found in so many pictures in a row were found again, or were given up. ``hidden``: something else lay
        where they were last expected."""
        for kind, covered, count in zip(classes.tolist(), hidden.tolist(), pictures.tolist(), strict=True):
            self._counts[int(back), kind, int(covered), : min(count, MOST_PICTURES)] += 1

    def add(self, other: Comebacks) -> None:
        """What another tracker of the same detector has seen, too."""
        self._counts += other._counts

    def likely(self, classes: I32, hidden: Bool, pictures: I32) -> Bool:
        """[N] is each of these things, not found in so many pictures in a row (1 or more), still there?"""
        at = classes, hidden.astype(np.intp), np.clip(pictures, 1, MOST_PICTURES) - 1
        return (pictures <= FORGIVEN) | _mostly(self._counts[:, *at], self._trusted[classes])

    def shown_pictures(self) -> list[int]:
        """By class, in how many pictures in a row a thing that is not found is shown on, hidden or not taken together."""
        on = _mostly(self._counts.sum(axis=2), self._trusted[:, None])
        return [max(FORGIVEN, int(np.minimum.accumulate(row).sum())) for row in on]


def _mostly(counts: NDArray[np.float64], trusted: Bool) -> Bool:
    """Did more than ``LEAST_SHARE`` come back, of ``counts`` [2, ...] (gone and back)? Just as many: those that are trusted."""
    gone, back = counts
    share = (back + 1) / (gone + back + 2)
    return np.asarray((share > LEAST_SHARE) | ((share == LEAST_SHARE) & trusted), np.bool_)
