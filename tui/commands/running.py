"""An engine in this process for the length of one command: told what to do, watched, ended in order."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from tui.commands.invocation import say_error

if TYPE_CHECKING:
    from data.settings import Settings
    from engine.control_center import ControlCenter
    from engine.runtime.service import TaskService
    from engine.state import EngineState

WATCH_S: Final = 0.1
PLAIN_LINE_EVERY_S: Final = 10.0
SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class CommandError(Exception):
    """The command could not do what it was asked for; the text says why and what to do."""


class StatusLine:
    """One line that is rewritten on a terminal; elsewhere a line now and then. It goes to stderr, facts to stdout."""

    def __init__(self, plain: bool = False) -> None:
        self._rewrites = not plain and sys.stderr.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}
        self._last_s = -PLAIN_LINE_EVERY_S
        self._shown = ""

    def show(self, text: str, important: bool = False) -> None:
        """Important lines are always shown where lines are not rewritten."""
        if self._rewrites:
            from shutil import get_terminal_size

            text = text[: get_terminal_size().columns - 1]
            if text != self._shown:
                sys.stderr.write(f"\r{text:<{len(self._shown)}}")
                sys.stderr.flush()
                self._shown = text
        elif important or time.monotonic() - self._last_s >= PLAIN_LINE_EVERY_S:
            self._last_s = time.monotonic()
            print(text, file=sys.stderr)

    def end(self) -> None:
        """What follows begins on a line of its own."""
        if self._rewrites and self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._shown = ""


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


class EngineRun:
    """``with EngineRun(settings) as run: run.do("record_toggle"); run.watch(...)``. Leaving disarms, saves and stops."""

    def __init__(
        self,
        settings: Settings,
        *,
        debug: bool = False,
        plain: bool = False,
        service_of: Callable[[ControlCenter], TaskService] | None = None,
    ) -> None:
        """plain: no line is rewritten. service_of: makes a service that runs beside the engine's own."""
        self._settings, self._debug, self._service_of = settings, debug, service_of
        self._signals = Signals()
        self._seen_notices = 0.0
        self._center: ControlCenter | None = None
        self.line = StatusLine(plain)

    def __enter__(self) -> EngineRun:
        from engine.control_center import ControlCenter

        center = ControlCenter(self._settings, debug=self._debug)
        if self._service_of is not None:
            center.add_service(self._service_of(center))
        self._center = center
        self._signals.__enter__()
        try:
            center.start()
            self._wait(center.wait_ready, "the engine did not start within 60 s", 60.0)
        except BaseException:
            self._signals.__exit__(None, None, None)
            center.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            late = self.center.stop()
        finally:
            self._signals.__exit__(kind, error, trace)
        self.line.end()
        if late:
            say_error(f"would not stop: {', '.join(late)}")

    @property
    def center(self) -> ControlCenter:
        if self._center is None:
            raise CommandError("the engine was not started")
        return self._center

    @property
    def asked_to_end(self) -> str:
        """Why the command should end: a signal, or somebody stopped the engine; else empty."""
        if self._signals.asked:
            return self._signals.asked
        return (self.center.stop_reason or "the engine ended") if self.center.wait_ended(0) else ""

    def _wait(self, ready: Callable[[float], bool], otherwise: str, limit_s: float) -> None:
        until_s = time.monotonic() + limit_s
        while not ready(WATCH_S):
            if self._signals.asked:
                raise KeyboardInterrupt
            if time.monotonic() > until_s or self.center.wait_ended(0):
                raise CommandError(f"{otherwise}; details are in {self.center.workspace.logs / 'secondseat.log'}")

    def do(self, name: str, limit_s: float = 180.0, **parameters: Any) -> str:
        """One command of the engine; its words. Raises what the engine says (EngineError), KeyboardInterrupt on a signal."""
        future: Future[str] = self.center.command(name, **parameters)
        until_s = time.monotonic() + limit_s
        while True:
            try:
                return future.result(WATCH_S)
            except FutureTimeout:
                if future.done():
                    raise
                if self._signals.asked:
                    raise KeyboardInterrupt from None
                if time.monotonic() > until_s:
                    raise CommandError(f"{name}: no answer from the engine within {limit_s:.0f} s") from None

    def watch(self, tell: Callable[[EngineState], str], over: Callable[[EngineState], str], for_s: float | None = None) -> str:
        """Show the state until ``over`` says why it is over, the time is up, or a signal comes; why it ended."""
        began_s = time.monotonic()
        while True:
            state = self.center.snapshot()
            self._warnings(state)
            reason = over(state) or self.asked_to_end
            if not reason and for_s is not None and time.monotonic() - began_s >= for_s:
                reason = "the time is up"
            self.line.show(tell(state), important=bool(reason))
            if reason:
                self.line.end()
                return reason
            time.sleep(WATCH_S)

    def _warnings(self, state: EngineState) -> None:
        for notice in state.notices:
            if notice.time_s > self._seen_notices:
                self._seen_notices = notice.time_s
                if notice.level in {"warning", "error"}:
                    self.line.end()
                    print(f"{notice.level}: {notice.source}: {notice.text}", file=sys.stderr)
