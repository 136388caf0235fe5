"""A stand-in for the engine: it answers commands by changing a snapshot."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.duties import Duties
from engine.source_spec import SourceSpec
from engine.state import (
    ArenaState,
    BotState,
    CaptureState,
    EngineState,
    JobState,
    Notice,
    Picture,
    RecorderState,
    ServiceState,
    SystemState,
    TickState,
)

WHEN_S = 1_700_000_000.0
CHECKS = (
    ("display", "ok", "X11 :99, 1280x720"),
    ("capture", "ok", "mss"),
    ("hotkeys", "ok", "x11"),
    ("detector", "ok", "builtin:arena"),
    ("GPU", "warn", "none: the CPU is used"),
    ("disk", "ok", "118 GB free"),
)
RECORDING = RecorderState("recording", "20261127-203107_play_arena", 761, 22860, 3120, 15200, 412_000_000, 118_000_000_000)


def full_state(workspace: str = "") -> EngineState:
    """An engine in the midst of everything."""
    return EngineState(
        sequence=7,
        time_s=WHEN_S,
        started_s=WHEN_S - 1000,
        workspace=workspace,
        capture=CaptureState("arena", "arena", "skirmish 640x360", 640, 360, 30, 29.8, 22860, 23, True),
        tick=TickState(20, 19.9, 3, 1, 38, 61, {"detect": 10.8, "track": 0.6, "policy": 3.1}),
        recorder=RecorderState(
            "recording", "20261127-203107_play_arena", 761, 22860, 3120, 15200, 412_000_000, 118_000_000_000, disk_left_s=218_000
        ),
        bot=BotState("flying", "quick-1", "Secondseat Arena", False, "FIGHT", "raider 12", 3121, 2, 0, 1, 3),
        arena=ArenaState(True, 12.5, 9, 2, 4, 3, "expert"),
        system=SystemState(22, 2100, 1.2, "x11", "F5 20:31:07 (x11)", actuator="ready", display=":99"),
        services=(
            ServiceState("capture", "running"),
            ServiceState("listener", "waiting", "window not in focus"),
            ServiceState("perception", "running"),
        ),
        jobs=(
            JobState("j1", "train", "train strategist", "done", "epoch 20/20", 1.0, None, ""),
            JobState("j2", "train", "train executor", "running", "epoch 31/80", 0.38, 135.0, "val 0.455"),
        ),
        notices=(
            Notice(WHEN_S, "info", "recorder", "recording 20261127-203107_play_arena"),
            Notice(WHEN_S + 1, "warning", "capture", "3 frames dropped in the last 10 s"),
            Notice(WHEN_S + 2, "error", "train", "strategist: epoch 3: no session has a label; record with a pilot first"),
        ),
        checks=CHECKS,
        sessions=4,
        policies=1,
    )


def idle_state(workspace: str = "") -> EngineState:
    return EngineState(
        sequence=1,
        time_s=WHEN_S,
        workspace=workspace,
        checks=CHECKS,
        policies=1,
        system=SystemState(3, 300, 0.4, "x11", actuator="off", display=":99"),
    )


class FakeCenter:
    """Records commands; record_toggle and the like change the state as the engine would."""

    link = ""

    def __init__(self, state: EngineState | None = None, *, slow_start_s: float = 0.0, stop_s: float = 0.0, attached: bool = False) -> None:
        self.attached = attached
        self.state = state or idle_state()
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.stopped = 0
        self.errors: dict[str, Exception] = {}
        self._slow_start_s = slow_start_s
        self._stop_s = stop_s
        self.saved_to: Path | None = None
        self.kept_jobs = False
        self.shown: Picture | None = None
        """What ``picture`` gives, whatever size is asked for."""

    def start(self) -> None:
        time.sleep(self._slow_start_s)

    def wait_ready(self, timeout_s: float = 20.0) -> bool:
        return True

    def snapshot(self) -> EngineState:
        return self.state

    def picture(self, max_width_px: int, max_height_px: int) -> Picture | None:
        return self.shown

    def busy(self) -> list[str]:
        busy = [f"recording ({self.state.recorder.phase})"] if self.state.recorder.phase != "idle" else []
        return busy + [job.title for job in self.state.jobs if job.phase == "running"]

    def command(self, name: str, **params: Any) -> Future[str]:
        if name == "key":  # the engine knows what its keys mean, remapped ones too
            meaning = {"f5": "record_toggle", "f9": "record_toggle", "f6": "record_save", "f7": "record_discard"}
            name, params = meaning.get(params["pressed"], "stop_all"), {}
        self.commands.append((name, params))
        future: Future[str] = Future()
        if name in self.errors:
            future.set_exception(self.errors[name])
            return future
        if name == "record_toggle":
            recording = self.state.recorder.phase == "recording"
            self.state = replace(self.state, recorder=replace(self.state.recorder, phase="unsaved" if recording else "recording"))
        elif name in ("record_save", "record_discard"):
            self.state = replace(self.state, recorder=replace(self.state.recorder, phase="idle"))
        elif name == "source":
            self.state = replace(
                self.state, capture=replace(self.state.capture, source=params["kind"], detail=params.get("window") or "skirmish")
            )
        future.set_result(f"{name} done")
        return future

    def duties(self) -> Duties:
        return Duties(SourceSpec(pilot="expert"), self.state.recorder.phase in ("recording", "paused"))

    def stop_engine(self) -> Future[str]:
        self.commands.append(("stop the engine", {}))
        done: Future[str] = Future()
        done.set_result("stopping")
        return done

    def stop(self, deadline_s: float = 5.0, *, keep_jobs: bool = False) -> list[str]:
        self.kept_jobs = keep_jobs
        time.sleep(self._stop_s)
        self.stopped += 1
        if self.saved_to is not None:
            self.saved_to.write_text(f"stopped, bot {self.state.bot.phase}, recorder {self.state.recorder.phase}", encoding="utf-8")
        return []
