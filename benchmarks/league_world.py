"""How fast last man standing runs, with full rules, beside environments that others measure themselves by.

``python benchmarks/league_world.py`` prints a table and writes a dated file under ``benchmarks/results/``. One agent-step is
one ship's action of 1/20 s (three world steps of 1/60 s): decoding the action, moving the world, building the 19 numbers,
and beginning anew where a world is over. Figures are per CPU-second of one core, once for all seats and once for ships
still alive. Actions come from a pool drawn before, so no policy is timed; pilots and masks stand apart. Gymnasium's own
vectorised CartPole runs in the same process right after, and so do envpool's and the battle of magent2 where they are installed
(``pip install envpool magent2``: 800 MB that nothing else needs; on Linux).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from league import codec
from league.arena import last_standing as game
from league.arena import world
from league.arena.last_standing_pilots import PILOTS, make_pilot

POOL = 16


def rate(work: Callable[[int], float], calls: int, repeats: int) -> dict[str, float]:
    """What ``work(call)`` counts, per CPU-second: median, best and worst of ``repeats`` runs of ``calls`` calls."""
    work(0)
    rates: list[float] = []
    for _ in range(repeats):
        begin = time.process_time()
        done = sum(work(k) for k in range(calls))
        rates.append(done / (time.process_time() - begin))
    return {"median": float(np.median(rates)), "best": max(rates), "worst": min(rates)}


def last_standing(worlds: int, ships: int, calls: int, repeats: int) -> dict[str, dict[str, float]]:
    """Rates of stepping, of observing, masking and of each pilot, for one size of batch."""
    rng = np.random.default_rng(0)
    pool = [np.stack([rng.integers(0, n, (worlds, ships)) for n in codec.HEADS.values()], -1).astype(np.int8) for _ in range(POOL)]
    state = game.new_worlds(worlds, np.arange(worlds), ships)
    seen = game.build_observation(state)
    living = 0

    def whole(call: int) -> float:
        nonlocal living
        game.step(state, pool[call % POOL])
        game.reset(state, state.over)
        game.build_observation(state, seen)
        living += int(state.ship_alive.sum())
        return worlds * ships

    found = {"whole": rate(whole, calls, repeats)}
    share = living / ((calls * repeats + 1) * worlds * ships)
    found["whole, living ships"] = {name: value * share for name, value in found["whole"].items()}

    def observe(_: int) -> float:
        game.build_observation(state, seen)
        return worlds * ships

    def mask(_: int) -> float:
        game.action_masks(state)
        return worlds * ships

    found["observations alone"] = rate(observe, calls, repeats)
    found["masks alone"] = rate(mask, calls, repeats)
    for name in PILOTS:
        pilot = make_pilot(name, np.arange(worlds))

        def act(_: int, pilot: Any = pilot) -> float:
            pilot.act(seen)
            return worlds * ships

        found[f"pilot {name} alone"] = rate(act, max(calls // 20, 3), repeats)
    return found


def cartpole(environments: int, calls: int, repeats: int) -> dict[str, float]:
    """Gymnasium's own CartPole over arrays."""
    import gymnasium

    env = gymnasium.make_vec("CartPole-v1", num_envs=environments, vectorization_mode="vector_entry_point")
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 2, (POOL, environments))

    def work(call: int) -> float:
        env.step(actions[call % POOL])
        return environments

    return rate(work, calls, repeats)


def envpool_cartpole(environments: int, calls: int, repeats: int) -> dict[str, float] | None:
    if importlib.util.find_spec("envpool") is None:
        return None
    envpool = importlib.import_module("envpool")
    env = envpool.make_gymnasium("CartPole-v1", num_envs=environments, num_threads=1)
    env.reset()
    actions = np.random.default_rng(0).integers(0, 2, (POOL, environments)).astype(np.int32)

    def work(call: int) -> float:
        env.step(actions[call % POOL])
        return environments

    return rate(work, calls, repeats)


def magent_battle(calls: int, repeats: int) -> dict[str, float] | None:
    if importlib.util.find_spec("magent2") is None:
        return None
    env = importlib.import_module("magent2.environments.battle_v4").parallel_env()
    env.reset(seed=0)
    choices = env.action_space(env.agents[0]).n
    pool = np.random.default_rng(0).integers(0, choices, (POOL, len(env.agents))).astype(np.int32)

    def work(call: int) -> float:
        if not env.agents:
            env.reset()
        agents = list(env.agents)
        env.step(dict(zip(agents, pool[call % POOL], strict=False)))  # fewer are left by and by
        return len(agents)

    return rate(work, calls, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300, help="batched steps of one run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)

    world.warm("last_standing_kernel")
    rows: dict[str, dict[str, float] | None] = {}
    for worlds, ships in ((1024, 4), (1024, 2), (256, 8)):
        for what, found in last_standing(worlds, ships, options.calls, options.repeats).items():
            if what == "whole" or (worlds, ships) == (1024, 4):
                rows[f"last man standing {worlds} x {ships}: {what}"] = found
    for environments in (1024, 64):
        rows[f"Gymnasium CartPole, own vector form, {environments}"] = cartpole(environments, options.calls, options.repeats)
    rows["envpool CartPole, 1 thread, 1024"] = envpool_cartpole(1024, options.calls, options.repeats)
    rows["magent2 battle"] = magent_battle(max(options.calls // 20, 3), options.repeats)

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    print(f"M agent-steps per CPU-second, one core: median (worst to best of {options.repeats}); load {load}")
    for what, found in rows.items():
        told = "not installed" if found is None else "{median:8.2f}  ({worst:.2f} to {best:.2f})".format(
            **{name: value / 1e6 for name, value in found.items()}
        )  # fmt: skip
        print(f"{what:58}{told}")

    options.out.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    record = {
        "what": "league_world",
        "time": now.isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count(), "load_1min": load},
        "rules_version": game.RULES_VERSION,
        "calls": options.calls,
        "repeats": options.repeats,
        "agent_steps_per_cpu_s": rows,
    }
    path = options.out / f"league_world_{now:%Y-%m-%d_%H%M}.json"
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
