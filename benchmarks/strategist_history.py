"""How far back should a Strategist look? The same play learnt with other histories, and judged on play that nobody learnt from.

    python -m benchmarks.strategist_history --minutes 30 --unseen-minutes 30 --seeds 3

The scripted expert plays with emulated perception (``--rung state``: exactly seen). Each variant is trained once a seed and asked once a
second, as in flight; beside it stands the demonstrator's second run. Balanced accuracy as it decides (rare modes lifted) and accuracy.
The result is written to ``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.dated import write_result
from benchmarks.learning import Job, recordings, settings_of
from data.checkpoint import load
from data.features import UNKNOWN_MODE, Normaliser, summary_features
from data.hindsight import label_modes
from data.schema import Observation
from data.steps import Steps
from data.vocabulary import MODES
from data.windows import Part, sample_rows
from engine.unseen_play import second_run, unseen_play
from league.arena.skirmish import RULES_VERSION
from trainers import metrics, strategist
from trainers.loop import load_network
from trainers.strategist import StrategistSettings

VARIANTS: dict[str, dict[str, Any]] = {
    "32 s": {"history": 32},
    "8 s": {"history": 8},
    "4 s": {"history": 4},
    "its second alone": {"history": 32, "forget": 1.0},
}


def said_by(best: Path, settings: StrategistSettings, play: list[Steps], rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """What a trained Strategist says in these rows of each session."""
    card = load(best).card
    network = strategist.make_network(len(summary_features(play[0].profile)), settings)
    load_network(network, best)
    network.eval()
    normaliser = Normaliser.from_json(card["normaliser"]["summary"])
    found = [
        strategist.predict(network, normaliser, steps, Part(0, 0, len(steps)), 0.0, UNKNOWN_MODE, card["mode_bias"])[mine]
        for steps, mine in zip(play, rows, strict=True)
    ]
    return np.concatenate(found)


def figures(known: NDArray[np.int64], said: NDArray[np.int64]) -> dict[str, float]:
    labelled = known >= 0
    return {
        "balanced_accuracy": metrics.balanced_accuracy(known, said, len(MODES)),
        "accuracy": float((said == known)[labelled].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="play to learn from")
    parser.add_argument("--unseen-minutes", type=float, default=30.0, help="fresh play to judge on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rung", choices=("emulated", "state"), default="emulated")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    job = Job("expert", asked.rung, 0, asked.minutes, 0.1, "standard")
    exact = list[list[Observation]]()
    with tempfile.TemporaryDirectory() as place:
        sessions = recordings(job, Path(place))
        play = unseen_play("expert", asked.unseen_minutes, asked.rung, exact=exact)
        rows = [sample_rows(steps.time_ns, strategist.CLOCK_HZ) for steps in play]
        known = np.concatenate([label_modes(steps)[mine] for steps, mine in zip(play, rows, strict=True)]).astype(np.int64)
        again = second_run("expert", play, exact)
        meant = [np.array([one.mode for one in again(i, 0, len(steps))])[rows[i]] for i, steps in enumerate(play)]
        result: dict[str, Any] = {"second run": figures(known, np.concatenate(meant).astype(np.int64))}
        print(f"{len(known)} s, of each mode {np.bincount(known[known >= 0], minlength=len(MODES)).tolist()}")
        print("{:18} balanced {balanced_accuracy:.3f}   accuracy {accuracy:.3f}".format("second run", **result["second run"]))
        for name, change in VARIANTS.items():
            each: list[dict[str, float]] = []
            for seed in range(asked.seeds):
                plain = settings_of(replace(job, seed=seed)).strategist
                settings = replace(plain, shorter=0, loop=replace(plain.loop, seed=seed, checkpoints=False), **change)
                began_s = time.monotonic()
                learnt = strategist.train(sessions, settings, Path(place) / f"{name}_{seed}")
                one = {"epochs": learnt.epochs, "val_loss": learnt.figures["val_loss"], "seconds": round(time.monotonic() - began_s, 1)}
                each.append(one | figures(known, said_by(learnt.best, settings, play, rows)))
            means = {key: float(np.mean([one[key] for one in each])) for key in ("balanced_accuracy", "accuracy", "val_loss", "seconds")}
            result[name] = {**means, "by_seed": each}
            seeds = ", ".join(f"{one['balanced_accuracy']:.3f}" for one in each)
            print(
                f"{name:18} balanced {means['balanced_accuracy']:.3f}   accuracy {means['accuracy']:.3f}   validation loss "
                f"{means['val_loss']:.3f}   {means['seconds']:.0f} s   balanced by seed {seeds}",
                flush=True,
            )
    print(f"written: {write_result('strategist_history', result, rules_version=RULES_VERSION, settings=vars(asked)).name}")


if __name__ == "__main__":
    main()
