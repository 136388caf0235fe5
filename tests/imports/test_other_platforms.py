"""Windows and macOS import nothing that only Linux has, and what is chosen by platform is chosen right.

A fresh interpreter loads the libraries as they are here, then calls itself another platform, hides the modules that
are missing there, and imports every module of ours anew.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ELSEWHERE = {
    "win32": ("fcntl", "termios", "tty", "pty", "pwd", "grp", "resource", "Xlib", "evdev"),
    "darwin": ("Xlib", "evdev", "msvcrt", "winreg"),
}
"""Modules that a platform does not have."""
NOT_THERE = {
    "win32": ("engine.platforms.x11", "engine.platforms.xlib", "tui.driver"),
    "darwin": ("engine.platforms.x11", "engine.platforms.xlib"),
}
"""Modules of ours that are never imported there (``x11`` stands for all that begin with it)."""

PRETEND = """
import importlib, importlib.abc, os, pathlib, pkgutil, sys

PLATFORM, HIDDEN, NOT_THERE = {platform!r}, {hidden!r}, {not_there!r}
ROOMS = ("data", "engine", "tui", "league")
names = [m.name for room in ROOMS for m in pkgutil.walk_packages([room], room + ".")] if {everything} else []

class Missing(importlib.abc.MetaPathFinder):
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            Missing.asked.append(name)
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

def pretend():
    for name in names:  # libraries choose by platform as they are imported: let them do it as what this machine is
        importlib.import_module(name)
    for name in [n for n in sys.modules if n.partition(".")[0] in ROOMS or n.partition(".")[0] in HIDDEN]:
        del sys.modules[name]
    sys.meta_path.insert(0, Missing())
    sys.platform = PLATFORM
    if PLATFORM == "win32":
        pathlib.WindowsPath = pathlib.PosixPath  # paths stay those of this machine
        os.name = "nt"

pretend()
for name in names:
    if not name.startswith(NOT_THERE):
        importlib.import_module(name)
assert Missing.asked == [], Missing.asked
assert not [n for n in sys.modules if n.startswith(NOT_THERE)], "imported by another module"
"""


def run(platform: str, code: str, everything: bool = True) -> str:
    pretend = PRETEND.format(platform=platform, hidden=ELSEWHERE[platform], not_there=NOT_THERE[platform], everything=everything)
    command = [sys.executable, "-c", f"{pretend}\n{code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


ON_WINDOWS = """
import types
sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda descriptor, mode, count: None, LK_NBLCK=2, LK_UNLCK=0)
from data.geometry import Rect
from tests.support.win32 import FakeWin32
import engine.platforms.windows_api as api
desk = FakeWin32()
desk.focus(desk.open("My Game", Rect(-1920, -200, 640, 360)))
api.load_calls = desk.calls

from engine.platforms import current_port
assert current_port().name == "windows"
from engine.input.hotkeys import Hotkeys
hotkeys = Hotkeys(lambda name: None)
assert hotkeys.start() == "windows"
hotkeys.stop()
from engine.doctor import checks
found = {check.name: check for check in checks()}
assert not [c for c in found.values() if "could not be checked" in c.text], found
assert "low-level hooks" in found["hotkeys"].text, found["hotkeys"]
assert "SendInput" in found["injection"].text

from data.workspace import user_config_folder, user_data_folder
from engine.endpoint import Place, endpoint_path
from engine.runtime.stdio import state_folder
local = pathlib.Path(os.environ["LOCALAPPDATA"])
assert user_data_folder() == state_folder() == local / "secondseat"
assert user_config_folder() == pathlib.Path(os.environ["APPDATA"]) / "secondseat"
path = endpoint_path()
assert path == local / "secondseat" / "run" / "engine.json", path
place = Place(path)
place.tell(12345, "secret")
assert path.stat().st_mode & 0o77 == path.parent.stat().st_mode & 0o77 == 0
place.leave()

from engine import doctor
sys.modules["winreg"] = types.SimpleNamespace(
    HKEY_LOCAL_MACHINE=1, OpenKey=lambda root, path: open(os.devnull), QueryValueEx=lambda key, name: (long, 4)
)
long = 0
assert "letters leave too few" in doctor._long_path(local / ("x" * 200))
assert doctor._long_path(pathlib.Path("/short")) == ""
long = 1
assert doctor._long_path(local / ("x" * 200)) == ""

from tui.start import why_not_here
os.environ.pop("TERM", None)
sys.stdin = types.SimpleNamespace(isatty=lambda: True)
shown, sys.stdout = sys.stdout, sys.stdin
assert why_not_here() == ""
sys.stdout = shown
"""


ON_MACOS = """
from tests.support.macos import FakeMac
mac = FakeMac()
sys.modules.update(mac.modules())
from engine.platforms import current_port
assert current_port().name == "macos"
from data.workspace import user_data_folder
assert user_data_folder() == pathlib.Path.home() / "Library" / "Application Support" / "secondseat"
from engine.doctor import checks

def found():
    return {check.name: check for check in checks()}

assert found()["hotkeys"].state == found()["injection"].state == "ok"
mac.granted.clear()
for name, permission in (("capture", "Screen Recording"), ("hotkeys", "Input Monitoring"), ("injection", "Accessibility")):
    check = found()[name]
    assert f"macOS has not granted {permission}" in check.text, check
    assert f"Privacy & Security, {permission}" in check.remedy, check
"""


def test_windows_imports_nothing_of_linux_and_chooses_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert int(run("win32", f"{ON_WINDOWS}\nprint(len(names))")) > 150


def test_macos_imports_nothing_of_linux_or_windows_and_asks_for_its_permissions() -> None:
    assert int(run("darwin", f"{ON_MACOS}\nprint(len(names))")) > 150


def test_the_trial_bites() -> None:
    code = "import data.locks\nsys.platform = 'linux'\nwith open('README.md', 'rb') as f: data.locks.try_lock(f)"
    with pytest.raises(AssertionError, match="No module named 'fcntl'"):
        run("win32", code, everything=False)
