"""What of the live path's offers a recording takes in: rates, times, the vocabulary, held keys. No thread, no disk.

Privacy is kept here once more: control keys are refused, and keys outside the profile become nameless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from data.metadata import SessionKind, Source
from data.profile import GameProfile
from data.schema import Frame, InputEvent, Step
from data.vocabulary import CONTROL_HOTKEYS, MOUSE_BUTTONS, OTHER_KEY
from engine.clock_watch import ClockWatch
from engine.recorder_machine import Pause, Resume

STALL_S: Final = 1.0
"""Without a picture for longer (and for longer than five of the asked intervals) there is a gap in the recording."""


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """What the next recording is of. ``fps``: the most pictures a second that are kept; a faster source is thinned.
    ``control_keys``: what steers Secondseat in these settings, beside the usual keys. ``prebuffer_s``: how far before
    F5 it begins. ``last_remarks``: asked, when it ends, for what its metadata should say; it must not wait."""

    workspace: Path
    profile: GameProfile
    source: Source
    kind: SessionKind = "play"
    fps: float = 30.0
    tick_hz: float = 20.0
    scale: float = 1.0
    control_keys: frozenset[str] = CONTROL_HOTKEYS
    prebuffer_s: float = 0.0
    last_remarks: Callable[[], list[str]] = list
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Intake:
    """Used under the recorder's lock. ``dropped`` and ``refused`` count since the recording began."""

    def __init__(self, settings: RecordingSettings, clock: ClockWatch | None = None) -> None:
        self.settings = settings
        self.dropped = 0
        self.refused = 0
        self._clock = clock if clock is not None else ClockWatch()
        self._held: dict[str, InputEvent] = {}
        self._begin_ns = self._due_ns = self._seen_ns = self._last_step_ns = 0

    def begin(self, time_ns: int) -> None:
        """From here on, with nothing of what was before."""
        self._last_step_ns = 0
        self._held.clear()
        self.resume(time_ns)
        self.go_on()

    def go_on(self) -> None:
        """A recording begins with what was taken in already (the pre-buffer's): only the counts begin anew."""
        self.dropped = self.refused = 0

    def resume(self, time_ns: int) -> None:
        """After a gap: what is older belongs to it."""
        self._begin_ns = self._due_ns = time_ns
        self._seen_ns = 0
        self._clock.reset()

    def interruption(self, time_ns: int) -> list[Pause | Resume | str]:
        """What happened between the last picture and the one of this time: gaps, and remarks about the clock."""
        before_ns, self._seen_ns = self._seen_ns, time_ns
        jump = self._clock.look()
        if not before_ns:
            return []
        found: list[Pause | Resume | str] = []
        if jump.wall_step_s:
            way = "forward" if jump.wall_step_s > 0 else "back"
            into_s = (time_ns - self._begin_ns) / 1e9
            found.append(f"the wall clock was set {way} by {abs(jump.wall_step_s):.1f} s, {into_s:.1f} s after this stretch began")
        reason = ""
        if jump.slept_s:
            reason = f"the machine slept for {jump.slept_s:.1f} s"
        elif time_ns - before_ns > max(STALL_S, 5.0 / self.settings.fps) * 1e9:
            reason = f"no picture came for {(time_ns - before_ns) / 1e9:.1f} s"
        if reason:
            found += [Pause(before_ns, reason), Resume(time_ns)]
        return found

    def wants(self, frame: Frame) -> bool:
        """Whether a picture is due."""
        return frame.time_ns >= self._begin_ns and frame.time_ns >= self._due_ns - self._period_ns * 2 // 5

    def took(self, frame: Frame) -> None:
        # Late pictures may come in a burst.
        self._due_ns = max(self._due_ns + self._period_ns, frame.time_ns - 2 * self._period_ns)

    def event(self, event: InputEvent) -> InputEvent | None:
        """The event as it is recorded; None when it is not."""
        if event.time_ns < self._begin_ns:
            # It came late, behind the key that began the recording: what it pressed was down already.
            if event.kind == "press":
                event = replace(event, time_ns=self._begin_ns, note="held_at_start")
            elif event.kind == "release" and event.name in self._held:
                event = replace(event, time_ns=self._begin_ns)
            else:
                return None
        if event.name in CONTROL_HOTKEYS or event.name in self.settings.control_keys:
            self.refused += 1
            return None
        if event.name and event.name not in self.settings.profile.keys and event.name not in (*MOUSE_BUTTONS, OTHER_KEY):
            event = replace(event, name=OTHER_KEY)
        if event.kind == "press":
            if event.name in self._held and event.name != OTHER_KEY:
                return None  # it is down already
            self._held[event.name] = event
        elif event.kind == "release":
            self._held.pop(event.name, None)
        return event

    def step(self, step: Step) -> bool:
        """Whether a step is recorded: those of before are not, and time goes one way."""
        time_ns = step.observation.time_ns
        if min(time_ns, step.observation.frame_time_ns) < self._begin_ns:
            return False
        if time_ns < self._last_step_ns:
            self.refused += 1
            return False
        self._last_step_ns = time_ns
        return True

    def let_go(self, time_ns: int) -> list[InputEvent]:
        """Flagged releases of all that is down: nothing is held any more."""
        releases = [replace(event, time_ns=time_ns, kind="release", note="forced_release") for event in self._held.values()]
        self._held.clear()
        return releases

    def hold_on(self, time_ns: int, released: list[InputEvent]) -> list[InputEvent]:
        """The opposite of ``let_go``, for what follows the recording: the keys are still down."""
        presses = [replace(event, time_ns=time_ns, kind="press", note="held_at_start") for event in released]
        self._held = {event.name: event for event in presses}
        return presses

    @property
    def _period_ns(self) -> int:
        return round(1e9 / self.settings.fps)
