"""How fast the arena runs, how far pilots' scores scatter, and how many episodes a claim therefore needs.

``python benchmarks/arena.py`` prints a table and writes a dated file under ``benchmarks/results/``. Speed is counted
in ship-steps (ships x steps of 1/60 s) per CPU-second of one core; beside it stands Gymnasium's CartPole, one
environment stepped from Python, where Gymnasium is installed. Scatter: ``--episodes`` episodes of 60 s each of
expert, novice and random with exact perception, on the same worlds (the "validation" seeds), in spawned workers.
Intervals are 95 % bootstraps of the mean over episodes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from league.arena import score, skirmish, world
from league.arena.emulated import EmulatedObserver
from league.arena.episode import fly
from league.arena.pilots import PILOTS, make_pilot

COUNTERS = ("kills", "kills_mender", "looted", "caches", "deaths", "damage_taken")
Z_TWO_SIDED_95 = 1.959964
Z_POWER_80 = 0.841621


def ship_steps_per_second(worlds: int, ticks: int, in_one_call: bool) -> float:
    """Ship-steps per CPU-second, one thread, with a command for every world in every call."""
    state = skirmish.new_worlds(worlds, np.arange(worlds))
    rng = np.random.default_rng(0)
    clicks, keys = rng.integers(0, 2, worlds).astype(np.int8), rng.integers(-1, 8, worlds).astype(np.int8)
    xy = rng.random((worlds, 2)).astype(np.float32)
    skirmish.step(state, clicks, xy, keys, 20)
    begin = time.process_time()
    if in_one_call:
        skirmish.step(state, clicks, xy, keys, ticks)
    else:
        for _ in range(ticks):
            skirmish.step(state, clicks, xy, keys)
    took = time.process_time() - begin
    return worlds * state.ship_alive.shape[1] * ticks * world.STEPS_PER_TICK / took


def cartpole_steps_per_second() -> float | None:
    """One Gymnasium CartPole stepped from Python, or None where Gymnasium is not installed."""
    if importlib.util.find_spec("gymnasium") is None:
        return None
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    steps = 20_000
    begin = time.process_time()
    for k in range(steps):
        _, _, terminated, truncated, _ = env.step(k % 2)
        if terminated or truncated:
            env.reset()
    return steps / (time.process_time() - begin)


def compile_seconds() -> tuple[float, float]:
    """CPU-seconds of a child that compiles everything into an empty cache, and of one that finds it there."""
    taken: list[float] = []
    kept = os.environ.get("NUMBA_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        for _ in range(2):
            code = "import time; from league.arena import world; world.kernels('skirmish_kernel'); print(time.process_time())"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            taken.append(float(done.stdout))
    if kept is None:
        del os.environ["NUMBA_CACHE_DIR"]
    else:
        os.environ["NUMBA_CACHE_DIR"] = kept
    return taken[0], taken[1]


def one_episode(job: tuple[str, int, bool]) -> dict[str, float]:
    """Score and counters of one episode."""
    name, seed, emulated = job
    total, state = fly(make_pilot(name, seed), seed, observer=EmulatedObserver(seed=seed) if emulated else None)
    return {"score": total, **{c: n for c, n in score.counters(state, 0).items() if c in COUNTERS}}


def interval(values: np.ndarray, rng: np.random.Generator, draws: int = 5000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean."""
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def episodes_needed(sd: float, gain: float) -> int:
    """Episodes a side to find a gain in mean score with 80 % power at the 5 % level (two-sided, equal scatter)."""
    return math.ceil(2 * ((Z_TWO_SIDED_95 + Z_POWER_80) * sd / gain) ** 2)


def scatter(episodes: int, workers: int) -> dict[str, Any]:
    """Fly every pilot on the same worlds and describe the scores."""
    seeds = score.seeds("validation", episodes).tolist()
    variants = [(name, False) for name in PILOTS] + [("expert", True)]
    jobs = [(name, seed, emulated) for name, emulated in variants for seed in seeds]
    begin = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = list(pool.map(one_episode, jobs, chunksize=10))
    took_s = time.perf_counter() - begin
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {"episodes": episodes, "took_s": round(took_s, 1), "pilots": {}}
    values: dict[str, np.ndarray] = {}
    for number, (name, emulated) in enumerate(variants):
        part = rows[number * episodes : (number + 1) * episodes]
        key = f"{name}, emulated eyes" if emulated else name
        values[key] = np.array([r["score"] for r in part])
        low, high = interval(values[key], rng)
        found["pilots"][key] = {
            "mean": float(values[key].mean()),
            "low": low,
            "high": high,
            "sd": float(values[key].std(ddof=1)),
            **{c: float(np.mean([r[c] for r in part])) for c in COUNTERS},
        }
    span = values["expert"].mean() - values["random"].mean()
    found["span"] = float(span)
    found["novice_normalised"] = float((values["novice"].mean() - values["random"].mean()) / span)
    found["expert_emulated_normalised"] = float((values["expert, emulated eyes"].mean() - values["random"].mean()) / span)
    found["expert_sd_normalised"] = float(values["expert"].std(ddof=1) / span)
    found["exact_emulated_correlation"] = float(np.corrcoef(values["expert"], values["expert, emulated eyes"])[0, 1])
    found["episodes_a_side_needed"] = {str(g): episodes_needed(float(values["expert"].std(ddof=1)), g * span) for g in (0.05, 0.15)}
    found["half_width_of_20_episodes"] = float(Z_TWO_SIDED_95 * values["expert"].std(ddof=1) / span / math.sqrt(20))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200, help="episodes per pilot")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()

    cold_s, warm_s = compile_seconds()
    world.warm()
    speed = {
        "batch of 256, 20 ticks a call": ship_steps_per_second(256, 20, True),
        "batch of 256, 1 tick a call": ship_steps_per_second(256, 60, False),
        "one world, 1 tick a call": ship_steps_per_second(1, 2000, False),
    }
    print(f"compiling: {cold_s:.1f} CPU-s into an empty cache, {warm_s:.1f} with a full one")
    for what, rate in speed.items():
        print(f"{what:32} {rate / 1e6:8.2f} M ship-steps per CPU-second")
    cartpole = cartpole_steps_per_second()
    beside = "not installed" if cartpole is None else f"{cartpole / 1e6:8.3f} M steps per CPU-second"
    print(f"{'Gymnasium CartPole, from Python':32} {beside}")

    found = scatter(options.episodes, options.workers)
    print(f"\n{options.episodes} episodes of 60 s each, the same worlds ({found['took_s']:.0f} s in all)")
    print(f"{'pilot':24}{'mean':>8}{'95 %':>18}{'sd':>7}{'kills':>8}{'menders':>8}{'crates':>7}{'caches':>7}{'deaths':>8}{'damage':>8}")
    for name, row in found["pilots"].items():
        between = f"[{row['low']:.2f}, {row['high']:.2f}]"
        tail = "".join(f"{row[c]:>{w}.2f}" for c, w in zip(COUNTERS, (8, 8, 7, 7, 8, 8), strict=True))
        print(f"{name:24}{row['mean']:>8.2f}{between:>18}{row['sd']:>7.2f}{tail}")
    print(f"normalised: novice {found['novice_normalised']:.2f}, expert with emulated eyes {found['expert_emulated_normalised']:.2f}")
    print(f"expert's episode sd, normalised: {found['expert_sd_normalised']:.3f}")
    for gain, count in found["episodes_a_side_needed"].items():
        print(f"a gain of {gain} (normalised) needs {count} episodes a side")
    print(f"95 % half-width of a mean of 20 episodes: {found['half_width_of_20_episodes']:.3f}")

    options.out.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    record = {
        "what": "arena",
        "time": now.isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()},
        "rules_version": skirmish.RULES_VERSION,
        "compile_cpu_s": {"cold": cold_s, "warm": warm_s},
        "ship_steps_per_cpu_s": speed,
        "gymnasium_cartpole_steps_per_cpu_s": cartpole,
        "scatter": found,
    }
    path = options.out / f"arena_{now:%Y-%m-%d_%H%M}.json"
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
