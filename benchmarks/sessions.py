"""How quick the commands on recorded sessions are: listing many, and cutting, merging, packing and reading long ones.

``python benchmarks/sessions.py`` makes a workspace of 2,000 small sessions and one of a long session (arena-like
pictures and rows), and measures on them. Beside the list: reading every session anew (as without the index), and only
asking the disk for the files' times. Beside cut and merge: encoding the same pictures anew. Writes a dated file under
``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from data.catalog import describe, list_sessions, session_folders  # noqa: E402
from data.compaction import compact_session  # noqa: E402
from data.metadata import Source  # noqa: E402
from data.profile import ARENA_PROFILE  # noqa: E402
from data.schema import Action, Frame, InputEvent, Observation, Status, Step, Tracks  # noqa: E402
from data.session import SessionWriter, open_session  # noqa: E402
from data.session_edit import cut, merge  # noqa: E402
from data.session_filter import SessionFilter, chosen, ordered  # noqa: E402
from data.timeline import read_timeline  # noqa: E402
from data.verify import verify  # noqa: E402
from data.video import VideoReader, VideoWriter  # noqa: E402

FPS, HZ, OBJECTS = 30, 20, 10
START_NS = 1_000_000_000


def record(workspace: Path, seconds: float) -> Path:
    """A session of 640x360 with moving squares, ten tracked objects, and a mouse that is never still."""
    writer = SessionWriter.create(workspace, "play", ARENA_PROFILE, Source(kind="arena"), FPS, (640, 360), start_ns=START_NS)
    generator = np.random.default_rng(1)
    ground = generator.integers(10, 40, (360, 640, 3), dtype=np.uint8)
    places = generator.random((OBJECTS, 2))
    speeds = generator.normal(0.0, 0.1, (OBJECTS, 2))
    sizes = np.full((OBJECTS, 2), 0.05)
    zeros, ids = np.zeros(OBJECTS, np.float32), np.arange(OBJECTS, dtype=np.int32)
    for number in range(round(seconds * FPS)):
        time_ns = START_NS + number * 1_000_000_000 // FPS
        at = np.abs((places + speeds * number / FPS) % 2.0 - 1.0)
        image = ground.copy()
        for x, y in (at * (600, 320)).astype(int).tolist():
            image[y : y + 20, x : x + 20] = 220
        writer.write_frame(Frame(number, time_ns, image))
        writer.write_event(InputEvent(time_ns, "move", "", float(at[0, 0]), float(at[0, 1])))
        if number % 15 < 2:
            writer.write_event(InputEvent(time_ns, "press" if number % 15 == 0 else "release", "space", 0.5, 0.5))
        if number * HZ % FPS < HZ:
            boxes = np.concatenate([at, sizes], axis=1).astype(np.float32)
            noise = generator.random(OBJECTS).astype(np.float32)
            tracks = Tracks(ids, ids % 4, boxes, noise, speeds.astype(np.float32), zeros + number / FPS, zeros)
            status = Status({"hp": float(noise[0]), "shield": 1.0}, {"locked": False}, {"ammo": 1}, {})
            writer.write_step(Step(Observation(time_ns, time_ns, number, status, tracks, (0.5, 0.5)), Action(0.5, 0.5)))
        if number % FPS == 0:
            writer.flush()
    writer.close()
    return writer.folder


def many(workspace: Path, count: int) -> None:
    """Copies of one small session, as if recorded a minute ago."""
    folder = record(workspace, 1.0)
    past = time.time() - 60
    for number in range(count):
        other = folder.parent / f"20200101T{number:06d}Z_play_arena"
        shutil.copytree(folder, other)
        for path in (*other.iterdir(), other):
            os.utime(path, (past, past))
    shutil.rmtree(folder)


def encoded_anew(folder: Path) -> None:
    """What cutting a whole session would cost if its pictures were encoded again."""
    target = folder / "again.mkv"
    with VideoReader(folder / "video.mkv") as reader:
        writer = VideoWriter(target, *reader.size, FPS)
        for time_ms, image in reader.frames():
            writer.write(image, time_ms)
        writer.close()
    target.unlink()


def timed(results: dict[str, float], name: str, work: Callable[[], object], runs: int = 1) -> None:
    times: list[float] = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    results[name] = round(statistics.median(times) * 1000, 1)
    print(f"{name:<46} {results[name]:>10,.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=10.0, help="length of the long session")
    options = parser.parse_args()
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        crowd, long = Path(place) / "crowd", Path(place) / "long"
        many(crowd, options.sessions)
        count = f"{options.sessions:,} sessions"
        timed(results, f"{count}: times of their files", lambda: [os.stat(f / "metadata.json") for f in session_folders(crowd)], 5)
        timed(results, f"{count}: each read anew", lambda: [describe(folder) for folder in session_folders(crowd)])
        timed(results, f"{count}: list, first time", lambda: list_sessions(crowd))
        timed(results, f"{count}: list, index warm", lambda: list_sessions(crowd), 9)
        infos = list_sessions(crowd)
        timed(results, f"{count}: filter and sort", lambda: ordered(chosen(infos, SessionFilter(text="arena 0001")), "size"), 9)
        folder = record(long, options.minutes * 60)
        name = f"{options.minutes:g} min"
        timed(results, f"{name}: timeline", lambda: read_timeline(folder), 3)
        timed(results, f"{name}: verify", lambda: verify(folder), 3)
        timed(results, f"{name}: pictures encoded anew", lambda: encoded_anew(folder))
        timed(results, f"{name}: cut all but 10 s", lambda: cut(long, folder.name, 5.0, options.minutes * 60 - 5.0))
        timed(results, f"{name}: merged with its cut", lambda: merge(long, [info.id for info in list_sessions(long)[:2]]))
        timed(results, f"{name}: packed", lambda: results.update(packed_share=_share(folder)))
        with open_session(folder) as session:
            timed(results, f"{name}: steps of the packed session", session.steps)
    print(f"packed rows: {results['packed_share']:.0%} of the streams")
    record_ = {
        "benchmark": "sessions",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpus": os.cpu_count(),
        "load_1min": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "results_ms": results,
    }
    target = ROOT / "benchmarks" / "results"
    target.mkdir(exist_ok=True)
    path = target / f"sessions_{time.strftime('%Y-%m-%d_%H%M')}.json"
    path.write_text(json.dumps(record_, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


def _share(folder: Path) -> float:
    done = compact_session(folder)
    return round(done.bytes_after / done.bytes_before, 3)


if __name__ == "__main__":
    main()
