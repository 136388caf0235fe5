"""Reads a session, whole or cut off: everything up to the last whole picture and batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.metadata import Counts, Metadata, SessionError, read_metadata
from data.schema import Frame, InputEvent
from data.steps import Steps
from data.steps_arrow import events_from_table, events_schema, read_table, steps_from_table, steps_schema
from data.video import VideoError, VideoReader

_MS_NS: Final = 1_000_000
TableName = Literal["events", "steps"]


class Session:
    """One session, read from disk. What it gives is what is there, whatever the metadata's counts claim.

    Pictures are counted by their place in the video, from 0 (``Frame.number``); a step names its picture by
    ``step_pts_ms``. Not for use by two threads at once. Close it, or use it in a ``with``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metadata: Metadata = read_metadata(folder)
        self.problems: list[str] = []
        self.damage = ""
        """What is wrong with the steps that are there, once they were read; empty where they are whole, or there never were any."""
        self._video: VideoReader | None = None
        self._steps: tuple[Steps, NDArray[np.int64]] | None = None
        self._tables: dict[TableName, Any] = {}

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def start_ns(self) -> int:
        """Where the session's own time begins: its first picture, else its first step, else the clock's zero."""
        for times in (self.frame_times_ns(), self.steps().time_ns):
            if len(times):
                return int(times[0])
        return self.metadata.clock.monotonic_ns

    @property
    def length_s(self) -> float:
        """From ``start_ns`` to the last picture or step."""
        ends = [int(times[-1]) for times in (self.frame_times_ns(), self.steps().time_ns) if len(times)]
        return (max(ends) - self.start_ns) / 1e9 if ends else self.metadata.duration_s

    def table(self, name: TableName) -> Any:
        """Every whole row of the steps or events as an Arrow table; see ``data.steps_arrow`` for the columns."""
        if name not in self._tables:
            read = read_table(self.folder, name, events_schema() if name == "events" else steps_schema(self.metadata.profile))
            if read.problem:
                self.problems.append(read.problem)
                if name == "steps" and any((self.folder / f"steps.{kind}").exists() for kind in ("parquet", "arrows")):
                    self.damage = read.problem
            self._tables[name] = read.table
        return self._tables[name]

    def _step_rows(self) -> tuple[Steps, NDArray[np.int64]]:
        if self._steps is None:
            table = self.table("steps")
            try:
                steps = steps_from_table(self.metadata.profile, table)
            except ValueError as error:
                raise SessionError(f"{self.id}: {error}") from error
            self._steps = (steps, np.array(table.column("video_pts_ms").to_numpy(), np.int64))
        return self._steps

    def steps(self) -> Steps:
        """Every whole step, in the order on disk; empty when nothing perceived the pictures. Raises SessionError."""
        return self._step_rows()[0]

    def step_pts_ms(self) -> NDArray[np.int64]:
        """int64 [T]: for every step the time in the video, in ms, of the picture it saw; -1 when that is not there."""
        return self._step_rows()[1]

    def events(self) -> list[InputEvent]:
        """Every whole input event, in the order on disk."""
        return events_from_table(self.table("events"))

    def event_times_ns(self) -> NDArray[np.int64]:
        """int64 [events]: the times of every whole input event, in the order on disk."""
        return np.asarray(self.table("events").column("time_ns").to_numpy(), np.int64)

    def _reader(self) -> VideoReader:
        if self._video is None:
            try:
                self._video = VideoReader(self.folder / "video.mkv")
            except VideoError as error:
                raise SessionError(f"{self.id}: {error}") from error
        return self._video

    def frame_times_ns(self) -> NDArray[np.int64]:
        """int64 [frames]: the monotonic time of every whole picture, to the ms. Empty when there is no video."""
        if not (self.folder / "video.mkv").exists():
            return np.zeros(0, np.int64)
        return self._reader().times_ms() * _MS_NS + self.metadata.clock.monotonic_ns

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """The pictures start..stop, counted by place from 0, in order. Raises SessionError when there is no video."""
        reader = self._reader()
        first = slice(start, stop).indices(len(reader.times_ms()))[0]
        for number, (time_ms, image) in enumerate(reader.frames(start, stop), first):
            yield Frame(number, self.metadata.clock.monotonic_ns + time_ms * _MS_NS, image)

    def frame_at(self, time_ns: int) -> Frame:
        """The picture on screen at a monotonic time: the newest not later, else the first. Raises SessionError."""
        reader = self._reader()
        try:
            time_ms, image = reader.frame_at((time_ns - self.metadata.clock.monotonic_ns) // _MS_NS)
        except VideoError as error:
            raise SessionError(f"{self.id}: {error}") from error
        number = int(np.searchsorted(reader.times_ms(), time_ms))
        return Frame(number, self.metadata.clock.monotonic_ns + time_ms * _MS_NS, image)

    def frame_of_step(self, row: int) -> Frame | None:
        """The very picture that step ``row`` saw; None when it is not in the video."""
        pts = int(self.step_pts_ms()[row])
        if pts < 0 or pts not in self._reader().times_ms():
            return None
        return self.frame_at(self.metadata.clock.monotonic_ns + pts * _MS_NS)

    def counts(self) -> Counts:
        """What is on disk, counted."""
        try:
            frames = len(self.frame_times_ns())
        except SessionError:
            frames = 0
        claimed = self.metadata.counts
        return claimed.model_copy(update={"frames": frames, "events": self.table("events").num_rows, "steps": len(self.steps())})

    def close(self) -> None:
        if self._video is not None:
            self._video.close()
            self._video = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_session(folder: Path) -> Session:
    """Opens a session folder. Raises SessionError: no session, damaged metadata, or made by a newer version."""
    if not folder.is_dir():
        raise SessionError(f"{folder}: there is no such session; 'secondseat sessions list' shows those that are there")
    return Session(folder)
