"""A process that records until it is killed: ``python record_child.py WORKSPACE [FILE_SIZE_LIMIT]``.

Says "ready" once the first picture was offered. With a limit, files cannot grow beyond it, as on a full disk; the
process then ends by itself and prints what the recorder said last.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from data.metadata import Source
from data.profile import ARENA_PROFILE
from data.schema import Action, Frame, InputEvent, Observation, Status, Step, Tracks
from engine.recorder import Recorder, RecordingSettings


def main(workspace: Path, limit: int | None) -> None:
    if limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    said: list[str] = []
    recorder = Recorder(RecordingSettings(workspace, ARENA_PROFILE, Source(kind="arena")), lambda _, text: said.append(text))
    recorder.start()
    recorder.set_focus(True)
    recorder.press("f5")
    noise = np.random.default_rng(0)
    for number in range(3000):
        now_ns = time.monotonic_ns()
        image = noise.integers(0, 255, (240, 320, 3), np.uint8)
        recorder.offer_frame(Frame(number, now_ns, image))
        recorder.offer_event(InputEvent(now_ns, "press" if number % 2 == 0 else "release", "space"))
        seen = Observation(now_ns, now_ns, number, Status(), Tracks.empty(), None)
        recorder.offer_step(Step(seen, Action(0.5, 0.5)))
        if number == 1:
            print("ready", flush=True)
        if recorder.state().phase == "idle":
            break
        time.sleep(1 / 30)
    recorder.stop()
    print(said[-1], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
