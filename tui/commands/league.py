"""``secondseat league``: agents that learn last man standing from play, and from each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from league.places import USUAL_FOLDERS
from tui.commands.invocation import new_app, say, say_json, workspace_of
from tui.commands.league_options import Seed, one_thread, policy_path
from tui.commands.league_record import record
from tui.commands.league_refine import refine
from tui.commands.league_replay import replay
from tui.commands.league_run import report, run
from tui.commands.league_watch import watch
from tui.commands.options import Json

if TYPE_CHECKING:
    from data.workspace import Workspace
    from league.first_policy import FirstPolicySettings

app = new_app("Agents that learn last man standing: from play, then from each other.")

DATA_DIR, FEEDBACK_DIR, LIVE_DIR = USUAL_FOLDERS
DataDir = Annotated[str, typer.Option("--data-dir", metavar="FOLDER", help=f"recorder trajectories; without: {DATA_DIR}")]
FeedbackDir = Annotated[str, typer.Option("--feedback-dir", metavar="FOLDER", help=f"live feedback; without: {FEEDBACK_DIR}")]
LiveDir = Annotated[str, typer.Option("--live-dir", metavar="FOLDER", help=f"manifests with outcomes; without: {LIVE_DIR}")]
PilotMatches = Annotated[int, typer.Option("--pilot-matches", min=0, max=100_000, help="matches of scripted pilots to add")]
Resume = Annotated[bool, typer.Option("--resume", help="go on where it was stopped")]

app.command("watch")(watch)
app.command("replay")(replay)
app.command("record")(record)
app.command("refine")(refine)
app.command("run")(run)
app.command("report")(report)


@app.callback()
def group() -> None:
    """Agents that learn last man standing: from play, then from each other."""


@app.command()
def data(
    context: typer.Context,
    data_dir: DataDir = "",
    feedback_dir: FeedbackDir = "",
    live_dir: LiveDir = "",
    pilot_matches: PilotMatches = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What there is to learn from: files, rows that were used, dropped or filled in, outcomes, choices and ranges.

    Relative folders lie in the workspace. Nothing in a file stops the report; a folder that is missing is told.
    """
    from dataclasses import replace

    from league.first_policy import gather_play
    from tui.commands.long_work import long_work

    settings = _sources(workspace_of(context), (data_dir, feedback_dir, live_dir), pilot_matches, tell_missing=True)
    settings = replace(settings, imitation=replace(settings.imitation, seed=seed))
    with long_work() as report:
        _, found = gather_play(settings, report)
    if as_json:
        say_json(found.to_json())
    else:
        say(found.text())


@app.command("imitate")
def imitate_(
    context: typer.Context,
    data_dir: DataDir = "",
    feedback_dir: FeedbackDir = "",
    live_dir: LiveDir = "",
    pilot_matches: PilotMatches = 500,
    epochs: Annotated[int, typer.Option("--epochs", min=1, max=10_000, help="times through the data")] = 2,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, max=1_000_000, help="frames in one step")] = 64,
    lr: Annotated[float, typer.Option("--lr", min=1e-9, max=1.0, help="learning rate at first, for batches of 64")] = 1.4e-3,
    hidden: Annotated[int, typer.Option("--hidden", min=8, max=4096, help="width of the network's two layers")] = 128,
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="the policy; without: models/league/TIME/pi_sup")] = "",
    judge_matches: Annotated[int, typer.Option("--judge-matches", min=0, max=100_000, help="matches against each kind of pilot")] = 400,
    seed: Seed = 0,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """A first policy (pi_sup) that plays as those did whose play it saw; then it plays the scripted pilots.

    Accuracy of each choice stands beside what costs nothing. Ctrl-C keeps the last whole epoch; --resume goes on, with the same
    data and settings, to the same weights as if it had never stopped.
    """
    from dataclasses import replace

    from league.first_policy import make_first_policy
    from league.imitate import ImitationSettings
    from tui.commands.long_work import long_work

    workspace = workspace_of(context)
    settings = replace(
        _sources(workspace, (data_dir, feedback_dir, live_dir), pilot_matches, tell_missing=False),
        judge_matches=judge_matches,
        imitation=ImitationSettings(epochs=epochs, batch_size=batch_size, learning_rate=lr, hidden=hidden, seed=seed),
    )
    path = policy_path(workspace, output, resume, "pi_sup")
    one_thread()
    with long_work() as report:
        made = make_first_policy(settings, path, report, resume=resume)
    if as_json:
        say_json({**made.to_json(), "policy": workspace.relative(path)})
    else:
        say(made.text())
    if made.interrupted:
        raise typer.Exit(130)


def _sources(workspace: Workspace, named: Sequence[str], pilot_matches: int, *, tell_missing: bool) -> FirstPolicySettings:
    """Folders named by the person or, without, the usual ones; of those only what is there, unless what is missing is to be told."""
    from league.first_policy import FirstPolicySettings

    folders: list[Path | None] = []
    for given, usual in zip(named, USUAL_FOLDERS, strict=True):
        folder = workspace.resolve(given or usual, cwd=Path.cwd())
        folders.append(folder if given or tell_missing or folder.is_dir() else None)
    return FirstPolicySettings(*folders, pilot_matches=pilot_matches)
