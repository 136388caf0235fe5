"""What `make` does before anything else: the pins, and the words for a machine where something is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found = dict(line.split("==") for line in lines)
    assert len(found) == len(lines) > 50
    return {canonicalize_name(name): version for name, version in found.items()}


def test_constraints_are_plain_pins() -> None:
    for name, version in pins().items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert re.fullmatch(r"[0-9][0-9A-Za-z.]*", version), f"{name}=={version}"


def test_every_dependency_is_pinned_and_allows_its_pin() -> None:
    pinned = pins()
    for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]):
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


@pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="other platforms bring other packages")
def test_the_whole_closure_is_pinned() -> None:
    """Every package that an installation brings on this machine, extras of the dependencies included."""
    pinned, seen = pins(), set[str]()
    waiting = [(Requirement(text), frozenset[str]()) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"])]
    while waiting:
        requirement, extras = waiting.pop()
        wanted = [{"extra": extra} for extra in extras or {""}]
        if requirement.marker and not any(requirement.marker.evaluate(extra) for extra in wanted):
            continue
        name = canonicalize_name(requirement.name)
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key not in seen:
            seen.add(key)
            waiting += [(Requirement(text), frozenset(requirement.extras)) for text in requires(name) or []]
    missing = {key.partition("[")[0] for key in seen} - set(pinned)
    assert missing == set()


def test_nothing_needs_a_compiler_on_linux() -> None:
    assert "evdev" not in pins()
    listening = next(Requirement(text) for text in PROJECT["dependencies"] if text.startswith("pynput"))
    assert listening.marker
    assert not listening.marker.evaluate({"sys_platform": "linux"})
    assert listening.marker.evaluate({"sys_platform": "darwin"})
    assert "1.7.7" not in listening.specifier, "it loses F keys, and ends on Python 3.13"


def test_all_eight_packages_of_the_face_and_the_brain_are_base_dependencies() -> None:
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert {"textual", "rich", "torch", "ultralytics-opencv-headless", "mss", "keyboard", "numpy", "aiohttp"} <= names


def test_only_one_opencv_is_pinned() -> None:
    assert [name for name in pins() if name.startswith("opencv")] == ["opencv-python-headless"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a fresh checkout as the set-up looks at."""
    if os.name != "posix":
        pytest.skip("the set-up script is for POSIX systems")
    (tmp_path / ".ci").mkdir()
    for name in (".ci/setup", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    return tmp_path


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def set_up(checkout: Path, what: str, path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh")
    assert shell
    return subprocess.run(
        [shell, ".ci/setup", what], cwd=checkout, env={"PATH": path, **environment}, capture_output=True, text=True, timeout=30, check=False
    )


def tools(checkout: Path, *names: str) -> str:
    """A PATH with nothing but these programs, for a user who is not root."""
    for name in names:
        found = shutil.which(name)
        assert found, name
        (checkout / "bin" / name).symlink_to(found)
    script(checkout / "bin" / "id", "echo 1000")
    return str(checkout / "bin")


def test_an_old_python_is_refused_in_words(checkout: Path) -> None:
    old = script(checkout / "old", 'case "$*" in *version_info*) exit 1;; *) echo 3.9.2;; esac')
    done = set_up(checkout, "python", tools(checkout, "dirname"), PYTHON=old)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "3.9.2" in done.stderr


def test_a_missing_venv_module_is_told_with_the_line_to_type(checkout: Path) -> None:
    bare = script(checkout / "bare", f'case "$*" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"')
    done = set_up(checkout, "python", tools(checkout, "dirname", "cat", "cksum", "rm", "date"), PYTHON=bare)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("type: sudo apt-get install python3-venv")


def test_missing_x_programs_are_told_and_required_in_the_full_check(checkout: Path) -> None:
    path = tools(checkout, "dirname")
    done = set_up(checkout, "x11", path)
    assert done.returncode == 0
    assert "X11 tests will be shown as skipped" in done.stdout
    assert "sudo apt-get update && sudo apt-get install --no-install-recommends xvfb openbox" in done.stdout
    done = set_up(checkout, "x11", path, SECONDSEAT_REQUIRE_X11="1")
    assert done.returncode == 1
    assert "X11 tests are required here" in done.stderr


def test_a_missing_browser_is_told_and_never_stops_the_tests(checkout: Path) -> None:
    done = set_up(checkout, "browser", tools(checkout, "dirname"), SECONDSEAT_REQUIRE_X11="1")
    assert done.returncode == 0
    assert "tests in a browser will be shown as skipped" in done.stdout
    assert done.stdout.strip().endswith("sudo apt-get update && sudo apt-get install --no-install-recommends chromium")


def test_a_browser_that_is_there_is_kept(checkout: Path) -> None:
    path = tools(checkout, "dirname")
    script(checkout / "bin" / "chromium-browser", "")
    done = set_up(checkout, "browser", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
