"""How fast the three levels learn and think: samples a second beside a loader that goes row by row, the whole training of half an
hour of play, and the policy's tick.

    python -m benchmarks.training_speed --minutes 30

Samples a second: the same network, loss and optimiser, fed by our index into contiguous tensors, by a ``DataLoader`` that collates
rows which were prepared beforehand, and by one that makes each row's features when it is asked for (as a plain ``Dataset`` over
recordings does); the three take turns in one run. The whole training: the three levels with the standard preset (100, 80 and 60
epochs with batches of 32, 64 and 128) and early stop, fold models included. The tick: the trained policy in lockstep flight on
one core, all three levels. The result is written to ``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from data.features import set_inputs, slot_inputs, summary_sequence, summary_vectors
from data.settings import TrainingSettings
from data.steps import Steps
from data.track_lookup import ClickLog, TrackIndex
from engine.lockstep import record_episode, run_episode
from engine.policy import load_policy
from league.arena.emulated import EmulatedObserver
from league.arena.pilots import make_pilot
from league.arena.score import seeds
from league.arena.skirmish import EPISODE_TICKS
from trainers import executor, strategist, tactician
from trainers.all import AllSettings, train_all
from trainers.device import Precision
from trainers.loop import Batch, LoopSettings, Progress, Result, Task, rows_of

LEVELS: dict[str, tuple[Any, Any]] = {
    "strategist": (strategist, strategist.StrategistSettings()),
    "tactician": (tactician, tactician.TacticianSettings()),
    "executor": (executor, executor.ExecutorSettings()),
}


def record(minutes: float) -> list[Steps]:
    """Sessions of one minute of expert play each, seen with emulated eyes."""
    found: list[Steps] = []
    for seed in seeds("train", max(2, round(minutes))).tolist():
        found.append(record_episode(EmulatedObserver(seed=seed), make_pilot("expert", seed), "expert", seed, EPISODE_TICKS)[0])
    return found


def standard(level: str) -> Any:
    """The level's settings with the standard preset."""
    epochs, batch_size, rate = TrainingSettings().level(level).schedule("standard")  # pyright: ignore[reportArgumentType]
    settings = LEVELS[level][1]
    return replace(settings, loop=replace(settings.loop, epochs=epochs, batch_size=batch_size, learning_rate=rate))


def task_of(level: str, sessions: list[Steps]) -> Task:
    """What the recipe would train: it is stopped where training would begin."""
    taken: list[Task] = []

    def fit(task: Task, settings: LoopSettings, run_dir: Path, *rest: Any) -> Result:
        taken.append(task)
        return Result(run_dir, run_dir, 0, {})

    module = LEVELS[level][0]
    with mock.patch.object(module, "fit", fit), tempfile.TemporaryDirectory() as folder:
        settings = standard(level)
        if level == "strategist":
            settings = replace(settings, shorter=0)  # which history is better is not asked: nothing is trained here
        module.train(sessions, settings, Path(folder))
    return taken[0]


class Prepared(Dataset[dict[str, torch.Tensor]]):
    """Rows that were made before; the loader collates them one by one."""

    def __init__(self, rows: Batch) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return rows_of(self._rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {name: values[index] for name, values in self._rows.items()}


class Made(Prepared):
    """Rows whose features are made when they are asked for, from the recording; labels and the rest as before."""

    def __init__(self, rows: Batch, sessions: list[Steps], make: Callable[[int], dict[str, Any]]) -> None:
        super().__init__(rows)
        self._make, self._sessions = make, sessions

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = super().__getitem__(index)
        for name, values in self._make(index).items():
            assert tuple(values.shape) == tuple(row[name].shape)
            torch.from_numpy(values)
        return row


def maker(level: str, sessions: list[Steps], history: int) -> Callable[[int], dict[str, Any]]:
    """What makes the inputs of one row (of the right size, from a place in the sessions that follows from the index)."""
    logs, indices = [ClickLog.of(s) for s in sessions], [TrackIndex(s) for s in sessions]

    def place(index: int, least: int) -> tuple[int, int]:
        number = index % len(sessions)
        return number, least + (index * 7) % max(1, len(sessions[number]) - least)

    def summaries(index: int) -> dict[str, Any]:
        number, _ = place(index, 0)
        steps = sessions[number]
        rows = np.arange(history) * 20 % len(steps)
        rows.sort()
        made = [summary_vectors(steps, rows[i : i + 1]) for i in range(history)]
        return {"x": summary_sequence(steps.profile, np.concatenate(made), steps.time_ns[rows])}

    def sets(index: int) -> dict[str, Any]:
        number, row = place(index, 0)
        inputs = set_inputs(sessions[number], np.array([row]), logs[number])
        return {"tracks": inputs.tracks[0], "context": inputs.context[0]}

    def slots(index: int) -> dict[str, Any]:
        number, row = place(index, 17)
        inputs = slot_inputs(sessions[number], np.array([row]), indices[number])
        return {"slots": inputs.slots[0], "context": inputs.context[0]}

    return {"strategist": summaries, "tactician": sets, "executor": slots}[level]


def by_index(rows: Batch, batch_size: int) -> Iterator[Batch]:
    while True:
        for index in torch.randperm(rows_of(rows)).split(batch_size):
            yield {name: values[index] for name, values in rows.items()}


def by_loader(rows: Dataset[dict[str, torch.Tensor]], batch_size: int) -> Iterator[Batch]:
    while True:
        yield from DataLoader(rows, batch_size, shuffle=True)


@dataclass(frozen=True, slots=True)
class Rate:
    """Samples a second of one way to feed a network."""

    samples_s: float
    batches: int


def rates(level: str, sessions: list[Steps], seconds: float) -> dict[str, Rate]:
    """Samples a second of each way, each for about so long, taking turns by batch. By processor time of
    the one thread, so that what else the machine does is left out."""
    task, batch_size = task_of(level, sessions), standard(level).loop.batch_size
    optimiser = torch.optim.AdamW(task.network.parameters(), lr=1e-4)
    precision, generator = Precision(torch.device("cpu"), mixed=False), torch.Generator().manual_seed(0)
    make = maker(level, sessions, getattr(standard(level), "history", 0))
    ways = {
        "ours: an index into tensors": by_index(task.train, batch_size),
        "loader, rows prepared": by_loader(Prepared(task.train), batch_size),
        "loader, rows made": by_loader(Made(task.train, sessions, make), batch_size),
    }
    spent, count, batches = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    task.network.train()
    while sum(spent.values()) < seconds * len(ways) or min(batches.values()) < 4:
        for name, feed in ways.items():
            # The slow ways need no more turns than tell their speed.
            if batches[name] >= 4 and spent[name] > seconds:
                continue
            began = time.process_time()
            batch = next(feed)
            loss, _ = task.loss(batch, generator)
            precision.step(loss, task.network, optimiser, 1.0)
            spent[name] += time.process_time() - began
            count[name] += rows_of(batch)
            batches[name] += 1
    return {name: Rate(count[name] / spent[name], batches[name]) for name in ways}


def whole(sessions: list[Steps], folder: Path) -> tuple[dict[str, float], dict[str, dict[str, float]], Path]:
    """Seconds of each stage of a whole training with the standard preset, the levels' figures, and the policy."""
    spent: dict[str, float] = {}
    last = [time.perf_counter()]

    def report(progress: Progress) -> None:
        stage = progress.stage.split(" epoch")[0]
        now = time.perf_counter()
        spent[stage] = spent.get(stage, 0.0) + now - last[0]
        last[0] = now

    settings = AllSettings(*(standard(level) for level in LEVELS))
    result = train_all(sessions, settings, {level: folder / level for level in LEVELS}, folder / "policy", report)
    assert result.policy is not None
    return spent, {level: run.figures | {"epochs": run.epochs} for level, run in result.levels.items()}, result.policy


def ticks(policy: Path, episodes: int) -> dict[str, float]:
    """Milliseconds of the whole policy tick in lockstep flight: median, p99, most, and p99 of those ticks with an upper level."""
    flown = load_policy(policy)
    totals, upper = list[float](), list[float]()

    def keep(_: Any, decision: Any) -> None:
        totals.append(decision.timings_ms["total"])
        if len(decision.timings_ms) > 2:
            upper.append(decision.timings_ms["total"])

    for seed in seeds("test", episodes).tolist():
        flown.reset()
        run_episode(EmulatedObserver(seed=seed), flown, seed, EPISODE_TICKS, keep)
    return {
        "p50_ms": statistics.median(totals),
        "p99_ms": float(np.percentile(totals, 99)),
        "upper_p99_ms": float(np.percentile(upper, 99)),
        "most_ms": max(totals),
        "ticks": len(totals),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="expert play for the whole training")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each way to feed each level")
    parser.add_argument("--threads", type=int, default=2, help="of torch in the whole training; speeds are measured with one")
    parser.add_argument("--rates-only", action="store_true", help="samples a second, no whole training")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sessions = record(asked.minutes)
    found: dict[str, Any] = {"rates": {}}
    for level in LEVELS:
        measured = rates(level, sessions[: max(2, min(8, len(sessions)))], asked.seconds)
        ours = next(iter(measured.values())).samples_s
        for name, rate in measured.items():
            print(f"{level:<11} {name:<28} {rate.samples_s:9.0f} samples/s   ours is {ours / rate.samples_s:5.1f} x", flush=True)
        found["rates"][level] = {name: round(rate.samples_s, 1) for name, rate in measured.items()}
    if not asked.rates_only:
        torch.set_num_threads(asked.threads)
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            spent, figures, policy = whole(sessions, Path(folder))
            seconds = time.perf_counter() - began
            print(f"all three, standard preset, {asked.minutes:g} min of play: {seconds:.0f} s ({asked.threads} threads)")
            for stage, value in spent.items():
                print(f"  {stage:<20} {value:6.1f} s")
            for level, values in figures.items():
                print(f"  {level:<11} " + ", ".join(f"{name} {value:.3g}" for name, value in values.items()))
            flown = ticks(policy, 5)
        print("policy tick: " + ", ".join(f"{name} {value:.2f}" for name, value in flown.items()))
        found |= {"whole_s": seconds, "stages_s": spent, "figures": figures, "tick": flown}
    now = datetime.now(UTC)
    path = Path(__file__).with_name("results") / f"training_speed_{now:%Y-%m-%d_%H%M}.json"
    machine = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__}
    content = {"at": now.isoformat(timespec="seconds"), "machine": machine, "load": os.getloadavg(), "options": vars(asked), **found}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
