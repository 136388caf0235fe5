"""The three networks as a policy uses them in flight: one moment in, plain numbers out. Numpy only, in one thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.checkpoint import fit_tensors
from data.features import context_features, set_context_features, set_features, slot_features, summary_features
from data.profile import GameProfile
from data.steps import input_names
from data.vocabulary import MODES
from trainers.chunking import Plan
from trainers.networks.forward import ExecutorForward, StrategistForward, TacticianForward
from trainers.networks.forward_blocks import Floats, sigmoid, softmax
from trainers.networks.shape import Extras, executor_shapes, strategist_shapes, tactician_shapes

Loaded = dict[str, tuple[dict[str, Any], dict[str, NDArray[Any]]]]


@dataclass(frozen=True, slots=True)
class Look:
    """What the Executor makes of a moment: the point in 0..1, the chosen slot (or their number: the ground), and intent and
    hazards as probabilities. ``plan``: the next ticks, where the network foretells them."""

    point: tuple[float, float]
    choice: int
    intent: float
    clicks: list[float]
    keys: list[float]
    held: list[float]
    plan: Plan | None = None


class Brains:
    """The networks of a bundle, by level (card and tensors). Raises CheckpointError when tensors do not fit."""

    def __init__(self, profile: GameProfile, levels: Loaded) -> None:
        self._strategist: StrategistForward | None = None
        self._tactician: TacticianForward | None = None
        self._mode_bias = np.zeros(len(MODES), np.float32)
        for level, (card, tensors) in levels.items():
            size = card["network"]
            width, layers, heads = size["width"], size["layers"], size["heads"]
            if level == "strategist":
                wanted = strategist_shapes(len(summary_features(profile)), len(MODES), width, layers, int(card["history"]))
                self._mode_bias = np.array(card.get("mode_bias", self._mode_bias), np.float32)
                self._strategist = StrategistForward(fit_tensors(tensors, wanted, level), layers, heads)
            elif level == "tactician":
                wanted = tactician_shapes(len(set_features(profile)), len(set_context_features(profile)), len(MODES), width, layers)
                self._tactician = TacticianForward(fit_tensors(tensors, wanted, level), layers, heads)
            else:
                counts = (len(slot_features(profile)), len(context_features(profile)), len(MODES), len(input_names(profile)))
                extras = Extras(int(size.get("chunk", 1)), *(bool(size.get(name, False)) for name in ("way_point", "cursor_past")))
                fitted = fit_tensors(tensors, executor_shapes(*counts, width, layers, extras), level)
                self.sees_past_cursors = extras.cursor_past
                self._executor = ExecutorForward(fitted, layers, heads, profile.picture_size[1] / profile.picture_size[0], extras)

    @property
    def has_strategist(self) -> bool:
        return self._strategist is not None

    @property
    def has_tactician(self) -> bool:
        return self._tactician is not None

    @property
    def history(self) -> int:
        """Seconds the Strategist looks back; 0 without one."""
        return self._strategist.history if self._strategist is not None else 0

    def modes(self, summaries_TD: Floats) -> Floats:
        """[modes] how likely each is now, from normalised summaries in time order (at most ``history`` of them)."""
        assert self._strategist is not None
        return softmax(self._strategist(summaries_TD))

    def mode_of(self, likely: Floats) -> NDArray[np.int64]:
        """int64 [...] the mode decided for, from how likely each is [..., modes]: a rare one may be before a likelier common one."""
        return (np.log(np.maximum(likely, 1e-12)) + self._mode_bias).argmax(-1)

    def targets(self, tracks: Floats, present: NDArray[np.bool_], context: Floats, mode: int) -> Floats:
        """[N + 1] how likely each place of the set [1, N] is the target; the last for none, 0 where there is no track."""
        assert self._tactician is not None
        there = np.flatnonzero(present[0])
        likely = np.zeros(present.shape[1] + 1, np.float32)
        likely[np.append(there, present.shape[1])] = softmax(self._tactician(tracks[0, there], context[0], mode))
        return likely

    def look(
        self,
        slots: Floats,
        present: NDArray[np.bool_],
        boxes: Floats,
        context: Floats,
        own: Floats,
        cursor: tuple[float, float] | None,
        mode: int,
        target: NDArray[np.bool_],
        reach: tuple[int, tuple[float, float] | None] | None = None,
        past: Floats | None = None,
    ) -> Look:
        """All arrays with a leading 1. ``target`` marks at most one slot. ``reach``: go on to this slot, or to this point of the
        ground (slot = their number), instead of to what is likeliest now. ``past``: where the cursor was, for an Executor that sees it."""
        network = self._executor
        there = np.flatnonzero(present[0])
        ground, its_boxes = len(there), boxes[0, there]
        marked = np.flatnonzero(target[0, there])
        seen = network.see(slots[0, there], its_boxes, own[0], context[0], mode, int(marked[0]) if len(marked) else -1)
        choice, point = network.choose(seen)
        if reach is not None and reach[1] is None:
            choice = int(np.searchsorted(there, reach[0]))
            point = network.on_slot(seen, choice)
        elif reach is not None:
            choice, point = ground, np.array(reach[1], np.float32)
        at = None if cursor is None else np.array(cursor, np.float32)
        before = None if past is None else past[0]
        clicks, keys, held = network.act(seen, choice, point, at, before)
        foretold = network.foretell(seen, choice, point, at, before)
        x, y = point.tolist()
        likely = sigmoid(np.concatenate([clicks, keys, held])).tolist()
        buttons, inputs = len(clicks), len(clicks) + len(keys)
        return Look(
            (x, y),
            int(there[choice]) if choice < ground else present.shape[1],
            float(sigmoid(seen.intent)),
            likely[:buttons],
            likely[buttons:inputs],
            likely[inputs:],
            None if foretold is None else Plan(point, foretold[0], sigmoid(foretold[1])),
        )
