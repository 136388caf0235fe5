"""Pictures and timelines in the terminal: how long drawing takes, and what playing sends.

``python benchmarks/pictures.py [--seconds 10]`` draws a game-like picture into 100x40 cells at every depth of colour,
beside the same picture drawn pixel by pixel; draws the timeline of an hour with 50,000 presses; and plays a recording of
the arena on a pty at 80x24 and 120x36, as in a terminal of this machine and as over SSH. Writes a dated file under
``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "terminal")]

from ptyrun import PtyRun  # noqa: E402

from data.labels import ModeStretch  # noqa: E402
from data.schema import Image  # noqa: E402
from data.timeline import Lane, Timeline  # noqa: E402
from data.vocabulary import MODES  # noqa: E402
from engine.record_arena import record_demonstrations  # noqa: E402
from tui import timeline as lanes  # noqa: E402
from tui.halfblock import picture_lines, place, shrink  # noqa: E402
from tui.screens.session_parts import row_line  # noqa: E402
from tui.theme import SECONDSEAT, Glyphs, Look, Palette  # noqa: E402

S = 1_000_000_000


def scene(width: int = 640, height: int = 360) -> Image:
    """A dark field with a gradient and many small bright things."""
    rng = np.random.default_rng(1)
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 2] = np.linspace(10, 60, width).astype(np.uint8)
    for x, y in zip(rng.integers(0, width - 12, 60), rng.integers(0, height - 12, 60), strict=True):
        image[y : y + 12, x : x + 12] = rng.integers(60, 256, 3)
    return image


def pixel_by_pixel(image: Image, columns: int, rows: int) -> list[Text]:
    """The plain way: a style for every cell."""
    pixels = shrink(image, place((image.shape[1], image.shape[0]), columns, rows))
    lines: list[Text] = []
    for y in range(0, len(pixels), 2):
        line = Text()
        for upper, lower in zip(pixels[y], pixels[y + 1], strict=True):
            line.append("▀", Style(color=f"rgb({upper[0]},{upper[1]},{upper[2]})", bgcolor=f"rgb({lower[0]},{lower[1]},{lower[2]})"))
        lines.append(line)
    return lines


def hour() -> Timeline:
    """An hour of play: 12 keys, 50,000 presses, a mode every second."""
    rng = np.random.default_rng(2)
    keys: list[Lane] = []
    for number in range(12):
        starts = np.sort(rng.integers(0, 3600 * S, 50_000 // 12))
        ends = np.minimum(starts + rng.integers(S // 50, S // 5, len(starts)), np.append(starts[1:], 3600 * S))
        keys.append(Lane(str(number), starts, ends, np.zeros(len(starts), np.int8)))
    modes = tuple(ModeStretch(s * S, (s + 1) * S, MODES[s % 5], "rules") for s in range(3600))
    return Timeline(0, 3600 * S, tuple(keys), (), modes, (), {}, (), (), (), np.arange(0, 3600 * S, S // 30))


def ms(call: Callable[[], object], runs: int) -> dict[str, float]:
    times: list[float] = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return {"median ms": round(statistics.median(times), 2), "most ms": round(max(times), 2)}


def playing(workspace: Path, columns: int, rows: int, seconds: float, ssh: bool) -> dict[str, float]:
    """kB a second that the terminal is sent while a recording plays."""
    env = {"COLORTERM": "truecolor", **({"SSH_CONNECTION": "a 1 b 2"} if ssh else {})}
    with tempfile.TemporaryDirectory() as folder:
        run = PtyRun(Path(folder), f"workspace={workspace}", columns=columns, rows=rows, env=env)
        try:
            run.wait_for("Next:", 30.0)
            run.type("s")
            run.wait_for("_arena", 30.0)
            run.type("P")
            run.wait_for("playing", 30.0)
            time.sleep(1.0)
            before, begin = len(run.output), time.perf_counter()
            time.sleep(seconds)
            return {"kB/s": round((len(run.output) - before) / (time.perf_counter() - begin) / 1000, 1)}
        finally:
            run.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    image, timeline = scene(), hour()
    view = lanes.View.whole(0, 3600 * S, 105)
    look = Look(SECONDSEAT, Glyphs(), Palette())
    results: dict[str, dict[str, float]] = {}

    def keep(name: str, values: dict[str, float]) -> None:
        results[name] = values
        print(f"{name:<44} " + "   ".join(f"{key} {value}" for key, value in values.items()))

    for depth, words in ((24, "all colours"), (8, "256 colours"), (4, "16 colours"), (0, "no colour")):
        picture_lines(image, 100, 40, depth=depth)
        keep(f"640x360 into 100x40 cells, {words}", ms(lambda depth=depth: picture_lines(image, 100, 40, depth=depth), 50))
    keep("the same, pixel by pixel", ms(lambda: pixel_by_pixel(image, 100, 40), 5))
    keep("timeline of an hour, computed", ms(lambda: lanes.rows(timeline, view, lanes.Looks()), 20))
    rows = lanes.rows(timeline, view, lanes.Looks())
    keep("timeline of an hour, drawn", ms(lambda: [row_line(row, False, 50, (20, 60), look) for row in rows], 20))
    with tempfile.TemporaryDirectory() as folder:
        record_demonstrations(Path(folder), "expert", 0.5, 0, sessions=1, workers=1)
        for columns, rows_ in ((80, 24), (120, 36)):
            for ssh in (False, True):
                name = f"playing the arena at {columns}x{rows_}{' over SSH' if ssh else ''}"
                keep(name, playing(Path(folder), columns, rows_, options.seconds, ssh))
    record = {"benchmark": "pictures", "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cpus": os.cpu_count()}
    record |= {"load_1min": os.getloadavg()[0] if hasattr(os, "getloadavg") else None, "python": platform.python_version()}
    path = ROOT / "benchmarks" / "results" / f"pictures_{time.strftime('%Y-%m-%d_%H%M')}.json"
    path.write_text(json.dumps({**record, "results": results}, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
