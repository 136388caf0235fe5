"""What stands between the engine and the panes: starting it in the background, reading its newest snapshot, sending
commands, ending it once.

Nothing here knows Textual. The panes never get a message per frame or step: they read ``EngineHost.snapshot`` on a
timer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from engine.state import EngineState, Picture

if TYPE_CHECKING:
    from engine.duties import Duties

log = logging.getLogger(__name__)

Phase = Literal["starting", "ready", "failed", "stopping", "stopped"]
STOP_DEADLINE_S: Final = 5.0
READY_S: Final = 30.0


class Center(Protocol):
    """The engine's control centre as the face sees it. No method but ``start``, ``wait_ready`` and ``stop`` waits.

    ``attached``: the engine runs in another process; ``stop`` only leaves it, ``stop_engine`` ends it. ``link`` says what is wrong with the
    way to it, and is empty when nothing is (always, for an engine of this process).
    """

    @property
    def attached(self) -> bool: ...

    @property
    def link(self) -> str: ...

    def start(self) -> None: ...

    def wait_ready(self, timeout_s: float = 20.0) -> bool: ...

    def snapshot(self) -> EngineState: ...

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None: ...

    def command(self, name: str, **params: Any) -> Future[str]: ...

    def duties(self) -> Duties: ...

    def stop(self, deadline_s: float = STOP_DEADLINE_S, *, keep_jobs: bool = False) -> list[str]: ...

    def stop_engine(self) -> Future[str]: ...

    def busy(self) -> list[str]: ...


CenterFactory = Callable[[], Center]
"""Imports what it needs and makes the control centre; called in a thread of its own after the first paint."""


class NotReady(Exception):
    """The engine is not there to take a command; the text says why."""


class EngineHost:
    """Owns the control centre's life within the face. All methods are safe from any thread."""

    def __init__(self, factory: CenterFactory, *, attached: bool = False) -> None:
        self._factory = factory
        self._attached = attached
        self._center: Center | None = None
        self._phase: Phase = "starting"
        self._failure = ""
        self._stop_lock = threading.Lock()
        self._stopped = threading.Event()
        self._left_behind: list[str] = []
        self._thread: threading.Thread | None = None
        self._started_s = time.time()

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def failure(self) -> str:
        """Why the engine did not start, on one line; empty when it did."""
        return self._failure

    @property
    def left_behind(self) -> list[str]:
        """What would not stop."""
        return self._left_behind

    def start(self, on_change: Callable[[], None]) -> None:
        """Import and start the engine in the background; ``on_change`` is called from there when it is up or not."""
        self._thread = threading.Thread(target=self._load, args=(on_change,), name="secondseat-engine-start", daemon=True)
        self._thread.start()

    def _load(self, on_change: Callable[[], None]) -> None:
        try:
            center = self._factory()
            with self._stop_lock:
                if self._phase == "starting":
                    center.start()
                    self._center = center
            if self._center is not None and not center.wait_ready(READY_S):
                raise TimeoutError(f"it was not ready within {READY_S:.0f} s; the log says more")
            if self._phase == "starting":
                self._phase = "ready"
        except Exception as error:  # the face stays up and says what is wrong
            log.exception("the engine did not start")
            self._failure = one_line(error)
            self._phase = "failed"
        with contextlib.suppress(RuntimeError):  # the face's loop may be gone by now
            on_change()

    def snapshot(self) -> EngineState:
        center = self._center
        if center is None:
            return EngineState(started_s=self._started_s)
        return center.snapshot()

    @property
    def attached(self) -> bool:
        """The engine runs in another process: leaving the face does not end it."""
        return self._attached

    @property
    def link(self) -> str:
        """What is wrong with the way to an engine of another process; empty when nothing is."""
        center = self._center
        return center.link if center is not None else ""

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        """The newest picture made small, with what was found on it; None while there is none. Never waits."""
        center = self._center
        return center.picture(max_width_px, max_height_px) if center is not None else None

    def command(self, name: str, **params: Any) -> Future[str]:
        center = self._center
        if center is None or self._phase != "ready":
            raise NotReady(self._why_not_ready())
        return center.command(name, **params)

    def _why_not_ready(self) -> str:
        if self._phase == "failed":
            return f"the engine did not start: {self._failure}"
        if self._phase in ("stopping", "stopped"):
            return "the engine is stopping"
        return "the engine is still starting; try again in a moment"

    def busy(self) -> list[str]:
        center = self._center
        return [] if center is None or self._phase != "ready" else center.busy()

    def duties(self) -> Duties:
        """What a new engine would have to go on with. Raises NotReady."""
        center = self._center
        if center is None or self._phase != "ready":
            raise NotReady(self._why_not_ready())
        return center.duties()

    def stop_engine(self) -> Future[str]:
        """Tell an engine of another process to disarm, save and end. Raises NotReady."""
        center = self._center
        if center is None or self._phase != "ready":
            raise NotReady(self._why_not_ready())
        return center.stop_engine()

    def stop(self, deadline_s: float = STOP_DEADLINE_S, *, keep_jobs: bool = False) -> list[str]:
        """Disarm, save and end the engine (an attached one is only left), once; later calls wait for the first.

        With ``keep_jobs`` what trains goes on, for the next engine.
        """
        with self._stop_lock:
            if self._stopped.is_set():
                return self._left_behind
            self._phase = "stopping"
            center = self._center
            if center is not None:
                try:
                    self._left_behind = list(center.stop(deadline_s, keep_jobs=keep_jobs))
                except Exception as error:
                    log.exception("the engine did not stop cleanly")
                    self._left_behind = [f"engine: {one_line(error)}"]
            self._phase = "stopped"
            self._stopped.set()
            return self._left_behind


def one_line(error: BaseException) -> str:
    """An error as one line of text for a person."""
    text = " ".join(str(error).split())
    return text or type(error).__name__
