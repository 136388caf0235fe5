"""The whole way once, on any machine: record a demonstrator in the embedded arena, learn from the pictures, fly, and
say how well it flew. ``make demo`` runs this.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.runtime.progress import EtaReport, Progress, Report, part

if TYPE_CHECKING:
    from engine.evaluate import Evaluation

PLAY_MINUTES: Final = 15.0
SESSIONS: Final = 4
EPISODES: Final = 12
DISPLACED: Final = 0.1
_SHARES: Final = {"compile": 0.01, "record": 0.4, "train": 0.31, "fly": 0.28}
"""About how long each phase takes, for the progress bar; measured on two cores."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """How much is played, learnt and flown. ``seed`` picks the worlds and the training's randomness;
    in ``look`` it is drawn, when it is recorded and when it is flown; ``displaced`` as in ``record_arena.record_session``."""

    play_minutes: float = PLAY_MINUTES
    sessions: int = SESSIONS
    episodes: int = EPISODES
    seed: int = 0
    pilot: str = "expert"
    epochs: int | None = None
    look: str = "classic"
    displaced: float = DISPLACED


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Where the time went and what came out."""

    evaluation: Evaluation
    phases_s: dict[str, float]
    workspace: Path
    policy: Path
    sessions: tuple[str, ...]
    file: Path

    def to_json(self) -> dict[str, Any]:
        return {
            "phases_s": {name: round(seconds, 1) for name, seconds in self.phases_s.items()},
            "total_s": round(sum(self.phases_s.values()), 1),
            "policy": self.policy.name,
            "sessions": list(self.sessions),
            "evaluation": self.evaluation.to_json(),
        }

    def line(self) -> str:
        n = self.evaluation.normalised
        return f"normalised score: {n.value:.2f} [{n.low:.2f}, {n.high:.2f}]"


def run_demo(workspace: Path, report: Report, settings: DemoSettings | None = None) -> DemoResult:
    """Record, train, fly and score in ``workspace``; the result is kept as ``<workspace>/demo.json``.

    Raises ValueError for an unknown look, and whatever a phase raises, KeyboardInterrupt when stopped; what was finished before stays in
    the workspace.
    """
    asked = settings or DemoSettings()
    from league.arena.looks import look_named

    look_named(asked.look)
    report = EtaReport(report)
    clock = _Phases()
    workers = max(1, min(os.cpu_count() or 1, asked.sessions))

    report(Progress("preparing the arena", 0.0, message="its rules are compiled once"))
    with clock.phase("prepare"):
        from league.arena.world import warm

        warm()
    at = _SHARES["compile"]

    with clock.phase("record"):
        from engine.record_arena import record_demonstrations

        recorded = record_demonstrations(
            workspace,
            asked.pilot,
            asked.play_minutes,
            asked.seed,
            asked.sessions,
            workers,
            part(report, at, _SHARES["record"], "1 of 3 "),
            asked.look,
            asked.displaced,
        )
    at += _SHARES["record"]

    with clock.phase("train"):
        from engine.training import TrainingStopped, train_levels

        training = part(report, at, _SHARES["train"], "2 of 3 training: ")
        try:
            trained = train_levels(workspace, "all", training, quick=True, seed=asked.seed, epochs=asked.epochs)
        except TrainingStopped as stopped:  # its own words say how a training goes on, but a demo does not
            kept = ", ".join(("the recorded play", *stopped.trained.runs))
            text = f"the demo was stopped in its training; kept in {workspace}: {kept}"
            report(Progress("note", at, message=text))
            raise KeyboardInterrupt(text) from None
    assert trained.policy is not None  # all three levels were trained
    at += _SHARES["train"]

    with clock.phase("fly"):
        from engine.evaluate import evaluate, keep

        evaluation = evaluate(
            trained.policy,
            asked.episodes,
            ("pixels",),
            demonstrator=asked.pilot,
            workers=max(1, min(os.cpu_count() or 1, 8)),
            report=part(report, at, _SHARES["fly"], "3 of 3 "),
            look=asked.look,
        )
        keep(workspace, evaluation)
    report(Progress("done", 1.0))

    from data.files import write_json

    result = DemoResult(evaluation, clock.seconds, workspace, trained.policy, tuple(r.session for r in recorded), workspace / "demo.json")
    write_json(result.file, result.to_json())
    return result


class _Phases:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def phase(self, name: str) -> _Phase:
        return _Phase(self.seconds, name)


class _Phase:
    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds, self._name, self._start_s = seconds, name, 0.0

    def __enter__(self) -> None:
        self._start_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._name] = time.monotonic() - self._start_s
