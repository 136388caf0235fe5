"""What waits between the live path and the recorder's writer thread: bounded, in order, never waited for by the live path."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

from data.schema import Frame, InputEvent, Step
from engine.recorder_intake import RecordingSettings
from engine.recorder_machine import Command

QUEUE_BYTES: Final = 48 * 1024 * 1024
QUEUE_ROWS: Final = 20_000
BEFORE: Final = 0
"""The number of no recording: what bears it goes to the pre-buffer."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A "perturbed" or "interesting" stretch."""

    what: str
    start_ns: int
    end_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Start:
    """A recording begins; ``pressed_ns``: when F5 was pressed; ``past``: whether with what the pre-buffer holds."""

    settings: RecordingSettings
    pressed_ns: int
    past: bool


@dataclass(frozen=True, slots=True)
class Counted:
    dropped_frames: int
    refused_events: int


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark for the metadata."""

    text: str


Item = Frame | InputEvent | Step | Marked | Start | Counted | Remark | RecordingSettings | Command


class RecorderQueue:
    """Items with the number of their recording. The methods that say so are called with ``lock`` held."""

    def __init__(self, limit_bytes: int = QUEUE_BYTES) -> None:
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self._limit_bytes = limit_bytes
        self._items: deque[tuple[int, Item]] = deque()
        self._bytes = 0
        self._rows = 0
        self.busy = False
        """Whether the writer is at work on an item, or has some."""
        self._put = self._done = 0
        self._ended = False

    def has_room(self, item: Frame | InputEvent | Step) -> bool:
        """Lock held."""
        if isinstance(item, Frame):
            return not self._items or self._bytes + item.image.nbytes <= self._limit_bytes
        return self._rows < QUEUE_ROWS

    def put(self, recording: int, item: Item) -> None:
        """Lock held."""
        if isinstance(item, Frame):
            self._bytes += item.image.nbytes
        elif isinstance(item, (InputEvent, Step)):
            self._rows += 1
        self._items.append((recording, item))
        self._put += 1
        self._changed.notify_all()

    def take(self, timeout_s: float) -> tuple[int, Item] | None:
        """The next item; None when none came in time."""
        with self.lock:
            self._changed.wait_for(lambda: self._items or self._ended, timeout_s)
            self.busy = bool(self._items)
            if not self._items:
                return None
            taken = self._items.popleft()
            if isinstance(taken[1], Frame):
                self._bytes -= taken[1].image.nbytes
            elif isinstance(taken[1], (InputEvent, Step)):
                self._rows -= 1
            return taken

    def done(self) -> None:
        """What was taken is dealt with."""
        with self.lock:
            self._done = self._put - len(self._items)
            self.busy = bool(self._items)
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> bool:
        """Waits until all that was put until now is dealt with, whatever comes meanwhile; False when that took longer."""
        with self.lock:
            until = self._put
            return self._changed.wait_for(lambda: self._done >= until and (not self.busy or bool(self._items)), timeout_s)

    def end(self) -> None:
        """No more comes; the writer still deals with the rest."""
        with self.lock:
            self._ended = True
            self._changed.notify_all()

    @property
    def over(self) -> bool:
        """Whether it has ended and is empty."""
        with self.lock:
            return self._ended and not self._items
