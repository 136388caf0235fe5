"""Wayland sessions, in which programs see neither the screen nor other programs' windows and keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

WAYLAND_REMEDY: Final = (
    "log in to an X11 session, or run the game in an X server of its own (Xephyr, or Xwayland with -geometry) and set DISPLAY to that"
)


def wayland_session(environ: Mapping[str, str] | None = None) -> str:
    """What says that this is a Wayland session; empty when it is none."""
    environ = os.environ if environ is None else environ
    if environ.get("WAYLAND_DISPLAY"):
        return f"WAYLAND_DISPLAY={environ['WAYLAND_DISPLAY']}"
    return "XDG_SESSION_TYPE=wayland" if environ.get("XDG_SESSION_TYPE") == "wayland" else ""
