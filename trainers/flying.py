"""The three networks as a policy uses them in flight: one moment in, plain numbers out. Runs on the CPU, one thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from data.features import context_features, set_context_features, set_features, slot_features, summary_features
from data.profile import GameProfile
from data.steps import input_names
from data.vocabulary import MODES
from trainers.loop import put_tensors
from trainers.networks.executor import Executor
from trainers.networks.strategist import Strategist
from trainers.networks.tactician import Tactician

Loaded = dict[str, tuple[dict[str, Any], dict[str, NDArray[Any]]]]


@dataclass(frozen=True, slots=True)
class Look:
    """What the Executor makes of a moment: the point in 0..1, the chosen slot (or their number: the ground), and intent and
    hazards as probabilities."""

    point: tuple[float, float]
    choice: int
    intent: float
    clicks: list[float]
    keys: list[float]
    held: list[float]


class Brains:
    """The networks of a bundle, by level (card and tensors). Raises CheckpointError when tensors do not fit."""

    def __init__(self, profile: GameProfile, levels: Loaded) -> None:
        self._networks: dict[str, Any] = {}
        modes = len(MODES)
        for level, (card, tensors) in levels.items():
            size = card["network"]
            shape = (size["width"], size["layers"], size["heads"], 0.0)
            if level == "strategist":
                network: Any = Strategist(len(summary_features(profile)), modes, *shape, int(card["history"]))
            elif level == "tactician":
                network = Tactician(len(set_features(profile)), len(set_context_features(profile)), modes, *shape)
            else:
                aspect = profile.picture_size[1] / profile.picture_size[0]
                network = Executor(
                    len(slot_features(profile)), len(context_features(profile)), modes, len(input_names(profile)), aspect, *shape
                )
            put_tensors(network, tensors, level)
            network.eval()
            self._networks[level] = network

    def has(self, level: str) -> bool:
        return level in self._networks

    @property
    def history(self) -> int:
        """Seconds the Strategist looks back."""
        return self._networks["strategist"].history

    def bind_thread(self) -> None:
        """One torch thread in the calling thread: torch keeps this per thread."""
        torch.set_num_threads(1)

    @torch.inference_mode()
    def mode(self, summaries_TD: NDArray[np.float32]) -> int:
        """The mode now, from normalised summaries in time order."""
        return int(self._networks["strategist"](torch.from_numpy(summaries_TD)[None])[0, -1].argmax())

    @torch.inference_mode()
    def target(self, tracks: NDArray[np.float32], present: NDArray[np.bool_], context: NDArray[np.float32], mode: int) -> int:
        """The place in the set [1, N] of the target; N for none."""
        args = (torch.from_numpy(tracks), torch.from_numpy(present), torch.from_numpy(context))
        return int(self._networks["tactician"](*args, torch.tensor([mode]))[0].argmax())

    @torch.inference_mode()
    def look(
        self,
        slots: NDArray[np.float32],
        present: NDArray[np.bool_],
        boxes: NDArray[np.float32],
        context: NDArray[np.float32],
        own: NDArray[np.float32],
        cursor: tuple[float, float] | None,
        mode: int,
        target: NDArray[np.bool_],
        reach: tuple[int, tuple[float, float] | None] | None = None,
    ) -> Look:
        """All arrays with a leading 1. ``target`` marks at most one slot. ``reach``: go on to this slot, or to this point of the
        ground (slot = their number), instead of to what is likeliest now."""
        network: Executor = self._networks["executor"]
        at = torch.tensor([cursor if cursor is not None else (0.5, 0.5)], dtype=torch.float32)
        known = torch.tensor([cursor is not None])
        boxes_t = torch.from_numpy(boxes)
        seen = network.see(
            torch.from_numpy(slots),
            torch.from_numpy(present),
            boxes_t,
            torch.from_numpy(own),
            torch.from_numpy(context),
            torch.tensor([mode]),
            torch.from_numpy(target),
        )
        choice, point = network.choose(seen, boxes_t)
        if reach is not None and reach[1] is None:
            choice, box = torch.tensor([reach[0]]), boxes_t[:, reach[0]]
            point = (box[:, :2] + seen.on_offset[:, reach[0]] * box[:, 2:] / 2).clamp(0, 1)
        elif reach is not None:
            choice, point = torch.tensor([reach[0]]), torch.tensor([reach[1]], dtype=torch.float32)
        clicks, keys, held = network.act(seen, choice, point, at, known)
        x, y = point[0].tolist()
        return Look(
            (x, y),
            int(choice),
            float(torch.sigmoid(seen.intent[0])),
            torch.sigmoid(clicks[0]).tolist(),
            torch.sigmoid(keys[0]).tolist(),
            torch.sigmoid(held[0]).tolist(),
        )
