"""Small sessions for the tests: pictures that tell their number, steps and events that tell theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data.metadata import Source
from data.profile import ARENA_PROFILE, GameProfile
from data.schema import Action, Frame, Image, InputEvent, Observation, Status, Step, Tracks
from data.session import SessionWriter
from data.steps import Steps

START_NS = 5_000_000_000
FRAME_NS = 33_000_000


def picture(number: int, width: int = 64, height: int = 48) -> Image:
    """A grey picture with ``number`` (0 to 127) in its left column as seven blocks, black or white."""
    image = np.full((height, width, 3), 90, np.uint8)
    for bit in range(7):
        image[bit * height // 7 : (bit + 1) * height // 7, : width // 2] = 255 if number >> bit & 1 else 0
    return image


def number_of(image: Image) -> int:
    height, width = image.shape[:2]
    rows = [(2 * bit + 1) * height // 14 for bit in range(7)]
    return sum(1 << bit for bit, row in enumerate(rows) if image[row, width // 4, 1] > 127)


def frame(number: int, width: int = 64, height: int = 48) -> Frame:
    return Frame(number, START_NS + number * FRAME_NS, picture(number, width, height))


def step(number: int, *, time_ns: int | None = None) -> Step:
    """Step ``number`` saw the picture of that number 5 ms after it was taken; it has ``number % 3`` tracks."""
    n = number % 3
    tracks = Tracks(
        np.arange(n, dtype=np.int32) + number,
        np.ones(n, np.int32),
        np.full((n, 4), 0.25, np.float32),
        np.full(n, 0.5, np.float32),
        np.full((n, 2), -0.125, np.float32),
        np.full(n, 1.5, np.float32),
        np.zeros(n, np.float32),
    )
    seen_ns = START_NS + number * FRAME_NS
    status = Status({"hp": 0.5, "shield": None}, {"locked": True}, {"ammo": 2}, {"boost": 0.25})
    onsets = ("mouse_left", "space") if number % 4 == 0 else ()
    return Step(
        Observation(
            seen_ns + 5_000_000 if time_ns is None else time_ns, seen_ns, number, status, tracks, (0.25, 0.75) if number % 2 else None
        ),
        Action(0.5, 0.125, onsets, frozenset({"q"}) if number % 5 == 0 else frozenset()),
        actor="demonstrator",
        actor_name="expert",
        mode="FIGHT" if number % 2 else "",
        target_id=number if n else -1,
    )


def event(number: int) -> InputEvent:
    return InputEvent(START_NS + number * FRAME_NS, "press" if number % 2 == 0 else "release", "space", 0.1, None, device="keyboard")


def new_writer(workspace: Path, *, size: tuple[int, int] = (64, 48)) -> SessionWriter:
    return SessionWriter.create(
        workspace, "play", ARENA_PROFILE, Source(kind="arena", description="skirmish"), 30.0, size, start_ns=START_NS
    )


def write_session(workspace: Path, frames: int = 60, *, state: str = "saved", flush_every: int = 30) -> Path:
    """A whole session of ``frames`` pictures, each with a step and an event."""
    writer = new_writer(workspace)
    for number in range(frames):
        writer.write_frame(frame(number))
        writer.write_event(event(number))
        writer.write_step(step(number))
        if number % flush_every == flush_every - 1:
            writer.flush()
    writer.close(state)
    return writer.folder


def write_play(workspace: Path, steps: Steps, profile: GameProfile = ARENA_PROFILE) -> str:
    """A saved session of such steps of a demonstrator, each with a picture; its id."""
    source = Source(kind="screen", description="made up")
    writer = SessionWriter.create(workspace, "play", profile, source, 20.0, (64, 48), start_ns=int(steps.time_ns[0]))
    for row in range(len(steps)):
        seen = steps.observation(row)
        x, y = (float(v) for v in steps.action_xy[row])
        writer.write_frame(Frame(seen.frame_number, seen.frame_time_ns, picture(row % 128)))
        writer.write_step(Step(seen, Action(x, y, steps.onsets(row), frozenset()), "demonstrator", "rule"))
    writer.close("saved")
    return writer.id
