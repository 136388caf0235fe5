"""What the layers' choices cost and bring: norm before or after, fused or explicit attention, label smoothing on or off.

    python -m benchmarks.layers --minutes 20 --seeds 3

Speed: one transformer trunk as the levels use it, forward alone and forward with backward, the variants taking turns in one
run so that what else the machine does falls on all of them; and the flying form in numpy beside torch. Skill: the Tactician's
task (which track is the target) trained from the same play by each variant and seed. Claims to be checked: norms before
training 40 % faster, fused attention 30 % faster in flight, smoothing 3 points better. The result is written to
``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.training_speed import record
from trainers import tactician
from trainers.loop import LoopSettings, tensors_of
from trainers.networks import blocks
from trainers.networks.forward_blocks import Trunk as FlyingTrunk

WIDTH, LAYERS, HEADS = 64, 2, 2
SHAPES = {"strategist": (32, 60), "tactician": (64, 33), "executor": (128, 13)}
"""Batch and tokens of a training step at each level."""


class ExplicitAttention(blocks.Attention):
    """Scores, softmax and weighted sum written out, as before ``scaled_dot_product_attention``."""

    def forward(self, x_BTD: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        b, t, d = x_BTD.shape
        q, k, v = self.qkv(x_BTD).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        if causal:
            scores = scores.masked_fill(~torch.ones(t, t, dtype=torch.bool).tril(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class ExplicitLayer(blocks.Layer):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        self.attention = ExplicitAttention(width, heads)


class PostLayer(blocks.Layer):
    """norm(x + attention(x)); norm(x + feed-forward(x)): the first transformers' order."""

    def forward(self, x_BTD: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        x_BTD = self.norm_1(x_BTD + self.attention(x_BTD, mask, causal))
        return self.norm_2(x_BTD + self.feed(x_BTD))


VARIANTS: dict[str, type[blocks.Layer]] = {
    "norm before, fused": blocks.Layer,
    "norm after, fused": PostLayer,
    "norm before, explicit": ExplicitLayer,
}
OURS = "norm before, fused"


def trunk(layer: type[blocks.Layer]) -> blocks.Trunk:
    with mock.patch.object(blocks, "Layer", layer):
        return blocks.Trunk(WIDTH, LAYERS, HEADS, 0.0)


def medians(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median ms of processor time of each call, taking turns: one thread, so that is what a quiet machine would take."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(5):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            call()
            times[name].append((time.process_time() - began) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def speeds(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Level -> "training step" | "one moment" -> variant -> ms."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for level, (batch, tokens) in SHAPES.items():
        networks = {name: trunk(layer) for name, layer in VARIANTS.items()}
        x, one = torch.randn(batch, tokens, WIDTH), torch.randn(1, tokens, WIDTH)
        causal = level == "strategist"
        keep = None if causal else torch.rand(batch, tokens) < 0.7
        if keep is not None:
            keep[:, 0] = True

        def step(network: nn.Module, x: Tensor = x, keep: Tensor | None = keep, causal: bool = causal) -> None:
            network.zero_grad(set_to_none=True)
            network(x, keep, causal).square().mean().backward()

        def moment(network: nn.Module, one: Tensor = one, causal: bool = causal) -> None:
            with torch.inference_mode():
                network(one, None, causal)

        flying = FlyingTrunk({f"trunk.{n}": v for n, v in tensors_of(networks[OURS]).items()}, LAYERS, HEADS)
        array = one[0].numpy()
        moments: dict[str, Callable[[], Any]] = {name: lambda n=network: moment(n) for name, network in networks.items()}
        moments["ours in numpy, as it flies"] = lambda: flying(array, causal)  # noqa: B023 - called before the loop goes on
        found[level] = {
            "training step": medians({name: lambda n=network: step(n) for name, network in networks.items()}, rounds),
            "one moment": medians(moments, rounds * 4),
        }
    return found


def skill(minutes: float, seeds: int) -> dict[str, list[float]]:
    """Variant -> the share of right targets on held-out play, by seed."""
    sessions = record(minutes)
    loop = LoopSettings(15, 64, 3e-4, patience=15, checkpoints=False)
    plans = [(name, layer, tactician.QUICK.smoothing) for name, layer in VARIANTS.items() if name != "norm before, explicit"]
    plans.append(("norm before, fused, no smoothing", blocks.Layer, 0.0))
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        for name, layer, smoothing in plans:
            settings = replace(tactician.QUICK, loop=replace(loop, seed=seed), smoothing=smoothing)
            with tempfile.TemporaryDirectory() as folder, mock.patch.object(blocks, "Layer", layer):
                began = time.perf_counter()
                result = tactician.train(sessions, settings, Path(folder))
            found.setdefault(name, []).append(float(result.figures["on_target"]))
            print(f"seed {seed}, {name}: on target {found[name][-1]:.3f} ({time.perf_counter() - began:.0f} s)", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="expert play to learn the target from; 0: speed only")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    measured = speeds(arguments.rounds)
    for level, kinds in measured.items():
        for kind, times in kinds.items():
            ours = times[OURS]
            print(f"{level:<11} {kind:<14} " + "   ".join(f"{name} {ms:.2f} ms ({ms / ours:.2f} x)" for name, ms in times.items()))
    learnt = skill(arguments.minutes, arguments.seeds) if arguments.minutes > 0 else {}
    for name, shares in learnt.items():
        print(f"on target   {name:<34} {np.mean(shares):.3f} (seeds {', '.join(f'{s:.3f}' for s in shares)})")
    now = datetime.now(UTC)
    path = Path(__file__).with_name("results") / f"layers_{now:%Y-%m-%d_%H%M}.json"
    machine = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__, "threads": 1}
    content = {"at": now.isoformat(timespec="seconds"), "machine": machine, "options": vars(arguments), "ms": measured, "on_target": learnt}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
