"""Compiled: ``league.symmetry``'s folding and unfolding, row by row. Imported after ``world.kernels``; tables as ``league.symmetry`` has
them by turn. Legend: M rows."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from league.codec import FIELD

_X, _Y, _ZONE_X, _ZONE_Y = FIELD["enemy_dx"], FIELD["enemy_dy"], FIELD["zone_dx"], FIELD["zone_dy"]
_ZERO = np.float32(0.0)


def _fold(observation, field, sign, own, turns):
    """``own`` and ``turns`` [M] of ``observation``, both [M, 19 or 88]."""
    for n in range(observation.shape[0]):
        x, y = observation[n, _X], observation[n, _Y]
        if x == _ZERO and y == _ZERO:
            x, y = observation[n, _ZONE_X], observation[n, _ZONE_Y]
        turn = (1 if x < _ZERO else 0) + (2 if y < _ZERO else 0) + (4 if abs(y) > abs(x) else 0)
        turns[n] = turn
        for i in range(observation.shape[1]):
            own[n, i] = observation[n, field[turn, i]] * sign[turn, i]


def _fold_steps(turns, head, mirrored, last, action, mask, log_prob, own_action, own_mask, own_log_prob):
    """What was done [M, 7], and what is known of it, for the own heads."""
    for n in range(turns.shape[0]):
        turn = turns[n]
        for h in range(action.shape[1]):
            k = head[turn, h]
            taken = action[n, k]
            own_action[n, h] = last[h] - taken if mirrored[turn, h] else taken
            own_mask[n, h] = mask[n, k]
            own_log_prob[n, h] = log_prob[n, k]


def _unfold(own, turns, logit, out):
    """``out`` [M, 36] of the world's bins from ``own`` ones."""
    for n in range(turns.shape[0]):
        turn = turns[n]
        for k in range(own.shape[1]):
            out[n, k] = own[n, logit[turn, k]]


_rows, _turns = types.Array(types.float32, 2, "C"), types.Array(types.int64, 1, "C")
_places, _bins, _flags = (types.Array(kind, 2, "C") for kind in (types.int64, types.int8, types.boolean))
_options = {"cache": True, "error_model": "numpy", "fastmath": False, "nogil": True}
fold = njit(types.void(_rows, _places, _rows, _rows, _turns), **_options)(_fold)
fold_steps = njit(
    types.void(_turns, _places, _flags, types.Array(types.int8, 1, "C"), _bins, _flags, _rows, _bins, _flags, _rows), **_options
)(_fold_steps)
unfold = njit(types.void(_rows, _turns, _places, _rows), **_options)(_unfold)
