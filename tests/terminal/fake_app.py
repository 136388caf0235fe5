"""The face on a stand-in engine, for tests on a real terminal: ``python fake_app.py STATE_FOLDER [full|idle] [WHAT...]``.

WHAT: ``busy`` changes the state all the time, ``noise`` prints from everywhere, ``crash`` raises in the face when "?" is
pressed, ``slow`` takes 1 s to stop, ``workspace=FOLDER`` is where its sessions lie.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))


def make_noise() -> None:
    """What libraries do to a terminal."""
    for _ in range(20):
        os.write(2, b"RAWNOISE\n")
        os.write(1, b"RAWNOISE\n")
        print("PYNOISE")
        print("PYNOISE", file=sys.stderr)
        warnings.warn("WARNNOISE", stacklevel=1)
        time.sleep(0.05)


def change(center) -> None:
    """A state that moves, so that much is drawn."""
    from dataclasses import replace

    from engine.state import Notice

    while True:
        time.sleep(0.05)
        old = center.state
        notice = Notice(time.time(), "info", "test", "x" * 80 + str(old.sequence))
        center.state = replace(
            old,
            sequence=old.sequence + 1,
            notices=(*old.notices[-50:], notice),
            recorder=replace(old.recorder, frames=old.recorder.frames + 1),
            tick=replace(old.tick, age_p50_ms=float(old.sequence % 90)),
        )


def main() -> int:
    if os.environ.get("SECONDSEAT_TEST_CTTY"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    from tui.start import run_app

    folder, what = Path(sys.argv[1]), sys.argv[2:]

    def factory():
        from fake import FakeCenter, full_state, idle_state

        workspace = next((word.removeprefix("workspace=") for word in what if word.startswith("workspace=")), "")
        center = FakeCenter(full_state(workspace) if "full" in what else idle_state(workspace), stop_s=1.0 if "slow" in what else 0.0)
        center.saved_to = folder / "stopped.txt"
        if "busy" in what:
            threading.Thread(target=change, args=(center,), daemon=True).start()
        if "noise" in what:
            threading.Thread(target=make_noise, daemon=True).start()
        return center

    if "crash" in what:

        def crash(app) -> None:
            secret = "sk-LOCALVALUE"
            raise RuntimeError(f"the face fell over{secret[:0]}")

        import tui.deeds

        tui.deeds.DEEDS = {**tui.deeds.DEEDS, "keys": crash}

    def no_settings():
        raise AssertionError("the stand-in has no settings")

    return run_app(no_settings, factory=factory, state_folder=folder)


if __name__ == "__main__":
    sys.exit(main())
