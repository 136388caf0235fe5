"""How many frames a league learner learns from in one CPU-second, beside what the network alone costs.

    python -m benchmarks.league_learner [--steps 32] [--sequences 256] [--hidden 128] [--seconds 5]

One thread, one update after another on random play: forward, every loss (V-trace, UPGO, TD(lambda), KL to stored reference
logits, entropy), backward, clipping, Adam. Beside it: the same with split traces, the same from the readable loss by autograd,
its matrix products and nothing else (no update of this network can be faster with this library), and torch's forward and
backward, and forward, of the network alone; the last is the yardstick for how busy the machine is. Rows take turns, and medians
are told. Times are CPU time of this process; on cores that are shared with other work they grow too.
Prints a table and writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from league.codec import BINS, HEADS, LOGITS, OBSERVATION_SIZE
from league.forward import BLOCK
from league.learner import LeagueLearner
from league.losses import REFERENCE_LOGITS, LossSettings, UpdateSettings, evaluate, update_loss
from league.network import ActorCritic
from league.privileged import TOLD_SIZE
from league.threads import one_thread
from league.trajectories import TrajectorySequence

RESULTS = Path(__file__).parent / "results"


def random_play(steps: int, sequences: int) -> TrajectorySequence:
    """What an actor stores; an end every 200 frames, a head in ten without effect."""
    random, shape = np.random.default_rng(0), (steps, sequences)
    return TrajectorySequence(
        observation=random.standard_normal((*shape, TOLD_SIZE), np.float32),
        action=(random.random((*shape, len(HEADS))) * BINS).astype(np.int8),
        head_mask=random.random((*shape, len(HEADS))) > 0.1,
        behaviour_log_prob=(0.05 * random.standard_normal((*shape, len(HEADS))) - np.log(BINS)).astype(np.float32),
        reward=random.standard_normal(shape, np.float32),
        terminated=random.random(shape) < 1 / 200,
        truncated=np.zeros(shape, np.bool_),
        living=np.ones(shape, np.bool_),
        bootstrap_observation=random.standard_normal((sequences, TOLD_SIZE), np.float32),
        extras={REFERENCE_LOGITS: 0.1 * random.standard_normal((*shape, LOGITS), np.float32)},
    )


def learner(hidden: int, play: TrajectorySequence, traces: Literal["joint", "split"]) -> Callable[[], object]:
    """One update, as the league makes it."""
    one = LeagueLearner(ActorCritic(hidden), None, LossSettings(traces=traces), UpdateSettings())
    return lambda: one.update(play)


def by_autograd(hidden: int, play: TrajectorySequence) -> Callable[[], None]:
    """The same update from the readable loss, as it was before there was a gradient by hand."""
    network, how, settings = ActorCritic(hidden), UpdateSettings(), LossSettings()
    optimiser = torch.optim.Adam(network.parameters(), how.learning_rate, fused=True)

    def step() -> None:
        loss = update_loss(evaluate(network, play), settings)
        optimiser.zero_grad(set_to_none=True)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), how.clip_norm)
        optimiser.step()

    return step


def products_alone(hidden: int, frames: int) -> Callable[[], None]:
    """What an update multiplies and nothing else, in blocks of rows as it does, on rows that stay in the cache."""
    random, products = np.random.default_rng(0), []
    for inputs, outputs in ((OBSERVATION_SIZE, LOGITS), (TOLD_SIZE, 1)):
        widths = (inputs, hidden, hidden, outputs)
        rows = [random.standard_normal((BLOCK, width), np.float32) for width in widths]
        weights = [random.standard_normal(shape, np.float32) for shape in zip(widths[1:], widths, strict=False)]
        products += [(rows[i], weights[i].T) for i in range(3)]  # forward
        products += [(rows[i + 1].T, rows[i]) for i in range(3)]  # the weights' gradients
        products += [(rows[i + 1], weights[i]) for i in (1, 2)]  # what goes back to the layer below
    ready = [(a, b, np.empty((len(a), b.shape[1]), np.float32)) for a, b in products]

    def step() -> None:
        for _ in range(frames // BLOCK):
            for a, b, out in ready:
                np.matmul(a, b, out=out)

    return step


def network_alone(network: ActorCritic, observation: torch.Tensor, backward: bool) -> Callable[[], object]:
    def step() -> None:
        with torch.set_grad_enabled(backward):
            logits, values = network(observation)
        if backward:
            network.zero_grad(set_to_none=True)
            (logits.sum() + values.sum()).backward()

    return step


def medians(rows: dict[str, Callable[[], object]], frames: int, seconds: float) -> dict[str, float]:
    """Frames per CPU-second of each row: the median over rounds, in which the rows take turns, so that all see the same machine."""
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for step in rows.values():
        step()
    while sum(map(sum, spent.values())) < seconds * len(rows):
        for name, step in rows.items():
            began = time.process_time()
            step()
            spent[name].append(time.process_time() - began)
    return {name: frames / statistics.median(times) for name, times in spent.items()}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=32, help="T, steps in a sequence")
    parser.add_argument("--sequences", type=int, default=256, help="B, sequences in an update")
    parser.add_argument("--hidden", type=int, default=128, help="width of the network")
    parser.add_argument("--seconds", type=float, default=5.0, help="CPU-seconds for each row, about")
    args = parser.parse_args(argv)
    one_thread()
    play = random_play(args.steps, args.sequences)
    network, observation = ActorCritic(args.hidden), torch.from_numpy(play.observation)
    frames = args.steps * args.sequences
    if frames % BLOCK:
        parser.error(f"--steps times --sequences is {frames}; to be comparable it must be a multiple of {BLOCK}")
    rows = {
        "update, joint traces": learner(args.hidden, play, "joint"),
        "update, split traces": learner(args.hidden, play, "split"),
        "update by autograd, joint traces": by_autograd(args.hidden, play),
        "its matrix products alone": products_alone(args.hidden, frames),
        "network forward and backward": network_alone(network, observation, True),
        "network forward": network_alone(network, observation, False),
    }
    rates = medians(rows, frames, args.seconds)
    sys.stdout.write(f"[{args.steps}, {args.sequences}], h = {args.hidden}, one thread, load {os.getloadavg()[0]:.1f}\n")
    for name, rate in rates.items():
        sys.stdout.write(f"{name:36s} {rate / 1000:8.0f} k frames per CPU-second\n")
    result: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "torch": torch.__version__,
        "arguments": vars(args),
        "frames_per_cpu_second": rates,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"league_learner_{datetime.now(UTC):%Y-%m-%d_%H%M}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    sys.stdout.write(f"written: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
