"""The recorder: takes in frames, events and steps from the live path and writes sessions in a thread of its own.

``offer_*`` never wait: the queue is bounded, and a picture that finds no room is dropped and counted. What F5, F6 and
F7 mean stands in ``engine.recorder_machine``, what is taken in at all in ``engine.recorder_intake``; commands travel
through the same queue as the pictures, so that they take effect exactly where they belong.

While nothing is recorded and a pre-buffer is asked for, the same things go through the same filters into a ring in
memory (``engine.prebuffer``), and F5 begins with what it holds.

Privacy: control hotkeys are refused, keys outside the profile become nameless, and while the window is out of focus
nothing is taken in: the gap is recorded and held keys are released with a flag.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.schema import Frame, InputEvent, Step
from engine.prebuffer import prebuffer_of
from engine.recorder_intake import Intake, RecordingSettings
from engine.recorder_machine import (
    USUAL_KEYS,
    Begin,
    Command,
    Finish,
    KeyNames,
    Level,
    Pause,
    RecorderKey,
    RecorderMachine,
    Resume,
    Say,
    Settle,
)
from engine.recorder_queue import BEFORE, QUEUE_BYTES, Counted, Item, Marked, RecorderQueue, Remark, Start
from engine.recorder_writer import Figures, Outcome, RecordingSink, plain_error
from engine.recording_place import RecordingPlace
from engine.state import AlertKind, RecorderState

__all__ = ["Recorder", "RecordingSettings"]

_IDLE_WAIT_S: Final = 0.2

Notify = Callable[[Level, str], None]
Alert = Callable[[AlertKind, str], None]


class Recorder:
    """Owns the writer thread. All methods may be called from any thread; none but ``stop`` and ``wait`` waits.

    notify: is told what a person must know, alert: what somebody who does not see the terminal should notice; both are
    called from the caller's thread or the writer's, and must not block. now_ns: the clock that the frames' times are of.
    """

    def __init__(
        self,
        settings: RecordingSettings,
        notify: Notify,
        *,
        alert: Alert | None = None,
        saved: Callable[[Path], None] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        queue_bytes: int = QUEUE_BYTES,
        keys: KeyNames = USUAL_KEYS,
    ) -> None:
        self._settings = settings
        self._notify, self._alert, self._now_ns = notify, alert, now_ns
        self._machine = RecorderMachine(keys)
        self._queue = RecorderQueue(queue_bytes)
        self._lock = self._queue.lock
        self._intake = Intake(settings)
        self._recording = BEFORE  # counts recordings: what is queued for one that failed is not written into the next
        self._note = ""
        self._last_session = ""
        self._place = RecordingPlace()
        self._ending = 0  # recordings whose end is queued
        self._pressing = 0  # keys that are being looked into: the workspace's lock may be taken, but not used yet
        self._prebuffer = prebuffer_of(settings)
        self._sink = RecordingSink(keys, saved)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    # What the engine says

    def start(self) -> None:
        self._thread.start()

    def configure(self, settings: RecordingSettings) -> None:
        """What the next recording is of; one that runs is not touched. The pre-buffer begins anew."""
        with self._lock:
            self._settings = settings
            self._prebuffer = None  # what it holds is of the source before
            if self._machine.phase != "recording":
                self._intake = Intake(settings)
                self._intake.begin(self._now_ns())
            self._queue.put(BEFORE, settings)

    def press(self, key: RecorderKey) -> None:
        """F5, F6 or F7, from wherever it came."""
        with self._lock:
            self._pressing += 1
        refusal = self._place.claim(self._settings.workspace) if key == "f5" and self._machine.phase != "recording" else None
        with self._lock:
            self._pressing -= 1
            now_ns = self._now_ns()
            self._carry_out(self._machine.press(key, now_ns, refusal, self._past_s(now_ns)))

    def set_focus(self, focused: bool, reason: str = "the window is not in focus") -> None:
        """Whether the game's window is visible and in focus, and why not. Until first told, nothing is taken in."""
        with self._lock:
            before, buffers, now_ns = self._machine.waiting, self._buffers, self._now_ns()
            self._carry_out(self._machine.set_waiting("" if focused else reason, now_ns))
            if buffers and focused and before:
                self._intake.resume(now_ns)
                self._queue.put(BEFORE, Resume(now_ns))
            elif buffers and not focused and not before:
                for item in (*self._intake.let_go(now_ns), Pause(now_ns, reason)):
                    self._queue.put(BEFORE, item)

    def forget_source(self) -> None:
        """The source is gone: nothing is taken in until the next one is configured, and the pre-buffer is emptied."""
        self.set_focus(False, "nothing is watched")
        with self._lock:
            self._prebuffer = None

    def finish(self, why: str) -> None:
        """Ends and saves whatever there is, and says why: quit, F8, the end of --for, the window closed."""
        with self._lock:
            self._carry_out(self._machine.finish(why, self._now_ns()))

    def note(self, text: str) -> None:
        """A remark that goes into the running session's metadata, once."""
        self._add_if_recording(Remark(text))

    def mark(self, what: str, start_ns: int, end_ns: int, reason: str = "") -> None:
        """A "perturbed" or "interesting" stretch of the running session."""
        self._add_if_recording(Marked(what, start_ns, end_ns, reason))

    def _add_if_recording(self, item: Item) -> None:
        with self._lock:
            if self._machine.phase == "recording":
                self._queue.put(self._recording, item)

    # What the live path offers

    @property
    def _buffers(self) -> bool:
        """Whether what comes while the window is in focus goes to the pre-buffer."""
        return self._prebuffer is not None and self._machine.phase != "recording"

    def _destination(self) -> int | None:
        """The number that an item bears now; None: it is not taken in."""
        if self._machine.taking:
            return self._recording
        return BEFORE if self._buffers and not self._machine.waiting else None

    def offer_frame(self, frame: Frame) -> bool:
        """Offers a picture, which must not be changed afterwards. Returns whether it was taken in."""
        with self._lock:
            to = self._destination()
            if to is None:
                return False
            for what in self._intake.interruption(frame.time_ns):
                self._queue.put(to, Remark(what) if isinstance(what, str) else what)
            if not self._intake.wants(frame):
                return False
            if not self._queue.has_room(frame):
                self._intake.dropped += 1
                return False
            self._intake.took(frame)
            if to != BEFORE:
                self._machine.captured()
            self._queue.put(to, frame)
            return True

    def offer_event(self, event: InputEvent) -> bool:
        """Offers an input event of the game's window. Returns whether it was taken in."""
        with self._lock:
            to = self._destination()
            if to is None:
                return False
            if not self._queue.has_room(event):
                self._intake.refused += 1
                return False
            taken = self._intake.event(event)
            if taken is None:
                return False
            self._queue.put(to, taken)
            return True

    def offer_step(self, step: Step) -> bool:
        """Offers the step of a tick. Returns whether it was taken in."""
        with self._lock:
            to = self._destination()
            if to is None:
                return False
            if not self._queue.has_room(step):
                self._intake.refused += 1
                return False
            if not self._intake.step(step):
                return False
            self._queue.put(to, step)
            return True

    # How it stands

    def state(self) -> RecorderState:
        """A snapshot for the face."""
        with self._lock:
            machine, sink, prebuffer = self._machine, self._sink, self._prebuffer
            phase = "paused" if machine.paused else machine.phase
            if phase == "idle" and self._ending:
                phase = "saving"
            common = RecorderState(
                phase=phase,
                disk_free_bytes=self._place.free_bytes,
                disk_left_s=self._place.free_bytes / sink.usual_bytes_per_s if sink.usual_bytes_per_s else None,
                note=machine.waiting if machine.paused else self._note,
                last_session=self._last_session,
                prebuffer_s=self._settings.prebuffer_s,
                buffered_s=round(prebuffer.span_s, 1) if prebuffer is not None and self._buffers else 0.0,
            )
            if phase == "idle":
                return common
            begun = sink.recording == self._recording or machine.phase != "recording"
            figures = sink.figures if begun else Figures()
            return replace(
                common,
                session=figures.session,
                duration_s=figures.duration_s,
                frames=figures.frames,
                events=figures.events,
                steps=figures.steps,
                size_bytes=figures.size_bytes,
                dropped_frames=self._intake.dropped,
            )

    def wait(self, timeout_s: float = 10.0) -> bool:
        """Waits until everything said and offered so far is on disk; False when that took longer."""
        return self._queue.wait(timeout_s)

    def stop(self, why: str = "quit", timeout_s: float = 10.0) -> bool:
        """Saves what there is and ends the thread. False when it did not end in time."""
        self.finish(why)
        self._queue.end()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # The machine's commands, with the lock held

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Say):
                self._say(command.level, command.text, command.alert)
                continue
            if isinstance(command, Begin):
                self._begin(command.time_ns)
            elif isinstance(command, Resume):
                self._intake.resume(command.time_ns)
            elif isinstance(command, (Pause, Finish)):
                released = self._intake.let_go(command.time_ns)
                for event in released:
                    self._queue.put(self._recording, event)
                self._queue.put(self._recording, Counted(self._intake.dropped, self._intake.refused))
                if isinstance(command, Finish):
                    self._end(command, released)
            self._ending += isinstance(command, (Finish, Settle))
            self._queue.put(self._recording, command)

    def _begin(self, time_ns: int) -> None:
        self._recording += 1
        past = self._past_s(time_ns) > 0
        self._queue.put(self._recording, Start(self._settings, time_ns, past))
        if past:
            self._intake.go_on()
            self._machine.captured()  # it has pictures already
        else:
            self._intake = Intake(self._settings)
            self._intake.begin(time_ns)

    def _past_s(self, now_ns: int) -> float:
        """How far back a recording that begins now reaches."""
        prebuffer, since_ns = self._prebuffer, now_ns - round(self._settings.prebuffer_s * 1e9)
        return prebuffer.span_s if prebuffer is not None and prebuffer.last_key_ns >= since_ns else 0.0

    def _end(self, finish: Finish, released: list[InputEvent]) -> None:
        for text in self._settings.last_remarks():
            self._queue.put(self._recording, Remark(text))
        self._intake = Intake(self._settings)
        self._intake.begin(finish.time_ns)
        if self._prebuffer is not None and not self._machine.waiting:
            for event in self._intake.hold_on(finish.time_ns, released):
                self._queue.put(BEFORE, event)

    def _say(self, level: Level, text: str, alert: AlertKind = "") -> None:
        self._note = text
        self._notify(level, text)
        if alert and self._alert is not None:
            self._alert(alert, text)

    # The writer's thread

    def _run(self) -> None:
        while not self._queue.over:
            taken = self._queue.take(_IDLE_WAIT_S)
            try:
                if taken is not None:
                    self._handle(*taken)
                if self._prebuffer is not None:
                    self._prebuffer.trim(self._now_ns())
                full = self._sink.tend()
                self._place.free_bytes = self._sink.figures.disk_free_bytes or self._place.free_bytes
                if full:
                    self._fail("disk full, recording stopped and saved")
            except OSError as error:
                self._fail(f"{plain_error(error)}, recording stopped and saved")
            except Exception as error:  # whatever it is: what is on disk is kept, and the live path goes on
                self._fail(f"the recorder failed ({error.__class__.__name__}: {error}), recording stopped and saved")
            with self._lock:
                self._place.tend(bool(self._sink.recording or self._pressing) or self._machine.phase == "recording")
                self._ending -= taken is not None and isinstance(taken[1], (Finish, Settle))
            self._queue.done()

    def _handle(self, recording: int, item: Item) -> None:
        sink = self._sink
        if isinstance(item, RecordingSettings):
            self._prebuffer = prebuffer_of(item)
        elif recording == BEFORE:
            self._buffer(item)
        elif isinstance(item, Start):
            since_ns = item.pressed_ns - round(item.settings.prebuffer_s * 1e9)
            past = self._prebuffer.take(since_ns if item.past else item.pressed_ns + 1) if self._prebuffer is not None else None
            sink.begin(recording, item.settings, past, item.pressed_ns)
        elif isinstance(item, Settle):
            self._report(sink.settle(item))
        elif recording == sink.recording:  # else of one that has failed meanwhile
            self._report(sink.take(item))

    def _buffer(self, item: Item) -> None:
        prebuffer = self._prebuffer
        if prebuffer is None:
            return
        if isinstance(item, (InputEvent, Step, Pause, Resume)):
            prebuffer.add(item)
        elif isinstance(item, Frame):
            try:
                prebuffer.frame(item)
            except Exception as error:  # no reason to stop the live path: without it F5 records from then on
                self._prebuffer = None
                with self._lock:
                    self._say("warning", f"the pre-buffer is off ({error.__class__.__name__}: {error}): F5 records from then on")

    def _fail(self, why: str) -> None:
        """Writing failed or will fail at once. The machine stops first, so that nothing more is taken in."""
        with self._lock:
            self._queue.busy = True
            now_ns = self._now_ns()
            self._sink.counted(self._intake.dropped, self._intake.refused)
            if self._sink.recording == self._recording:
                self._machine.failed(why, now_ns)  # its command is carried out right here, before what is queued
                self._intake = Intake(self._settings)
                self._intake.begin(now_ns)
        try:
            self._report(self._sink.fail(why, now_ns))
        except Exception as error:  # the thread must live: the next recording needs it
            self._report(Outcome("error", f"{why}; ending it failed too ({error}): it will be repaired at the next start", "failure"))

    def _report(self, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        with self._lock:
            if outcome.session:
                self._last_session = outcome.session
            self._say(outcome.level, outcome.text, outcome.alert)
