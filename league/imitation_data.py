"""What imitation learns from: single frames that teach something, their split by episode, and figures beside baselines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.codec import HEADS
from league.trajectories import TrajectorySequence


class ImitationError(ValueError):
    """There is nothing to learn from, or learning failed; the text says why and what to do."""


class Frames(NamedTuple):
    """Frames that teach something, in order within their columns. N frames."""

    observation: NDArray[np.float32]
    """[N, 19]"""
    action: NDArray[np.int8]
    """[N, H]"""
    mask: NDArray[np.bool_]
    """[N, H]"""
    before: NDArray[np.int64]
    """[N], index of the frame before in the same episode; -1 for the first."""
    episode: NDArray[np.int64]
    """[N], index into ``names``."""
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """Of one head on the validation part; accuracies 0..1, None where no frame counts."""

    frames: int
    loss: float | None
    """Cross-entropy, nats."""
    accuracy: float | None
    majority: float | None
    """Accuracy of always choosing what is most frequent in training."""
    persistence: float | None
    """Accuracy of repeating the choice of the frame before."""
    changes: float | None
    """Accuracy of the policy on the frames where the choice is another one than before."""


def frames_of(sequences: Sequence[TrajectorySequence]) -> Frames:
    """All frames that count and have a head that had an effect. Raises ImitationError when there is none."""
    parts: list[tuple[Any, ...]] = []
    names: dict[str, int] = {}
    offset = 0
    for number, sequence in enumerate(sequences):
        useful = sequence.living & sequence.head_mask.any(-1)
        follows = np.zeros_like(useful)
        follows[1:] = useful[1:] & useful[:-1] & ~sequence.done[:-1]
        for column in range(sequence.columns):
            steps = np.flatnonzero(useful[:, column])
            name = sequence.episodes[column] if sequence.episodes else f"unnamed {number}/{column}"
            episode = names.setdefault(name, len(names))
            index = offset + np.arange(len(steps))
            before = np.where(follows[steps, column], index - 1, -1)
            parts.append(
                (
                    sequence.seen[steps, column],
                    sequence.action[steps, column],
                    sequence.head_mask[steps, column],
                    before,
                    np.full(len(steps), episode),
                )
            )
            offset += len(steps)
    if not offset:
        raise ImitationError("imitation: no frame with an action that counts; load other files, or play last man standing first")
    return Frames(*(np.concatenate(p) for p in zip(*parts, strict=True)), tuple(names))  # pyright: ignore[reportCallIssue]


def split_episodes(frames: Frames, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the frames for training and for validation. It follows from the episodes' names and the seed, not their order.

    Raises ImitationError when there is only one episode.
    """
    order = sorted(range(len(frames.names)), key=lambda i: hashlib.sha256(f"{seed} {frames.names[i]}".encode()).digest())
    lengths = np.bincount(frames.episode, minlength=len(order))
    order = [i for i in order if lengths[i]]
    if len(order) < 2:
        raise ImitationError("imitation: all play is one episode, so nothing is left to check on; load at least two")
    count = min(max(1, round(share * len(order))), len(order) - 1)
    held_out = np.isin(frames.episode, order[:count])
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def head_figures(
    frames: Frames,
    train: NDArray[np.int64],
    rows: NDArray[np.int64],
    chosen: NDArray[np.integer[Any]],
    log_prob: NDArray[np.floating[Any]],
) -> dict[str, HeadFigures]:
    """Each head's figures on ``rows``; ``chosen`` and ``log_prob`` [len(rows), H] are the policy's there."""
    found: dict[str, HeadFigures] = {}
    for head, (name, bins) in enumerate(HEADS.items()):
        counts = np.bincount(frames.action[train, head][frames.mask[train, head]], minlength=bins)
        majority = int(counts.argmax())
        counted = frames.mask[rows, head]
        true, said = frames.action[rows, head], chosen[:, head]
        earlier = frames.before[rows]
        known = (earlier >= 0) & frames.mask[earlier, head]  # -1 looks at the last frame; it is not known all the same
        repeated = np.where(known, frames.action[earlier, head], majority)
        changed = counted & known & (repeated != true)
        found[name] = HeadFigures(
            int(counted.sum()),
            _mean(-log_prob[counted, head]),
            _mean((said == true)[counted]),
            _mean((true == majority)[counted]),
            _mean((repeated == true)[counted]),
            _mean((said == true)[changed]),
        )
    return found


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
