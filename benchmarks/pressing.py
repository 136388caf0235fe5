"""How early is a key to be pressed? The limit of the summed rate (``trainers.pressing``) tried in flight, on worlds for choosing.

    python -m benchmarks.pressing POLICY... --limits 0.3,0.5,0.7,1 --episodes 24

Each policy (the folder of a bundle) flies episodes of a minute behind emulated eyes on the arena's validation worlds, once for each
limit; the pilot that it learnt from flies the same worlds. Scores with intervals over all episodes, and presses a minute of
each key. A dated result goes to ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from data.checkpoint import CheckpointError
from data.files import write_json
from data.profile import ARENA_PROFILE
from data.steps import input_names
from engine.lockstep import run_episode
from engine.policy import load_policy
from engine.scores import mean_interval
from league.arena.emulated import EmulatedObserver, TruthObserver
from league.arena.pilots import PILOTS, make_pilot
from league.arena.score import seeds
from league.arena.skirmish import EPISODE_TICKS
from trainers.pressing import PressRule


@dataclass(frozen=True, slots=True)
class Row:
    """Episodes of one policy with one limit. ``presses``: a minute, by key."""

    who: str
    limit: float
    score: tuple[float, float, float]
    presses: dict[str, float]


def fly(task: tuple[str, float, int]) -> tuple[float, Counter[str]]:
    """Score and presses of one episode: (policy or pilot, limit, seed). Runs in a worker."""
    who, limit, seed = task
    pressed: Counter[str] = Counter()

    def count(_seen: Any, decision: Any) -> None:
        pressed.update(decision.action.onsets)

    if who in PILOTS:
        return run_episode(TruthObserver(), make_pilot(who, seed), seed, on_step=count).score, pressed
    policy = load_policy(who)
    policy.rules = {name: replace(rule, due=limit) for name, rule in policy.rules.items()}
    policy.reset()
    return run_episode(EmulatedObserver(seed=seed), policy, seed, on_step=count).score, pressed


def row(pool: ProcessPoolExecutor, who: str, limit: float, episodes: int) -> Row:
    flown = list(pool.map(fly, [(who, limit, seed) for seed in seeds("validation", episodes).tolist()]))
    total = sum((pressed for _, pressed in flown), Counter[str]())
    minutes = episodes * EPISODE_TICKS / 20 / 60
    keys = [name for name in input_names(ARENA_PROFILE) if total[name]]
    mean = mean_interval([score for score, _ in flown])
    return Row(who, limit, (mean.value, mean.low, mean.high), {name: round(total[name] / minutes, 1) for name in keys})


def limits_of(text: str) -> list[float]:
    """Raises ArgumentTypeError for one that no rule could have."""
    try:
        return [PressRule(0.5, 0.0, due=float(word)).due for word in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="+", type=Path)
    parser.add_argument("--limits", type=limits_of, default=[0.3, 0.5, 0.7, 1.0])
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--pilot", choices=sorted(PILOTS), default="expert", help="whom the policies learnt from")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() or 1))
    asked = parser.parse_args()
    try:  # one that cannot be flown is told before the others fly
        for policy in asked.policies:
            load_policy(policy)
    except CheckpointError as error:
        parser.error(str(error))
    began, rows = time.monotonic(), list[Row]()
    tasks = [(asked.pilot, 0.0), *((str(policy), limit) for policy in asked.policies for limit in asked.limits)]
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        for i, (who, limit) in enumerate(tasks):
            rows.append(found := row(pool, who, limit, asked.episodes))
            left_s = (time.monotonic() - began) / (i + 1) * (len(tasks) - i - 1)
            value, low, high = found.score
            keys = "  ".join(f"{name} {count:.1f}" for name, count in found.presses.items())
            name = who if who in PILOTS else f"{Path(who).name}, limit {limit:g}"
            sys.stdout.write(f"{name:28s} {value:6.2f} [{low:.2f}, {high:.2f}]   {keys}   ({left_s:.0f} s left)\n")
            sys.stdout.flush()
    at = datetime.now(UTC)
    told = [{**asdict(found), "who": found.who if found.who in PILOTS else Path(found.who).name} for found in rows]
    path = Path(__file__).parent / "results" / f"pressing_{at:%Y-%m-%d_%H%M}.json"
    write_json(path, {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "episodes": asked.episodes, "rows": told})
    sys.stdout.write(f"kept in {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
