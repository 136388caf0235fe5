"""A network's answers without torch's overhead, for actors: three matrix products of numpy, in memory that is kept.

The numbers are ``ActorCritic.forward``'s up to rounding. Legend: M rows (observations).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from league.arena.world import kernels
from league.codec import BINS, LOGITS, OBSERVATION_SIZE
from league.network import ActorCritic
from league.symmetry import turn_tables

BLOCK: Final = 512
"""Rows that go through the layers together, so that they stay in the cache."""
_LAST_BINS: Final = (BINS - 1).astype(np.int8)
Floats = NDArray[np.float32]


@cache
def layer_kernel() -> Any:
    kernels("last_standing_kernel")  # names the folder of compiled code first
    from league import layer_kernel as kernel

    return kernel


class _Turns(NamedTuple):
    """``league.symmetry``'s tables for compiled loops."""

    field: NDArray[np.int64]
    sign: Floats
    head: NDArray[np.int64]
    mirrored: NDArray[np.bool_]
    logit: NDArray[np.int64]


@cache
def _folding() -> tuple[Any, _Turns]:
    kernels("last_standing_kernel")
    from league import fold_kernel

    return fold_kernel, _Turns(*(np.ascontiguousarray(table.numpy()) for table in turn_tables(torch.device("cpu"))))


def fold_rows(observation: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """``league.symmetry.fold`` of observations [M, 19], or of all that is told [M, 88]."""
    kernel, tables = _folding()
    seen = np.ascontiguousarray(observation)
    own, turns = np.empty_like(seen), np.empty(len(seen), np.int64)
    kernel.fold(seen, tables.field, tables.sign, own, turns)
    return own, turns


def fold_taken(
    turns: NDArray[np.int64], action: NDArray[np.int8], head_mask: NDArray[np.bool_], log_prob: Floats
) -> tuple[NDArray[np.int8], NDArray[np.bool_], Floats]:
    """``league.symmetry``'s of what was done by the heads, [M, 7] each."""
    kernel, tables = _folding()
    given = [np.ascontiguousarray(told) for told in (action, head_mask, log_prob)]
    own = [np.empty_like(told) for told in given]
    kernel.fold_steps(turns, tables.head, tables.mirrored, _LAST_BINS, *given, *own)
    return own[0], own[1], own[2]


def unfold_rows(own: Floats, turns: NDArray[np.int64]) -> Floats:
    """``league.symmetry.unfold_logits`` of logits [M, 36]."""
    kernel, tables = _folding()
    logits = np.empty_like(own)
    kernel.unfold(own, turns, tables.logit, logits)
    return logits


class Layers(NamedTuple):
    """Of the policy or of the value, as torch has them: [out, in] and [out]."""

    weight_1: Floats
    bias_1: Floats
    weight_2: Floats
    bias_2: Floats
    weight_3: Floats
    bias_3: Floats

    @classmethod
    def of(cls, part: nn.Module) -> Layers:
        """The memory of a network's ``actor`` or ``critic``, not copies; it is of float32, and the processor's."""
        return cls(*(p.detach().numpy() for p in part.parameters()))


class Forward:
    """The policy of ``network`` as its weights are at each call."""

    def __init__(self, network: ActorCritic) -> None:
        self._layers = Layers.of(network.actor)
        self._hidden: tuple[Floats, Floats] = (np.zeros((0, 0), np.float32),) * 2

    def __call__(self, observation: Floats) -> Floats:
        """Logits [M, LOGITS] of observations [M, 19]."""
        return answers([self], observation, [0, len(observation)])

    def own(self, observation: Floats) -> Floats:
        """Logits [..., LOGITS] of observations [..., 19], in the ship's own frame."""
        seen = fold_rows(observation.reshape(-1, OBSERVATION_SIZE))[0]
        found = np.empty((len(seen), LOGITS), np.float32)
        with np.errstate(all="ignore"):
            for begin in range(0, len(seen), BLOCK):
                block = slice(begin, begin + BLOCK)
                self.through(seen[block], found[block])
        return found.reshape(*observation.shape[:-1], LOGITS)

    def through(self, own: Floats, out: Floats) -> None:
        """Logits [M, LOGITS] of ``own`` [M, 19] into ``out``, both in the ship's own frame."""
        rows, layers, kernel = len(own), self._layers, layer_kernel()
        if rows > len(self._hidden[0]):
            self._hidden = tuple(np.zeros((rows, len(layers.bias_1)), np.float32) for _ in range(2))
        one, two = self._hidden[0][:rows], self._hidden[1][:rows]
        kernel.add_and_cut(np.matmul(own, layers.weight_1.T, out=one), layers.bias_1)
        kernel.add_and_cut(np.matmul(one, layers.weight_2.T, out=two), layers.bias_2)
        np.matmul(two, layers.weight_3.T, out=out)
        out += layers.bias_3


def answers(networks: Sequence[Forward], observation: Floats, ends: Sequence[int]) -> Floats:
    """Logits [M, LOGITS] of observations [M, 19], of which those from ``ends[k]`` to ``ends[k + 1]`` are for network k.

    Folding and unfolding are done for all at once. Weights that are broken give numbers that are not finite, and no warning.
    """
    own, turns = fold_rows(observation)
    out = np.empty((len(own), LOGITS), np.float32)
    with np.errstate(all="ignore"):
        for network, begin, end in zip(networks, ends, ends[1:], strict=False):
            if end > begin:
                network.through(own[begin:end], out[begin:end])
    return unfold_rows(out, turns)
