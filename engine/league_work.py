"""Imitation, refinement and leagues as jobs of the engine: what a face asks for, turned into settings; a stop between two steps.

A run that goes on takes its settings from what it left, so that it cannot be asked to go on with others by mistake.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Generator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from data.progress import Progress, Report

if TYPE_CHECKING:
    from league.imitate import ImitationSettings
    from league.league_run import LeagueProgress, LeagueRun

SUPERVISED: Final = "pi_sup"
REFINED: Final = "pi_rl"


class Stopped(KeyboardInterrupt):
    """The work was asked to stop and has saved; the text says what is kept."""


@contextlib.contextmanager
def stop_between_steps() -> Generator[Callable[[], bool]]:
    """Whether to stop: the first signal asks, so that a step ends and is saved; a second one ends the work at once."""
    asked: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    numbers = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGBREAK", signal.SIGTERM)}
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def imitate(report: Report, workspace: str, folder: str, resume: bool = False, **asked: Any) -> str:
    """Make a first policy in ``folder`` from the workspace's play and that of scripted pilots, and let it play them.

    asked: ``pilot_matches``, ``judge_matches``, and fields of ``ImitationSettings``.
    """
    from league import threads
    from league.first_policy import FirstPolicySettings, make_first_policy, usual_folders
    from league.imitate import ImitationSettings

    path = Path(folder) / SUPERVISED
    report(Progress("gathering play", 0.0, run_dir=folder))
    threads.one_thread()
    chosen, matches = ImitationSettings(**_of(ImitationSettings, asked)), int(asked.get("pilot_matches", 500))
    if resume:
        chosen, matches = _imitation_of(Path(folder), chosen.epochs)
    settings = FirstPolicySettings(
        *usual_folders(Path(workspace)), pilot_matches=matches, judge_matches=int(asked.get("judge_matches", 400)), imitation=chosen
    )
    with stop_between_steps() as stop:
        made = make_first_policy(settings, path, _with_folder(report, folder), stop, resume)
    if made.interrupted:
        epochs = made.learnt.epochs
        raise Stopped(f"stopped after epoch {epochs}; it can go on" if epochs else "stopped before an epoch was whole: nothing was kept")
    figures = ", ".join(f"{one.payoff.value:.2f} against {one.opponent}" for one in made.versus)
    return f"{made.learnt.epochs} epochs, validation loss {made.learnt.validation_loss:.3f}" + (f"; {figures}" if figures else "")


def refine(report: Report, workspace: str, folder: str, supervised: str = "", resume: bool = False, **asked: Any) -> str:
    """Refine a policy by playing, in ``folder``. asked: fields of ``RefineSettings``; ``opponents`` with commas."""
    from league import threads
    from league.refine import refine as run
    from league.refine_resume import begun
    from league.refine_settings import COURSE, RefineSettings

    report(Progress("starting", 0.0, run_dir=folder))
    threads.one_thread()
    if isinstance(asked.get("opponents"), str):
        asked["opponents"] = tuple(name.strip() for name in asked["opponents"].split(",") if name.strip())
    if resume:
        changed = {name: asked[name] for name in COURSE if name in asked}
        settings, policy = begun(Path(folder), Path(workspace), lambda name: _policy(workspace, name), changed)
    else:
        policy = _policy(workspace, supervised or SUPERVISED)
        names = asked.get("opponents", RefineSettings().opponents)
        settings = RefineSettings(**_of(RefineSettings, asked), frozen=_frozen(workspace, names))
    with stop_between_steps() as stop:
        refined = run(policy, settings, Path(folder), _with_folder(report, folder), stop, resume, REFINED)
    if refined.interrupted:
        raise Stopped(f"stopped after iteration {refined.iterations}; it can go on")
    figures = ", ".join(f"{one.payoff.value:.2f} against {one.opponent}" for one in (refined.kept.versus if refined.kept else ()))
    return f"{refined.iterations} iterations, {refined.frames:,} frames" + (f"; {figures}" if figures else "")


def league(report: Report, workspace: str, folder: str, supervised: str = "", resume: bool = False, **asked: Any) -> str:
    """Play a league in ``folder`` and write its report there. asked: fields of ``LeagueRun`` and ``LeagueSettings``.

    Going on with one, only ``rounds``, ``runner``, ``address`` and ``save_every_s`` of what is asked count.
    """
    from league import threads
    from league.league import run_league
    from league.league_run import LeagueRun
    from league.live import LiveFile
    from league.matchmaking import LeagueSettings
    from league.report import make_report
    from league.report_matches import with_matches
    from league.warm_up import warm_up

    where = Path(folder)
    report(Progress("starting", 0.0, run_dir=folder))
    threads.one_thread()
    if resume:
        settings = _league_of(where, asked)
    else:
        rules = LeagueSettings(**_of(LeagueSettings, asked))
        settings = LeagueRun(supervised=_policy(workspace, supervised or SUPERVISED), league=rules, **_of(LeagueRun, asked))
    warm_up(_with_folder(report, folder))

    def told(progress: LeagueProgress) -> None:
        stage = f"round {progress.round}/{progress.rounds}, {progress.learner}"
        text = f"{progress.frames:,} frames, {progress.frames_per_s:,.0f}/s, {progress.matches:,} matches"
        report(Progress(stage, progress.done, progress.eta_s, text, folder))

    with stop_between_steps() as stop, LiveFile(where, told) as live:
        result = run_league(settings, where, live, stop, resume)
    if result.interrupted:
        with contextlib.suppress(KeyboardInterrupt):  # asked again, while it drew: the league itself is saved
            with_matches(make_report(where), where, where / "report").write(where / "report")
        raise Stopped(f"stopped after {result.rounds} whole rounds; it can go on")
    with_matches(make_report(where), where, where / "report").write(where / "report")
    if result.idle:
        return f"all {result.rounds} rounds are played; to go on, ask for more"
    return f"{result.rounds} rounds, {result.frames:,} frames, {result.matches:,} matches, {result.snapshots} snapshots"


def _of(kind: type[Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``asked`` is a field of that dataclass."""
    names = {f.name for f in fields(kind)}
    return {name: value for name, value in asked.items() if name in names}


def _with_folder(report: Report, folder: str) -> Report:
    return lambda progress: report(replace(progress, run_dir=folder))


def _policy(workspace: str, name: str) -> Path:
    from league.policy_files import find_policy

    root = Path(workspace)
    return find_policy(root, name, lambda text: root / text)


def _frozen(workspace: str, names: tuple[str, ...]) -> dict[str, Path]:
    """Opponents that are policies of the workspace."""
    from league.arena.last_standing_pilots import PILOTS
    from league.refine_settings import SELF

    return {name: _policy(workspace, name) for name in names if name not in {SELF, SUPERVISED, *PILOTS}}


def _imitation_of(folder: Path, epochs: int) -> tuple[ImitationSettings, int]:
    """Settings of the imitation in ``folder``, for so many epochs in all (at least those it was begun with), and its pilots' matches."""
    from league.imitate import ImitationSettings

    card = _newest_card(folder)
    recipe: dict[str, Any] = card["recipe"]
    known = ImitationSettings(**_of(ImitationSettings, recipe))
    return replace(known, epochs=max(epochs, known.epochs)), int(card["about"].get("pilot_matches", 0))


def _league_of(folder: Path, asked: Mapping[str, Any]) -> LeagueRun:
    from league.league_run import COURSE, going_on, saved_run

    return going_on(saved_run(folder), {name: asked[name] for name in COURSE if name in asked})


def _newest_card(folder: Path) -> dict[str, Any]:
    """Of the newest whole checkpoint. Raises CheckpointError when there is none to go on from."""
    from data.checkpoint import CheckpointError, checkpoints, newest_whole

    found, _ = newest_whole(checkpoints(folder))
    if found is None:
        raise CheckpointError(f"{folder}: no whole checkpoint to go on from; begin a new run")
    return found.card
