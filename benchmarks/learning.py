"""How well is play learnt, and where is score lost? From nothing to a dated table.

    python -m benchmarks.learning --minutes 30 --seeds 3 --episodes 60

A scripted expert plays, by exact eyes, as a person looks at the picture itself; the three levels are trained on what was perceived
meanwhile, once a training seed; the policies fly episodes of a minute on worlds nobody trained on. The ladder: ``state`` (exact
observations, learnt from exact ones), ``emulated`` (perception as measured on the shipped detector, learnt from such observations),
``pixels`` (learnt and flown from pictures, behind the shipped detector) and ``transferred`` (the policies of ``emulated`` flown from
pictures). Scores are normalised, (policy - random) / (expert - random), with intervals over episodes and training seeds.
``novice`` is the novice's play, learnt and compared with the novice. Beside them: what each level knows on unseen play beside its
baselines, and how long it all took. ``--ablations`` trains variants on the emulated recordings, one training seed each.

Everything that is finished is kept in ``--keep``, so that a run that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.dated import write_result
from data.features import LAGS_S
from data.files import write_json, write_whole
from data.profile import ARENA_PROFILE
from data.steps import Steps
from engine.lockstep import displaced_cursor, record_episode, run_episode
from engine.scores import Interval, mean_interval, normalised_over_seeds
from league.arena.emulated import EmulatedObserver, TruthObserver, measured_settings
from league.arena.pilots import PILOTS, make_pilot
from league.arena.score import seeds
from league.arena.skirmish import EPISODE_TICKS, RULES_VERSION

ABLATIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "rows as recorded, not as live": {"all": {"live": False}},
    "hand one tick later": {"all": {"reaction_lag_ticks": 1}},
    "hand two ticks later": {"all": {"reaction_lag_ticks": 2}},
    "no displaced cursors": {"perturbed": 0.0},
    "Strategist sees 32 s": {"strategist": {"shorter": 0}},
    "Strategist sees 4 s": {"strategist": {"history": 4}},
    "no label smoothing": {"strategist": {"smoothing": 0.0}, "tactician": {"smoothing": 0.0}, "executor": {"smoothing": 0.0}},
    "cursor never hidden": {"executor": {"cursor_dropout": 0.0}},
    "target never hidden": {"executor": {"target_dropout": 0.0}},
    "only labels from above": {"executor": {"label_share": 1.0}, "tactician": {"label_share": 1.0}},
    "past clicks never hidden": {"tactician": {"click_dropout": 0.0}},
    "past clicks always hidden": {"tactician": {"hidden": ["since_click"]}},
    "Executor sees only now": {"executor": {"hidden": [f"*{lag}s" for lag in LAGS_S[1:]]}},
    "Executor sees 0.2 s": {"executor": {"hidden": [f"*{lag}s" for lag in LAGS_S[3:]]}},
    "places only from the ship": {"executor": {"hidden": ["x", "y", "self.x", "self.y"]}},
    "places only on the picture": {"executor": {"hidden": ["dx*", "dy*", "near", "centre.*", "own.*"]}},
    "no relations between things": {
        "executor": {"hidden": ["to_*", "centre.*", "own.*"]},
        "tactician": {"hidden": ["to_*", "centre.*", "own.*"]},
    },
    "cursor always hidden": {"executor": {"cursor_dropout": 1.0}},
    "cursor history": {"executor": {"cursor_past": True}},
    "cursor history, never hidden": {"executor": {"cursor_past": True, "cursor_dropout": 0.0}},
    "next click within 0.4 s instead of its hazard": {"executor": {"horizons": {"click_ticks": 8}}},
    "a click's hazard of three ticks": {"executor": {"horizons": {"click_ticks": 3}}},
    "point only learnt in the tick of a click": {"executor": {"horizons": {"point_s": 0.0}}},
    "intent only of the next tick": {"executor": {"horizons": {"intent_s": 0.0}}},
    "a key's hazard of one tick": {"executor": {"horizons": {"key_ticks": 1}}},
    "chunks of 8 ticks, ensembled": {"executor": {"chunk": {"ticks": 8}}},
    "chunks of 8 ticks, the first 4 flown": {"executor": {"chunk": {"ticks": 8, "first": 4}}},
    "way-point of 5 s as a goal": {"executor": {"way_point": True}},
    "new targets when the hand sets out": {"tactician": {"lead_s": 0.0}},
    "new targets 0.2 s ahead, keyframes": {"tactician": {"lead_s": 0.2, "keyframe_s": 0.3}},
    "always the likeliest mode": {"strategist": {"adjust": [0.0]}},
    "Strategist forgets every second time": {"strategist": {"forget": 0.5}},
}
"""Variants by what they change: fields of a level's settings, of all levels' sampling, or of the recording."""


@dataclass(frozen=True, slots=True)
class Job:
    """One policy to be learnt: whose play, through which eyes, by which training seed, with which changes."""

    pilot: str
    rung: str
    seed: int
    minutes: float
    perturbed: float
    preset: str
    changes: str = "{}"

    def key(self) -> str:
        # What the recordings and the code that learns from them are belongs to the key: else old results would be taken for new ones.
        facts = {**asdict(self), "rules": RULES_VERSION, "versions": _versions(), "pilots": _pilots(), "settings": repr(settings_of(self))}
        facts["code"] = _trainers()
        facts["recorder"] = _digest("engine", "lockstep.py")
        if self.rung == "emulated":
            facts["perception"] = repr(measured_settings())
        if self.rung == "pixels":
            facts["perception"] = [_eyes(), _seer()]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]

    def worlds(self) -> list[int]:
        """Seeds of what is recorded: a minute each."""
        return seeds("train", max(1, round(self.minutes))).tolist()

    def picture_play(self, folder: Path, seed: int) -> Path:
        """Where play from pictures is kept: the same for all training seeds."""
        facts = [self.pilot, self.perturbed, RULES_VERSION, _pilots(), _eyes(), _seer(), _digest("engine", "lockstep.py"), seed]
        return folder / "play" / f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}.npz"


def _versions() -> list[int]:
    from data.features import FEATURE_VERSION
    from data.hindsight import HINDSIGHT_VERSION

    return [FEATURE_VERSION, HINDSIGHT_VERSION]


def _digest(folder: str, *names: str) -> str:
    """Tells apart what is written in files of the project."""
    digest = hashlib.sha256()
    for name in names:
        digest.update((Path(__file__).parents[1] / folder / name).read_bytes())
    return digest.hexdigest()[:12]


def _pilots() -> str:
    """Tells apart what the scripted pilots are."""
    return _digest("league/arena", "tactics.py", "pilots.py", "hands.py")


def _flight() -> str:
    """Tells apart how what was learnt is flown."""
    return _digest("engine", "policy.py", "motor.py", "recent.py") + _trainers()


def _trainers() -> str:
    """Tells apart how it is learnt, and the networks as they learn and as they fly."""
    home = Path(__file__).parents[1]
    return "".join(
        _digest(place, *sorted(path.name for path in (home / place).glob("*.py"))) for place in ("trainers", "trainers/networks")
    )


def _eyes() -> str:
    """Tells apart what the pixels are looked at with."""
    from engine.perception.card import ASSETS, file_sha256

    return file_sha256(ASSETS / "arena_detector.onnx")[:12]


def _seer() -> str:
    """Tells apart how pictures are made and what is made of what is seen in them."""
    names = sorted(path.name for path in (Path(__file__).parents[1] / "engine" / "perception").glob("*.py"))
    return _digest("engine/perception", *names) + _digest("league/arena", "render.py", "sprites.py") + _digest("engine", "pixels.py")


def observer(rung: str, seed: int) -> Any:
    return TruthObserver() if rung == "state" else EmulatedObserver(seed=seed)


def recordings(job: Job, folder: Path) -> list[Steps]:
    """Sessions of one minute each, on training worlds; those from pictures were made before (``seen``)."""
    found: list[Steps] = []
    for seed in job.worlds():
        if job.rung == "pixels":
            with np.load(job.picture_play(folder, seed), allow_pickle=False) as kept:
                found.append(Steps(profile=ARENA_PROFILE, **kept))
        else:
            disturb = displaced_cursor(seed, job.perturbed) if job.perturbed > 0 else None
            eyes = observer(job.rung, seed)
            found.append(record_episode(eyes, make_pilot(job.pilot, seed), job.pilot, seed, EPISODE_TICKS, disturb)[0])
    return found


def seen(task: tuple[Job, Path, int]) -> float:
    """Play one world from pictures, which takes half a minute, and keep what was perceived. Runs in a worker; the seconds it took."""
    job, folder, seed = task
    began_s, path = time.monotonic(), job.picture_play(folder, seed)
    if not path.exists():
        disturb = displaced_cursor(seed, job.perturbed) if job.perturbed > 0 else None
        steps = _pixel_eyes().record(job.pilot, seed, disturb)
        columns = {column.name: getattr(steps, column.name) for column in fields(steps) if column.name != "profile"}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **{name: values for name, values in columns.items() if values is not None})
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, buffer.getvalue())
    return time.monotonic() - began_s


def learn(job: Job, folder: str) -> dict[str, Any]:
    """Train all three levels. Runs in a worker; returns the policy's folder and what it took."""
    import torch

    from trainers.all import train_all

    torch.set_num_threads(1)
    place = Path(folder) / job.key()
    done = place / "learnt.json"
    if done.exists():
        return dict(json.loads(done.read_text("utf-8")))
    began = time.monotonic()
    sessions = recordings(job, Path(folder))
    recorded_s = time.monotonic() - began
    runs = {level: place / level for level in ("strategist", "tactician", "executor")}
    result = train_all(sessions, settings_of(job), runs, place / "policy", resume=any(p.exists() for p in runs.values()))
    assert result.policy is not None
    found = {
        "policy": str(result.policy),
        "recorded_s": round(recorded_s, 1),
        "trained_s": round(time.monotonic() - began - recorded_s, 1),
        "epochs": {level: r.epochs for level, r in result.levels.items()},
        "figures": {level: {k: float(v) for k, v in r.figures.items()} for level, r in result.levels.items()},
    }
    write_json(done, found)
    return found


def settings_of(job: Job) -> Any:
    """The settings that ``secondseat train`` would use for so much play, with the job's changes."""
    from data.settings import TrainingSettings
    from engine.training import TrainOptions, level_settings
    from trainers.all import QUICK, AllSettings
    from trainers.chunking import Chunk

    training = TrainingSettings()
    asked = TrainOptions(quick=job.preset == "quick", preset=None if job.preset == "quick" else job.preset)  # type: ignore[arg-type]
    plain = level_settings(training, asked, job.preset, job.seed)  # type: ignore[arg-type]
    changes = json.loads(job.changes)
    for level, settings in plain.items():
        wanted = dict(changes.get(level, {}))
        if "horizons" in wanted:
            wanted["horizons"] = replace(settings.horizons, **wanted["horizons"])
        if "chunk" in wanted:
            wanted["chunk"] = Chunk(**wanted["chunk"])
        wanted |= {name: tuple(wanted[name]) for name in ("hidden", "adjust") if name in wanted}
        sampling = replace(settings.sampling, **changes.get("all", {}))
        plain[level] = replace(settings, sampling=sampling, **wanted)
    return AllSettings(**plain, folds=QUICK.folds if job.preset == "quick" else 3, seed=job.seed)


_LOADED: dict[str, Any] = {}


def play(task: tuple[str, str, int]) -> float:
    """One episode's score: (who, rung, seed); who is a pilot's name or a policy's folder. Runs in a worker."""
    who, rung, seed = task
    if who in PILOTS:
        return run_episode(TruthObserver(), make_pilot(who, seed), seed).score
    if who not in _LOADED:
        from engine.policy import load_policy

        _LOADED[who] = load_policy(who)
    policy = _LOADED[who]
    policy.reset()
    if rung == "pixels":
        return _pixel_eyes().episode(seed).run(policy, EPISODE_TICKS).score
    return run_episode(observer(rung, seed), policy, seed).score


def _pixel_eyes() -> Any:
    """This worker's."""
    if "eyes" not in _LOADED:
        from engine.pixels import PixelEyes

        _LOADED["eyes"] = PixelEyes()
    return _LOADED["eyes"]


def judged(task: tuple[str, float]) -> dict[str, Any]:
    """The scoreboard of a policy on unseen play. Runs in a worker."""
    from engine.unseen_play import judge_unseen

    policy, minutes = task
    return judge_unseen(Path(policy), minutes).to_json()


class Runner:
    """Worker processes, and what they have finished, kept in a folder."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder, self.began_s = folder, time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        self._pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def say(self, text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self.began_s:7.0f} s  {text}\n")
        sys.stdout.flush()

    def learnt(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        play = {
            job.picture_play(self.folder, seed): (job, self.folder, seed) for job in jobs if job.rung == "pixels" for seed in job.worlds()
        }
        if missing := [task for path, task in play.items() if not path.exists()]:
            self._in_turn("playing from pictures", self._pool.map(seen, missing), len(missing))
        found = self._in_turn("learning", self._pool.map(learn, jobs, [str(self.folder)] * len(jobs)), len(jobs))
        return [dict(one) for one in found]

    def scores(self, who: str, rung: str, episodes: int) -> list[float]:
        """Episode scores on the test worlds; those that are kept are not flown again."""
        eyes = {"pixels": _eyes, "emulated": lambda: repr(measured_settings())}.get(rung, lambda: rung)()
        facts = [who, rung, RULES_VERSION, _pilots() if who in PILOTS else _flight(), eyes]
        path = self.folder / "scores" / f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}.json"
        kept: list[float] = json.loads(path.read_text("utf-8")) if path.exists() else []
        if len(kept) < episodes:
            path.parent.mkdir(exist_ok=True)
            tasks = [(who, rung, seed) for seed in seeds("test", episodes).tolist()[len(kept) :]]
            name = who if who in PILOTS else f"policy {Path(who).parent.name}"

            def keep(score: float) -> None:
                kept.append(score)
                if len(kept) % 10 == 0 or len(kept) == episodes:
                    write_json(path, kept)

            self._in_turn(f"{name} flies from {rung}", self._pool.map(play, tasks), len(tasks), keep)
        return kept[:episodes]

    def levels(self, policies: Sequence[str], minutes: float) -> list[dict[str, Any]]:
        return self._in_turn("each level on unseen play", self._pool.map(judged, [(p, minutes) for p in policies]), len(policies))

    def _in_turn(self, what: str, results: Iterator[Any], total: int, each: Callable[[Any], object] = lambda one: None) -> list[Any]:
        found: list[Any] = []
        began, told = time.monotonic(), 0.0
        for one in results:
            found.append(one)
            each(one)
            now = time.monotonic()
            if now - told > 15 or len(found) == total:
                told = now
                left = (now - began) / len(found) * (total - len(found))
                self.say(f"{what}: {len(found)} of {total}" + (f", about {left:.0f} s left" if left >= 1 else ""))
        return found


def ladder(runner: Runner, asked: argparse.Namespace, pilots: dict[str, list[float]]) -> dict[str, Any]:
    """Every rung with all training seeds, the novice's play, and what each level knows."""
    chosen = range(asked.seed, asked.seed + asked.seeds)
    wanted = [(pilot, rung) for pilot, rung, asked_by in _SETS if asked_by & {*asked.rungs}]
    jobs = [Job(pilot, rung, s, asked.minutes, asked.perturbed, asked.preset) for pilot, rung in wanted for s in chosen]
    learnt = dict(zip(jobs, runner.learnt(jobs), strict=True))
    found: dict[str, Any] = {"rungs": {}, "trained_s": [r["trained_s"] for r in learnt.values()], "learnt": [*learnt.values()]}
    for rung in (r for r in asked.rungs if r != "novice"):
        learnt_from, flown_from = {"transferred": ("emulated", "pixels")}.get(rung, (rung, rung))
        episodes = asked.pixel_episodes if flown_from == "pixels" else asked.episodes
        policies = [r["policy"] for j, r in learnt.items() if (j.pilot, j.rung) == ("expert", learnt_from)]
        scores = [runner.scores(policy, flown_from, episodes) for policy in policies]
        found["rungs"][rung] = entry(runner, rung, scores, pilots["expert"][:episodes], pilots["random"][:episodes])
    novices = [r["policy"] for j, r in learnt.items() if j.pilot == "novice"]
    if novices:
        count = asked.novice_episodes
        scores = [runner.scores(policy, "emulated", count) for policy in novices]
        found["novice"] = entry(runner, "novice", scores, pilots["novice"][:count], pilots["random"][:count])
    known = [r["policy"] for j, r in learnt.items() if (j.pilot, j.rung) == ("expert", "emulated")]
    if known:
        found["levels"] = runner.levels(known, asked.unseen_minutes)
    if {"state", "pixels"} <= found["rungs"].keys():
        top, bottom = (found["rungs"][r]["normalised"]["value"] for r in ("state", "pixels"))
        found["pixels_of_state"] = bottom / top
        runner.say(f"from pixels {bottom / top:.2f} of the score from state")
    return found


_SETS = (
    ("expert", "state", {"state"}),
    ("expert", "emulated", {"emulated", "transferred"}),
    ("novice", "emulated", {"novice"}),
    ("expert", "pixels", {"pixels"}),
)
"""Whose play is learnt, through which eyes, and for which rungs."""
RUNGS = ("state", "emulated", "pixels", "transferred", "novice")


def entry(runner: Runner, name: str, scores: list[list[float]], high: list[float], low: list[float]) -> dict[str, Any]:
    shown = normalised_over_seeds(scores, high, low)
    each = [normalised_over_seeds([s], high, low) for s in scores]
    runner.say(f"{name:10} normalised {shown}   by training seed: {', '.join(f'{e.value:.2f}' for e in each)}   episodes {len(high)}")
    return {"normalised": shown.to_json(), "by_seed": [e.to_json() for e in each], "scores": scores}


def words_of(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def chosen_rows(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Of ``ABLATIONS`` the first, which the others are compared with, and those with one of ``words`` in their names (all without)."""
    first = next(iter(ABLATIONS))
    chosen = {name: change for name, change in ABLATIONS.items() if name == first or not words or any(word in name for word in words)}
    if unknown := [word for word in words if not any(word in name for name in ABLATIONS)]:
        raise SystemExit(f"--rows: no variant has {', '.join(unknown)} in its name; there are: {'; '.join(ABLATIONS)}")
    return chosen


def ablations(runner: Runner, asked: argparse.Namespace, pilots: dict[str, list[float]]) -> dict[str, Any]:
    jobs: dict[str, Job] = {}
    for name, change in chosen_rows(asked.rows).items():
        inner = {k: v for k, v in change.items() if k != "perturbed"}
        perturbed = change.get("perturbed", asked.perturbed)
        jobs[name] = Job(
            "expert", "emulated", asked.seed, asked.ablation_minutes, perturbed, asked.preset, json.dumps(inner, sort_keys=True)
        )
    learnt = dict(zip(jobs, runner.learnt(list(jobs.values())), strict=True))
    found: dict[str, Any] = {}
    for name, result in learnt.items():
        scores = [runner.scores(result["policy"], "emulated", asked.episodes)]
        found[name] = entry(runner, name, scores, pilots["expert"][: asked.episodes], pilots["random"][: asked.episodes])
        found[name]["figures"] = result["figures"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="play recorded of each pilot")
    parser.add_argument("--seeds", type=int, default=3, help="training seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--novice-episodes", type=int, help="of the novice's policies, whose measure scatters more (twice --episodes)")
    parser.add_argument("--pixel-episodes", type=int, default=20)
    parser.add_argument("--rungs", type=words_of, default=[*RUNGS], metavar="NAMES", help=f"of the ladder, with commas: {', '.join(RUNGS)}")
    parser.add_argument("--perturbed", type=float, default=0.1, help="share of the recordings with displaced cursors")
    parser.add_argument("--preset", choices=("quick", "small", "standard", "large"), default="standard")
    parser.add_argument("--unseen-minutes", type=float, default=6, help="fresh play for the scoreboard of each level")
    parser.add_argument("--ablations", action="store_true", help="also train and fly variants")
    parser.add_argument("--ablation-minutes", type=float, default=10)
    parser.add_argument("--only-ablations", action="store_true")
    parser.add_argument("--rows", type=words_of, default=[], metavar="WORDS", help="with --ablations: variants by words, with commas")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() or 1))
    parser.add_argument("--keep", type=Path, default=Path("build") / "learning", help="what is finished is kept here")
    parser.add_argument("--quick", action="store_true", help="a look: 6 minutes of play, one seed, 16 episodes, no pixels")
    asked = parser.parse_args()
    if asked.rows and not (asked.ablations or asked.only_ablations):
        parser.error("--rows chooses variants: say --ablations or --only-ablations too")
    if unknown := [name for name in asked.rungs if name not in RUNGS]:
        parser.error(f"--rungs: {', '.join(unknown)}; use some of {', '.join(RUNGS)}")
    if asked.quick:
        asked.minutes, asked.seeds, asked.episodes, asked.rungs, asked.preset, asked.unseen_minutes = (
            6,
            1,
            16,
            ["state", "emulated", "novice"],
            "quick",
            2,
        )
    asked.novice_episodes = asked.novice_episodes or 2 * asked.episodes
    chosen_rows(asked.rows)  # a word that fits nothing is told before hours of work
    runner = Runner(asked.keep, asked.jobs)
    try:
        most = max(asked.episodes, asked.pixel_episodes, asked.novice_episodes)
        pilots = {name: runner.scores(name, "state", most) for name in PILOTS}
        means: dict[str, Interval] = {name: mean_interval(values) for name, values in pilots.items()}
        for name, mean in means.items():
            runner.say(f"{name:10} {mean}   scatter {float(np.std(pilots[name])):.2f}")
        result: dict[str, Any] = {"pilots": {name: mean.to_json() for name, mean in means.items()}}
        if not asked.only_ablations:
            result |= ladder(runner, asked, pilots)
        if asked.ablations or asked.only_ablations:
            result["ablations"] = ablations(runner, asked, pilots)
    finally:
        runner.close()
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(asked).items() if k != "keep"}
    seconds = round(time.monotonic() - runner.began_s, 1)
    path = write_result("learning", _portable(result), rules_version=RULES_VERSION, settings=settings, seconds=seconds)
    print(f"written: {path.name}")


def _portable(result: dict[str, Any]) -> dict[str, Any]:
    """Without folders of this machine."""
    return result | {"learnt": [{k: v for k, v in one.items() if k != "policy"} for one in result.get("learnt", [])]}


if __name__ == "__main__":
    main()
