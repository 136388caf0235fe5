"""Drawn gauges: bars of every direction with borders, shading, letters and noise, whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.profile import Colour
from data.schema import Image


@dataclass(frozen=True)
class Bar:
    """``box`` is left, top, width, height in px of a 320x180 picture. ``shade``: how much brighter the bar's first line
    is than its last, across its thickness; ``ramp``: the same along its length."""

    box: tuple[int, int, int, int]
    direction: str
    colour: Colour
    groove: Colour
    back: Colour = (22, 24, 40)
    border: Colour | None = None
    shade: int = 0
    ramp: int = 0
    noise: int = 0

    def length(self) -> int:
        return self.box[2] if self.direction in ("right", "left") else self.box[3]

    def draw(self, level: float, seed: int = 0) -> Image:
        """The picture at a level of 0..1, and what the level truly is in whole pixels is ``shown(level)``."""
        image = np.empty((180, 320, 3), np.float32)
        image[:] = self.back
        left, top, width, height = self.box
        if self.border is not None:
            image[top - 1 : top + height + 1, left - 1 : left + width + 1] = self.border
        across = self.direction in ("right", "left")
        bar = np.empty((height if across else width, self.length(), 3), np.float32)
        bar[:] = self.groove
        full = round(level * self.length())
        fill = np.empty_like(bar[:, :full])
        fill[:] = self.colour
        fill += np.linspace(self.shade / 2, -self.shade / 2, bar.shape[0])[:, None, None]
        fill += np.linspace(-self.ramp / 2, self.ramp / 2, self.length())[None, :full, None]
        bar[:, :full] = fill
        if self.direction in ("left", "up"):
            bar = bar[:, ::-1]
        image[top : top + height, left : left + width] = bar if across else bar.swapaxes(0, 1)
        if self.noise:
            image += np.random.default_rng(seed).integers(-self.noise, self.noise + 1, image.shape)
        return np.clip(image, 0, 255).astype(np.uint8)

    def shown(self, level: float) -> float:
        return round(level * self.length()) / self.length()

    def mark(self, margins: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        """A mark round the bar, so many px away from it at the left, top, right and bottom."""
        left, top, width, height = self.box
        return left - margins[0], top - margins[1], left + width + margins[2], top + height + margins[3]
