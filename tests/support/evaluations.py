"""Evaluations as they are kept, for screens and pages: figures of a middling policy, without flying anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.scores import Interval, mean_interval, normalised_interval

RUNGS = {"state": 1.0, "emulated": 0.6, "pixels": 0.0}


def levels(policy: str = "quick-1", skill: float = 0.7) -> dict[str, Any]:
    """What ``engine.scoreboard`` keeps of the levels. skill: 0..1."""
    confusion = [[120, 11, 4, 2, 1], [14, 61, 1, 3, 0], [9, 2, 42, 1, 2], [6, 3, 0, 11, 0], [2, 0, 3, 0, 1]]
    recalls = {
        m: row[i] / sum(row) for i, (m, row) in enumerate(zip(("FIGHT", "LOOT", "FLEE", "EXPLORE", "CAUTIOUS"), confusion, strict=True))
    }
    sure = {
        "confidence": [0.0, 0.0, 0.0, 0.36, 0.45, 0.55, 0.65, 0.75, 0.86, 0.97],
        "right": [0.0, 0.0, 0.0, 0.3, 0.4, 0.5, 0.52, 0.66, 0.8, 0.93],
        "count": [0, 0, 0, 4, 11, 18, 25, 40, 66, 135],
        "error": 0.061,
    }

    def told(off: float, lands: float, f1: float) -> dict[str, Any]:
        onset = {"exact": f1 * 0.6, "even": 0.21, "second_run": 0.83, "true": 214, "predicted": 198}
        return {
            "point_px": off,
            "cursor_before_px": 61.0,
            "lands": lands,
            "onsets": {
                "mouse_left": {"f1": f1, **onset, "intervals": {"f1": [f1 - 0.04, f1 + 0.04]}},
                "space": {"f1": 0.4, "exact": 0.2, "even": 0.05, "second_run": None, "true": 31, "predicted": 44},
                "q": {"f1": 0.0, "exact": 0.0, "even": 0.02, "second_run": None, "true": 6, "predicted": 0},
            },
        }

    return {
        "policy": policy,
        "play": "the expert, emulated",
        "minutes": 5.0,
        "mode": {
            "seconds": 299,
            "accuracy": 0.786,
            "balanced_accuracy": skill,
            "majority": 0.461,
            "persistence": 0.81,
            "recalls": recalls,
            "confusion": confusion,
            "calibration": sure,
            "second_run": 0.93,
            "intervals": {"accuracy": [0.741, 0.831], "balanced_accuracy": [skill - 0.11, skill + 0.11]},
        },
        "target": {
            "decisions": 1500,
            "accuracy": 0.8,
            "on_target": skill,
            "crowds": skill - 0.12,
            "crowd_decisions": 412,
            "nearest": 0.41,
            "nearest_in_crowds": 0.31,
            "persistence": 0.66,
            "none_share": 0.22,
            "calibration": sure,
            "intervals": {"on_target": [skill - 0.03, skill + 0.03]},
        },
        "actions": {"predicted": told(18.4, 0.87, skill), "dropped": told(44.0, 0.4, 0.33), "true": told(12.2, 0.93, 0.75)},
        "lag_sweep": {str(lag): max(0.02, skill - 0.14 * abs(lag - 1)) for lag in range(-4, 9)},
        "best_lag": 1,
        "causality": 0.82,
    }


def keep(
    workspace: Path,
    name: str,
    policy: str,
    skill: float = 0.7,
    *,
    rules: int = 2,
    episodes: int = 20,
    rungs: tuple[str, ...] = tuple(RUNGS),
    judged: bool = True,
    first_seed: int = 3_000_000,
    look: str = "",
) -> Path:
    """One file of ``logs/evaluations``; ``name`` is its time: 20261128T140500Z."""
    worlds = np.random.default_rng(first_seed).normal(0.0, 4.0, episodes)
    high, low = 23.0 + worlds, -2.7 + worlds

    def rung(kind: str, number: int) -> dict[str, Any]:
        noise = np.random.default_rng(number + round(1000 * skill)).normal(0.0, 2.0, episodes)
        scores = -2.7 + 25.7 * min(1.1, skill + 0.12 * RUNGS[kind]) + worlds + noise
        return {
            "rung": kind,
            "score": mean_interval(scores.tolist()).to_json(),
            "normalised": normalised_interval(scores.tolist(), high.tolist(), low.tolist()).to_json(),
            "scores": scores.tolist(),
            "counters_per_episode": {"kills": 8.4, "looted": 2.1, "deaths": 0.7},
        }

    found = [rung(kind, number) for number, kind in enumerate(rungs)]
    value: dict[str, Any] = {
        "policy": policy,
        "rules_version": rules,
        "episodes": episodes,
        "episode_s": 60.0,
        "first_seed": first_seed,
        "look": look,
        "demonstrator": {"pilot": "expert", "score": mean_interval(high.tolist()).to_json()},
        "random": {"score": mean_interval(low.tolist()).to_json()},
        "rungs": found,
        "normalised_score": found[-1]["normalised"],
        "seconds": 214.0,
    }
    folder = workspace / "logs" / "evaluations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_{policy}.json"
    path.write_text(json.dumps(value | ({"levels": levels(policy, skill)} if judged else {})), encoding="utf-8")
    return path


def keep_judged(
    workspace: Path, name: str, policy: str, skill: float = 0.7, *, game: str = "mine", rules: int | None = None, more: bool = True
) -> Path:
    """One file of a judgement without a flight, on a recording of the game, and one ``more``."""
    play = f"20261128T100000Z_play_{game}" + (f", 20261128T113000Z_play_{game} (learnt from)" if more else "")
    value: dict[str, Any] = {
        "policy": policy,
        "game": game,
        "rules_version": rules,
        "play": play,
        "time": f"{name[:4]}-{name[4:6]}-{name[6:11]}:{name[11:13]}:{name[13:]}",
        "seconds": 12.0,
        "levels": {**levels(policy, skill), "play": play, "minutes": 4.2},
    }
    folder = workspace / "logs" / "evaluations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_{policy}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def interval(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high, 20)


def some(workspace: Path) -> None:
    """Evaluations of two days: two that differ, one that hardly does, one of older rules, one that only flew from the state."""
    keep(workspace, "20261128T140500Z", "night-3", 0.82)
    keep(workspace, "20261128T121000Z", "night-2", 0.81, episodes=12)
    keep(workspace, "20261128T093000Z", "quick-1", 0.55)
    keep(workspace, "20261127T220000Z", "looks-only", 0.08, rungs=("state",), judged=False)
    keep(workspace, "20261127T180000Z", "first", 0.91, rules=1)
