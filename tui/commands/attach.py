"""``secondseat attach``: the face of an engine that runs elsewhere on this machine."""

from __future__ import annotations

import typer

from tui.commands.engine_calls import Name
from tui.commands.invocation import invocation_of, new_app

app = new_app("The face of a running engine.")


@app.command()
def attach(context: typer.Context, name: Name = "") -> None:
    """Open the face onto a running engine: same screens, same keys. Several may look and command at once.

    D leaves and lets the engine go on; q asks whether to leave or to stop it. Over SSH: ssh -t HOST secondseat attach
    """
    from engine.remote import Remote, RemoteError, choose
    from tui.start import run_app

    path = choose(name)
    refusal = Remote(path).hello().refusal()
    if refusal:
        raise RemoteError(refusal)
    invocation = invocation_of(context)
    words = tuple(invocation.words())
    status = run_app(lambda: invocation.load(strict=False), debug=invocation.debug, words=words, attach_to=path)
    if status:
        raise typer.Exit(status)
