"""What a detector found in one picture, and the suppression of double finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]

SAME_CLASS_IOU: Final = 0.5
"""Two finds of one class that overlap more are the same thing."""
SAME_ROLE_IOU: Final = 0.75
"""Two finds of different classes but one role (two kinds of enemy) that overlap more are the same thing."""


@dataclass(frozen=True, slots=True)
class Detections:
    """N finds, best first. boxes: float32 [N, 4] centre x, centre y, width, height in 0..1 of the picture. classes:
    int32 [N], index into the profile's classes. confidences: float32 [N] 0..1."""

    boxes: F32
    classes: I32
    confidences: F32

    def __len__(self) -> int:
        return len(self.classes)

    @staticmethod
    def empty() -> Detections:
        return Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32))


def suppress_doubles(boxes: F32, classes: I32, confidences: F32, roles: I32, most: int) -> NDArray[np.intp]:
    """The rows that stay, best first, at most ``most``: of overlapping finds of one thing only the surest is kept.

    boxes: [N, 4] centre x, centre y, width, height, any one unit for both axes. roles: [N], the role of each class as
    a number. Things of different roles (a lock ring round an enemy) never suppress one another.
    """
    order = np.argsort(-confidences, kind="stable")
    boxes, classes, roles = boxes[order], classes[order], roles[order]
    iou = overlaps(boxes, boxes)
    same = (iou > SAME_CLASS_IOU) & (classes[:, None] == classes[None])
    same |= (iou > SAME_ROLE_IOU) & (roles[:, None] == roles[None])
    stays = np.ones(len(order), np.bool_)
    for row in np.flatnonzero(np.triu(same, 1).any(1)).tolist():
        if stays[row]:
            stays[row + 1 :] &= ~same[row, row + 1 :]
    return order[stays][:most]


def overlaps(first: F32, second: F32) -> F32:
    """Intersection over union of every pair, float32 [len(first), len(second)]; boxes as centre and size."""
    a, b = corners(first), corners(second)
    meet = np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2])
    np.maximum(meet, 0.0, out=meet)
    common = meet[..., 0] * meet[..., 1]
    total = (first[:, 2] * first[:, 3])[:, None] + (second[:, 2] * second[:, 3])[None] - common
    return (common / np.maximum(total, 1e-12)).astype(np.float32)


def corners(boxes: F32) -> F32:
    """Centre and size -> left, top, right, bottom."""
    half = boxes[:, 2:] * np.float32(0.5)
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1, dtype=np.float32)
