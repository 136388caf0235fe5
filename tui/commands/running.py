"""What commands that take a while show, and how a signal ends them."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from tui.commands.invocation import shown_duration

if TYPE_CHECKING:
    from engine.runtime.progress import Progress

PLAIN_LINE_EVERY_S: Final = 10.0
SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class CommandError(Exception):
    """The command could not do what it was asked for; the text says why and what to do."""


class StatusLine:
    """One line that is rewritten on a terminal; elsewhere a line now and then. It goes to stderr, facts to stdout."""

    def __init__(self, plain: bool = False) -> None:
        self.rewrites = not plain and sys.stderr.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}
        self._last_s = -PLAIN_LINE_EVERY_S
        self._shown = ""

    def show(self, text: str) -> None:
        """The newest state; where lines cannot be rewritten, one in ten seconds."""
        if self.rewrites:
            from shutil import get_terminal_size

            text = text[: get_terminal_size().columns - 1]
            if text != self._shown:
                sys.stderr.write(f"\r{text:<{len(self._shown)}}")
                sys.stderr.flush()
                self._shown = text
        elif time.monotonic() - self._last_s >= PLAIN_LINE_EVERY_S:
            self._last_s = time.monotonic()
            print(text, file=sys.stderr)

    def say(self, text: str) -> None:
        """A line that stays."""
        self.end()
        self._last_s = time.monotonic()
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """What follows begins on a line of its own."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._shown = ""


class ProgressLine:
    """A ``Report`` for a terminal: a bar with stage and time left, or plain lines at each new stage."""

    def __init__(self, line: StatusLine) -> None:
        self._line, self._stage, self._message = line, "", ""

    def __call__(self, progress: Progress) -> None:
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
    """SIGTERM and SIGHUP are taken like Ctrl-C: long work then saves and stops."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def __enter__(self) -> TermAsInterrupt:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, signal.default_int_handler)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
