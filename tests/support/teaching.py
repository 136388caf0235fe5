"""A small game whose truth is known: squares that move over a still background, recorded as sessions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.boxes import Box
from data.metadata import Source
from data.profile import GameProfile, Gauge, ObjectClass
from data.schema import Frame, Image
from data.session import SessionWriter
from engine.teach import Picture, TeachProject

START_NS = 5_000_000_000
SIZE = (320, 192)
PROFILE = GameProfile(
    name="squares",
    window_title="Squares",
    picture_size=SIZE,
    detector_size=(160, 96),
    keys=("w",),
    classes=(ObjectClass(name="me", role="self"), ObjectClass(name="foe", role="enemy")),
    gauges=(Gauge(name="hp", region=(0.0, 0.0, 0.3, 0.06), colour=(60, 220, 60)),),
)
COLOURS = {"me": (70, 210, 240), "foe": (240, 80, 60)}
SIDES = {"me": 18, "foe": 24}


class Squares:
    """One "me" and three "foe" on their courses. ``boxes(t)`` is the truth at a time, ``picture(t)`` what is seen of it."""

    def __init__(self, seed: int = 0, foes: int = 3) -> None:
        dice = np.random.default_rng(seed)
        self.names = ["me", *["foe"] * foes]
        self.at = dice.uniform((40, 40), (SIZE[0] - 40, SIZE[1] - 40), (len(self.names), 2))
        self.speed = dice.uniform(20, 45, (len(self.names), 2)) * dice.choice([-1, 1], (len(self.names), 2))
        noise = np.random.default_rng(99).integers(0, 40, (SIZE[1] // 8, SIZE[0] // 8, 1))
        self.ground = np.kron(noise, np.ones((8, 8, 1))).repeat(3, 2).astype(np.uint8)

    def boxes(self, t: float) -> list[Box]:
        found: list[Box] = []
        for k, name in enumerate(self.names):
            half = SIDES[name] / 2
            low, high = np.array([half + 2, half + 14]), np.array(SIZE) - half - 2
            span = high - low
            folded = np.mod(self.at[k] + self.speed[k] * t - low, 2 * span)
            x, y = low + np.where(folded > span, 2 * span - folded, folded)
            left, top = round(x - half), round(y - half)
            right, bottom = left + SIDES[name], top + SIDES[name]
            found.append(Box(name, left / SIZE[0], top / SIZE[1], right / SIZE[0], bottom / SIZE[1]))
        return found

    def picture(self, t: float) -> Image:
        image = self.ground.copy()
        image[2:8, 4 : 10 + int(t * 3) % 80] = (60, 220, 60)  # the gauge
        for box in reversed(self.boxes(t)):
            rows = slice(round(box.top * SIZE[1]), round(box.bottom * SIZE[1]))
            image[rows, round(box.left * SIZE[0]) : round(box.right * SIZE[0])] = COLOURS[box.name]
        return image


def record(workspace: Path, squares: Squares, seconds: float = 20.0, fps: float = 10.0, profile: GameProfile = PROFILE) -> str:
    """A saved session without steps, as of a game that has no detector yet; its id."""
    writer = SessionWriter.create(workspace, "play", profile, Source(kind="screen", description="squares"), fps, SIZE, start_ns=START_NS)
    for number in range(round(seconds * fps)):
        writer.write_frame(Frame(number, START_NS + round(number * 1e9 / fps), squares.picture(number / fps)))
    writer.close("saved")
    return writer.id


def confirm_truth(project: TeachProject, truth: dict[str, Squares]) -> None:
    """What a person does, as the truth of the sessions has it."""
    for picture in project.pictures():
        project.save(picture.id, truth[picture.session].boxes(picture.time_s), "confirmed")


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    common = max(0.0, min(a.right, b.right) - max(a.left, b.left)) * max(0.0, min(a.bottom, b.bottom) - max(a.top, b.top))
    areas = [(box.right - box.left) * (box.bottom - box.top) for box in (a, b)]
    return common / (sum(areas) - common)


def recall(found: Sequence[Box], truth: Sequence[Box], least: float = 0.5) -> float:
    """The share of the true boxes that something found overlaps, whatever its class."""
    return sum(any(overlap(box, one) >= least for one in found) for box in truth) / max(1, len(truth))


def blank(id: str, state: str = "new", session: str = "", time_s: float = 0.0, boxes: tuple[Box, ...] = ()) -> Picture:
    return Picture(id, *SIZE, session=session, time_s=time_s, state=state, boxes=boxes)  # pyright: ignore[reportArgumentType]
