"""Can it be learnt? Expert play -> behaviour cloning -> closed loop, from exact state and with emulated perception.

    python -m benchmarks.learnability --minutes 15 --episodes 30

Records expert play in memory (20 Hz, lockstep, no picture), trains the three levels, flies 60 s episodes on test seeds in
two spawned workers and prints normalised scores (policy - random) / (expert - random) with bootstrap intervals beside
expert, novice and random. A share of the recording is perturbed: the cursor is displaced and the recovery is learnt.
The result is written to ``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from data.steps import Steps
from engine.lockstep import Disturb, record_episode, run_episode
from engine.scores import Interval, mean_interval, normalised_interval
from league.arena.emulated import EmulatedObserver, TruthObserver
from league.arena.pilots import make_pilot
from league.arena.score import seeds
from league.arena.skirmish import EPISODE_TICKS, RULES_VERSION

LADDER = ("state", "emulated")


def observer(rung: str, seed: int) -> Any:
    return TruthObserver() if rung == "state" else EmulatedObserver(seed=seed)


def displaced(seed: int, share: float) -> Disturb:
    """Puts the cursor somewhere else now and then, for a ``share`` of the time (about one displacement in 2 s of it)."""
    rng = random.Random(seed)

    def disturb(tick: int, cursor: tuple[float, float]) -> tuple[float, float]:
        del tick
        if rng.random() < share / 40:
            return rng.uniform(0.05, 0.95), rng.uniform(0.05, 0.95)
        return cursor

    return disturb


def record(minutes: float, rung: str, perturbed: float, first: int = 0) -> list[Steps]:
    """Sessions of one minute of expert play each."""
    found: list[Steps] = []
    for seed in seeds("train", max(1, round(minutes)), first).tolist():
        disturb = displaced(seed, perturbed) if perturbed > 0 else None
        found.append(record_episode(observer(rung, seed), make_pilot("expert", seed), "expert", seed, EPISODE_TICKS, disturb)[0])
    return found


def play(job: tuple[str, str, int]) -> float:
    """One episode's score: (actor, rung, seed); the actor is a pilot's name or a policy's folder. Runs in a worker."""
    actor_name, rung, seed = job
    if actor_name in ("expert", "novice", "random"):
        actor: Any = make_pilot(actor_name, seed)
    else:
        actor = _policy(actor_name)
        actor.reset()
    return run_episode(observer(rung, seed), actor, seed).score


_LOADED: dict[str, Any] = {}


def _policy(folder: str) -> Any:
    from engine.policy import load_policy

    if folder not in _LOADED:
        _LOADED[folder] = load_policy(folder)
    return _LOADED[folder]


def train(sessions: list[Steps], folder: Path, quick: bool, seed: int, threads: int) -> tuple[Path, float]:
    """Train all three levels; the policy's folder and the seconds it took."""
    import torch

    from trainers.all import QUICK, AllSettings, train_all

    torch.set_num_threads(threads)
    began = time.monotonic()
    last = [""]

    def report(progress: Any) -> None:
        if progress.stage != last[0]:
            last[0] = progress.stage
            say(f"  {time.monotonic() - began:6.1f} s  {100 * progress.done:3.0f} %  {progress.stage}  {progress.message}")

    settings = replace(QUICK if quick else AllSettings(), seed=seed)
    runs = {level: folder / level for level in ("strategist", "tactician", "executor")}
    result = train_all(sessions, settings, runs, folder / "policy", report)
    assert result.policy is not None
    return result.policy, time.monotonic() - began


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15, help="expert play recorded for each rung")
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--rungs", default="state,emulated")
    parser.add_argument("--perturbed", type=float, default=0.1, help="share of the recording with displaced cursors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="the full presets instead of the quick ones")
    parser.add_argument("--threads", type=int, default=1, help="torch threads for training")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="", help="evaluate this bundle instead of training one")
    parser.add_argument("--keep", default="", help="folder for runs and policy (default: a temporary one)")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    test = seeds("test", asked.episodes).tolist()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch, _pool(asked.workers) as pool:
        scores = {name: list(pool.map(play, [(name, "state", s) for s in test])) for name in ("expert", "novice", "random")}
        for name, values in scores.items():
            say(f"{name:10} {mean_interval(values)}   scatter {float(np.std(values)):.2f}")
        for rung in asked.rungs.split(","):
            folder = Path(asked.keep or scratch) / rung
            if asked.policy:
                policy, seconds = Path(asked.policy), 0.0
            else:
                sessions = record(asked.minutes, rung, asked.perturbed)
                say(f"{rung}: {len(sessions)} minutes recorded; training")
                policy, seconds = train(sessions, folder, not asked.full, asked.seed, asked.threads)
            values = list(pool.map(play, [(str(policy), rung, s) for s in test]))
            shown = normalised_interval(values, scores["expert"], scores["random"])
            say(f"{rung:10} {mean_interval(values)}   normalised score: {shown}   trained in {seconds:.0f} s")
            found[rung] = {"scores": values, "normalised": shown.to_json(), "training_s": seconds}
    _write(asked, scores, found)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


def _write(asked: argparse.Namespace, scores: dict[str, list[float]], found: dict[str, Any]) -> None:
    means: dict[str, Interval] = {name: mean_interval(values) for name, values in scores.items()}
    now = datetime.now(UTC)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"learnability_{now:%Y-%m-%d_%H%M}.json"
    settings = {k: v for k, v in vars(asked).items() if k not in ("keep", "policy")}
    pilots = {name: {"scores": values, "mean": means[name].to_json()} for name, values in scores.items()}
    content = {"date": f"{now:%Y-%m-%d}", "rules_version": RULES_VERSION, "settings": settings, "pilots": pilots, "rungs": found}
    path.write_text(json.dumps(content, indent=1), "utf-8")
    say(f"written: {path.relative_to(folder.parent.parent)}")


if __name__ == "__main__":
    main()
