"""How many frames of last man standing are played and learnt from in one second, end to end, beside a plain loop.

    python -m benchmarks.league_speed [--seconds 10] [--worlds 64] [--hidden 128] [--actors 1]

A fresh frame is one living seat that learns, for one step; a consumed frame is one that an update learnt from (each twice here).
Rows: actors in processes and all seats learning (self-play); the same with one learning seat among three of one frozen player, and of
150 different ones as in a league that has gone on for an hour; all of it in one process; and a plain loop as tutorials write it on the
same worlds: PPO with two epochs, networks asked for every seat, dead or alive, nothing packed, all in one process. All losses are on
(V-trace, TD, UPGO, KL, entropy). ``CPU`` is CPU time of all processes together: on a machine that does other work, frames a second of
CPU say more than those of the clock. Prints a table and writes a
dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import torch

from league.arena import last_standing as game
from league.learner import LeagueLearner
from league.losses import UpdateSettings
from league.network import ActorCritic, action_log_prob, log_softmax_heads
from league.replay import Replay, ReplaySettings
from league.rollout import Match, RolloutSettings
from league.runners.base import Runner, RunnerSettings, weights_of
from league.runners.in_process import InProcessRunner
from league.runners.processes import ProcessRunner
from league.threads import one_thread

RESULTS = Path(__file__).parent / "results"
UNROLL = 64
WARM_UP_ROUNDS = 8
"""Until matches of different ages are in the worlds and all is compiled."""


class Row(NamedTuple):
    """Frames a second, by the clock and by CPU time."""

    fresh: float
    consumed: float
    fresh_per_cpu: float
    agent_steps: float
    learner_share: float
    """Of the clock's time that the learner's process computed."""


def cpu_seconds() -> float:
    """Of this process and its children."""
    me = psutil.Process()
    times = [me.cpu_times(), *(child.cpu_times() for child in me.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def measured(round_: Callable[[], tuple[int, int, int]], seconds: float) -> Row:
    """``round_`` gives fresh frames, consumed frames and agent-steps."""
    for _ in range(WARM_UP_ROUNDS):
        round_()
    wall, cpu, own = time.perf_counter(), cpu_seconds(), time.process_time()
    totals = np.zeros(3)
    while (spent := time.perf_counter() - wall) < seconds:
        totals += round_()
    spent = time.perf_counter() - wall
    fresh, consumed, steps = totals
    return Row(fresh / spent, consumed / spent, fresh / (cpu_seconds() - cpu), steps / spent, (time.process_time() - own) / spent)


def pipeline(
    runner: Runner, network: ActorCritic, seats: int, learning: int, ships: int, others: int
) -> Callable[[], tuple[int, int, int]]:
    """One rollout of every actor and all that is learnt from it, as ``league.refine`` does it; ``others``: frozen players to meet."""
    how = UpdateSettings()
    learner = LeagueLearner(network, ActorCritic(network.hidden), None, how)
    assert learner.reference is not None
    replay = Replay(ReplaySettings(seats + 2 * how.sequences, how.sequences, how.replay_reuse))
    frozen = weights_of(learner.reference)
    runner.set_reference(frozen)
    for number in range(others):
        runner.set_weights(f"frozen-{number}", frozen, 0)
    dice = np.random.default_rng(0)
    asked = 0

    def matches(count: int) -> Sequence[Match]:
        nonlocal asked
        asked += count
        flags = (True,) * learning + (False,) * (ships - learning)
        drawn = dice.integers(others, size=(count, ships - learning)).tolist()
        players = [("learner",) * learning + tuple(f"frozen-{number}" for number in row) for row in drawn]
        return [Match(asked - count + i, seated, flags) for i, seated in enumerate(players)]

    def round_() -> tuple[int, int, int]:
        before = learner.frames
        runner.set_weights("learner", learner.weights(), learner.version)
        chunks = runner.collect(matches, UNROLL)
        for chunk in chunks:
            if chunk.sequence is not None:
                replay.add(chunk.sequence)
        while (batch := replay.draw(learner.version)) is not None:
            learner.update(batch.sequence)
        return sum(c.frames for c in chunks), learner.frames - before, sum(c.steps for c in chunks)

    return round_


def plain_loop(network: ActorCritic, worlds: int, ships: int) -> Callable[[], tuple[int, int, int]]:
    """PPO as tutorials write it: [T, N * S] with every seat asked, GAE, two epochs of shuffled minibatches."""
    state = game.new_worlds(worlds, np.arange(worlds), ships)
    optimiser = torch.optim.Adam(network.parameters(), 3e-4)
    size = UpdateSettings().sequences * UNROLL

    def play() -> dict[str, torch.Tensor]:
        taken: list[tuple[Any, ...]] = []
        for _ in range(UNROLL):
            seen = torch.from_numpy(game.build_told(state))
            living = torch.from_numpy(~game.decided(state))
            chosen = network.act(seen)
            with torch.no_grad():
                value = network(seen)[1]
            game.step(state, chosen.action.numpy())
            ended = torch.from_numpy(game.decided(state)) & living
            reward = torch.where(ended, torch.from_numpy(game.outcomes(state)), torch.zeros(()))
            taken.append((seen, chosen.action, chosen.log_prob.sum(-1), value, reward, ended, living))
            if state.over.any():
                game.reset(state, state.over.copy())
        names = ("seen", "action", "log_prob", "value", "reward", "ended", "living")
        return {name: torch.stack(part) for name, part in zip(names, zip(*taken, strict=True), strict=True)}

    def advantages(told: dict[str, torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            following = network(torch.from_numpy(game.build_told(state)))[1]
        found, last = torch.zeros_like(told["value"]), torch.zeros_like(following)
        for t in range(UNROLL - 1, -1, -1):
            on = (~told["ended"][t]).float()
            delta = told["reward"][t] + on * following - told["value"][t]
            last = delta + 0.8 * on * last
            found[t], following = last, told["value"][t]
        return found

    def round_() -> tuple[int, int, int]:
        told = play()
        advantage = advantages(told)
        flat = {name: values.flatten(0, 2) for name, values in {**told, "advantage": advantage}.items()}
        for _ in range(2):
            for index in torch.randperm(len(flat["reward"])).split(size):
                batch = {name: values[index] for name, values in flat.items()}
                counted = batch["living"].float()
                logits, value = network(batch["seen"])
                log_p = log_softmax_heads(logits)
                ratio = (action_log_prob(log_p, batch["action"]).sum(-1) - batch["log_prob"]).exp()
                gain = (batch["advantage"] - batch["advantage"].mean()) / (batch["advantage"].std() + 1e-8)
                policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
                error = (value - batch["advantage"] - batch["value"]).square()
                entropy = -(log_p.exp() * log_p).sum(-1)
                loss = ((policy + 0.5 * error - 0.002 * entropy) * counted).sum() / counted.sum()
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
        living = int(told["living"].sum())
        return living, 2 * living, living

    return round_


def rows(args: argparse.Namespace) -> dict[str, Row]:
    """All measurements."""
    seats = args.actors * args.worlds * args.ships
    settings = RunnerSettings(RolloutSettings(args.worlds, args.ships), args.actors, UNROLL, ahead=True)
    found: dict[str, Row] = {}
    for where, kind in (("processes", ProcessRunner), ("one process", InProcessRunner)):
        for told, learning, others in (("all seats learn", args.ships, 1), ("one seat learns", 1, 1), ("one among 150 players", 1, 150)):
            torch.manual_seed(0)
            runner: Runner = kind(settings)
            try:
                found[f"{where}, {told}"] = measured(
                    pipeline(runner, ActorCritic(args.hidden), seats, learning, args.ships, others), args.seconds
                )
            finally:
                runner.close()
    torch.manual_seed(0)
    found["plain loop (PPO)"] = measured(plain_loop(ActorCritic(args.hidden), args.worlds, args.ships), args.seconds)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row, after warming up")
    parser.add_argument("--worlds", type=int, default=64, help="of each actor")
    parser.add_argument("--ships", type=int, default=4, help="in each world")
    parser.add_argument("--actors", type=int, default=1, help="processes that play")
    parser.add_argument("--hidden", type=int, default=128, help="width of the networks")
    args = parser.parse_args(argv)
    one_thread()
    found = rows(args)
    say = sys.stdout.write
    say(f"{args.actors} x {args.worlds} worlds of {args.ships} ships, T = {UNROLL}, h = {args.hidden}, load {os.getloadavg()[0]:.1f}\n")
    say(f"{'':32s} {'fresh k/s':>10s} {'consumed k/s':>13s} {'fresh k/CPU-s':>14s} {'agent-steps k/s':>16s} {'learner busy':>13s}\n")
    for name, row in found.items():
        cells = (f"{row.fresh / 1e3:10.1f}", f"{row.consumed / 1e3:13.1f}", f"{row.fresh_per_cpu / 1e3:14.1f}")
        say(f"{name:32s} {' '.join(cells)} {row.agent_steps / 1e3:16.1f} {row.learner_share:13.0%}\n")
    result: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "torch": torch.__version__,
        "arguments": vars(args),
        "rows": {name: row._asdict() for name, row in found.items()},
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"league_speed_{datetime.now(UTC):%Y-%m-%d_%H%M}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    say(f"written: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
