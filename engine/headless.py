"""The engine without the face: record, fly or just serve, until told to stop, a time is over, or the work is done.

``secondseat headless``, ``record`` and ``fly`` stand on this. It runs in the calling thread, which should be the main
one: signals are taken here.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from data.settings import Settings
from data.workspace import Workspace
from engine.commands import EngineError
from engine.control_center import ControlCenter
from engine.platforms.console import console_end
from engine.source_spec import SourceSpec
from engine.state import EngineState, Notice

COMMAND_TIMEOUT_S: Final = 180.0
TICKS_TIMEOUT_S: Final = 20.0
STOP_S: Final = 20.0
"""What ends without a person waiting in front of it takes its time, so that jobs can save."""
_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. ``policy`` (a name, a folder, or "" for the promoted one) makes the bot fly. Other processes reach the
    engine as ``name`` (or, unless ``exact_name``, as the next free one). ``linger``: it goes on, and can be told more,
    when the recording or the flight is over and when its terminal is closed. Without ``for_s`` it goes on until told to
    stop."""

    spec: SourceSpec | None = None
    record: bool = False
    policy: str | None = None
    dry_run: bool = False
    for_s: float | None = None
    name: str = ""
    exact_name: bool = True
    linger: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended: the last state, why, and what would not stop."""

    state: EngineState
    reason: str
    left_over: tuple[str, ...] = ()
    session: str = ""


def run_headless(
    settings: Settings,
    plan: Plan,
    say: Callable[[str], None],
    workspace: Workspace | None = None,
    debug: bool = False,
    every_s: float = 5.0,
    on_state: Callable[[EngineState], None] | None = None,
    ring: Callable[[], object] | None = None,
) -> Outcome:
    """Run the plan; ``say`` gets plain lines, and ``ring`` rings the terminal's bell where the settings ask for it.

    Raises EngineError when it could not begin.
    """
    center = ControlCenter(settings, workspace, debug)
    center.stop_deadline_s = STOP_S
    if plan.spec is not None:
        center.spec = plan.spec
    if plan.name:
        center.serve(plan.name, exact=plan.exact_name)
    told = threading.Event()
    signal_name = ""

    def on_signal(number: int, _frame: Any) -> None:
        nonlocal signal_name
        if plan.linger and number == getattr(signal, "SIGHUP", None):
            log.warning("the terminal was closed; the engine goes on")
            return
        if told.is_set():  # once more
            center.hurry()
        signal_name = signal.Signals(number).name
        told.set()

    before = {n: signal.signal(n, on_signal) for n in (getattr(signal, s, None) for s in _SIGNALS) if n is not None}
    console = contextlib.ExitStack()
    try:
        console.enter_context(console_end(told.set))
        center.start()
        try:
            up = center.wait_ready()
        except EngineError as error:
            raise EngineError(f"the engine did not start: {error}") from error
        if not up:
            raise EngineError("the engine did not start within 20 s; see logs/secondseat.log in the workspace")
        follow = _Follow(center, say, every_s, on_state, ring if settings.recorder.notice == "bell" else None)
        reason = _carry_out(center, plan, say, told, follow) or (f"{signal_name} was received" if signal_name else "")
        if doing := center.snapshot().doing():
            say(f"ending: {reason or center.stop_reason}; saving {', '.join(doing)}")
        center.request_stop(reason or center.stop_reason or "left")
        left_over = center.stop()
        follow.turn(force=True)
        state = center.snapshot()
        return Outcome(state, reason or center.stop_reason, tuple(left_over), state.recorder.last_session)
    finally:
        center.stop()
        for number, handler in before.items():
            signal.signal(number, handler)
        console.close()


def _carry_out(center: ControlCenter, plan: Plan, say: Callable[[str], None], told: threading.Event, follow: _Follow) -> str:
    """Begin what the plan says and wait for its end; why it ended."""
    if plan.spec is not None or plan.record or plan.policy is not None:
        say(_do(center, "source", told))
        _wait_for_ticks(center, told)
    if plan.policy is not None:
        say(_do(center, "arm", told, policy=plan.policy, dry_run=plan.dry_run))
        say(_do(center, "fly", told))
    if plan.record:
        _do(center, "record_toggle", told)
        if center.recorder.state().phase not in ("recording", "paused"):
            raise EngineError(center.recorder.state().note or "the recording did not begin")
    began_s = time.monotonic()
    while not told.wait(0.1) and not center.wait_ended(0.0):
        follow.turn()
        if plan.for_s is not None and time.monotonic() - began_s >= plan.for_s:
            return "the time asked for is over"
        state = center.snapshot()
        settled = time.monotonic() - began_s > 1.0  # the snapshot is a little older than what was just asked for
        if plan.linger:
            if failed := next((s for s in state.services if s.name == "remote" and s.health == "failed"), None):
                raise EngineError(f"nobody could reach it any more: {failed.reason}")
            continue
        if plan.policy is not None and state.bot.phase in ("stopped", "disarmed", "yielded") and settled:
            return f"the bot {state.bot.phase}{f': {state.bot.reason}' if state.bot.reason else ''}"
        if plan.record and plan.policy is None and state.recorder.phase == "idle" and settled:
            return state.recorder.note or "the recording was ended by a key"
        if failed := next((s for s in state.services if s.health == "failed" and s.name in ("capture", "tick")), None):
            raise EngineError(f"{failed.name}: {failed.reason}")
    return ""


def _wait_for_ticks(center: ControlCenter, told: threading.Event) -> None:
    """The first seconds go to loading the detector: without it a recording would begin with no steps."""
    until_s = time.monotonic() + TICKS_TIMEOUT_S
    while not told.wait(0.05) and time.monotonic() < until_s:
        state = center.snapshot()
        tick = next((s for s in state.services if s.name == "tick"), None)
        if state.tick.hz > 0 or tick is None or tick.health in ("failed", "off"):
            return


def _do(center: ControlCenter, name: str, told: threading.Event, **params: Any) -> str:
    """A command, given up when a signal comes meanwhile."""
    future = center.command(name, **params)
    until_s = time.monotonic() + COMMAND_TIMEOUT_S
    while not future.done():
        if told.wait(0.02):
            raise KeyboardInterrupt
        if time.monotonic() > until_s:
            raise EngineError(f"{name} took longer than {COMMAND_TIMEOUT_S:g} s")
    return future.result()


class _Follow:
    """Tells new notices at once and a line of state now and then; rings with each alert."""

    def __init__(
        self,
        center: ControlCenter,
        say: Callable[[str], None],
        every_s: float,
        on_state: Callable[[EngineState], None] | None,
        ring: Callable[[], object] | None,
    ) -> None:
        self._center, self._say, self._every_s, self._on_state, self._ring = center, say, every_s, on_state, ring
        self._alert = 0
        self._seen: Notice | None = None
        self._next_s = time.monotonic() + every_s

    def turn(self, force: bool = False) -> None:
        state = self._center.snapshot()
        if self._on_state is not None:
            self._on_state(state)
        if self._ring is not None and state.alert.number > self._alert:
            self._ring()
        self._alert = state.alert.number
        notices = state.notices
        start = notices.index(self._seen) + 1 if self._seen in notices else 0
        for notice in notices[start:]:
            if notice.source != "engine" or notice.level != "info":
                self._say(f"{notice.level.upper() + ': ' if notice.level in ('warning', 'error') else ''}{notice.text}")
        self._seen = notices[-1] if notices else self._seen
        if not force and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + self._every_s
            self._say(state_line(state))


def state_line(state: EngineState) -> str:
    """One line of the newest state, for logs and plain terminals."""
    parts = [f"{state.capture.detail or state.capture.source}: {state.capture.fps:.1f} fps"]
    if state.tick.hz:
        parts.append(f"tick {state.tick.hz:.1f} Hz, age {state.tick.age_p50_ms:.0f}/{state.tick.age_p99_ms:.0f} ms")
    r = state.recorder
    if r.phase != "idle":
        parts.append(
            f"{r.phase} {r.duration_s:.0f} s, {r.frames} frames, {r.events} events, {r.size_bytes / 1e6:.1f} MB, dropped {r.dropped_frames}"
        )
    b = state.bot
    if b.phase != "disarmed":
        where = f", would go to {b.place[0]}, {b.place[1]} px" if b.dry_run and b.place is not None else ""
        parts.append(f"bot {b.phase}{f' ({b.reason})' if b.reason else ''}: {b.mode or '-'}, {b.actions} actions{where}")
    if state.arena.running:
        parts.append(f"score {state.arena.score:.1f}")
    return "; ".join(parts)
