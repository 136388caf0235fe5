"""How well do the hindsight rules say what the demonstrators meant? Their own mode and target are the truth.

    python -m benchmarks.labels --minutes 20

Prints balanced accuracy, recalls and the confusion of modes (rows: what the pilot meant), and how often the labelled target is
the pilot's, apart where there is a crowd, for expert and novice, from exact state and with emulated perception. ``slow`` is the expert
with a person's reaction of 1 to 2 s. Writes dated JSON to ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.hindsight import HINDSIGHT_VERSION, label_modes, label_targets
from data.schema import NO_TARGET, Observation
from data.steps import Steps
from data.vocabulary import MODES
from engine.evaluate import Rung
from engine.lockstep import record_episode
from engine.scoreboard import CROWD, enemies_in
from engine.unseen_play import FIRST, unseen_play
from league.arena.emulated import EmulatedObserver, TruthObserver
from league.arena.pilots import EXPERT, PilotDecision, ScriptedPilot, Temper
from league.arena.score import seeds
from league.arena.skirmish import RULES_VERSION
from league.arena.tactics import View
from league.arena.world import TICK_HZ
from trainers import metrics

SLOW: Final = Temper(reaction=(20, 40), pause=6, key_pause=20, aim_px=4.0, ticks_per_px=1 / 70)
"""A person: what is done now was decided on what stood there 1 to 2 s ago."""
EYE_TICKS: Final = 4


class Person(ScriptedPilot):
    """The expert's tactics, thought over for 1 to 2 s; the hand goes for where things are now."""

    def __init__(self, seed: int) -> None:
        self._lately: deque[Observation] = deque(maxlen=EYE_TICKS + 1)
        super().__init__("expert", EXPERT[0], SLOW, seed)

    def act(self, observation: Observation) -> PilotDecision:
        self._lately.append(observation)
        return super().act(observation)

    def _keep_reaching(self, view: View) -> None:
        super()._keep_reaching(View(self._lately[0]))

    def _ahead(self, view: View, point: tuple[float, float]) -> tuple[float, float]:
        thing = View(self._lately[0]).by_id.get(self._follow)
        return point if thing is None else (thing.x + thing.vx * EYE_TICKS / TICK_HZ, thing.y + thing.vy * EYE_TICKS / TICK_HZ)


def play_of(pilot: str, minutes: float, rung: Rung) -> list[Steps]:
    if pilot != "slow":
        return unseen_play(pilot, minutes, rung)
    episodes = list[Steps]()
    for seed in seeds("test", max(2, round(minutes)), FIRST).tolist():
        observer = TruthObserver() if rung == "state" else EmulatedObserver(seed=seed)
        episodes.append(record_episode(observer, Person(seed), pilot, seed)[0])
    return episodes


def judge(pilot: str, minutes: float, rung: Rung) -> dict[str, Any]:
    play = play_of(pilot, minutes, rung)
    began = time.process_time()
    said = np.concatenate([label_modes(s) for s in play]).astype(np.int64)
    target = np.concatenate([label_targets(s) for s in play])
    seconds = time.process_time() - began
    meant = np.concatenate([s.mode for s in play]).astype(np.int64)
    aimed = np.concatenate([s.target_id for s in play])
    crowd = np.concatenate([enemies_in(s, np.arange(len(s))) for s in play]) >= CROWD
    confusion = np.zeros((len(MODES), len(MODES)), np.int64)
    np.add.at(confusion, (meant[meant >= 0], said[meant >= 0]), 1)
    found = metrics.recalls(meant, said, len(MODES))
    return {
        "pilot": pilot,
        "rung": rung,
        "rows": len(meant),
        "balanced_accuracy": metrics.balanced_accuracy(meant, said, len(MODES)),
        "accuracy": float((meant == said)[meant >= 0].mean()),
        "majority": metrics.majority_accuracy(meant),
        "recalls": {m: round(float(r), 3) for m, r in zip(MODES, found, strict=True) if np.isfinite(r)},
        "confusion": confusion.tolist(),
        "targets": targets(aimed, target, np.ones(len(aimed), np.bool_)),
        "targets_in_crowds": targets(aimed, target, crowd),
        "seconds_per_half_hour": round(seconds * 36_000 / len(meant), 2),
    }


def targets(aimed: NDArray[np.int32], said: NDArray[np.int32], where: NDArray[np.bool_]) -> dict[str, float | int | None]:
    """Agreement of every row of ``where``, of those in which the pilot has a target, and how often none is said where it has none."""

    def share(hits: NDArray[np.bool_]) -> float | None:
        return round(float(hits.mean()), 4) if len(hits) else None

    has = where & (aimed != NO_TARGET)
    same = aimed == said
    return {
        "rows": int(where.sum()),
        "agrees": share(same[where]),
        "agrees_on_target": share(same[has]),
        "said_of_aimed": share((said != NO_TARGET)[has]),
        "none_of_none": share((said == NO_TARGET)[where & ~has]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How well do the hindsight rules say what the demonstrators meant?")
    parser.add_argument("--minutes", type=float, default=20.0, help="play of each pilot")
    parser.add_argument("--pilots", default="expert,novice,slow", help="of expert, novice and slow")
    arguments = parser.parse_args()
    rungs: tuple[Rung, ...] = ("state", "emulated")
    results = [judge(pilot, arguments.minutes, rung) for pilot in arguments.pilots.split(",") for rung in rungs]
    for r in results:
        recalls = ", ".join(f"{m.lower()} {v:.2f}" for m, v in r["recalls"].items())
        shares = f"balanced {r['balanced_accuracy']:.3f}, accuracy {r['accuracy']:.3f} (commonest {r['majority']:.3f})"
        print(f"{r['pilot']} from {r['rung']}: {shares}; {recalls}")
        for name in ("targets", "targets_in_crowds"):
            print(f"  {name.replace('_', ' ')}: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in r[name].items()))
        print(f"  half an hour of play is labelled in {r['seconds_per_half_hour']} s")
        for mode, row in zip(MODES, r["confusion"], strict=True):
            print(f"  {mode:<9}" + "".join(f"{n:>8}" for n in row))
    now = datetime.now(UTC)
    path = Path(__file__).with_name("results") / f"labels_{now:%Y-%m-%d_%H%M}.json"
    versions = {"rules_version": RULES_VERSION, "hindsight_version": HINDSIGHT_VERSION}
    content = {"at": now.isoformat(timespec="seconds"), **versions, "options": vars(arguments), "results": results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path.name)


if __name__ == "__main__":
    main()
