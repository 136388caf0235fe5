"""The live path under load: capture, detector, policy, recorder and face in one process, by stage.

    python benchmarks/live.py [--seconds 60] [--source arena|window] [--policy NAME] [--stall] [--workspace FOLDER]

The real app runs in a pseudo-terminal; the bot flies and the recorder records. ``window`` puts the arena's window on
an X server of its own (Xvfb), captured by mss and driven through the actuator. ``--stall`` leaves the terminal
unread for 4 s in the middle. Without a policy one is trained for a moment first (its size is what counts, not its
skill). Prints a table and writes a dated file under benchmarks/results.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import platform
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WARM_UP_S = 6.0
TARGETS = {
    "capture_fps": (">=", 29.5),
    "tick_hz": (">=", 19.8),
    "jitter_p99_ms": ("<", 10.0),
    "loop_lag_p99_ms": ("<", 20.0),
    "age_p50_ms": ("<", 50.0),
    "age_p99_ms": ("<", 90.0),
}


def child(arguments: argparse.Namespace) -> int:
    """The app itself, with a thread that gives the commands and measures."""
    sys.path.insert(0, str(ROOT))
    from data.settings import Settings
    from data.workspace import Workspace
    from engine.control_center import ControlCenter
    from engine.runtime.pacing import Spread
    from tui.start import run_app

    workspace = Workspace(arguments.workspace)
    settings = Settings()
    center = ControlCenter(settings, workspace)

    def do(name: str, **params: Any) -> str:
        return center.command(name, **params).result(180)

    def measure() -> None:
        report: dict[str, Any] = {}
        try:
            while not center.wait_ready(0.1):
                time.sleep(0.1)
            if arguments.source == "window":
                do("arena_window", scale=1)
            else:
                do("source", kind="arena", pilot="none")
            do("arm", policy=arguments.policy)
            do("fly")
            do("record_toggle")
            deadline = time.monotonic() + 30
            while center.snapshot().tick.hz < 15 and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(WARM_UP_S)
            rig = center.rig
            assert rig is not None
            assert rig.tick is not None
            assert rig.capture is not None
            tick, capture = rig.tick, rig.capture
            many = 200_000
            tick.jitter_ms, tick.age_ms, center._lag_ms = Spread(many), Spread(many), Spread(many)
            tick.stages_ms = {name: Spread(many) for name in tick.stages_ms}
            capture.grab_ms = Spread(many)
            first = center.snapshot()
            cpu0, began = time.process_time(), time.monotonic()
            time.sleep(arguments.seconds)
            spent, passed = time.process_time() - cpu0, time.monotonic() - began
            last = center.snapshot()
            stages = {"capture": capture.grab_ms, **tick.stages_ms}
            report = {
                "seconds": round(passed, 1),
                "capture_fps": round((last.capture.frames - first.capture.frames) / passed, 2),
                "tick_hz": round(len(tick.jitter_ms) / passed, 2),
                "ticks_skipped": last.tick.skipped - first.tick.skipped,
                "jitter_p50_ms": round(tick.jitter_ms.quantile(0.5), 2),
                "jitter_p99_ms": round(tick.jitter_ms.quantile(0.99), 2),
                "loop_lag_p99_ms": round(center._lag_ms.quantile(0.99), 2),
                "age_p50_ms": round(tick.age_ms.quantile(0.5), 1),
                "age_p99_ms": round(tick.age_ms.quantile(0.99), 1),
                "stages_ms": {n: [round(s.quantile(0.5), 2), round(s.quantile(0.99), 2)] for n, s in stages.items()},
                "cpu_cores": round(spent / passed, 2),
                "memory_mb": last.system.memory_mb,
                "memory_growth_mb": round(last.system.memory_mb - first.system.memory_mb, 1),
                "recorded_frames": last.recorder.frames,
                "dropped_frames": last.recorder.dropped_frames,
                "bot": {"phase": last.bot.phase, "actions": last.bot.actions, "expired": last.bot.expired, "refused": last.bot.refused},
                "bot_reason": last.bot.reason,
            }
        except Exception as error:
            report = {"error": repr(error)}
        finally:
            Path(arguments.report).write_text(json.dumps(report))
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=measure, daemon=True).start()
    return run_app(lambda: (settings, ()), factory=lambda: center)


def in_a_terminal(command: list[str], environment: dict[str, str], stall_at_s: float | None, limit_s: float) -> int:
    """Run the app in a pty of 120x36 and read what it draws; how many bytes that was."""
    parent, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
    os.close(slave)
    began, drawn, stalled = time.monotonic(), 0, False
    while process.poll() is None and time.monotonic() - began < limit_s:
        if stall_at_s is not None and not stalled and time.monotonic() - began > stall_at_s:
            stalled = True
            time.sleep(4.0)
        ready, _, _ = select.select([parent], [], [], 0.2)
        if ready:
            with contextlib.suppress(OSError):
                drawn += len(os.read(parent, 65536))
    if process.poll() is None:
        process.kill()
    process.wait()
    os.close(parent)
    return drawn


def some_policy(workspace: Path) -> str:
    """A policy of the real size, hardly trained."""
    from engine.record_arena import record_demonstrations
    from engine.training import train_levels

    print("no policy given: training one for a moment", flush=True)
    record_demonstrations(workspace, "expert", 2.0, 0, sessions=2)
    return train_levels(workspace, "all", quick=True, epochs=1).policy.name  # type: ignore[union-attr]


def with_display(source: str) -> tuple[dict[str, str], list[subprocess.Popen[bytes]]]:
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "TERM": "xterm-256color"}
    if source != "window":
        environment.pop("DISPLAY", None)
        return environment, []
    read, write = os.pipe()
    arguments = ["-displayfd", str(write), "-screen", "0", "1280x720x24", "-nolisten", "tcp", "-noreset", "-ac", "+extension", "XTEST"]
    server = subprocess.Popen(["Xvfb", *arguments], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    environment["DISPLAY"] = ":" + os.read(read, 16).decode().strip()
    manager = subprocess.Popen(["openbox"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.0)
    return environment, [manager, server]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--source", choices=("arena", "window"), default="arena")
    parser.add_argument("--policy", default="")
    parser.add_argument("--workspace", default="")
    parser.add_argument("--stall", action="store_true", help="leave the terminal unread for 4 s in the middle")
    parser.add_argument("--report", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.report:
        return child(arguments)
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(arguments.workspace or folder)
        policy = arguments.policy or some_policy(workspace)
        environment, helpers = with_display(arguments.source)
        report_path = Path(folder) / "report.json"
        command = [sys.executable, __file__, "--seconds", str(arguments.seconds), "--source", arguments.source]
        command += ["--policy", policy, "--workspace", str(workspace), "--report", str(report_path)]
        try:
            stall = WARM_UP_S + 8 + arguments.seconds / 2 if arguments.stall else None
            drawn = in_a_terminal(command, environment, stall, arguments.seconds + 240)
        finally:
            for process in helpers:
                process.terminate()
                process.wait()
        report = json.loads(report_path.read_text()) if report_path.exists() else {"error": "the app wrote no report"}
    if "error" in report:
        print(report["error"], file=sys.stderr)
        return 1
    report |= {"source": arguments.source, "stalled_terminal": arguments.stall, "terminal_kb": round(drawn / 1e3)}
    print(f"{'figure':22} {'seen':>9}   target")
    for name, (sign, wanted) in TARGETS.items():
        met = report[name] >= wanted if sign == ">=" else report[name] < wanted
        print(f"{name:22} {report[name]:9.2f}   {sign} {wanted:g}  {'ok' if met else 'SHORT'}")
    print(f"{'stage':22} {'p50 ms':>9} {'p99 ms':>9}")
    for name, (p50, p99) in report["stages_ms"].items():
        print(f"{name:22} {p50:9.2f} {p99:9.2f}")
    for name in ("ticks_skipped", "cpu_cores", "memory_mb", "memory_growth_mb", "recorded_frames", "dropped_frames", "bot", "terminal_kb"):
        print(f"{name:22} {report[name]}")
    results = ROOT / "benchmarks" / "results"
    results.mkdir(exist_ok=True)
    name = f"live_{arguments.source}{'_stall' if arguments.stall else ''}_{time.strftime('%Y-%m-%d_%H%M')}.json"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    (results / name).write_text(json.dumps({"machine": machine, **report}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
