"""Starting and stopping the arena's window, a child process with its own SDL main thread."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.runtime.jobs import child_environment
from league.arena.truth_socket import TruthClient, TruthSocketError

log = logging.getLogger(__name__)

START_TIMEOUT_S: Final = 180.0
"""The first start of a version compiles the rules, which takes about half a minute on a slow machine."""
STOP_TIMEOUT_S: Final = 3.0


class ArenaWindowError(Exception):
    """The window could not be opened; the text says why and what to do."""


class ArenaWindowHandle:
    """A running window. ``client`` reads its ticks, score and truth; it belongs to one thread."""

    def __init__(self, process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str], tail: _Tail) -> None:
        self._process, self._folder, self._tail = process, folder, tail
        self.socket = Path(folder.name) / "truth"
        self.client: TruthClient | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """None while it runs; 0 when it was closed."""
        return self._process.poll()

    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._tail.text()

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait until the person has closed it. Raises subprocess.TimeoutExpired."""
        return self._process.wait(timeout_s)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Close it; False when it had to be killed after ``timeout_s``. Doing so twice does no harm."""
        if self.client is not None:
            self.client.close()
            self.client = None
        obeyed = True
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()  # the window closes when its parent's end of the pipe does
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            obeyed = False
            log.warning("the arena's window (process %d) did not close within %.1f s and was killed", self.pid, timeout_s)
            self._process.kill()
            self._process.wait(5.0)
        self._tail.join()
        self._folder.cleanup()
        return obeyed

    def __enter__(self) -> ArenaWindowHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Tail:
    """Keeps the last lines of a child's standard error and passes them to the log."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._lines: deque[str] = deque(maxlen=20)
        self._process = process
        self._thread = threading.Thread(target=self._read, name="arena-window-stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        stream = self._process.stderr
        if stream is None:
            return
        with stream:
            for line in stream:
                text = line.decode("utf-8", "replace").rstrip()
                self._lines.append(text)
                log.info("arena window: %s", text)

    def text(self) -> str:
        return "\n".join(list(self._lines))

    def join(self) -> None:
        self._thread.join(2.0)


def start_arena_window(
    seed: int = 0,
    scale: int = 2,
    pilot: str | None = None,
    episodes: int = 0,
    episode_s: float = 60.0,
    title: str | None = None,
    driver: str | None = None,
    position: tuple[int, int] | None = None,
    pause_unfocused: bool = False,
    look: str = "classic",
    timeout_s: float = START_TIMEOUT_S,
    cancelled: Callable[[], bool] | None = None,
) -> ArenaWindowHandle:
    """Start the window and wait until it is up and its socket answers.

    pilot: "expert", "novice", "random", or None for a person. episodes: close after so many, 0: until closed. driver:
    an SDL video driver by name ("dummy" shows nothing), None: the platform's own. look: a name of
    ``league.arena.looks``. cancelled: asked while waiting. Blocks; call it off the live path.

    Raises ArenaWindowError with the window's own words.
    """
    folder = tempfile.TemporaryDirectory(prefix="secondseat-")  # 0700, and short enough for a socket's path
    command = [sys.executable, "-m", "league.arena.window", "--follow-parent", "--socket", str(Path(folder.name) / "truth")]
    command += ["--seed", str(seed), "--scale", str(scale), "--episodes", str(episodes), "--episode-s", str(episode_s)]
    command += ["--look", look]
    for name, value in (("--pilot", pilot), ("--title", title), ("--driver", driver)):
        if value:
            command += [name, value]
    if position is not None:
        command += [f"--position={position[0]},{position[1]}"]
    if pause_unfocused:
        command.append("--pause-unfocused")
    try:
        process = subprocess.Popen(
            command, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    except OSError as error:
        folder.cleanup()
        raise ArenaWindowError(f"arena window: {sys.executable} could not be started ({error.strerror or error})") from error
    handle = ArenaWindowHandle(process, folder, _Tail(process))
    try:
        handle.client = _first_answer(handle, timeout_s, cancelled or (lambda: False))
    except BaseException:
        handle.stop()
        raise
    return handle


def _first_answer(handle: ArenaWindowHandle, timeout_s: float, cancelled: Callable[[], bool]) -> TruthClient:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if not handle.running:
            status = handle.wait(0)
            time.sleep(0.05)  # its last words may still be on their way
            raise ArenaWindowError(handle.last_words() or f"arena window: it ended at once (exit status {status}) and said nothing")
        if cancelled():
            raise ArenaWindowError("arena window: cancelled while it was starting")
        if handle.socket.exists():
            try:
                return TruthClient(handle.socket, timeout_s=2.0)
            except TruthSocketError:
                log.debug("the arena's window does not answer yet")
        time.sleep(0.02)
    raise ArenaWindowError(f"arena window: it did not answer within {timeout_s:.0f} s; {handle.last_words() or 'it said nothing'}")
