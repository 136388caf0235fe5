"""``secondseat tensorboard``: the training curves in a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Annotated

import typer

from tui.commands.invocation import new_app, say, say_json, workspace_of
from tui.commands.options import Json

app = new_app("Training curves in a browser.")


@app.command()
def tensorboard(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="on this machine only")] = 6006,
    print_only: Annotated[bool, typer.Option("--print", help="print the command instead of running it")] = False,
    as_json: Json = False,
) -> None:
    """Run TensorBoard on the models and logs of the workspace; it listens on 127.0.0.1 alone."""
    workspace = workspace_of(context)
    folders = f"models:{workspace.models},logs:{workspace.logs}"
    line = [sys.executable, "-m", "tensorboard.main", "--logdir_spec", folders, "--host", "127.0.0.1", "--port", str(port)]
    if as_json:
        say_json({"command": line, "address": f"http://127.0.0.1:{port}"})
    elif print_only:
        say(" ".join(line))
    else:
        say(f"http://127.0.0.1:{port} (Ctrl-C ends it)")
        raise typer.Exit(subprocess.run(line, env={**os.environ, "PYTHONSAFEPATH": "1"}, check=False).returncode)
