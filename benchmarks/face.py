"""What the face costs and how quick it is, measured on a real terminal.

    python benchmarks/face.py [--seconds 20] [--presses 60] [--only load,idle,log,sessions]

``load``: the real app records, flies and trains at once; keys are pressed on its terminal and the time until the change
is painted is taken, and what it writes at 4 Hz and as over SSH (2 Hz). ``idle``: the share of a core with nothing going
on. ``log``: half a million lines: opening, filtering, scrolling. ``sessions``: 2,000 of them: opening, filtering,
scrolling. Beside the key times stands a program that does nothing but echo, on the same terminal. Prints a table and
writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "terminal")]

from ptyrun import PtyRun  # noqa: E402

TARGETS = {
    "key to paint p50, ms": 50.0,
    "key to paint p99, ms": 80.0,
    "output at 4 Hz, kB/s": 60.0,
    "idle, % of a core": 3.0,
    "log: open, ms": 100.0,
    "log: filter, ms": 100.0,
    "log: scroll p99, ms": 100.0,
    "sessions: open, ms": 100.0,
    "sessions: filter, ms": 100.0,
    "sessions: scroll p99, ms": 100.0,
}
"""What each figure is to stay below."""
LOG_LINES = 500_000
SESSIONS = 2_000
ECHO = "import sys,tty; tty.setcbreak(0)\nwhile c := sys.stdin.read(1): sys.stdout.write(f'<{c}>'); sys.stdout.flush()"


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def painted(run: PtyRun, keys: str | bytes, word: str | bytes = b"", timeout_s: float = 10.0) -> float:
    """Milliseconds from a key to the first thing painted after it, or to ``word``."""
    wanted = word.encode() if isinstance(word, str) else word
    start = len(run.output)
    begin = time.perf_counter()
    run.type(keys)
    while time.perf_counter() - begin < timeout_s:
        if wanted in run.output[start:] if wanted else len(run.output) > start:
            return (time.perf_counter() - begin) * 1e3
        time.sleep(0.0005)
    raise TimeoutError(f"nothing like {word!r} was painted after {keys!r}: {run.output[-600:]!r}")


def open_app(folder: Path, workspace: Path, env: dict[str, str] | None = None) -> PtyRun:
    homes = {name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    for home in homes.values():
        Path(home).mkdir(exist_ok=True, mode=0o700)
    homes["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # the compiled arena
    variables = {**homes, "SECONDSEAT_PATHS__WORKSPACE": str(workspace), "OMP_NUM_THREADS": "1", **(env or {})}
    run = PtyRun(folder, program=["-m", "tui.cli"], columns=120, rows=36, env=variables)
    run.wait_for("tells more", 60.0)
    time.sleep(3.0)  # what follows the start is over
    return run


def close(run: PtyRun) -> None:
    run.type("q")
    time.sleep(0.3)
    if run.process.poll() is None:
        run.type("s")
    try:
        run.process.wait(30)
    finally:
        run.close()


def echo_ms(presses: int) -> list[float]:
    """The terminal itself: a key to its echo by the smallest program."""
    with tempfile.TemporaryDirectory() as folder:
        run = PtyRun(Path(folder), program=["-c", ECHO])
        try:
            time.sleep(0.5)
            times: list[float] = []
            for _ in range(presses):
                times.append(painted(run, "j", "<j>"))
                time.sleep(0.02)
            return times
        finally:
            run.close()


def output_rate(run: PtyRun, seconds: float) -> float:
    before, begin = len(run.output), time.perf_counter()
    time.sleep(seconds)
    return (len(run.output) - before) / 1e3 / (time.perf_counter() - begin)


def prepared(workspace: Path) -> None:
    """A policy to fly and sessions to train on."""
    from engine.record_arena import record_demonstrations
    from engine.training import train_levels

    record_demonstrations(workspace, "expert", 2.0, 0, sessions=2)
    train_levels(workspace, "all", quick=True, epochs=1)


def under_load(folder: Path, seconds: float, presses: int) -> dict[str, float]:
    """Record, fly and train at once, and press keys."""
    workspace = folder / "workspace"
    prepared(workspace)
    run = open_app(folder, workspace)
    found: dict[str, float] = {}
    try:
        run.type("y")
        run.wait_for("watching", 90.0)
        run.type("a")
        run.wait_for("arm and fly", 20.0)
        run.type("y")
        run.wait_for("BOT flies", 90.0)
        run.type("r")
        run.wait_for("REC 00:00:0", 30.0)
        run.type("t")
        run.wait_for("train all", 30.0)
        time.sleep(5.0)
        times: list[float] = []
        row = random.Random(5)
        for _ in range(presses):
            times.append(painted(run, "\x1b[B", "▸"))  # the pointer moves to the next row
            time.sleep(0.1 + row.random() * 0.3)
        found["key to paint p50, ms"] = statistics.median(times)
        found["key to paint p99, ms"] = quantile(times, 0.99)
        found["output at 4 Hz, kB/s"] = output_rate(run, seconds)
    finally:
        close(run)
    run = open_app(folder, workspace, {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    try:
        run.type("y")
        run.wait_for("watching", 90.0)
        run.type("r")
        run.wait_for("REC 00:00:0", 30.0)
        found["output over SSH, kB/s"] = output_rate(run, seconds)
    finally:
        close(run)
    return found


def idle(folder: Path, seconds: float) -> dict[str, float]:
    run = open_app(folder, folder / "workspace")
    try:
        time.sleep(5.0)
        process = psutil.Process(run.process.pid)
        before, begin, output = process.cpu_times(), time.perf_counter(), len(run.output)
        time.sleep(seconds)
        after, took = process.cpu_times(), time.perf_counter() - begin
        share = (after.user + after.system - before.user - before.system) / took
        return {"idle, % of a core": share * 100, "idle output, kB/s": (len(run.output) - output) / 1e3 / took}
    finally:
        close(run)


def long_log(folder: Path, presses: int) -> dict[str, float]:
    workspace = folder / "workspace"
    (workspace / "logs").mkdir(parents=True)
    part = "".join(
        f"2026-11-27 20:{i // 60 % 60:02d}:{i % 60:02d},000 {'WARNING' if i % 9 == 0 else 'INFO'} engine.rig what happened, line %07d\n"
        for i in range(1000)
    )
    with open(workspace / "logs" / "secondseat.log.1", "w", encoding="utf-8") as file:
        for block in range(LOG_LINES // 1000):
            file.write(part % tuple(range(block * 1000, block * 1000 + 1000)))
    run = open_app(folder, workspace)
    try:
        found = {"log: open, ms": painted(run, "g", "what happened, line 0499999")}
        run.wait_for("500,0", 30.0)
        run.type("/")
        run.wait_for("Show only lines with", 10.0)
        run.type("line 045")
        time.sleep(0.5)
        found["log: filter, ms"] = painted(run, "\r", "line 0459999")
        times: list[float] = []
        for _ in range(presses):
            times.append(painted(run, "\x1b[5~"))
            time.sleep(0.05)
        found["log: scroll p99, ms"] = quantile(times, 0.99)
        return found
    finally:
        close(run)


def many_sessions(folder: Path, presses: int) -> dict[str, float]:
    """``SESSIONS`` copies of one short recording."""
    import shutil

    from engine.record_arena import record_demonstrations

    workspace = folder / "workspace"
    record_demonstrations(workspace, "expert", 0.1, 0, sessions=1)
    sessions = workspace / "sessions"
    model = next(sessions.iterdir())
    for number in range(SESSIONS - 1):
        copy = sessions / f"20260101T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}_play_arena"
        shutil.copytree(model, copy, copy_function=os.link)
    run = open_app(folder, workspace)
    try:
        painted(run, "s", "20260101T", 60.0)  # the first look makes the index
        time.sleep(3.0)
        run.type("\x1b")
        time.sleep(0.5)
        found = {"sessions: open, ms": painted(run, "s", "20260101T")}
        time.sleep(1.0)
        run.type("/")
        time.sleep(0.5)
        found["sessions: filter, ms"] = painted(run, "0333")
        run.type("\r")
        time.sleep(0.5)
        run.type("\x1b")
        time.sleep(0.5)
        run.type("\x1b[H")
        time.sleep(0.5)
        times: list[float] = []
        for press in range(presses):
            times.append(painted(run, "\x1b[6~" if press // 25 % 2 == 0 else "\x1b[5~"))  # down, and back up before the end
            time.sleep(0.05)
        found["sessions: scroll p99, ms"] = quantile(times, 0.99)
        return found
    finally:
        close(run)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long output and idle load are measured")
    parser.add_argument("--presses", type=int, default=60)
    parser.add_argument("--only", default="load,idle,log,sessions")
    options = parser.parse_args()
    results: dict[str, float] = {}
    echo = echo_ms(options.presses)
    results |= {"echo p50, ms": statistics.median(echo), "echo p99, ms": quantile(echo, 0.99)}
    parts: dict[str, Any] = {
        "load": lambda folder: under_load(folder, options.seconds, options.presses),
        "idle": lambda folder: idle(folder, options.seconds),
        "log": lambda folder: long_log(folder, options.presses),
        "sessions": lambda folder: many_sessions(folder, options.presses),
    }
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            results |= parts[name](Path(folder))
    print(f"{'figure':<28} {'seen':>9}   target")
    for name, value in results.items():
        wanted = TARGETS.get(name)
        print(f"{name:<28} {value:9.1f}   " + (f"< {wanted:g}  {'ok' if value < wanted else 'SHORT'}" if wanted else ""))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    record = {"benchmark": "face", "machine": machine, "load_1min": load, "results": {k: round(v, 2) for k, v in results.items()}}
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"face_{time.strftime('%Y-%m-%d_%H%M')}.json"
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
