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
from dataclasses import dataclass
from typing import Final

import numpy as np

from trainers.networks.forward_blocks import Floats, Linear, Mlp, Tensors, Trunk, log_sum_exp, side_by_side, sigmoid, softmax
from trainers.networks.shape import (
    CELL_BIAS,
    GRID,
    LIKELIER,
    LIKELY,
    LIKELY_PLACES,
    MIN_SPREAD,
    NO_EXTRAS,
    ON_SPREAD,
    PAST_CURSORS,
    PLACE_REACH,
    PLACES,
    SPREAD_RANGE,
    Extras,
)


class StrategistForward:
    """``trainers.networks.strategist.Strategist``."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self.history = len(tensors["decay"])
        self._embed, self._trunk = Mlp.of(tensors, "embed"), Trunk(tensors, layers, heads)
        self._decay = np.asarray(tensors["decay"], np.float32)
        self._head = Linear.of(tensors, "head")

    def __call__(self, summaries_TD: Floats) -> Floats:
        """Mode logits at the last second, from normalised summaries in time order (at most ``history`` of them)."""
        tokens = self._embed(summaries_TD)
        x = self._trunk(tokens + self._decay[: len(tokens)], causal=True)
        return self._head(np.concatenate([x[-1], tokens[-1]]))


class TacticianForward:
    """``trainers.networks.tactician.Tactician``."""

    def __init__(self, tensors: Tensors, layers: int, heads: int) -> None:
        self._embed_track, self._embed_context = Mlp.of(tensors, "embed_track"), Linear.of(tensors, "embed_context")
        self._modes = np.asarray(tensors["embed_mode.weight"], np.float32)
        self._trunk = Trunk(tensors, layers, heads)
        self._score, self._none = BesideEach([(Mlp.of(tensors, "score"), True)]), Mlp.of(tensors, "none")

    def __call__(self, tracks_KD: Floats, context_D: Floats, mode: int) -> Floats:
        """Logits [K + 1]: one for each track, the last for "none"."""
        first = (self._embed_context(context_D) + self._modes[mode])[None]
        x = self._trunk(np.concatenate([first, self._embed_track(tracks_KD)]))
        return np.concatenate([self._score(x[1:], self._score.of_context(x[0]))[:, 0], self._none(x[0])])


class BesideEach:
    """Small heads over tokens [K, W], each token with the context [W] beside it or (False) alone; what goes out is theirs in a row."""

    def __init__(self, heads: list[tuple[Mlp, bool]]) -> None:
        width = next(len(mlp.first.weight) // 2 for mlp, both in heads if both)
        reads = [list(range(2 * width if both else width)) for _, both in heads]
        self._all = side_by_side([mlp for mlp, _ in heads], reads, 2 * width)
        self._tokens, self.of_context = self._all.first.weight[:width], Linear(self._all.first.weight[width:], self._all.first.bias)

    def __call__(self, tokens_KW: Floats, context_H: Floats) -> Floats:
        """``context``: what ``of_context`` makes of it."""
        hidden = tokens_KW @ self._tokens
        hidden += context_H
        return self._all.rest(hidden)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the trunk makes of a moment. slots [K, W], context [W]; log_p [K + K M + G] of the components; on [K, 2] places on tracks
    in picture widths, on_spread [K] their deviation; beside [K M, 2] places beside them, spread [K M] their deviation; intent, a logit."""

    slots: Floats
    context: Floats
    log_p: Floats
    on: Floats
    on_spread: Floats
    beside: Floats
    spread: Floats
    intent: np.float32


class ExecutorForward:
    """``trainers.networks.executor.Executor``, whose header says what its heads mean. ``aspect``: picture height / width."""

    def __init__(self, tensors: Tensors, layers: int, heads: int, aspect: float, extras: Extras = NO_EXTRAS) -> None:
        self._chunk, self._cursor_past = extras.chunk, extras.cursor_past
        self._plan = Mlp.of(tensors, "plan") if extras.chunk > 1 else None
        self._way = (Mlp.of(tensors, "way"), Linear.of(tensors, "goal")) if extras.way_point else None
        self._scale = np.array([1.0, aspect], np.float32)
        slot, context = Mlp.of(tensors, "embed_slot"), Mlp.of(tensors, "embed_context")
        # The last input says which slot is the target, or that there is one: added where it is 1.
        self._embed_slot, self._of_target = _without_last_input(slot)
        self._embed_context, self._of_a_target = _without_last_input(context)
        self._modes = np.asarray(tensors["embed_mode.weight"], np.float32)
        self._trunk = Trunk(tensors, layers, heads)
        component, on_offset, beside, self._intent, click, keys = (
            Mlp.of(tensors, name) for name in ("component", "on_offset", "beside", "intent", "click", "keys")
        )
        self._each = BesideEach([(component, True), (beside, True), (on_offset, False)])
        cells, choice = Linear.of(tensors, "cells"), Linear.of(tensors, "choice")
        parts = (self._each.of_context, self._intent.first, Linear(cells.weight, cells.bias - np.float32(CELL_BIAS)))
        self._of_context = Linear(np.concatenate([p.weight for p in parts], axis=1), np.concatenate([p.bias for p in parts]))
        self._ends = np.cumsum([len(p.bias) for p in parts[:2]]).tolist()
        # Its last input is 1 for a slot; for the ground all are 0.
        self._choice, self._no_choice = Linear(choice.weight[:-1], choice.bias + choice.weight[-1]), choice.bias
        both, where = len(keys.first.weight) - 1, len(click.first.weight)
        self._act = side_by_side([click, keys], [list(range(where)), [*range(both), where - 1]], where)
        self._buttons = len(click.second.bias)
        columns, rows = GRID
        x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows)
        self._centres = np.stack([x, y], axis=-1).reshape(-1, 2).astype(np.float32)
        self._log_cell_density = np.float32(math.log(columns * rows / aspect))

    def see(self, slots_KD: Floats, boxes_K4: Floats, own_2: Floats, context_D: Floats, mode: int, target: int) -> Seen:
        """``slots``, ``context`` normalised; ``boxes``, ``own`` (the ship) in 0..1; ``target``: which slot, or -1."""
        count, hidden, about = len(slots_KD), self._embed_slot.first(slots_KD), self._embed_context.first(context_D)
        if target >= 0:
            hidden[target] += self._of_target
            about += self._of_a_target
        x = np.empty((count + 1, len(self._modes[mode])), np.float32)
        x[0], x[1:] = self._embed_context.rest(about) + self._modes[mode], self._embed_slot.rest(hidden)
        x = self._trunk(x)
        context, slots = x[0], x[1:]
        if self._way is not None:
            way, goal = self._way
            context = context + goal(softmax(way(context)))
        of_each, of_intent, of_cells = np.split(self._of_context(context), self._ends)
        each, kinds = self._each(slots, of_each), 1 + len(PLACES)
        pointed, place, on_offset = each[:, :kinds], each[:, kinds:-2].reshape(count, len(PLACES), 3), each[:, -2:]
        logits = np.concatenate([pointed[:, 0], pointed[:, 1:].ravel(), of_cells])
        spread = np.float32(MIN_SPREAD) + np.float32(SPREAD_RANGE) * sigmoid(place[..., 2].ravel() - np.float32(1))
        places, size = self._places(boxes_K4, own_2, place[..., :2]), boxes_K4[:, 2:] * self._scale
        on = boxes_K4[:, :2] * self._scale + np.tanh(on_offset) * size / 2
        on_spread = np.maximum(np.float32(ON_SPREAD / 2) * (size[:, 0] + size[:, 1]), np.float32(MIN_SPREAD))
        intent = self._intent.rest(of_intent)[0]
        return Seen(slots, context, logits - log_sum_exp(logits), on, on_spread, places, spread, intent)

    def _places(self, boxes_K4: Floats, own_2: Floats, place_KM2: Floats) -> Floats:
        anchor = boxes_K4[:, :2] * self._scale
        line = own_2 * self._scale - anchor
        away = np.hypot(line[:, 0], line[:, 1])[:, None]
        along = line / np.maximum(away, np.float32(1e-6))
        along[away[:, 0] <= 0.01] = (1.0, 0.0)  # the ship itself looks to the right
        offset = _PLACES + np.float32(PLACE_REACH) * place_KM2
        x, y, ahead, aside = along[:, :1], along[:, 1:], offset[..., 0], offset[..., 1]
        found: Floats = np.empty(place_KM2.shape, np.float32)
        found[..., 0] = anchor[:, :1] + ahead * x - aside * y
        found[..., 1] = anchor[:, 1:] + ahead * y + aside * x
        return found.reshape(-1, 2)

    def choose(self, seen: Seen) -> tuple[int, Floats]:
        """The likeliest choice (a slot, or K for the ground) and its point in 0..1."""
        count = len(seen.slots)
        on, ground = seen.log_p[:count], seen.log_p[count:]
        if count and np.add.reduce(np.exp(on)) >= 0.5:
            slot = int(on.argmax())
            return slot, self.on_slot(seen, slot)
        places = len(seen.spread)
        likely = (-ground[:places]).argsort(kind="stable")[:LIKELY_PLACES]
        points = np.concatenate([seen.beside[likely] / self._scale, self._centres[ground[places:].argmax()][None]])
        return count, _inside(points[self._ground_log_density(seen, points).argmax()])

    def on_slot(self, seen: Seen, slot: int) -> Floats:
        """The point on a slot, in 0..1."""
        return _inside(seen.on[slot] / self._scale)

    def _ground_log_density(self, seen: Seen, points_N2: Floats) -> Floats:
        count, places = len(seen.slots), len(seen.spread)
        return self._log_density(seen, points_N2, seen.beside, seen.spread, seen.log_p[count : count + places])

    def _any_log_density(self, seen: Seen, points_N2: Floats) -> Floats:
        """On tracks or on the ground."""
        centres, spread = np.concatenate([seen.on, seen.beside]), np.concatenate([seen.on_spread, seen.spread])
        return self._log_density(seen, points_N2, centres, spread, seen.log_p[: len(spread)])

    def _log_density(self, seen: Seen, points_N2: Floats, centres_M2: Floats, spread_M: Floats, log_p_M: Floats) -> Floats:
        """[N] of a mixture of normals and the cells."""
        gap = (points_N2 * self._scale)[:, None] - centres_M2
        variance = np.square(spread_M)
        scale = log_p_M - np.log(np.float32(2 * math.pi) * variance)
        column, row = (np.minimum(_inside(points_N2), np.float32(1 - 1e-6)) * _CELLS).astype(np.int64).T
        cells = seen.log_p[len(seen.slots) + len(seen.spread) :]
        absolute = cells[row * GRID[0] + column] + self._log_cell_density
        return log_sum_exp(np.concatenate([scale - np.vecdot(gap, gap) / (2 * variance), absolute[:, None]], axis=1))

    def act(
        self, seen: Seen, choice: int, point_2: Floats, cursor_2: Floats | None, past_L2: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Click hazards [2], key hazards [I] and held logits [I], given the chosen point. ``cursor``: None when unknown; ``past``: where
        it was, only with such an extra."""
        both, where = self._given(seen, choice, point_2, cursor_2, past_L2)
        found = self._act(np.concatenate([both, where]))
        keys = (len(found) - self._buttons) // 2
        return found[: self._buttons], found[self._buttons : -keys], found[-keys:]

    def foretell(
        self, seen: Seen, choice: int, point_2: Floats, cursor_2: Floats | None, past_L2: Floats | None = None
    ) -> tuple[Floats, Floats] | None:
        """[N, 2] where the cursor is after each of the next ticks, in 0..1 (at the point, where it is unknown now), and [N, I] logits of
        every button's and key's hazard; None without a chunk."""
        if self._plan is None:
            return None
        plan = self._plan(np.concatenate(self._given(seen, choice, point_2, cursor_2, past_L2))).reshape(self._chunk, -1)
        start = point_2 if cursor_2 is None else cursor_2
        x, y = (point_2 - start) * self._scale
        along, across = plan[:, :1], plan[:, 1:2]
        path = start + (along * np.array([x, y]) + across * np.array([-y, x])) / self._scale
        return np.clip(path, 0, 1).astype(np.float32), plan[:, 2:]

    def _given(self, seen: Seen, choice: int, point_2: Floats, cursor_2: Floats | None, past_L2: Floats | None) -> tuple[Floats, Floats]:
        on_slot = choice < len(seen.slots)
        both = np.concatenate([seen.context, self._choice(seen.slots[choice]) if on_slot else self._no_choice])
        known = np.float32(cursor_2 is not None)
        offset = np.zeros(2, np.float32) if cursor_2 is None else (point_2 - cursor_2) * self._scale
        distance = math.sqrt(float(offset @ offset))
        intent = min(max(float(seen.intent), -6.0), 6.0) / 3
        likely = likelier = 0.0
        if cursor_2 is not None:
            at_cursor, at_point = self._any_log_density(seen, np.stack([cursor_2, point_2])).tolist()
            likely = min(max(at_cursor, LIKELY[0]), LIKELY[1]) / 4
            likelier = min(max(at_cursor - at_point, LIKELIER[0]), LIKELIER[1]) / 4
        near = (math.exp(-distance / 0.01), math.exp(-distance / 0.05), likely, likelier)
        past = np.zeros(0, np.float32)
        if self._cursor_past:
            past = np.zeros(2 * PAST_CURSORS, np.float32)
            if cursor_2 is not None and past_L2 is not None:
                past = np.clip((past_L2 - cursor_2) * self._scale, -1, 1).ravel() * 4
        both_ends = (np.minimum(np.maximum(offset, -1), 1) * 4, np.array(near, np.float32), past, np.array((known, intent), np.float32))
        return both, np.concatenate(both_ends)


_PLACES: Final = np.array(PLACES, np.float32)
_CELLS: Final = np.array(GRID, np.float32)


def _inside(points: Floats) -> Floats:
    return np.minimum(np.maximum(points, np.float32(0)), np.float32(1))


def _without_last_input(mlp: Mlp) -> tuple[Mlp, Floats]:
    """The rest of it, and what the last input adds to ``first`` where it is 1."""
    return Mlp(Linear(mlp.first.weight[:-1], mlp.first.bias), mlp.second), mlp.first.weight[-1]
