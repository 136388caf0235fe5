"""All three levels in a row, or one alone, each learning from what those above it would have said, and the policy that three make.

The upper layers' words come from out-of-fold models (folds by session): a layer never learns from an upper layer that has
seen the answer. The policy gets the upper layers that learnt from all training parts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.bad_rows import without_bad_rows
from data.checkpoint import load
from data.features import UNKNOWN_MODE, Normaliser, set_context_features, set_features, summary_features
from data.models import Level, write_policy
from data.progress import part_of, without_notes
from data.schema import NO_TARGET
from data.steps import Steps
from data.windows import Part, Split, folds, stretches
from trainers import executor, strategist, tactician
from trainers.executor import ExecutorSettings
from trainers.loop import LoopSettings, Progress, Report, Result, TrainingError, ignore, load_network
from trainers.prepare import Conditioning, check_sessions, split_of
from trainers.strategist import StrategistSettings
from trainers.tactician import TacticianSettings


@dataclass(frozen=True, slots=True)
class AllSettings:
    """``folds`` and ``phases``: how many out-of-fold models, and at how many phases of the upper clocks they speak."""

    strategist: StrategistSettings = field(default_factory=StrategistSettings)
    tactician: TacticianSettings = field(default_factory=TacticianSettings)
    executor: ExecutorSettings = field(default_factory=ExecutorSettings)
    folds: int = 3
    phases: int = 3
    seed: int = 0


QUICK = AllSettings(strategist.QUICK, tactician.QUICK, executor.QUICK, folds=2)


@dataclass(frozen=True, slots=True)
class AllResult:
    """``policy`` is None when training was stopped before the end (``interrupted``), also between two levels."""

    levels: dict[str, Result]
    policy: Path | None
    interrupted: bool = False


def train_all(
    sessions: Sequence[Steps],
    settings: AllSettings,
    run_dirs: dict[str, Path],
    policy_dir: Path,
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    detector: Sequence[Path] = (),
    about: Mapping[str, Any] | None = None,
) -> AllResult:
    """Train the three levels into ``run_dirs`` (by level) and write the bundle ``policy_dir``. ``about``: more for the cards.

    Ctrl-C and ``stop`` end it wherever it is: what the levels have saved stays. Raises what the levels raise, and CheckpointError when
    the bundle's folder exists.
    """
    check_sessions(sessions)
    sessions = without_bad_rows(sessions)[0]  # nor does a level speak of them; each tells of them by itself
    done: dict[str, Result] = {}
    try:
        policy = _in_a_row(sessions, settings, run_dirs, policy_dir, report, resume, stop, detector, about, done)
    except KeyboardInterrupt:  # between two levels, while data are made ready or predicted
        policy = None
    if policy is None:
        for run_dir in run_dirs.values():
            shutil.rmtree(run_dir / "folds", ignore_errors=True)  # what goes on begins its folds anew
    return AllResult(done, policy, interrupted=policy is None)


def train_one(
    level: Level,
    sessions: Sequence[Steps],
    settings: AllSettings,
    run_dir: Path,
    report: Report = ignore,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    about: Mapping[str, Any] | None = None,
) -> Result:
    """Train one level into ``run_dir``. Those above it are learnt in passing, for their words alone, and thrown away; where there is
    nothing for them to learn from, it learns with their silence, and that is noted.

    Raises what the levels raise, and KeyboardInterrupt when it is stopped before the level itself began.
    """
    check_sessions(sessions)
    sessions = without_bad_rows(sessions)[0]
    split = split_of(sessions, settings.seed)
    top, middle, bottom = _seeded(settings)
    try:
        if level == "strategist":
            return strategist.train(sessions, top, run_dir, report, resume, stop, split, about=about)
        share = 0.25
        modes = _fold_modes(sessions, split, settings, top, run_dir, None, part_of(report, 0.0, share, "strategist's words "), stop)
        if modes is None:
            raise KeyboardInterrupt
        if level == "tactician":
            rest = part_of(report, share, 1 - share, "tactician ")
            return tactician.train(sessions, middle, run_dir, rest, resume, stop, split, modes, about)
        fold_report = part_of(report, share, 0.3, "tactician's words ")
        targets = _fold_targets(sessions, split, settings, middle, run_dir, None, modes, fold_report, stop)
        if targets is None:
            raise KeyboardInterrupt
        rest = part_of(report, share + 0.3, 0.7 - share, "executor ")
        return executor.train(sessions, bottom, run_dir, rest, resume, stop, split, Conditioning(modes, targets), about)
    finally:
        shutil.rmtree(run_dir / "folds", ignore_errors=True)


def _seeded(settings: AllSettings) -> tuple[StrategistSettings, TacticianSettings, ExecutorSettings]:
    """The levels' settings with the seed of all."""

    def loop(one: LoopSettings) -> LoopSettings:
        return replace(one, seed=settings.seed)

    top, middle, bottom = settings.strategist, settings.tactician, settings.executor
    return replace(top, loop=loop(top.loop)), replace(middle, loop=loop(middle.loop)), replace(bottom, loop=loop(bottom.loop))


def _in_a_row(
    sessions: Sequence[Steps],
    settings: AllSettings,
    run_dirs: dict[str, Path],
    policy_dir: Path,
    report: Report,
    resume: bool,
    stop: Callable[[], bool],
    detector: Sequence[Path],
    about: Mapping[str, Any] | None,
    done: dict[str, Result],
) -> Path | None:
    """The policy, or None when a level or one of its folds was stopped; ``done`` takes what each level gave."""
    split = split_of(sessions, settings.seed)
    top, middle, bottom = _seeded(settings)

    done["strategist"] = strategist.train(
        sessions, top, run_dirs["strategist"], part_of(report, 0.0, 0.1, "strategist "), resume, stop, split, about=about
    )
    if done["strategist"].interrupted:
        return None
    above = run_dirs["strategist"]
    modes = _fold_modes(sessions, split, settings, top, above, above, part_of(report, 0.1, 0.1, "strategist folds "), stop)
    if modes is None:
        return None
    middle_report = part_of(report, 0.2, 0.25, "tactician ")
    done["tactician"] = tactician.train(sessions, middle, run_dirs["tactician"], middle_report, resume, stop, split, modes, about)
    if done["tactician"].interrupted:
        return None
    fold_report = part_of(report, 0.45, 0.2, "tactician folds ")
    above = run_dirs["tactician"]
    targets = _fold_targets(sessions, split, settings, middle, above, above, modes, fold_report, stop)
    if targets is None:
        return None
    bottom_report = part_of(report, 0.65, 0.35, "executor ")
    given = Conditioning(modes, targets)
    done["executor"] = executor.train(sessions, bottom, run_dirs["executor"], bottom_report, resume, stop, split, given, about)
    if done["executor"].interrupted:
        return None
    profile = sessions[0].profile
    paths: Any = {level: result.best for level, result in done.items()}
    figures = {level: result.figures for level, result in done.items()}
    policy = write_policy(policy_dir, paths, profile, detector, figures=figures)
    report(Progress("policy written", 1.0, 0.0, str(policy), str(run_dirs["executor"])))
    return policy


def _helper(loop: LoopSettings) -> LoopSettings:
    """Fold models only speak for the layer below: half of the epochs, stopped as soon as they get no better."""
    return replace(loop, epochs=max(1, loop.epochs // 2), patience=2, checkpoints=False)


def _speakers(
    sessions: Sequence[Steps], split: Split, settings: AllSettings, run_dir: Path, whole: Path | None
) -> list[tuple[Split | None, tuple[Part, ...], Path]]:
    """Of each model that speaks: what it is to learn from (None: it is there), what it speaks of, and its folder. ``whole``: the level's
    own model, which has learnt from all training parts and speaks of those that validate; without, another fold model does."""
    pairs = folds(split.train, settings.folds, settings.seed, [stretches(s) for s in sessions])
    found: list[tuple[Split | None, tuple[Part, ...], Path]] = [
        (Split(learn, split.validation, split.seed), tell, run_dir / "folds" / str(i)) for i, (learn, tell) in enumerate(pairs)
    ]
    if whole is not None:
        return [*found, (None, split.validation, whole)]
    return [*found, (split, split.validation, run_dir / "folds" / "whole")] if split.validation else found


def _fold_modes(
    sessions: Sequence[Steps],
    split: Split,
    settings: AllSettings,
    top: StrategistSettings,
    run_dir: Path,
    whole: Path | None,
    report: Report,
    stop: Callable[[], bool],
) -> list[NDArray[np.int64]] | None:
    """[T, phases] of each session: what a Strategist that never saw it says, silence where there is none. ``whole``: see ``_speakers``.
    None: stopped."""
    modes = [np.full((len(s), settings.phases), UNKNOWN_MODE, np.int64) for s in sessions]
    speakers = _speakers(sessions, split, settings, run_dir, whole)
    if whole is not None:
        top = replace(top, history=int(load(whole / "best_model").card["history"]), shorter=0)
    for i, (learn, tell, folder) in enumerate(speakers):
        if learn is not None:
            part = replace(top, loop=_helper(top.loop))
            share = part_of(without_notes(report), i / len(speakers), 1 / len(speakers))
            try:
                if strategist.train(sessions, part, folder, share, stop=stop, split=learn).interrupted:
                    return None
            except TrainingError as error:
                _say_silent("strategist", error, report, run_dir)
                continue
        card = load(folder / "best_model").card
        network = strategist.make_network(len(summary_features(sessions[0].profile)), replace(top, history=int(card["history"])))
        load_network(network, folder / "best_model")
        network.eval()
        normaliser, bias = Normaliser.from_json(card["normaliser"]["summary"]), card.get("mode_bias")
        for piece in tell:
            for phase in range(settings.phases):
                part_of_second = phase / settings.phases
                said = strategist.predict(network, normaliser, sessions[piece.session], piece, part_of_second, UNKNOWN_MODE, bias)
                modes[piece.session][piece.start : piece.stop, phase] = said
    shutil.rmtree(run_dir / "folds", ignore_errors=True)
    return modes


def _fold_targets(
    sessions: Sequence[Steps],
    split: Split,
    settings: AllSettings,
    middle: TacticianSettings,
    run_dir: Path,
    whole: Path | None,
    modes: list[NDArray[np.int64]],
    report: Report,
    stop: Callable[[], bool],
) -> list[NDArray[np.int32]] | None:
    """[T, phases] of each session: the track that a Tactician which never saw it points at, none where there is no such Tactician.
    ``whole``: see ``_speakers``. None: stopped."""
    targets = [np.full((len(s), settings.phases), NO_TARGET, np.int32) for s in sessions]
    profile = sessions[0].profile
    speakers = _speakers(sessions, split, settings, run_dir, whole)
    for i, (learn, tell, folder) in enumerate(speakers):
        if learn is not None:
            part = replace(middle, loop=_helper(middle.loop))
            share = part_of(without_notes(report), i / len(speakers), 1 / len(speakers))
            try:
                if tactician.train(sessions, part, folder, share, stop=stop, split=learn, modes=modes).interrupted:
                    return None
            except TrainingError as error:
                _say_silent("tactician", error, report, run_dir)
                continue
        network = tactician.make_network(len(set_features(profile)), len(set_context_features(profile)), middle)
        card = load(folder / "best_model").card
        load_network(network, folder / "best_model")
        network.eval()
        normalisers = {name: Normaliser.from_json(values) for name, values in card["normaliser"].items()}
        for piece in tell:
            for phase in range(settings.phases):
                held = modes[piece.session][:, phase]
                said = tactician.predict(network, normalisers, sessions[piece.session], piece, (phase + 0.5) / settings.phases, held)
                targets[piece.session][piece.start : piece.stop, phase] = said
    shutil.rmtree(run_dir / "folds", ignore_errors=True)
    return targets


def _say_silent(level: str, error: TrainingError, report: Report, run_dir: Path) -> None:
    """A speaker had nothing to learn from: the level below learns with its silence."""
    note = f"nothing is learnt from what a {level} would say: {error}"
    report(Progress("note", 0.0, message=note, run_dir=str(run_dir)))
