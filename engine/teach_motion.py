"""Boxes round what moves, for a game whose camera stands still: the difference to the background.

The background is the median of pictures from a few seconds before and after. What stood still all that time belongs to it
and is not found; where most of the picture differs the camera moves, and nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.boxes import Box, clipped
from data.profile import GameProfile, Region
from data.schema import Image
from data.session import Session

AROUND_S: Final = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
LEAST_PICTURES: Final = 3
LARGEST_SHARE: Final = 0.35
"""More of the picture than this does not move by itself."""
LEAST_DIFFERENCE: Final = 24.0
LEAST_SIDE_PX: Final = 3
MOST: Final = 60
_WIDTH_PX: Final = 640
"""Larger pictures are compared at this width."""


@dataclass(frozen=True, slots=True)
class Motion:
    """``boxes`` have no class. ``moves``: the whole picture did, so that nothing can be said."""

    boxes: tuple[Box, ...]
    moves: bool = False


def moving_boxes(image: Image, others: Sequence[Image], still: Sequence[Region] = ()) -> Motion:
    """What moves in a picture against others of the same place (RGB, equal sizes). ``still``: regions to pass over (gauges)."""
    import cv2

    if len(others) < LEAST_PICTURES:
        return Motion(())
    now = _small(image)
    stack = np.stack([_small(other) for other in others])
    background = np.median(stack, axis=0)
    restless = np.median(np.abs(stack - background).max(-1), axis=0)
    moved = np.abs(now - background).max(-1) > LEAST_DIFFERENCE + 3.0 * restless
    height, width = moved.shape
    for left, top, right, bottom in still:
        moved[int(top * height) : int(np.ceil(bottom * height)), int(left * width) : int(np.ceil(right * width))] = False
    if moved.mean() > LARGEST_SHARE or (restless > LEAST_DIFFERENCE / 3).mean() > LARGEST_SHARE:
        return Motion((), moves=True)
    closed: Any = cv2.morphologyEx(moved.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    parts = cast("Any", cv2).connectedComponentsWithStats(closed, connectivity=8)
    table = cast("NDArray[np.int32]", parts[2])[1:]
    table = table[(table[:, 2] >= LEAST_SIDE_PX) & (table[:, 3] >= LEAST_SIDE_PX)]
    edges = _merged([(x, y, x + w, y + h) for x, y, w, h in table[:, :4].tolist()])
    edges.sort(key=lambda e: (e[2] - e[0]) * (e[3] - e[1]), reverse=True)
    found = [clipped("", (a / width, b / height, c / width, d / height), "motion") for a, b, c, d in edges[:MOST]]
    return Motion(tuple(box for box in found if box is not None))


def _small(image: Image) -> NDArray[np.float32]:
    import cv2

    height, width = image.shape[:2]
    if width > _WIDTH_PX:
        image = cast(Image, cv2.resize(image, (_WIDTH_PX, max(1, round(height * _WIDTH_PX / width))), interpolation=cv2.INTER_AREA))
    return image.astype(np.float32)


def _merged(boxes: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Parts of one thing are one: a box of which half or more lies in another one."""
    merged = True
    while merged:
        merged = False
        for i in range(len(boxes)):
            for j in range(i + 1, len(boxes)):
                a, b = boxes[i], boxes[j]
                common = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
                if common >= 0.5 * min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])):
                    boxes[i] = (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
                    del boxes[j]
                    merged = True
                    break
            if merged:
                break
    return boxes


def regions_of(profile: GameProfile) -> list[Region]:
    """What is drawn over the game and is no thing in it."""
    return [*(g.region for g in profile.gauges), *(i.region for i in profile.icons), *(r for c in profile.choices for r in c.regions)]


def around(session: Session, times_s: Sequence[float]) -> Iterator[list[Image]]:
    """For each of growing times of a session (s from its first picture) the pictures round it; each is decoded once."""
    frame_ns = session.frame_times_ns()
    if not len(frame_ns):
        yield from ([] for _ in times_s)
        return
    first, last_s = int(frame_ns[0]), (int(frame_ns[-1]) - int(frame_ns[0])) / 1e9
    held: dict[int, Image] = {}
    for time_s in times_s:
        wanted = [s for s in (round(time_s) + k for k in AROUND_S) if 0 <= s <= last_s]
        held = {second: image for second, image in held.items() if second in wanted}
        for second in wanted:
            if second not in held:
                held[second] = session.frame_at(first + second * 1_000_000_000).image
        yield [held[second] for second in wanted]
