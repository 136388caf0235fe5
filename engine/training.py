"""From the sessions of a workspace to trained levels and a policy: finds what can be learnt from, trains, bundles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from data.catalog import list_sessions
from data.copies import Origin, copies
from data.labels import labelled_and_unread
from data.metadata import Stretch
from data.models import LEVELS, Level, promote, promoted_name
from data.profile import ARENA_PROFILE, GameProfile
from data.progress import part_of
from data.same_game import differences
from data.settings import Preset, TrainingSettings, amount_of
from data.steps import Steps
from data.windows import play_s
from engine.runtime.progress import Progress, Report, ignore
from engine.training_notes import noting, warnings_in
from engine.training_runs import (
    bundle,
    detector_files,
    finished,
    kept,
    learnt_from,
    policy_folder,
    policy_of,
    reached,
    rules_of,
    run_dirs,
    tidy,
)

Perturbed = Literal["with", "without"]
FINISHED: Final = ("saved", "recovered")


class NothingToLearn(Exception):
    """There are no sessions that can be learnt from; the text says why each was left out."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What ``secondseat train`` can be told. None: as the settings say. preset: "auto" goes by the amount of play."""

    quick: bool = False
    preset: Literal["auto", "small", "standard", "large"] | None = None
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    device: str = "auto"
    seed: int | None = None
    resume: bool = False
    data_dir: str = ""
    output_dir: str = ""
    game: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training gave: the runs by level, the policy they made (None: a level of ``game`` is ``missing``), remarks.

    finished: the run that it was to go on with was whole already, nothing was trained; ``unlearnt`` of the sessions are not in it.
    elsewhere: the models were written to another folder than the workspace, where no policy is promoted.
    """

    runs: dict[str, Path]
    figures: dict[str, dict[str, float]]
    policy: Path | None
    promoted: bool
    interrupted: bool
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    game: str = ""
    missing: tuple[str, ...] = ()
    finished: bool = False
    elsewhere: bool = False
    unlearnt: int = 0

    def text(self) -> str:
        if self.interrupted:
            return "stopped; what was trained is kept, go on with --resume" if self.runs else "stopped before anything new was learnt"
        levels = ", ".join(self.runs)
        what = f"trained {levels} in {self.seconds:.0f} s"
        if self.finished:
            names = ", ".join(dict.fromkeys(run.name for run in self.runs.values()))
            new = f", and learns from {self.unlearnt} more session{'s' * (self.unlearnt > 1)}" if self.unlearnt else ""
            what = f"{levels} of {names}: finished already, nothing was trained (without --resume a new training begins{new})"
        if self.policy is None:
            return f"{what}; no policy yet: {', '.join(self.missing)} not trained for {self.game} as it is now"
        if self.elsewhere:
            return f"{what}; policy {self.policy.name} is in {self.policy}: secondseat fly --policy {self.policy} lets it fly"
        return f"{what}; policy {self.policy.name}" + (
            " is promoted: it flies" if self.promoted else f"; secondseat models promote {self.policy.name} lets it fly"
        )

    def warnings(self) -> tuple[str, ...]:
        """The remarks that a person must not miss."""
        return warnings_in(self.notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": {level: str(path) for level, path in self.runs.items()},
            "figures": self.figures,
            "policy": str(self.policy) if self.policy is not None else None,
            "promoted": self.promoted,
            "interrupted": self.interrupted,
            "finished": self.finished,
            "unlearnt_sessions": self.unlearnt,
            "notes": list(self.notes),
            "seconds": round(self.seconds, 1),
        }


class TrainingStopped(KeyboardInterrupt):
    """Ctrl-C ended a training, which has saved what it could: that is ``trained``. A job that is stopped so is no job that is done."""

    def __init__(self, trained: Trained) -> None:
        super().__init__(trained.text())
        self.trained = trained


def load_sessions(
    workspace: Path, game: str, data_dir: str = "", report: Report = ignore, perturbed: Perturbed = "with"
) -> tuple[list[Steps], list[str]]:
    """The steps of all finished sessions of a game with what their labels say, oldest first, and a line for each that
    was left out, or of which stretches are; see ``named_sessions``."""
    found, left_out = named_sessions(workspace, game, data_dir, report, perturbed)
    return list(found.values()), left_out


def named_sessions(
    workspace: Path, game: str, data_dir: str = "", report: Report = ignore, perturbed: Perturbed = "with"
) -> tuple[dict[str, Steps], list[str]]:
    """As ``load_sessions``, by id.

    data_dir: a folder of sessions (or a workspace) to read instead. perturbed: "without" leaves out the stretches in which the
    cursor was displaced on purpose. Sessions of another version of the game (classes, keys, gauges, rules) are left out. Raises
    NothingToLearn.
    """
    from data.metadata import SessionError
    from data.session import open_session

    root = _sessions_root(workspace, data_dir)
    infos = sorted(list_sessions(root), key=lambda s: s.id)
    loaded: dict[str, tuple[Steps, Origin]] = {}
    rules: dict[str, object] = {}
    left_out: list[str] = []
    for number, info in enumerate(infos):
        report(Progress("reading sessions", number / max(1, len(infos)), message=info.id))
        again = f"secondseat data perceive {info.id}"
        if info.game != game:
            left_out.append(f"{info.id}: of {info.game}, not {game}")
        elif info.state not in FINISHED:
            left_out.append(f"{info.id}: {info.state}{f' ({info.reason})' if info.reason else ''}")
        else:
            with open_session(info.folder) as session:
                try:
                    steps, unread = labelled_and_unread(session.steps(), info.folder)
                except SessionError as error:
                    left_out.append(f"{info.id}: {str(error).removeprefix(f'{info.id}: ')}")
                    continue
                if len(steps):
                    left_out += [f"{info.id}: only {len(steps)} whole steps are learnt from: {session.damage}"] if session.damage else []
                    left_out += [f"{info.id}: {unread}"] if unread else []
                    steps, words = _perturbed(steps, session.metadata.perturbed, perturbed)
                    left_out += [f"{info.id}: {words}"] if words else []
                    loaded[info.id] = steps, Origin.of(session.metadata, steps)
                    rules[info.id] = session.metadata.details.get("rules_version")
                elif session.damage:
                    left_out.append(f"{info.id}: its steps are damaged ({session.damage}); take a copy, or make new ones: {again}")
                else:
                    left_out.append(f"{info.id}: nothing perceived yet; run: {again}")
    profiles = {name: steps.profile for name, (steps, _) in loaded.items()}
    for name, why in _misfits(profiles, rules).items():
        left_out.append(f"{name}: {why}")
        del loaded[name]
    twice = copies({name: origin for name, (_, origin) in loaded.items()})  # the same play must not stand on both sides of the split
    left_out += [f"{name}: {copy.already('learnt from')}" for name, copy in twice.items()]
    # By one profile, that of today: how near a threat is, what is dangerous and what looks for objects may have been told anew since.
    found = {name: replace(steps, profile=_of_today(profiles)) for name, (steps, _) in loaded.items() if name not in twice}
    if not found:
        why = f"; left out: {'; '.join(left_out[:5])}" if left_out else ""
        begin = "or record more" if left_out else "record some play first"
        raise NothingToLearn(f"no sessions of {game} to learn from in {root / 'sessions'}{why}; {begin}: secondseat record")
    return found, left_out


def _perturbed(steps: Steps, spans: Sequence[Stretch], how: Perturbed) -> tuple[Steps, str]:
    """The steps without those of perturbed stretches, when that was asked for; and what to say of them."""
    if not spans:
        return steps, ""
    times, inside, seconds = steps.time_ns, np.zeros(len(steps), np.bool_), 0.0
    for span in spans:
        stop_ns = span.end_ns if span.end_ns is not None else int(times[-1]) + 1
        inside |= np.asarray((times >= span.start_ns) & (times < stop_ns), np.bool_)
        seconds += (stop_ns - span.start_ns) / 1e9
    words = f"{len(spans)} perturbed stretches ({int(np.count_nonzero(inside))} rows, {seconds:.0f} s)"
    if how == "with":
        return steps, f"{words} are learnt from"
    return replace(steps, left_out=inside if steps.left_out is None else inside | steps.left_out), f"{words} are left out"


def _misfits(profiles: dict[str, GameProfile], rules: dict[str, object]) -> dict[str, str]:
    """Why a session can't be learnt from together with the others, by its id. What counts is the embedded game as it is today, and of
    another game its newest session."""
    if not profiles:
        return {}
    newest, today = next(reversed(profiles)), _of_today(profiles)
    version = rules[newest]
    if today.name == ARENA_PROFILE.name:
        version, newest = rules_of(ARENA_PROFILE)["rules_version"], "the game of today"
    found: dict[str, str] = {}
    for name, profile in profiles.items():
        why = differences(today, profile)
        if version is not None and rules[name] not in (None, version):
            why.append(f"rules {rules[name]} instead of {version}")
        if why:
            found[name] = f"does not fit {newest}: {'; '.join(why)}; record anew"
    return found


def _of_today(profiles: dict[str, GameProfile]) -> GameProfile:
    """The game as it is now: the embedded one's own profile, of another game that of its newest session."""
    newest = next(reversed(profiles.values()))
    return ARENA_PROFILE if newest.name == ARENA_PROFILE.name else newest


def _sessions_root(workspace: Path, data_dir: str) -> Path:
    """The folder that holds ``sessions``: ``--data-dir`` may name it, or the sessions' folder itself."""
    if not data_dir:
        return workspace
    given = Path(data_dir)
    if not given.is_dir():
        raise NothingToLearn(f"--data-dir {given}: there is no such folder")
    return given.parent if given.name == "sessions" else given


def train_levels(
    workspace: Path, level: str = "all", report: Report = ignore, training: TrainingSettings | None = None, **options: Any
) -> Trained:
    """Train ``level`` (strategist, tactician, executor or all). ``options`` are those of TrainOptions.

    Raises NothingToLearn, TrainingError, CheckpointError, ValueError; TrainingStopped when Ctrl-C ended it, after it saved.
    """
    if level not in (*LEVELS, "all"):
        raise ValueError(f"train: there is no level {level!r}; use {', '.join(LEVELS)} or all")
    asked, training = TrainOptions(**options), training or TrainingSettings()
    if asked.quick and asked.preset:
        raise ValueError(f"--quick is a schedule of its own: leave --preset {asked.preset} out, or train without --quick")
    began_s = time.monotonic()
    named, left_out = named_sessions(
        workspace, asked.game or ARENA_PROFILE.name, asked.data_dir, part_of(report, 0.0, 0.0), training.perturbed
    )
    sessions = list(named.values())
    target = Path(asked.output_dir) if asked.output_dir else workspace
    notes = [
        f"{len(sessions)} sessions, {sum(len(s) for s in sessions)} steps",
        *(line if line.endswith("are learnt from") else f"left out: {line}" for line in left_out),
    ]
    forward = noting(report)
    wanted: Sequence[Level] = LEVELS if level == "all" else [one for one in LEVELS if one == level]
    profile = sessions[0].profile
    runs, begun = run_dirs(target, wanted, profile, asked.name, asked.resume)
    notes += begun
    for note in notes:
        forward(Progress("note", 0.0, message=note))
    detector = detector_files(profile, workspace)
    before = {one: reached(run) for one, run in runs.items()}
    try:
        done = _train(named, wanted, runs, policy_folder(target, asked.name), detector, asked, training, forward)
    except KeyboardInterrupt:  # while data were made ready, or just as a level ended
        done = _Done({}, None, interrupted=True)
    finally:
        tidy(runs)
    if done.interrupted:  # a level that could not say any more what it gave
        silent = {one: kept(run) for one, run in runs.items() if one not in done.levels and reached(run) != before[one]}
        done = replace(done, levels={one: r for one in wanted if (r := done.levels.get(one) or silent.get(one)) is not None})
    policy, missing = done.policy, tuple[str, ...]()
    if policy is None and not done.interrupted:
        models: dict[Level, Path] = {one: done.levels[one].best for one in wanted}
        policy = policy_of(target, models) if done.finished else None
        if policy is None:
            policy, missing = bundle(target, profile, models, detector, asked.name)
    elsewhere = target.resolve() != workspace.resolve()
    if policy is not None and not elsewhere and not promoted_name(target):
        promote(target, policy.name)
    trained = Trained(
        {one: r.run_dir for one, r in done.levels.items() if r.epochs},
        {one: dict(r.figures) for one, r in done.levels.items()},
        policy,
        policy is not None and not elsewhere and promoted_name(target) == policy.name,
        done.interrupted,
        (*notes, *(n for r in done.levels.values() for n in r.notes)),
        time.monotonic() - began_s,
        profile.name,
        missing,
        done.finished,
        elsewhere,
        done.unlearnt,
    )
    if trained.interrupted:
        raise TrainingStopped(trained)
    return trained


@dataclass(frozen=True, slots=True)
class _Done:
    """What the trainers gave. ``finished``: they had nothing to do, though ``unlearnt`` of the sessions are not in all of the runs."""

    levels: dict[str, Any]
    policy: Path | None = None
    interrupted: bool = False
    finished: bool = False
    unlearnt: int = 0


def _train(
    named: dict[str, Steps],
    wanted: Sequence[Level],
    runs: dict[Level, Path],
    policy: Path,
    detector: Sequence[Path],
    asked: TrainOptions,
    training: TrainingSettings,
    report: Report,
) -> _Done:
    from trainers.all import AllSettings, train_all, train_one

    _one_thread_per_core()
    sessions = list(named.values())
    seed = training.seed if asked.seed is None else asked.seed
    preset = preset_of(sessions, training, asked)
    report(Progress("note", 0.0, message=f"preset {preset}, of {play_s(sessions) / 60:.0f} min of play"))
    chosen = level_settings(training, asked, preset, seed)
    if asked.resume:
        whole = {level: finished(runs[level], chosen[level].loop) for level in wanted}
        if all(whole.values()):
            return _Done(dict(whole.items()), finished=True, unlearnt=len(set(named) - learnt_from(runs.values(), named)))
    settings = AllSettings(**chosen, folds=2 if asked.quick else 3, seed=seed)
    about = {
        "perturbed": training.perturbed,
        "session_ids": list(named),
        "trained_together": list(wanted),
        **rules_of(sessions[0].profile),
    }
    if len(wanted) == len(LEVELS):
        result = train_all(sessions, settings, dict(runs.items()), policy, report, asked.resume, detector=detector, about=about)
        return _Done(dict(result.levels), result.policy, result.interrupted)
    level = wanted[0]
    done = train_one(level, sessions, settings, runs[level], report, asked.resume, about=about)
    return _Done({level: done}, interrupted=done.interrupted)


def preset_of(sessions: Sequence[Steps], training: TrainingSettings, asked: TrainOptions) -> Preset:
    """The schedule's preset: what was asked for, else what the settings say, else by the amount of play."""
    if asked.quick:
        return "quick"
    chosen = asked.preset or training.preset
    return amount_of(play_s(sessions)) if chosen == "auto" else chosen


def level_settings(training: TrainingSettings, asked: TrainOptions, preset: Preset, seed: int) -> dict[Level, Any]:
    """What each level is trained with, by its name."""
    from trainers import executor, strategist, tactician

    plain: dict[Level, Any] = {
        "strategist": strategist.StrategistSettings(),
        "tactician": tactician.TacticianSettings(),
        "executor": executor.ExecutorSettings(),
    }
    return {level: _with(settings, training, level, asked, preset, seed) for level, settings in plain.items()}


def _with(plain: Any, training: TrainingSettings, level: Level, asked: TrainOptions, preset: Preset, seed: int) -> Any:
    epochs, batch_size, lr = training.level(level).schedule(preset)
    loop = replace(
        plain.loop,
        epochs=asked.epochs or epochs,
        batch_size=asked.batch_size or batch_size,
        learning_rate=asked.lr or lr,
        device=asked.device,
        seed=seed,
        mixed_precision=training.mixed_precision,
    )
    sampling = replace(plain.sampling, live=training.live_sampling, reaction_lag_ticks=training.reaction_lag_ticks)
    return replace(plain, loop=loop, sampling=sampling, augment=training.augment)


def _one_thread_per_core() -> None:
    """All cores but one for a job: the live path may run beside it."""
    import os

    import torch

    torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))
