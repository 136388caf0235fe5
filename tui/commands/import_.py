"""``secondseat import``: recordings of the earlier scripts become sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, settings_of, shown_duration, table
from tui.commands.options import Json

if TYPE_CHECKING:
    from engine.import_recordings import FileReport

app = new_app("Take in recordings of the earlier scripts.")


@app.command("import")
def import_(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="files, or folders that are searched for them")],
    game: Annotated[str, typer.Option("--game", help="the game's profile; without: the active game")] = "",
    maps: Annotated[list[str] | None, typer.Option("--map", metavar="NAME=CLASS", help="their class is our class; may be repeated")] = None,
    picture_size: Annotated[
        str, typer.Option("--picture-size", metavar="WxH", help="what pixels are measured in, if a file does not say")
    ] = "",
    keep_modes: Annotated[bool, typer.Option("--keep-modes", help="keep the modes they name as labels; the rules' own are better")] = False,
    as_json: Json = False,
) -> None:
    """Sequences (`sequence_*.json`), shadow recordings (`shadow_recording_*.json`, `.pkl`) and their NPZ twins, recognised by what
    they hold. Each becomes a session, which training takes in with all others. The files stay as they are.

    A file that was taken in before is passed over, under another name too; with --keep-modes its modes are added to the session that
    it became. The exit status is 1 when a file was refused.
    """
    from engine.import_recordings import ImportOptions, files_in, import_files
    from tui.commands.running import ProgressLine, StatusLine, TermAsInterrupt

    settings = settings_of(context)
    name = game or settings.game
    if name not in settings.games:
        raise UsageError(f"import --game {name}: there is no such game; use {', '.join(sorted(settings.games))}")
    options = ImportOptions(settings.games[name], _classes(maps or []), _size(picture_size), keep_modes)
    line = StatusLine()
    with TermAsInterrupt():
        done = import_files(settings.workspace().root, files_in(paths), options, ProgressLine(line))
    line.end()
    if as_json:
        say_json([told.to_json() for told in done])
    elif not done:
        say("no recording found; they end in .json, .jsonl, .pkl, .pickle or .npz")
    else:
        _print(done)
    raise typer.Exit(1 if any(told.outcome == "refused" for told in done) else 0)


def _print(done: list[FileReport]) -> None:
    rows = [(t.file, t.kind, t.outcome, t.rows, t.steps, shown_duration(t.seconds), t.session) for t in done]
    say(table(("file", "kind", "outcome", "rows", "steps", "length", "session"), rows))
    for told in done:
        said = [told.reason, *told.used, *(f"assumed: {what}" for what in told.defaulted)]
        said += [f"left out: {count} {what}" for what, count in told.dropped.items()]
        said += [f"{told.modes_left} modes not taken (keep them with --keep-modes)"] if told.modes_left else []
        if any(said):
            say(f"{told.file}: {'; '.join(part for part in said if part)}")
    outcomes = list(dict.fromkeys(t.outcome for t in done))
    kinds = sorted({t.kind for t in done}, key=lambda kind: (not kind, kind))
    if len(done) > 1:
        say(table(("kind", *outcomes), [[kind or "not known", *(_count(done, kind, o) for o in outcomes)] for kind in kinds]))
    counts = {outcome: sum(t.outcome == outcome for t in done) for outcome in outcomes}
    say(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))


def _count(done: list[FileReport], kind: str, outcome: str) -> str:
    count = sum((told.kind, told.outcome) == (kind, outcome) for told in done)
    return str(count) if count else "-"


def _classes(maps: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in maps:
        theirs, equals, ours = text.partition("=")
        if not (theirs and equals and ours):
            raise UsageError(f"--map {text}: write it as theirs=ours, such as npc=drone")
        found[theirs] = ours
    return found


def _size(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    width, x, height = text.lower().partition("x")
    if not (x and width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise UsageError(f"--picture-size {text}: write it as WIDTHxHEIGHT, such as 1920x1080")
    return int(width), int(height)
