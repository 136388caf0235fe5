"""Work on sessions off the drawing loop: quick changes in their order, and one long piece of work at a time."""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from data.progress import Progress, Report

log = logging.getLogger(__name__)

CLOSE_S: Final = 3.0
"""How long closing waits for work that was told to stop."""


class Cancelled(Exception):
    """Raised out of a progress report into work that a person stopped."""


@dataclass(frozen=True, slots=True)
class Doing:
    """The long work of the moment."""

    title: str
    begin_s: float
    stage: str = ""
    done: float = 0.0
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    work: Callable[[], Any]
    done: Callable[[Any], object]
    failed: Callable[[Exception], object]


class Desk:
    """Results and errors come back on the app's loop. Safe to use from that loop only."""

    def __init__(self, post: Callable[[Callable[[], object]], None]) -> None:
        self._post = post
        self._context = contextvars.copy_context()
        self._lines: dict[str, queue.SimpleQueue[_Task | None]] = {}
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self.doing: Doing | None = None
        self.kept: dict[str, Any] = {}
        """What was read last, by name: shown at once while it is read anew."""

    def quick(self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]) -> None:
        """Do something short after what was asked for before, never beside it."""
        self._put("quick", _Task(work, done, failed))

    def long(self, title: str, work: Callable[[Report], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]) -> bool:
        """Begin long work that reports its progress; False while another is going on."""
        if self.doing is not None:
            return False
        self._stop.clear()
        self.doing = Doing(title, time.monotonic())

        def report(progress: Progress) -> None:
            if self._stop.is_set():
                raise Cancelled
            doing = self.doing
            if doing is not None:
                self.doing = Doing(doing.title, doing.begin_s, progress.stage, progress.done, progress.eta_s)

        def finish(call: Callable[[Any], object], value: Any) -> None:
            self.doing = None
            call(value)

        self._put("long", _Task(lambda: work(report), lambda value: finish(done, value), lambda error: finish(failed, error)))
        return True

    def post(self, call: Callable[[], object]) -> None:
        """Run a call on the app's loop, from any thread, as if the app itself had called: dialogs may be opened."""
        context = self._context.copy()
        self._post(lambda: context.run(call))

    def cancel(self) -> bool:
        """Stop the long work at its next report; False when there is none."""
        self._stop.set()
        return self.doing is not None

    def busy(self) -> list[str]:
        """What leaving would stop."""
        return [self.doing.title] if self.doing is not None else []

    def close(self) -> list[str]:
        """Stop everything and wait for it; returns the names of threads that would not end."""
        self._stop.set()
        for line in self._lines.values():
            line.put(None)
        end = time.monotonic() + CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return [thread.name for thread in self._threads if thread.is_alive()]

    def _put(self, name: str, task: _Task) -> None:
        self._context = contextvars.copy_context()
        if name not in self._lines:
            line = self._lines[name] = queue.SimpleQueue()
            thread = threading.Thread(target=self._run, args=(line,), name=f"secondseat-sessions-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._lines[name].put(task)

    def _run(self, line: queue.SimpleQueue[_Task | None]) -> None:
        while (task := line.get()) is not None:
            try:
                value = task.work()
            except Exception as error:  # told to the person; the next task must not suffer
                if not isinstance(error, Cancelled | OSError | ValueError | LookupError | RuntimeError):
                    log.exception("work on a session failed")
                self.post(lambda failed=task.failed, error=error: failed(error))
            else:
                self.post(lambda done=task.done, value=value: done(value))
