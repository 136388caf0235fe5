"""``secondseat train``: learn from recordings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, say_notice, settings_of
from tui.commands.options import LARGEST_SEED, Json

app = new_app("Learn from recordings: one level, all three, or the detector.")

DataDir = Annotated[str, typer.Option("--data-dir", metavar="FOLDER", help="sessions to learn from; without: the workspace's")]
OutputDir = Annotated[
    str,
    typer.Option(
        "--output-dir", metavar="FOLDER", help="where models go, from the present folder, none of them promoted; without: the workspace"
    ),
]
Device = Annotated[Literal["auto", "cpu", "cuda"] | None, typer.Option("--device", help="where to train; without: [live] device")]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, max=100_000, help="without: as [training] says")]
BatchSize = Annotated[int | None, typer.Option("--batch-size", min=1, max=65_536, help="examples per step")]
LearningRate = Annotated[float | None, typer.Option("--lr", min=1e-9, max=1.0, help="highest learning rate")]
Quick = Annotated[bool, typer.Option("--quick", help="fewer epochs: for a first look")]
Preset = Annotated[
    Literal["auto", "small", "standard", "large"] | None,
    typer.Option("--preset", help="schedule by the amount of play: small under 50 min, large over 100; without: as [training] says"),
]
Resume = Annotated[bool, typer.Option("--resume", help="go on with the newest run of this game, or with the one of --name")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=LARGEST_SEED, help="seed of everything random")]
Game = Annotated[str, typer.Option("--game", metavar="GAME", help="whose sessions to learn from; without: the game that is played")]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="name of the run and of the policy; without: the time")]


def _levels(
    context: typer.Context,
    level: str,
    data_dir: str,
    output_dir: str,
    device: str | None,
    epochs: int | None,
    batch_size: int | None,
    lr: float | None,
    quick: bool,
    preset: str | None,
    resume: bool,
    seed: int | None,
    game: str,
    name: str,
    as_json: bool,
) -> None:
    from engine.runtime.progress import EtaReport
    from engine.training import TrainingStopped, train_levels
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    if quick and preset:
        raise UsageError(f"--quick is a schedule of its own: leave --preset {preset} out, or train without --quick")

    settings = settings_of(context)
    workspace = settings.workspace()
    line = StatusLine()
    shown = ProgressLine(line)
    with TermAsInterrupt():
        try:
            trained = train_levels(
                workspace.root,
                level,
                report=EtaReport(shown) if level == "all" else shown,  # a level knows the time it has left, and not that of the others
                training=settings.training,
                quick=quick,
                preset=preset,
                epochs=epochs,
                batch_size=batch_size,
                lr=lr,
                device=device or settings.live.device,
                seed=seed,
                resume=resume,
                data_dir=str(workspace.resolve(data_dir, cwd=Path.cwd())) if data_dir else "",
                output_dir=os.path.abspath(os.path.expanduser(output_dir)) if output_dir else "",
                game=game or settings.game,
                name=name,
            )
        except TrainingStopped as stopped:
            trained = stopped.trained
    line.end()
    if as_json:
        say_json(trained.to_json())
    else:
        for one, figures in trained.figures.items():
            if figures:
                say(f"{one}: {', '.join(f'{key} {value:.3g}' for key, value in figures.items())}")
        say(trained.text())
        for note in trained.warnings():  # said when they came too, but much has run past since
            say_notice(note)
    if trained.interrupted:
        raise typer.Exit(130)


def _make(level: str, help_text: str) -> None:
    """One subcommand per level; they differ in the level alone."""

    def train(
        context: typer.Context,
        data_dir: DataDir = "",
        output_dir: OutputDir = "",
        device: Device = None,
        epochs: Epochs = None,
        batch_size: BatchSize = None,
        lr: LearningRate = None,
        quick: Quick = False,
        preset: Preset = None,
        resume: Resume = False,
        seed: Seed = None,
        game: Game = "",
        name: Name = "",
        as_json: Json = False,
    ) -> None:
        _levels(context, level, data_dir, output_dir, device, epochs, batch_size, lr, quick, preset, resume, seed, game, name, as_json)

    app.command(level, help=f"{help_text} Ctrl-C saves and stops; --resume goes on.")(train)


for _level, _text in (
    ("strategist", "The mode: fight, loot, flee, explore or be cautious (once a second)."),
    ("tactician", "The target (five times a second). A strategist is learnt in passing, for its words alone."),
    ("executor", "Cursor, clicks and keys (every tick). The levels above are learnt in passing, for their words alone."),
    ("all", "All three in a row, and the policy they make."),
):
    _make(_level, _text)


@app.command()
def detector(
    context: typer.Context,
    source: Annotated[Literal["arena"], typer.Option("--source", help="where the pictures come from")] = "arena",
    pictures: Annotated[int | None, typer.Option("--pictures", min=50, max=100_000, help="pictures to make; without: 2600")] = None,
    epochs: Epochs = None,
    batch_size: BatchSize = None,
    lr: LearningRate = None,
    quick: Quick = False,
    seed: Seed = None,
    device: Device = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, max=256, help="processor threads, and processes that make pictures")
    ] = None,
    start_from: Annotated[str, typer.Option("--start-from", metavar="FILE", help="tensors (.safetensors) of an earlier run")] = "",
    name: Name = "",
    as_json: Json = False,
) -> None:
    """The arena's detector, from pictures it makes itself. Ctrl-C stops and judges what was learnt so far.

    The result is an ONNX file with a card beside it, in the workspace's models/detector; name it in a profile to use it.
    """
    from engine.detector_job import train_arena_detector
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    settings = settings_of(context)
    workspace = settings.workspace()
    wanted = device or settings.live.device
    given = {"epochs": epochs, "batch": batch_size, "learning_rate": lr, "seed": seed, "threads": threads, "device": wanted}
    changed: dict[str, Any] = {**({"epochs": 3} if quick else {}), **{key: value for key, value in given.items() if value is not None}}
    count = pictures or (400 if quick else 2600)
    line = StatusLine()
    with TermAsInterrupt():
        start = workspace.resolve(start_from, cwd=Path.cwd()) if start_from else None
        result = train_arena_detector(workspace.root, count, report=ProgressLine(line), run_name=name or None, start_from=start, **changed)
    line.end()
    if as_json:
        say_json({"source": source, "weights": workspace.relative(result.weights), "complete": result.complete, "figures": result.figures})
    else:
        say(str(result))
    if not result.complete:
        raise typer.Exit(130)
