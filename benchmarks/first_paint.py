"""How soon the face is painted, and how much it writes to the terminal.

``python benchmarks/first_paint.py`` starts the face on a pty seven times and measures from the start of the process
to the first whole picture (its footer), then counts the bytes of 10 s at 4 Hz while the state changes all the time.
Beside it: an interpreter that imports nothing, and one that imports Textual's app and draws nothing. The engine is a
stand-in, since it is loaded after the first picture. Writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "terminal"))

from ptyrun import PtyRun  # noqa: E402

LAST_CELL = "quit"
"""The footer's last word: when it was sent, the first picture is whole."""


def first_paint_s(columns: int, rows: int) -> float:
    """From the start of the process to the footer."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        run = PtyRun(Path(folder), columns=columns, rows=rows)
        try:
            run.wait_for(LAST_CELL, 30.0)
            took = time.perf_counter() - begin
            run.wait_for("Next:", 30.0)
            run.type("q")
            run.wait(20.0)
            return took
        finally:
            run.close()


def drawing(columns: int, rows: int, duration_s: float) -> tuple[float, float]:
    """Bytes per second that the terminal is sent at 4 Hz while everything changes, and the share of a core it takes."""
    with tempfile.TemporaryDirectory() as folder:
        run = PtyRun(Path(folder), "full", "busy", columns=columns, rows=rows)
        try:
            run.wait_for("REC 0", 30.0)
            time.sleep(2.0)
            process = psutil.Process(run.process.pid)
            cpu, before, begin = process.cpu_times(), len(run.output), time.perf_counter()
            time.sleep(duration_s)
            took, after = time.perf_counter() - begin, process.cpu_times()
            return (len(run.output) - before) / took, (after.user + after.system - cpu.user - cpu.system) / took
        finally:
            run.close()


def process_s(code: str) -> float:
    """How long an interpreter takes for a line of code."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    results: dict[str, object] = {}
    for name, measure in (
        ("bare interpreter, s", lambda: process_s("pass")),
        ("import textual.app, s", lambda: process_s("import textual.app")),
        ("first paint 120x36, s", lambda: first_paint_s(120, 36)),
        ("first paint 80x24, s", lambda: first_paint_s(80, 24)),
    ):
        times = sorted(measure() for _ in range(options.runs))
        results[name] = {"median": round(statistics.median(times), 3), "least": round(times[0], 3), "most": round(times[-1], 3)}
        print(f"{name:<28} median {statistics.median(times):.3f}   least {times[0]:.3f}   most {times[-1]:.3f}")
    for columns, rows in ((120, 36), (80, 24)):
        rate, share = drawing(columns, rows, options.seconds)
        results[f"drawing {columns}x{rows}"] = {"kB/s": round(rate / 1000, 1), "share of a core": round(share, 3)}
        print(f"{f'drawing {columns}x{rows}':<28} {rate / 1000:.1f} kB/s   {share:.1%} of a core")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    record = {
        "benchmark": "first_paint",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpus": os.cpu_count(),
        "load_1min": load,
    }
    record |= {"python": platform.python_version(), "runs": options.runs, "results": results}
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"first_paint_{time.strftime('%Y-%m-%d_%H%M')}.json"
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
