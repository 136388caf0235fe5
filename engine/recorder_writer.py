"""The recorder's end at the disk: one session after the other, used from the writer's thread only.

A session comes to be with its first picture, so that a recording without one leaves nothing behind; what came
before it (events, steps, remarks) waits in memory.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from data.encoder import EncodedFrame
from data.files import free_bytes
from data.metadata import Metadata
from data.schema import Frame, InputEvent, Step
from data.session import SessionWriter
from data.trash import trash_folder
from engine.prebuffer import Past
from engine.recorder_intake import RecordingSettings
from engine.recorder_machine import Finish, KeyNames, Level, Pause, Resume, Settle
from engine.recorder_queue import Counted, Item, Marked, Remark
from engine.state import AlertKind

TEND_S: Final = 1.0
RESERVE_BYTES: Final = 1_500_000
"""Recording stops while at least this much is free ..."""
RESERVE_S: Final = 3.0
"""... and at least so many seconds of recording at its present rate."""
RATE_AFTER_S: Final = 5.0
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
    alert: AlertKind
    session: str = ""


class RecordingSink:
    """Writes recordings. Methods raise OSError when the disk refuses; ``fail`` then ends the session."""

    def __init__(self, keys: KeyNames, saved: Callable[[Path], None] | None = None) -> None:
        self._keys = keys
        self.recording = 0
        self.figures = Figures()
        self.usual_bytes_per_s = 0.0
        """What a second of the newest recording took on disk; 0 when none was long enough."""
        self._saved = saved
        self._settings: RecordingSettings | None = None
        self._writer: SessionWriter | None = None
        self._unsaved: SessionWriter | None = None
        self._waiting: list[Callable[[SessionWriter], None]] = []
        self._tended_s = 0.0
        self._size_bytes = 0
        self._bytes_per_s = 0.0

    def begin(self, recording: int, settings: RecordingSettings, past: Past | None = None, pressed_ns: int = 0) -> None:
        """A recording begins, with what the pre-buffer holds."""
        self.recording = recording
        self._settings = settings
        self._waiting.clear()
        self._tended_s, self._size_bytes, self._bytes_per_s = time.monotonic(), 0, 0.0
        self.figures = Figures()
        if past is None:
            return
        writer = self._create(settings, past.size, past.start_ns)
        writer.note_pressed(pressed_ns)
        for item in past.items:
            if isinstance(item, EncodedFrame):
                writer.write_encoded(item)
            else:
                self.take(item)
        self._update()

    def take(self, item: Item) -> Outcome | None:
        """Does what one item of the present recording's queue says. The outcome, when it ends one."""
        if isinstance(item, Frame):
            self._frame(item)
        elif isinstance(item, InputEvent):
            self._later(lambda writer: writer.write_event(item))
        elif isinstance(item, Step):
            self._later(lambda writer: writer.write_step(item))
        elif isinstance(item, Marked):
            self._later(lambda writer: writer.mark(item.what, item.start_ns, item.end_ns, item.reason))
        elif isinstance(item, Remark):
            self._later(lambda writer: writer.note(item.text))
        elif isinstance(item, Pause):
            self._later(lambda writer: writer.begin_gap(item.time_ns, item.reason))
        elif isinstance(item, Resume):
            self._later(lambda writer: writer.end_gap(item.time_ns))
        elif isinstance(item, Counted):
            self.counted(item.dropped_frames, item.refused_events)
        elif isinstance(item, Finish):
            return self._finish(item.then, item.why, item.time_ns)
        return None

    def _frame(self, frame: Frame) -> None:
        writer = self._writer
        if writer is None:
            if self._settings is None:
                return
            height, width = frame.image.shape[:2]
            writer = self._create(self._settings, (width, height), frame.time_ns)
            for act in self._waiting:
                act(writer)
            self._waiting.clear()
        writer.write_frame(frame)
        self._update()

    def _create(self, settings: RecordingSettings, size: tuple[int, int], start_ns: int) -> SessionWriter:
        self._writer = SessionWriter.create(
            settings.workspace,
            settings.kind,
            settings.profile,
            settings.source,
            settings.fps,
            size,
            tick_hz=settings.tick_hz,
            scale=settings.scale,
            start_ns=start_ns,
            details=settings.details,
        )
        return self._writer

    def _later(self, act: Callable[[SessionWriter], None]) -> None:
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
        if writer.duration_s > RATE_AFTER_S:
            self.usual_bytes_per_s = size / writer.duration_s
        self._update()
        self.figures = replace(self.figures, size_bytes=size, disk_free_bytes=free)
        return free < max(RESERVE_BYTES, RESERVE_S * self._bytes_per_s)

    def _finish(self, then: Literal["unsaved", "saved", "trash", "nothing"], why: str, end_ns: int) -> Outcome | None:
        """Ends the present recording. None when there is nothing to tell (nothing was captured: that is said elsewhere)."""
        writer = self._writer
        if writer is None:
            self._over()
            return None
        if writer.counts.frames == 0:
            self._over()
            writer.remove()
            return Outcome("warning", "nothing was captured, because no picture could be written", "failure")
        metadata = writer.close("saved" if then == "saved" else "unsaved", end_ns)
        self._over()
        if then == "saved":
            return self._was_saved(writer, metadata, why)
        self._unsaved = writer
        if then == "trash":
            return self.settle(Settle("trash", why))
        next_keys = f"{self._keys.save} saves it, {self._keys.discard} discards it"
        return Outcome("info", f"stopped: {_figures(metadata)}. {next_keys}", "stop")

    def _over(self) -> None:
        self.recording = 0
        self._writer = None
        self._waiting.clear()

    def settle(self, decision: Settle) -> Outcome | None:
        """Decides over the unsaved session."""
        writer, self._unsaved = self._unsaved, None
        if writer is None:
            return None
        if decision.then == "saved":
            return self._was_saved(writer, writer.settle(), decision.why)
        writer.unlock()
        trash_folder(writer.folder)
        undo = "'secondseat sessions undo' brings it back"
        return Outcome("info", f"discarded {writer.id}: it is in the trash, {undo}", "discard")

    def fail(self, why: str, end_ns: int) -> Outcome | None:
        """Ends the present recording after a failure and tells why, with the number of frames that were kept."""
        writer = self._writer
        self._over()
        if writer is None:
            return Outcome("error", why.replace(", recording stopped and saved", ": nothing was recorded"), "failure")
        if writer.counts.frames == 0:
            writer.remove()
            return Outcome("error", f"{why.replace(' and saved', '')}: nothing was captured", "failure")
        writer.note(why)
        try:
            metadata = writer.close("saved", end_ns)
        except OSError as error:
            kept = "what is on disk is kept and will be repaired at the next start"
            why = why.replace(" and saved", "")
            return Outcome("error", f"{why}, but it could not be closed ({error.strerror or error}): {kept}", "failure")
        if self._saved is not None:
            self._saved(writer.folder)
        return Outcome("error", f"{why} ({metadata.counts.frames} frames)", "failure", writer.id)

    def _was_saved(self, writer: SessionWriter, metadata: Metadata, why: str) -> Outcome:
        if self._saved is not None:
            self._saved(writer.folder)
        blind = metadata.profile.detector and not metadata.counts.steps
        cure = f"; the detector was still loading: secondseat data perceive {writer.id} makes its steps" if blind else ""
        return Outcome("info", f"{why + ': ' if why else ''}saved {writer.id} ({_figures(metadata)}){cure}", "save", writer.id)


def _figures(metadata: Metadata) -> str:
    counts = metadata.counts
    dropped = f", {counts.dropped_frames} dropped" if counts.dropped_frames else ""
    return f"{metadata.duration_s:.1f} s, {counts.frames} frames{dropped}, {counts.events} events, {counts.steps} steps"


def plain_error(error: OSError) -> str:
    """What the disk says, in words that can begin a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "disk full"
    return f"{error.filename or 'the session'}: {error.strerror or error}"
