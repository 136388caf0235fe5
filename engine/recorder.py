"""The recorder: takes in frames, events and steps from the live path and writes sessions in a thread of its own.

``offer_*`` never wait: the queue is bounded, and a picture that finds no room is dropped and counted. Everything
that F5, F6 and F7 mean stands in ``engine.recorder_machine``; commands travel through the same queue as the
pictures, so that they take effect exactly where they belong.

Privacy: control hotkeys are refused, keys outside the profile become nameless, and while the window is out of focus
nothing is taken in: the gap is recorded and held keys are released with a flag.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from data.files import free_bytes, write_refusal
from data.metadata import SessionKind, Source
from data.profile import GameProfile
from data.schema import Frame, InputEvent, Step
from data.vocabulary import CONTROL_HOTKEYS, MOUSE_BUTTONS, OTHER_KEY
from data.workspace import Workspace
from engine.recorder_machine import Begin, Command, Finish, Level, Pause, RecorderKey, RecorderMachine, Resume, Say, Settle
from engine.recorder_writer import Outcome, RecordingSink
from engine.state import RecorderState

QUEUE_BYTES: Final = 48 * 1024 * 1024
QUEUE_ROWS: Final = 20_000
LEAST_FREE_BYTES: Final = 4 * 1024 * 1024
"""With less free space than this a recording does not begin."""
_IDLE_WAIT_S: Final = 0.2

Notify = Callable[[Level, str], None]


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """What the next recording is of. ``fps``: the most pictures a second that are kept; a faster source is thinned."""

    workspace: Path
    profile: GameProfile
    source: Source
    kind: SessionKind = "play"
    fps: float = 30.0
    tick_hz: float = 20.0
    scale: float = 1.0
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class _Marked:
    what: str
    start_ns: int
    end_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Start:
    settings: RecordingSettings


@dataclass(frozen=True, slots=True)
class _Counted:
    dropped_frames: int
    refused_events: int


_Item = Frame | InputEvent | Step | _Marked | _Start | _Counted | str | Command


class Recorder:
    """Owns the writer thread. All methods may be called from any thread; none but ``stop`` and ``wait`` waits.

    notify: is told what a person must know; it is called from the caller's thread or from the writer's, and must
    not block. now_ns: the clock that the frames' times are of.
    """

    def __init__(
        self,
        settings: RecordingSettings,
        notify: Notify,
        *,
        saved: Callable[[Path], None] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self._settings = settings
        self._notify = notify
        self._now_ns = now_ns
        self._queue_bytes = queue_bytes
        self._machine = RecorderMachine()
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._queue: deque[tuple[int, _Item]] = deque()
        self._bytes = 0
        self._rows = 0
        self._recording = 0  # counts recordings: what is queued for one that failed is not written into the next
        self._begin_ns = 0
        self._due_ns = 0
        self._last_step_ns = 0
        self._held: dict[str, InputEvent] = {}
        self._busy = False
        self._stopping = False
        self._dropped = 0
        self._refused = 0
        self._note = ""
        self._last_session = ""
        self._disk_free = 0
        self._sink = RecordingSink(saved)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    # What the engine says

    def start(self) -> None:
        self._thread.start()

    def configure(self, settings: RecordingSettings) -> None:
        """What the next recording is of; one that runs is not touched."""
        with self._lock:
            self._settings = settings

    def press(self, key: RecorderKey) -> None:
        """F5, F6 or F7, from wherever it came."""
        refusal = None
        if key == "f5" and self._machine.phase != "recording":
            refusal = self.refusal()
        with self._lock:
            self._carry_out(self._machine.press(key, self._now_ns(), refusal))

    def refusal(self) -> str | None:
        """Why a recording cannot begin: the folder that cannot be written, or a disk that is full. None: it can."""
        folder = Workspace(self._settings.workspace).sessions
        refusal = write_refusal(folder)
        if refusal is not None:
            return refusal
        free = self._disk_free = free_bytes(folder)
        if free < LEAST_FREE_BYTES:
            return f"the disk is full: {free / 1e6:.1f} MB are free in {folder}; make room or choose another folder"
        return None

    def set_focus(self, focused: bool, reason: str = "the window is not in focus") -> None:
        """Whether the game's window is visible and in focus, and why not. Until first told, nothing is taken in."""
        with self._lock:
            self._carry_out(self._machine.set_waiting("" if focused else reason, self._now_ns()))

    def finish(self, why: str) -> None:
        """Ends and saves whatever there is, and says why: quit, F8, the end of --for, the window closed."""
        with self._lock:
            self._carry_out(self._machine.finish(why, self._now_ns()))

    def note(self, text: str) -> None:
        """A remark that goes into the running session's metadata, once."""
        self._add_if_taking(text)

    def mark(self, what: str, start_ns: int, end_ns: int, reason: str = "") -> None:
        """A "perturbed" or "interesting" stretch of the running session."""
        self._add_if_taking(_Marked(what, start_ns, end_ns, reason))

    def _add_if_taking(self, item: _Item) -> None:
        with self._lock:
            if self._machine.phase == "recording":
                self._put(item)

    # What the live path offers

    def offer_frame(self, frame: Frame) -> bool:
        """Offers a picture, which must not be changed afterwards. Returns whether it was taken in."""
        with self._lock:
            if not self._machine.taking or frame.time_ns < self._begin_ns:
                return False
            period_ns = round(1e9 / self._settings.fps)
            if frame.time_ns < self._due_ns - period_ns * 2 // 5:
                return False
            size = frame.image.nbytes
            if self._queue and self._bytes + size > self._queue_bytes:
                self._dropped += 1
                return False
            self._due_ns = max(self._due_ns + period_ns, frame.time_ns - 2 * period_ns)  # late pictures may come in a burst
            self._bytes += size
            self._machine.captured()
            self._put(frame)
            return True

    def offer_event(self, event: InputEvent) -> bool:
        """Offers an input event of the game's window. Returns whether it was taken in."""
        with self._lock:
            if not self._machine.taking or event.time_ns < self._begin_ns:
                return False
            if event.name in CONTROL_HOTKEYS or self._rows >= QUEUE_ROWS:
                self._refused += 1
                return False
            if event.name and event.name not in self._settings.profile.keys and event.name not in (*MOUSE_BUTTONS, OTHER_KEY):
                event = replace(event, name=OTHER_KEY)
            if event.kind == "press":
                self._held[event.name] = event
            elif event.kind == "release":
                self._held.pop(event.name, None)
            self._rows += 1
            self._put(event)
            return True

    def offer_step(self, step: Step) -> bool:
        """Offers the step of a tick. Returns whether it was taken in."""
        time_ns = step.observation.time_ns
        with self._lock:
            if not self._machine.taking or min(time_ns, step.observation.frame_time_ns) < self._begin_ns:
                return False
            if time_ns < self._last_step_ns or self._rows >= QUEUE_ROWS:
                self._refused += 1
                return False
            self._last_step_ns = time_ns
            self._rows += 1
            self._put(step)
            return True

    # How it stands

    def state(self) -> RecorderState:
        """A snapshot for the face."""
        with self._lock:
            machine = self._machine
            phase = "paused" if machine.paused else machine.phase
            if phase == "idle" and self._busy:
                phase = "saving"
            common = RecorderState(
                phase=phase,
                disk_free_bytes=self._disk_free,
                note=machine.waiting if machine.paused else self._note,
                last_session=self._last_session,
            )
            if phase == "idle":
                return common
            figures = self._sink.figures
            return replace(
                common,
                session=figures.session,
                duration_s=figures.duration_s,
                frames=figures.frames,
                events=figures.events,
                steps=figures.steps,
                size_bytes=figures.size_bytes,
                dropped_frames=self._dropped,
            )

    def wait(self, timeout_s: float = 10.0) -> bool:
        """Waits until everything said and offered so far is on disk; False when that took longer."""
        with self._lock:
            return self._work.wait_for(lambda: not self._queue and not self._busy, timeout_s)

    def stop(self, why: str = "quit", timeout_s: float = 10.0) -> bool:
        """Saves what there is and ends the thread. False when it did not end in time."""
        self.finish(why)
        with self._lock:
            self._stopping = True
            self._work.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # The machine's commands

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Say):
                self._say(command.level, command.text)
                continue
            if isinstance(command, Begin):
                self._recording += 1
                self._begin_ns, self._due_ns, self._last_step_ns = command.time_ns, command.time_ns, 0
                self._held.clear()
                self._dropped = self._refused = 0
                self._put(_Start(self._settings))
            elif isinstance(command, Resume):
                self._begin_ns = self._due_ns = command.time_ns
            elif isinstance(command, (Pause, Finish)):
                self._force_releases(command.time_ns)
                self._put(_Counted(self._dropped, self._refused))
            self._put(command)

    def _force_releases(self, time_ns: int) -> None:
        for event in self._held.values():
            self._rows += 1
            self._put(replace(event, time_ns=time_ns, kind="release", note="forced_release"))
        self._held.clear()

    def _put(self, item: _Item) -> None:
        self._queue.append((self._recording, item))
        self._work.notify_all()

    def _say(self, level: Level, text: str) -> None:
        self._note = text
        self._notify(level, text)

    # The writer's thread

    def _run(self) -> None:
        while True:
            with self._lock:
                self._work.wait_for(lambda: self._queue or self._stopping, _IDLE_WAIT_S)
                if not self._queue and self._stopping:
                    break
                taken = self._queue.popleft() if self._queue else None
                self._busy = taken is not None
                if taken is not None and isinstance(taken[1], Frame):
                    self._bytes -= taken[1].image.nbytes
                elif taken is not None and isinstance(taken[1], (InputEvent, Step)):
                    self._rows -= 1
            try:
                if taken is not None:
                    self._handle(*taken)
                full = self._sink.tend()
                self._disk_free = self._sink.figures.disk_free_bytes or self._disk_free
                if full:
                    self._fail("disk full, recording stopped and saved")
            except OSError as error:
                self._fail(f"{_plain(error)}, recording stopped and saved")
            except Exception as error:  # whatever it is: what is on disk is kept, and the live path goes on
                self._fail(f"the recorder failed ({error.__class__.__name__}: {error}), recording stopped and saved")
            with self._lock:
                self._busy = bool(self._queue)
                self._work.notify_all()

    def _handle(self, recording: int, item: _Item) -> None:
        sink = self._sink
        if isinstance(item, _Start):
            sink.begin(recording, item.settings)
        elif isinstance(item, Settle):
            self._report(sink.settle(item.then, item.why))
        elif recording != sink.recording:
            return  # of a recording that has failed meanwhile
        elif isinstance(item, Frame):
            sink.frame(item)
        elif isinstance(item, InputEvent):
            sink.event(item)
        elif isinstance(item, Step):
            sink.step(item)
        elif isinstance(item, _Marked):
            sink.later(lambda writer: writer.mark(item.what, item.start_ns, item.end_ns, item.reason))
        elif isinstance(item, str):
            sink.later(lambda writer: writer.note(item))
        elif isinstance(item, Pause):
            sink.later(lambda writer: writer.begin_gap(item.time_ns, item.reason))
        elif isinstance(item, Resume):
            sink.later(lambda writer: writer.end_gap(item.time_ns))
        elif isinstance(item, _Counted):
            sink.counted(item.dropped_frames, item.refused_events)
        elif isinstance(item, Finish):
            self._report(sink.finish(item.then, item.why, item.time_ns))

    def _fail(self, why: str) -> None:
        """Writing failed or will fail at once. The machine stops first, so that nothing more is taken in."""
        with self._lock:
            self._busy = True
            now_ns = self._now_ns()
            if self._sink.recording == self._recording:
                self._machine.failed(why, now_ns)  # its command is carried out right here, before what is queued
                self._held.clear()
            self._sink.counted(self._dropped, self._refused)
        try:
            self._report(self._sink.fail(why, now_ns))
        except Exception as error:  # the thread must live: the next recording needs it
            self._report(Outcome("error", f"{why}; ending it failed too ({error}): it will be repaired at the next start"))

    def _report(self, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        with self._lock:
            if outcome.session:
                self._last_session = outcome.session
            self._say(outcome.level, outcome.text)


def _plain(error: OSError) -> str:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "disk full"
    return f"{error.filename or 'the session'}: {error.strerror or error}"
