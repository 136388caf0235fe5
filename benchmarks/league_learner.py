"""How many frames a league learner learns from in one CPU-second, beside what the network alone costs.

    python -m benchmarks.league_learner [--steps 32] [--sequences 256] [--hidden 128] [--seconds 5]

One thread, one update after another on random play: forward, every loss (V-trace, UPGO, TD(lambda), KL to stored reference
logits, entropy), backward, clipping, Adam. Beside it: the same with split traces, the network's forward and backward alone,
and the forward alone; the last is the yardstick for how busy the machine is. Times are CPU time of this process; on cores that
are shared with other work they grow too. Prints a table and writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from league.codec import BINS, HEADS, LOGITS, OBSERVATION_SIZE
from league.losses import LossSettings, Update, UpdateSettings, update_loss
from league.network import ActorCritic
from league.returns import successor_values

RESULTS = Path(__file__).parent / "results"


def random_play(steps: int, sequences: int) -> dict[str, torch.Tensor]:
    """Observations [T + 1, B, 19] and what an actor stores beside them; an end every 200 frames, a death in ten."""
    torch.manual_seed(0)
    shape = (steps, sequences)
    ends = torch.rand(shape) < 1 / 200
    action = (torch.rand(*shape, len(HEADS)) * torch.as_tensor(BINS)).to(torch.int8)
    return {
        "observation": torch.randn(steps + 1, sequences, OBSERVATION_SIZE),
        "action": action,
        "head_mask": torch.rand(*shape, len(HEADS)) > 0.1,
        "behaviour_log_prob": -torch.log(torch.as_tensor(BINS).float()) + 0.05 * torch.randn(*shape, len(HEADS)),
        "reward": torch.randn(shape),
        "terminated": ends,
        "truncated": torch.zeros(shape, dtype=torch.bool),
        "living": torch.ones(shape, dtype=torch.bool),
        "reference_logits": 0.1 * torch.randn(*shape, LOGITS),
    }


def learner(network: ActorCritic, play: dict[str, torch.Tensor], settings: LossSettings) -> Callable[[], None]:
    """One update, as a learner makes it."""
    how = UpdateSettings()
    optimiser = torch.optim.Adam(network.parameters(), how.learning_rate)
    observation = play["observation"]
    rest = {name: tensor for name, tensor in play.items() if name != "observation"}

    def step() -> None:
        logits, values = network(observation)
        told = values.detach().numpy()
        truncated = play["truncated"].numpy()
        following = torch.from_numpy(successor_values(told[:-1], told[-1], truncated, told[:-1]))
        loss = update_loss(Update(logits[:-1], values[:-1], following, **rest), settings)
        optimiser.zero_grad(set_to_none=True)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), how.clip_norm)
        optimiser.step()

    return step


def network_alone(network: ActorCritic, observation: torch.Tensor, backward: bool) -> Callable[[], None]:
    def step() -> None:
        with torch.set_grad_enabled(backward):
            logits, values = network(observation[:-1])
        if backward:
            network.zero_grad(set_to_none=True)
            (logits.sum() + values.sum()).backward()

    return step


def frames_per_cpu_second(step: Callable[[], None], frames: int, seconds: float) -> float:
    for _ in range(3):
        step()
    began, count = time.process_time(), 0
    while (spent := time.process_time() - began) < seconds:
        step()
        count += 1
    return count * frames / spent


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=32, help="T, steps in a sequence")
    parser.add_argument("--sequences", type=int, default=256, help="B, sequences in an update")
    parser.add_argument("--hidden", type=int, default=128, help="width of the network")
    parser.add_argument("--seconds", type=float, default=5.0, help="CPU-seconds for each row")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    play = random_play(args.steps, args.sequences)
    network = ActorCritic(args.hidden)
    rows = {
        "update, joint traces": learner(network, play, LossSettings()),
        "update, split traces": learner(network, play, LossSettings(traces="split")),
        "network forward and backward": network_alone(network, play["observation"], True),
        "network forward": network_alone(network, play["observation"], False),
    }
    frames = args.steps * args.sequences
    rates = {name: frames_per_cpu_second(step, frames, args.seconds) for name, step in rows.items()}
    sys.stdout.write(f"[{args.steps}, {args.sequences}], h = {args.hidden}, one thread, load {os.getloadavg()[0]:.1f}\n")
    for name, rate in rates.items():
        sys.stdout.write(f"{name:32s} {rate / 1000:8.0f} k frames per CPU-second\n")
    result: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "torch": torch.__version__,
        "arguments": vars(args),
        "frames_per_cpu_second": rates,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"league_learner_{datetime.now(UTC):%Y-%m-%d}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    sys.stdout.write(f"written: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
