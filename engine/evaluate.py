"""Closed loop decides: a policy flies whole episodes and is placed between random and the demonstrator.

The ladder has three rungs, so that one sees where score is lost: ``state`` (exact observations), ``emulated``
(perception as measured, without pictures) and ``pixels`` (render, detect, track, read gauges). Demonstrator and
random fly the same seeds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from engine.runtime.progress import EtaReport, Progress, Report, ignore
from engine.runtime.workers import worker_processes
from engine.scores import Interval, mean_interval, normalised_interval

if TYPE_CHECKING:
    from data.profile import GameProfile
    from engine.bot import Policy
    from engine.lockstep import Actor, EpisodeResult
    from engine.pixels import PixelEyes
    from engine.scoreboard_figures import Scoreboard

Rung = Literal["state", "emulated", "pixels"]
RUNGS: Final[tuple[Rung, ...]] = get_args(Rung)
DEMONSTRATOR: Final = "expert"
BASELINE: Final = "random"


@dataclass(frozen=True, slots=True)
class Task:
    """One episode. ``rung`` is empty for the scripted pilots, who read the world itself."""

    rung: Rung | Literal[""]
    pilot: str
    seed: int
    ticks: int


@dataclass(frozen=True, slots=True)
class RungResult:
    rung: Rung
    score: Interval
    normalised: Interval
    scores: tuple[float, ...]
    counters: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "rung": self.rung,
            "score": self.score.to_json(),
            "normalised": self.normalised.to_json(),
            "scores": list(self.scores),
            "counters_per_episode": self.counters,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out; ``normalised`` is the hardest rung's."""

    policy: str
    rules_version: int
    episodes: int
    episode_s: float
    first_seed: int
    demonstrator: str
    demonstrator_score: Interval
    random_score: Interval
    rungs: tuple[RungResult, ...]
    seconds: float
    look: str = ""
    """How the arena was drawn; empty where no rung saw pictures."""

    @property
    def normalised(self) -> Interval:
        return self.rungs[-1].normalised

    def to_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "rules_version": self.rules_version,
            "episodes": self.episodes,
            "episode_s": self.episode_s,
            "first_seed": self.first_seed,
            "look": self.look,
            "demonstrator": {"pilot": self.demonstrator, "score": self.demonstrator_score.to_json()},
            "random": {"score": self.random_score.to_json()},
            "rungs": [r.to_json() for r in self.rungs],
            "normalised_score": self.normalised.to_json(),
            "interval": "95 %, Student's t over episodes, denominators included (delta method); one training seed",
            "seconds": round(self.seconds, 1),
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A table: who, score of an episode, kills / loot / deaths of an episode, normalised score."""
        rows = [("random", str(self.random_score), "", "0"), (f"demonstrator ({self.demonstrator})", str(self.demonstrator_score), "", "1")]
        for r in self.rungs:
            c = r.counters
            kills, loot = c.get("kills", 0.0), c.get("looted", 0.0) + c.get("caches", 0.0)
            rows.append(
                (
                    f"policy, from {r.rung}",
                    str(r.score),
                    f"{kills:.1f} / {loot:.1f} / {c.get('deaths', 0.0):.1f}",
                    str(r.normalised),
                )
            )
        return rows


def evaluate(
    policy: Path,
    episodes: int = 20,
    rungs: Sequence[Rung] = RUNGS,
    first_seed: int | None = None,
    demonstrator: str = DEMONSTRATOR,
    workers: int = 2,
    ticks: int | None = None,
    report: Report = ignore,
    look: str = "classic",
) -> Evaluation:
    """Fly ``episodes`` episodes a rung, and as many of the demonstrator and of random, on the same seeds.

    first_seed: where the seeds begin (the first of the arena's test list by default). ``look``:
    how the arena is drawn for the rung "pixels". Raises ValueError for impossible numbers, an unknown look and
    a policy of another game, CheckpointError when the policy cannot be flown.
    """
    from league.arena.looks import look_named
    from league.arena.score import seeds as seed_list
    from league.arena.skirmish import EPISODE_TICKS, RULES_VERSION
    from league.arena.world import TICK_HZ

    unknown = [r for r in rungs if r not in RUNGS]
    if episodes < 2 or workers < 1 or not rungs or unknown:
        raise ValueError(
            f"evaluate: {episodes} episodes, {workers} workers, rungs {', '.join(rungs)}: use at least 2, 1, and of {', '.join(RUNGS)}"
        )
    look_named(look)
    ticks = EPISODE_TICKS if ticks is None else ticks
    seeds: list[int] = seed_list("test", episodes).tolist() if first_seed is None else list(range(first_seed, first_seed + episodes))
    from engine.policy import load_arena_policy

    load_arena_policy(policy)  # say what is wrong with it before anything is started
    tasks = [Task("", pilot, seed, ticks) for pilot in (BASELINE, demonstrator) for seed in seeds]
    tasks += [Task(rung, "", seed, ticks) for rung in rungs for seed in seeds]
    began_s = time.monotonic()
    results = _fly(policy, look, tasks, workers, EtaReport(report))
    by: dict[tuple[str, str], list[EpisodeResult]] = {}
    for task, result in zip(tasks, results, strict=True):
        by.setdefault((task.rung, task.pilot), []).append(result)
    low = [r.score for r in by["", BASELINE]]
    high = [r.score for r in by["", demonstrator]]
    return Evaluation(
        policy=policy.name,
        rules_version=RULES_VERSION,
        episodes=episodes,
        episode_s=ticks / TICK_HZ,
        first_seed=seeds[0],
        demonstrator=demonstrator,
        demonstrator_score=mean_interval(high),
        random_score=mean_interval(low),
        rungs=tuple(_rung(rung, by[rung, ""], high, low) for rung in rungs),
        seconds=time.monotonic() - began_s,
        look=look if "pixels" in rungs else "",
    )


def keep(workspace: Path, evaluation: Evaluation, levels: Mapping[str, Any] | None = None) -> Path:
    """Write an evaluation under ``<workspace>/logs/evaluations``, with what was found of its levels; returns the file."""
    return _keep(workspace, evaluation.policy, evaluation.to_json() | ({"levels": dict(levels)} if levels else {}))


def keep_levels(workspace: Path, board: Scoreboard, profile: GameProfile, seconds: float) -> Path:
    """Write what was found of a policy's levels where nothing was flown, beside the evaluations; ``profile`` is its game's, ``seconds``
    how long it took. Returns the file."""
    from engine.training_runs import rules_of

    found: dict[str, Any] = {
        "policy": board.policy,
        "game": profile.name,
        "rules_version": rules_of(profile).get("rules_version"),
        "play": board.play,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(seconds, 1),
        "levels": board.to_json(),
    }
    return _keep(workspace, board.policy, found)


def _keep(workspace: Path, policy: str, found: Mapping[str, Any]) -> Path:
    from data.files import write_json

    folder = workspace / "logs" / "evaluations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}_{policy}.json"
    write_json(path, found)
    return path


def _rung(rung: Rung, results: list[EpisodeResult], high: list[float], low: list[float]) -> RungResult:
    scores = [r.score for r in results]
    counters = {name: sum(r.counters[name] for r in results) / len(results) for name in results[0].counters}
    return RungResult(rung, mean_interval(scores), normalised_interval(scores, high, low), tuple(scores), counters)


def _fly(policy: Path, look: str, tasks: list[Task], workers: int, report: Report) -> list[EpisodeResult]:
    """Episodes in worker processes, results in the order of the tasks. Raises RuntimeError when a worker was ended from outside."""
    results: list[EpisodeResult] = []
    with worker_processes(workers, _start_worker, (str(policy), look)) as pool:
        for result in pool.map(_episode, tasks):
            task = tasks[len(results)]
            results.append(result)
            who = f"policy from {task.rung}" if task.rung else task.pilot
            report(Progress(f"flying: {who}", len(results) / len(tasks), message=f"{len(results)} of {len(tasks)} episodes"))
    return results


class _Worker:
    """What a worker process keeps between episodes: the policy, and the eyes once they are needed."""

    def __init__(self, policy: Path, look: str) -> None:
        self._path, self._look = policy, look
        self._policy: Policy | None = None
        self._eyes: PixelEyes | None = None

    @property
    def policy(self) -> Policy:
        """Loaded for the first episode: what is wrong with it is that episode's error, not a worker that is gone."""
        if self._policy is None:
            from engine.policy import load_arena_policy

            self._policy = load_arena_policy(self._path)
        return self._policy

    def eyes(self) -> PixelEyes:
        if self._eyes is None:
            from engine.pixels import PixelEyes

            self._eyes = PixelEyes(self._look)
        return self._eyes


_worker: _Worker | None = None


def _start_worker(policy: str, look: str) -> None:
    global _worker
    _worker = _Worker(Path(policy), look)


def _episode(task: Task) -> EpisodeResult:
    from engine.lockstep import run_episode
    from league.arena.emulated import EmulatedObserver, TruthObserver
    from league.arena.pilots import make_pilot

    assert _worker is not None
    if not task.rung:
        return run_episode(TruthObserver(), make_pilot(task.pilot, task.seed), task.seed, task.ticks)
    _worker.policy.reset()
    actor: Actor = _worker.policy
    if task.rung == "pixels":
        return _worker.eyes().episode(task.seed).run(actor, task.ticks)
    observer = TruthObserver() if task.rung == "state" else EmulatedObserver(seed=task.seed)
    return run_episode(observer, actor, task.seed, task.ticks)
