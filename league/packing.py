"""Stretches of living frames, side by side as an actor plays them, into as few columns as hold them.

A stretch that lasts the whole rollout is a column. A shorter one has ended (its ship was lost, or the match was over), so another
one may follow in the same column: every trace, return and ratio product stops at an end, and frames behind it have no effect.
The targets of each frame, and so the loss, are the same as without packing. Legend: T steps, N worlds, S seats, B columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.trajectories import TrajectorySequence


class Frames(NamedTuple):
    """A rollout as it was played; anything may stand where ``living`` is False."""

    observation: NDArray[np.float32]
    """[T + 1, N, S, 88], as ``league.privileged.TOLD``; the last is what came after, or what a truncated seat saw last."""
    action: NDArray[np.int8]
    """[T, N, S, 7]"""
    head_mask: NDArray[np.bool_]
    log_prob: NDArray[np.float32]
    reward: NDArray[np.float32]
    """[T, N, S]"""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    living: NDArray[np.bool_]
    """Frames that count: of each seat from the first one on without a gap."""


def fit(lengths: list[int], room: int) -> list[list[int]]:
    """Indices of ``lengths`` in bins that hold ``room`` each: the longest first, each into the first bin it fits into."""
    bins: list[list[int]] = []
    left: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        b = next((b for b, free in enumerate(left) if free >= lengths[i]), len(bins))
        if b == len(bins):
            bins.append([])
            left.append(room)
        bins[b].append(i)
        left[b] -= lengths[i]
    return bins


def pack(frames: Frames, version: int) -> TrajectorySequence | None:
    """[T, B] of the frames that count, or None without any. Raises ValueError when a stretch breaks off without an end."""
    steps = len(frames.reward)
    seats = frames.reward[0].size
    living = frames.living.reshape(steps, seats)
    lengths = living.sum(0)
    ended = (frames.terminated | frames.truncated).reshape(steps, seats)
    short = np.flatnonzero((lengths > 0) & (lengths < steps))
    if not ended[lengths[short] - 1, short].all():
        raise ValueError("rollout: a seat's frames stop before its episode ends; frames that do not count must follow an end")
    whole = np.flatnonzero(lengths == steps)
    bins = fit(lengths[short].tolist(), steps)
    columns = len(whole) + len(bins)
    if not columns:
        return None
    source = np.full((steps, columns), -1, np.int64)
    times = np.arange(steps, dtype=np.int64)
    source[:, : len(whole)] = times[:, None] * seats + whole
    ends = [(steps - 1, b, int(seat)) for b, seat in enumerate(whole.tolist())]
    for b, members in enumerate(bins, len(whole)):
        start = 0
        for seat in short[members].tolist():
            length = int(lengths[seat])
            source[start : start + length, b] = times[:length] * seats + seat
            start += length
            ends.append((start - 1, b, seat))
    return _gather(frames, source, ends, version)


def _gather(frames: Frames, source: NDArray[np.int64], ends: list[tuple[int, int, int]], version: int) -> TrajectorySequence:
    """``source`` [T, B]: which frame of the T * N * S goes where, -1 none; ``ends``: (t, b, seat) of each stretch's last frame."""
    steps, columns = source.shape
    empty = source < 0
    index = np.where(empty, 0, source)

    def taken(array: NDArray[Any], axes: int) -> NDArray[Any]:
        flat = array[:steps].reshape(-1, *array.shape[array.ndim - axes :])
        found = flat[index]
        found[empty] = 0
        return found

    told = {name: taken(getattr(frames, name), 1) for name in ("observation", "action", "head_mask")}
    told |= {name: taken(getattr(frames, name), 0) for name in ("reward", "terminated", "truncated")}
    after = frames.observation[steps].reshape(-1, frames.observation.shape[-1])
    bootstrap = np.zeros((columns, after.shape[1]), np.float32)
    finals: list[tuple[int, int, int]] = []
    for t, b, seat in ends:
        if told["terminated"][t, b]:
            continue
        if t == steps - 1:
            bootstrap[b] = after[seat]
        else:
            finals.append((t, b, seat))
    return TrajectorySequence(
        **told,
        behaviour_log_prob=taken(frames.log_prob, 1),
        living=~empty,
        bootstrap_observation=bootstrap,
        final_at=np.array([(t, b) for t, b, _ in finals], np.int32).reshape(-1, 2),
        final_observation=after[[seat for _, _, seat in finals]].reshape(-1, after.shape[1]),
        weights_version=version,
    )
