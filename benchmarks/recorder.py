"""What recording costs, how large it gets, and what a sudden death loses.

``python benchmarks/recorder.py [--seconds 600]`` records 1280x720 at 30 fps in real time and measures the share of a
core, the memory and the time of F6, and the same of the pre-buffer alone; writes a minute of the arena, of a panning
texture and of noise to compare their sizes; kills recording processes at random moments (``--kills 20``) and counts the
seconds that are missing after the repair; starts and stops capture and recording through the engine (``--cycles 30``)
and counts what is left behind. Prints a table and writes a dated file under ``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from data.catalog import list_sessions  # noqa: E402
from data.metadata import Source  # noqa: E402
from data.profile import ARENA_PROFILE  # noqa: E402
from data.recovery import recover_all  # noqa: E402
from data.schema import Action, Frame, Image, InputEvent, Observation, Status, Step, Tracks  # noqa: E402
from data.session import SessionWriter, open_session  # noqa: E402
from data.settings import Settings  # noqa: E402
from data.workspace import Workspace  # noqa: E402
from engine.control_center import ControlCenter  # noqa: E402
from engine.recorder import Recorder, RecordingSettings  # noqa: E402

FPS = 30
TICK_EVERY_NS = 50_000_000
TRACKS = 10


def arena_pictures(count: int) -> Iterator[Image]:
    """The arena flown by the scripted expert, 640x360, one picture each 1/30 s of its world."""
    from engine.sources.arena import ArenaSource

    source = ArenaSource(pilot="expert", seed=1, fps=FPS, real_time=False)
    source.open()
    try:
        for _ in range(count):
            frame = source.grab()
            if frame is not None:
                yield frame.image
    finally:
        source.close()


def panning_pictures(count: int) -> Iterator[Image]:
    """A fine texture that moves 11 px a picture: harder than any flight of the arena."""
    texture = np.random.default_rng(0).integers(0, 255, (90, 160, 3), np.uint8).repeat(4, 0).repeat(4, 1)
    for number in range(count):
        yield np.roll(texture, (3 * number, 11 * number), (0, 1))


def noise_pictures(count: int) -> Iterator[Image]:
    """Noise in every pixel of every picture: the worst there is."""
    dice = np.random.default_rng(0)
    for _ in range(count):
        yield dice.integers(0, 255, (360, 640, 3), np.uint8)


def a_step(time_ns: int, frame: Frame) -> Step:
    tracks = Tracks(
        np.arange(TRACKS, dtype=np.int32),
        np.ones(TRACKS, np.int32),
        np.random.default_rng(frame.number).random((TRACKS, 4), np.float32),
        np.full(TRACKS, 0.9, np.float32),
        np.zeros((TRACKS, 2), np.float32),
        np.full(TRACKS, 1.0, np.float32),
        np.zeros(TRACKS, np.float32),
    )
    seen = Observation(time_ns, frame.time_ns, frame.number, Status({"hp": 1.0}), tracks, (0.5, 0.5))
    return Step(seen, Action(0.5, 0.5))


def play(recorder: Recorder, pictures: list[Image], seconds: float, watch: Any = None) -> tuple[int, float]:
    """Offers pictures at 30 fps, steps at 20 Hz and 10 events a second, in real time. Returns the pictures offered
    and the CPU seconds that the offering itself took (making the steps, mostly)."""
    begin_ns, own_s = time.monotonic_ns(), time.thread_time()
    next_tick_ns = next_event_ns = begin_ns
    number = 0
    while (now_ns := time.monotonic_ns()) - begin_ns < seconds * 1e9:
        frame = Frame(number, now_ns, pictures[number % len(pictures)])
        recorder.offer_frame(frame)
        if now_ns >= next_tick_ns:
            recorder.offer_step(a_step(now_ns, frame))
            next_tick_ns += TICK_EVERY_NS
        if now_ns >= next_event_ns:
            recorder.offer_event(InputEvent(now_ns, "press" if number % 2 else "release", "space", 0.5, 0.5))
            next_event_ns += 100_000_000
        if watch is not None:
            watch(now_ns - begin_ns)
        number += 1
        time.sleep(max(0.0, (begin_ns + number * 1_000_000_000 / FPS - time.monotonic_ns()) / 1e9))
    return number, time.thread_time() - own_s


def ready_recorder(workspace: Path, prebuffer_s: float = 0.0) -> Recorder:
    """One that records, or (with a pre-buffer) one whose F5 is still to come."""
    settings = RecordingSettings(workspace, ARENA_PROFILE, Source(kind="screen"), prebuffer_s=prebuffer_s)
    recorder = Recorder(settings, lambda _level, _text: None)
    recorder.start()
    recorder.set_focus(True)
    if not prebuffer_s:
        recorder.press("f5")
    return recorder


def cost(seconds: float) -> dict[str, Any]:
    """1280x720 at 30 fps: share of a core, memory over time, F6."""
    pictures = [np.ascontiguousarray(image.repeat(2, 0).repeat(2, 1)) for image in arena_pictures(60)]
    process = psutil.Process()
    memory_mb: list[float] = []

    def watch(passed_ns: int) -> None:
        if passed_ns / 1e9 >= 10 * (len(memory_mb) + 1):
            memory_mb.append(process.memory_info().rss / 1e6)

    with tempfile.TemporaryDirectory() as folder:
        recorder = ready_recorder(Path(folder))
        begin, cpu = time.perf_counter(), time.process_time()
        offered, own_s = play(recorder, pictures, seconds, watch)
        wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu - own_s
        state = recorder.state()
        begin = time.perf_counter()
        recorder.press("f6")
        recorder.wait(30.0)
        f6_s = time.perf_counter() - begin
        recorder.stop()
        info = list_sessions(Path(folder))[0]
    return {
        "seconds": round(wall_s, 1),
        "share_of_a_core": round(cpu_s / wall_s, 3),
        "offered_frames": offered,
        "written_frames": info.frames,
        "dropped_frames": state.dropped_frames,
        "size_mb": round(info.size_bytes / 1e6, 1),
        "f6_s": round(f6_s, 3),
        "memory_mb_every_10_s": [round(value, 1) for value in memory_mb],
    }


def prebuffer(seconds: float) -> dict[str, Any]:
    """The pre-buffer of 30 s alone, of the same pictures: share of a core, memory, and how long F5 takes to take it over."""
    pictures = [np.ascontiguousarray(image.repeat(2, 0).repeat(2, 1)) for image in arena_pictures(60)]
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        recorder = ready_recorder(Path(folder), prebuffer_s=30.0)
        before_mb = process.memory_info().rss / 1e6
        begin, cpu = time.perf_counter(), time.process_time()
        _, own_s = play(recorder, pictures, seconds)
        wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu - own_s
        state, grown_mb = recorder.state(), process.memory_info().rss / 1e6 - before_mb
        begin = time.perf_counter()
        recorder.press("f5")
        recorder.wait(30.0)
        f5_s = time.perf_counter() - begin
        recorder.press("f6")
        recorder.stop()
        info = list_sessions(Path(folder))[0]
    return {
        "seconds": round(wall_s, 1),
        "share_of_a_core": round(cpu_s / wall_s, 3),
        "held_s": state.buffered_s,
        "memory_mb": round(grown_mb, 1),
        "f5_s": round(f5_s, 3),
        "recorded_s": round(info.duration_s, 1),
        "dropped_frames": state.dropped_frames,
    }


def size(pictures: Iterator[Image]) -> float:
    """GB an hour of whole sessions at 640x360 and 30 fps, steps with 10 tracks included."""
    with tempfile.TemporaryDirectory() as folder:
        writer = SessionWriter.create(Path(folder), "play", ARENA_PROFILE, Source(), FPS, (640, 360), start_ns=0)
        count = 0
        for count, image in enumerate(pictures, 1):
            frame = Frame(count, count * 1_000_000_000 // FPS, image)
            writer.write_frame(frame)
            if count % 3 != 0:
                writer.write_step(a_step(frame.time_ns, frame))
        writer.close()
        return writer.size_bytes() / (count / FPS) * 3600 / 1e9


def record_until_killed(workspace: Path) -> None:
    recorder = ready_recorder(workspace)
    print("recording", flush=True)
    play(recorder, list(panning_pictures(60)), 60.0)


def kills(count: int) -> list[dict[str, float]]:
    """Seconds of pictures and of events that are missing after a kill at a random moment and the repair."""
    lost: list[dict[str, float]] = []
    dice = random.Random(0)
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--until-killed", folder]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                if child.stdout is not None:
                    child.stdout.readline()
                time.sleep(dice.uniform(3.0, 7.0))
                child.send_signal(signal.SIGKILL)
                killed_ns = time.monotonic_ns()
            begin = time.perf_counter()
            (report,) = recover_all(Path(folder))
            repair_s = time.perf_counter() - begin
            with open_session(Path(folder) / "sessions" / report.id) as session:
                frames_s = (killed_ns - int(session.frame_times_ns()[-1])) / 1e9
                events_s = (killed_ns - session.events()[-1].time_ns) / 1e9
            lost.append(
                {
                    "frames_s": round(frames_s, 2),
                    "events_s": round(events_s, 2),
                    "told_s": report.lost_s,
                    "repair_s": round(repair_s, 2),
                }
            )
    return lost


def cycles(count: int) -> dict[str, Any]:
    """Capture started and stopped so often through the engine, with a recording each: what is left behind."""
    process = psutil.Process()

    def left() -> dict[str, float]:
        gc.collect()
        return {
            "threads": process.num_threads(),
            "descriptors": process.num_fds() if hasattr(process, "num_fds") else process.num_handles(),
            "rss_mb": round(process.memory_info().rss / 1e6, 1),
        }

    with tempfile.TemporaryDirectory() as folder:
        center = ControlCenter(Settings(), Workspace(folder))
        center.start()
        center.wait_ready()

        def do(name: str, **params: Any) -> None:
            center.command(name, **params).result(120)

        def once(seed: int) -> None:
            do("source", kind="arena", pilot="random", seed=seed)
            do("record_toggle")
            until = time.monotonic() + 20.0
            while center.snapshot().recorder.frames < 10 and time.monotonic() < until:
                time.sleep(0.02)
            do("record_save")
            do("source_off")

        for seed in range(3):
            once(seed)
        before = left()
        for seed in range(count):
            once(3 + seed)
        after = left()
        saved = len(list_sessions(Path(folder)))
        center.stop(20.0)
    return {"cycles": count, "saved": saved, "wanted": count + 3, "before": before, "after": after}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of real-time recording (600 shows the memory)")
    parser.add_argument("--clip-seconds", type=float, default=60.0, help="of each clip whose size is measured")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cycles", type=int, default=30)
    parser.add_argument("--until-killed", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.until_killed is not None:
        record_until_killed(options.until_killed)
        return
    costs = cost(options.seconds)
    held = prebuffer(min(options.seconds, 45.0))
    round_trips = cycles(options.cycles)
    before, after = round_trips["before"], round_trips["after"]
    frames = round(options.clip_seconds * FPS)
    clips = {"arena": arena_pictures(frames), "panning": panning_pictures(frames), "noise": noise_pictures(min(frames, 10 * FPS))}
    sizes = {name: round(size(pictures), 2) for name, pictures in clips.items()}
    lost = kills(options.kills)
    memory = costs["memory_mb_every_10_s"]
    grown = f"{memory[-1] - memory[min(5, len(memory) - 1)]:+.1f} MB since the first minute" if memory else "not measured"
    rows = [
        ("1280x720 at 30 fps, share of a core", f"{costs['share_of_a_core']:.0%}", "< 40 %"),
        ("  written / offered frames", f"{costs['written_frames']} / {costs['offered_frames']}", "all"),
        ("  dropped, for want of time or room", f"{costs['dropped_frames']}", "0"),
        ("  memory", grown, "flat"),
        ("  F6 until saved", f"{costs['f6_s']:.2f} s", "< 3 s"),
        ("pre-buffer of 30 s, share of a core", f"{held['share_of_a_core']:.0%}", "as recording"),
        ("  memory", f"{held['memory_mb']:+.0f} MB", "-"),
        ("  F5 until it is on disk", f"{held['f5_s']:.2f} s", "-"),
        (f"left by {options.cycles} cycles: threads", f"{after['threads'] - before['threads']:+.0f}", "0"),
        ("  descriptors", f"{after['descriptors'] - before['descriptors']:+.0f}", "0"),
        ("  memory", f"{after['rss_mb'] - before['rss_mb']:+.1f} MB", "flat"),
        ("  recordings", f"{round_trips['saved']} / {round_trips['wanted']}", "all"),
        ("arena 640x360, GB an hour", f"{sizes['arena']:.2f}", "< 2"),
        ("  panning texture, GB an hour", f"{sizes['panning']:.2f}", "-"),
        ("  noise, GB an hour", f"{sizes['noise']:.2f}", "-"),
        (f"most lost in {len(lost)} kills, frames", f"{max(one['frames_s'] for one in lost):.2f} s", "<= 2 s"),
        ("  events", f"{max(one['events_s'] for one in lost):.2f} s", "<= 2 s"),
    ]
    for what, value, wanted in rows:
        print(f"{what:<40} {value:>28}   {wanted}")
    record = {
        "benchmark": "recorder",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpus": os.cpu_count(),
        "load_1min": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "cost": costs,
        "prebuffer": held,
        "cycles": round_trips,
        "gb_per_hour": sizes,
        "kills": lost,
    }
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"recorder_{time.strftime('%Y-%m-%d_%H%M')}_{options.seconds:.0f}s.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
