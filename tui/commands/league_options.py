"""What the league's commands share: options of learning and playing, policies by name, and work that ends between two iterations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tui.commands.invocation import UsageError

if TYPE_CHECKING:
    from data.progress import Progress, Report
    from data.workspace import Workspace
    from league.losses import LossSettings, UpdateSettings

RunnerName = Annotated[
    Literal["processes", "in-process", "ray"],
    typer.Option("--runner", help="matches are played in processes with shared memory, here, or by Ray on many machines"),
]
Address = Annotated[
    str,
    typer.Option(
        "--address", metavar="HOST:PORT", help="of the Ray cluster, or auto: the one this machine is in; without: a Ray of its own"
    ),
]
Supervised = Annotated[
    str, typer.Option("--supervised-checkpoint", metavar="POLICY", help="pi_sup, by name or file; without: the newest one")
]
ActorRollouts = Annotated[int, typer.Option("--actor-rollouts", min=1, max=10_000, help="unrolls of all actors in one iteration")]
LearnerUpdates = Annotated[
    int, typer.Option("--learner-updates", min=1, max=1000, help="times through what a rollout brought, each with --replay-reuse")
]
Actors = Annotated[int, typer.Option("--actors", min=1, max=1024, help="processes that play")]
Worlds = Annotated[int, typer.Option("--worlds", min=1, max=100_000, help="matches that each plays at once")]
Ships = Annotated[int, typer.Option("--ships", min=2, max=8, help="ships in a match")]
Lr = Annotated[float, typer.Option("--lr", min=1e-9, max=1.0, help="learning rate at the first frame; it falls as by default")]
Sequences = Annotated[int, typer.Option("--sequences", min=1, max=100_000, help="sequences in one update")]
Unroll = Annotated[int, typer.Option("--unroll", min=1, max=10_000, help="steps of a sequence")]
Reuse = Annotated[int, typer.Option("--replay-reuse", min=1, max=1000, help="how often a sequence is learnt from")]
UpgoCoef = Annotated[float, typer.Option("--upgo-coef", min=0, help="weight of UPGO; 0: off")]
KlCoef = Annotated[float, typer.Option("--kl-coef", min=0, help="weight of the KL to pi_sup at the first frame; it falls to a 100th")]
EntropyCoef = Annotated[float, typer.Option("--entropy-coef", min=0, help="weight of the entropy")]
Traces = Annotated[Literal["joint", "split"], typer.Option("--traces", help="one V-trace, or one each for move, aim and buttons")]
PseudoReward = Annotated[float, typer.Option("--pseudo-reward-scale", min=0, help="paid for 100 hit points of damage; 0: outcome alone")]
DrawReward = Annotated[float, typer.Option("--draw-reward", min=-1, max=1, help="paid to all when all are lost at once")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="seed of everything random")]


def loss_settings(upgo_coef: float, kl_coef: float, entropy_coef: float, traces: Literal["joint", "split"]) -> LossSettings:
    """The losses as the options say; the KL's weight falls by as much as by default."""
    from league.losses import LossSettings

    return LossSettings(upgo_weight=upgo_coef, entropy_weight=entropy_coef, traces=traces).with_kl(kl_coef)


def update_settings(usual: UpdateSettings, lr: float, unroll: int, sequences: int, replay_reuse: int) -> UpdateSettings:
    """Updates as the options say; the learning rate falls by as much, and over as many frames, as it does in ``usual``."""
    return replace(usual.with_learning_rate(lr), unroll_steps=unroll, sequences=sequences, replay_reuse=replay_reuse)


def given_options(context: typer.Context) -> dict[str, Any]:
    """Those that were written on the command line, by the name of the argument."""

    def written(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    return {name: value for name, value in context.params.items() if written(name)}


def changed_losses(begun: LossSettings, given: Mapping[str, Any]) -> LossSettings:
    """``begun`` with what was ``given`` of --upgo-coef, --kl-coef, --entropy-coef and --traces."""
    fields = {"upgo_coef": "upgo_weight", "entropy_coef": "entropy_weight", "traces": "traces"}
    losses = replace(begun, **{field: given[name] for name, field in fields.items() if name in given})
    kl = given.get("kl_coef", losses.kl_weight)
    return losses if kl == losses.kl_weight else losses.with_kl(kl)


def changed_updates(begun: UpdateSettings, given: Mapping[str, Any]) -> UpdateSettings:
    """``begun`` with what was ``given`` of --lr, --unroll, --sequences and --replay-reuse."""
    fields = {"unroll": "unroll_steps", "sequences": "sequences", "replay_reuse": "replay_reuse"}
    updates = replace(begun, **{field: given[name] for name, field in fields.items() if name in given})
    rate = given.get("lr", updates.learning_rate)
    return updates if rate == updates.learning_rate else updates.with_learning_rate(rate)


def one_thread() -> None:
    """See ``league.threads``, which imports torch."""
    from league import threads

    threads.one_thread()


def policy(workspace: Workspace, name: str) -> Path:
    """The policy's file, without suffix. Raises PlayerError that says what there is."""
    from league.policy_files import find_policy

    return find_policy(workspace.root, name, lambda text: workspace.resolve(text, cwd=Path.cwd()))


def policy_path(workspace: Workspace, output: str, resume: bool, name: Literal["pi_sup", "pi_rl"]) -> Path:
    """Where imitation (``pi_sup``) or refinement (``pi_rl``) writes its policy, without suffix; resuming without a name means the run
    of that kind that was written last; both may lie in one folder. Raises UsageError when there is none."""
    if output:
        path = workspace.resolve(output, cwd=Path.cwd())
        return path.with_name(path.name.removesuffix(".safetensors"))
    base = workspace.models / "league"
    if not resume:
        return base / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ") / name
    from league.imitate import imitations
    from league.refine_resume import refinements

    checkpoints_of = refinements if name == "pi_rl" else imitations
    runs: list[tuple[int, Path]] = []
    for folder in {file.parent for file in base.glob("*/checkpoint_*.safetensors")}:
        if there := checkpoints_of(folder):
            runs.append((max(path.with_name(f"{path.name}.safetensors").stat().st_mtime_ns for path in there), folder))
    if not runs:
        work = "refinement" if name == "pi_rl" else "imitation"
        raise UsageError(f"--resume: no run of {work} in {base}; start one without --resume, or name it with --output")
    return max(runs)[1] / name


@contextlib.contextmanager
def stoppable_work() -> Generator[tuple[Report, Callable[[], bool]]]:
    """A report that shows a bar, and a question whether to stop: the first Ctrl-C (or SIGTERM) ends the work between two of its
    steps, so that nothing is lost; a second Ctrl-C ends it at once."""
    from tui.commands.running import ProgressLine, Signals, StatusLine

    line = StatusLine()
    bar = ProgressLine(line)
    said = False

    with Signals() as signals:

        def report(progress: Progress) -> None:
            nonlocal said
            if signals.asked and not said:
                said = True
                line.say("stopping after this step; Ctrl-C once more ends it at once")
            bar(progress)

        try:
            yield report, lambda: bool(signals.asked)
        finally:
            line.end()
