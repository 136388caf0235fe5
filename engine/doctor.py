"""What this machine can do, and what to do about the rest.

Every check is quick, changes nothing, never raises and never reaches for the network; the learning libraries are
imported only when asked for (``deep``).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import locale
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from data.files import free_bytes, write_refusal
from data.settings import Settings

State = Literal["ok", "warn", "missing"]

GB: Final = 1_000_000_000
BYTES_PER_HOUR: Final = 2 * GB
"""What an hour of recording takes at most (1280x720 at 30 fps)."""
COACH_KEY_VARIABLES: Final = (
    "SECONDSEAT_COACH_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)
KEYRING_NAME: Final = ("secondseat", "coach")
_KEYRING_DEADLINE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. ``remedy`` is empty when nothing needs doing."""

    name: str
    state: State
    text: str
    remedy: str = ""


def checks(settings: Settings | None = None, *, deep: bool = False) -> list[Check]:
    """Look at everything, in the order in which a person meets it; takes a fraction of a second.

    ``deep`` also imports torch, to ask it for a GPU (seconds).
    """
    settings = settings or Settings()
    tools: list[tuple[str, Callable[[], Check]]] = [
        ("display", _display),
        ("capture", _capture),
        ("hotkeys", lambda: _hotkeys(settings)),
        ("injection", _injection),
        ("detector", lambda: _detector(settings)),
        ("gpu", lambda: _gpu(deep)),
        ("disk", lambda: _disk(settings)),
        ("coach key", _coach_key),
        ("terminal", _terminal),
        ("python", _python),
        ("licence", _licence),
    ]
    return [_guarded(name, look) for name, look in tools]


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except Exception as error:
        return Check(name, "warn", f"could not be checked: {type(error).__name__}: {' '.join(str(error).split())}")


def _display() -> Check:
    if sys.platform in {"win32", "darwin"}:
        return Check("display", "ok", "the desktop of this session")
    shown = os.environ.get("DISPLAY", "")
    if _is_remote(shown):
        return Check("display", "warn", f"DISPLAY={shown} is on another machine and was not asked", "capture and flying need a local one")
    from engine.platforms.port import PlatformError

    try:
        from engine.platforms.xlib import open_display

        connection = open_display()
    except PlatformError as error:
        what, _, remedy = str(error).partition("; ")
        return Check("display", "missing", what, remedy or "only the arena can be recorded and flown here")
    except ImportError:
        return Check("display", "missing", "the package python-xlib is not installed", "reinstall secondseat")
    try:
        screen = connection.screen()
        return Check("display", "ok", f"X11 {shown} {screen.width_in_pixels}x{screen.height_in_pixels}")
    finally:
        connection.close()


def _is_remote(display: str) -> bool:
    host = display.rpartition(":")[0]
    return host not in {"", "unix", "localhost", "127.0.0.1"} and not host.startswith("/")


def _capture() -> Check:
    if sys.platform not in {"win32", "darwin"} and (not os.environ.get("DISPLAY") or _is_remote(os.environ["DISPLAY"])):
        return Check("capture", "missing", "no screen to capture; the arena works without", "see display")
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


def _extension(name: str) -> Any:
    """An X extension's connection while it is there, else None."""
    from engine.platforms.xlib import open_display

    connection = open_display()
    return connection if connection.has_extension(name) else connection.close()


def _hotkeys(settings: Settings) -> Check:
    keys = ", ".join(key.upper() for key in (settings.keys.record, settings.keys.save, settings.keys.discard, settings.actuator.stop_key))
    if sys.platform in {"win32", "darwin"}:
        if importlib.util.find_spec("pynput") is None:
            return Check(
                "hotkeys", "missing", "the package pynput is not installed; keys work in this terminal only", "reinstall secondseat"
            )
        return Check("hotkeys", "ok", f"{keys} through pynput")
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
    return Check("hotkeys", "ok", f"{keys} from any focus, XInput {found[0]}.{found[1]}")


def _injection() -> Check:
    if sys.platform == "win32":
        return Check("injection", "ok", "SendInput; a game that runs as administrator takes none")
    if sys.platform == "darwin":
        return Check("injection", "warn", "needs the Accessibility permission for this terminal", "grant it in the privacy settings")
    connection = _x_or_none("XTEST")
    if connection is None:
        return Check("injection", "missing", "no X server with XTEST; only the arena can be flown", "see display")
    connection.close()
    return Check("injection", "ok", "XTEST")


def _x_or_none(extension: str) -> Any:
    from engine.platforms.port import PlatformError

    if not os.environ.get("DISPLAY") or _is_remote(os.environ["DISPLAY"]):
        return None
    try:
        return _extension(extension)
    except (PlatformError, ImportError):
        return None


def _detector(settings: Settings) -> Check:
    profile = settings.profile()
    runtimes = [name for name in ("openvino", "onnxruntime", "torch") if importlib.util.find_spec(name)]
    from engine.perception.card import DetectorError, weights_path

    try:
        weights = weights_path(profile, settings.workspace().root)
    except DetectorError as error:
        return Check("detector", "missing", *_split(str(error)))
    if weights is None:
        return Check(
            "detector", "warn", f"{profile.name}: none; sessions hold pictures and events only", f"[games.{profile.name}] detector"
        )
    if not runtimes:
        return Check(
            "detector", "missing", "nothing to run it: neither openvino, onnxruntime nor torch is installed", "reinstall secondseat"
        )
    return Check(
        "detector", "ok", f"{profile.name}: {weights.name}, {weights.stat().st_size / 1e6:.1f} MB, runs on {' or '.join(runtimes[:2])}"
    )


def _gpu(deep: bool) -> Check:
    if deep:
        torch = importlib.import_module("torch")
        if torch.cuda.is_available():
            return Check("gpu", "ok", f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}")
        return Check("gpu", "ok", f"none that torch {torch.__version__} can use; networks run on the CPU")
    if Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        return Check("gpu", "ok", "an NVIDIA driver is here; `secondseat doctor --deep` asks torch")
    return Check("gpu", "ok", "no NVIDIA driver; networks run on the CPU")


def _disk(settings: Settings) -> Check:
    root = settings.workspace().root
    refusal = write_refusal(root) if root.exists() else _parent_refusal(root)
    if refusal:
        return Check("disk", "missing", *_split(refusal))
    free = free_bytes(root)
    text = f"{root}: {free / GB:.0f} GB free = {free / BYTES_PER_HOUR:.0f} h"
    if free < GB:
        return Check("disk", "missing", text, "free some space, or choose another folder in [paths] workspace")
    return Check("disk", "warn" if free < 5 * GB else "ok", text, "free some space" if free < 5 * GB else "")


def _parent_refusal(root: Path) -> str:
    """Why the workspace could not be made, without making it."""
    folder = next(parent for parent in root.parents if parent.exists())
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return ""
    return f"{root}: cannot be made in {folder}; choose a folder that can be written ([paths] workspace)"


def _split(text: str) -> tuple[str, str]:
    what, _, remedy = text.partition("; ")
    return what, remedy


def _coach_key(environ: Mapping[str, str] | None = None) -> Check:
    environ = os.environ if environ is None else environ
    for name in COACH_KEY_VARIABLES:
        if environ.get(name, "").strip():
            return Check("coach key", "ok", f"from {name}")
    if _keyring_has_key():
        return Check("coach key", "ok", "from the keyring")
    return Check("coach key", "warn", "none; only labelling by a coach needs one", f"set {COACH_KEY_VARIABLES[0]}")


def _keyring_has_key() -> bool:
    """Ask the keyring, for a second at most: a locked one may wait for a password that nobody types."""
    if sys.platform not in {"win32", "darwin"} and not os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return False
    found: list[bool] = []

    def ask() -> None:
        try:
            keyring = importlib.import_module("keyring")
            found.append(keyring.get_password(*KEYRING_NAME) is not None)
        except Exception:  # each backend raises its own errors, and none of them matters here
            found.append(False)

    asking = threading.Thread(target=ask, name="doctor-keyring", daemon=True)
    asking.start()
    asking.join(_KEYRING_DEADLINE_S)
    return bool(found and found[0])


def _terminal() -> Check:
    encoding = (getattr(sys.__stdout__, "encoding", "") or locale.getpreferredencoding(False)).lower()
    kind = os.environ.get("TERM", "") or ("Windows console" if os.name == "nt" else "")
    size = shutil.get_terminal_size()
    shown = f"{kind or 'no TERM'}, {size.columns}x{size.lines}, {encoding}"
    if "utf" not in encoding:
        return Check("terminal", "warn", f"{shown}: signs outside it are replaced", "choose a UTF-8 locale, e.g. LC_ALL=C.UTF-8")
    if kind in {"", "dumb"}:
        return Check("terminal", "warn", f"{shown}: the face needs a real terminal; commands work", "set TERM, e.g. xterm-256color")
    if size.columns < 80 or size.lines < 24:
        return Check("terminal", "warn", f"{shown}: small", "80x24 or more shows everything")
    return Check("terminal", "ok", shown)


def numba_cache_folder() -> Path:
    """Where compiled arena code is kept for this user (the same rule as the arena's own)."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(base) if base else Path.home() / ".cache") / "secondseat" / "numba"


def _python() -> Check:
    shown = f"{platform.python_version()}, {os.cpu_count()} cores"
    cache = numba_cache_folder()
    refusal = write_refusal(cache) if cache.exists() else _parent_refusal(cache)
    if refusal:
        return Check("python", "warn", f"{shown}; compiled code cannot be kept in {cache}: each start compiles anew", "make it writable")
    return Check("python", "ok", f"{shown}; compiled code in {cache}")


def _licence() -> Check:
    own = "AGPL-3.0-or-later"
    for name in ("ultralytics-opencv-headless", "ultralytics"):
        try:
            return Check("licence", "ok", f"{own}; {name} {importlib.metadata.version(name)} is AGPL-3.0 too")
        except importlib.metadata.PackageNotFoundError:
            continue
    return Check(
        "licence", "warn", f"{own}; ultralytics (AGPL-3.0) is not installed: detectors run, but none can be trained", "reinstall secondseat"
    )
