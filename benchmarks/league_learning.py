"""How good do the league's policies get, and how soon? From nothing: imitation of experts, then refinement by the clock.

    python -m benchmarks.league_learning --sequences 20000 --minutes 20 --seeds 3

For each training seed: the scripted expert plays itself until there are ``--sequences`` sequences of 64 frames, ``pi_sup`` imitates
them and plays 400 matches alone among three experts; then it is refined for ``--minutes`` of playing and learning (evaluations are
not counted), and every so often it plays the same matches again. 0.5 is parity with the expert. The figure to look at is the wall
time to a payoff of 0.8; a single look scatters by 0.025 (one standard error), so that the first look at or above it comes early
by chance: the mean of the looks of the last quarter is told beside it, and the policy that is kept (of the best look) plays
``--kept-matches`` more, in worlds that nobody chose it by. That last figure is the one to be believed.

What is finished lies in ``--keep``, and a run that was stopped goes on. Prints lines, writes a dated file under
``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from data.files import write_json
from data.progress import Progress
from league import threads
from league.demonstrations import pilot_play
from league.imitate import ImitationSettings, imitate, load_policy
from league.players import judge
from league.refine import refine
from league.refine_settings import RefineResult, RefineSettings
from league.trajectories import TrajectorySequence

RESULTS = Path(__file__).parent / "results"
SEQUENCE = 64
"""Frames."""
AT_ONCE = 64
"""Matches played before the sequences are counted again."""
WANTED = 0.8
UNSEEN = 1000
"""Seeds of worlds from here on are those that the policy that was kept plays anew."""


def expert_play(sequences: int, seed: int) -> list[TrajectorySequence]:
    """Experts among themselves, as many matches as it takes; the last block is cut to measure."""
    found: list[TrajectorySequence] = []
    left = sequences * SEQUENCE
    for number in range(10_000):
        for block in pilot_play(AT_ONCE, ("expert",) * 4, seed=seed * 10_000 + number):
            columns = np.cumsum(block.living.sum(0))
            enough = int(np.searchsorted(columns, left)) + 1
            taken = block if enough >= block.columns else block.take(range(enough))
            found.append(taken)
            left -= taken.frames
            if left <= 0:
                return found
    raise ValueError(f"{sequences} sequences: more than 10,000 blocks of matches; ask for fewer")


def first(asked: argparse.Namespace, seed: int, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """``pi_sup`` of one seed."""
    kept = folder / "imitated.json"
    if kept.exists():
        return dict(json.loads(kept.read_text("utf-8")))
    began_s = time.monotonic()
    play = expert_play(asked.sequences, seed)
    played_s = time.monotonic() - began_s
    settings = ImitationSettings(epochs=asked.epochs, batch_size=asked.batch_size, seed=seed)
    learnt = imitate(play, settings, folder, "pi_sup")
    network, _ = load_policy(learnt.path)
    versus = judge(network, matches=asked.matches)
    told = {
        "frames": sum(block.frames for block in play),
        "matches": len({name for block in play for name in block.episodes}),
        "played_s": round(played_s, 1),
        "learnt_s": round(time.monotonic() - began_s - played_s, 1),
        "validation_loss": learnt.validation_loss,
        "accuracy": {head: figures.accuracy for head, figures in learnt.figures.items()},
        "versus": [one.to_json() for one in versus],
    }
    write_json(kept, told)
    for one in versus:
        say(f"pi_sup {one.text()}")
    return told


def refined(asked: argparse.Namespace, seed: int, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The refinement of one seed, looked at every ``--every`` iterations."""
    settings = RefineSettings(
        minutes=asked.minutes, runner=asked.runner, seed=seed, evaluate_every=asked.every, evaluate_matches=asked.matches
    )
    if asked.opponents:
        settings = replace(settings, opponents=tuple(asked.opponents.split(",")))
    told_s = 0.0

    def report(progress: Progress) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > 30:
            told_s = time.monotonic()
            left = f", about {progress.eta_s / 60:.0f} min left" if progress.eta_s else ""
            say(f"{progress.stage}: {progress.message}{left}")

    run_dir = folder / "refined"
    result = refine(folder / "pi_sup", settings, run_dir, report, resume=run_dir.exists())
    if result.interrupted:
        raise KeyboardInterrupt
    network, _ = load_policy(result.path)
    (kept,) = judge(network, ("expert",), matches=asked.kept_matches, seed=UNSEEN + seed)
    iteration = result.kept.iteration if result.kept else result.iterations
    return {**curve(result), "kept": {"iteration": iteration, **kept.to_json()}}


def curve(result: RefineResult) -> dict[str, Any]:
    """Payoffs against experts by time, and when they first were as wanted."""
    looks = [(one.seconds, one.frames, next(v for v in one.versus if v.opponent == "expert")) for one in result.evaluations]
    reached = next((seconds for seconds, _, versus in looks if versus.payoff.value >= WANTED), None)
    late = [versus.payoff.value for seconds, _, versus in looks if seconds >= 0.75 * looks[-1][0]]
    return {
        "looks": [{"seconds": s, "frames": f, "payoff": v.payoff._asdict(), "first": v.first.value} for s, f, v in looks],
        "last": [one.to_json() for one in result.evaluations[-1].versus],
        "seconds_to_wanted": reached,
        "mean_of_the_last_quarter": float(np.mean(late)),
        "frames": result.frames,
        "frames_per_s": result.frames / result.seconds,
        "consumed_per_s": result.consumed / result.seconds,
    }


def kept_text(kept: dict[str, Any]) -> str:
    payoff = kept["payoff"]
    return f"{payoff['value']:.3f} [{payoff['low']:.3f}, {payoff['high']:.3f}] (iteration {kept['iteration']})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=20_000, help="of 64 frames of experts, to imitate")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--minutes", type=float, default=20, help="of refinement; 0: none")
    parser.add_argument("--runner", choices=("in-process", "processes"), default="processes")
    parser.add_argument("--opponents", default="", help="of refinement, with commas between; without: as by default")
    parser.add_argument("--every", type=int, default=100, help="iterations between two looks")
    parser.add_argument("--matches", type=int, default=400, help="of each look, against each kind of pilot")
    parser.add_argument("--kept-matches", type=int, default=2000, help="that the policy that is kept plays at the end, against experts")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--keep", type=Path, default=Path("build") / "league_learning", help="what is finished is kept here")
    asked = parser.parse_args()
    threads.one_thread()
    began_s = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began_s:7.0f} s  {text}\n")
        sys.stdout.flush()

    found: list[dict[str, Any]] = []
    for seed in range(asked.seed, asked.seed + asked.seeds):
        folder = asked.keep / f"{asked.sequences}_{asked.epochs}_{asked.batch_size}_seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        say(f"seed {seed}")
        one: dict[str, Any] = {"seed": seed, "imitated": first(asked, seed, folder, say)}
        if asked.minutes:
            one["refined"] = refined(asked, seed, folder, say)
            told = one["refined"]
            reached = told["seconds_to_wanted"]
            say(
                f"seed {seed}: {WANTED} after {'more than the time given' if reached is None else f'{reached / 60:.1f} min'}; "
                f"mean of the last quarter {told['mean_of_the_last_quarter']:.3f}; kept: {kept_text(told['kept'])}; "
                f"{told['frames_per_s']:.0f} fresh frames/s"
            )
        found.append(one)
    now = datetime.now(UTC)
    path = RESULTS / f"league_learning_{now:%Y-%m-%d_%H%M}.json"
    RESULTS.mkdir(exist_ok=True)
    settings = {key: str(value) for key, value in vars(asked).items() if key != "keep"}
    machine = {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()}
    write_json(
        path,
        {"what": "league learning", "time": now.isoformat(timespec="seconds"), "machine": machine, "settings": settings, "seeds": found},
    )
    say(f"written: {path.name}")


if __name__ == "__main__":
    main()
