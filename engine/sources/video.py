"""A recorded session as a source: its pictures, cursor and input, at their own pace, as if it were played now.

The recording's time is mapped onto the present: the first picture is of the moment the source is opened. Recorded gaps
are skipped, or kept on request; then there is nothing to see while they last. What is held at the end of the stretch,
or where a loop begins anew, is released; what is held at its start is pressed first.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.metadata import SessionError
from data.profile import GameProfile
from data.schema import Frame, InputEvent
from data.session_reader import Session, open_session
from data.timeline import ActorStretch, CursorTrack, read_actors, read_cursor
from data.verify import holes
from data.vocabulary import ActorKind

EVENTS_KEPT: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the recording without a gap, and where it comes in the playback (``at_ns`` from its start)."""

    start_ns: int
    end_ns: int
    at_ns: int
    gap: str = ""
    """Kept gaps are parts of their own; this is their reason."""


@dataclass(frozen=True, slots=True)
class _Recording:
    """What is played of an open session: the stretch's parts, its length in playback, its input in order, of which
    ``before`` events lie before the stretch."""

    session: Session
    times_ns: NDArray[np.int64]
    parts: list[_Part]
    length_ns: int
    events: list[InputEvent]
    before: int
    actors: tuple[ActorStretch, ...]
    cursor: CursorTrack

    @property
    def first_ns(self) -> int:
        return int(self.times_ns[0])


class VideoSource:
    """One session, played. ``open``, ``grab`` and ``close`` belong to one thread; everything else may be used from any.

    A picture bears the time at which it would have been taken; one that is still shown when the next grab comes bears
    the time of that grab. Events bear their time on the same scale and the actor that was recorded.
    """

    kind = "video"

    def __init__(
        self,
        folder: Path,
        start_s: float = 0.0,
        end_s: float | None = None,
        loop: bool = False,
        keep_gaps: bool = False,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """folder: a session's. start_s, end_s: the stretch that is played, in s from the session's start (all of it by
        default). Raises ValueError for a stretch that is none."""
        if start_s < 0 or (end_s is not None and end_s <= start_s):
            raise ValueError(f"video source: from {start_s:g} s to {end_s} s is no stretch of a session")
        self.folder, self.loop, self.keep_gaps = folder, loop, keep_gaps
        self._start_s, self._end_s, self._clock_ns = start_s, end_s, clock_ns
        self._lock = threading.Lock()
        self._recording: _Recording | None = None
        self._size = (0, 0)
        self._state = "not open"
        self._ended = False
        self._events: deque[InputEvent] = deque(maxlen=EVENTS_KEPT)
        self._held: dict[str, InputEvent] = {}
        self._next_event = 0
        self._cursor: tuple[float, float] | None = None
        self._origin_ns = self._round = self._position_ns = 0
        self._number, self._shown = 0, -1

    @property
    def description(self) -> str:
        return f"session {self.folder.name}"

    @property
    def size(self) -> tuple[int, int]:
        return self._size

    @property
    def state(self) -> str:
        return self._state

    @property
    def ended(self) -> bool:
        """Whether the stretch is over; never with ``loop``."""
        return self._ended

    @property
    def profile(self) -> GameProfile:
        """The profile that the session was recorded with. Raises SessionError before it is open."""
        if self._recording is None:
            raise SessionError(f"video source: {self.folder.name} is not open")
        return self._recording.session.metadata.profile

    @property
    def cursor(self) -> tuple[float, float] | None:
        """Where the pointer was, in 0..1; None before it is known."""
        return self._cursor

    @property
    def flies(self) -> tuple[ActorKind, str]:
        """Who had the controls at this moment of the recording, and their name."""
        recording = self._recording
        if recording is None or not recording.actors:
            return "unknown", ""
        now_ns = recording.first_ns + self._position_ns
        place = bisect_right(recording.actors, now_ns, key=lambda stretch: stretch.start_ns) - 1
        stretch = recording.actors[max(0, place)]
        return stretch.actor, stretch.name

    def open(self) -> None:
        """Read what is played. Raises SessionError: no such session, or no picture in that stretch of it."""
        session = open_session(self.folder)
        try:
            recording = self._read(session)
        except BaseException:
            session.close()
            raise
        self._size = (session.metadata.width_px, session.metadata.height_px)
        self._state, self._ended = "", False
        self._number, self._shown, self._round = 0, -1, 0
        self._origin_ns = self._clock_ns()
        self._recording = recording
        self._begin_round(recording)

    def _read(self, session: Session) -> _Recording:
        times = session.frame_times_ns()
        if not len(times):
            raise SessionError(f"{session.id}: holds no picture that could be played")
        first_ns = int(times[0])
        start_ns = first_ns + round(self._start_s * 1e9)
        end_ns = int(times[-1]) if self._end_s is None else min(int(times[-1]), first_ns + round(self._end_s * 1e9))
        if start_ns > end_ns:
            length_s = (int(times[-1]) - first_ns) / 1e9
            raise SessionError(f"{session.id}: is {length_s:.1f} s long; there is nothing after {self._start_s:g} s")
        parts = _parts(start_ns, end_ns, holes(times, session.metadata.gaps), self.keep_gaps)
        last = parts[-1]
        usual_ns = int(np.median(np.diff(times))) if len(times) > 1 else 0
        events = [event for event in sorted(session.events(), key=lambda event: event.time_ns) if event.time_ns <= end_ns]
        return _Recording(
            session,
            times,
            parts,
            max(1, last.at_ns + last.end_ns - last.start_ns + usual_ns),  # the last picture is shown as long as any
            events,
            bisect_right(events, start_ns - 1, key=lambda event: event.time_ns),
            read_actors(session),
            read_cursor(session),
        )

    def _began_ns(self, recording: _Recording) -> int:
        """When this round of the playback began."""
        return self._origin_ns + self._round * recording.length_ns

    def _begin_round(self, recording: _Recording) -> None:
        """The start of the stretch: what was down there is pressed."""
        self._next_event, self._shown = recording.before, -1
        for event in recording.events[: recording.before]:
            self._hold(event)
        with self._lock:
            for event in self._held.values():
                self._events.append(replace(event, time_ns=self._began_ns(recording), note="held_at_start"))

    def _hold(self, event: InputEvent) -> None:
        if event.kind == "press":
            self._held.setdefault(event.name, event)
        elif event.kind == "release":
            self._held.pop(event.name, None)

    def _let_go(self, time_ns: int) -> None:
        with self._lock:
            for event in self._held.values():
                self._events.append(replace(event, time_ns=time_ns, kind="release", note="forced_release"))
        self._held.clear()

    def close(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.session.close()
            self._state = "not open"

    def grab(self) -> Frame | None:
        """The picture of this moment. None: in a kept gap, at the end, or not open; ``state`` says which."""
        recording = self._recording
        if recording is None or self._ended:
            return None
        now_ns = self._clock_ns()
        while (at_ns := now_ns - self._began_ns(recording)) >= recording.length_ns:
            self._advance(recording, recording.length_ns)
            self._let_go(self._began_ns(recording) + recording.length_ns)
            if not self.loop:
                self._ended, self._state = True, f"the recording is over ({self.folder.name})"
                return None
            self._round += at_ns // recording.length_ns  # rounds that nobody watched are left out
            self._begin_round(recording)
        part = self._advance(recording, at_ns)
        self._state = part.gap
        return None if part.gap else self._frame(recording, part, at_ns, now_ns)

    def _frame(self, recording: _Recording, part: _Part, at_ns: int, now_ns: int) -> Frame:
        frame = recording.session.frame_at(min(part.end_ns, part.start_ns + at_ns - part.at_ns))
        fresh = frame.number != self._shown and frame.time_ns >= part.start_ns
        time_ns = self._began_ns(recording) + part.at_ns + frame.time_ns - part.start_ns if fresh else now_ns
        self._shown = frame.number
        self._number += 1
        return Frame(self._number - 1, time_ns, frame.image)

    def _advance(self, recording: _Recording, at_ns: int) -> _Part:
        """Move to this moment of the playback: its events become due. Returns the part it lies in."""
        parts = recording.parts
        part = parts[max(0, bisect_right(parts, at_ns, key=lambda part: part.at_ns) - 1)]
        recorded_ns = min(part.end_ns, part.start_ns + at_ns - part.at_ns)
        self._position_ns = recorded_ns - recording.first_ns
        self._cursor = recording.cursor.at(recorded_ns)
        began_ns = self._began_ns(recording)
        with self._lock:
            while self._next_event < len(recording.events) and recording.events[self._next_event].time_ns <= recorded_ns:
                event = recording.events[self._next_event]
                self._next_event += 1
                self._hold(event)
                self._events.append(replace(event, time_ns=began_ns + _played_at(parts, event.time_ns)))
        return part

    def events(self) -> list[InputEvent]:
        """The input events since the last call, in the order they were made."""
        with self._lock:
            found = list(self._events)
            self._events.clear()
        return found


def _played_at(parts: list[_Part], recorded_ns: int) -> int:
    """When in the playback a moment of the recording comes; one in a skipped gap comes at the seam."""
    part = parts[max(0, bisect_right(parts, recorded_ns, key=lambda part: part.start_ns) - 1)]
    return part.at_ns + min(part.end_ns, recorded_ns) - part.start_ns


def _parts(start_ns: int, end_ns: int, gaps: list[tuple[int, int, str]], keep: bool) -> list[_Part]:
    """The stretch cut at its gaps (start, end, reason; in order)."""
    parts: list[_Part] = []
    at_ns, begin_ns = 0, start_ns
    for gap_start, gap_end, reason in gaps:
        if gap_end <= start_ns or gap_start >= end_ns:
            continue
        if gap_start > begin_ns:
            parts.append(_Part(begin_ns, gap_start, at_ns))
            at_ns += gap_start - begin_ns
        if keep:
            first = max(gap_start, begin_ns)
            parts.append(_Part(first, gap_end, at_ns, f"a gap in the recording{f': {reason}' if reason else ''}"))
            at_ns += gap_end - first
        begin_ns = gap_end
    return [*parts, _Part(begin_ns, max(begin_ns, end_ns), at_ns)]
