"""The leagues, refinements and imitations of a workspace, as a list for a face: read from their own files, without the learning libraries.

What is torn or missing in one leaves figures out and hides none of the others.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np

from data.files import from_json
from league.live import Ending, LeagueProgress, PlayerView, read_live
from league.matchmaking import MixRow
from league.ratings import Interval

MODELS: Final = "models/league"
LEAGUES: Final = "league"
"""Where in a workspace runs of imitation and refinement lie, and where leagues."""
Kind = Literal["league", "refinement", "imitation"]
STATES: Final = ("league_state.json", "league_state.previous.json", "matches.jsonl")
METRICS: Final = "metrics.jsonl"
_TAIL_BYTES: Final = (64 * 1024, 2**20)
"""As much of a journal's end as is read, and more where that holds no evaluation: a hundred iterations or one and a half thousand."""
_MOST_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. Figures that nothing tells are None."""

    kind: Kind
    name: str
    folder: Path
    changed_s: float
    """Wall clock of the newest change that is known."""
    state: Ending | Literal["kept"]
    """``kept``: what it left lies there; whether it goes on now is known by its job alone."""
    done: float | None = None
    """0..1."""
    stage: str = ""
    """Round, iteration or epoch, in words."""
    frames: int | None = None
    matches: int | None = None
    players: int | None = None
    figure: str = ""
    """What it is worth so far, in words."""
    why: str = ""
    pid: int = 0
    """Of the process that runs it; 0 when none does, or none is known."""


def league_folders(workspace: Path) -> list[Path]:
    """Folders of the workspace's leagues, the one that was played last at the end: by its state and its matches, whatever else (a report,
    an evaluation) was written into a folder since. Raises OSError when the workspace cannot be read."""
    leagues = {path.parent for name in STATES for path in (workspace / LEAGUES).glob(f"*/{name}")}
    return sorted(leagues, key=lambda folder: (_changed(folder, *STATES), folder.name))


def list_runs(workspace: Path) -> list[RunRow]:
    """All runs, newest first. Raises OSError when the workspace cannot be read."""
    leagues = league_folders(workspace)
    models = {path.parent for path in (workspace / MODELS).glob("*/*.json*")}
    rows = [_whole(_league, "league", folder) for folder in leagues]
    for folder in models:
        refined = (folder / METRICS).is_file() or any(folder.glob("runner_*.npz"))
        rows += [_whole(_refinement, "refinement", folder)] if refined else []
        rows += [_whole(_imitation, "imitation", folder)] if not refined or _has_imitated(folder) else []
    return sorted(rows, key=lambda row: (-row.changed_s, row.name))


def _has_imitated(folder: Path) -> bool:
    """Whether a folder holds an imitation, beside whatever else: its policy, or a checkpoint that says so."""
    checkpoints = folder.glob("checkpoint_epoch_*.json")
    return (folder / "pi_sup.safetensors").is_file() or any(_object(path).get("role") == "pi_sup" for path in checkpoints)


def _whole(read: Callable[[Path], RunRow], kind: Kind, folder: Path) -> RunRow:
    """A run's row; of one whose files hold what they should not, that it is there."""
    try:
        return read(folder)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        names = STATES if kind == "league" else (METRICS, *(path.name for path in folder.glob("*.json*")))
        return RunRow(kind, folder.name, folder, _changed(folder, *names), "kept", why=f"its files cannot be read ({error!r})")


def _league(folder: Path) -> RunRow:
    live = read_live(folder)
    changed_s = _changed(folder, *STATES)
    if live is None:
        progress, interrupted = from_summary(folder)
        if progress is None:
            return RunRow("league", folder.name, folder, changed_s, "kept")
        state: Ending = "stopped" if interrupted else "done"
        return _row(folder, max(changed_s, _changed(folder, "summary.json")), state, progress)
    return _row(folder, live.written_s, live.state, live.progress, live.why, live.pid)


def _row(folder: Path, changed_s: float, state: Ending, progress: LeagueProgress, why: str = "", pid: int = 0) -> RunRow:
    mains = [p.id for p in progress.players if p.role == "main" and not p.frozen and p.id in progress.ratings]
    rating = progress.ratings[mains[0]] if mains else None
    return RunRow(
        "league",
        folder.name,
        folder,
        changed_s,
        state,
        progress.done,
        f"round {progress.round}/{progress.rounds}",
        progress.frames,
        progress.matches,
        len(progress.players),
        f"{mains[0]} {rating.value:+.0f} Elo ({rating.low:+.0f} to {rating.high:+.0f})" if rating else "",
        why,
        pid,
    )


def from_summary(folder: Path) -> tuple[LeagueProgress | None, bool]:
    """What a league's report or summary tells of its end, for one whose live picture is not there; and whether it was interrupted."""
    summary = _object(folder / "summary.json")
    told = {**_object(folder / "report" / "report.json"), **summary}
    try:
        return _progress_of(told), bool(summary.get("interrupted"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None, False


def _progress_of(told: Mapping[str, Any]) -> LeagueProgress:
    rows: list[dict[str, Any]] = told["players"]
    players = tuple(
        PlayerView(row["id"], row["kind"] or "main", bool(row["frozen"]), int(row["frames"]), 0, int(row["resets"]), str(row["benched"]))
        for row in rows
    )
    index = {player.id: k for k, player in enumerate(players)}
    payoffs, games = np.full((len(players),) * 2, 0.5), np.zeros((len(players),) * 2, np.int64)
    for pair in cast("list[dict[str, Any]]", told.get("pairs", [])):
        i, j = index[pair["a"]], index[pair["b"]]
        payoffs[i, j], payoffs[j, i] = pair["payoff"]["value"], 1 - pair["payoff"]["value"]
        games[i, j] = games[j, i] = pair["wins"] + pair["draws"] + pair["losses"]
    rounds = int(told["rounds"])
    return LeagueProgress(
        round=rounds,
        rounds=rounds,
        learner="",
        iteration=0,
        iterations=0,
        done=1.0,
        eta_s=None,
        frames=int(told["frames"]),
        frames_per_s=0.0,
        matches=int(told["matches"]),
        players=players,
        payoffs=payoffs,
        games=games,
        ratings={player: Interval(r["value"], r["low"], r["high"]) for player, r in told["ratings"].items()},
        elo=dict(told["elo"]),
        mix=tuple(MixRow(**row) for row in told["mix"]),
        losses={},
        notes=tuple(told["notes"]),
    )


def _refinement(folder: Path) -> RunRow:
    iteration, evaluation = newest_rows(folder)
    figure = ""
    if evaluation:
        figure = ", ".join(f"{v['opponent']} {v['payoff']['value']:.2f}" for v in evaluation["versus"])
    return RunRow(
        "refinement",
        folder.name,
        folder,
        _changed(folder, METRICS, "pi_rl.safetensors"),
        "kept",
        stage=f"iteration {iteration['iteration']:,}" if iteration else "",
        frames=int(iteration["frames"]) if iteration else None,
        matches=int(iteration["matches"]) if iteration else None,
        figure=figure,
    )


def newest_rows(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last iteration and the last evaluation that a refinement's ``metrics.jsonl`` tells near its end; empty where there is none. Of
    one that has ended: that of the policy it kept."""
    iteration: dict[str, Any] = {}
    evaluation: dict[str, Any] = {}
    for most_bytes in _TAIL_BYTES:
        for row in metrics_rows(folder / METRICS, most_bytes):
            if "evaluation" in row or "kept" in row:
                evaluation = row.get("kept") or row["evaluation"]
            elif "iteration" in row:
                iteration = row
        if evaluation:
            break
    return iteration, evaluation


def metrics_rows(path: Path, most_bytes: int) -> list[dict[str, Any]]:
    """The rows in the last ``most_bytes`` of a journal; half a last line is left out."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most_bytes))
            lines = file.read().split(b"\n")[1 if size > most_bytes else 0 : -1]
    except OSError:
        return []
    rows: list[dict[str, Any]] = []
    for line in lines:
        try:
            row = from_json(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(cast("dict[str, Any]", row))
    return rows


def _imitation(folder: Path) -> RunRow:
    epochs, best = imitated(folder)
    last = epochs[-1] if epochs else {}
    figure = f"validation loss {last['validation_loss']:.3f}" if "validation_loss" in last else ""
    changed_s = _changed(folder, "pi_sup.safetensors", *(path.name for path in folder.glob("checkpoint_epoch_*.json")))
    frames = best.get("split", {}).get("train_frames")
    stage = f"epoch {len(epochs)}" if epochs else ""
    return RunRow("imitation", folder.name, folder, changed_s, "kept", stage=stage, frames=frames, figure=figure)


def imitated(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The epochs of an imitation, as its newest checkpoint tells them, and that checkpoint's card; empty where there is none."""
    cards = sorted(folder.glob("checkpoint_epoch_*.json"), key=lambda path: int(path.stem.rpartition("_")[2] or 0))
    for path in reversed(cards):
        card = _object(path)
        history = card.get("state", {}).get("history") if isinstance(card.get("state"), dict) else None
        if isinstance(history, list):
            return [row for row in cast("list[Any]", history) if isinstance(row, dict)], card
    return [], {}


def _object(path: Path) -> dict[str, Any]:
    """A file's JSON object; empty when it holds none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        told = from_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _changed(folder: Path, *names: str) -> float:
    """When the newest of these files was written; now, when none is there (yet)."""
    times: list[float] = []
    for name in names:
        with contextlib.suppress(OSError):
            times.append((folder / name).stat().st_mtime)
    return max(times, default=time.time())
