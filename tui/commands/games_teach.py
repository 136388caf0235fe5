"""``secondseat games teach``: a detector for one's own game, from a person's boxes on pictures of their recordings."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from data.text import printable_lines
from tui.commands.invocation import UsageError, say, say_error, say_json, say_notice, settings_of, table
from tui.commands.long_work import long_work
from tui.commands.options import Json
from tui.commands.running import CommandError

if TYPE_CHECKING:
    from engine.teach import TeachProject
    from engine.teach_training import Taught


def teach(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="a game of one's own")],
    pictures: Annotated[
        int, typer.Option("--pictures", min=1, max=5000, help="pictures to have in all; more are taken when fewer are there")
    ] = 60,
    sessions: Annotated[list[str] | None, typer.Option("--session", metavar="SESSION", help="only from these recordings")] = None,
    export: Annotated[
        tuple[str, str] | None,
        typer.Option("--export", metavar="yolo|labelstudio FOLDER", help="write the pictures and boxes for another tool"),
    ] = None,
    import_: Annotated[
        str, typer.Option("--import", metavar="PATH", help="take boxes in: a YOLO folder, or JSON of Label Studio or COCO")
    ] = "",
    page: Annotated[bool, typer.Option("--page/--no-page", help="the page in the browser, to confirm, fix and draw")] = True,
    train: Annotated[bool | None, typer.Option("--train/--no-train", help="train when the boxes are done; without: asked")] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, max=1000, help="passes over the pictures; without: by their number")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the training before, also one that was stopped")] = False,
    put: Annotated[bool | None, typer.Option("--put/--no-put", help="put the detector into the profile; without: asked")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="put the detector before the present one back into the profile")] = False,
    status: Annotated[bool, typer.Option("--status", help="only tell how far it is")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="of the page, on this machine only; 0 takes a free one")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="open the browser too")] = False,
    to: Annotated[str, typer.Option("--to", metavar="FILE", help="settings file to write; without: the one in force")] = "",
    as_json: Json = False,
) -> None:
    """Teach a detector to see a game: pictures of the recordings, your boxes on them, training, into the profile.

    Everything is kept as you go; the same command goes on where it was left. With --export and --import another tool draws.
    """
    from engine.teach import TeachProject

    if export is not None and import_:
        raise UsageError("--export and --import: choose one of them")
    from tui.commands.games import profile_of, settings_file

    settings = settings_of(context)
    if name == "arena":
        raise CommandError("the arena's detector comes with it; make it anew with: secondseat train detector")
    project = TeachProject(settings.workspace().root, profile_of(settings, name))
    file = settings_file(context, to)
    told: dict[str, Any] = {"game": name}
    try:
        if undo:
            from engine.teach_training import take_back

            change, detector = take_back(project, file)
            _tell(told | {"detector": detector}, f"games.{name} has the detector {detector or 'none'} again; {change.sentence()}", as_json)
            return
        if status:
            told |= {"counts": project.counts(), "state": project.state()}
            _tell(told, "\n".join(status_lines(project)), as_json)
            return
        if import_:
            from engine.teach_folders import import_labels

            imported = import_labels(project, settings.workspace().resolve(import_, cwd=Path.cwd()))
            told["imported"] = imported.to_json()
            _say(str(imported), as_json)
        else:
            _prepare(project, pictures, tuple(sessions or ()), as_json)
        if export is not None:
            told["exported"] = _export(project, export)
            _tell(told, told["exported"], as_json)
            return
        if page and not import_:
            asyncio.run(_serve(project, port, open_browser, as_json))
        for line in status_lines(project):
            _say(line, as_json)
        told["counts"] = project.counts()
        if _wants(train, f"train a detector now? {project.counts()['confirmed']} of the pictures are confirmed", page or bool(import_)):
            taught = _train(settings.workspace().root, project, epochs, resume, as_json)
            told["trained"] = taught.to_json(project.place)
            if not taught.complete:  # a detector that is half trained is not put anywhere
                _say(f"stopped early, and so not put into the profile; go on with: secondseat games teach {name} --train --resume", as_json)
                if as_json:
                    say_json(told)
                raise typer.Exit(130)
            if _wants(put, f"put it into games.{name}, in place of {project.profile.detector or 'none'}?", True):
                from engine.teach_training import put_into_profile

                change = put_into_profile(project, taught.weights, file)
                told["put"] = {"path": str(change.path), "detector": project.place.relative(taught.weights)}
                _say(f"{change.sentence()}; back: secondseat games teach {name} --undo", as_json)
        if as_json:
            say_json(told)
    except KeyboardInterrupt:
        say_error(f"interrupted; what was drawn is kept; go on with: secondseat games teach {name}")
        raise typer.Exit(130) from None
    finally:
        for notice in project.notices:
            say_notice(notice)


def status_lines(project: TeachProject) -> list[str]:
    """How far a teach project is, for a person."""
    counts = project.counts()
    if not sum(counts[state] for state in ("new", "proposed", "confirmed", "skipped")):
        return [f"games.{project.profile.name}: no pictures yet"]
    states = f"pictures: {counts['confirmed']} confirmed, {counts['new'] + counts['proposed']} to look at, {counts['skipped']} skipped"
    rows = [(name, counts[f"boxes.{name}"]) for name in project.names]
    model = project.state().get("model")
    return [states, table(("class", "boxes"), rows), f"newest model: {model}" if model else "no model was trained yet"]


def _prepare(project: TeachProject, wanted: int, sessions: tuple[str, ...], as_json: bool) -> None:
    """Pictures up to the wanted number, and proposals in those that nobody has looked at."""
    from engine.teach_prepare import prepare

    there = len(project.pictures())
    if there >= wanted and sessions:
        say_notice(f"{there} pictures are there; to take more from these recordings, give --pictures {there + 30}")
    with long_work() as report:
        prepared = prepare(project, wanted, sessions, report)
    for line in prepared.lines():
        _say(line, as_json)


def _export(project: TeachProject, wish: tuple[str, str]) -> str:
    from engine.teach_folders import FORMATS
    from engine.teach_folders import export as write

    if wish[0] not in FORMATS:
        raise UsageError(f"--export {wish[0]}: use {' or '.join(FORMATS)}, then a folder")
    return write(project, wish[0], Path(wish[1]).expanduser().absolute())


def _train(workspace: Path, project: TeachProject, epochs: int | None, resume: bool, as_json: bool) -> Taught:
    from engine.teach_training import train_taught
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    line = StatusLine()
    with TermAsInterrupt():
        taught = train_taught(workspace, project.profile, epochs=epochs, resume=resume, report=ProgressLine(line))
    line.end()
    _say(f"{taught}; trained on {taught.trained_on}", as_json)
    _say(table(("class", "held out", "AP50", "AP50-95", "recall", "precision"), taught.rows()), as_json)
    for word in taught.words:
        _say(f"- {word}", as_json)
    return taught


def _wants(given: bool | None, question: str, ask: bool) -> bool:
    """What the option says, else what the person says; where nobody can be asked, no."""
    from tui.commands.games_ask import Abandoned, Asker, Back

    if given is not None or not ask or not sys.stdin.isatty():
        return bool(given)
    try:
        return Asker().yes(question, True)
    except (Back, Abandoned):
        return False


async def _serve(project: TeachProject, port: int, open_browser: bool, as_json: bool) -> None:
    from tui.commands.web import opened, tunnel
    from tui.teach_page import TeachPage
    from tui.web_door import Door

    door, stop = Door(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C ends asyncio.run
            loop.add_signal_handler(number, stop.set)
    with contextlib.ExitStack() as at_end:

        def ready(port: int) -> None:
            address = door.address("127.0.0.1", port)
            _say(address, as_json)
            _say("  open it in a browser on this machine; keep it to yourself", as_json)
            _say(f"  {tunnel(port)}", as_json)
            _say("Done in the page, or Ctrl-C here, goes on; everything is saved as you draw.", as_json)
            sys.stdout.flush()
            if open_browser:
                at_end.enter_context(opened(address))

        try:
            await TeachPage(project, door).serve("127.0.0.1", port, ready, stop)
        except OSError as error:
            raise CommandError(f"port {port}: {error.strerror or error}; --port 0 takes a free one") from error


def _say(text: str, as_json: bool) -> None:
    """Facts to stdout; where that is for JSON, to stderr."""
    if as_json:
        print(printable_lines(text), file=sys.stderr, flush=True)
    else:
        say(text)


def _tell(value: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        say_json(value)
    else:
        say(text)
