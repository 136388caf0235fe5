"""``secondseat web``: the face of a running engine in a browser on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Final

import typer

from tui.commands.engine_calls import Name
from tui.commands.invocation import Invocation, UsageError, invocation_of, new_app, say
from tui.commands.running import CommandError
from tui.web_door import Door, is_loopback

app = new_app("The face of a running engine in a browser on this machine.")

PORT: Final = 8840
REDIRECT: Final = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Secondseat</a>\n'


@app.command()
def web(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="on this machine only; 0 takes a free one")] = PORT,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="a loopback address")] = "127.0.0.1",
    name: Name = "",
    start: Annotated[bool, typer.Option("--start", help="start a headless engine when none runs; it goes on afterwards")] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="open the browser too")] = False,
) -> None:
    """Print an address with a secret in it and serve the face there until Ctrl-C. The engine goes on.

    From another machine, over SSH: ssh -L 8840:127.0.0.1:8840 HOST, and open there what is printed here
    """
    if not is_loopback(host):
        raise UsageError(f"--host {host} is refused: whoever reached it could record and fly; {tunnel(port or PORT)}")
    invocation = invocation_of(context)
    engine = _engine(name, start, invocation)
    command = [sys.executable, "-m", "tui.cli", *invocation.words(), "attach", "--name", engine]
    asyncio.run(_serve(command, "127.0.0.1" if host == "localhost" else host, port, open_browser))


def tunnel(port: int) -> str:
    """What to type at another machine to reach this port."""
    return f"from another machine: ssh -L {port}:127.0.0.1:{port} {getpass.getuser()}@{socket.gethostname()}"


def _engine(name: str, start: bool, invocation: Invocation) -> str:
    """The name of the engine that is to be shown, started when there is none and that is wished."""
    from engine.endpoint import DEFAULT_NAME, endpoint_name
    from engine.remote import RemoteError, choose, running

    try:
        return endpoint_name(choose(name))
    except RemoteError as error:
        if not start and not running():
            raise CommandError(f"{error}, or let this do it: secondseat web --start") from error
        if not start or (running() and not name):
            raise
    from tui.spawn import start_headless

    hello = start_headless(name or DEFAULT_NAME, invocation.words())
    say(f"started a headless engine, {hello.name} (process {hello.pid}); secondseat stop ends it")
    return hello.name


async def _serve(command: list[str], host: str, port: int, open_browser: bool) -> None:
    from tui.web import WebFace

    door, stop = Door(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C ends asyncio.run
            loop.add_signal_handler(number, stop.set)
    with contextlib.ExitStack() as at_end:

        def ready(port: int) -> None:
            address = door.address(host, port)
            say(address)
            say("  open it in a browser on this machine; keep it to yourself: it gives the controls away")
            say(f"  {tunnel(port)}")
            say("  in a browser F5 may reload the page: r records, v saves, x discards, ! stops everything")
            say("Ctrl-C ends it; the engine goes on.")
            sys.stdout.flush()
            if open_browser:
                at_end.enter_context(opened(address))

        try:
            await WebFace(command, door).serve(host, port, ready, stop)
        except OSError as error:
            raise CommandError(f"port {port} of {host}: {os.strerror(error.errno or 0)}; --port 0 takes a free one") from error
    say("ended; the engine goes on")


@contextlib.contextmanager
def opened(address: str) -> Generator[None]:
    """Open the person's browser by way of a file that only they can read: a command line is everybody's to read."""
    import webbrowser

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        say("no display here to open a browser on: open the address yourself")
        yield
        return
    with redirect(address) as path:

        def open_it() -> None:
            if not webbrowser.open(path.as_uri()):
                say("no browser was found: open the address yourself")

        threading.Thread(target=open_it, name="secondseat-browser", daemon=True).start()  # some browsers are waited for
        yield


@contextlib.contextmanager
def redirect(address: str) -> Generator[Path]:
    """A page that only this person can read and that leads to the address; it is gone afterwards."""
    from engine.remote import runtime_folder

    path = Path(runtime_folder()) / f"web-{os.getpid()}.html"
    path.touch(mode=0o600)
    try:
        path.write_text(REDIRECT.format(address=address), encoding="utf-8")
        yield path
    finally:
        path.unlink(missing_ok=True)
