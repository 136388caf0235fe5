"""Without Ultralytics everything works but training a detector; without a network everything works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NO_ULTRALYTICS = """
import importlib, pkgutil, sys
from pathlib import Path

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "ultralytics":
            raise ModuleNotFoundError("No module named 'ultralytics'", name="ultralytics")

sys.meta_path.insert(0, Missing())
workspace = Path(sys.argv[1])
for room in ("data", "engine", "league", "trainers", "tui"):
    for module in pkgutil.walk_packages([room], room + "."):
        importlib.import_module(module.name)

from engine.record_arena import record_session
from engine.training import train_levels
record_session(workspace, "expert", 5, 6.0)
print(train_levels(workspace, "all", quick=True, epochs=1).text())

from tui.cli import main
assert main(["--workspace", str(workspace), "train", "detector", "--quick"]) == 1
assert not list((workspace / "models" / "detector").glob("*")), "told before anything was made"

import importlib.metadata as metadata
known = metadata.version

def version(name):
    if "ultralytics" in name:
        raise metadata.PackageNotFoundError(name)
    return known(name)

metadata.version = version
assert main(["doctor"]) == 0
"""

NO_NETWORK = '''
import sys
from pathlib import Path

asked = []

def watch(event, values):
    """Every way out of this machine: names looked up, and addresses knocked at that are not its own."""
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        asked.append((event, values[0]))
    elif event in ("socket.connect", "socket.sendto"):
        address = values[1]
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            asked.append((event, address))

sys.addaudithook(watch)
from engine.record_arena import record_session
from tui.cli import main
record_session(Path(sys.argv[1]), "expert", 5, 3.0)
assert main(["doctor", "--deep"]) == 0
assert main(["--workspace", sys.argv[1], "record", "--source", "arena", "--pilot", "expert", "--for", "2s", "--headless"]) == 0
from data.offline import stay_offline
stay_offline()
import openvino, ultralytics
from trainers.networks.yolo import build_network
build_network(["a", "b"])
print("asked:", asked)
import socket
try:
    socket.getaddrinfo("example.invalid", 80)
except OSError:
    pass
assert asked[-1:] == [("socket.getaddrinfo", "example.invalid")], "the trial bites"
'''


def run(code: str, workspace: Path) -> subprocess.CompletedProcess[str]:
    own = {name: str(workspace) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")}
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")} | own
    environment["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # compiled rules
    return subprocess.run(
        [sys.executable, "-c", code, str(workspace / "ws")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.timeout(120)
def test_without_ultralytics_everything_but_training_a_detector_works(tmp_path: Path) -> None:
    done = run(NO_ULTRALYTICS, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "is promoted: it flies" in done.stdout
    assert "ultralytics is not installed (AGPL-3.0, see the README)" in done.stderr
    assert "ultralytics is not installed (AGPL-3.0, see the README): detectors run, but none can be trained" in done.stdout


@pytest.mark.timeout(120)
def test_nothing_reaches_for_the_network(tmp_path: Path) -> None:
    done = run(NO_NETWORK, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "asked: []" in done.stdout
