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
from pathlib import Path
from typing import Any, Final

from data.files import free_bytes, write_refusal
from data.settings import Settings
from engine import doctor_desktop as desktop
from engine.doctor_desktop import Check

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
_LONGEST_ROOT: Final = 140
KEYRING_NAME: Final = ("secondseat", "coach")
_KEYRING_DEADLINE_S: Final = 1.0


def checks(settings: Settings | None = None, *, deep: bool = False) -> list[Check]:
    """Look at everything, in the order in which a person meets it; takes a fraction of a second.

    ``deep`` also imports torch, to ask it for a GPU (seconds).
    """
    settings = settings or Settings()
    tools: list[tuple[str, Callable[[], Check]]] = [
        ("display", desktop.display),
        ("capture", desktop.capture),
        ("hotkeys", lambda: desktop.hotkeys(settings)),
        ("injection", desktop.injection),
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
    too_long = _long_path(root)
    if too_long:
        return Check("disk", "warn", *_split(too_long))
    free = free_bytes(root)
    text = f"{root}: {free / GB:.0f} GB free = {free / BYTES_PER_HOUR:.0f} h"
    if free < GB:
        return Check("disk", "missing", text, "free some space, or choose another folder in [paths] workspace")
    return Check("disk", "warn" if free < 5 * GB else "ok", text, "free some space" if free < 5 * GB else "")


def _long_path(root: Path) -> str:
    """Windows takes paths of 260 letters unless it was told otherwise; a session's are up to a hundred longer than the workspace's."""
    if sys.platform != "win32" or len(str(root)) <= _LONGEST_ROOT or _takes_long_paths():
        return ""
    return f"{root}: {len(str(root))} letters leave too few for what is inside; choose a shorter one ([paths] workspace)"


def _takes_long_paths() -> bool:
    winreg: Any = importlib.import_module("winreg")
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\FileSystem") as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return False


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
        "licence",
        "warn",
        f"{own}; ultralytics is not installed (AGPL-3.0, see the README): detectors run, but none can be trained",
        "pip install ultralytics-opencv-headless",
    )
