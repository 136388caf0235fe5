"""Long work, called by the command line in the foreground and run as a job's child process by the engine.

``python -m engine.work KIND ARGUMENTS_JSON PROGRESS_FILE`` runs one piece and tells how far it is in the file; its
last line is ``{"phase": "done" | "failed" | "cancelled", "message": …}``.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from data.memory import is_out_of_memory
from engine.league_work import imitate, league, refine
from engine.runtime.progress import EtaReport, Progress, ProgressFile, Report

log = logging.getLogger(__name__)

NICE: Final = 10


def train(report: Report, workspace: str, level: str = "all", training: Mapping[str, Any] | None = None, **options: Any) -> str:
    """Train one level or all three on the sessions of a workspace; ``training`` is what the person set of the settings of that name."""
    from data.settings import TrainingSettings
    from engine.training import train_levels

    settings = TrainingSettings.model_validate(training or {})
    return train_levels(Path(workspace), level, report=report, training=settings, **options).text()


def detector(report: Report, workspace: str, quick: bool = False, **options: Any) -> str:
    """Train a detector for the arena; ``quick`` makes fewer pictures and passes over them less often."""
    from engine.detector_job import train_arena_detector

    if quick:
        options = {"pictures": 400, "epochs": 3, **options}
    return str(train_arena_detector(Path(workspace), report=report, **options))


def teach(report: Report, workspace: str, profile: Mapping[str, Any], **options: Any) -> str:
    """Train a detector on the boxes that a person confirmed for a game; ``profile`` is that game's."""
    from data.profile import GameProfile
    from engine.teach_training import train_taught

    return str(train_taught(Path(workspace), GameProfile.model_validate(profile), report=report, **options))


def evaluate(
    report: Report, workspace: str, policy: str, episodes: int = 20, minutes: float = 3.0, sessions: Sequence[str] = (), **options: Any
) -> str:
    """Fly a policy in the arena, judge its levels on so many minutes of unseen play (0: do not), and keep it all under
    ``<workspace>/logs/evaluations``. With ``sessions`` nothing is flown: its levels are judged on those recordings. Raises
    KeyboardInterrupt when stopped: all episodes that were to be flown are kept, without the levels; of fewer nothing is."""
    if sessions:
        return _judge(report, Path(workspace), Path(policy), sessions)
    from data.progress import part_of
    from engine.evaluate import evaluate as run
    from engine.evaluate import keep
    from engine.unseen_play import judge_unseen, whole_minutes

    share = 0.85 if minutes > 0 else 1.0
    result = run(Path(policy), episodes, report=part_of(report, 0.0, share), **options)
    try:
        levels = judge_unseen(Path(policy), minutes, part_of(report, share, 1 - share)).to_json() if minutes > 0 else None
    except KeyboardInterrupt:
        keep(Path(workspace), result)
        raise KeyboardInterrupt("stopped; what was flown is kept, the levels were not judged") from None
    keep(Path(workspace), result, levels)
    judged = f"; levels on {whole_minutes(minutes)} min of unseen play" if minutes > 0 else ""
    return f"normalised score: {result.normalised} from {result.rungs[-1].rung}, {episodes} episodes{judged}"


def _judge(report: Report, workspace: Path, policy: Path, sessions: Sequence[str]) -> str:
    from engine.evaluate import keep_levels
    from engine.policy import load_policy
    from engine.scoreboard import judge
    from engine.unseen_play import recorded_play

    began_s = time.monotonic()
    report(Progress("reading the recordings", 0.0))
    play = recorded_play(workspace, policy, sessions)
    for note in play.notes:
        log.warning("%s", note)
    board = judge(load_policy(policy), play.sessions, play.name, report=report)
    keep_levels(workspace, board, play.profile, time.monotonic() - began_s)
    return "; ".join([f"judged on {board.minutes:.1f} min of {play.name}", "not flown", *play.notes])


def perceive(report: Report, workspace: str, session: str, **options: Any) -> str:
    """Perceive a session anew from its video."""
    from data.catalog import find
    from engine.perceive_session import perceive_session

    folder = find(Path(workspace), session)
    return str(perceive_session(folder, report=report, **options))


WORK: Final[Mapping[str, Callable[..., str]]] = {
    "train": train,
    "detector": detector,
    "teach": teach,
    "evaluate": evaluate,
    "perceive": perceive,
    "imitate": imitate,
    "refine": refine,
    "league": league,
}


TELLS_TIME_LEFT: Final = frozenset({"refine", "league"})
"""They know it better than a clock that began when a run went on."""
STOPPED: Final[Mapping[str, str]] = {"evaluate": "stopped before it was finished; nothing of it is kept"}
"""What is said of work that was stopped and did not say it itself; of all else, what was finished is kept."""
OUT_OF_MEMORY: Final = (
    "this machine ran out of memory: close other programs, or train with a smaller batch or on fewer sessions; what was finished is kept"
)


def _step_back() -> None:
    """A job takes what the live path, the game and the face leave: a person may be playing. Its workers do as it does."""
    process = psutil.Process()
    if sys.platform == "win32":
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        process.nice(max(process.nice(), NICE))


def main(argv: list[str]) -> int:
    """The child of a job. Ctrl-C (SIGINT), SIGTERM and Ctrl-Break save and stop; the exit status is 0 only when all was done."""
    kind, arguments, path = argv[0], json.loads(argv[1]), Path(argv[2])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGBREAK", signal.SIGTERM)):
        signal.signal(number, signal.default_int_handler)  # a parent in the background may have left SIGINT ignored
    _step_back()
    told = ProgressFile(path)
    told(Progress("starting", 0.0))
    try:
        message = WORK[kind](told if kind in TELLS_TIME_LEFT else EtaReport(told), **arguments)
    except KeyboardInterrupt as stopped:
        why = str(stopped) or STOPPED.get(kind, "stopped; what was finished is kept")
        told.write({"phase": "cancelled", "stage": "stopped", "message": why})
        return 130
    except Exception as error:
        known = type(error).__module__.split(".", 1)[0] in ("data", "engine", "trainers", "league") or isinstance(
            error, OSError | ValueError
        )
        if not known:
            log.exception("the job failed")
        message = OUT_OF_MEMORY if is_out_of_memory(error) else str(error) or type(error).__name__
        told.write({"phase": "failed", "stage": "failed", "message": message})
        return 1
    told.write({"phase": "done", "stage": "done", "done": 1.0, "message": message})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
