"""What is imported when: proven in fresh interpreters, by what stands in ``sys.modules`` afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEARNING = ("torch", "torchvision", "ultralytics", "openvino", "onnxruntime", "cv2", "tensorboard")


def loaded_by(code: str, *names: str) -> list[str]:
    """Which of the named packages a fresh interpreter has loaded after running the code."""
    told = f"{code}\nimport sys, json\nprint('\\n' + json.dumps([n for n in {names!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_probe_itself_sees_a_loaded_package() -> None:
    assert loaded_by("import pydantic", "pydantic", "torch") == ["pydantic"]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_library(option: str) -> None:
    heavy = (*LEARNING, "textual", "rich", "typer", "pydantic", "numpy", "pyarrow", "av", "mss", "aiohttp", "keyring")
    assert loaded_by(f"from tui.cli import main\nassert main([{option!r}]) == 0", *heavy) == []


def test_settings_commands_load_neither_torch_nor_textual() -> None:
    assert loaded_by("from tui.cli import main\nassert main(['config', 'show', '--json']) == 0", *LEARNING, "textual") == []


def test_doctor_loads_no_learning_library() -> None:
    assert loaded_by("from tui.cli import main\nassert main(['doctor', '--json']) == 0", *LEARNING, "textual") == []


def test_every_module_of_data_imports_without_learning_libraries_or_the_face() -> None:
    code = (
        "import importlib, pkgutil, data\n"
        "names = [m.name for m in pkgutil.walk_packages(data.__path__, 'data.')]\n"
        "assert len(names) > 5\n"
        "for name in names: importlib.import_module(name)"
    )
    assert loaded_by(code, "torch", "torchvision", "ultralytics", "textual", "trainers", "league", "engine", "tui") == []


def command() -> str:
    """The installed console script of this environment."""
    found = Path(sys.executable).parent / ("secondseat.exe" if os.name == "nt" else "secondseat")
    assert found.exists(), "install the project first: make setup"
    return str(found)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder whose packages carry our names and fail when somebody imports them."""
    for name in ("data", "engine", "tui", "trainers", "league"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package was imported')\n", encoding="utf-8")
    return tmp_path


def test_the_command_uses_our_packages_wherever_it_is_started(hostile_folder: Path) -> None:
    for words in (["config", "show", "--json"], ["doctor", "--json"]):
        done = subprocess.run([command(), *words], cwd=hostile_folder, capture_output=True, text=True, timeout=50, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)


def test_children_of_the_command_use_our_packages_too(hostile_folder: Path) -> None:
    code = (
        "import os, subprocess, sys\n"
        "from tui.cli import main\n"
        "assert main(['--version']) == 0\n"
        f"os.chdir({str(hostile_folder)!r})\n"
        "sys.exit(subprocess.run([sys.executable, '-c', 'import data; print(data.__file__)']).returncode)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert Path(done.stdout.splitlines()[-1]).parent == ROOT / "data"


def test_a_child_without_a_safe_path_would_get_the_wrong_package(hostile_folder: Path) -> None:
    """The trial bites: this is what the two tests above protect from."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONSAFEPATH", "PYTHONPATH"}}
    done = subprocess.run(
        [sys.executable, "-c", "import data"], cwd=hostile_folder, env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    assert "the wrong package" in done.stderr
