"""The newest picture made small for a face, with what was found on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from data.schema import Frame, Observation
from engine.state import Box, Picture

LARGEST_PX: Final = 1920
"""A preview is never made larger than this; a terminal needs far less."""
_STALE_NS: Final = 1_000_000_000
"""Boxes older than this would lie beside their objects."""


def picture_of(frame: Frame, observation: Observation | None, classes: Sequence[str], max_width_px: int, max_height_px: int) -> Picture:
    """``frame`` scaled down (never up) into the given size, keeping its aspect; the boxes of the newest observation.

    Raises ValueError for a size that holds no pixel.
    """
    import cv2
    import numpy as np

    if not (1 <= max_width_px <= LARGEST_PX and 1 <= max_height_px <= LARGEST_PX):
        raise ValueError(f"a picture of {max_width_px}x{max_height_px} px; use 1 to {LARGEST_PX} each way")
    height, width = frame.image.shape[:2]
    scale = min(1.0, max_width_px / width, max_height_px / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    image = frame.image if size == (width, height) else cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA)
    fresh = observation is not None and abs(frame.time_ns - observation.frame_time_ns) < _STALE_NS
    return Picture(
        number=frame.number,
        time_ns=frame.time_ns,
        width_px=size[0],
        height_px=size[1],
        source_width_px=width,
        source_height_px=height,
        rgb=np.ascontiguousarray(image).tobytes(),
        boxes=_boxes(observation, classes) if observation is not None and fresh else (),
        cursor=observation.cursor if observation is not None and fresh else None,
    )


def _boxes(observation: Observation, classes: Sequence[str]) -> tuple[Box, ...]:
    tracks = observation.tracks
    return tuple(
        Box(
            x=float(x),
            y=float(y),
            width=float(w),
            height=float(h),
            name=classes[int(kind)] if 0 <= int(kind) < len(classes) else str(int(kind)),
            confidence=round(float(confidence), 3),
            track=int(track),
        )
        for (x, y, w, h), kind, confidence, track in zip(tracks.boxes, tracks.classes, tracks.confidences, tracks.ids, strict=True)
    )
