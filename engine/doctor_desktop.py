"""The doctor's look at the desktop: the screen, capture, hotkeys and injection, as each platform has them."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Literal

from data.settings import Settings

State = Literal["ok", "warn", "missing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. ``remedy`` is empty when nothing needs doing."""

    name: str
    state: State
    text: str
    remedy: str = ""


def display() -> Check:
    if not _is_x11():
        from engine.platforms import PlatformError, current_port

        try:
            port = current_port()
        except PlatformError as error:
            return _missing("display", error)
        scale = port.scale()
        port.close()
        return Check("display", "ok", f"the desktop of this session{f', scaled to {scale:.0%}' if scale != 1.0 else ''}")
    shown = os.environ.get("DISPLAY", "")
    if _is_remote(shown):
        return Check("display", "warn", f"DISPLAY={shown} is on another machine and was not asked", "capture and flying need a local one")
    from engine.platforms.port import PlatformError
    from engine.platforms.wayland import WAYLAND_REMEDY, wayland_session

    try:
        from engine.platforms.xlib import open_display

        connection = open_display()
    except PlatformError as error:
        return _missing("display", error, "only the arena can be recorded and flown here")
    except ImportError:
        return Check("display", "missing", "the package python-xlib is not installed", "reinstall secondseat")
    try:
        screen, session = connection.screen(), wayland_session()
        text = f"X11 {shown} {screen.width_in_pixels}x{screen.height_in_pixels}"
        if session:
            return Check("display", "warn", f"{text} in a Wayland session ({session}): the screen may be all black", WAYLAND_REMEDY)
        return Check("display", "ok", text)
    finally:
        connection.close()


def capture() -> Check:
    if _is_x11() and (not os.environ.get("DISPLAY") or _is_remote(os.environ["DISPLAY"])):
        return Check("capture", "missing", "no screen to capture; the arena works without", "see display")
    refused = _permission("SEEING")
    if refused:
        return Check("capture", "missing", *_split(refused))
    try:
        mss = importlib.import_module("mss")
        with mss.MSS() as grabber:
            monitors = grabber.monitors[1:]
            status = str(getattr(grabber, "performance_status", "") or "")
    except ImportError:
        return Check("capture", "missing", "the package mss is not installed", "reinstall secondseat")
    except Exception as error:  # mss raises its own, X's and the system's errors here
        return Check("capture", "missing", f"the screen cannot be read: {' '.join(str(error).split())}", "see display")
    sizes = ", ".join(f"{m['width']}x{m['height']}{m['left']:+d}{m['top']:+d}" for m in monitors)
    slow = "unavailable" in status.lower() or "slow" in status.lower()
    return Check("capture", "warn" if slow else "ok", f"mss, {len(monitors)} monitor{'s' if len(monitors) != 1 else ''}: {sizes}")


def hotkeys(settings: Settings) -> Check:
    keys = ", ".join(key.upper() for key in (settings.keys.record, settings.keys.save, settings.keys.discard, settings.actuator.stop_key))
    test = "`secondseat doctor --keys` tests them"
    if sys.platform == "win32":
        text = f"{keys} from any focus, low-level hooks, but not while a window that runs as administrator has it; {test}"
        return Check("hotkeys", "ok", text)
    if sys.platform == "darwin":
        refused = _permission("HEARING")
        if refused:
            return Check("hotkeys", "warn", f"{keys} work in this terminal only: {_split(refused)[0]}", _split(refused)[1])
        return Check("hotkeys", "ok", f"{keys} from any focus, pynput; {test}")
    connection = _x_or_none("XInputExtension")
    if connection is None:
        return Check("hotkeys", "warn", f"{keys} work in this terminal only: no X server with XInput2", "see display")
    try:
        xinput = importlib.import_module("Xlib.ext.xinput")  # connection.xinput_query_version asks for 2.0 only
        opcode = connection.display.get_extension_major("XInputExtension")
        version = xinput.XIQueryVersion(display=connection.display, opcode=opcode, major_version=2, minor_version=2)
        found = (int(version.major_version), int(version.minor_version))
    finally:
        connection.close()
    if found < (2, 1):
        return Check(
            "hotkeys",
            "warn",
            f"XInput {found[0]}.{found[1]} misses events while a game grabs the keyboard",
            "use an X server with XInput 2.1",
        )
    return Check("hotkeys", "ok", f"{keys} from any focus, XInput {found[0]}.{found[1]}; {test}")


def injection() -> Check:
    if sys.platform == "win32":
        return Check("injection", "ok", "SendInput; a window that runs as administrator takes none, and nothing here gets round that")
    if sys.platform == "darwin":
        refused = _permission("PRESSING")
        return Check("injection", "missing", *_split(refused)) if refused else Check("injection", "ok", "Quartz events through pynput")
    connection = _x_or_none("XTEST")
    if connection is None:
        return Check("injection", "missing", "no X server with XTEST; only the arena can be flown", "see display")
    connection.close()
    return Check("injection", "ok", "XTEST")


def _is_x11() -> bool:
    return sys.platform not in {"win32", "darwin"}


def _is_remote(display: str) -> bool:
    host = display.rpartition(":")[0]
    return host not in {"", "unix", "localhost", "127.0.0.1"} and not host.startswith("/")


def _x_or_none(extension: str) -> Any:
    """A connection to an X server with the extension, else None."""
    from engine.platforms.port import PlatformError

    if not os.environ.get("DISPLAY") or _is_remote(os.environ["DISPLAY"]):
        return None
    try:
        from engine.platforms.xlib import open_display

        connection = open_display()
    except (PlatformError, ImportError):
        return None
    if connection.has_extension(extension):
        return connection
    connection.close()
    return None


def _permission(name: Literal["SEEING", "HEARING", "PRESSING"]) -> str:
    """Why macOS would not let us; empty when it would, and elsewhere."""
    if sys.platform != "darwin":
        return ""
    from engine.platforms import macos_permissions

    return macos_permissions.refusal(importlib.import_module("Quartz"), getattr(macos_permissions, name))


def _missing(name: str, error: Exception, otherwise: str = "") -> Check:
    what, remedy = _split(str(error))
    return Check(name, "missing", what, remedy or otherwise)


def _split(text: str) -> tuple[str, str]:
    what, _, remedy = text.partition("; ")
    return what, remedy
