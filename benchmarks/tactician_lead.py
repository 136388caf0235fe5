"""How long before the hand sets out should a new target be learnt? The same play learnt with other leads, and judged on unseen play.

    python -m benchmarks.tactician_lead --minutes 30 --unseen-minutes 90 --seeds 2

The scripted expert plays with emulated perception. Each variant is trained once a seed and asked five times a second, as in flight. The
modes that it is told are those of Strategists that did not learn from that play. Share right of the decisions with a target, of those in
crowds, and of the first clicks on a track: whether that track was the target held in the tick of the click, which is what the Executor is
told. Beside them the demonstrator's second run, which thinks in every tick. The result is written to ``benchmarks/results/`` as dated JSON.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.dated import write_result
from benchmarks.learning import Job, recordings, settings_of
from data.checkpoint import load
from data.features import UNKNOWN_MODE, Normaliser, set_context_features, set_features, summary_features
from data.hindsight import label_targets
from data.schema import NO_TARGET, Observation
from data.steps import Steps
from data.track_lookup import click_rows
from data.windows import Part, sample_rows
from engine.scoreboard import CROWD, clicked_targets, enemies_in, repeats
from engine.unseen_play import second_run, unseen_play
from league.arena.skirmish import RULES_VERSION
from trainers import strategist, tactician
from trainers.loop import load_network
from trainers.strategist import StrategistSettings
from trainers.tactician import TacticianSettings

VARIANTS: dict[str, dict[str, Any]] = {
    "when the hand sets out": {"lead_s": 0.0},
    "0.1 s": {"lead_s": 0.1},
    "0.15 s": {"lead_s": 0.15},
    "0.2 s": {"lead_s": 0.2},
    "0.1 s, keyframes": {"lead_s": 0.1, "keyframe_s": 0.3},
}


@dataclass(frozen=True, slots=True)
class Unseen:
    """A session to judge on. modes int64 (as a Strategist says), targets int32, crowd [T]; first int64 [C] rows of first clicks on a track,
    its ids int32 [C]."""

    steps: Steps
    modes: NDArray[np.int64]
    targets: NDArray[np.int32]
    crowd: NDArray[np.bool_]
    first: NDArray[np.int64]
    ids: NDArray[np.int32]

    @staticmethod
    def of(steps: Steps, modes: NDArray[np.int64]) -> Unseen:
        clicks = click_rows(steps)
        flat = clicked_targets(steps, clicks)
        first = (flat >= 0) & ~repeats(steps, clicks, flat)
        crowd = enemies_in(steps, np.arange(len(steps))) >= CROWD
        ids = steps.track_ids[flat[first]].astype(np.int32)
        return Unseen(steps, modes, label_targets(steps), crowd, clicks[first], ids)


def said_modes(learnt_from: list[Steps], settings: StrategistSettings, place: Path, asked: list[Steps]) -> list[NDArray[np.int64]]:
    """[T] of each session asked: what a Strategist holds in each row that was trained on the others."""
    best = strategist.train(learnt_from, settings, place).best
    card = load(best).card
    network = strategist.make_network(len(summary_features(asked[0].profile)), settings)
    load_network(network, best)
    network.eval()
    normaliser = Normaliser.from_json(card["normaliser"]["summary"])
    whole = [(steps, Part(0, 0, len(steps))) for steps in asked]
    return [strategist.predict(network, normaliser, steps, part, 0.0, UNKNOWN_MODE, card["mode_bias"]) for steps, part in whole]


def figures(play: list[Unseen], held: list[NDArray[np.int32]]) -> dict[str, float]:
    """Of the targets held [T] in each session."""
    right: dict[str, list[NDArray[np.bool_]]] = {"on_target": [], "in_crowds": [], "at_first_clicks": []}
    for one, mine in zip(play, held, strict=True):
        rows = sample_rows(one.steps.time_ns, tactician.CLOCK_HZ)
        hits, some = mine[rows] == one.targets[rows], one.targets[rows] != NO_TARGET
        right["on_target"].append(hits[some])
        right["in_crowds"].append(hits[some & one.crowd[rows]])
        right["at_first_clicks"].append(mine[one.first] == one.ids)
    return {name: float(np.concatenate(parts).mean()) for name, parts in right.items()}


def held_by(best: Path, settings: TacticianSettings, play: list[Unseen]) -> list[NDArray[np.int32]]:
    """What a trained Tactician holds in each row of each session."""
    card, profile = load(best).card, play[0].steps.profile
    network = tactician.make_network(len(set_features(profile)), len(set_context_features(profile)), settings)
    load_network(network, best)
    network.eval()
    normalisers = {name: Normaliser.from_json(values) for name, values in card["normaliser"].items()}
    return [tactician.predict(network, normalisers, one.steps, Part(0, 0, len(one.steps)), 0.0, one.modes) for one in play]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="play to learn from")
    parser.add_argument("--unseen-minutes", type=float, default=30.0, help="fresh play to judge on")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    job = Job("expert", "emulated", 0, asked.minutes, 0.1, "standard")
    exact = list[list[Observation]]()
    with tempfile.TemporaryDirectory() as place:
        sessions = recordings(job, Path(place))
        steps = unseen_play("expert", asked.unseen_minutes, "emulated", exact=exact)
        above = settings_of(job).strategist
        above = replace(above, history=above.shorter, shorter=0, loop=replace(above.loop, checkpoints=False))
        modes = said_modes(sessions, above, Path(place) / "above", steps)
        play, again = [Unseen.of(one, said) for one, said in zip(steps, modes, strict=True)], second_run("expert", steps, exact)
        halves = sessions[::2], sessions[1::2]
        told = [said_modes(other, above, Path(place) / f"above_{i}", mine) for i, (other, mine) in enumerate((halves[::-1], halves))]
        told_modes = [told[i % 2][i // 2][:, None] for i in range(len(sessions))]
        meant = [np.array([one.target_id for one in again(i, 0, len(s))], np.int32) for i, s in enumerate(steps)]
        result: dict[str, Any] = {"second run": figures(play, meant)}
        line = "{:24} with a target {on_target:.3f}   in crowds {in_crowds:.3f}   at first clicks {at_first_clicks:.3f}"
        print(f"{sum(len(one.first) for one in play)} first clicks")
        print(line.format("second run", **result["second run"]), flush=True)
        for name, change in VARIANTS.items():
            each: list[dict[str, float]] = []
            for seed in range(asked.seeds):
                plain = settings_of(replace(job, seed=seed)).tactician
                settings = replace(plain, loop=replace(plain.loop, seed=seed, checkpoints=False), **change)
                began_s = time.monotonic()
                learnt = tactician.train(sessions, settings, Path(place) / f"{name}_{seed}", modes=told_modes)
                one = {"epochs": learnt.epochs, "val_loss": learnt.figures["val_loss"], "seconds": round(time.monotonic() - began_s, 1)}
                each.append(one | figures(play, held_by(learnt.best, settings, play)))
                print(line.format(f"{name}, seed {seed}", **each[-1]), flush=True)
            result[name] = {key: float(np.mean([one[key] for one in each])) for key in each[0]} | {"by_seed": each}
            print(line.format(name, **result[name]), flush=True)
    print(f"written: {write_result('tactician_lead', result, settings=vars(asked), rules_version=RULES_VERSION).name}")


if __name__ == "__main__":
    main()
