"""What the two forms of the networks share (one learns, ``forward`` flies): constants, and the names and shapes of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GRID: Final = (20, 12)
"""Columns and rows of the absolute cells."""
PLACES: Final = ((0.14, 0.0), (0.1, 0.14), (0.1, -0.14))
"""Where the places beside a track start from before anything is learnt: along and across, in picture widths."""
PLACE_REACH: Final = 0.2
"""How far one unit of the network's output moves such a place, in picture widths."""
CLICK_BUTTONS: Final = 2  # left and right; the middle button is a key like any other here
MIN_SPREAD: Final = 0.012
"""Smallest standard deviation of a place beside a track, in picture widths: a hand is no more exact."""
SPREAD_RANGE: Final = 0.1
CELL_BIAS: Final = 4.0
"""Taken off the cells' logits, so that they start out unlikely beside the tracks."""
LIKELY_PLACES: Final = 8
"""So many places beside tracks are candidates for the ground's best point: an absent track's has no weight."""

WAY_GRID: Final = (8, 8)
"""Columns and rows of the way-point's cells."""
ON_SPREAD: Final = 0.25
"""Standard deviation of a click on a track about its likeliest place there, as a share of the box's mean side; at least ``MIN_SPREAD``."""
WHERE: Final = 8
"""What the heads of the hand are given of the cursor: offset to the point (2), nearness (2), how likely a click is where it lies (2), is it
known, is a click coming."""
PAST_CURSORS: Final = 4
"""Moments of the cursor's past (``data.features.past_cursors``)."""
LIKELY: Final = (-4.0, 8.0)
"""Range of the log density (per squared picture width) of the next click where the cursor lies."""
LIKELIER: Final = (-8.0, 2.0)
"""Range of the same less that at the chosen point."""


@dataclass(frozen=True, slots=True)
class Extras:
    """What goes beyond the Executor's own heads. ``chunk``: ticks foretold at once (1: no such head). ``way_point``: where the ship will
    be, as a goal for all other heads. ``cursor_past``: the heads of the hand see where the cursor was, not only where it is."""

    chunk: int = 1
    way_point: bool = False
    cursor_past: bool = False

    @property
    def where(self) -> int:
        """Numbers that the heads of the hand are given of the cursor."""
        return WHERE + 2 * PAST_CURSORS * self.cursor_past


NO_EXTRAS: Final = Extras()

Shapes = dict[str, tuple[int, ...]]
"""Names and shapes of a network's tensors."""


def strategist_shapes(features: int, modes: int, width: int, layers: int, history: int) -> Shapes:
    return {
        "decay": (history, width),
        **_mlp("embed", features, width, width),
        **_trunk(width, layers),
        **_linear("head", 2 * width, modes),
    }


def tactician_shapes(track_features: int, context_features: int, modes: int, width: int, layers: int) -> Shapes:
    return {
        **_mlp("embed_track", track_features, width, width),
        **_linear("embed_context", context_features, width),
        "embed_mode.weight": (modes + 1, width),
        **_trunk(width, layers),
        **_mlp("score", 2 * width, width, 1),
        **_mlp("none", width, width, 1),
    }


def executor_shapes(
    slot_features: int, context_features: int, modes: int, inputs: int, width: int, layers: int, extras: Extras = NO_EXTRAS
) -> Shapes:
    cells = WAY_GRID[0] * WAY_GRID[1]
    return {
        **_mlp("embed_slot", slot_features + 1, width, width),
        **_mlp("embed_context", context_features + 1, width, width),
        "embed_mode.weight": (modes + 1, width),
        **_trunk(width, layers),
        **_mlp("component", 2 * width, width, 1 + len(PLACES)),
        **_mlp("on_offset", width, width, 2),
        **_mlp("beside", 2 * width, width, 3 * len(PLACES)),
        **_linear("cells", width, GRID[0] * GRID[1]),
        **_mlp("intent", width, width, 1),
        **_linear("choice", width + 1, width),
        **_mlp("click", 2 * width + extras.where, width, CLICK_BUTTONS),
        **_mlp("keys", 2 * width + 1, width, 2 * inputs),
        **(_mlp("plan", 2 * width + extras.where, width, extras.chunk * (2 + inputs)) if extras.chunk > 1 else {}),
        **(_mlp("way", width, width, cells) | _linear("goal", cells, width) if extras.way_point else {}),
    }


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _mlp(name: str, inputs: int, hidden: int, outputs: int) -> Shapes:
    return _linear(f"{name}.0", inputs, hidden) | _linear(f"{name}.2", hidden, outputs)


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _trunk(width: int, layers: int) -> Shapes:
    shapes = _norm("trunk.norm", width)
    for layer in (f"trunk.layers.{i}" for i in range(layers)):
        shapes |= _norm(f"{layer}.norm_1", width) | _norm(f"{layer}.norm_2", width)
        shapes |= _linear(f"{layer}.attention.qkv", width, 3 * width) | _linear(f"{layer}.attention.out", width, width)
        shapes |= _mlp(f"{layer}.feed", width, 2 * width, width)
    return shapes
