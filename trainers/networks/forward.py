"""The three networks' forward pass in numpy: what a policy flies with. Same tensors, same numbers, no torch.

Torch gives the interpreter away and takes it back at each of the hundred and fifty operations of so small a network, and
in a live process every one of these may wait for another thread; numpy keeps it (docs/decisions/0016). The learning form
in the modules beside this one stays the truth: ``tests/trainers/test_forward.py`` holds both to each other.

Everything is one moment, without a batch, and of the tracks only those that are there: nothing needs a mask. Tensors go
by the names that the learning form gives them. Legend: K tracks, T tokens, W width, M places beside each track, G grid
cells, D features, I buttons and keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trainers.networks.shape import CELL_BIAS, GRID, LIKELY_PLACES, MIN_SPREAD, PLACE_REACH, PLACES, SPREAD_RANGE

Floats = NDArray[np.float32]
Tensors = Mapping[str, NDArray[Any]]

_LAYER_NORM_EPSILON: Final = np.float32(1e-5)
_GELU: Final = np.float32(math.sqrt(2 / math.pi))


class Linear:
    """x [..., in] -> [..., out]."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        self._weight = np.ascontiguousarray(tensors[f"{name}.weight"].T, np.float32)
        self._bias = np.asarray(tensors[f"{name}.bias"], np.float32)

    def __call__(self, x: Floats) -> Floats:
        return x @ self._weight + self._bias


class Mlp:
    """Linear, GELU, linear: ``trainers.networks.blocks.mlp``."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        self._first, self._second = Linear(tensors, f"{name}.0"), Linear(tensors, f"{name}.2")

    def __call__(self, x: Floats) -> Floats:
        return self._second(gelu(self._first(x)))


class Norm:
    """Layer normalisation over the last axis (Ba et al. 2016)."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        self._weight = np.asarray(tensors[f"{name}.weight"], np.float32)
        self._bias = np.asarray(tensors[f"{name}.bias"], np.float32)

    def __call__(self, x: Floats) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        variance = np.square(centred).mean(-1, keepdims=True)
        return centred / np.sqrt(variance + _LAYER_NORM_EPSILON) * self._weight + self._bias


class Trunk:
    """Pre-LN transformer layers over tokens [T, W]: ``trainers.networks.blocks.Trunk`` without dropout."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self._heads = heads
        self._layers = [
            (
                Norm(tensors, f"trunk.layers.{i}.norm_1"),
                Linear(tensors, f"trunk.layers.{i}.attention.qkv"),
                Linear(tensors, f"trunk.layers.{i}.attention.out"),
                Norm(tensors, f"trunk.layers.{i}.norm_2"),
                Mlp(tensors, f"trunk.layers.{i}.feed"),
            )
            for i in range(layers)
        ]
        self._norm = Norm(tensors, "trunk.norm")

    def __call__(self, x_TW: Floats, causal: bool = False) -> Floats:
        for norm_1, qkv, out, norm_2, feed in self._layers:
            x_TW = x_TW + out(self._attend(qkv(norm_1(x_TW)), causal))
            x_TW = x_TW + feed(norm_2(x_TW))
        return self._norm(x_TW)

    def _attend(self, qkv_T3W: Floats, causal: bool) -> Floats:
        t, width = len(qkv_T3W), qkv_T3W.shape[1] // 3
        depth = width // self._heads
        q, k, v = qkv_T3W.reshape(t, 3, self._heads, depth).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1) * np.float32(1 / math.sqrt(depth))
        if causal:
            scores = np.where(np.tri(t, dtype=bool), scores, np.float32(-np.inf))
        return (softmax(scores) @ v).transpose(1, 0, 2).reshape(t, width)


class StrategistForward:
    """``trainers.networks.strategist.Strategist``."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self.history = len(tensors["decay"])
        self._embed, self._trunk = Mlp(tensors, "embed"), Trunk(tensors, layers, heads)
        self._decay = np.asarray(tensors["decay"], np.float32)
        self._head = Linear(tensors, "head")

    def __call__(self, summaries_TD: Floats) -> Floats:
        """Mode logits at the last second, from normalised summaries in time order (at most ``history`` of them)."""
        tokens = self._embed(summaries_TD)
        x = self._trunk(tokens + self._decay[: len(tokens)], causal=True)
        return self._head(np.concatenate([x[-1], tokens[-1]]))


class TacticianForward:
    """``trainers.networks.tactician.Tactician``."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self._embed_track, self._embed_context = Mlp(tensors, "embed_track"), Linear(tensors, "embed_context")
        self._modes = np.asarray(tensors["embed_mode.weight"], np.float32)
        self._trunk = Trunk(tensors, layers, heads)
        self._score, self._none = Mlp(tensors, "score"), Mlp(tensors, "none")

    def __call__(self, tracks_KD: Floats, context_D: Floats, mode: int) -> Floats:
        """Logits [K + 1]: one for each track, the last for "none"."""
        first = (self._embed_context(context_D) + self._modes[mode])[None]
        x = self._trunk(np.concatenate([first, self._embed_track(tracks_KD)]))
        scores = self._score(_beside_each(x[1:], x[0]))[:, 0]
        return np.concatenate([scores, self._none(x[0])])


@dataclass(frozen=True, slots=True)
class Seen:
    """What the trunk makes of a moment. slots [K, W], context [W]; log_p [K + K M + G] of the components; on_offset [K, 2] in
    half boxes; beside [K M, 2] places in picture widths; spread [K M] their deviation; intent, a logit."""

    slots: Floats
    context: Floats
    log_p: Floats
    on_offset: Floats
    beside: Floats
    spread: Floats
    intent: np.float32


class ExecutorForward:
    """``trainers.networks.executor.Executor``, whose header says what its heads mean. ``aspect``: picture height / width."""

    def __init__(self, tensors: Tensors, layers: int, heads: int, aspect: float) -> None:
        self._scale = np.array([1.0, aspect], np.float32)
        self._embed_slot, self._embed_context = Mlp(tensors, "embed_slot"), Mlp(tensors, "embed_context")
        self._modes = np.asarray(tensors["embed_mode.weight"], np.float32)
        self._trunk = Trunk(tensors, layers, heads)
        self._component, self._on_offset, self._beside = (Mlp(tensors, name) for name in ("component", "on_offset", "beside"))
        self._cells, self._choice = Linear(tensors, "cells"), Linear(tensors, "choice")
        self._intent, self._click, self._keys = (Mlp(tensors, name) for name in ("intent", "click", "keys"))
        columns, rows = GRID
        x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows)
        self._centres = np.stack([x, y], axis=-1).reshape(-1, 2).astype(np.float32)
        self._log_cell_density = np.float32(math.log(columns * rows / aspect))

    def see(self, slots_KD: Floats, boxes_K4: Floats, own_2: Floats, context_D: Floats, mode: int, target: int) -> Seen:
        """``slots``, ``context`` normalised; ``boxes``, ``own`` (the ship) in 0..1; ``target``: which slot, or -1."""
        count = len(slots_KD)
        marked = (np.arange(count) == target).astype(np.float32)[:, None]
        tokens = self._embed_slot(np.concatenate([slots_KD, marked], axis=1))
        first = self._embed_context(np.append(context_D, np.float32(target >= 0))) + self._modes[mode]
        x = self._trunk(np.concatenate([first[None], tokens]))
        context, slots = x[0], x[1:]
        both = _beside_each(slots, context)
        pointed, place = self._component(both), self._beside(both).reshape(count, len(PLACES), 3)
        logits = np.concatenate([pointed[:, 0], pointed[:, 1:].ravel(), self._cells(context) - np.float32(CELL_BIAS)])
        spread = np.float32(MIN_SPREAD) + np.float32(SPREAD_RANGE) * sigmoid(place[..., 2].ravel() - 1)
        offset = np.tanh(self._on_offset(slots))
        places = self._places(boxes_K4, own_2, place[..., :2])
        return Seen(slots, context, logits - log_sum_exp(logits), offset, places, spread, self._intent(context)[0])

    def _places(self, boxes_K4: Floats, own_2: Floats, place_KM2: Floats) -> Floats:
        anchor = boxes_K4[:, :2] * self._scale
        line = own_2 * self._scale - anchor
        away = np.sqrt(np.square(line).sum(-1, keepdims=True))
        # The ship itself looks to the right.
        along = np.where(away > 0.01, line / np.maximum(away, np.float32(1e-6)), np.array([1.0, 0.0], np.float32))[:, None]
        across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
        offset = np.array(PLACES, np.float32) + np.float32(PLACE_REACH) * place_KM2
        return (anchor[:, None] + offset[..., :1] * along + offset[..., 1:] * across).reshape(-1, 2)

    def choose(self, seen: Seen, boxes_K4: Floats) -> tuple[int, Floats]:
        """The likeliest choice (a slot, or K for the ground) and its point in 0..1."""
        count = len(seen.slots)
        on, ground = seen.log_p[:count], seen.log_p[count:]
        if count and log_sum_exp(on) >= log_sum_exp(ground):
            slot = int(on.argmax())
            return slot, self.on_slot(seen, boxes_K4, slot)
        places = len(seen.spread)
        likely = np.argsort(-ground[:places], kind="stable")[:LIKELY_PLACES]
        points = np.concatenate([seen.beside[likely] / self._scale, self._centres[ground[places:].argmax()][None]])
        return count, np.clip(points[self._ground_log_density(seen, points).argmax()], 0, 1)

    def on_slot(self, seen: Seen, boxes_K4: Floats, slot: int) -> Floats:
        """The point on a slot, in 0..1."""
        box = boxes_K4[slot]
        return np.clip(box[:2] + seen.on_offset[slot] * box[2:] / 2, 0, 1)

    def _ground_log_density(self, seen: Seen, points_N2: Floats) -> Floats:
        count, places = len(seen.slots), len(seen.spread)
        away = np.square((points_N2 * self._scale)[:, None] - seen.beside).sum(-1)
        scale = seen.log_p[count : count + places] - np.log(np.float32(2 * math.pi) * seen.spread**2)
        column, row = (np.clip(points_N2, 0, 1 - 1e-6) * np.array(GRID, np.float32)).astype(np.int64).T
        absolute = seen.log_p[count + places :][row * GRID[0] + column] + self._log_cell_density
        return log_sum_exp(np.concatenate([scale - away / (2 * seen.spread**2), absolute[:, None]], axis=1))

    def act(self, seen: Seen, choice: int, point_2: Floats, cursor_2: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Click hazards [2], key hazards [I] and held logits [I], given the chosen point. ``cursor``: None when unknown."""
        on_slot = choice < len(seen.slots)
        token = seen.slots[choice] if on_slot else np.zeros_like(seen.context)
        both = np.concatenate([seen.context, self._choice(np.append(token, np.float32(on_slot)))])
        known = np.float32(cursor_2 is not None)
        offset = np.zeros(2, np.float32) if cursor_2 is None else (point_2 - cursor_2) * self._scale
        distance = math.sqrt(float(offset @ offset))
        intent = np.clip(seen.intent, -6, 6) / np.float32(3)
        near = (math.exp(-distance / 0.01), math.exp(-distance / 0.05), known, intent)
        where = np.concatenate([np.clip(offset, -1, 1) * 4, np.array(near, np.float32)])
        onsets, held = np.split(self._keys(np.append(both, intent)), 2)
        return self._click(np.concatenate([both, where])), onsets, held


def _beside_each(x_KW: Floats, context_W: Floats) -> Floats:
    return np.concatenate([x_KW, np.broadcast_to(context_W, x_KW.shape)], axis=1)


def gelu(x: Floats) -> Floats:
    """x times the normal distribution function, by its tanh form (Hendrycks and Gimpel 2016)."""
    return np.float32(0.5) * x * (1 + np.tanh(_GELU * (x + np.float32(0.044715) * x * x * x)))


def sigmoid(x: Floats) -> Floats:
    return np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * x))  # this form overflows nowhere


def softmax(x: Floats) -> Floats:
    """Over the last axis."""
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def log_sum_exp(x: Floats) -> Floats:
    """Over the last axis, which may not be empty."""
    highest = x.max(-1, keepdims=True)
    return (np.log(np.exp(x - highest).sum(-1, keepdims=True)) + highest)[..., 0]
