"""The actuator's rules, without input or output of their own: what may be pressed, when it is let go, who yields.

One thread calls everything here. Times are monotonic nanoseconds handed in by the caller.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from data.vocabulary import CONTROL_HOTKEYS, MOUSE_BUTTONS
from engine.actuator.protocol import HEARTBEAT_NS, JournalEntry
from engine.platforms.port import ELEVATED, GateResult, Injected, Injector, RawInput

Phase = Literal["disarmed", "armed", "paused", "yielded", "stopped"]

FOCUS_CHECK_NS: Final = 50_000_000
MOVE_WINDOW_NS: Final = 300_000_000
DELIBERATE_MOVE_PX: Final = 8.0
"""A person's mouse must travel this far within 0.3 s to count: a nudge of the table does not."""
SETTLE_NS: Final = 1_000_000_000
"""After the focus has come (mostly by a person's click), their hand may still rest on the mouse: only keys and clicks count."""
OWN_EVENT_NS: Final = 1_000_000_000
"""What was sent is expected back from the listener within this time."""

_REASONS: Final[dict[GateResult, str]] = {
    "no_focus": "the window has no focus",
    "hidden": "the window is hidden or minimised",
    "closed": "the window is closed",
    "covered": "another window lies over the place of the click",
    "off_screen": "the place is outside the screen",
    "elevated": ELEVATED,
}


class Refused(ValueError):
    """A message asks for something that is not allowed; the text says what."""


@dataclass(frozen=True, slots=True)
class Armed:
    window_id: int
    title: str
    names: frozenset[str]
    margin_px: int
    hold_ns: int
    dry_run: bool


@dataclass(slots=True)
class Counts:
    sent: int = 0
    refused: int = 0
    expired: int = 0
    ignored: int = 0
    focus_losses: int = 0
    lapses: int = 0


@dataclass(slots=True)
class _Own:
    """What this process sent lately, to tell its echo from a person's input."""

    keys: deque[tuple[str, str, int]] = field(default_factory=deque[tuple[str, str, int]])
    places: deque[tuple[int, int, int]] = field(default_factory=deque[tuple[int, int, int]])

    def forget(self, now_ns: int) -> None:
        while self.keys and now_ns - self.keys[0][2] > OWN_EVENT_NS:
            self.keys.popleft()
        while self.places and now_ns - self.places[0][2] > MOVE_WINDOW_NS:
            self.places.popleft()

    def take(self, kind: str, name: str) -> bool:
        for entry in self.keys:
            if entry[:2] == (kind, name):
                self.keys.remove(entry)
                return True
        return False


class Rules:
    """The state machine. After each call, ``journal`` and ``notices`` hold what is to be told to the engine."""

    def __init__(self, injector: Injector, stop_key: str = "f8") -> None:
        self._injector = injector
        self.stop_key = stop_key
        self.phase: Phase = "disarmed"
        self.reason = ""
        self.counts = Counts()
        self.journal: list[JournalEntry] = []
        self.notices: list[dict[str, Any]] = []
        self._armed: Armed | None = None
        self._down: dict[str, int | None] = {}  # name -> when a tap ends; None: held until an intent says otherwise
        self._last_sequence = 0
        self._last_intent_ns = 0
        self._next_focus_check_ns = 0
        self._focused_since_ns = 0
        self._own = _Own()
        self._pointer: tuple[int, int] | None = None
        self._moves: deque[tuple[int, float]] = deque()
        self.place: tuple[int, int] | None = None

    @property
    def held(self) -> tuple[str, ...]:
        return tuple(self._down)

    @property
    def armed(self) -> Armed | None:
        return self._armed

    def arm(self, message: dict[str, Any], now_ns: int) -> None:
        """Raises Refused; then nothing has changed but that what was armed before is disarmed."""
        self.disarm("", now_ns)
        armed = _read_armed(message)
        unknown = sorted(name for name in armed.names if not self._injector.knows(name))
        if unknown:
            raise Refused(f"this keyboard has no key named {', '.join(unknown)}; correct the profile's keys")
        state = self._injector.focus(armed.window_id)
        if state == "closed":
            raise Refused(f"the window {armed.title!r} is closed; choose another")
        if state == "elevated":
            raise Refused(f"the window {armed.title!r} cannot be driven: {ELEVATED}")
        self._armed, self.counts, self._last_sequence = armed, Counts(), 0
        self.place = None
        self._moves.clear()
        self._set("armed" if state == "sent" else "paused", "" if state == "sent" else _REASONS[state])
        self._focused_since_ns = now_ns
        self._next_focus_check_ns = now_ns + FOCUS_CHECK_NS

    def resume(self, now_ns: int) -> None:
        """After a yield only; what was armed stays armed."""
        if self._armed is None or self.phase != "yielded":
            raise Refused(f"there is nothing to resume: {self.phase}; arm first")
        state = self._injector.focus(self._armed.window_id)
        self._moves.clear()
        self._focused_since_ns = now_ns
        self._set("armed" if state == "sent" else "paused", "" if state == "sent" else _REASONS[state])

    def disarm(self, reason: str, now_ns: int) -> None:
        self.release_all(now_ns)
        self._armed = None
        self._set("disarmed", reason)

    def stop(self, reason: str, now_ns: int) -> None:
        """The emergency stop. Arming again is explicit."""
        self.release_all(now_ns)
        if self._armed is not None:
            self._armed = None
            self._set("stopped", reason)

    def release_all(self, now_ns: int) -> None:
        self._release(list(self._down), self._last_sequence, now_ns)

    def intent(self, message: dict[str, Any], now_ns: int) -> None:
        armed = self._armed
        if armed is None or self.phase not in ("armed", "paused"):
            self.counts.ignored += 1
            return
        try:
            sequence, expiry_ns, point, onsets, held = _read_intent(message, armed.names)
            if sequence <= self._last_sequence:
                raise Refused(f"intent {sequence} comes after {self._last_sequence}")
        except Refused as problem:
            self._refuse(str(problem))
            return
        self._last_sequence = sequence
        if now_ns > expiry_ns:
            self.counts.expired += 1
            return
        releases = [n for n, until in self._down.items() if n in onsets or (until is None and n not in held)]
        presses = [*onsets, *sorted(n for n in held if n not in onsets and n not in self._down)]
        done = self._injector.inject(armed.window_id, releases, point, presses, armed.margin_px, armed.dry_run)
        if done.result != "sent":
            # Letting go never waits for the focus.
            self._release(releases, sequence, now_ns)
            if done.result in ("covered", "off_screen"):
                self._refuse(_REASONS[done.result])
            else:
                self._lose_focus(done.result, now_ns)
            return
        if self.phase == "paused":
            self._regain_focus(now_ns)
        self.counts.sent += 1
        self.reason = ""
        self._last_intent_ns = now_ns
        self._note(sequence, armed, releases, presses, done, now_ns)
        for name in releases:
            self._down.pop(name, None)
        for name in presses:
            self._down[name] = None if name in held else now_ns + armed.hold_ns
        for name in held:
            self._down[name] = None

    def on_input(self, event: RawInput, now_ns: int) -> None:
        """Every input event of the machine, own ones too."""
        # By the event's own stamp: a process that had to wait must not forget what it sent just before.
        self._own.forget(min(now_ns, event.time_ns))
        if event.kind == "press" and event.name == self.stop_key:
            self.notices.append({"ev": "stop_key", "time_ns": event.time_ns})
            self.stop(f"the stop key {self.stop_key.upper()} was pressed", now_ns)
            return
        if event.kind == "move":
            self._on_move(event, now_ns)
            return
        if event.injected and self._own.take(event.kind, event.name):
            return
        if self.phase != "armed" or event.kind == "release" or event.name in CONTROL_HOTKEYS:
            return
        what = {"press": "a button" if event.name.startswith("mouse_") else "a key", "scroll": "the wheel"}[event.kind]
        self._yield(f"a person used {what} ({event.device or 'unknown device'})", now_ns)

    def poll(self, now_ns: int) -> int | None:
        """Does what is due; returns when something is due next, None when nothing is."""
        armed = self._armed
        self._release([name for name, until in self._down.items() if until is not None and until <= now_ns], self._last_sequence, now_ns)
        if self._down and now_ns - self._last_intent_ns >= HEARTBEAT_NS:
            self.counts.lapses += 1
            self.release_all(now_ns)
        if armed is not None and self.phase in ("armed", "paused") and now_ns >= self._next_focus_check_ns:
            self._next_focus_check_ns = now_ns + FOCUS_CHECK_NS
            self._check_focus(armed, now_ns)
        due = [until for until in self._down.values() if until is not None]
        if self._down:
            due.append(self._last_intent_ns + HEARTBEAT_NS)
        if self.phase in ("armed", "paused"):
            due.append(self._next_focus_check_ns)
        return min(due, default=None)

    def _check_focus(self, armed: Armed, now_ns: int) -> None:
        state = self._injector.focus(armed.window_id)
        if state == "closed":
            self.disarm(f"the window {armed.title!r} is closed", now_ns)
        elif state != "sent" and self.phase == "armed":
            self._lose_focus(state, now_ns)
        elif state == "sent" and self.phase == "paused":
            self._regain_focus(now_ns)

    def _regain_focus(self, now_ns: int) -> None:
        self._moves.clear()
        self._focused_since_ns = now_ns
        self._set("armed", "")

    def _lose_focus(self, state: GateResult, now_ns: int) -> None:
        self.release_all(now_ns)
        self.counts.focus_losses += self.phase == "armed"
        self._set("paused", _REASONS[state])

    def _on_move(self, event: RawInput, now_ns: int) -> None:
        if event.x is None or event.y is None:
            return
        here = (event.x, event.y)
        # A move told late may lie anywhere along the bot's own recent path.
        known = [(x, y) for x, y, _ in self._own.places] + ([self._pointer] if self._pointer is not None else [])
        distance = min((math.dist(here, place) for place in known), default=0.0)
        self._pointer = here
        if self.phase != "armed" or distance <= 1.5 or now_ns - self._focused_since_ns < SETTLE_NS:
            return
        self._moves.append((now_ns, distance))
        while now_ns - self._moves[0][0] > MOVE_WINDOW_NS:
            self._moves.popleft()
        if sum(d for _, d in self._moves) > DELIBERATE_MOVE_PX:
            self._yield(f"a person moved the mouse ({event.device or 'unknown device'})", now_ns)

    def _yield(self, reason: str, now_ns: int) -> None:
        self.release_all(now_ns)
        self._set("yielded", reason)

    def _refuse(self, reason: str) -> None:
        self.counts.refused += 1
        self.reason = f"refused: {reason}"

    def _release(self, names: Sequence[str], sequence: int, now_ns: int) -> None:
        names = [name for name in names if name in self._down]
        if not names:
            return
        dry = self._armed is not None and self._armed.dry_run
        if not dry:
            self._injector.release(names)
        for name in names:
            del self._down[name]
            self.journal.append(JournalEntry(sequence, "release", name, None, None, now_ns, now_ns, dry))
            if not dry:
                self._own.keys.append(("release", name, now_ns))

    def _note(self, sequence: int, armed: Armed, releases: Sequence[str], presses: Sequence[str], done: Injected, now_ns: int) -> None:
        times = (done.before_ns, done.after_ns, armed.dry_run)
        rows = [JournalEntry(sequence, "release", name, done.x, done.y, *times) for name in releases]
        if done.x is not None and done.y is not None:
            self.place = (done.x, done.y)
            rows.append(JournalEntry(sequence, "move", "", done.x, done.y, *times))
            if not armed.dry_run:
                self._pointer = self.place
                self._own.places.append((*self.place, now_ns))
        rows += [JournalEntry(sequence, "press", name, done.x, done.y, *times) for name in presses]
        self.journal += rows
        if not armed.dry_run:
            self._own.keys.extend((row.kind, row.name, now_ns) for row in rows if row.kind != "move")

    def _set(self, phase: Phase, reason: str) -> None:
        self.phase, self.reason = phase, reason


def _read_armed(message: dict[str, Any]) -> Armed:
    try:
        window_id, title = int(message["window"]), str(message["title"])
        names = frozenset(str(name) for name in message["keys"])
        margin_px, hold_ms = int(message["margin_px"]), int(message["hold_ms"])
    except (KeyError, TypeError, ValueError) as problem:
        raise Refused(f"arming needs window, title, keys, margin_px and hold_ms: {problem!r}") from problem
    taken = sorted(CONTROL_HOTKEYS & names)
    if taken:
        raise Refused(f"{', '.join(taken)} steer Secondseat and are never pressed; remove them from the profile's keys")
    if not 0 <= margin_px <= 200 or not 10 <= hold_ms <= 1000:
        raise Refused(f"margin_px {margin_px} must be 0 to 200 and hold_ms {hold_ms} 10 to 1000")
    return Armed(window_id, title, names | frozenset(MOUSE_BUTTONS), margin_px, hold_ms * 1_000_000, bool(message.get("dry_run")))


def _read_intent(
    message: dict[str, Any], allowed: frozenset[str]
) -> tuple[int, int, tuple[float, float] | None, tuple[str, ...], frozenset[str]]:
    try:
        sequence, expiry_ns = int(message["sequence"]), int(message["expiry_ns"])
        x, y = message["x"], message["y"]
        point = None if x is None and y is None else (float(message["x"]), float(message["y"]))
        onsets = tuple(dict.fromkeys(str(name) for name in message["onsets"]))
        held = frozenset(str(name) for name in message["held"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise Refused(f"an intent that cannot be read ({problem!r})") from problem
    if point is not None and not all(0.0 <= value <= 1.0 for value in point):  # NaN fails every comparison
        raise Refused(f"the place {point[0]:.3f}, {point[1]:.3f} is outside the window")
    foreign = sorted({*onsets, *held} - allowed)
    if foreign:
        raise Refused(f"{', '.join(foreign)} is not among the profile's keys")
    return sequence, expiry_ns, point, onsets, held
