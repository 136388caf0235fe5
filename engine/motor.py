"""How a policy's cursor moves: towards a point at a person's speed, over several ticks."""

from __future__ import annotations

import math

from data.profile import GameProfile


class Motor:
    """``cursor`` in 0..1. ``speed_widths_s``: how fast it goes at most, in picture widths per second."""

    def __init__(self, profile: GameProfile, speed_widths_s: float) -> None:
        width, height = profile.picture_size
        self._aspect = height / width
        self._speed = speed_widths_s
        self.cursor = (0.5, 0.5)

    def distance(self, point: tuple[float, float]) -> float:
        """To a point, in picture widths."""
        return math.hypot(point[0] - self.cursor[0], (point[1] - self.cursor[1]) * self._aspect)

    def move(self, point: tuple[float, float], dt_s: float, whole: bool = False) -> None:
        """One tick's move: at most speed * dt, and half of the way when that is less and still far, so that it slows
        down before it arrives. ``whole``: the way's last part at once, since the point is only this tick's."""
        away = self.distance(point)
        reach = max(self._speed * dt_s, 1e-6)
        share = min(1.0, reach / away) if away > 0 else 1.0
        if share >= 1.0 and away > 0.6 * reach and not whole:
            share = 0.7
        x, y = self.cursor
        self.cursor = (x + (point[0] - x) * share, y + (point[1] - y) * share)
