"""How soon an attached face is painted, and what viewers cost the live path, a stalled one above all.

    python benchmarks/attach.py [--runs 7] [--seconds 20] [--rounds 2]

A headless engine watches the arena with a scripted pilot and records. First the face is attached on a pty a number of
times: from the start of the process to the first whole picture (its footer), and to the engine's own state on it; beside
them ``secondseat status``. Then the live path is measured by itself, with one face, and with a face on a terminal that
nobody reads together with a client that asks for pictures and takes no answer; in turn, ``--rounds`` times, since a machine
drifts. Prints a table and writes a dated file under benchmarks/results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "terminal")]
WARM_UP_S = 5.0
FIGURES = ("tick_hz", "ticks_skipped", "jitter_p99_ms", "age_p50_ms", "age_p99_ms", "loop_lag_p99_ms", "cpu_cores", "dropped_frames")
PAINT_WANTED_S = 1.0


def engine(workspace: str) -> int:
    """The engine of this benchmark: measures for as long as each line on stdin says, and answers with a line of JSON."""
    from data.settings import Settings
    from data.workspace import Workspace
    from engine.control_center import ControlCenter

    center = ControlCenter(Settings(), Workspace(workspace))
    center.serve("engine")
    center.start()
    center.wait_ready()
    center.command("source", kind="arena", pilot="expert").result(180)
    center.command("record_toggle").result(60)
    deadline = time.monotonic() + 30
    while center.snapshot().tick.hz < 15 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(WARM_UP_S)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(center, float(line))), flush=True)
    center.stop(10.0)
    return 0


def measured(center: Any, seconds: float) -> dict[str, float]:
    from engine.runtime.pacing import Spread

    rig, many = center.rig, 100_000
    tick = rig.tick
    tick.jitter_ms, tick.age_ms, center._lag_ms = Spread(many), Spread(many), Spread(many)
    first, cpu, began = center.snapshot(), time.process_time(), time.monotonic()
    time.sleep(seconds)
    last, passed = center.snapshot(), time.monotonic() - began
    return {
        "tick_hz": len(tick.jitter_ms) / passed,
        "ticks_skipped": last.tick.skipped - first.tick.skipped,
        "jitter_p99_ms": tick.jitter_ms.quantile(0.99),
        "age_p50_ms": tick.age_ms.quantile(0.5),
        "age_p99_ms": tick.age_ms.quantile(0.99),
        "loop_lag_p99_ms": center._lag_ms.quantile(0.99),
        "cpu_cores": (time.process_time() - cpu) / passed,
        "dropped_frames": last.recorder.dropped_frames - first.recorder.dropped_frames,
    }


@contextlib.contextmanager
def face(folder: Path, runtime: str, *, read: bool = True) -> Generator[Any]:
    """An attached face on a pty; unless ``read``, nobody takes what it draws once it is up."""
    from ptyrun import HERE, PtyRun

    env = {"XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONSAFEPATH": "1"}
    run = PtyRun(folder, program=[str(HERE / "leader.py"), "attach"], columns=120, rows=36, env=env)
    try:
        if not read:
            run.wait_for("REC 0", 30.0)
            run.reading.clear()
        yield run
        run.reading.set()
    finally:
        run.close()


@contextlib.contextmanager
def deaf_client(path: Path) -> Generator[None]:
    """Asks for twenty pictures and reads none."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(str(path))
        talk.sendall(b"GET /picture?width=640&height=360 HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        yield


def paints(folder: Path, runtime: str) -> tuple[float, float]:
    """Seconds from the start of the process to the footer, and to the engine's state."""
    begin = time.perf_counter()
    with face(folder, runtime) as run:
        run.wait_for("quit", 30.0)
        painted = time.perf_counter() - begin
        run.wait_for("REC 0", 30.0)
        known = time.perf_counter() - begin
        run.type("D")
        run.wait(10.0)
    return painted, known


def status_s(runtime: str) -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "tui.cli", "status"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "XDG_RUNTIME_DIR": runtime}, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--engine", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        return engine(arguments.engine)
    with tempfile.TemporaryDirectory(prefix="ss-") as runtime, tempfile.TemporaryDirectory() as home:
        folder, path = Path(home), Path(runtime) / "secondseat" / "engine.sock"
        env = {k: v for k, v in os.environ.items() if k != "DISPLAY"} | {"XDG_RUNTIME_DIR": runtime}
        command = [sys.executable, __file__, "--engine", str(folder / "ws")]
        process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n", "the engine did not start"
            report = {"attach": attaching(folder, runtime, arguments.runs)}

            def measure() -> dict[str, float]:
                process.stdin.write(f"{arguments.seconds}\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                return json.loads(process.stdout.readline())  # type: ignore[union-attr]

            report["live"] = viewing(folder, runtime, path, arguments.rounds, measure)
        finally:
            process.stdin.close()
            process.wait(30)
    keep(report, arguments)
    return 0


def attaching(folder: Path, runtime: str, runs: int) -> dict[str, Any]:
    times = [paints(folder, runtime) for _ in range(runs)]
    asked = [status_s(runtime) for _ in range(runs)]
    out: dict[str, Any] = {}
    for name, values in (
        ("first paint, s", [painted for painted, _ in times]),
        ("engine's state on screen, s", [known for _, known in times]),
        ("secondseat status, s", asked),
    ):
        out[name] = {"median": round(statistics.median(values), 3), "least": round(min(values), 3), "most": round(max(values), 3)}
        met = f"   wanted < {PAINT_WANTED_S:g}" if name.startswith("first") else ""
        print(f"{name:<30} median {out[name]['median']:.3f}   least {out[name]['least']:.3f}   most {out[name]['most']:.3f}{met}")
    return out


def viewing(folder: Path, runtime: str, path: Path, rounds: int, measure: Callable[[], dict[str, float]]) -> dict[str, Any]:
    """The live path with no viewer, with a face, and with a stalled face and a deaf client."""
    seen: dict[str, list[dict[str, float]]] = {"no viewer": [], "one face": [], "stalled viewers": []}
    for _ in range(rounds):
        seen["no viewer"].append(measure())
        with face(folder, runtime) as run:
            run.wait_for("REC 0", 30.0)
            seen["one face"].append(measure())
        with face(folder, runtime, read=False), deaf_client(path):
            time.sleep(2.0)
            seen["stalled viewers"].append(measure())
    print(f"{'live path, median of rounds':<30}" + "".join(f"{name:>18}" for name in seen))
    for figure in FIGURES:
        print(f"{figure:<30}" + "".join(f"{statistics.median(r[figure] for r in results):18.2f}" for results in seen.values()))
    return seen


def keep(report: dict[str, Any], arguments: argparse.Namespace) -> None:
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"attach_{time.strftime('%Y-%m-%d_%H%M')}.json"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    settings = {"runs": arguments.runs, "seconds": arguments.seconds, "rounds": arguments.rounds}
    path.write_text(json.dumps({"benchmark": "attach", "machine": machine, **settings, **report}, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
