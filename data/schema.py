"""What flows through the live path: frames, tracks, status, observations, actions and input events.

Everything here is plain data with numpy arrays; the columnar, on-disk forms are in ``data.steps``.

Conventions: times are ``time.monotonic_ns()`` values (or a simulated clock with the same unit); positions are
0..1 of the game picture, x to the right and y down; pictures are uint8 RGB ``[height, width, 3]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.geometry import Rect
from data.vocabulary import ActorKind, Click, Mode

NO_TARGET: Final = -1
"""The target id that means "no target"."""

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Frame:
    """One captured picture. ``number`` counts captures of one source from 0; ``image`` is RGB uint8 [H, W, 3]."""

    number: int
    time_ns: int
    image: Image
    window: Rect | None = None


@dataclass(frozen=True, slots=True)
class Tracks:
    """The objects followed at one tick, as columns of equal length N.

    ids: int32 [N], stable over ticks, never reused within a session. classes: int32 [N], index into the
    profile's ``classes``. boxes: float32 [N, 4] centre x, centre y, width, height in 0..1. confidences:
    float32 [N] 0..1. velocities: float32 [N, 2] per second, in 0..1 units of the picture, from the tracker's
    filter. ages_s: float32 [N] since first seen. unseen_s: float32 [N] since last matched by a detection.
    """

    ids: I32
    classes: I32
    boxes: F32
    confidences: F32
    velocities: F32
    ages_s: F32
    unseen_s: F32

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def empty() -> Tracks:
        return Tracks(
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros((0, 4), np.float32),
            np.zeros(0, np.float32),
            np.zeros((0, 2), np.float32),
            np.zeros(0, np.float32),
            np.zeros(0, np.float32),
        )


@dataclass(frozen=True, slots=True)
class Status:
    """What is read off the picture's own gauges and icons, by the names of the profile. A missing name, or None,
    means "could not be read". levels and cooldowns are 0..1 (a cooldown of 0 is ready); choices are 1-based."""

    levels: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    flags: Mapping[str, bool | None] = field(default_factory=dict[str, "bool | None"])
    choices: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    cooldowns: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])


@dataclass(frozen=True, slots=True)
class Observation:
    """What a policy may see at one tick. ``cursor`` is None when it is unknown. ``frame_time_ns`` is when the
    picture was taken, ``time_ns`` when the tick began: their difference is the age of what was seen."""

    time_ns: int
    frame_time_ns: int
    frame_number: int
    status: Status
    tracks: Tracks
    cursor: tuple[float, float] | None
    focus: bool = True

    @property
    def age_s(self) -> float:
        return (self.time_ns - self.frame_time_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Action:
    """What is done in one tick: the cursor ends at (x, y); ``onsets`` are the keys and buttons newly pressed in
    this tick, in order; ``held`` are those down at its end. Buttons are named ``mouse_left`` and so on."""

    x: float
    y: float
    onsets: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()

    @property
    def click(self) -> Click:
        if "mouse_left" in self.onsets:
            return "left"
        return "right" if "mouse_right" in self.onsets else "none"

    @property
    def hotkey(self) -> str | None:
        """The first key (not a button) newly pressed in this tick."""
        return next((name for name in self.onsets if not name.startswith("mouse_")), None)


EventKind = Literal["move", "press", "release", "scroll"]


@dataclass(frozen=True, slots=True)
class InputEvent:
    """One input event. ``name`` is a key or button (empty for moves and scrolls). ``x``, ``y`` are the cursor in
    0..1 of the picture (None when unknown). ``dx``, ``dy`` are scroll steps; of a move, the device's own relative
    motion (0 where the platform tells none). ``device`` is the source device as the platform names it. ``note`` marks
    special cases: ``held_at_start``, ``forced_release``."""

    time_ns: int
    kind: EventKind
    name: str = ""
    x: float | None = None
    y: float | None = None
    dx: int = 0
    dy: int = 0
    actor: ActorKind = "human"
    actor_name: str = ""
    device: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a session: what was seen at a tick and what was done in it.

    ``mode`` and ``target_id`` are the acting pilot's own intent where it is known (scripted demonstrators and
    the bot); empty and -1 otherwise. ``model_version`` is 0 unless the bot acted.
    """

    observation: Observation
    action: Action
    actor: ActorKind = "human"
    actor_name: str = ""
    model_version: int = 0
    mode: Mode | Literal[""] = ""
    target_id: int = NO_TARGET
