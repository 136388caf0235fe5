"""What the arena's pictures and its window cost, and how late a click is seen.

``python benchmarks/arena_view.py [--seconds 10]`` times single pictures in each look and at each scale, the whole
off-screen path of the source (world, expert, picture) beside the same flight without pictures, the window's share of a
core, and, where Xvfb and openbox are installed, the time from a click to the window's knowing of it and to its mark on
the captured screen. Prints a table and writes a dated file under ``benchmarks/results/``. Processor time is what
counts on a machine that others use too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.arena_window import start_arena_window  # noqa: E402
from engine.sources.arena import ArenaSource  # noqa: E402
from league.arena import skirmish  # noqa: E402
from league.arena.emulated import TruthObserver  # noqa: E402
from league.arena.episode import apply_action  # noqa: E402
from league.arena.looks import CLASSIC, LOOKS  # noqa: E402
from league.arena.pilots import make_pilot  # noqa: E402
from league.arena.render import Painter, Renderer  # noqa: E402
from league.arena.world import WorldState  # noqa: E402

TICK_NS = 50_000_000


def flown(ticks: int, on_tick: Callable[[WorldState], None] | None = None) -> WorldState:
    """An expert's flight without pictures, tick by tick."""
    state, eyes, pilot = skirmish.new_worlds(1, [1]), TruthObserver(), make_pilot("expert", 1)
    cursor = (0.5, 0.5)
    for tick in range(ticks):
        decision = pilot.act(eyes.observe(state, 0, tick * TICK_NS, cursor))
        cursor = (decision.action.x, decision.action.y)
        apply_action(state, decision.action)
        if on_tick is not None:
            on_tick(state)
    return state


def pictures_ms() -> dict[str, float]:
    """Processor time of one picture, median of worlds along a flight of 30 s, after the sprites were made;
    ``slowest of 100`` is what the most crowded worlds cost."""
    import pygame

    worlds: list[WorldState] = []
    flown(600, lambda state: worlds.append(state.copy()))
    found: dict[str, float] = {}
    for look in LOOKS.values():
        renderer = Renderer(look)
        median, slowest = times_ms(lambda world, renderer=renderer: renderer.picture(world, 0), worlds)
        found[f"array 640x360, {look.name}"] = median
        if look is CLASSIC:
            found["array 640x360, classic, slowest of 100"] = slowest
    for scale in (1, 2, 3):
        painter, surface = Painter(scale), pygame.Surface((640 * scale, 360 * scale), 0, 32)
        found[f"surface {640 * scale}x{360 * scale}"], _ = times_ms(
            lambda world, painter=painter, surface=surface: painter.draw(surface, world, 0), worlds
        )
    renderer = Renderer()
    fresh = [skirmish.new_worlds(1, [seed]) for seed in range(20)]
    began = time.thread_time()
    for world in fresh:
        renderer.picture(world, 0)
    found["first of a new world"] = (time.thread_time() - began) / len(fresh) * 1e3
    return {name: round(value, 3) for name, value in found.items()}


def times_ms(draw: Callable[[WorldState], Any], worlds: list[WorldState]) -> tuple[float, float]:
    """Median and 99th percentile."""
    for world in worlds:
        draw(world)
    spent: list[float] = []
    for world in worlds:
        began = time.thread_time()
        draw(world)
        spent.append(time.thread_time() - began)
    return float(np.median(spent)) * 1e3, float(np.quantile(spent, 0.99)) * 1e3


def rates(seconds: float) -> dict[str, float]:
    """Ticks of 1/20 s per second: the source's whole path, and the flight alone."""
    source = ArenaSource(pilot="expert", seed=1, fps=20, real_time=False)
    source.open()
    for _ in range(200):
        source.grab()
    with_pictures = _rate(lambda: source.grab() and source.events(), seconds)
    source.close()
    began, busy = time.perf_counter(), time.process_time()
    flown(2000)
    alone = (2000 / (time.perf_counter() - began), 2000 / (time.process_time() - busy))
    return {
        "pictures_per_s": round(with_pictures[0], 1),
        "pictures_per_cpu_s": round(with_pictures[1], 1),
        "times_real_time": round(with_pictures[0] / 20, 1),
        "without_pictures_per_s": round(alone[0], 1),
        "without_pictures_per_cpu_s": round(alone[1], 1),
    }


def _rate(turn: Callable[[], Any], seconds: float) -> tuple[float, float]:
    turns, began, busy = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        turn()
        turns += 1
    return turns / (time.perf_counter() - began), turns / (time.process_time() - busy)


def window_shares(seconds: float) -> dict[str, float]:
    """Share of a core that the window takes at 60 steps and pictures a second, and its rate."""
    found: dict[str, float] = {}
    for scale in (1, 2, 3):
        with start_arena_window(seed=1, scale=scale, pilot="expert", driver="dummy") as handle:
            process, client = psutil.Process(handle.pid), handle.client
            assert client is not None
            time.sleep(1.0)
            client.poll()
            times, tick, began = process.cpu_times(), client.tick["tick"], time.monotonic()
            time.sleep(seconds)
            client.poll()
            now, passed = process.cpu_times(), time.monotonic() - began
            found[f"scale {scale} share"] = round((now.user + now.system - times.user - times.system) / passed, 3)
            found[f"scale {scale} steps_per_s"] = round((client.tick["tick"] - tick) / passed, 1)
            found[f"scale {scale} late_steps"] = client.tick["late_steps"]
    return found


def click_latency(count: int = 60) -> dict[str, float] | None:
    """ms from a click on a real X screen to the window's receiving it, and to its mark's being on the screen."""
    from tests.support import x11

    if x11.missing_programs():
        return None
    import mss

    with x11.x_server() as display, x11.openbox(display):
        os.environ["DISPLAY"] = display
        with start_arena_window(seed=3, scale=1, position=(100, 80)) as handle, mss.MSS() as grabber:
            from engine.platforms.x11 import X11Port

            client, port, person = handle.client, X11Port(), x11.Person(display)
            place = next(w.rect for w in port.windows() if w.title == "Secondseat Arena")
            assert client is not None
            assert place is not None
            known, seen = [], []
            dice = np.random.default_rng(0)
            for _ in range(count):
                x, y = int(dice.integers(60, 580)), int(dice.integers(80, 300))
                # Round the mark's middle: the ring's colour is nowhere else.
                region = {"left": place.left + x - 9, "top": place.top + y - 9, "width": 19, "height": 19}
                if marked(grabber, region):
                    continue
                person.move(place.left + x, place.top + y)
                time.sleep(float(dice.uniform(0.05, 0.1)))
                client.poll()
                client.inputs.clear()
                began_ns = person.button(1, True)
                person.button(1, False)
                deadline = began_ns + 300_000_000
                while time.monotonic_ns() < deadline and not marked(grabber, region):
                    pass
                if time.monotonic_ns() < deadline:
                    seen.append((time.monotonic_ns() - began_ns) / 1e6)
                client.wait(lambda: bool(client.inputs), 2.0)
                known.append((client.inputs[0]["time_ns"] - began_ns) / 1e6)
            port.close()
            person.close()
    found = {"clicks": len(known), "marks_seen": len(seen)}
    for name, values in (("known", known), ("on_screen", seen)):
        found |= {f"{name}_p50_ms": round(float(np.quantile(values, 0.5)), 1), f"{name}_p99_ms": round(float(np.quantile(values, 0.99)), 1)}
    return found


def marked(grabber: Any, region: dict[str, int]) -> bool:
    picture = np.array(grabber.grab(region))[:, :, 2::-1].astype(int)
    return int((np.abs(picture - (120, 255, 206)).max(axis=-1) < 40).sum()) >= 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    options = parser.parse_args()
    record = {
        "benchmark": "arena_view",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpus": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "rules_version": skirmish.RULES_VERSION,
        "picture_ms": pictures_ms(),
        "off_screen": rates(options.seconds),
        "window": window_shares(options.seconds),
        "click": click_latency(),
    }
    off, shares, click = record["off_screen"], record["window"], record["click"]
    rows = [
        (f"picture, {name}, ms of processor time", f"{value:.2f}", "1.5" if name.startswith("array") and "slowest" not in name else "-")
        for name, value in record["picture_ms"].items()
    ]
    rows += [
        ("off screen with expert and pictures, ticks a second", f"{off['pictures_per_s']:.0f}", "200"),
        ("  per second of processor time", f"{off['pictures_per_cpu_s']:.0f}", "200"),
        ("  the same flight without pictures", f"{off['without_pictures_per_s']:.0f}", "-"),
    ]
    rows += [(f"window at scale {s}, share of a core", f"{shares[f'scale {s} share']:.0%}", "-") for s in (1, 2, 3)]
    rows += [(f"window at scale {s}, steps a second", f"{shares[f'scale {s} steps_per_s']:.1f}", "60") for s in (1, 2, 3)]
    if click is not None:
        rows.append(("click until the window knows, p50 / p99 ms", f"{click['known_p50_ms']} / {click['known_p99_ms']}", "-"))
        rows.append(("click until its mark is captured, p50 / p99 ms", f"{click['on_screen_p50_ms']} / {click['on_screen_p99_ms']}", "-"))
    for what, value, wanted in rows:
        print(f"{what:<72} {value:>16}   {wanted}")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"arena_view_{time.strftime('%Y-%m-%d_%H%M')}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
