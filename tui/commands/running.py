"""What commands that take a while show, and how a signal ends them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from data.text import printable, printable_lines
from tui.commands.invocation import shown_duration

if TYPE_CHECKING:
    from engine.runtime.progress import Progress

PLAIN_LINE_EVERY_S: Final = 10.0
SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
UNREAD_S: Final = 0.3
"""How long a line may wait for a terminal before the work goes on without it."""


class CommandError(Exception):
    """The command could not do what it was asked for; the text says why and what to do."""


class SteadyStderr:
    """Writes to stderr, and holds up nobody: a terminal that is not read (a stalled SSH connection) or is gone (its
    window was closed) costs ``UNREAD_S`` once; then lines are kept for it, the newest ones, until it reads again."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque(maxlen=200)
        self._changed = threading.Condition()
        self._writing = False
        self._thread: threading.Thread | None = None
        self.stalled = False

    def write(self, text: str) -> None:
        with self._changed:
            self._waiting.append(text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="secondseat-stderr", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            if not self.stalled:
                self.stalled = not self._changed.wait_for(lambda: not self._waiting and not self._writing, UNREAD_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                text, self._writing = self._waiting.popleft(), True
            self._put(text)
            with self._changed:
                self._writing = False
                self.stalled = self.stalled and bool(self._waiting)
                self._changed.notify_all()

    @staticmethod
    def _put(text: str) -> None:
        try:
            fd = sys.stderr.fileno()
        except (OSError, ValueError, AttributeError):  # not a file: a stand-in that cannot block
            sys.stderr.write(text)
            return
        data = text.encode(sys.stderr.encoding or "utf-8", "replace")
        with contextlib.suppress(OSError):  # the terminal is gone
            while data:
                data = data[os.write(fd, data) :]


class StatusLine:
    """One line that is rewritten on a terminal; elsewhere a line now and then. It goes to stderr, facts to stdout."""

    def __init__(self, plain: bool = False) -> None:
        self._out = SteadyStderr()
        self.rewrites = not plain and sys.stderr.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}
        self._last_s = -PLAIN_LINE_EVERY_S
        self._shown = ""

    def show(self, text: str) -> None:
        """The newest state; where lines cannot be rewritten, one in ten seconds."""
        text = printable(text)
        if self.rewrites:
            from shutil import get_terminal_size

            text = text[: get_terminal_size().columns - 1]
            if text != self._shown:
                self._out.write(f"\r{text:<{len(self._shown)}}")
                self._shown = text
        elif time.monotonic() - self._last_s >= PLAIN_LINE_EVERY_S:
            self._last_s = time.monotonic()
            self._out.write(f"{text}\n")

    def say(self, text: str) -> None:
        """A line that stays."""
        self.end()
        self._last_s = time.monotonic()
        self._out.write(f"{printable_lines(text)}\n")

    def ring(self) -> None:
        """The terminal's bell."""
        if sys.stderr.isatty():
            sys.stderr.write("\a")
            sys.stderr.flush()

    def end(self) -> None:
        """What follows begins on a line of its own."""
        if self._shown:
            self._out.write("\n")
            self._shown = ""

    def leave_if_unread(self, status: int) -> None:
        """End the process when nobody reads this terminal: what is still to be said would hold it for ever."""
        if self._out.stalled:
            os._exit(status)


class ProgressLine:
    """A ``Report`` for a terminal: a bar with stage and time left, or plain lines at each new stage. Remarks get lines of their own,
    which stay."""

    def __init__(self, line: StatusLine) -> None:
        self._line, self._stage, self._message = line, "", ""

    def __call__(self, progress: Progress) -> None:
        from data.progress import is_note, note_text

        if is_note(progress):
            self._line.say(note_text(progress))
            return
        left = f", {shown_duration(progress.eta_s)} left" if progress.eta_s is not None else ""
        words = f"{progress.stage}{f': {progress.message}' if progress.message else ''}"
        if self._line.rewrites:
            filled = round(min(max(progress.done, 0.0), 1.0) * 20)
            self._line.show(f"[{'#' * filled}{'.' * (20 - filled)}] {progress.done:4.0%}{left}  {words}")
        elif _phase(progress.stage) != self._stage:
            self._stage = _phase(progress.stage)
            self._line.say(f"{progress.done:4.0%}  {words}{left}")
        else:
            self._line.show(f"{progress.done:4.0%}  {words}{left}")


def _phase(stage: str) -> str:
    """The stage without its counters: "epoch 3/80" and "epoch 4/80" are one."""
    return "".join(letter for letter in stage if not letter.isdigit())


class Signals:
    """The first of SIGINT, SIGTERM and SIGHUP asks to end; a second SIGINT interrupts at once."""

    def __init__(self) -> None:
        self.asked = ""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = "interrupted" if number == signal.SIGINT else signal.Signals(number).name


class TermAsInterrupt:
    """SIGTERM, SIGHUP, Ctrl-Break and a closing console are taken like Ctrl-C: long work then saves and stops."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._console = contextlib.ExitStack()

    def __enter__(self) -> TermAsInterrupt:
        from _thread import interrupt_main

        from engine.platforms.console import console_end

        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, signal.default_int_handler)
        self._console.enter_context(console_end(interrupt_main))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._console.close()
        for number, before in self._before.items():
            signal.signal(number, before)
