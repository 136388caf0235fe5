"""Showing a file in the desktop's own program for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def opener(environ: Mapping[str, str], platform: str = sys.platform) -> list[str]:
    """The command that opens a file here; empty where nobody would see it, or there is none."""
    if environ.get("SSH_CONNECTION"):
        return []
    if platform == "darwin":
        return ["open"]
    if platform == "win32":
        return ["cmd", "/c", "start", ""]
    desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return ["xdg-open"] if desktop and shutil.which("xdg-open", path=environ.get("PATH")) else []


def open_file(path: Path) -> bool:
    """Open it, without waiting; False where it can only be said where it lies. Raises OSError when the program cannot be started."""
    command = opener(os.environ)
    if not command:
        return False
    null = subprocess.DEVNULL
    subprocess.Popen([*command, str(path)], stdin=null, stdout=null, stderr=null, start_new_session=True)
    return True
