"""The recorder's end at the disk: one session after the other, used from the writer's thread only.

A session comes to be with its first picture, so that a recording without one leaves nothing behind; what came
before it (events, steps, remarks) waits in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from data.files import free_bytes
from data.metadata import Metadata
from data.schema import Frame, InputEvent, Step
from data.session import SessionWriter
from data.trash import trash_folder
from engine.recorder_machine import Level

if TYPE_CHECKING:
    from engine.recorder import RecordingSettings

TEND_S: Final = 1.0
RESERVE_BYTES: Final = 1_500_000
"""Recording stops while at least this much is free ..."""
RESERVE_S: Final = 3.0
"""... and at least so many seconds of recording at its present rate."""
_WAITING_ROWS: Final = 5000


@dataclass(frozen=True, slots=True)
class Figures:
    """The present session's figures, replaced whole."""

    session: str = ""
    duration_s: float = 0.0
    frames: int = 0
    events: int = 0
    steps: int = 0
    size_bytes: int = 0
    disk_free_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a session, to be told. ``session``: its id when it was saved."""

    level: Level
    text: str
    session: str = ""


class RecordingSink:
    """Writes recordings. Methods raise OSError when the disk refuses; ``fail`` then ends the session."""

    def __init__(self, saved: Callable[[Path], None] | None = None) -> None:
        self.recording = 0
        self.figures = Figures()
        self._saved = saved
        self._settings: RecordingSettings | None = None
        self._writer: SessionWriter | None = None
        self._unsaved: SessionWriter | None = None
        self._waiting: list[Callable[[SessionWriter], None]] = []
        self._tended_s = 0.0
        self._size_bytes = 0
        self._bytes_per_s = 0.0

    def begin(self, recording: int, settings: RecordingSettings) -> None:
        self.recording = recording
        self._settings = settings
        self._waiting.clear()
        self._tended_s, self._size_bytes, self._bytes_per_s = time.monotonic(), 0, 0.0
        self.figures = Figures()

    def frame(self, frame: Frame) -> None:
        if self._writer is None:
            settings = self._settings
            if settings is None:
                return
            height, width = frame.image.shape[:2]
            self._writer = SessionWriter.create(
                settings.workspace,
                settings.kind,
                settings.profile,
                settings.source,
                settings.fps,
                (width, height),
                tick_hz=settings.tick_hz,
                scale=settings.scale,
                start_ns=frame.time_ns,
                details=settings.details,
            )
            for act in self._waiting:
                act(self._writer)
            self._waiting.clear()
        self._writer.write_frame(frame)
        self._update()

    def event(self, event: InputEvent) -> None:
        self.later(lambda writer: writer.write_event(event))

    def step(self, step: Step) -> None:
        self.later(lambda writer: writer.write_step(step))

    def later(self, act: Callable[[SessionWriter], None]) -> None:
        """Does something to the session: now, or once its first picture has come."""
        if self._writer is not None:
            act(self._writer)
        elif len(self._waiting) < _WAITING_ROWS:
            self._waiting.append(act)

    def _update(self) -> None:
        writer = self._writer
        if writer is not None:
            counts = writer.counts
            self.figures = replace(
                self.figures,
                session=writer.id,
                duration_s=writer.duration_s,
                frames=counts.frames,
                events=counts.events,
                steps=counts.steps,
            )

    def counted(self, dropped_frames: int, refused_events: int) -> None:
        """How many pictures found no room, and how many events were refused."""
        if self._writer is not None:
            self._writer.counts.dropped_frames, self._writer.counts.refused_events = dropped_frames, refused_events

    def tend(self) -> bool:
        """Once a second: flush, measure, look at the free space. Returns whether the disk is about to be full."""
        now_s = time.monotonic()
        writer = self._writer
        if writer is None or now_s - self._tended_s < TEND_S:
            return False
        passed_s, self._tended_s = now_s - self._tended_s, now_s
        writer.flush_due()
        size, free = writer.size_bytes(), free_bytes(writer.folder)
        self._bytes_per_s = max(self._bytes_per_s * 0.8, (size - self._size_bytes) / passed_s)
        self._size_bytes = size
        self._update()
        self.figures = replace(self.figures, size_bytes=size, disk_free_bytes=free)
        return free < max(RESERVE_BYTES, RESERVE_S * self._bytes_per_s)

    def finish(self, then: Literal["unsaved", "saved", "trash", "nothing"], why: str, end_ns: int) -> Outcome | None:
        """Ends the present recording. None when there is nothing to tell (nothing was captured: that is said elsewhere)."""
        writer = self._writer
        if writer is None:
            self._over()
            return None
        if writer.counts.frames == 0:
            self._over()
            writer.remove()
            return Outcome("warning", "nothing was captured, because no picture could be written")
        metadata = writer.close("saved" if then == "saved" else "unsaved", end_ns)
        self._over()
        if then == "saved":
            return self._was_saved(writer, metadata, why)
        self._unsaved = writer
        if then == "trash":
            return self.settle("trash", why)
        return Outcome("info", f"stopped: {_figures(metadata)}. F6 saves it, F7 discards it")

    def _over(self) -> None:
        self.recording = 0
        self._writer = None
        self._waiting.clear()

    def settle(self, then: Literal["saved", "trash"], why: str) -> Outcome | None:
        """Decides over the unsaved session."""
        writer, self._unsaved = self._unsaved, None
        if writer is None:
            return None
        if then == "saved":
            return self._was_saved(writer, writer.settle(), why)
        writer.unlock()
        trash_folder(writer.folder)
        return Outcome("info", f"discarded {writer.id}: it is in the trash, 'secondseat sessions trash --undo last' brings it back")

    def fail(self, why: str, end_ns: int) -> Outcome | None:
        """Ends the present recording after a failure and tells why, with the number of frames that were kept."""
        writer = self._writer
        self._over()
        if writer is None:
            return Outcome("error", why.replace(", recording stopped and saved", ": nothing was recorded"))
        if writer.counts.frames == 0:
            writer.remove()
            return Outcome("error", f"{why.replace(' and saved', '')}: nothing was captured")
        writer.note(why)
        try:
            metadata = writer.close("saved", end_ns)
        except OSError as error:
            kept = "what is on disk is kept and will be repaired at the next start"
            return Outcome("error", f"{why.replace(' and saved', '')}, but it could not be closed ({error.strerror or error}): {kept}")
        if self._saved is not None:
            self._saved(writer.folder)
        return Outcome("error", f"{why} ({metadata.counts.frames} frames)", writer.id)

    def _was_saved(self, writer: SessionWriter, metadata: Metadata, why: str) -> Outcome:
        if self._saved is not None:
            self._saved(writer.folder)
        return Outcome("info", f"{why + ': ' if why else ''}saved {writer.id} ({_figures(metadata)})", writer.id)


def _figures(metadata: Metadata) -> str:
    counts = metadata.counts
    dropped = f", {counts.dropped_frames} dropped" if counts.dropped_frames else ""
    return f"{metadata.duration_s:.1f} s, {counts.frames} frames{dropped}, {counts.events} events, {counts.steps} steps"
