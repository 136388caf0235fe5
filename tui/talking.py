"""The part of the app that talks with the engine: commands go out, answers and notices come back and are shown, and in
the end it is left or stopped."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, cast

from rich.text import Text
from textual.app import App

from engine.state import EngineState, Notice
from tui import hints
from tui.pump import EngineHost, NotReady, one_line
from tui.registry import Registry
from tui.theme import Look

ANSWER_S: Final = 12.0
"""How long the answer to a command stands before the next step takes its line again."""
WORKING_AFTER_S: Final = 0.3
"""A command that is not answered by then is said to be at work."""
KEPT_NOTICES: Final = 200


class TalkingApp(App[int]):
    """An app with an engine behind it."""

    look: Look
    registry: Registry

    def __init__(self, host: EngineHost, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.host = host
        self.newest = EngineState()
        self._notices: list[Notice] = []
        self._answer: tuple[float, str, str] = (0.0, "", "info")
        self._pending: dict[Future[str], tuple[float, str]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.leaving = False
        self.farewell = ""
        """What is said in the terminal once the face is gone."""
        self.left_undone = ""
        """What went wrong while leaving."""
        self.hand_over: Callable[[], str] | None = None
        """Ends the engine and starts a headless one in its place; returns the farewell. None where that cannot be."""

    def update_all(self) -> None:
        """Bring what is seen up to date."""
        raise NotImplementedError

    @property
    def next_step(self) -> str:
        """The id of the action that a newcomer does best now; empty when they are on their way."""
        raise NotImplementedError

    @property
    def flier(self) -> tuple[str, str]:
        """The policy that would fly, and a newer one that would not; each empty where there is none or it is not known."""
        raise NotImplementedError

    def soon(self, call: Callable[[], object]) -> None:
        """Do it on the app's loop; from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(call)

    def send(self, command: str, *, quiet: bool = False, then: Callable[[], None] | None = None, **params: Any) -> None:
        """Send a command to the engine; its answer, or what went wrong, is shown. ``then`` runs when it went well."""
        try:
            future = self.host.command(command, **params)
        except NotReady as error:
            self.tell("warning", str(error))
            return
        if not quiet:
            self._answer = (0.0, "", "info")
            self._pending[future] = (time.monotonic(), command.replace("_", " "))

        def done(finished: Future[str]) -> None:
            self.soon(lambda: self._answered(finished, quiet, then))

        future.add_done_callback(done)

    def _answered(self, future: Future[str], quiet: bool, then: Callable[[], None] | None) -> None:
        self._pending.pop(future, None)
        if future.cancelled():
            return
        error = future.exception()
        if error is not None:
            self.tell("error", one_line(error))
            return
        if not quiet:
            self.tell("info", future.result(), log=False)
        self.update_all()
        if then is not None:
            then()

    def tell(self, level: str, text: str, *, log: bool = True) -> None:
        """Show a line above the footer for a while; ``log`` keeps it in the log pane too."""
        self._answer = (time.monotonic(), text, level)
        if log:
            self.note(level, text)
        self.update_all()

    def note(self, level: str, text: str) -> None:
        """A notice of the face's own."""
        known = level if level in ("debug", "info", "warning", "error") else "info"
        self._notices.append(Notice(time.time(), cast("Any", known), "face", text))
        del self._notices[:-200]

    def all_notices(self) -> list[Notice]:
        """The engine's notices and the face's own by time."""
        notices = [*self.newest.notices, *self._notices]
        notices.sort(key=lambda notice: notice.time_s)
        return notices

    def hint(self, state: EngineState) -> Text:
        """The line above the footer: the answer to the last command while it is fresh, else the next step."""
        if self.host.link:
            return hints.answer(f"{self.host.link}; {self.registry['quit'].first_key()} leaves", "error", self.look)
        when, text, level = self._answer
        if text and time.monotonic() - when < ANSWER_S:
            return hints.answer(text, level, self.look)
        for begin, command in self._pending.values():
            if time.monotonic() - begin > WORKING_AFTER_S:
                return hints.working(command, time.monotonic() - begin, self.look)
        return hints.hint(self.next_step, self.host.phase, self.host.failure, self.registry, self.look, *self.flier)

    # ---- leaving

    def leave(self, how: Callable[[], str] | None = None) -> None:
        """Stop the engine (an attached one is only left) in a thread of its own, then end the app; ``how`` does it in
        another way and returns the farewell. Safe to call more than once, on the app's loop."""
        if self.leaving:
            self.exit(0)
            return
        self.leaving = True
        if how is None and self.host.phase in ("ready", "starting") and not self.host.attached:
            self.tell("info", "stopping: the bot lets go, the recording and the jobs are saved")

        def stop() -> None:
            if how is None:
                self.host.stop()
            else:
                try:
                    self.farewell = how()
                except Exception as error:  # whatever it was: the engine is ended as ever, and it is told
                    logging.getLogger(__name__).exception("leaving")
                    self.left_undone = one_line(error)
                    self.host.stop()
            self.soon(lambda: self.exit(0))

        threading.Thread(target=stop, name="secondseat-leave", daemon=True).start()

    def ask_to_leave(self) -> None:
        """From any thread, at once: the app ends without questions (a signal came)."""
        self.leaving = True
        self.soon(lambda: self.exit(0))
