"""The engine's end of the actuator: starts the process, sends intents, keeps its journal, and cleans up if it dies."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from data.vocabulary import MOUSE_BUTTONS
from engine.actuator.journal import Journal
from engine.actuator.pipe import Pipe, open_pipe
from engine.actuator.protocol import PIPE_ATOM_BYTES, Decoder, Intent, JournalEntry, encode
from engine.platforms.port import WindowInfo
from engine.platforms.processes import creation_flags

if TYPE_CHECKING:
    from data.profile import GameProfile

log = logging.getLogger(__name__)

Condition = Literal["off", "disarmed", "armed", "paused", "yielded", "stopped", "dead"]

SILENCE_S: Final = 2.0
"""A process that has said nothing for so long hangs: it is killed, and a fresh one lets go of everything."""


class ActuatorError(Exception):
    """The actuator cannot do what was asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ActuatorStatus:
    """What the process said last. ``held``: keys and buttons that are down; ``place``: where the cursor was sent, px.

    ``ignored``: intents that came while it was not armed. ``lapses``: how often intents stayed away for 250 ms while
    something was held. ``unsent``: intents that the process did not take in time.
    """

    condition: Condition = "off"
    reason: str = ""
    held: tuple[str, ...] = ()
    place: tuple[int, int] | None = None
    sent: int = 0
    refused: int = 0
    expired: int = 0
    ignored: int = 0
    focus_losses: int = 0
    lapses: int = 0
    unsent: int = 0
    time_ns: int = 0


class Actuator:
    """Thread-safe. ``send`` never waits: the pipe takes an intent at once or it is dropped and counted.

    ``on_change(status)`` is called when the condition changes, ``on_stop_key()`` when the stop key is pressed (armed
    or not); both from the reader's thread, which they must not hold up.
    """

    def __init__(
        self,
        backend: Literal["port", "null"] = "port",
        stop_key: str = "f8",
        on_change: Callable[[ActuatorStatus], None] | None = None,
        on_stop_key: Callable[[], None] | None = None,
    ) -> None:
        self._backend, self._stop_key = backend, stop_key
        self._on_change, self._on_stop_key = on_change, on_stop_key
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Pipe | None = None
        self._lock = threading.Lock()
        self._condition_changed = threading.Condition(self._lock)
        self._status = ActuatorStatus()
        self._answers: dict[int, dict[str, Any]] = {}
        self._next_id = 0
        self._ready: str = ""
        self._unsent_controls: deque[bytes] = deque()
        self._names: tuple[str, ...] = ()
        self._was_armed = False
        """Something may be down; mouse buttons too, of a game without keys."""
        self._last_heard_s = 0.0
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._journal = Journal()
        self._unsent = 0

    @property
    def journal(self) -> Journal:
        return self._journal

    def entries(self) -> list[JournalEntry]:
        """The newest of what was sent, oldest first."""
        return self._journal.entries()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def status(self) -> ActuatorStatus:
        with self._lock:
            return dataclasses.replace(self._status, unsent=self._unsent)

    def text(self) -> str:
        """For the status line."""
        status = self.status()
        return status.condition + (f": {status.reason}" if status.reason else "")

    def start(self, timeout_s: float = 5.0) -> Actuator:
        """Starts the process and waits until it listens for the stop key. Raises ActuatorError with the cause.

        May be called again after the process has died or was stopped.
        """
        if self._process is not None and self._process.poll() is None:
            return self
        with self._lock:
            self._stopping, self._ready = False, ""
            self._status = ActuatorStatus("disarmed")
            self._unsent = 0
            self._answers.clear()
            self._unsent_controls.clear()
        process = _spawn(["--backend", self._backend, "--stop-key", self._stop_key])
        assert process.stdin is not None
        self._pipe = open_pipe(process.stdin.fileno())
        self._process = process
        self._last_heard_s = time.monotonic()
        self._threads = [
            threading.Thread(target=self._read, args=(process,), name="actuator-reader", daemon=True),
            threading.Thread(target=self._watch, args=(process,), name="actuator-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        with self._condition_changed:
            self._condition_changed.wait_for(lambda: bool(self._ready) or self._status.condition == "dead", timeout_s)
            ready, reason = str(self._ready), self._status.reason
        if ready != "ready":
            self.stop()
            raise ActuatorError(f"the actuator did not start: {ready or reason or f'no answer within {timeout_s:g} s'}")
        return self

    def arm(self, window: WindowInfo, profile: GameProfile, dry_run: bool = False, timeout_s: float = 1.5) -> None:
        """Lets intents through to this window and no other. Raises ActuatorError.

        The window need not have the focus yet: the actuator pauses until it has.
        """
        self._names, self._was_armed = profile.keys, self._was_armed or not dry_run
        rect = window.rect
        self._ask(
            {
                "op": "arm",
                "window": window.id,
                "title": window.title[:200],
                "keys": list(profile.keys),
                "margin_px": profile.edge_margin_px,
                "hold_ms": profile.hold_ms,
                "dry_run": dry_run,
                "rect": None if rect is None else [rect.left, rect.top, rect.width, rect.height],
            },
            timeout_s,
        )

    def resume(self, timeout_s: float = 1.5) -> None:
        """After a person took the controls: go on. Raises ActuatorError."""
        self._ask({"op": "resume"}, timeout_s)

    def disarm(self, reason: str = "") -> None:
        self._tell({"op": "disarm", "reason": reason})

    def send(self, intent: Intent) -> None:
        """Hands an intent over. What became of it is in ``status`` and ``journal``."""
        data = encode(intent.message())
        with self._lock:
            if not self._write(data):
                self._unsent += 1

    def release_all(self) -> None:
        self._tell({"op": "release"})

    def stop(self, timeout_s: float = 2.0) -> None:
        """Releases everything and ends the process; within the deadline, by force if need be."""
        process = self._process
        if process is None:
            return
        with self._lock:
            self._stopping = True
        self._tell({"op": "quit"})
        self._close_pipe(process)
        forced = not _ends(process, timeout_s / 2)
        if forced:
            process.kill()
            _ends(process, timeout_s / 2)
            self._rescue()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(1.0)
        self._process = None
        self._change(ActuatorStatus("off", "it did not end by itself and was killed" if forced else ""))

    def _tell(self, message: dict[str, Any]) -> None:
        """A control message: kept and sent again soon if the pipe is full."""
        data = encode(message)
        with self._lock:
            if self._unsent_controls or not self._write(data):
                self._unsent_controls.append(data)

    def _ask(self, message: dict[str, Any], timeout_s: float) -> None:
        with self._lock:
            if self._process is None or self._status.condition in ("off", "dead"):
                raise ActuatorError(f"the actuator is not running ({self._status.reason or 'not started'}); start it again")
            self._next_id += 1
            number = self._next_id
        self._tell({**message, "id": number})
        with self._condition_changed:
            self._condition_changed.wait_for(lambda: number in self._answers or self._status.condition == "dead", timeout_s)
            answer = self._answers.pop(number, None)
        if answer is None:
            raise ActuatorError(f"the actuator did not answer within {timeout_s:g} s; nothing was armed")
        if not answer["ok"]:
            raise ActuatorError(str(answer["text"]))

    def _write(self, data: bytes) -> bool:
        """With the lock held. False when the pipe is full; True also when nobody is there any more."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.closed or self._pipe is None:
            return True
        if len(data) > PIPE_ATOM_BYTES:
            raise ValueError(f"a message of {len(data)} bytes would not go through the pipe in one piece; use fewer keys")
        return self._pipe.write(data)

    def _close_pipe(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        if self._pipe is not None:
            self._pipe.close()
        with contextlib.suppress(OSError), self._lock:
            process.stdin.close()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        decoder = Decoder()
        assert process.stdout is not None
        with process.stdout as stream, contextlib.suppress(OSError, ValueError):
            while piece := os.read(stream.fileno(), 65536):
                self._last_heard_s = time.monotonic()
                for message in decoder.feed(piece):
                    self._on_message(message)
        _ends(process, 1.0)
        self._close_pipe(process)
        with self._lock:
            expected = self._stopping or self._ready != "ready"
            reason = self._status.reason
        if expected:
            self._change(dataclasses.replace(self.status(), condition="dead"))
            return
        log.error("the actuator has died (status %s); releasing everything through a fresh one", process.returncode)
        self._rescue()
        self._change(dataclasses.replace(self.status(), condition="dead", held=(), reason=reason or "the actuator has died"))

    def _on_message(self, message: dict[str, Any]) -> None:
        kind = message.get("ev")
        if kind == "journal":
            self._journal.add(message["entries"])
        elif kind == "status":
            place = message["place"]
            self._change(
                ActuatorStatus(
                    message["phase"],
                    message["reason"],
                    tuple(message["held"]),
                    None if place is None else (place[0], place[1]),
                    **message["counts"],
                    time_ns=message["time_ns"],
                )
            )
        elif kind == "stop_key":
            if self._on_stop_key is not None:
                self._on_stop_key()
        else:
            with self._condition_changed:
                if kind == "answer":
                    self._answers[message["id"]] = message
                elif kind == "ready":
                    self._ready = "ready"
                elif kind == "failed":
                    self._ready = message["text"]
                elif kind == "bye":
                    self._status = dataclasses.replace(self._status, reason=f"the actuator ended: {message['text']}")
                self._condition_changed.notify_all()

    def _change(self, status: ActuatorStatus) -> None:
        with self._condition_changed:
            changed = status.condition != self._status.condition
            self._status = status
            self._condition_changed.notify_all()
        if changed and self._on_change is not None:
            self._on_change(status)

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Sends what the pipe did not take, and ends a process that hangs."""
        turn_s = time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            now_s = time.monotonic()
            if now_s - turn_s > 0.5:  # we were stopped or starved ourselves: its words may lie unread
                self._last_heard_s = now_s
            turn_s = now_s
            with self._lock:
                while self._unsent_controls and self._write(self._unsent_controls[0]):
                    self._unsent_controls.popleft()
                if self._stopping:
                    return
                silent = self._ready == "ready" and now_s - self._last_heard_s > SILENCE_S
            if silent:
                log.error("the actuator has said nothing for %s s; it is ended", SILENCE_S)
                process.kill()
                return

    def _rescue(self) -> None:
        """A fresh process lets go of all that may be down."""
        if self._backend == "null" or not self._was_armed:
            return
        process = _spawn(["--release", ",".join([*self._names, *MOUSE_BUTTONS])])
        assert process.stdin is not None
        assert process.stdout is not None
        if not _ends(process, 3.0):
            process.kill()
            _ends(process, 1.0)
            log.error("keys may still be down: releasing them took too long")
        elif process.returncode:
            log.error("keys may still be down: they could not be released (status %s)", process.returncode)
        process.stdin.close()
        process.stdout.close()


def _spawn(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """The process, in a session of its own so that a Ctrl-C or a closing terminal is not for it."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    return subprocess.Popen(
        [sys.executable, "-m", "engine.actuator.process", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": path},
        start_new_session=True,
        creationflags=creation_flags(),
    )


def _ends(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


__all__ = ["Actuator", "ActuatorError", "ActuatorStatus", "Condition", "Intent"]
