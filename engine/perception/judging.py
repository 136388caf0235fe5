"""How good a detector is on labelled pictures: average precision, recall by distance, and the errors it makes.

Average precision as COCO counts it: 101 points of the precision-recall curve, at an overlap of 0.5 (``ap50``) and as
the mean over 0.5, 0.55 … 0.95 (``ap50_95``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.schema import F32, I32
from engine.perception.detections import Detections, overlaps

IOUS: Final = np.linspace(0.5, 0.95, 10)
NEAR_PX: Final = 3.0
SIZES_PX: Final[tuple[tuple[str, float, float], ...]] = (("tiny", 0, 8), ("small", 8, 16), ("medium", 16, 32), ("large", 32, 1e9))
"""By the longer side of the true box, in px of the picture."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What one picture shows and what was found in it. Boxes in 0..1 of a picture of width_px x height_px."""

    classes: I32
    boxes: F32
    found: Detections
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class. ``recall``, ``precision`` at the working confidence, matched by overlap 0.5; ``near_recall`` is the
    share of things with a find of their class within ``NEAR_PX``; errors of those: standard deviation per axis, px."""

    n: int
    ap50: float
    ap50_95: float
    recall: float
    precision: float
    near_recall: float
    centre_px: float
    size_px: float


def judge(pictures: Iterable[Labelled], names: Sequence[str], confidence: float) -> dict[str, Any]:
    """Figures over pictures: ``classes`` by name, ``map50``, ``map50_95``, ``by_size``, ``shot_recall_3px`` is left to
    the caller. confidence: the working point for recall, precision and errors."""
    seen = list(pictures)
    classes = {name: _class_figures(seen, k, confidence) for k, name in enumerate(names)}
    present = [c for c in classes.values() if c.n]
    wrong = sum(_false_finds(p, confidence) for p in seen)
    return {
        "pictures": len(seen),
        "map50": _mean([c.ap50 for c in present]),
        "map50_95": _mean([c.ap50_95 for c in present]),
        "false_positives_per_picture": wrong / max(1, len(seen)),
        "by_size": {label: _size_figures(seen, least, most, confidence) for label, least, most in SIZES_PX},
        "classes": {name: {k: round(v, 4) for k, v in asdict(c).items()} for name, c in classes.items()},
    }


def kinds_in(classes: I32) -> list[int]:
    """The classes that occur, in order."""
    return [int(kind) for kind in np.unique(classes)]


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _class_figures(seen: list[Labelled], kind: int, confidence: float) -> ClassFigures:
    n, hits, near, wrong = 0, 0, 0, 0
    confidences: list[float] = []
    right: list[NDArray[np.bool_]] = []
    offsets: list[NDArray[np.float64]] = []
    for picture in seen:
        truth = picture.boxes[picture.classes == kind]
        mine = picture.found.classes == kind
        boxes, sure = picture.found.boxes[mine], picture.found.confidences[mine]
        n += len(truth)
        good = match_by_overlap(boxes, sure, truth)
        confidences.extend(sure.tolist())
        right.extend(good)
        working = sure >= confidence
        hits += int(sum(g[0] for g, w in zip(good, working, strict=True) if w))
        wrong += int(sum(not g[0] for g, w in zip(good, working, strict=True) if w))
        gaps = near_errors_px(picture, truth, boxes[working])
        near += len(gaps)
        offsets.append(gaps)
    table = np.concatenate(offsets) if offsets else np.zeros((0, 4))
    precision = average_precision(np.array(confidences), np.array(right, np.bool_).reshape(-1, len(IOUS)), n)
    return ClassFigures(
        n=n,
        ap50=float(precision[0]),
        ap50_95=float(precision.mean()),
        recall=hits / n if n else 0.0,
        precision=hits / (hits + wrong) if hits + wrong else 0.0,
        near_recall=near / n if n else 0.0,
        centre_px=float(np.sqrt(np.mean(np.square(table[:, :2])))) if len(table) else 0.0,
        size_px=float(np.sqrt(np.mean(np.square(table[:, 2:])))) if len(table) else 0.0,
    )


def match_by_overlap(boxes: F32, confidences: F32, truth: F32) -> list[NDArray[np.bool_]]:
    """For each find whether it is right at each of ``IOUS``: the surest find takes the best free true box."""
    result = [np.zeros(len(IOUS), np.bool_) for _ in range(len(boxes))]
    if not len(truth) or not len(boxes):
        return result
    iou = overlaps(boxes, truth)
    for k, least in enumerate(IOUS.tolist()):
        free = np.ones(len(truth), np.bool_)
        for row in np.argsort(-confidences, kind="stable").tolist():
            candidates = np.where(free, iou[row], 0.0)
            best = int(candidates.argmax())
            if candidates[best] >= least:
                free[best] = False
                result[row][k] = True
    return result


def average_precision(confidences: NDArray[np.float64], right: NDArray[np.bool_], n: int) -> NDArray[np.float64]:
    """Average precision per overlap of ``IOUS``. right: [finds, overlaps]; n: true things."""
    if not n or not len(confidences):
        return np.zeros(len(IOUS))
    good = right[np.argsort(-confidences, kind="stable")]
    true_so_far = np.cumsum(good, axis=0)
    recall = true_so_far / n
    precision = true_so_far / np.arange(1, len(good) + 1)[:, None]
    precision = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
    points = np.linspace(0, 1, 101)
    found = np.zeros(len(IOUS))
    for k in range(len(IOUS)):
        at = np.searchsorted(recall[:, k], points, side="left")
        found[k] = np.where(at < len(precision), precision[np.minimum(at, len(precision) - 1), k], 0.0).mean()
    return found


def near_errors_px(picture: Labelled, truth: F32, boxes: F32) -> NDArray[np.float64]:
    """Errors (x, y, width, height in px) of the true boxes that have a find within ``NEAR_PX`` of their centre; each
    find serves one true box. float64 [pairs, 4]."""
    if not len(truth) or not len(boxes):
        return np.zeros((0, 4))
    px = np.array([picture.width_px, picture.height_px] * 2, np.float64)
    gap = (boxes[None].astype(np.float64) - truth[:, None]) * px
    distance = np.hypot(gap[..., 0], gap[..., 1])
    pairs: list[NDArray[np.float64]] = []
    while distance.size and distance.min() <= NEAR_PX:
        row, column = divmod(int(distance.argmin()), distance.shape[1])
        pairs.append(gap[row, column])
        distance[row, :] = np.inf
        distance[:, column] = np.inf
    return np.array(pairs, np.float64).reshape(-1, 4)


def _false_finds(picture: Labelled, confidence: float) -> int:
    """Sure finds that are right at no true box of their class by overlap 0.5 nor within ``NEAR_PX``."""
    working = picture.found.confidences >= confidence
    wrong = 0
    for kind in kinds_in(picture.found.classes[working]):
        mine = working & (picture.found.classes == kind)
        truth = picture.boxes[picture.classes == kind]
        good = match_by_overlap(picture.found.boxes[mine], picture.found.confidences[mine], truth)
        missed = np.array([not g[0] for g in good], np.bool_)
        wrong += int(missed.sum()) - len(near_errors_px(picture, truth, picture.found.boxes[mine][missed]))
    return wrong


def _size_figures(seen: list[Labelled], least: float, most: float, confidence: float) -> dict[str, float]:
    n = near = 0
    for picture in seen:
        sides = np.maximum(picture.boxes[:, 2] * picture.width_px, picture.boxes[:, 3] * picture.height_px)
        chosen = (sides >= least) & (sides < most)
        n += int(chosen.sum())
        for kind in kinds_in(picture.classes[chosen]):
            mine = (picture.found.classes == kind) & (picture.found.confidences >= confidence)
            near += len(near_errors_px(picture, picture.boxes[chosen & (picture.classes == kind)], picture.found.boxes[mine]))
    return {"n": n, "recall_3px": round(near / n, 4) if n else 0.0}
