"""How fast everything is let go, whether a key ever reaches the wrong window, and what an injection costs.

``python benchmarks/actuator.py [--injections 10000] [--endings 20]`` needs Xvfb, openbox, xdotool and Xephyr. On a
virtual screen it flies a window through the real actuator and measures:

* the stop key: from its press to the last key up, with an engine whose interpreter is held by native code;
* the release after ``kill -9`` and SIGSTOP of the engine;
* injections while the focus flips between two windows every few ms, and how many keys the other window got; beside it
  the same without the server grab (focus checked, then injected);
* the time from handing an intent over until the window has the key.

Prints a table and writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from data.profile import GameProfile  # noqa: E402
from engine.actuator.client import Actuator, Intent  # noqa: E402
from engine.platforms.port import WindowInfo  # noqa: E402
from engine.platforms.x11 import X11Port  # noqa: E402
from engine.platforms.x11_keys import read_key_table  # noqa: E402
from engine.platforms.xlib import X, open_display  # noqa: E402
from tests.support import x11  # noqa: E402

DRIVER = ROOT / "tests" / "support" / "bot_driver.py"
PROFILE = GameProfile(name="probe", keys=("w", "q", "space"), hold_ms=10)
F8, Q = 74, 24
FLIP_S = 0.003


def release_ms(target: x11.TargetWindow, person: x11.Person, ending: str, directory: Path) -> float:
    """From the end of an engine whose bot holds a key and a button until both are up."""
    end_file = directory / "end"
    end_file.unlink(missing_ok=True)
    engine = subprocess.Popen(
        [sys.executable, str(DRIVER), str(target.id), str(end_file)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        x11.wait_until(lambda: person.held_codes() and person.held_buttons(), 20, "the bot holds its keys")
        time.sleep(0.2)
        if ending == "kill -9":
            began_ns = time.monotonic_ns()
            os.kill(engine.pid, signal.SIGKILL)
        elif ending == "SIGSTOP":
            began_ns = time.monotonic_ns()
            os.kill(engine.pid, signal.SIGSTOP)
        else:
            end_file.write_text("hold")
            time.sleep(0.07)  # the engine looks for it once a tick; from here on the interpreter is held
            began_ns = person.key(F8)
        x11.wait_until(lambda: not person.held_codes() and not person.held_buttons(), 5, f"everything is up after {ending}")
        return (time.monotonic_ns() - began_ns) / 1e6
    finally:
        engine.kill()
        engine.wait()
        if engine.stdout is not None:
            engine.stdout.close()


@contextlib.contextmanager
def flipping(display: str, windows: tuple[x11.TargetWindow, x11.TargetWindow]) -> Iterator[list[int]]:
    """The focus goes to and fro between two windows; the list holds the number of turns."""
    ends, turns = threading.Event(), [0]

    def run() -> None:
        connection = open_display(display)
        resources = [connection.create_resource_object("window", w.id) for w in windows]
        while not ends.is_set():
            resources[turns[0] % 2].set_input_focus(X.RevertToParent, X.CurrentTime)
            connection.sync()
            turns[0] += 1
            time.sleep(FLIP_S)
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield turns
    finally:
        ends.set()
        thread.join()


def gated(display: str, target: x11.TargetWindow, other: x11.TargetWindow, wanted: int) -> dict[str, int]:
    """Taps through the actuator until ``wanted`` were injected."""
    before = len(other.events("key_press", "button_press"))
    before_target = len(target.events("key_press"))
    hands = Actuator().start()
    hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
    sequence, deadline = 0, time.monotonic() + wanted / 20
    with flipping(display, (other, target)) as turns:
        while hands.status().sent < wanted and time.monotonic() < deadline:
            sequence += 1
            hands.send(Intent(sequence, time.monotonic_ns() + 20_000_000, 0.5, 0.5, ("q",)))
            time.sleep(0.002)
    time.sleep(0.4)
    sent = hands.status().sent
    hands.stop()
    return {
        "injections": sent,
        "asked": sequence,
        "focus_changes": turns[0],
        "keys_in_the_window": len(target.events("key_press")) - before_target,
        "keys_in_the_other": len(other.events("key_press", "button_press")) - before,
    }


def unguarded(display: str, target: x11.TargetWindow, other: x11.TargetWindow, wanted: int) -> dict[str, int]:
    """The same by a simple program: look at the focus, then press."""
    before = len(other.events("key_press", "button_press"))
    before_target = len(target.events("key_press"))
    port, connection = X11Port(display), open_display(display)
    code = read_key_table(connection).code("q")
    sent = 0
    with flipping(display, (other, target)) as turns:
        while sent < wanted:
            if port.has_focus(target.id):
                connection.xtest_fake_input(X.KeyPress, code)
                connection.xtest_fake_input(X.KeyRelease, code)
                connection.sync()
                sent += 1
            time.sleep(0.002)
    time.sleep(0.4)
    port.close()
    connection.close()
    return {
        "injections": sent,
        "focus_changes": turns[0],
        "keys_in_the_window": len(target.events("key_press")) - before_target,
        "keys_in_the_other": len(other.events("key_press", "button_press")) - before,
    }


def latencies_ms(target: x11.TargetWindow, count: int) -> list[float]:
    """From ``send`` to the window's own clock at the key's arrival."""
    target.focus()
    hands = Actuator().start()
    hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
    seen_before = len([e for e in target.events("key_press") if e["code"] == Q])
    sent_ns: list[int] = []
    for sequence in range(1, count + 1):
        sent_ns.append(time.monotonic_ns())
        hands.send(Intent(sequence, sent_ns[-1] + 500_000_000, 0.5, 0.5, ("q",)))
        time.sleep(0.025)
    time.sleep(0.5)
    status = hands.status()
    hands.stop()
    arrived = [e["time_ns"] for e in target.events("key_press") if e["code"] == Q][seen_before:]
    if len(arrived) != count:
        raise RuntimeError(f"{count} keys were sent and {len(arrived)} arrived: {status}")
    return [(b - a) / 1e6 for a, b in zip(sent_ns, arrived, strict=True)]


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "n": len(ordered),
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))], 2),
        "max": round(ordered[-1], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--injections", type=int, default=10_000)
    parser.add_argument("--unguarded", type=int, default=2_000)
    parser.add_argument("--endings", type=int, default=20, help="repetitions of each ending")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    if missing := x11.missing_programs():
        parser.error(f"this needs {', '.join(missing)}")

    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, x11.x_server() as display:
        directory = Path(folder)
        os.environ["DISPLAY"] = display
        target = x11.TargetWindow(display, "Target", 100, 80, 400, 300, "c81e1e", directory)
        other = x11.TargetWindow(display, "Other", 700, 80, 400, 300, "1e1ec8", directory)
        person = x11.Person(display)
        target.focus()
        person.move(300, 200)
        for ending, limit_ms in (("stop key, engine hung", 200), ("kill -9", 500), ("SIGSTOP", 500)):
            found = spread([release_ms(target, person, ending, directory) for _ in range(options.endings)])
            results[ending] = {**found, "limit_ms": limit_ms}
            figures = f"p50 {found['p50']:7.1f}  p95 {found['p95']:7.1f}  max {found['max']:7.1f} ms"
            print(f"{ending:24} {figures}  (limit {limit_ms}, n {found['n']})")
        found = spread(latencies_ms(target, 400))
        results["send to window, ms"] = found
        print(f"{'send to window':24} p50 {found['p50']:7.2f}  p95 {found['p95']:7.2f}  max {found['max']:7.2f} ms")
        for name, rows in (
            ("server grabbed", gated(display, target, other, options.injections)),
            ("checked, then injected", unguarded(display, target, other, options.unguarded)),
        ):
            results[name] = rows
            print(
                f"{name:24} {rows['injections']:6} injections over {rows['focus_changes']} focus changes: "
                f"{rows['keys_in_the_window']} keys in the window, {rows['keys_in_the_other']} in the other"
            )
        for part in (target, other, person):
            part.close()

    now = datetime.now(UTC)
    options.out.mkdir(parents=True, exist_ok=True)
    record = {
        "what": "actuator",
        "time": now.isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.system(), "cpus": os.cpu_count()},
        "load_average": os.getloadavg()[0],
        "results": results,
    }
    path = options.out / f"actuator_{now:%Y-%m-%d_%H%M}.json"
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
