"""What a tick of a policy costs in flight, and which part of it costs how much.

    python -m benchmarks.policy_tick POLICY --episodes 2

A policy (the folder of its bundle; without one, a small one is trained on a minute of play) flies the arena in lockstep with
emulated perception, in one thread. For the whole tick and for its parts: the median, the 99th percentile and the most, in
milliseconds of processor time and by the clock; the share of a flight's processor time; and, for the whole tick, how a tick with
the Executor alone compares with one in which an upper level thinks too. Wanted: 8 ms at the 99th percentile. On a machine that is
busy with other things only processor time says anything. The result is written to ``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import engine.policy
from data.schema import Observation
from engine.lockstep import Decision, run_episode
from engine.policy import Policy, load_policy
from engine.recent import Recent
from league.arena.emulated import EmulatedObserver
from league.arena.score import seeds
from league.arena.skirmish import EPISODE_TICKS

WANTED_MS = 8.0


@dataclass(slots=True)
class Spent:
    """Times of one part, in seconds, one for each time it ran."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def figures(self, ticks: int, flight_cpu_s: float) -> dict[str, float]:
        found = {"runs": len(self.cpu), "cpu_ms_a_tick": 1e3 * sum(self.cpu) / ticks, "share": sum(self.cpu) / flight_cpu_s}
        for name, values in (("cpu", self.cpu), ("wall", self.wall)):
            median, high, most = (1e3 * float(v) for v in np.percentile(values, (50, 99, 100)))
            found |= {f"{name}_p50_ms": median, f"{name}_p99_ms": high, f"{name}_most_ms": most}
        return found


class Clock:
    """Measures what runs inside it, by part. Parts may lie inside one another."""

    def __init__(self) -> None:
        self.parts: dict[str, Spent] = {}

    def around(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        spent = self.parts.setdefault(part, Spent())

        def measured(*args: Any, **kwargs: Any) -> Any:
            cpu, wall = time.thread_time(), time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                spent.cpu.append(time.thread_time() - cpu)
                spent.wall.append(time.perf_counter() - wall)

        return measured


class Flown:
    """The policy as ``run_episode`` flies it; ticks with an upper level apart from the others."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.upper, self.alone = policy, Spent(), Spent()

    def act(self, observation: Observation) -> Decision:
        cpu, wall = time.thread_time(), time.perf_counter()
        decision = self._policy.act(observation)
        spent = self.upper if {"strategist", "tactician"} & set(decision.timings_ms) else self.alone
        spent.cpu.append(time.thread_time() - cpu)
        spent.wall.append(time.perf_counter() - wall)
        return decision


def fly(policy: Policy, episodes: int, ticks: int, clock: Clock | None = None) -> tuple[Flown, Spent, float]:
    """The ticks, the observer's work and the processor time of all."""
    flown, seen = Flown(policy), Clock()
    began = time.thread_time()
    for seed in seeds("test", episodes).tolist():
        policy.reset()
        observer = EmulatedObserver(seed=seed)
        observer.observe = seen.around("observer", observer.observe)  # type: ignore[method-assign]
        run_episode(observer, flown, seed, ticks)
    spent = time.thread_time() - began
    if clock is not None:
        clock.parts["observer"] = seen.parts["observer"]
    return flown, seen.parts["observer"], spent


def by_part(policy: Policy, episodes: int, ticks: int) -> tuple[Clock, float]:
    """The same flights with each part measured, which itself costs some microseconds each time."""
    clock = Clock()
    for name, part in (
        ("slot_inputs", "executor: features"),
        ("set_inputs", "tactician: features"),
        ("summary_vectors", "strategist: features"),
    ):
        setattr(engine.policy, name, clock.around(part, getattr(engine.policy, name)))
    for name, part in (("look", "executor: network"), ("targets", "tactician: network"), ("modes", "strategist: network")):
        setattr(policy.brains, name, clock.around(part, getattr(policy.brains, name)))
    for normaliser in (n for level in policy.normalisers.values() for n in level.values()):
        normaliser.apply = clock.around("normalising", normaliser.apply)  # type: ignore[method-assign]
    for name in ("add", "steps"):
        setattr(Recent, name, clock.around("remembering", getattr(Recent, name)))
    _, _, spent = fly(policy, episodes, ticks, clock)
    return clock, spent


def trained(folder: Path) -> Path:
    """A policy of the usual sizes that learnt hardly anything: for the time it takes, this is all the same."""
    from dataclasses import replace

    from benchmarks.training_speed import LEVELS, record
    from trainers.all import QUICK, train_all

    one = {level: replace(getattr(QUICK, level), loop=replace(getattr(QUICK, level).loop, epochs=1)) for level in LEVELS}
    result = train_all(record(2), replace(QUICK, **one), {level: folder / level for level in LEVELS}, folder / "policy")
    assert result.policy is not None
    return result.policy


def measure(path: Path, episodes: int, ticks: int) -> dict[str, Any]:
    policy = load_policy(path)
    fly(policy, 1, min(ticks, 100))  # the first ones load and warm up
    flown, observer, spent = fly(policy, episodes, ticks)
    count = len(flown.alone.cpu) + len(flown.upper.cpu)
    whole = Spent(flown.alone.cpu + flown.upper.cpu, flown.alone.wall + flown.upper.wall)
    rows = {
        "whole tick": whole,
        "tick of the Executor alone": flown.alone,
        "tick with an upper level": flown.upper,
        "observer": observer,
    }
    found = {name: values.figures(count, spent) for name, values in rows.items()}
    clock, apart = by_part(policy, episodes, ticks)
    found |= {name: values.figures(count, apart) for name, values in clock.parts.items() if name != "observer" and values.cpu}
    return {"ticks": count, "flight_cpu_s": spent, "parts": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policy", nargs="?", type=Path, help="a policy's folder")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--ticks", type=int, default=EPISODE_TICKS, help="of each episode")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked.policy or trained(Path(folder)), asked.episodes, asked.ticks)
    print(f"{'':<28} {'ms a tick':>9} {'share':>6}   {'cpu p50':>7} {'p99':>6} {'most':>6}   {'wall p50':>8} {'p99':>6}")
    for name, row in found["parts"].items():
        numbers = (
            f"{row['cpu_ms_a_tick']:9.2f} {row['share']:6.0%}   {row['cpu_p50_ms']:7.2f} {row['cpu_p99_ms']:6.2f} {row['cpu_most_ms']:6.2f}"
        )
        print(f"{name:<28} {numbers}   {row['wall_p50_ms']:8.2f} {row['wall_p99_ms']:6.2f}")
    whole = found["parts"]["whole tick"]["cpu_p99_ms"]
    print(f"p99 of a whole tick: {whole:.2f} ms of processor time, {WANTED_MS:g} wanted: {'met' if whole < WANTED_MS else 'missed'}")
    now = datetime.now(UTC)
    path = Path(__file__).with_name("results") / f"policy_tick_{now:%Y-%m-%d_%H%M}.json"
    machine = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "numpy": np.__version__}
    options = {"episodes": asked.episodes, "ticks": asked.ticks, "policy": asked.policy.parent.name if asked.policy else "trained"}
    content = {"at": now.isoformat(timespec="seconds"), "machine": machine, "load": os.getloadavg(), "options": options, **found}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path.relative_to(Path(__file__).parents[1]))


if __name__ == "__main__":
    main()
