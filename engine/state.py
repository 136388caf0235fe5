"""One snapshot of everything the engine does, replaced whole and never changed in place.

The face, the headless server and ``secondseat status --json`` read it; nobody writes it but the control centre.
It holds plain values only, so that it can be sent as JSON.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.restore import restored

ServiceHealth = Literal["off", "starting", "running", "waiting", "failed", "stopping"]
RecorderPhase = Literal["idle", "recording", "paused", "unsaved", "saving"]
BotPhase = Literal["disarmed", "armed", "flying", "paused", "yielded", "stopped"]
AlertKind = Literal["", "start", "stop", "save", "discard", "pause", "resume", "failure", "arm", "disarm"]
JobPhase = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class ServiceState:
    """One service: its health and why it is not doing its work (empty when it is)."""

    name: str
    health: ServiceHealth = "off"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CaptureState:
    source: str = "none"  # "arena", "screen", "video", "none"
    game: str = ""
    detail: str = ""  # e.g. "skirmish 640x360", the window's title
    width_px: int = 0
    height_px: int = 0
    asked_fps: float = 0.0
    fps: float = 0.0
    frames: int = 0
    dropped: int = 0
    focus: bool = False
    notice: str = ""  # pictures come, but show nothing ("all black for 3 s")


@dataclass(frozen=True, slots=True)
class TickState:
    """The live path's timing over the last 10 s, by stage, in ms."""

    asked_hz: float = 20.0
    hz: float = 0.0
    late: int = 0
    skipped: int = 0
    age_p50_ms: float = 0.0
    age_p99_ms: float = 0.0
    stage_p50_ms: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class RecorderState:
    phase: RecorderPhase = "idle"
    session: str = ""
    duration_s: float = 0.0
    frames: int = 0
    events: int = 0
    steps: int = 0
    size_bytes: int = 0
    disk_free_bytes: int = 0
    dropped_frames: int = 0
    note: str = ""
    last_session: str = ""
    prebuffer_s: float = 0.0  # how far back F5 may begin; 0: off
    buffered_s: float = 0.0  # what of it stands in memory now
    disk_left_s: float | None = None  # how long a recording may last at the newest rate; None: no rate known yet


@dataclass(frozen=True, slots=True)
class Alert:
    """What a person in a full-screen game should notice. ``number`` grows by one with each."""

    number: int = 0
    kind: AlertKind = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class BotState:
    phase: BotPhase = "disarmed"
    policy: str = ""
    window: str = ""
    dry_run: bool = False
    mode: str = ""
    target: str = ""
    actions: int = 0
    refused: int = 0
    expired: int = 0
    focus_losses: int = 0
    model_version: int = 0
    reason: str = ""
    place: tuple[int, int] | None = None  # where the cursor was sent last (in a dry run: would have been), screen px
    hint: str = ""  # what to think of a flight that shows no effect


@dataclass(frozen=True, slots=True)
class JobState:
    """A long job (training, perceiving, evaluating) run as a child process."""

    id: str
    kind: str  # "train", "evaluate", "perceive", "detector", "teach", "imitate", "refine", "league"
    title: str
    phase: JobPhase = "queued"
    stage: str = ""  # e.g. "epoch 31/80"
    done: float = 0.0  # 0..1
    eta_s: float | None = None
    message: str = ""
    run_dir: str = ""  # where its metrics.jsonl is


@dataclass(frozen=True, slots=True)
class Notice:
    time_s: float  # wall clock
    level: Literal["debug", "info", "warning", "error"]
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class ArenaState:
    running: bool = False
    score: float = 0.0
    kills: int = 0
    deaths: int = 0
    loot: int = 0
    episode: int = 0
    pilot: str = ""


@dataclass(frozen=True, slots=True)
class SystemState:
    cpu_percent: float = 0.0
    memory_mb: float = 0.0
    loop_lag_p99_ms: float = 0.0
    hotkeys: str = "off"  # the backend that hears them, "off: why", or "dead: why"
    last_hotkey: str = ""  # the newest one that counted: "F5 20:31:07 (x11)"
    actuator: str = "off"
    display: str = ""


@dataclass(frozen=True, slots=True)
class EngineState:
    """Everything at one moment. ``sequence`` grows with each snapshot."""

    sequence: int = 0
    time_s: float = 0.0
    started_s: float = 0.0
    pid: int = 0
    version: str = ""
    name: str = ""  # where it can be reached; empty when it cannot
    viewers: int = 0  # faces attached to it
    ending: str = ""  # why it ends; empty while it goes on
    workspace: str = ""
    capture: CaptureState = CaptureState()
    tick: TickState = TickState()
    recorder: RecorderState = RecorderState()
    alert: Alert = Alert()  # the newest
    bot: BotState = BotState()
    arena: ArenaState = ArenaState()
    system: SystemState = SystemState()
    services: tuple[ServiceState, ...] = ()
    jobs: tuple[JobState, ...] = ()
    notices: tuple[Notice, ...] = ()  # the newest 200
    notice_count: int = 0  # all since the start
    checks: tuple[tuple[str, str, str], ...] = ()  # doctor's lines: name, state ("ok", "warn", "missing"), text
    sessions: int = 0  # saved sessions in the workspace
    policies: int = 0  # whole policies in it

    def doing(self) -> list[str]:
        """What runs that leaving would end or leave behind, for a person."""
        doing: list[str] = []
        if self.recorder.phase != "idle":
            doing.append(f"recording ({self.recorder.phase})")
        if self.bot.phase in ("armed", "flying", "paused"):
            doing.append(f"bot ({self.bot.phase})")
        doing.extend(f"{job.title} ({job.done:.0%})" for job in self.jobs if job.phase == "running")
        doing.extend(f"{job.title} (waits for its turn)" for job in self.jobs if job.phase == "queued")
        return doing

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: object) -> EngineState:
        """A snapshot that another process sent. Raises ValueError, which names what is wrong where."""
        return restored(cls, value)


@dataclass(frozen=True, slots=True)
class Box:
    """One tracked object: its centre and size in 0..1 of the picture."""

    x: float
    y: float
    width: float
    height: float
    name: str
    """Its class in the profile."""
    confidence: float
    track: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The newest picture, scaled down for a face. ``rgb`` holds uint8 [height_px, width_px, 3]."""

    number: int
    time_ns: int  # the engine's monotonic clock
    width_px: int
    height_px: int
    source_width_px: int
    source_height_px: int
    rgb: bytes
    boxes: tuple[Box, ...] = ()
    cursor: tuple[float, float] | None = None
