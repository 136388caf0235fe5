"""Films a tour through the real app for the README: ``python docs/pictures/record_tour.py``.

It starts Secondseat on a terminal of its own with an empty home and a virtual display (Xvfb, openbox), presses keys as
a newcomer would, watches the screen through an emulated terminal (pyte), and writes ``tour.cast`` (for asciinema) and
``tour.svg`` (which moves by itself) beside this file, and single pictures from the way. Waiting is shortened, and the
caption says how much. It takes about three minutes.
"""

from __future__ import annotations

import codecs
import fcntl
import getpass
import os
import pty
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyte

HERE: Final = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import film  # noqa: E402 - beside this file

COLUMNS: Final = 120
ROWS: Final = 36
BEAT_S: Final = 0.5
"""Time of the film between two frames."""
PICTURE_BEAT_S: Final = 1.0
"""The same where a picture changes all the time."""
TITLE: Final = "secondseat"
KEYS: Final = {"F5": "\x1b[15~", "F6": "\x1b[17~", "F8": "\x1b[19~", "Enter": "\r", "Esc": "\x1b", "Down": "\x1b[B", "Space": " "}


class Stage:
    """The app on a pty, the emulated terminal that shows it, and the frames taken so far."""

    def __init__(self, home: Path, display: str) -> None:
        self.frames: list[film.Frame] = []
        self.stills: dict[str, film.Frame] = {}
        self.caption = ""
        self._film_s = 0.0
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        kept = {name: os.environ[name] for name in ("PATH", "OMP_NUM_THREADS", "NUMBA_CACHE_DIR") if name in os.environ}
        look = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "DISPLAY": display}
        self._app = subprocess.Popen(
            [sys.executable, "-m", "tui.cli"],
            cwd=home,
            env={**kept, **look, "HOME": str(home), "PYTHONSAFEPATH": "1"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._master, selectors.EVENT_READ)

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def press(self, keys: str, caption: str = "") -> None:
        self.caption = caption or self.caption
        os.write(self._master, KEYS.get(keys, keys).encode())

    def show(self, real_s: float, times: float = 1.0, beat_s: float = BEAT_S) -> None:
        """Film for so long; ``times`` as fast as it was."""
        end = time.monotonic() + real_s
        self.until(lambda: time.monotonic() >= end, "the end of a pause", real_s + 10, times, beat_s)

    def until(self, condition: Callable[[], object], what: str, timeout_s: float, times: float = 1.0, beat_s: float = BEAT_S) -> None:
        """Film until the condition holds, a frame each ``beat_s`` of the film."""
        plain = self.caption
        if times > 1:
            self.caption = f"{plain} ({times:g} times as fast)"
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}; the screen shows:\n{self.text}")
            self._read(beat_s * times)
            self._take(beat_s)
        self.caption = plain

    def until_shown(self, text: str, timeout_s: float, times: float = 1.0) -> None:
        self.until(lambda: text in self.text, f"no {text!r}", timeout_s, times)

    def wait_until(self, condition: Callable[[], object], what: str, timeout_s: float) -> None:
        """Let it pass, unfilmed."""
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}; the screen shows:\n{self.text}")
            self.wait(BEAT_S)

    def wait(self, for_s: float) -> None:
        """Unfilmed."""
        self._read(for_s)

    def _read(self, for_s: float) -> None:
        end = time.monotonic() + for_s
        while (left := end - time.monotonic()) > 0:
            if self._selector.select(left):
                try:
                    self._stream.feed(self._decode(os.read(self._master, 65536)))
                except OSError as error:
                    raise RuntimeError(f"the app ended; the screen showed:\n{self.text}") from error

    def _take(self, beat_s: float) -> None:
        rows = tuple(film.row_of(self._screen.buffer[y], COLUMNS) for y in range(ROWS))
        if not self.frames or (rows, self.caption) != (self.frames[-1].rows, self.frames[-1].caption):
            self.frames.append(film.Frame(round(self._film_s, 2), rows, self.caption))
        self._film_s += beat_s

    def keep(self, name: str) -> None:
        """The newest frame as a picture of its own."""
        self.stills[name] = self.frames[-1]

    def close(self) -> None:
        self._app.terminate()
        end = time.monotonic() + 10
        while self._app.poll() is None and time.monotonic() < end:
            if self._selector.select(0.1):
                try:
                    os.read(self._master, 65536)
                except OSError:
                    break
        self._app.wait(5)
        os.close(self._master)


def tour(stage: Stage) -> None:
    """What is shown, in order."""
    stage.caption = "First start: what this machine can do, and what to do next"
    stage.wait_until(lambda: "Next:" in stage.text, "the engine did not start", 60)
    stage.show(3)
    stage.press("y", "y: the demo, a scripted pilot plays the arena")
    stage.until_shown("fps", 180, times=4)
    stage.press("4", "4, p: the picture that is captured, live")
    stage.wait(BEAT_S)
    stage.press("p")
    stage.show(3, beat_s=PICTURE_BEAT_S)
    stage.press("F5", "F5: record")
    stage.show(30, times=10, beat_s=PICTURE_BEAT_S)
    stage.press("F6", "F6: save")
    stage.press("p")
    stage.wait(BEAT_S)
    stage.show(2, beat_s=PICTURE_BEAT_S)
    stage.press("s", "s: the sessions")
    stage.until_shown("saved", 20)
    stage.show(2)
    stage.press("Enter", "Enter: one session, with keys, clicks and labels over time")
    stage.wait_until(lambda: "|0:05" in stage.text, "no timeline", 30)
    stage.show(4)
    stage.keep("session")
    stage.press("P", "P: play it back in the terminal")
    stage.wait_until(lambda: "playing" in stage.text and "0:00.0 of" not in stage.text, "nothing is played", 30)
    stage.show(4, beat_s=2.0)
    for key in ("Esc", "Esc", "Esc"):
        stage.press(key)
        stage.wait(BEAT_S)
    stage.wait_until(lambda: "Actions" in stage.text, "the first screen did not come back", 30)
    stage.press("1")
    stage.press("t", "t: train all three levels on it")
    stage.show(3)
    stage.until_shown("Trained.", 600, times=10)
    stage.show(3)
    stage.press("a", "a: arm and fly, once you have said where")
    stage.show(3)
    stage.press("y", "it flies what it has just learnt; touch a key and you have the controls")
    stage.wait_until(lambda: "dry run" not in stage.text, "the question stays", 30)
    stage.press("4")
    stage.wait(BEAT_S)
    stage.press("p")
    stage.until_shown("BOT flies", 60)
    stage.show(8, times=2, beat_s=PICTURE_BEAT_S)
    stage.keep("flying")
    stage.press("F8", "F8: everything stops, from any window")
    stage.show(2, beat_s=PICTURE_BEAT_S)


def refuse_names_of_this_machine(frames: list[film.Frame], home: Path) -> None:
    """A film for everybody shows no path, user or host of the machine that it was made on."""
    names = {str(home), str(Path.home()), str(HERE.parents[1]), socket.gethostname(), getpass.getuser()}
    for frame in frames:
        for row in frame.rows:
            found = [name for name in names if name in film.text_of(row)]
            if found:
                raise ValueError(f"at {frame.at_s} s the screen shows {found[0]!r}: {film.text_of(row).strip()}")


def main() -> None:
    from league.arena import world
    from tests.support.x11 import openbox, x_server
    from tui.memory import FILE_NAME, Memory

    os.environ.setdefault("NUMBA_CACHE_DIR", str(world.cache_folder()))
    world.warm()
    with tempfile.TemporaryDirectory(prefix="tour-") as folder, x_server() as display, openbox(display):
        home = Path(folder)
        Memory(home / ".local/state/secondseat" / FILE_NAME).keep_parameters("train_all", {"quick": True})
        stage = Stage(home, display)
        try:
            tour(stage)
        finally:
            stage.close()
        refuse_names_of_this_machine(stage.frames, home)
    written = {"tour.cast": "\n".join(film.cast(stage.frames, COLUMNS, TITLE)) + "\n", "tour.svg": film.svg(stage.frames, COLUMNS, TITLE)}
    written |= {f"{name}.svg": film.svg([frame], COLUMNS, TITLE) for name, frame in stage.stills.items()}
    for name, text in written.items():
        (HERE / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {len(text.encode()) / 1000:.0f} kB\n")
    sys.stdout.write(f"{len(stage.frames)} frames\n")


if __name__ == "__main__":
    main()
