"""One recording on disk: written as streams that survive a crash, and read back, also when it was cut off.

A session folder holds ``metadata.json``, ``video.mkv``, ``events.arrows``, ``steps.arrows`` and perhaps
``labels.jsonl``. While it is written it also holds ``writer.lock`` and a small reserve that is freed when the disk
is full. Steps may be empty (no detector); pictures and events are the truth.

Video times are ms since ``metadata.clock.monotonic_ns``, rounded down.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from data.encoder import EncodedFrame
from data.files import Syncer, folder_bytes, sync_folder
from data.locks import SessionLock
from data.metadata import (
    Clock,
    Counts,
    Metadata,
    Rates,
    SessionKind,
    Source,
    Stretch,
    View,
    write_metadata,
)
from data.profile import GameProfile
from data.schema import Frame, InputEvent, Step
from data.session_reader import Session, open_session
from data.steps_arrow import NO_FRAME, TableWriter, events_batch, events_schema, rows_batch, steps_schema
from data.video import VideoWriter
from data.vocabulary import CONTROL_HOTKEYS
from data.workspace import Workspace

FLUSH_S: Final = 1.0
DESCRIBE_S: Final = 5.0
"""How often the counts in metadata.json are brought up to date while recording."""
RESERVE_NAME: Final = ".reserve"
RESERVE_BYTES: Final = 256 * 1024
"""Kept on disk while recording, so that the last rows and the metadata still fit when the disk is full."""
_REMEMBERED_FRAMES: Final = 512

__all__ = ["Session", "SessionWriter", "open_session"]


class SessionWriter:
    """Writes one session. Used from one thread.

    Rows are handed to the disk once a second, and synchronised by a thread of their own, so that a slow disk does
    not hold up the pictures. Every ``write_*`` raises OSError when the disk refuses; ``close`` then still ends the
    session with everything written before.
    """

    def __init__(self, folder: Path, metadata: Metadata) -> None:
        self.folder = folder
        self.metadata = metadata
        self._lock = SessionLock(folder)
        self._rows: list[tuple[Step, int]] = []
        self._events: list[InputEvent] = []
        self._pts_by_number: dict[int, int] = {}
        self._frame_pace, self._step_pace = _Pace(), _Pace()
        self._flushed_s = self._described_s = time.monotonic()
        self._dirty = False
        self._closed = self._described = False
        (folder / RESERVE_NAME).write_bytes(bytes(RESERVE_BYTES))
        write_metadata(folder, metadata)
        embedded = {b"session": metadata.model_dump_json().encode("utf-8")}
        schema = events_schema()
        self._event_file = TableWriter(folder / "events.arrows", schema.with_metadata({**schema.metadata, **embedded}))
        self._step_file = TableWriter(folder / "steps.arrows", steps_schema(metadata.profile))
        self._video = VideoWriter(folder / "video.mkv", metadata.width_px, metadata.height_px, metadata.rates.asked_fps)
        sync_folder(folder)
        self._syncer = Syncer([self._video.file, self._event_file.file, self._step_file.file])

    @staticmethod
    def create(
        workspace: Path,
        kind: SessionKind,
        profile: GameProfile,
        source: Source,
        fps: float,
        size: tuple[int, int],
        *,
        tick_hz: float = 20.0,
        scale: float = 1.0,
        start_ns: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> SessionWriter:
        """Begins a session under ``<workspace>/sessions``; on the disk it says "recording" from the first moment.

        size: width, height in px of the pictures. start_ns: the monotonic time that the video's times count from
        (now by default). Raises OSError when it cannot be written (nothing is left behind), ValueError for a size
        that cannot be recorded.
        """
        now_ns, wall_s = time.monotonic_ns(), time.time()
        start_ns = now_ns if start_ns is None else start_ns
        before_s = (now_ns - start_ns) / 1e9
        if abs(before_s) > 60.0:  # times of a simulated clock: they have no wall time but that of now
            before_s = 0.0
        started = datetime.fromtimestamp(wall_s - before_s, UTC)
        metadata = Metadata(
            kind=kind,
            state="recording",
            started_at=started.isoformat(timespec="milliseconds"),
            profile=profile,
            source=source,
            width_px=size[0],
            height_px=size[1],
            scale=scale,
            clock=Clock(monotonic_ns=start_ns, wall_s=started.timestamp()),
            rates=Rates(asked_fps=fps, asked_hz=tick_hz),
            details=dict(details or {}),
        )
        folder = _new_folder(Workspace(workspace).sessions, f"{started:%Y%m%dT%H%M%SZ}_{kind}_{profile.name}")
        try:
            return SessionWriter(folder, metadata)
        except BaseException:
            _remove_begun(folder)
            raise

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def counts(self) -> Counts:
        """What has been taken in so far (the last second of it may still be in memory)."""
        return self.metadata.counts

    @property
    def duration_s(self) -> float:
        """From the first picture to the last, gaps included."""
        return self._frame_pace.span_ns / 1e9

    def size_bytes(self) -> int:
        return folder_bytes(self.folder)

    def write_frame(self, frame: Frame) -> int:
        """Adds a picture; returns its time in the video in ms."""
        return self._took(frame, self._video.write(frame.image, self._pts_of(frame)))

    def write_encoded(self, picture: EncodedFrame) -> int:
        """Adds a picture of a pre-buffer, before the first ``write_frame``; returns its time in the video in ms."""
        return self._took(picture, self._video.write_encoded(picture, self._pts_of(picture)))

    def _pts_of(self, frame: Frame | EncodedFrame) -> int:
        return (frame.time_ns - self.metadata.clock.monotonic_ns) // 1_000_000

    def _took(self, frame: Frame | EncodedFrame, pts: int) -> int:
        self._pts_by_number[frame.number] = pts
        if len(self._pts_by_number) > _REMEMBERED_FRAMES:
            del self._pts_by_number[next(iter(self._pts_by_number))]
        self._frame_pace.add(frame.time_ns)
        self.metadata.counts.frames += 1
        self._note_view(frame)
        self.flush_due()
        return pts

    def _note_view(self, frame: Frame | EncodedFrame) -> None:
        window = frame.window
        if window is None:
            return
        now = (window.left, window.top, window.width, window.height)
        views = self.metadata.views
        if views and now == (views[-1].left_px, views[-1].top_px, views[-1].width_px, views[-1].height_px):
            return
        views.append(
            View(
                time_ns=frame.time_ns,
                left_px=now[0],
                top_px=now[1],
                width_px=now[2],
                height_px=now[3],
                scale=self.metadata.scale,
            )
        )
        self._dirty = True

    def write_event(self, event: InputEvent) -> None:
        """Adds an input event. Raises ValueError for a control hotkey: those are never recorded."""
        if event.name in CONTROL_HOTKEYS:
            raise ValueError(f"{event.name} steers Secondseat and is never recorded")
        self._events.append(event)
        self.metadata.counts.events += 1
        self.flush_due()

    def write_step(self, step: Step) -> None:
        """Adds a step. Raises ValueError when it is older than the one before."""
        time_ns = step.observation.time_ns
        if self._step_pace.last_ns is not None and time_ns < self._step_pace.last_ns:
            raise ValueError(f"steps must come in time order: {time_ns} after {self._step_pace.last_ns}")
        self._rows.append((step, self._pts_by_number.get(step.observation.frame_number, NO_FRAME)))
        self._step_pace.add(time_ns)
        self.metadata.counts.steps += 1
        self.flush_due()

    def begin_gap(self, time_ns: int, reason: str) -> None:
        """From here on nothing is recorded, for a reason that is kept. A gap already begun goes on."""
        gaps = self.metadata.gaps
        if not gaps or gaps[-1].end_ns is not None:
            gaps.append(Stretch(start_ns=time_ns, reason=reason))
            self._dirty = True

    def end_gap(self, time_ns: int) -> None:
        gaps = self.metadata.gaps
        if gaps and gaps[-1].end_ns is None:
            gaps[-1].end_ns = max(time_ns, gaps[-1].start_ns)
            self._frame_pace.interrupt()
            self._step_pace.interrupt()
            self._dirty = True

    def mark(self, what: str, start_ns: int, end_ns: int, reason: str = "") -> None:
        """Notes a stretch: ``what`` is "perturbed" or "interesting"."""
        lists = {"perturbed": self.metadata.perturbed, "interesting": self.metadata.interesting}
        lists[what].append(Stretch(start_ns=start_ns, end_ns=end_ns, reason=reason))
        self._dirty = True

    def note(self, text: str) -> None:
        """A remark for whoever reads the session, once ("window closed", "fixed region")."""
        if text not in self.metadata.notes:
            self.metadata.notes.append(text)
            self._dirty = True

    def note_pressed(self, time_ns: int) -> None:
        """When F5 was pressed, for a recording that begins before it."""
        self.metadata.pressed_ns = time_ns
        self._dirty = True

    def flush_due(self) -> None:
        """Flushes when a second has passed; to be called now and then when nothing is written."""
        if time.monotonic() - self._flushed_s >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Hands everything so far to the disk, and asks for it to be synchronised."""
        self._flushed_s = time.monotonic()
        self._write_rows()
        if self._dirty or self._flushed_s - self._described_s >= DESCRIBE_S:
            self._dirty = False
            self._described_s = self._flushed_s
            self._measure()
            write_metadata(self.folder, self.metadata)
        self._lock.touch()
        self._syncer.ask()

    def _write_rows(self) -> None:
        if self._events:
            self._event_file.write(events_batch(self._events))
            self._events.clear()
        if self._rows:
            rows = [row for row, _ in self._rows]
            self._step_file.write(rows_batch(self.metadata.profile, rows, [pts for _, pts in self._rows]))
            self._rows.clear()

    def _measure(self) -> None:
        self.metadata.rates.measured_fps = round(self._frame_pace.rate_hz(), 3)
        self.metadata.rates.measured_hz = round(self._step_pace.rate_hz(), 3)
        self.metadata.duration_s = round(self.duration_s, 3)

    def close(self, state: str = "saved", end_ns: int | None = None) -> Metadata:
        """Ends the session as "saved" or "unsaved" and returns its metadata. Once is enough; more does no harm.

        end_ns: where a gap that still lasts ends (with the last picture by default).
        An unsaved session stays locked by this process until ``settle``. When the disk refuses, what it holds
        stays and is counted as it is; OSError only when not even the metadata can be written: then the next call tries that again.
        """
        if not self._closed:
            self._closed = True
            self._end_streams(end_ns)
        if not self._described:
            self.metadata.state = "unsaved" if state == "unsaved" else "saved"
            write_metadata(self.folder, self.metadata)
            sync_folder(self.folder)
            if self.metadata.state == "saved":
                self._lock.release()
            self._described = True
        return self.metadata

    def _end_streams(self, end_ns: int | None) -> None:
        (self.folder / RESERVE_NAME).unlink(missing_ok=True)
        self._syncer.stop()
        lost: list[str] = []
        try:
            self._write_rows()
        except OSError as error:
            lost.append(f"the last second of rows could not be written ({error.strerror or error})")
        for name, stream in (("events", self._event_file), ("steps", self._step_file), ("video", self._video)):
            try:
                stream.abandon() if lost else stream.close()
            except OSError as error:
                stream.abandon()
                lost.append(f"{name}: the end could not be written ({error.strerror or error})")
        counts = self.metadata.counts
        counts.events, counts.steps, counts.frames = self._event_file.rows, self._step_file.rows, self._video.frames
        if lost:
            counts.frames = _frames_on_disk(self.folder / "video.mkv")
        self.metadata.notes.extend(lost)
        self.end_gap(end_ns if end_ns is not None else self._frame_pace.last_ns or 0)
        self._measure()

    def settle(self) -> Metadata:
        """Turns an unsaved session into a saved one."""
        if self.metadata.state != "saved":
            self.metadata.state = "saved"
            write_metadata(self.folder, self.metadata)
        self._lock.release()
        return self.metadata

    def unlock(self) -> None:
        """Gives up the lock of a closed session that goes to the trash."""
        self._lock.release()

    def remove(self) -> None:
        """Removes a session in which nothing was captured."""
        self.close("unsaved")
        _remove_begun(self.folder)


class _Pace:
    """Intervals between neighbouring times; an interruption (a recorded gap) is not an interval."""

    def __init__(self) -> None:
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._sum_ns = 0
        self._count = 0
        self._broken = False

    def add(self, time_ns: int) -> None:
        if self.first_ns is None:
            self.first_ns = time_ns
        if self.last_ns is not None and not self._broken and time_ns > self.last_ns:
            self._sum_ns += time_ns - self.last_ns
            self._count += 1
        self._broken = False
        self.last_ns = time_ns

    def interrupt(self) -> None:
        self._broken = True

    @property
    def span_ns(self) -> int:
        return 0 if self.first_ns is None or self.last_ns is None else self.last_ns - self.first_ns

    def rate_hz(self) -> float:
        return self._count / (self._sum_ns / 1e9) if self._sum_ns else 0.0


def _new_folder(sessions: Path, name: str) -> Path:
    sessions.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = sessions / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _frames_on_disk(video: Path) -> int:
    from data.video import VideoError, VideoReader

    try:
        with VideoReader(video) as reader:
            return len(reader.times_ms())
    except VideoError:
        return 0


def _remove_begun(folder: Path) -> None:
    """Removes a session that never came to hold anything; a folder that holds other files stays."""
    for name in (RESERVE_NAME, "metadata.json", "events.arrows", "steps.arrows", "video.mkv", "writer.lock"):
        (folder / name).unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        return
