"""Stands for an engine whose bot holds keys: ``python bot_driver.py WINDOW_ID END_FILE`` holds w and the left button.

It sends intents at 20 Hz and says ``holding`` once they go out. When END_FILE exists, its text says how it ends: by
``hang`` (stopped by a signal), ``hold`` (native code that keeps the interpreter for 10 s), else by an exception.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from engine.actuator.client import Actuator, Intent
from engine.platforms.port import WindowInfo

# Stands for a game profile: importing the real one takes longer than all else here.
PROFILE = SimpleNamespace(keys=("w", "q", "space"), edge_margin_px=8, hold_ms=50)


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background inherit an ignored one,
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # those under nohup this one
    window_id, end_file = int(sys.argv[1]), Path(sys.argv[2])
    actuator = Actuator().start()
    actuator.arm(WindowInfo(window_id, "Target", None), PROFILE)
    print(f"pid {actuator.pid}", flush=True)
    sequence = 0
    while True:
        sequence += 1
        held = frozenset({"w", "mouse_left"})
        actuator.send(Intent(sequence, time.monotonic_ns() + 100_000_000, 0.5, 0.5, (), held))
        if sequence == 3:
            print("holding", flush=True)
        if end_file.exists():
            ending = end_file.read_text()
            if ending == "hang":
                os.kill(os.getpid(), signal.SIGSTOP)
            if ending == "hold":
                ctypes.PyDLL(None).usleep(10_000_000)
            raise RuntimeError("the bot has failed")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
