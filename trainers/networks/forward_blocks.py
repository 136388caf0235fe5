"""The blocks of the forward pass in numpy (see ``forward``): the same functions as ``blocks``, in as few steps as they can be.

So small a network costs what its steps cost, hardly what they compute. So what is linear is folded into one matrix beforehand:
norms' weights into the layer that follows, the halving of GELU too; and a trunk's tokens are kept with a mean of zero, since
every reader of them is a norm, which takes their mean off anyway.

Legend: T tokens, W width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Tensors = Mapping[str, NDArray[Any]]

_LAYER_NORM_EPSILON: Final = np.float32(1e-5)
_GELU: Final = np.float32(math.sqrt(2 / math.pi))
_GELU_CUBE: Final = np.float32(math.sqrt(2 / math.pi) * 0.044715)
_ONE, _HALF = np.float32(1), np.float32(0.5)


class Linear:
    """x [..., in] -> [..., out]."""

    def __init__(self, weight: NDArray[Any], bias: NDArray[Any]) -> None:
        """weight [in, out] (turned round, as against torch's), bias [out]."""
        self.weight, self.bias = np.ascontiguousarray(weight, np.float32), np.ascontiguousarray(bias, np.float32)

    @staticmethod
    def of(tensors: Tensors, name: str) -> Linear:
        return Linear(tensors[f"{name}.weight"].T, tensors[f"{name}.bias"])

    def __call__(self, x: Floats) -> Floats:
        y = x @ self.weight
        y += self.bias
        return y

    def after(self, scale: NDArray[Any], shift: NDArray[Any]) -> Linear:
        """This of ``x * scale + shift``."""
        return Linear(scale[:, None] * self.weight, shift @ self.weight + self.bias)

    def centred(self) -> Linear:
        """The same less the mean over what goes out."""
        return Linear(self.weight - self.weight.mean(1, keepdims=True), self.bias - self.bias.mean())


class Mlp:
    """Linear, GELU, linear: ``blocks.mlp``."""

    def __init__(self, first: Linear, second: Linear) -> None:
        self.first, self.second = first, second
        self._halved = Linear(_HALF * second.weight, second.bias)

    @staticmethod
    def of(tensors: Tensors, name: str) -> Mlp:
        return Mlp(Linear.of(tensors, f"{name}.0"), Linear.of(tensors, f"{name}.2"))

    def __call__(self, x: Floats) -> Floats:
        return self.rest(self.first(x))

    def rest(self, hidden: Floats) -> Floats:
        """What follows ``first``."""
        return self._halved(twice_gelu(hidden))


def side_by_side(mlps: list[Mlp], inputs: list[list[int]], width: int) -> Mlp:
    """One for all: what goes out is theirs in a row. ``inputs`` says for each which of the ``width`` inputs it reads, in its order."""
    hidden = np.cumsum([0, *(len(m.first.bias) for m in mlps)])
    out = np.cumsum([0, *(len(m.second.bias) for m in mlps)])
    first, second = np.zeros((width, hidden[-1]), np.float32), np.zeros((hidden[-1], out[-1]), np.float32)
    for i, (mlp, reads) in enumerate(zip(mlps, inputs, strict=True)):
        first[reads, hidden[i] : hidden[i + 1]] = mlp.first.weight
        second[hidden[i] : hidden[i + 1], out[i] : out[i + 1]] = mlp.second.weight
    return Mlp(Linear(first, np.concatenate([m.first.bias for m in mlps])), Linear(second, np.concatenate([m.second.bias for m in mlps])))


class Trunk:
    """Pre-LN transformer layers over tokens [T, W]: ``blocks.Trunk`` without dropout."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self._heads = heads
        self._layers = [self._layer(tensors, f"trunk.layers.{i}") for i in range(layers)]
        self._scale, self._shift = (np.asarray(tensors[f"trunk.norm.{name}"], np.float32) for name in ("weight", "bias"))

    def _layer(self, tensors: Tensors, name: str) -> tuple[Linear, Linear, Mlp]:
        norms = [[np.asarray(tensors[f"{name}.norm_{i}.{part}"], np.float32) for part in ("weight", "bias")] for i in (1, 2)]
        qkv, feed = Linear.of(tensors, f"{name}.attention.qkv").after(*norms[0]), Mlp.of(tensors, f"{name}.feed")
        width = len(qkv.weight)
        # The scores' scale goes into the queries.
        scale = np.ones(3 * width, np.float32)
        scale[:width] = 1 / math.sqrt(width // self._heads)
        return (
            Linear(qkv.weight * scale, qkv.bias * scale),
            Linear.of(tensors, f"{name}.attention.out").centred(),
            Mlp(feed.first.after(*norms[1]), feed.second.centred()),
        )

    def __call__(self, x_TW: Floats, causal: bool = False) -> Floats:
        total: Any = np.add.reduce(x_TW, 1, keepdims=True)
        x_TW = x_TW - total / np.float32(x_TW.shape[1])
        for qkv, out, feed in self._layers:
            x_TW += out(self._attend(qkv(scaled(x_TW)), causal))
            x_TW += feed(scaled(x_TW))
        y = scaled(x_TW)
        y *= self._scale
        y += self._shift
        return y

    def _attend(self, qkv_T3W: Floats, causal: bool) -> Floats:
        t, width = len(qkv_T3W), qkv_T3W.shape[1] // 3
        q, k, v = qkv_T3W.reshape(t, 3, self._heads, width // self._heads).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1)
        if causal:
            scores = np.where(np.tri(t, dtype=bool), scores, np.float32(-np.inf))
        scores -= np.maximum.reduce(scores, 2, keepdims=True)
        np.exp(scores, out=scores)
        weighed: Any = scores @ v
        weighed /= np.add.reduce(scores, 2, keepdims=True)
        return weighed.transpose(1, 0, 2).reshape(t, width)


def scaled(x: Floats) -> Floats:
    """Layer normalisation (Ba et al. 2016) of x [T, W] whose rows have a mean of zero, without its weights."""
    variance = np.vecdot(x, x)
    variance /= np.float32(x.shape[1])
    variance += _LAYER_NORM_EPSILON
    np.sqrt(variance, out=variance)
    return x / variance[:, None]


def twice_gelu(x: Floats) -> Floats:
    """2 x times the normal distribution function, by its tanh form (Hendrycks and Gimpel 2016)."""
    y = x * x
    y *= _GELU_CUBE
    y += _GELU
    y *= x
    np.tanh(y, out=y)
    y += _ONE
    y *= x
    return y


def sigmoid(x: Floats) -> Floats:
    return _HALF * (_ONE + np.tanh(_HALF * x))  # this form overflows nowhere


def softmax(x: Floats) -> Floats:
    """Over the last axis."""
    raised = np.exp(x - np.maximum.reduce(x, -1, keepdims=True))
    raised /= np.add.reduce(raised, -1, keepdims=True)
    return raised


def log_sum_exp(x: Floats) -> Floats:
    """Over the last axis, which may not be empty."""
    highest = np.maximum.reduce(x, -1, keepdims=True)
    return (np.log(np.add.reduce(np.exp(x - highest), -1, keepdims=True)) + highest)[..., 0]
