"""``secondseat evaluate``: how well a policy flies the arena, and how well each of its levels does what the demonstrator did."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, say_notice, settings_of, table, workspace_of
from tui.commands.options import LARGEST_SEED, Json, Look, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.evaluate import Evaluation, Rung
    from engine.scoreboard_figures import Scoreboard
    from engine.unseen_play import RecordedPlay
    from tui.commands.running import StatusLine

app = new_app("Score a policy.")


@app.command()
def evaluate(
    context: typer.Context,
    policy: Policy = "",
    episodes: Annotated[int, typer.Option("--episodes", min=2, max=100_000, help="episodes of a minute each, for everybody")] = 20,
    rungs: Annotated[str, typer.Option("--rungs", help="how it sees, with commas: state, emulated, pixels")] = "state,emulated,pixels",
    first_seed: Annotated[
        int | None, typer.Option("--first-seed", min=0, max=LARGEST_SEED, help="without: the arena's own list of test seeds")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=0, max=64, help="episodes flown at a time; 0: one per core, at most 8")] = 0,
    minutes: Annotated[
        float,
        typer.Option("--minutes", min=0.0, max=120.0, help="unseen play to judge the levels on: whole minutes, at least 2; 0: do not"),
    ] = 3.0,
    sessions: Annotated[
        list[str] | None, typer.Option("--session", help="judge the levels on this recording instead; may be repeated")
    ] = None,
    fly: Annotated[bool, typer.Option("--fly/--no-fly", help="fly episodes")] = True,
    page: Annotated[Path | None, typer.Option("--page", dir_okay=False, help="write a page of plots: .png, .svg or .pdf")] = None,
    look: Look = None,
    as_json: Json = False,
) -> None:
    """Fly episodes on the same seeds as random and the demonstrator, and say where the policy stands between them; then judge
    each level on play that it has not seen, beside what needs no skill.

    Three rungs: from the world's state, with emulated perception, and from pixels. The last one is what counts.
    """
    from data.models import resolve_policy
    from tui.commands.running import StatusLine

    workspace, chosen = workspace_of(context), _rungs(rungs)
    path, line = resolve_policy(workspace.root, policy), StatusLine()
    judged = minutes > 0 or bool(sessions)
    if not fly and not judged:
        raise UsageError("evaluate: --no-fly and --minutes 0 leave nothing to do")
    if page is not None and not judged:
        raise UsageError("evaluate --page: its plots are of the levels; give --minutes or --session")
    if page is not None:
        _check_page(page)
    if look is not None and not (fly and "pixels" in chosen):
        raise UsageError("evaluate --look: only the rung pixels sees what is drawn; fly it, or leave --look out")
    drawn = look or settings_of(context).arena.look
    began_s = time.monotonic()
    play = _recorded(workspace.root, path, sessions) if sessions else None
    if judged and play is None:
        _say_whole(minutes)
    evaluation: Evaluation | None = None
    board: Scoreboard | None = None
    try:
        evaluation = _fly(path, episodes, chosen, first_seed, workers, drawn, line) if fly else None
        board = _judge(path, minutes, play, line) if judged else None
    except KeyboardInterrupt:
        line.say(_stopped(workspace.root, evaluation))
        raise
    line.end()
    if evaluation is not None:
        from engine.evaluate import keep

        keep(workspace.root, evaluation, board.to_json() if board is not None else None)
    elif board is not None:
        from data.profile import ARENA_PROFILE
        from engine.evaluate import keep_levels

        keep_levels(workspace.root, board, play.profile if play is not None else ARENA_PROFILE, time.monotonic() - began_s)
    if as_json:
        say_json((evaluation.to_json() if evaluation is not None else {}) | ({"levels": board.to_json()} if board is not None else {}))
        _draw_page(page, board, evaluation)
        return
    if board is not None:
        _say_levels(board)
    if evaluation is not None:
        say(table(("who", "score", "kills / loot / deaths", "normalised"), evaluation.rows()))
        normalised = evaluation.normalised
        say(f"normalised score: {normalised.value:.2f} [{normalised.low:.2f}, {normalised.high:.2f}]")
    if _draw_page(page, board, evaluation):
        say(f"plots: {page}")


def _check_page(page: Path) -> None:
    """Before hours of work, not after them."""
    from engine.scoreboard_page import KINDS

    if page.suffix.lower() not in KINDS:
        raise UsageError(f"evaluate --page {page}: a page is {', '.join(KINDS)}")
    if not page.absolute().parent.is_dir():
        raise UsageError(f"evaluate --page {page}: there is no such folder")


def _draw_page(page: Path | None, board: Scoreboard | None, evaluation: Evaluation | None) -> bool:
    if page is None or board is None:
        return False
    from engine.scoreboard_page import draw

    draw(page, board, evaluation)
    return True


def _rungs(text: str) -> list[Rung]:
    from engine.evaluate import RUNGS

    asked = [name.strip() for name in text.split(",") if name.strip()]
    chosen: list[Rung] = [rung for rung in RUNGS if rung in asked]
    if len(chosen) != len(set(asked)) or not chosen:
        raise UsageError(f"--rungs {text}: use some of {','.join(RUNGS)}")
    return chosen


def _fly(policy: Path, episodes: int, rungs: list[Rung], first_seed: int | None, workers: int, look: str, line: StatusLine) -> Evaluation:
    from engine.evaluate import evaluate as run
    from tui.commands.running import ProgressLine

    workers = workers or max(1, min(os.cpu_count() or 1, 8))
    return run(policy, episodes, rungs, first_seed, workers=workers, report=ProgressLine(line), look=look)


def _recorded(workspace: Path, policy: Path, sessions: list[str]) -> RecordedPlay:
    """Before anything is flown: what does not fit is told at once."""
    from engine.unseen_play import recorded_play

    play = recorded_play(workspace, policy, sessions)
    for note in play.notes:
        say_notice(note)
    return play


def _say_whole(minutes: float) -> None:
    """Where another length is judged than was asked for, before it is waited for."""
    from engine.unseen_play import FEWEST_MINUTES, whole_minutes

    if whole_minutes(minutes) != minutes:
        say_notice(
            f"--minutes {minutes:g}: unseen play comes in whole minutes, at least {FEWEST_MINUTES}: judged on {whole_minutes(minutes)}"
        )


def _stopped(workspace: Path, evaluation: Evaluation | None) -> str:
    """What is left of an evaluation that was stopped: the flights, once all of them were flown."""
    from engine.evaluate import keep

    if evaluation is None:
        return "stopped before it was finished: nothing of this evaluation is kept"
    return f"stopped: what was flown is kept in {keep(workspace, evaluation)}, the levels were not judged"


def _judge(policy: Path, minutes: float, play: RecordedPlay | None, line: StatusLine) -> Scoreboard:
    from tui.commands.running import ProgressLine

    if play is None:
        from engine.unseen_play import judge_unseen

        return judge_unseen(policy, minutes, ProgressLine(line))
    from engine.policy import load_policy
    from engine.scoreboard import judge

    return judge(load_policy(policy), play.sessions, play.name, report=ProgressLine(line))


def _say_levels(board: Scoreboard) -> None:
    say(f"{board.policy}: each level on {board.minutes:.1f} min of {board.play}")
    from data.vocabulary import MODES

    rows: list[tuple[str, str, str, str]] = []
    if (mode := board.mode) is not None:
        seconds = {name: sum(row) for name, row in zip(MODES, mode.confusion, strict=True)}
        recalls = ", ".join(f"{name.lower()} {share:.2f} of {seconds[name]} s" for name, share in mode.recalls.items())
        rows += [
            (
                "mode: balanced accuracy",
                _figure(mode.balanced_accuracy, mode.intervals.get("balanced_accuracy")),
                f"{1 / max(1, len(mode.recalls)):.2f} one answer, {_figure(mode.persistence_balanced)} as before"
                f"{_again(mode.second_run_balanced)}",
                recalls,
            ),
            (
                "mode: accuracy",
                _figure(mode.accuracy, mode.intervals.get("accuracy")),
                f"{mode.majority:.2f} commonest, {mode.persistence:.2f} as before{_again(mode.second_run)}",
                "",
            ),
            ("mode: sureness off by", _figure(mode.calibration.error), "", ""),
        ]
    if (target := board.target) is not None:
        rows += [
            (
                "target: right",
                _figure(target.on_target, target.intervals.get("on_target")),
                f"{_figure(target.nearest)} nearest, {_figure(target.persistence)} as before{_again(target.second_run)}",
                f"{_figure(target.nearest_enemy)} nearest enemy",
            ),
            (
                f"target: in crowds ({target.crowd_decisions})",
                _figure(target.crowds, target.intervals.get("crowds")),
                f"{_figure(target.nearest_in_crowds)} nearest, {_figure(target.persistence_in_crowds)} as before"
                f"{_again(target.second_run_in_crowds)}",
                f"{_figure(target.nearest_enemy_in_crowds)} nearest enemy",
            ),
            ("target: sureness off by", _figure(target.calibration.error), "", f"{target.none_share:.0%} without a target"),
        ]
    for told, actions in board.actions.items():
        rows += [
            (
                f"point, target {told}",
                f"{_figure(actions.point_px)} px",
                f"{_figure(actions.cursor_before_px)} px cursor 0.5 s before{_again(actions.second_run_px)}",
                f"{actions.clicks} clicks",
            ),
            (
                f"lands, target {told}",
                _figure(actions.lands, actions.intervals.get("lands")),
                f"{_figure(actions.cursor_lands)} cursor 0.5 s before{_again(actions.second_run_lands)}",
                f"on the track that was clicked; {_figure(actions.own_lands)} of its own {actions.own_clicks} clicks then",
            ),
            (
                f"first clicks, target {told}",
                _figure(actions.first_lands, actions.intervals.get("first_lands")),
                f"no repeats{_again(actions.second_run_first_lands)}",
                f"{actions.first_clicks} clicks; the target told was that track in {_figure(actions.first_told)}",
            ),
        ]
    rows.append(("left click: sureness off by", _figure(board.actions["predicted"].calibration.error), "", ""))
    for name, found in board.actions["predicted"].onsets.items():
        exactly = f"in the very tick {_figure(found.exact)}{_again(found.second_run_exact)}"
        counts = f"{found.true} pressed, {found.predicted} by the policy; {exactly}"
        f1 = _figure(found.f1, found.intervals.get("f1"))
        rows.append((f"{name}: F1 within 2 ticks", f1, f"{_figure(found.even)} evenly{_again(found.second_run)}", counts))
    late = board.best_lag
    met = "no click of the policy met one of the demonstrator" if late is None else f"F1 there {_figure(board.lag_sweep[late])}"
    rows += [
        ("left click: late by", "none" if late is None else f"{late:+d} ticks", "", met),
        ("causality", _figure(board.causality), "0 a copycat", "points that move when pictures are swapped"),
    ]
    say(table(("figure", "policy", "without skill", ""), rows))
    for line in [*(confusion_lines(board.mode.confusion) if board.mode is not None else []), *sweep_lines(board.lag_sweep)]:
        say(line)


def confusion_lines(confusion: Sequence[Sequence[int]]) -> list[str]:
    """Seconds by the mode that was meant (rows) and the one that the policy said, of the modes that occur; within 80 columns."""
    from data.vocabulary import MODES

    used = [i for i in range(len(MODES)) if any(confusion[i]) or any(row[i] for row in confusion)]
    rows = [(MODES[i].lower(), *(confusion[i][j] for j in used)) for i in used]
    return table(("mode meant / said", *(MODES[i].lower() for i in used)), rows).splitlines()


def sweep_lines(sweep: Mapping[int, float]) -> list[str]:
    """F1 of left clicks in the very tick, under the ticks by which the policy would be late; within 80 columns."""
    if not sweep:
        return []
    figures = "".join(f"{'-' if value != value else f'{value:.2f}':>5}" for value in sweep.values())
    return [f"ticks late{''.join(f'{lag:>+5}' if lag else '    0' for lag in sweep)}", f"click F1  {figures}"]


def _again(value: float) -> str:
    return "" if value != value else f", {value:.2f} the demonstrator again"


def _figure(value: float, interval: tuple[float, float] | None = None) -> str:
    if value != value:
        return "none"
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval is not None else "")
