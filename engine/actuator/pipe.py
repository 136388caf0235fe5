"""The engine's end of the actuator's pipe: a message goes in whole and at once, or not at all."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import Final, Protocol

MOST_WAITING: Final = 8


class Pipe(Protocol):
    def write(self, data: bytes) -> bool:
        """False when the pipe is full; True also when nobody is there any more."""
        ...

    def close(self) -> None: ...


class AtomicPipe:
    """POSIX: a write of up to PIPE_BUF bytes into a pipe that does not block is whole or refused."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    def write(self, data: bytes) -> bool:
        try:
            os.write(self._descriptor, data)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """The descriptor is its owner's to close."""


class ThreadedPipe:
    """Windows: its pipes may take part of a message, so that a thread waits in our place, with a short queue before it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
        self._gone = False
        self._thread = threading.Thread(target=self._run, name="actuator-pipe", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> bool:
        if self._gone:
            return True
        try:
            self._waiting.put_nowait(data)
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """What waits is still written if the other end reads it soon; the descriptor is its owner's to close."""
        try:
            self._waiting.put(None, timeout=0.2)
        except queue.Full:
            return
        self._thread.join(0.5)

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                self._gone = True
                return


def open_pipe(descriptor: int) -> Pipe:
    return ThreadedPipe(descriptor) if sys.platform == "win32" else AtomicPipe(descriptor)
