"""Compiled: what stands between two matrix products of the network, forward and backward, in place. Imported after ``world.kernels``."""

from __future__ import annotations

import numpy as np
from numba import njit, types

_ZERO = np.float32(0.0)


def _add_and_cut(rows, bias):
    """``rows`` [R, H] = max(0, rows + bias)."""
    for n in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            x = rows[n, i] + bias[i]
            rows[n, i] = x if x > _ZERO else _ZERO


def _cut_back(back, rows, bias):
    """The gradient ``back`` [R, H] is 0 where ``rows`` was cut to 0; its sum over the rows is added to ``bias`` [H]."""
    for n in range(back.shape[0]):
        for i in range(back.shape[1]):
            x = back[n, i] if rows[n, i] > _ZERO else _ZERO
            back[n, i] = x
            bias[i] += x


_rows, _row = types.Array(types.float32, 2, "C"), types.Array(types.float32, 1, "C")
_options = {"cache": True, "error_model": "numpy", "fastmath": False, "nogil": True}
add_and_cut = njit(types.void(_rows, _row), **_options)(_add_and_cut)
cut_back = njit(types.void(_rows, _rows, _row), **_options)(_cut_back)
