"""The floors of the house, and rules that a reader cannot be asked to check by eye."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("data", "trainers", "league", "engine", "tui")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
LONGEST_LINES = 480


def told(path: Path, node: ast.AST, what: str) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {what}"


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Every call with its dotted name (``os.fork``; ``fork`` when imported by name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def starts_afresh(node: ast.expr | None) -> bool:
    """``forkserver`` forks too, but from a fresh process that has imported modules and done nothing else."""
    return isinstance(node, ast.Constant) and node.value in {"spawn", "forkserver"}


def forks(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Ways of starting a process that could fork a live one (torch, X and video threads do not survive that)."""
    found: list[tuple[ast.AST, str]] = []
    for call, name in calls(tree):
        last = name.rpartition(".")[2]
        if last in {"fork", "forkpty"} and name.partition(".")[0] in {"os", "pty", "fork", "forkpty"}:
            found.append((call, f"{name}: processes are spawned, never forked"))
        elif last in {"get_context", "set_start_method"}:
            if not starts_afresh(call.args[0] if call.args else keyword(call, "method")):
                found.append((call, f"{name}: say 'spawn'"))
        elif name in {f"{m}.{what}" for m in ("multiprocessing", "mp") for what in ("Process", "Pool", "Queue", "Pipe", "Manager")}:
            found.append((call, f"{name}: take it from get_context('spawn')"))
        elif last == "ProcessPoolExecutor" and keyword(call, "mp_context") is None:
            found.append((call, "ProcessPoolExecutor without mp_context"))
        elif last == "DataLoader":
            workers = keyword(call, "num_workers")
            if workers is not None and not is_constant(workers, 0) and keyword(call, "multiprocessing_context") is None:
                found.append((call, "DataLoader workers are forked by default"))
        elif keyword(call, "preexec_fn") is not None:
            found.append((call, "preexec_fn runs between fork and exec"))
    return found


def unsafe(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Calls that would run a stranger's file as code, or a stranger's text as a shell line."""
    found: list[tuple[ast.AST, str]] = []
    for call, name in calls(tree):
        shell = keyword(call, "shell")
        if shell is not None and not is_constant(shell, False):
            found.append((call, "shell=True"))
        if name in {"pickle.load", "pickle.loads", "pickle.Unpickler", "os.system", "eval", "exec", "marshal.loads"}:
            found.append((call, f"{name}: files are data, never code"))
        if name == "torch.load" and not is_constant(keyword(call, "weights_only"), True):
            found.append((call, "torch.load without weights_only=True"))
        if name in {"np.load", "numpy.load"} and is_constant(keyword(call, "allow_pickle"), True):
            found.append((call, "numpy.load with allow_pickle=True"))
        if name == "print":
            found.append((call, "print"))
    return found


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    assert len(SOURCES) > 30
    return {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in SOURCES}


def test_a_room_imports_only_from_floors_below() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    found = str(program) if program.exists() else shutil.which("lint-imports")
    assert found, "import-linter is not installed: make setup"
    done = subprocess.run([found, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stdout


def test_nothing_forks(trees: dict[Path, ast.Module]) -> None:
    assert [told(path, node, what) for path, tree in trees.items() for node, what in forks(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()",
        "multiprocessing.get_context('fork')",
        "multiprocessing.get_context()",
        "mp.Process(target=f)",
        "ProcessPoolExecutor(2)",
        "DataLoader(rows, num_workers=2)",
        "subprocess.Popen(line, preexec_fn=os.setsid)",
    ],
)
def test_the_search_for_forks_finds_them(code: str) -> None:
    assert forks(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "multiprocessing.get_context('spawn').Process(target=f)",
        "multiprocessing.get_context('forkserver').Process(target=f)",
        "DataLoader(rows, num_workers=0)",
    ],
)
def test_the_search_for_forks_lets_spawning_pass(code: str) -> None:
    assert not forks(ast.parse(code))


def test_no_file_or_text_is_run_as_code(trees: dict[Path, ast.Module]) -> None:
    found = [told(p, node, what) for p, tree in trees.items() for node, what in unsafe(tree) if what != "print"]
    assert found == []


def test_only_the_command_line_prints(trees: dict[Path, ast.Module]) -> None:
    allowed = ROOT / "tui"
    found = [told(p, n, w) for p, t in trees.items() if allowed not in p.parents for n, w in unsafe(t) if w == "print"]
    assert found == []


def test_files_stay_short_enough_to_read() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_LINES} == {}


def test_platform_modules_are_imported_where_they_are_used(trees: dict[Path, ast.Module]) -> None:
    """pynput, Xlib and mss raise at import on a machine without a display: never at the top of a common module."""
    found: list[str] = []
    for path, tree in trees.items():
        if path.parent == ROOT / "engine" / "platforms":
            continue
        for node in tree.body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [told(path, node, name) for name in names if name.partition(".")[0] in {"pynput", "Xlib", "mss", "keyboard"}]
    assert found == []
