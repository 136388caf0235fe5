"""``secondseat league run`` and ``report``: a league that plays against itself, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tui.commands.invocation import UsageError, say, say_json, workspace_of
from tui.commands.league_options import (
    ActorRollouts,
    Actors,
    Address,
    DrawReward,
    EntropyCoef,
    KlCoef,
    LearnerUpdates,
    Lr,
    PseudoReward,
    Reuse,
    RunnerName,
    Seed,
    Sequences,
    Ships,
    Supervised,
    Traces,
    Unroll,
    UpgoCoef,
    Worlds,
    changed_losses,
    changed_updates,
    given_options,
    loss_settings,
    one_thread,
    policy,
    stoppable_work,
    update_settings,
)
from tui.commands.options import Headless, Json

if TYPE_CHECKING:
    from data.workspace import Workspace
    from league.report import Report

_FIELDS: Final = {"iterations": "rl_iterations_per_round", "snapshot_frames": "main_snapshot_frames"}
"""Fields of the settings by options of another name."""
EloK = Annotated[
    float | None,
    typer.Option("--elo-k", min=1e-6, max=1e6, help="points a match can move in the live rating; without: 16, or the league's"),
]
_NOT_LISTED: Final = "a folder outside the workspace's league/ is not listed; name it"
LeagueName = Annotated[
    str,
    typer.Option(
        "--league-state",
        metavar="LEAGUE",
        help=f"a league's folder, its league_state.json, or its name; without: the one played last; {_NOT_LISTED}",
    ),
]
_MOST_NOTES: Final = 20
"""Of a run, after its report."""


def run(
    context: typer.Context,
    supervised: Supervised = "",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="in all; going on with more plays the rest")] = 2,
    iterations: Annotated[int, typer.Option("--rl-iterations-per-round", min=1, help="of each learner in a round")] = 3,
    output_dir: Annotated[
        str, typer.Option("--output-dir", metavar="FOLDER", help=f"the league's folder; without: league/TIME; {_NOT_LISTED}")
    ] = "",
    actor_rollouts: ActorRollouts = 2,
    learner_updates: LearnerUpdates = 1,
    mains: Annotated[int, typer.Option("--mains", min=1, max=16, help="main agents")] = 1,
    main_exploiters: Annotated[int, typer.Option("--main-exploiters", min=0, max=16)] = 1,
    league_exploiters: Annotated[int, typer.Option("--league-exploiters", min=0, max=16)] = 1,
    snapshot_frames: Annotated[int, typer.Option("--snapshot-frames", min=1, help="frames between a main's snapshots")] = 5_000_000,
    exploiter_frames: Annotated[
        tuple[int, int], typer.Option("--exploiter-frames", metavar="LEAST MOST", help="frames of an exploiter's life")
    ] = (1_000_000, 4_000_000),
    upgo_coef: UpgoCoef = 0.2,
    kl_coef: KlCoef = 0.02,
    entropy_coef: EntropyCoef = 0.0005,
    traces: Traces = "joint",
    pseudo_reward_scale: PseudoReward = 0.0,
    draw_reward: DrawReward = 0.0,
    lr: Lr = 5e-4,
    sequences: Sequences = 256,
    unroll: Unroll = 64,
    replay_reuse: Reuse = 2,
    ships: Ships = 4,
    runner: RunnerName = "processes",
    address: Address = "",
    actors: Actors = 1,
    worlds: Worlds = 256,
    elo_k: EloK = None,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the league in --output-dir, or with the one played last")] = False,
    headless: Headless = False,
    as_json: Json = False,
) -> None:
    """Main agents, exploiters of mains and exploiters of the league learn from matches against each other and their frozen past.

    A live view shows players, ratings, who beats whom, opponents seen beside asked, and losses. Ctrl-C ends it after the present
    iteration, saved; --resume goes on as if it had never stopped, with the options it was begun with, to as many rounds; --rounds,
    --runner and --address may be others. At the end the report is written into the league's folder.
    """
    from league.league import run_league
    from league.league_run import LeagueRun, going_on, saved_run
    from league.live import LiveFile
    from league.matchmaking import LeagueSettings
    from league.ratings import EloSettings
    from league.report import make_report
    from league.store import LeagueStore
    from league.warm_up import warm_up
    from tui.commands.long_work import long_work
    from tui.commands.running import Signals
    from tui.league_view import LeagueView

    workspace = workspace_of(context)
    folder = _folder(workspace, output_dir, resume)
    same: dict[str, Any] = {
        "rounds": rounds,
        "rl_iterations_per_round": iterations,
        "actor_rollouts": actor_rollouts,
        "learner_updates": learner_updates,
        "ships": ships,
        "runner": runner,
        "address": address,
        "actors": actors,
        "worlds": worlds,
        "seed": seed,
        "pseudo_reward_scale": pseudo_reward_scale,
        "draw_reward": draw_reward,
    }
    players: dict[str, Any] = {
        "mains": mains,
        "main_exploiters": main_exploiters,
        "league_exploiters": league_exploiters,
        "main_snapshot_frames": snapshot_frames,
        "exploiter_least_frames": exploiter_frames[0],
        "exploiter_most_frames": exploiter_frames[1],
    }
    first = _supervised(workspace, supervised, folder)
    if resume and LeagueStore(folder).has_state:
        given = given_options(context)
        begun = saved_run(folder)
        named = {_FIELDS.get(name, name) for name in given}
        if "exploiter_frames" in given:
            named |= {"exploiter_least_frames", "exploiter_most_frames"}
        league = replace(begun.league, **{name: value for name, value in players.items() if name in named})
        changed = {name: value for name, value in same.items() if name in named}
        losses, updates = changed_losses(begun.losses, given), changed_updates(begun.updates, given)
        elo = begun.elo if elo_k is None else replace(begun.elo, k=elo_k)
        parts = {"supervised": first, "league": league, "losses": losses, "updates": updates, "elo": elo}
        settings = going_on(begun, {**changed, **parts})
    else:
        settings = LeagueRun(
            **same,
            supervised=first,
            league=LeagueSettings(**players),
            losses=loss_settings(upgo_coef, kl_coef, entropy_coef, traces),
            updates=update_settings(LeagueRun().updates, lr, unroll, sequences, replay_reuse),
            elo=EloSettings() if elo_k is None else EloSettings(k=elo_k),
        )
    one_thread()
    with long_work() as report_compiling:
        warm_up(report_compiling)
    with Signals() as signals, LeagueView(plain=headless or as_json) as view, LiveFile(folder, view) as live:
        result = run_league(settings, folder, live, lambda: bool(signals.asked), resume)
    written = _with_matches(make_report(folder), folder, folder / "report", False)
    paths = written.write(folder / "report")
    told: dict[str, Any] = {
        "league": workspace.relative(folder),
        "interrupted": result.interrupted,
        "report": workspace.relative(paths[-1]),
    }
    if as_json:
        figures = {"rounds": result.rounds, "frames": result.frames, "snapshots": result.snapshots, "idle": result.idle}
        say_json({**told, **figures, "summary": result.summary})
    else:
        say(written.text())
        for line in _notes([note for note in result.notes if note not in written.notes]):
            say(line)
        say(f"league: {folder}")
        say(f"report: {folder / 'report' / 'report.html'}")
        if result.interrupted:
            say(f"stopped after {result.rounds} whole rounds; go on with --resume")
        elif result.idle:
            say(f"all {result.rounds} rounds are played; more with --rounds {result.rounds + 1} or above")
    if result.interrupted:
        raise typer.Exit(130)


def report(
    context: typer.Context,
    league: LeagueName = "",
    matches: Annotated[str, typer.Option("--matches", metavar="FILE", help="other matches than the league's own")] = "",
    output: Annotated[
        str, typer.Option("--output", metavar="PATH", help="folder for the page and tables, or a .json for the summary")
    ] = "",
    evaluate: Annotated[int, typer.Option("--evaluate", min=0, help="first play so many matches of each main against each snapshot")] = 0,
    best_response: Annotated[
        int,
        typer.Option("--best-response", min=0, metavar="FRAMES", help="first train a fresh exploiter against each main for so many frames"),
    ] = 0,
    elo_k: EloK = None,
    videos: Annotated[
        bool, typer.Option("--videos", help="film the page's matches too: the closest, the biggest upset, the latest of a main")
    ] = False,
    as_json: Json = False,
) -> None:
    """Who beats whom, ratings with intervals, Nash averaging, how exploitable each main is, and opponents seen beside asked.

    Counted again from matches.jsonl. Writes report.json, CSV tables and report.html with plots and a few matches.
    --matches alone needs no league and shows none. --evaluate plays with frozen weights, which says more than matches in which
    the main was still learning.
    """
    from data.files import write_json
    from league.ratings import EloSettings
    from league.report import make_report, summary_of

    workspace = workspace_of(context)
    here = Path.cwd()
    path = workspace.resolve(matches, cwd=here) if matches else None
    folder = None if path is not None and not league else find_league(workspace, league)
    notes: list[str] = []
    if evaluate or best_response:
        if folder is None:
            raise UsageError("--evaluate and --best-response need a league; name it with --league-state")
        notes = _judge(folder if folder.is_dir() else folder.parent, evaluate, best_response)
    found = make_report(folder, path, elo=None if elo_k is None else EloSettings(k=elo_k))
    beside = folder if folder is not None else (path or here).parent
    beside = beside if beside.is_dir() else beside.parent
    target = workspace.resolve(output, cwd=here) if output else beside / "report"
    if target.suffix == ".json":
        target.parent.mkdir(parents=True, exist_ok=True)
        write_json(target, summary_of(found))
        written = [target]
    else:
        if folder is not None and path is None:
            found = _with_matches(found, folder if folder.is_dir() else folder.parent, target, videos)
        written = found.write(target)
    if as_json:
        say_json({**found.to_json(), "judging": notes, "files": [workspace.relative(file) for file in written]})
        return
    say("\n".join([found.text(), *(f"note: {note}" for note in notes)]))
    say(f"written: {written[0] if len(written) == 1 else target / 'report.html'}")


def _notes(notes: Sequence[str]) -> list[str]:
    """How a run began or went on, how it ended, and between them as much as there is room for."""
    left_out = len(notes) - _MOST_NOTES
    if left_out > 0:
        half = _MOST_NOTES // 2
        return [*_notes(notes[:half]), f"note: ... and {left_out} more, in summary.json", *_notes(notes[-half:])]
    return [f"note: {note}" for note in notes]


def _with_matches(found: Report, folder: Path, target: Path, videos: bool) -> Report:
    """The report with chosen matches, ``videos``: filmed beside its page."""
    from league.report_matches import with_matches

    with stoppable_work() as (report, stop):
        return with_matches(found, folder, target, videos, report, stop)


def _judge(folder: Path, matches: int, budget: int) -> list[str]:
    """Play and learn with the league's frozen weights; what is to be said of it."""
    from league.evaluation import best_response, evaluate, frozen_league

    notes: list[str] = []
    one_thread()
    with stoppable_work() as (report, stop):
        if matches:
            notes += evaluate(folder, matches, report, stop)
        if budget:
            mains = [x.id for x in frozen_league(folder).makers.learners.values() if x.role == "main"]
            for main in mains:
                if best_response(folder, main, budget, matches or 400, report, stop) is None:
                    notes.append(f"the best response to {main} was stopped and is not kept")
    return notes


def find_league(workspace: Workspace, name: str) -> Path:
    """A league's folder (or its state) by path or by name; "" is the one played last, by state and matches (``league.runs``).

    Raises UsageError saying what there is, and for a file that is not the state: whatever its folder's own state holds is what is read.
    """
    from league.runs import league_folders
    from league.store import STATE

    there = league_folders(workspace.root)
    if not name:
        if not there:
            raise UsageError("there is no league in this workspace yet; start one with secondseat league run, or name one elsewhere")
        return there[-1]
    named = workspace.root / "league" / name
    path = named if named.is_dir() else workspace.resolve(name, cwd=Path.cwd())
    if not path.exists():
        told = f"there are {', '.join(folder.name for folder in there)}" if there else "there is none yet"
        raise UsageError(f"--league-state {name}: no such league; {told}")
    if path.is_file() and path.name != STATE:
        raise UsageError(f"--league-state {name}: this reads a league's folder, and in it {STATE}; name the folder {path.parent}")
    return path


def _folder(workspace: Workspace, output_dir: str, resume: bool) -> Path:
    if output_dir:
        return workspace.resolve(output_dir, cwd=Path.cwd())
    if resume:
        return find_league(workspace, "")
    return workspace.root / "league" / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _supervised(workspace: Workspace, name: str, folder: Path) -> Path | None:
    """pi_sup; a league that goes on has its own copy."""
    from league.store import LeagueStore

    return None if not name and LeagueStore(folder).has_state else policy(workspace, name or "pi_sup")
