"""The picture for a face: scaled down with its aspect, never up, boxes only while they fit it."""

from __future__ import annotations

import numpy as np
import pytest

from data.schema import Frame, Observation, Status, Tracks
from engine.preview import picture_of


def frame(width: int = 640, height: int = 360) -> Frame:
    image = np.zeros((height, width, 3), np.uint8)
    image[:, : width // 2] = (255, 0, 0)
    return Frame(5, 2_000_000_000, image)


def observation(age_ns: int) -> Observation:
    tracks = Tracks(
        np.array([9, 4], np.int32),
        np.array([1, 7], np.int32),
        np.array([[0.5, 0.25, 0.1, 0.2], [0.1, 0.1, 0.1, 0.1]], np.float32),
        np.array([0.75, 0.5], np.float32),
        np.zeros((2, 2), np.float32),
        np.zeros(2, np.float32),
        np.zeros(2, np.float32),
    )
    return Observation(2_000_000_000, 2_000_000_000 - age_ns, 4, Status(), tracks, (0.5, 0.75))


def test_it_is_scaled_down_with_its_aspect_and_keeps_its_colours() -> None:
    picture = picture_of(frame(), None, (), 100, 100)
    assert (picture.width_px, picture.height_px, picture.number) == (100, 56, 5)
    assert (picture.source_width_px, picture.source_height_px) == (640, 360)
    pixels = np.frombuffer(picture.rgb, np.uint8).reshape(56, 100, 3)
    assert tuple(pixels[10, 10]) == (255, 0, 0)
    assert tuple(pixels[10, 90]) == (0, 0, 0)


def test_it_is_never_made_larger() -> None:
    picture = picture_of(frame(32, 18), None, (), 640, 640)
    assert (picture.width_px, picture.height_px, len(picture.rgb)) == (32, 18, 32 * 18 * 3)


def test_boxes_carry_their_class_and_old_ones_are_left_out() -> None:
    seen = picture_of(frame(), observation(40_000_000), ("ship", "raider"), 64, 64)
    assert [(box.name, box.track, box.confidence) for box in seen.boxes] == [("raider", 9, 0.75), ("7", 4, 0.5)]
    assert (seen.boxes[0].x, seen.boxes[0].y) == (0.5, 0.25)
    assert seen.cursor == (0.5, 0.75)
    stale = picture_of(frame(), observation(1_500_000_000), ("ship", "raider"), 64, 64)
    assert (stale.boxes, stale.cursor) == ((), None)


def test_a_size_without_a_pixel_is_refused() -> None:
    with pytest.raises(ValueError, match="0x9 px"):
        picture_of(frame(), None, (), 0, 9)
