"""More play out of little: examples of the mirrored picture, and examples whose numbers tremble.

A game that looks the same in a mirror (``profile.mirrored``) is learnt from its mirror images too; the trembling keeps a network from
knowing single moments by heart. ``auto`` augments what there is little of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import torch
from torch import Tensor

from data.features import Feature, Normaliser, mirror
from data.profile import GameProfile
from data.settings import amount_of
from data.steps import Steps
from data.windows import play_s

Augment = Literal["auto", "on", "off"]
TREMBLE: Final = 0.03
"""Standard deviation of the trembling, in standard deviations of each feature."""
Batch = dict[str, Tensor]


def wanted(augment: Augment, sessions: Sequence[Steps]) -> bool:
    """Is this to be augmented?"""
    return augment == "on" or (augment == "auto" and amount_of(play_s(sessions)) == "small")


def tremble(values: Tensor, generator: torch.Generator, present: Tensor | None = None) -> Tensor:
    """Normalised features [..., D] with a little noise; absent entries stay 0. What is exactly 0 or never varies trembles too: a
    network must not lean on it."""
    noise = torch.randn(values.shape, generator=generator).to(values.device) * TREMBLE
    return values + (noise if present is None else noise * present[..., None])


class Mirrors:
    """Turns normalised examples into those of the mirrored picture. ``features``: by name of the input, its features and normaliser;
    ``slots``: those inputs of which absent entries are 0. Of ``places`` (0..1) and ``offsets`` (-1..1) the last axis is x, y."""

    def __init__(
        self,
        features: Mapping[str, tuple[tuple[Feature, ...], Normaliser]],
        device: torch.device,
        slots: Sequence[str] = (),
        places: Sequence[str] = (),
        offsets: Sequence[str] = (),
    ) -> None:
        self._slots, self._places, self._offsets = frozenset(slots), tuple(places), tuple(offsets)
        self._columns: list[dict[str, tuple[Tensor, Tensor]]] = []
        for axis in (0, 1):
            found: dict[str, tuple[Tensor, Tensor]] = {}
            for name, (columns, norm) in features.items():
                scale, shift = mirror(columns, axis)
                shift = (scale * norm.mean + shift - norm.mean) / norm.std
                found[name] = (torch.from_numpy(scale).to(device), torch.from_numpy(shift).float().to(device))
            self._columns.append(found)

    def apply(self, batch: Batch, flips: Sequence[Tensor]) -> Batch:
        """``flips``: which rows are mirrored along each axis."""
        done = dict(batch)
        for axis, flip in enumerate(flips):
            for name, (scale, shift) in self._columns[axis].items():
                values = done[name]
                turned = values * scale + shift
                if name in self._slots:
                    turned = turned * batch["present"][..., None]
                done[name] = torch.where(flip.view(-1, *[1] * (values.dim() - 1)), turned, values)
            for name in (*self._places, *self._offsets):
                values = done[name].clone()
                whole = 0.0 if name in self._offsets else 1.0
                values[flip, ..., axis] = whole - values[flip, ..., axis]
                done[name] = values
        return done


def mirrors_of(
    profile: GameProfile, features: Mapping[str, tuple[tuple[Feature, ...], Normaliser]], device: torch.device, slots: Sequence[str] = ()
) -> Mirrors | None:
    """Mirrors of plain features; None in a game that does not look the same in a mirror."""
    return Mirrors(features, device, slots) if profile.mirrored else None
