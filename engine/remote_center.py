"""A control centre that stands in another process, as the face sees it: the same methods, over the socket.

One thread asks for the state a few times a second and one, while somebody looks, for the picture; a command has a thread
of its own for as long as it takes. ``stop`` leaves the engine running.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.endpoint import RemoteError
from engine.remote import COMMAND_TIMEOUT_S, Remote, UnreachableError
from engine.state import EngineState, Notice, Picture, ServiceState
from engine.wire import Hello

if TYPE_CHECKING:
    from engine.duties import Duties

log = logging.getLogger(__name__)

POLL_S: Final = 0.25
PICTURE_S: Final = 0.2
"""At most five pictures a second: a terminal shows no more."""
LOOKED_AWAY_S: Final = 2.0
"""When nobody has asked for a picture for this long, none is fetched."""
SILENT_S: Final = 2.0
"""An engine that has not answered for this long is said to be silent."""
KEEP_NOTICES: Final = 200
MOST_COMMANDS: Final = 8


class RemoteCenter:
    """The engine at ``path``. ``start``, ``snapshot``, ``command`` and ``picture`` return at once."""

    attached = True

    def __init__(self, path: Path, poll_s: float = POLL_S) -> None:
        self.path = path
        self._poll_s = poll_s
        self._viewer = secrets.token_hex(8)
        self._state = EngineState()
        self._engine = ""
        self._own_notices: list[Notice] = []
        self._failure: RemoteError | None = None
        self._refused = ""
        self._answered_s = time.monotonic()
        self._first = threading.Event()
        self._leaving = threading.Event()
        self._ask_now = threading.Event()
        self._free = threading.BoundedSemaphore(MOST_COMMANDS)
        self._thread = threading.Thread(target=self._follow, name="secondseat-attached", daemon=True)
        self._viewfinder = _Viewfinder(path, self._viewer, self._leaving)

    # ---- what the face asks

    def start(self) -> None:
        self._thread.start()

    def wait_ready(self, timeout_s: float = 20.0) -> bool:
        """Wait for the first answer. Raises RemoteError when the engine speaks another protocol; one that has gone
        meanwhile may come back."""
        came = self._first.wait(timeout_s)
        failure = self._failure
        if failure is not None and not isinstance(failure, UnreachableError) and not self._engine:
            raise failure
        return came

    def snapshot(self) -> EngineState:
        """The newest state that was heard of; while the engine is silent, only what still holds."""
        state = self._state
        notices = tuple(sorted((*state.notices, *self._own_notices), key=lambda notice: notice.time_s))
        link = self.link
        if not link:
            return replace(state, notices=notices)
        return EngineState(
            sequence=state.sequence,
            time_s=state.time_s,
            started_s=state.started_s,
            workspace=state.workspace,
            name=state.name,
            services=(ServiceState("engine", "failed", link),),
            notices=notices,
            checks=state.checks,
            sessions=state.sessions,
        )

    @property
    def link(self) -> str:
        """Why the engine cannot be reached just now; empty when it can."""
        if self._refused:
            return self._refused
        silent_s = time.monotonic() - self._answered_s
        if self._failure is None and silent_s < SILENT_S:
            return ""
        if self._state.ending:
            return f"the engine has ended: {self._state.ending}"
        if isinstance(self._failure, UnreachableError) and self._failure.gone:
            return "the engine is gone; asking again"
        if isinstance(self._failure, UnreachableError) or self._failure is None:
            return f"the engine has not answered for {silent_s:.0f} s; asking again"
        return str(self._failure)

    def busy(self) -> list[str]:
        return [] if self.link else self._state.doing()

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        """The newest picture that has arrived; asking keeps the next ones coming."""
        return None if self.link else self._viewfinder.newest(max_width_px, max_height_px)

    def command(self, name: str, **params: Any) -> Future[str]:
        """Send a command; its future gives the engine's answer, or raises RemoteError."""
        return self._in_a_thread(lambda remote: remote.command(name, **params), COMMAND_TIMEOUT_S)

    def stop_engine(self) -> Future[str]:
        """Tell the engine to disarm, save and end."""
        return self._in_a_thread(Remote.stop, 5.0)

    def duties(self) -> Duties:
        """Nothing: the engine goes on by itself."""
        from engine.duties import Duties

        return Duties()

    def stop(self, deadline_s: float = 5.0, *, keep_jobs: bool = False) -> list[str]:
        """Leave; the engine goes on, and so do its jobs."""
        if self._leaving.is_set():
            return []
        self._leaving.set()
        self._ask_now.set()
        until_s = time.monotonic() + min(deadline_s, 1.0)
        for thread in (self._thread, self._viewfinder.thread):
            if thread is not None and thread.is_alive():
                thread.join(max(0.0, until_s - time.monotonic()))
        if not self.link:
            try:
                Remote(self.path, 0.5, viewer=self._viewer).leave()
            except RemoteError:
                log.debug("the engine was gone already")
        return []

    # ---- threads

    def _in_a_thread(self, ask: Callable[[Remote], str], timeout_s: float) -> Future[str]:
        done: Future[str] = Future()
        if not self._free.acquire(blocking=False):
            done.set_exception(RemoteError(f"{MOST_COMMANDS} commands are not answered yet; wait for one of them"))
            return done

        def run() -> None:
            try:
                text = ask(Remote(self.path, timeout_s))
            except RemoteError as error:
                self._free.release()
                done.set_exception(error)
            else:
                self._free.release()
                self._ask_now.set()  # whoever waited for the answer sees its effect soon
                done.set_result(text)

        threading.Thread(target=run, name="secondseat-command", daemon=True).start()
        return done

    def _follow(self) -> None:
        remote = Remote(self.path, 3.0, viewer=self._viewer, keep=True)
        try:
            while not self._leaving.is_set():
                self._turn(remote)
                self._ask_now.wait(self._poll_s if self._failure is None else 2 * self._poll_s)
                self._ask_now.clear()
        finally:
            remote.close()

    def _turn(self, remote: Remote) -> None:
        """Ask once for the newest state."""
        try:
            if not self._engine or self._failure is not None:
                self._greet(remote.hello())
            known = self._state.notice_count if self._engine else 0
            state = EngineState.from_json(remote.state(self._engine, known))
        except (RemoteError, ValueError) as error:
            self._lost(error if isinstance(error, RemoteError) else RemoteError(f"the engine's answer makes no sense: {error}"))
            return
        engine = f"{state.pid}-{state.started_s}"
        if engine != self._engine and self._engine:
            self._note("warning", f"another engine answers now: process {state.pid}")
        kept = self._state.notices if engine == self._engine else ()
        if self._failure is not None:
            self._failure = None
            self._note("info", "the engine answers again")
        self._engine, self._answered_s = engine, time.monotonic()
        self._state = replace(state, notices=(*kept, *state.notices)[-KEEP_NOTICES:])
        self._first.set()

    def _greet(self, hello: Hello) -> None:
        """Check who answers. Raises RemoteError when it speaks another protocol."""
        refusal = hello.refusal()
        self._refused = refusal if self._engine else ""
        if refusal:
            raise RemoteError(refusal)
        if difference := hello.difference():
            self._note("warning", difference)

    def _lost(self, error: RemoteError) -> None:
        if self._failure is None and self._engine:
            self._note("error", f"the engine has ended: {self._state.ending}" if self._state.ending else str(error))
        self._failure = error
        self._first.set()

    def _note(self, level: Any, text: str) -> None:
        if not any(notice.text == text and time.time() - notice.time_s < 60 for notice in self._own_notices):
            self._own_notices.append(Notice(time.time(), level, "attach", text))
            del self._own_notices[:-50]


class _Viewfinder:
    """Fetches pictures in a thread of its own while somebody looks."""

    def __init__(self, path: Path, viewer: str, leaving: threading.Event) -> None:
        self._path, self._viewer, self._leaving = path, viewer, leaving
        self._size = (0, 0)
        self._asked_s = 0.0
        self._picture: Picture | None = None
        self.thread: threading.Thread | None = None

    def newest(self, max_width_px: int, max_height_px: int) -> Picture | None:
        self._size, self._asked_s = (max_width_px, max_height_px), time.monotonic()
        if (self.thread is None or not self.thread.is_alive()) and not self._leaving.is_set():
            self.thread = threading.Thread(target=self._fetch, name="secondseat-picture", daemon=True)
            self.thread.start()
        return self._picture

    def _fetch(self) -> None:
        remote = Remote(self._path, 3.0, viewer=self._viewer, keep=True)
        try:
            while not self._leaving.is_set() and time.monotonic() - self._asked_s < LOOKED_AWAY_S:
                try:
                    self._picture = remote.picture(*self._size)
                except RemoteError as error:
                    self._picture = None
                    log.debug("no picture: %s", error)
                self._leaving.wait(PICTURE_S)
        finally:
            self._picture = None
            remote.close()
