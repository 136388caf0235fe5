"""The live path: capture, then ticks that drive perception on the newest frame, then whoever wants the observation.

What counts is the age of what was seen, so the tick itself runs the detector on the newest frame instead of
reading the result of a detector that runs by itself. Two threads: capture (owns the source) and tick.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from data.schema import Frame, InputEvent, Observation, Step
from data.vocabulary import ActorKind
from engine.runtime.mailbox import Newest
from engine.runtime.pacing import Pacer, Rate, Spread
from engine.runtime.service import ThreadService
from engine.sources.base import FrameSource
from engine.state import CaptureState, TickState
from engine.step_assembler import StepAssembler

log = logging.getLogger(__name__)

FrameSink = Callable[[Frame], object]
TICK_AFTER_CAPTURE_NS: Final = 4_000_000
"""Capture and tick keep step on one grid, the tick this much later: a picture taken for it has arrived by then. Left to
chance, the newest picture was 17 ms old on average when a tick began; in step it is 4 or 21 ms, 12 on average."""

StepSink = Callable[[Step], object]


class Perceives(Protocol):
    def perceive(self, frame: Frame, time_ns: int, cursor: tuple[float, float] | None, focus: bool) -> Observation: ...


class Pilots(Protocol):
    """Whoever acts on observations inside the tick (the bot)."""

    def on_observation(self, observation: Observation) -> tuple[str, int, int]:
        """Act; returns the intent: mode, target id, model version."""
        ...


class CaptureService(ThreadService):
    """Grabs at the asked rate; the newest frame stands in ``newest``, every frame goes to the sinks."""

    def __init__(self, source: FrameSource, fps: float, game: str, on_events: Callable[[InputEvent], None] | None = None) -> None:
        super().__init__("capture")
        self.source = source
        self.newest: Newest[Frame] = Newest()
        self.sinks: list[FrameSink] = []
        self.on_turn: Callable[[bool], None] | None = None
        """Told after each grab whether there was something to see."""
        self._fps, self._game = fps, game
        self._on_events = on_events
        self._rate, self._frames, self._missed = Rate(), 0, 0
        self.grab_ms = Spread()
        self.opened = threading.Event()
        self.grid_ns = time.monotonic_ns()
        """Where the grid of capture and tick begins."""

    def run(self) -> None:
        self.source.open()
        self.opened.set()
        pacer = Pacer(self._fps, self.grid_ns)
        drain = getattr(self.source, "events", None)
        try:
            while (turn := pacer.wait(self.stopping)) is not None:
                self._missed += turn.skipped
                began_ns = time.monotonic_ns()
                frame = self.source.grab()
                self.reason = self.source.state
                if drain is not None and self._on_events is not None:
                    for event in drain():
                        self._on_events(event)
                if self.on_turn is not None:
                    self.on_turn(frame is not None)
                if frame is None:
                    continue
                self._frames += 1
                self._rate.mark(frame.time_ns)
                self.grab_ms.add((time.monotonic_ns() - began_ns) / 1e6)
                self.newest.put(frame)
                for sink in self.sinks:
                    sink(frame)
        finally:
            self.opened.clear()
            self.source.close()

    def state(self, focus: bool) -> CaptureState:
        width, height = self.source.size
        return CaptureState(
            source=self.source.kind,
            game=self._game,
            detail=self.source.description,
            width_px=width,
            height_px=height,
            asked_fps=self._fps,
            fps=round(self._rate.hz(time.monotonic_ns()), 1),
            frames=self._frames,
            dropped=self._missed,
            focus=focus,
        )


class TickService(ThreadService):
    """20 turns a second: newest frame -> perception -> pilot -> step."""

    def __init__(
        self,
        capture: CaptureService,
        perceiver: Callable[[], Perceives],
        assembler: StepAssembler,
        hz: float,
        cursor: Callable[[], tuple[float, float] | None],
        focus: Callable[[], bool],
        flies: Callable[[], tuple[ActorKind, str]],
    ) -> None:
        super().__init__("tick")
        self._capture, self._make_perceiver, self._assembler, self._hz = capture, perceiver, assembler, hz
        self._cursor, self._focus, self._flies = cursor, focus, flies
        self.pilot: Pilots | None = None
        """Set and cleared by the control centre; read once a tick."""
        self.sinks: list[StepSink] = []
        self.observation: Newest[Observation] = Newest()
        self._rate, self._late, self._skipped, self._blind = Rate(), 0, 0, 0
        self.jitter_ms, self.age_ms = Spread(), Spread()
        self.stages_ms: dict[str, Spread] = {name: Spread() for name in ("perceive", "pilot", "sinks")}

    def run(self) -> None:
        self.reason = "loading the detector"
        perceiver = self._make_perceiver()
        _one_torch_thread()
        settle_garbage()
        pacer = Pacer(self._hz, self._capture.grid_ns + TICK_AFTER_CAPTURE_NS)
        while (turn := pacer.wait(self.stopping)) is not None:
            self._skipped += turn.skipped
            late_ms = turn.late_ns / 1e6
            self.jitter_ms.add(late_ms)
            self._late += late_ms > 1e3 / self._hz / 2
            frame, _ = self._capture.newest.peek()
            now_ns = time.monotonic_ns()
            if frame is None or now_ns - frame.time_ns > 1_000_000_000:
                self.reason = self._capture.reason or "no picture yet"
                self._blind += 1
                for step in self._assembler.gap():
                    for sink in self.sinks:
                        sink(step)
                continue
            self.reason = ""
            self._turn(perceiver, frame, now_ns)

    def _turn(self, perceiver: Perceives, frame: Frame, now_ns: int) -> None:
        observation = perceiver.perceive(frame, now_ns, self._cursor(), self._focus())
        seen_ns = time.monotonic_ns()
        actor, actor_name = self._flies()
        finished = self._assembler.tick(observation, actor, actor_name)
        pilot = self.pilot
        if pilot is not None:
            intent = pilot.on_observation(observation)
            if actor == "bot":  # what it would have done in a dry run is nobody's intent
                self._assembler.intent(*intent)
        acted_ns = time.monotonic_ns()
        self.observation.put(observation)
        for step in finished:
            for sink in self.sinks:
                sink(step)
        done_ns = time.monotonic_ns()
        self.age_ms.add((acted_ns - frame.time_ns) / 1e6)
        self._rate.mark(now_ns)
        for name, spent_ns in (("perceive", seen_ns - now_ns), ("pilot", acted_ns - seen_ns), ("sinks", done_ns - acted_ns)):
            self.stages_ms[name].add(spent_ns / 1e6)

    def state(self) -> TickState:
        stages = {"grab": round(self._capture.grab_ms.quantile(0.5), 2)}
        stages |= {name: round(spread.quantile(0.5), 2) for name, spread in self.stages_ms.items()}
        return TickState(
            asked_hz=self._hz,
            hz=round(self._rate.hz(time.monotonic_ns()), 2),
            late=self._late,
            skipped=self._skipped,
            age_p50_ms=round(self.age_ms.quantile(0.5), 1),
            age_p99_ms=round(self.age_ms.quantile(0.99), 1),
            stage_p50_ms=stages,
        )


def settle_garbage() -> None:
    """Collect once and leave what lives now out of later collections: a full one took 110-380 ms in mid-flight."""
    import gc

    gc.collect()
    gc.freeze()


def _one_torch_thread() -> None:
    """Torch keeps its thread count per thread: set it where it will run, if it is loaded at all."""
    import sys

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
