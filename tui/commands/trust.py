"""``secondseat trust``: a detector from elsewhere, once a person has said that they trust it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tui.commands.invocation import UsageError, new_app, say, say_json, say_notice, workspace_of
from tui.commands.options import Json

app = new_app("Use a detector from elsewhere that you trust.")
_PICKLES = (".pt", ".pth")


@app.command("trust")
def trust(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.pt", help="weights of an Ultralytics detector")],
    yes: Annotated[bool, typer.Option("--yes", help="you trust it; nothing is asked")] = False,
    size: Annotated[int, typer.Option("--size", min=0, max=4096, help="side of its input in px; 0: as it was trained")] = 0,
    as_json: Json = False,
) -> None:
    """A PyTorch file (.pt) can run any code when it is loaded, so none is. Say that you trust this one, and it is made into an ONNX file
    beside it, which is plain data: name that as the detector of your game.

    What you trust is remembered by its content, in the workspace. The conversion runs once, on a copy, in a process of its own.
    """
    from engine.perception.card import file_sha256
    from engine.perception.pickles import foreign_globals
    from engine.perception.trusted import is_trusted, to_onnx
    from engine.perception.trusted import trust as remember

    root = workspace_of(context).root
    if file.suffix not in _PICKLES:
        raise UsageError(f"trust {file.name}: only {' and '.join(_PICKLES)} files need it; ONNX files are used as they are")
    if not file.is_file():
        raise UsageError(f"trust {file}: no such file")
    target = file.with_suffix(".onnx")
    if target.exists():
        raise UsageError(f"trust {file.name}: {target} exists; use it, or move it away")
    if not is_trusted(root, file_sha256(file)):
        names = foreign_globals(file)
        told = f"; it names {', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}" if names else ""
        say_notice(f"{file.name} can run any code when it is loaded{told}. Trust it only if you trained it, or know who did")
        if not yes and not _agreed(file.name):
            raise UsageError(f"trust {file.name}: not trusted; nothing was loaded. Without a terminal, --yes says that you do")
        remember(root, file)
    say_notice("making the ONNX file; a minute or less")
    made = to_onnx(root, file, size)
    if as_json:
        say_json({"onnx": str(made), "sha256": file_sha256(file)})
    else:
        say(f"written: {made}")
        say('put it under the workspace and name it in the settings of your game, as detector = "FILE"; then: secondseat games check')


def _agreed(name: str) -> bool:
    """Asked on a terminal; elsewhere it takes --yes."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"Trust {name}? Type yes: ")  # what is printed on stdout may be read by a program
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"
