"""A running league as a picture of one moment, and the file in which a face beside it looks for the newest one.

The league's folder holds ``live.json``: the newest ``LeagueProgress``, who runs it and how it ended. It is replaced at most once a
second, whole, and is for looking at only: no state depends on it. Nothing here needs the learning libraries.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.files import from_json, replace_path
from data.locks import Identity, identity
from league.matchmaking import MixRow, Role
from league.ratings import Interval

LIVE: Final = "live.json"
MOST_BYTES: Final = 32 * 2**20
_EVERY_S: Final = 1.0
_MOST_NOTES: Final = 50
_DIGITS: Final = 4

Ending = Literal["running", "done", "stopped", "failed", "cut off"]
"""``cut off``: its process is gone without a word; what it saved last stands."""


@dataclass(frozen=True, slots=True)
class PlayerView:
    """One player in a live pane."""

    id: str
    role: Role
    frozen: bool
    frames: int
    snapshots: int
    """Made by it; 0 for a frozen one."""
    resets: int
    benched: str
    """Why it may not play; empty when it may."""


@dataclass(frozen=True, slots=True)
class LeagueProgress:
    """Everything a live pane shows, at one moment. Numbers of rounds and iterations count from 1."""

    round: int
    rounds: int
    learner: str
    """Whose turn it is."""
    iteration: int
    iterations: int
    """Of one turn."""
    done: float
    """0..1 of all rounds."""
    eta_s: float | None
    frames: int
    """All learners' together, since the league began."""
    frames_per_s: float
    """Of the last seconds, updates included."""
    matches: int
    """Finished since the league began."""
    players: tuple[PlayerView, ...]
    payoffs: NDArray[np.float64]
    """[n, n] in the order of ``players``: P[row ranks above column] as the matchmaker believes it; 0.5 on the diagonal."""
    games: NDArray[np.int64]
    """[n, n], of each pair."""
    ratings: dict[str, Interval]
    """Bradley-Terry with intervals, counted again every few seconds; empty before the first games."""
    elo: dict[str, float]
    mix: tuple[MixRow, ...]
    losses: dict[str, dict[str, float]]
    """By learner: parts of its last update's loss (``league.losses.Loss.parts``), and ``lag``, the mean age of what it learns from."""
    notes: tuple[str, ...]
    """What happened so far: benched players, snapshots, resets; newest last."""


def progress_to_json(progress: LeagueProgress) -> dict[str, Any]:
    """Plain values; payoffs to four digits, the newest notes."""
    told = asdict(progress)
    return {
        **told,
        "payoffs": np.round(progress.payoffs, _DIGITS).tolist(),
        "games": progress.games.tolist(),
        "notes": list(progress.notes[-_MOST_NOTES:]),
    }


def progress_from_json(told: dict[str, Any]) -> LeagueProgress:
    """What ``progress_to_json`` wrote. Raises ValueError, KeyError or TypeError when it is none."""
    players = tuple(PlayerView(**player) for player in told["players"])
    payoffs, games = np.asarray(told["payoffs"], np.float64), np.asarray(told["games"], np.int64)
    shape = (len(players), len(players))
    if payoffs.reshape(shape).shape != games.reshape(shape).shape:
        raise ValueError("payoffs and games are of other sizes")
    return LeagueProgress(
        **{
            **told,
            "players": players,
            "payoffs": payoffs.reshape(shape),
            "games": games.reshape(shape),
            "ratings": {player: Interval(*rating) for player, rating in told["ratings"].items()},
            "mix": tuple(MixRow(*row) for row in told["mix"]),
            "notes": tuple(told["notes"]),
        }
    )


@dataclass(frozen=True, slots=True)
class Live:
    """``live.json`` as it was read. ``pid``: who runs it, 0 when nobody does."""

    progress: LeagueProgress
    state: Ending
    why: str
    """Of a failure."""
    pid: int
    written_s: float
    """Wall clock."""


def read_live(folder: Path) -> Live | None:
    """The newest moment of the league in ``folder``; None when there is no file that tells one. Never raises for what is in it."""
    path = folder / LIVE
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        told = from_json(path.read_bytes())
        process = Identity(**told["process"])
        state: Ending = told["state"]
        alive = state == "running" and identity(process.pid) == process
        if state == "running" and not alive:
            state = "cut off"
        return Live(progress_from_json(told["progress"]), state, str(told["why"]), process.pid if alive else 0, float(told["written_s"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class LiveFile:
    """A report that passes on what ``run_league`` tells and keeps it in ``live.json``; as a context it writes down how it ended.

    Nothing is written before the first report: a league that may not begin in a folder leaves what is there. A disk that refuses is no
    reason to stop a league, which tells of it when it saves.
    """

    def __init__(self, folder: Path, report: Callable[[LeagueProgress], object] = lambda progress: None) -> None:
        self._folder, self._report = folder, report
        self._newest: LeagueProgress | None = None
        self._written_s = -_EVERY_S

    def __call__(self, progress: LeagueProgress) -> None:
        self._newest = progress
        if time.monotonic() - self._written_s >= _EVERY_S:
            self._write("running")
        self._report(progress)

    def _write(self, state: Ending, why: str = "") -> None:
        if self._newest is None:
            return
        self._written_s = time.monotonic()
        process = identity()
        told = {"state": state, "why": why, "process": process and asdict(process), "written_s": time.time()}
        temporary = self._folder / f".{LIVE}.{os.getpid()}.tmp"
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps({**told, "progress": progress_to_json(self._newest)}, allow_nan=True), encoding="utf-8")
            replace_path(temporary, self._folder / LIVE)

    def __enter__(self) -> LiveFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        ended = self._newest is not None and self._newest.done >= 1
        if error is not None and not isinstance(error, KeyboardInterrupt):
            self._write("failed", " ".join(str(error).split()) or type(error).__name__)
        else:
            self._write("done" if ended else "stopped")
