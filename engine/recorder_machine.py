"""What F5, F6 and F7 mean in every state: a state machine that does no input or output of its own.

::

    idle       F5 -> recording
    recording  F5 -> unsaved      F6 -> saved (idle)      F7 -> trash (idle)
    unsaved    F5 -> the old one is saved, a new one begins      F6 -> saved (idle)      F7 -> trash (idle)
    any        quit, F8, the end of --for, a failure: what there is gets saved, and that is said

While the window is hidden or out of focus a recording is paused: it stays a recording, every key keeps its meaning,
and nothing is written. A recording without a picture leaves nothing behind. Nothing ever asks: F7 can be undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from engine.state import AlertKind

RecorderKey = Literal["f5", "f6", "f7"]
Level = Literal["info", "warning", "error"]
MachinePhase = Literal["idle", "recording", "unsaved"]


@dataclass(frozen=True, slots=True)
class Begin:
    """Take in what is offered from now on."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Write nothing from now on, and note the gap."""

    time_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Resume:
    """End the gap."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Close the streams. ``then``: what becomes of the session."""

    time_ns: int
    then: Literal["unsaved", "saved", "trash", "nothing"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Settle:
    """Decide over the closed, unsaved session."""

    then: Literal["saved", "trash"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the person. ``alert``: what kind of notice it is for somebody who does not see the terminal; empty: none."""

    level: Level
    text: str
    alert: AlertKind = ""


@dataclass(frozen=True, slots=True)
class KeyNames:
    """What the three keys are called in these settings; here and in the code they are F5, F6 and F7."""

    record: str = "F5"
    save: str = "F6"
    discard: str = "F7"


USUAL_KEYS: Final = KeyNames()
Command = Begin | Pause | Resume | Finish | Settle | Say


class RecorderMachine:
    """The recorder's state. Every method returns the commands to carry out, in order."""

    def __init__(self, keys: KeyNames = USUAL_KEYS) -> None:
        self._keys = keys
        self.phase: MachinePhase = "idle"
        self.waiting = "no picture has come from the source"
        """Why nothing is taken in; empty while the window is visible and in focus."""
        self.frames = 0
        """Pictures taken in since the recording began."""

    @property
    def taking(self) -> bool:
        """Whether what is offered now is recorded."""
        return self.phase == "recording" and not self.waiting

    @property
    def paused(self) -> bool:
        return self.phase == "recording" and bool(self.waiting)

    def press(self, key: RecorderKey, time_ns: int, refusal: str | None = None, past_s: float = 0.0) -> list[Command]:
        """A control key. For F5 only: refusal: why a recording cannot begin now, where that was found out before;
        past_s: how far before now it begins."""
        if key == "f5":
            return self._f5(time_ns, refusal, past_s)
        if self.phase == "recording":
            return self._end(time_ns, "saved" if key == "f6" else "trash")
        if self.phase == "unsaved":
            self.phase = "idle"
            return [Settle("saved" if key == "f6" else "trash")]
        return [Say("info", f"nothing to save: {self._keys.record} starts a recording" if key == "f6" else "nothing to discard")]

    def _f5(self, time_ns: int, refusal: str | None, past_s: float) -> list[Command]:
        if self.phase == "recording":
            return self._end(time_ns, "unsaved")
        commands: list[Command] = []
        if self.phase == "unsaved":
            commands.append(Settle("saved", "the recording before was saved, since a new one begins"))
        self.phase = "idle"
        if refusal is not None:
            return [*commands, Say("error", f"cannot record: {refusal}", "failure")]
        self.phase = "recording"
        self.frames = 0
        commands.append(Begin(time_ns))
        if self.waiting:
            return [*commands, Pause(time_ns, self.waiting), Say("warning", f"recording waits: {self.waiting}", "pause")]
        keys, since = self._keys, f" from {past_s:.0f} s ago" if past_s >= 1.0 else ""
        text = f"recording{since}: {keys.record} stops, {keys.save} saves, {keys.discard} discards"
        return [*commands, Say("info", text, "start")]

    def _end(self, time_ns: int, then: Literal["unsaved", "saved", "trash"], why: str = "") -> list[Command]:
        if self.frames == 0:
            self.phase = "idle"
            reason = self.waiting or "no picture came before it was stopped"
            return [Finish(time_ns, "nothing"), Say("warning", f"nothing was captured, because {reason}", "failure")]
        self.phase = "unsaved" if then == "unsaved" else "idle"
        return [Finish(time_ns, then, why)]

    def set_waiting(self, reason: str, time_ns: int) -> list[Command]:
        """The source or the window says why nothing may be recorded; an empty reason: it may."""
        before, self.waiting = self.waiting, reason
        if self.phase != "recording" or bool(before) == bool(reason):
            return []
        if reason:
            return [Pause(time_ns, reason), Say("warning", f"recording paused: {reason}", "pause")]
        return [Resume(time_ns), Say("info", "recording goes on", "resume")]

    def captured(self) -> None:
        """One picture was taken in."""
        self.frames += 1

    def finish(self, why: str, time_ns: int) -> list[Command]:
        """Quit, F8, the end of --for, a window that closed: what there is gets saved."""
        if self.phase == "recording":
            return self._end(time_ns, "saved", why)
        if self.phase == "unsaved":
            self.phase = "idle"
            return [Settle("saved", why)]
        return []

    def failed(self, why: str, time_ns: int) -> list[Command]:
        """Writing the newest recording failed: it stops, and what is on disk is kept, nothing is left to decide."""
        before, self.phase = self.phase, "idle"
        return [Finish(time_ns, "saved", why)] if before == "recording" else []
