"""A program on a terminal of its own, whose other end the test holds."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent


class PtyRun:
    """Starts ``fake_app.py``, or another program of this interpreter, on a pty.

    ``output`` is what the terminal was sent so far; ``reading`` can be cleared to
    play a terminal that nobody reads."""

    def __init__(
        self,
        folder: Path,
        *what: str,
        columns: int = 100,
        rows: int = 30,
        env: dict[str, str] | None = None,
        program: list[str] | None = None,
    ) -> None:
        self.folder = folder
        self.output = b""
        self.reading = threading.Event()
        self.reading.set()
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SECONDSEAT_TEST_CTTY": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, *(program or [str(HERE / "fake_app.py"), str(folder), *what])],
            cwd=HERE.parents[1],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**environ, **(env or {})},
        )
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended:
            if not self.reading.wait(0.1):
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.output += data

    def wait_for(self, text: str | bytes, timeout_s: float = 10.0) -> float:
        """Wait until the terminal was sent ``text``; returns how long it took."""
        wanted = text.encode() if isinstance(text, str) else text
        start = time.monotonic()
        while wanted not in self.output:
            assert self.process.poll() is None or wanted in self.output, f"ended with {self.process.returncode}: {self.output[-800:]!r}"
            assert time.monotonic() - start < timeout_s, f"no {text!r} in {self.output[-800:]!r}"
            time.sleep(0.01)
        return time.monotonic() - start

    def up(self) -> PtyRun:
        """Wait until the engine is there."""
        self.wait_for("Actions")
        self.wait_for(":99")
        return self

    def type(self, keys: str | bytes) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def wait(self, timeout_s: float = 8.0) -> int:
        status = self.process.wait(timeout_s)
        time.sleep(0.1)
        return status

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.signal(signal.SIGWINCH)

    def assert_whole(self) -> None:
        """The terminal is as it was: settings, main screen, cursor, mouse and paste modes off."""
        assert termios.tcgetattr(self.slave) == self.before
        for on, off in (
            (b"?1049h", b"?1049l"),
            (b"?1000h", b"?1000l"),
            (b"?1003h", b"?1003l"),
            (b"?1006h", b"?1006l"),
            (b"?2004h", b"?2004l"),
            (b"?25l", b"?25h"),
        ):
            assert self.output.rfind(b"\x1b[" + off) > self.output.rfind(b"\x1b[" + on), (
                f"{off!r} is missing at the end: {self.output[-300:]!r}"
            )

    def close(self) -> None:
        self._ended = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(5)
        self.reading.set()
        for fd in (self.slave, self.master):
            os.close(fd)
        self._thread.join(2)
