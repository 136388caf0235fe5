"""What the Executor's extra heads learn: the next ticks of the hand (a chunk) and where the ship will be (a way-point).

A chunk's path is learnt up to the click it leads to, as shares of the line from the cursor to that click; its hazards as far as the
stretch goes. The way-point is a cell of 8 x 8, where it is known. Without these heads there is nothing here to learn.

Legend: R rows, B batch, N ticks of a chunk, I buttons and keys, V cells.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from data.steps import Steps, input_names
from data.track_lookup import padded, self_positions
from trainers.loop import Batch
from trainers.networks.executor import Executor, Seen
from trainers.networks.shape import WAY_GRID, Extras

LEAST_WAY: Final = 0.01
"""Picture widths: on a shorter way shares of it say nothing."""
MOST_SHARE: Final = 1.5
"""Nothing is learnt of a path that goes farther than this beyond, or beside, the way to its point: it was another way."""


def labels(steps: Steps, start: int, stop: int, clicks: NDArray[np.int64], extras: Extras, way_s: float) -> dict[str, NDArray[Any]]:
    """For the rows of a stretch. ``clicks``: the rows of the session with a click. path float32 [R, N, 2] in 0..1, path_known
    [R, N]; hazards float32 [R, N, I] (does it go down in that tick), hazards_known [R, N]; way int64 [R], -1 where it is not known."""
    found: dict[str, NDArray[Any]] = {}
    rows = np.arange(start, stop)
    if extras.chunk > 1:
        later = rows[:, None] + np.arange(extras.chunk)
        inside = later < stop
        safe = np.minimum(later, stop - 1)
        path = steps.action_xy[safe]
        following = np.searchsorted(clicks, rows)
        before_click = later <= np.append(clicks, len(steps))[following][:, None]
        onsets = np.zeros((len(steps), len(input_names(steps.profile))), np.float32)
        onsets[np.repeat(np.arange(len(steps)), np.diff(steps.onset_offsets)), steps.onset_codes] = 1
        known = np.isfinite(path).all(2)
        found["path"] = np.where(known[..., None], path, 0.5).astype(np.float32)
        found["path_known"] = inside & before_click & known
        found["hazards"], found["hazards_known"] = onsets[safe], inside
    if extras.way_point:
        found["way"] = _way(steps, rows, stop, way_s)
    return found


def _way(steps: Steps, rows: NDArray[np.int64], stop: int, way_s: float) -> NDArray[np.int64]:
    later = np.searchsorted(steps.time_ns[:stop], steps.time_ns[rows] + round(way_s * 1e9))
    safe = np.minimum(later, stop - 1)
    place, _, missing = self_positions(steps, safe, padded(steps, safe))
    column, row = (np.clip(place, 0, 1 - 1e-6) * np.array(WAY_GRID)).astype(np.int64).T
    return np.where((later < stop) & (missing == 0), row * WAY_GRID[0] + column, -1)


def mirrored_way(way_B: Tensor, flips: tuple[Tensor, Tensor]) -> Tensor:
    """The way-points of the mirrored pictures."""
    column, row = way_B % WAY_GRID[0], way_B // WAY_GRID[0]
    column = torch.where(flips[0], WAY_GRID[0] - 1 - column, column)
    row = torch.where(flips[1], WAY_GRID[1] - 1 - row, row)
    return torch.where(way_B >= 0, row * WAY_GRID[0] + column, way_B)


def chunk_loss(network: Executor, batch: Batch, seen: Seen, choice: Tensor, aim: Tensor, known: Tensor, weights_I: Tensor) -> Tensor:
    """How badly the next ticks are foretold, given the chosen point; ``weights`` of the rare inputs."""
    share, logits = network.foretell(seen, choice, aim, batch["cursor"], known, batch.get("cursor_past"))
    there = batch["hazards_known"]
    loss = F.binary_cross_entropy_with_logits(logits[there], batch["hazards"][there], pos_weight=weights_I)
    scale = share.new_tensor([1.0, network.aspect])
    line = (batch["point"] - batch["cursor"]) * scale
    away = line.square().sum(-1)
    moved = (batch["path"] - batch["cursor"][:, None]) * scale
    across = torch.stack([-line[:, 1], line[:, 0]], dim=-1)
    true = (
        torch.stack([(moved * line[:, None]).sum(-1), (moved * across[:, None]).sum(-1)], dim=-1)
        / away.clamp(min=LEAST_WAY**2)[:, None, None]
    )
    right = (batch["choice"] >= 0) & known & (away > LEAST_WAY**2)
    used = batch["path_known"] & right[:, None] & (true.abs() < MOST_SHARE).all(-1)
    return 10 * loss + (F.smooth_l1_loss(share[used], true[used], beta=0.1) if bool(used.any()) else 0.0)


def way_loss(batch: Batch, seen: Seen) -> Tensor:
    """Cross-entropy of the way-point where it is known."""
    there = batch["way"] >= 0
    return F.cross_entropy(seen.way[there], batch["way"][there]) if bool(there.any()) else seen.intent.new_zeros(())
