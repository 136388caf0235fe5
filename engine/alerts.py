"""Tells somebody in a full-screen game what happened: a short tone or a desktop notification, when the settings ask.

The bell of a terminal is not rung here: whoever owns a terminal (the face, ``secondseat record``) rings it when
``newest`` has grown. Tones and notifications go out through programs that the platform has (``docs/decisions``, 0008),
from a thread of its own. One that fails is told once and never disturbs what it tells of.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final, Literal, Protocol

from engine.state import Alert, AlertKind, BotPhase

log = logging.getLogger(__name__)

Notice = Literal["none", "bell", "sound", "desktop"]
WAITING: Final = 8
"""More alerts than that are not kept back: what is told late is told wrongly."""
JOIN_S: Final = 2.0


class Teller(Protocol):
    """Tells one alert; may take a while. Raises AlertError when it cannot."""

    def tell(self, alert: Alert) -> None: ...

    def close(self) -> None: ...


class AlertError(Exception):
    """An alert that could not be told; the text says why and what to do."""


def teller_of(notice: Notice) -> Teller | None:
    """What tells alerts of this kind; None where nothing is told, or by others."""
    if notice == "sound":
        from engine.alert_sound import Tones

        return Tones()
    if notice == "desktop":
        from engine.alert_desktop import Notifications

        return Notifications()
    return None


class Alerts:
    """``tell`` may be called from any thread and never waits. Used between ``start`` and ``stop``."""

    def __init__(self, notice: Notice, make_teller: Callable[[Notice], Teller | None] = teller_of) -> None:
        self._notice: Notice = notice
        self._make_teller = make_teller
        self._lock = threading.Lock()
        self._newest = Alert()
        self._waiting: queue.Queue[Alert | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._bot: BotPhase = "disarmed"

    @property
    def newest(self) -> Alert:
        return self._newest

    def start(self) -> None:
        if self._notice in ("sound", "desktop"):
            self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
            self._thread.start()

    def tell(self, kind: AlertKind, text: str) -> None:
        with self._lock:
            self._newest = alert = Alert(self._newest.number + 1, kind, text)
        if self._thread is not None:
            try:
                self._waiting.put_nowait(alert)
            except queue.Full:
                log.debug("an alert was left out: %s", text)

    def follow_bot(self, phase: BotPhase, text: str) -> None:
        """Tells when the bot gets the controls, and when they are a person's again."""
        before, self._bot = self._bot, phase
        active = ("armed", "flying", "paused")
        if phase in active and before not in active:
            self.tell("arm", text)
        elif phase not in active and before in active:
            self.tell("disarm", text)

    def stop(self) -> None:
        """Ends the thread; the newest alert is still told when that is quick."""
        thread, self._thread = self._thread, None
        if thread is None or not thread.is_alive():
            return
        try:
            self._waiting.put(None, timeout=JOIN_S)
        except queue.Full:
            log.debug("alerts are still being told")
        thread.join(JOIN_S)

    def _run(self) -> None:
        teller = self._make_teller(self._notice)
        try:
            while teller is not None and (alert := self._waiting.get()) is not None:
                try:
                    teller.tell(alert)
                except AlertError as error:
                    log.warning("[recorder] notice = %r does not work here: %s", self._notice, error)
                    return
        finally:
            if teller is not None:
                teller.close()
