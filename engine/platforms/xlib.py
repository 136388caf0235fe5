"""python-xlib, imported in one place: it has no type information, so that its parts are ``Any`` here.

Only modules that need a real X server import this one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from importlib import import_module
from typing import Any

from engine.platforms.port import PlatformError
from engine.platforms.wayland import WAYLAND_REMEDY, wayland_session

X: Any = import_module("Xlib.X")
xlib_error: Any = import_module("Xlib.error")
_display: Any = import_module("Xlib.display")

log = logging.getLogger(__name__)

GONE: tuple[type[Exception], ...] = (xlib_error.BadWindow, xlib_error.BadDrawable, xlib_error.BadMatch)
"""What a request about a window raises once the window is destroyed."""

LOST: tuple[type[Exception], ...] = (xlib_error.ConnectionClosedError, OSError)
"""What any request raises once the server is gone."""


def open_display(name: str | None = None) -> Any:
    """A connection to the X server of DISPLAY. Raises PlatformError with a one-line cause."""
    shown = name or os.environ.get("DISPLAY", "")
    wayland = wayland_session()
    if not shown:
        if wayland:
            raise PlatformError(
                f"this is a Wayland session ({wayland}) without an X display: it shows no other window to programs; {WAYLAND_REMEDY}"
            )
        raise PlatformError("no display: DISPLAY is not set; run inside a desktop session, or set DISPLAY to the screen's name, e.g. :0")
    try:
        _probe_local(shown)
        connection = _display.Display(shown)
    except (xlib_error.DisplayError, xlib_error.XError, OSError, ValueError) as problem:
        hint = f"; this is a Wayland session ({wayland}): {WAYLAND_REMEDY}" if wayland else ""
        cause = str(problem).replace("\n", " ")
        raise PlatformError(f"display {shown!r} cannot be reached ({cause}); check DISPLAY and that its X server runs{hint}") from problem
    connection.set_error_handler(_log_error)
    return connection


def _probe_local(shown: str) -> None:
    """Knocks at a display of this machine. Raises OSError: python-xlib would leave its sockets open, and try TCP too."""
    match = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", shown)
    if match is None:
        return
    path = f"/tmp/.X11-unix/X{match[1]}"
    problem: OSError | None = None
    for address in (path, "\0" + path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            knock.settimeout(2.0)
            try:
                knock.connect(address)
            except OSError as error:
                problem = problem or error
            else:
                return
    raise OSError(f"no X server listens at {path}: {problem.strerror if problem else ''}")


def close_display(connection: Any) -> None:
    """Closes a connection, also one whose server is gone (python-xlib then leaves the socket open)."""
    with contextlib.suppress(*LOST):
        connection.close()
    connection.display.socket.close()


def _log_error(problem: Any, request: Any) -> None:
    """Errors of requests without a reply: a window that went away in between is ordinary."""
    log.debug("X error: %s (request %s)", problem, request)
