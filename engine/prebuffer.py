"""What came before F5: a ring of encoded pictures, events and steps in memory, as far back as the settings say.

Everything in it has passed the same filters as what is recorded. It is used from the recorder's writer thread alone;
``span_s`` and ``last_key_ns`` are plain numbers that any thread may read.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final

from data.encoder import EncodedFrame, MemoryEncoder
from data.schema import Frame, InputEvent, Step
from engine.recorder_intake import RecordingSettings
from engine.recorder_machine import Pause, Resume

LIMIT_BYTES: Final = 96 * 1024 * 1024
"""More than that it never holds, however large the pictures are: the oldest go first."""

Row = InputEvent | Step | Pause | Resume
Item = EncodedFrame | Row


@dataclass(slots=True)
class _Stretch:
    """A key frame and all that came until the next one, about a second later."""

    start_ns: int
    items: list[Item] = field(default_factory=list[Item])
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """What a recording begins with, in the order it came; the first item is a key frame, of pictures of ``size``."""

    size: tuple[int, int]
    start_ns: int
    items: tuple[Item, ...]


class PreBuffer:
    """seconds: how far back it reaches. fps: the rate asked."""

    def __init__(self, seconds: float, fps: float, limit_bytes: int = LIMIT_BYTES) -> None:
        self._keep_ns, self._fps, self._limit_bytes = round(seconds * 1e9), fps, limit_bytes
        self._ring: deque[_Stretch] = deque()
        self._encoder: MemoryEncoder | None = None
        self._held: dict[str, InputEvent] = {}  # what was down when the ring begins
        self.span_s = 0.0
        self.last_key_ns = 0
        """When the newest key frame was taken: a ``take`` of what came since before it holds at least one picture."""

    @property
    def bytes(self) -> int:
        """What its pictures take."""
        return sum(stretch.bytes for stretch in self._ring)

    def frame(self, frame: Frame) -> None:
        """Encodes a picture. Raises ValueError for one that cannot be encoded."""
        height, width = frame.image.shape[:2]
        if self._encoder is None or self._encoder.size != (width, height):
            self._ring.clear()
            self._encoder = MemoryEncoder(width, height, self._fps)
        picture = self._encoder.encode(frame)
        if picture.key:
            self._ring.append(_Stretch(picture.time_ns))
            self.last_key_ns = picture.time_ns
        if self._ring:  # else what it builds on is gone already
            self._ring[-1].items.append(picture)
            self._ring[-1].bytes += len(picture.data)
        self.trim(picture.time_ns)

    def add(self, row: Row) -> None:
        if self._ring:
            self._ring[-1].items.append(row)
        elif isinstance(row, InputEvent):
            self._note_held(row)

    def trim(self, now_ns: int) -> None:
        """Lets go of what is older than the ring reaches, and of the oldest when it grows too large."""
        self._cut(now_ns - self._keep_ns)
        while self.bytes > self._limit_bytes and len(self._ring) > 1:
            self._drop()
        self.span_s = (now_ns - self._ring[0].start_ns) / 1e9 if self._ring else 0.0

    def take(self, since_ns: int) -> Past | None:
        """Everything from the first key frame at or after ``since_ns`` on; None when there is none. Empties the ring."""
        self._cut(since_ns)
        encoder, items = self._encoder, [item for stretch in self._ring for item in stretch.items]
        if encoder is None or not items:
            self.clear()
            return None
        start_ns = self._ring[0].start_ns
        kept: list[Item] = []
        for item in items:
            if isinstance(item, InputEvent) and item.time_ns < start_ns:
                self._note_held(item)
            elif not (isinstance(item, Step) and item.observation.frame_time_ns < start_ns):
                kept.append(item)
        down = [replace(event, time_ns=start_ns, note="held_at_start") for event in self._held.values()]
        self.clear()
        return Past(encoder.size, start_ns, (kept[0], *down, *kept[1:]))

    def clear(self) -> None:
        """Forgets everything."""
        self._ring.clear()
        self._held.clear()
        self._encoder, self.span_s, self.last_key_ns = None, 0.0, 0

    def _cut(self, since_ns: int) -> None:
        while self._ring and self._ring[0].start_ns < since_ns:
            self._drop()

    def _drop(self) -> None:
        for item in self._ring.popleft().items:
            if isinstance(item, InputEvent):
                self._note_held(item)

    def _note_held(self, event: InputEvent) -> None:
        if event.kind == "press":
            self._held[event.name] = event
        elif event.kind == "release":
            self._held.pop(event.name, None)


def prebuffer_of(settings: RecordingSettings) -> PreBuffer | None:
    """The pre-buffer that the settings ask for; None: none."""
    return PreBuffer(settings.prebuffer_s, settings.fps) if settings.prebuffer_s > 0 else None
