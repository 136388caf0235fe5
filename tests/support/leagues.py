"""A league's moment, runs of imitation and refinement as they are kept: for screens and lists, without learning anything."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from league.live import LeagueProgress, LiveFile, PlayerView
from league.matchmaking import MixRow
from league.ratings import Interval

WHEN_S = 1_764_300_000.0


def moment(frozen: int = 6) -> LeagueProgress:
    """Three learners and some snapshots; the later one of two players ranks above the earlier one more often."""
    players = [
        PlayerView("main-1", "main", False, 2_340_000, frozen, 0, ""),
        PlayerView("main_exploiter-1", "main_exploiter", False, 1_120_000, 2, 2, ""),
        PlayerView("league_exploiter-1", "league_exploiter", False, 980_000, 1, 1, ""),
    ]
    players += [PlayerView(f"main-1@{k}", "main", True, k * 390_000, 0, 0, "") for k in range(frozen)]
    n = len(players)
    strength = np.array([2.0, 1.4, 0.9, *np.linspace(0, 1.9, frozen)])
    payoffs = 1 / (1 + np.exp(-(strength[:, None] - strength[None, :])))
    games = np.full((n, n), 120)
    games[1, 3:5] = games[3:5, 1] = 4
    return LeagueProgress(
        round=3,
        rounds=20,
        learner="main-1",
        iteration=2,
        iterations=3,
        done=0.13,
        eta_s=3_120.0,
        frames=4_440_000,
        frames_per_s=81_234.0,
        matches=12_310,
        players=tuple(players),
        payoffs=payoffs,
        games=games,
        ratings={p.id: Interval(round(170 * s), round(170 * s) - 30, round(170 * s) + 34) for p, s in zip(players, strength, strict=True)},
        elo={p.id: round(1000 + 80 * s) for p, s in zip(players, strength, strict=True)},
        mix=(
            MixRow("main-1", "self_play", 0.35, 0.36, 4100),
            MixRow("main-1", "pfsp", 0.5, 0.52, 4100),
            MixRow("main-1", "forgotten", 0.15, 0.12, 4100),
            MixRow("main_exploiter-1", "current_main", 1.0, 1.0, 3900),
            MixRow("league_exploiter-1", "pfsp", 1.0, 1.0, 3800),
        ),
        losses={
            p.id: {"policy": -0.012, "upgo": 0.21, "value": 0.0031, "kl": 0.094, "entropy": 3.81, "mean_ratio": 1.0, "lag": 1.5}
            for p in players[:3]
        },
        notes=("main-1@4 frozen after 1560000 frames: time", "main_exploiter-1 starts anew from the supervised policy"),
    )


def keep_league(workspace: Path, name: str, progress: LeagueProgress, state: str = "done", written_s: float = WHEN_S) -> Path:
    """A league's folder with the picture of a moment. state "running": this process runs it."""
    folder = workspace / "league" / name
    folder.mkdir(parents=True)
    (folder / "matches.jsonl").write_text("")
    with LiveFile(folder) as live:
        live(progress)
    told = json.loads((folder / "live.json").read_text())
    (folder / "live.json").write_text(json.dumps({**told, "state": state, "written_s": written_s}))
    return folder


def keep_refinement(workspace: Path, name: str, iterations: int = 40) -> Path:
    """A refinement that is through: looked at before, half-way and after, and the last look was the best."""
    folder = workspace / "models" / "league" / name
    folder.mkdir(parents=True)
    rows: list[dict[str, object]] = []
    for iteration in range(iterations + 1):
        if iteration:
            losses = {"policy": -0.01, "value": 0.3 / iteration, "kl": 0.001 * iteration, "entropy": 4 - 0.01 * iteration}
            rows.append({"iteration": iteration, "seconds": 3.0 * iteration, "frames": 80_000 * iteration, "matches": 60 * iteration,
                         "fresh_per_s": 26_000.0, "consumed_per_s": 52_000.0, "lag_mean": 1.5, "losses": losses})  # fmt: skip
        if iteration in (0, iterations // 2, iterations):
            share = 0.3 + 0.3 * iteration / iterations
            versus = [
                {"opponent": pilot, "opponents": 3, "matches": 200, "payoff": {"value": v, "low": v - 0.06, "high": v + 0.06},
                 "first": {"value": v / 2, "low": v / 2 - 0.05, "high": v / 2 + 0.05}}
                for pilot, v in (("expert", share), ("novice", share + 0.25), ("random", share + 0.35))
            ]  # fmt: skip
            about = {"iteration": iteration, "frames": 80_000 * iteration, "seconds": 3.0 * iteration, "versus": versus}
            rows.append({"evaluation": about})
    rows.append({"kept": rows[-1]["evaluation"]})
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (WHEN_S - 5_000, WHEN_S - 5_000))
    return folder


def keep_imitation(workspace: Path, name: str) -> Path:
    """An imitation of two epochs, with its newest checkpoint's card and no weights."""
    folder = workspace / "models" / "league" / name
    folder.mkdir(parents=True)
    head = {"frames": 3853, "loss": 0.7, "accuracy": 0.72, "majority": 0.38, "persistence": 0.88, "changes": 0.31}
    heads = dict.fromkeys(("move_x", "move_y", "aim_x", "aim_y", "fire", "interact", "ability"), head)
    history = [{"epoch": k + 1, "train_loss": 4.8 - k, "validation_loss": 4.0 - k / 2, "heads": heads} for k in range(2)]
    card = {"role": "pi_sup", "split": {"train_frames": 37_352, "validation_frames": 3_853}, "about": {"pilot_matches": 20}}
    path = folder / "checkpoint_epoch_2.json"
    path.write_text(json.dumps({**card, "recipe": {"epochs": 2}, "state": {"epoch": 2, "best_epoch": 2, "history": history}}))
    os.utime(path, (WHEN_S - 9_000, WHEN_S - 9_000))
    return folder


def some(workspace: Path, newest: str = "stopped") -> None:
    """One of each kind, and a league in the midst of its rounds: ``stopped`` or ``running``."""
    keep_imitation(workspace, "20261128T100000Z")
    keep_refinement(workspace, "20261128T110000Z")
    keep_league(workspace, "20261128T120000Z", moment(), newest)
    keep_league(workspace, "first", replace(moment(3), round=2, rounds=2, done=1.0, eta_s=0.0), written_s=WHEN_S - 3_000)
