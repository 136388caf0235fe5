"""The X display of the game's screen, for an engine that was started where none is named (an SSH login, a service).

Looked for among the sockets of this machine, each tried with the authority files that are this user's own. Nothing is
asked of other users' processes or files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOCKETS: Final = Path("/tmp/.X11-unix")


@dataclass(frozen=True, slots=True)
class Found:
    """``display`` is empty when none can be used; ``text`` says what was found, or what is missing."""

    display: str
    authority: str
    text: str


def find_display(sockets: Path = SOCKETS) -> Found:
    """The first display of this machine that lets this user in."""
    if sys.platform in ("win32", "darwin"):
        return Found("", "", "")
    numbers = sorted(int(m[1]) for path in _listed(sockets) if (m := re.fullmatch(r"X(\d+)", path.name)))
    if not numbers:
        return Found(
            "", "", f"no display: DISPLAY is not set and {sockets} holds no X server's socket; log in to the desktop, or start Xvfb"
        )
    refused: list[str] = []
    authorities = list(dict.fromkeys(_authorities()))
    for number in numbers:
        display = f":{number}"
        why = ""
        for authority in authorities or [""]:
            why = _refusal(display, authority)
            if not why:
                return Found(display, authority, f"display {display} was found{f', with {authority}' if authority else ''}")
        refused.append(f"{display} ({why})")
    return Found(
        "",
        "",
        f"no display: DISPLAY is not set, and {', '.join(refused)} does not let this user in; "
        "give --display and set XAUTHORITY to the desktop session's file, or run xhost +si:localuser:$USER there",
    )


def use(found: Found) -> None:
    """From now on, this process and its children are on that display."""
    os.environ["DISPLAY"] = found.display
    if found.authority:
        os.environ["XAUTHORITY"] = found.authority


def _authorities() -> Iterator[str]:
    """Files with this user's own rights to displays, the likeliest first."""
    given = os.environ.get("XAUTHORITY")
    home, runtime = Path(os.path.expanduser("~")), Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    candidates = [Path(given)] if given else []
    candidates += [home / ".Xauthority", runtime / "gdm" / "Xauthority"]
    candidates += sorted(path for pattern in (".mutter-Xwaylandauth.*", "xauth_*", "Xauthority") for path in runtime.glob(pattern))
    for path in candidates:
        try:
            if path.is_file() and path.stat().st_uid == os.getuid():
                yield str(path)
        except OSError:
            continue


def _refusal(display: str, authority: str) -> str:
    """Why this display cannot be used with this authority; empty when it can."""
    from engine.platforms.port import PlatformError
    from engine.platforms.xlib import close_display, open_display

    before = os.environ.get("XAUTHORITY")
    if authority:
        os.environ["XAUTHORITY"] = authority
    try:
        close_display(open_display(display))
    except PlatformError as error:
        found = re.search(r"\((.*)\)", str(error))
        return " ".join((found[1] if found else str(error)).split())[:120]
    finally:
        if before is None:
            os.environ.pop("XAUTHORITY", None)
        else:
            os.environ["XAUTHORITY"] = before
    return ""


def _listed(folder: Path) -> Iterable[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
