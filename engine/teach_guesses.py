"""Boxes proposed to a person: what the session's tracks say, what a first model finds, what moves.

A model that was trained on the person's own boxes goes first; else the tracks that lie in the session (its profile had a
detector); else motion. Things that only moved have no class: a guess is made from what the person has confirmed, by
colour and size. Proposals never touch a picture that a person has looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.boxes import Box, from_centre
from data.metadata import SessionError
from data.schema import Image
from data.session import Session, open_session
from engine.perception.detections import Detections
from engine.perception.detector import Detector, open_detector
from engine.runtime.progress import Progress, Report, ignore
from engine.teach import Picture, TeachProject
from engine.teach_motion import around, moving_boxes, regions_of
from engine.teach_sampling import read_picture

PROPOSE_AT: Final = 0.3
"""How sure a model has to be for its find to be proposed."""
LOOK_AT: Final = 0.1
LIKE: Final = 0.35
"""Boxes less alike than this (see ``look_of``) say nothing of each other."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """How many pictures have proposals from where. ``moving``: pictures in which the camera moved."""

    by: dict[str, int]
    moving: int = 0

    def __str__(self) -> str:
        sources = {"model": "from the first model", "tracks": "from the tracks in the sessions", "motion": "from what moves"}
        parts = [f"{count} {sources[by]}" for by, count in self.by.items() if count]
        told = f"boxes proposed in {sum(self.by.values())} pictures" + (f": {', '.join(parts)}" if parts else "")
        if self.moving:
            told += f"; in {self.moving} the camera moves, so that motion says nothing: draw a few, then train a first model"
        return told


_Guess = tuple[Picture, Image, tuple[Box, ...], bool, float | None]


def propose(
    project: TeachProject, model: Path | None = None, report: Report = ignore, should_stop: Callable[[], bool] = lambda: False
) -> Proposed:
    """Propose boxes in every picture that no person has looked at, not even in part. ``model``: an ONNX file that looks at them.

    Raises engine.perception.card.DetectorError when the model cannot be used, OSError.
    """
    detector = open_detector(model, project.profile) if model is not None else None
    open_ = [p for p in project.pictures() if p.state == "new" or (p.state == "proposed" and detector is not None)]
    open_ = [p for p in open_ if not any(box.by in ("person", "file") for box in p.boxes)]
    found: Counter[str] = Counter()
    moving = done = 0
    for session_id in dict.fromkeys(p.session for p in open_):
        pictures = [p for p in open_ if p.session == session_id]
        for picture, image, boxes, moves, unsure in _of_session(project, session_id, pictures, detector):
            if boxes or unsure is not None:
                kept = boxes or tuple(b for b in picture.boxes if b.by != "model")  # nothing is found: what tracks and motion said stays
                named = with_classes(image, kept, project) if any(not b.name for b in kept) else kept
                project.save(picture.id, named, "proposed" if named else "new", picture.revision, unsure)
                found.update([boxes[0].by] if boxes else [])
            moving += moves
            done += 1
            report(Progress("proposing", done / len(open_), message=f"{done} of {len(open_)} pictures"))
            if should_stop():
                raise KeyboardInterrupt
    return Proposed(dict(found), moving)


def _of_session(project: TeachProject, session_id: str, pictures: Sequence[Picture], detector: Detector | None) -> Iterator[_Guess]:
    """(picture, image, boxes, whether the camera moved, how unsure the model was) of each."""
    if detector is not None:
        for picture in pictures:
            image = read_picture(project.file(picture.id))
            finds = detector.detect(image, LOOK_AT)
            yield picture, image, boxes_of(finds, project), False, uncertainty(finds)
        return
    folder = project.place.sessions / session_id
    if not session_id or not folder.is_dir():
        yield from ((p, read_picture(project.file(p.id)), (), False, None) for p in pictures)
        return
    try:
        with open_session(folder) as session:
            for picture, others in zip(pictures, around(session, [p.time_s for p in pictures]), strict=True):
                image = read_picture(project.file(picture.id))
                tracked = tracked_boxes(session, picture.time_s, project)
                if tracked:
                    yield picture, image, tracked, False, None
                    continue
                motion = moving_boxes(image, [o for o in others if o.shape == image.shape], regions_of(project.profile))
                yield picture, image, motion.boxes, motion.moves, None
    except SessionError as error:
        project.notices.append(f"{session_id}: no proposals: {error}")


def tracked_boxes(session: Session, time_s: float, project: TeachProject) -> tuple[Box, ...]:
    """What the step that saw this very picture followed; classes that the profile no longer has are left out."""
    pts = session.step_pts_ms()
    if not len(pts):
        return ()
    start_ms = (int(session.frame_times_ns()[0]) - session.metadata.clock.monotonic_ns) // 1_000_000
    row = int(np.abs(pts - (start_ms + round(time_s * 1e3))).argmin())
    if abs(int(pts[row]) - start_ms - time_s * 1e3) > 2:
        return ()
    tracks, names = session.steps().observation(row).tracks, session.metadata.profile.class_names()
    boxes: list[Box] = []
    for k in range(len(tracks)):
        name = names[int(tracks.classes[k])]
        x, y, width, height = tracks.boxes[k].tolist()
        box = from_centre(name, (x, y, width, height), "tracks", float(tracks.confidences[k]))
        if box is not None and name in project.names and float(tracks.unseen_s[k]) <= 0.1:
            boxes.append(box)
    return tuple(boxes)


def boxes_of(finds: Detections, project: TeachProject) -> tuple[Box, ...]:
    """A model's finds as proposals."""
    boxes: list[Box] = []
    for k in np.flatnonzero(finds.confidences >= PROPOSE_AT).tolist():
        x, y, width, height = finds.boxes[k].tolist()
        name = project.names[int(finds.classes[k])]
        if (box := from_centre(name, (x, y, width, height), "model", float(finds.confidences[k]))) is not None:
            boxes.append(box)
    return tuple(boxes)


def uncertainty(finds: Detections) -> float:
    """0 (sure of all it finds) to 1: the mean over the five finds nearest to one half; a picture without finds is 0.5."""
    if not len(finds):
        return 0.5
    doubt = np.sort(1.0 - np.abs(2.0 * finds.confidences.astype(np.float64) - 1.0))[::-1][:5]
    return round(float(doubt.mean()), 4)


# ---- a class by likeness


def look_of(image: Image, box: Box) -> NDArray[np.float64]:
    """[5]: mean red, green, blue of the box's middle (0..1) and half the logarithms of its sides in px to base 2."""
    height, width = image.shape[:2]
    x, y, across, down = box.centre_size
    left, right = int((x - across / 4) * width), max(int((x - across / 4) * width) + 1, round((x + across / 4) * width))
    top, bottom = int((y - down / 4) * height), max(int((y - down / 4) * height) + 1, round((y + down / 4) * height))
    middle = image[top:bottom, left:right].reshape(-1, 3).mean(0) / 255.0
    return np.array([*middle.tolist(), 0.5 * np.log2(max(1.0, across * width)), 0.5 * np.log2(max(1.0, down * height))], np.float64)


def with_classes(image: Image, boxes: Sequence[Box], project: TeachProject) -> tuple[Box, ...]:
    """Boxes without a class get that of the confirmed boxes most like them, where there are such."""
    names, looks = _confirmed_looks(project)
    return tuple(box if box.name else replace(box, name=_like(look_of(image, box), names, looks)) for box in boxes)


def _like(look: NDArray[np.float64], names: Sequence[str], looks: NDArray[np.float64]) -> str:
    if not len(names):
        return ""
    gaps = np.sqrt(np.square(looks - look).sum(1))
    near: list[int] = [k for k in np.argsort(gaps, kind="stable")[:3].tolist() if gaps[k] <= LIKE]
    if not near:
        return ""
    votes = Counter(names[k] for k in near)
    return names[max(near, key=lambda k: (votes[names[k]], -float(gaps[k])))]


def _confirmed_looks(project: TeachProject) -> tuple[list[str], NDArray[np.float64]]:
    """Names and looks of the boxes of the newest confirmed pictures, each picture measured once."""
    pairs: list[tuple[str, NDArray[np.float64]]] = []
    for picture in [p for p in project.pictures() if p.state == "confirmed" and p.boxes][-40:]:
        key = (picture.id, picture.revision)
        if key not in project.looks:
            image = read_picture(project.file(picture.id))
            project.looks[key] = [(box.name, look_of(image, box)) for box in picture.boxes]
        pairs += project.looks[key]
    return [name for name, _ in pairs], np.array([look for _, look in pairs], np.float64).reshape(-1, 5)
