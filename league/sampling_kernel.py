"""Compiled: draw an action for each living seat from its logits, with the log-probability of what was drawn.

Imported after ``world.kernels`` (it names the folder of compiled code). The numbers drawn depend on (stream, step, seat, head)
alone, so that a match goes the same way whatever else its actor plays, and nothing has to be kept to resume it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from league.arena.physics import mix64
from league.codec import BINS

SIZES = tuple(BINS.tolist())
MOST_BINS = max(SIZES)
_SEAT, _COUNT = np.uint64(0xD1B54A32D192ED03), np.uint64(0x9E3779B97F4A7C15)
_DRAWS = np.uint64(8)
_SHIFT, _UNIT = np.uint64(40), np.float32(2.0**-24)


def _sample(logits, mask, rows, ships, streams, steps, action, log_prob):
    """Bins of row m of ``logits`` [M, >= 36] go to ``action`` [N * S, 7] at ``rows[m]``, their log-probabilities (0 where ``mask``
    says that a head has no effect) to ``log_prob``. False when a logit is not finite."""
    weights = np.empty(MOST_BINS, np.float32)
    for m in range(rows.shape[0]):
        row = rows[m]
        w = row // ships
        key = mix64(streams[w] + np.uint64(row % ships + 1) * _SEAT)
        start = 0
        for head in range(len(SIZES)):
            size = SIZES[head]
            largest = logits[m, start]
            for i in range(1, size):
                largest = max(largest, logits[m, start + i])
            total = np.float32(0.0)
            for i in range(size):
                weights[i] = np.exp(logits[m, start + i] - largest)
                total += weights[i]
            if not np.isfinite(total):
                return False
            draw = np.uint64(steps[w]) * _DRAWS + np.uint64(head)
            left = np.float32(mix64(key + draw * _COUNT) >> _SHIFT) * _UNIT * total
            chosen = -1
            for i in range(size):
                if weights[i] > 0:
                    chosen = i
                    left -= weights[i]
                    if left < 0:
                        break
            action[row, head] = chosen
            told = logits[m, start + chosen] - largest - np.float32(math.log(total))
            log_prob[row, head] = told if mask[row, head] else np.float32(0.0)
            start += size
    return True


_LOGITS = types.Array(types.float32, 2, "C")
_ROWS, _STREAMS = types.Array(types.int64, 1, "C"), types.Array(types.uint64, 1, "C")
_OUT = (types.Array(types.int8, 2, "C"), types.Array(types.float32, 2, "C"))
_signature = types.boolean(_LOGITS, types.Array(types.boolean, 2, "C"), _ROWS, types.int64, _STREAMS, _ROWS, *_OUT)
sample = njit(_signature, cache=True, error_model="numpy", fastmath=False, nogil=True)(_sample)
