"""A teach project to other tools and back: YOLO folders, Label Studio, COCO. What comes in is not trusted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from data.boxes import LARGEST_JSON_BYTES, Box, BoxesError, Labelled, ReadLabels, read_text
from data.boxes_coco import NAMES, is_coco, read_coco
from data.boxes_labelstudio import TASKS, is_label_studio, read_label_studio, write_label_studio
from data.boxes_yolo import read_yolo, write_yolo
from data.files import from_json
from engine.teach import Picture, State, TeachError, TeachProject
from engine.teach_sampling import is_plain, png, read_picture
from engine.teach_training import LEAST_PICTURES, held_out

Format = Literal["yolo", "labelstudio"]
FORMATS: Final[tuple[Format, ...]] = ("yolo", "labelstudio")


def export(project: TeachProject, format: Format, folder: Path) -> str:
    """Write all pictures with what is known of their boxes into a new folder; what was done, in words.

    In a YOLO folder unconfirmed proposals are labels like others, for another tool to correct; in Label Studio they are
    predictions. Raises TeachError, BoxesError, OSError.
    """
    pictures = [p for p in project.pictures() if p.state != "skipped"]
    if not pictures:
        raise TeachError(f"there are no pictures to export yet; take some first: secondseat games teach {project.profile.name} --no-page")
    if format == "labelstudio":
        rows = [(project.file(p.id), (p.width, p.height), p.boxes, p.state == "confirmed") for p in pictures]
        boxes = write_label_studio(folder, project.names, rows)
    else:
        kept = held_out(pictures) if len(pictures) >= LEAST_PICTURES else set[str]()
        boxes = write_yolo(folder, project.names, [("val" if p.id in kept else "train", project.file(p.id), _said(p)) for p in pictures])
    back = f"secondseat games teach {project.profile.name} --import {folder}"
    nameless = sum(not box.name for p in pictures for box in p.boxes)
    left = f" ({nameless} proposals have no class yet and are left out: the page shows them)" if nameless else ""
    return f"{len(pictures)} pictures with {boxes} boxes are in {folder}{left}; correct them, then: {back}"


def _said(picture: Picture) -> tuple[Box, ...] | None:
    """What is said of a picture; None when that is nothing: an empty file would say that nothing is there."""
    return picture.boxes if picture.state == "confirmed" or any(box.name for box in picture.boxes) else None


@dataclass(frozen=True, slots=True)
class Imported:
    """``confirmed``: pictures that were here, whose boxes are now those of the file; ``added``: pictures from elsewhere;
    ``in_part``: pictures from here or elsewhere that took the boxes that are of use and wait for a person to add the others;
    ``unknown``: labels without a picture."""

    read: ReadLabels
    confirmed: int
    added: int
    in_part: int
    unknown: int

    def __str__(self) -> str:
        r = self.read
        boxes = sum(len(p.boxes) for p in r.pictures)
        told = f"{r.format}: {boxes} boxes in {len(r.pictures)} pictures; {self.confirmed} were here, {self.added} are new"
        counts = (("empty", r.empty), ("without labels", r.missing), ("corrupt", r.corrupt), ("of no picture", self.unknown))
        told += "".join(f", {n} {what}" for what, n in counts if n)
        told += f"; {r.cut} boxes cut to the picture" if r.cut else ""
        told += f"; {r.dropped} boxes of no use" if r.dropped else ""
        told += f"; {self.in_part} pictures took only some of their boxes and are still to look at" if self.in_part else ""
        told += f"; {r.useless} pictures with no other boxes were left as they were" if r.useless else ""
        return "\n  ".join([told, *r.remarks])

    def to_json(self) -> dict[str, Any]:
        r = self.read
        counted = {name: getattr(r, name) for name in ("format", "empty", "missing", "corrupt", "cut", "dropped", "useless", "remarks")}
        ours = {name: getattr(self, name) for name in ("confirmed", "added", "in_part", "unknown")}
        return {**counted, "pictures": len(r.pictures), **ours}


def import_labels(project: TeachProject, path: Path) -> Imported:
    """Take labels in from a folder or file, recognised by content; they count as confirmed by a person, except where boxes of a picture
    were of no use: with the others it is still to be looked at, and without others left as it was.

    Pictures that were exported from here are known by their names; others are copied in, the same one once. Nothing is
    changed when a class is unknown to the profile. Raises TeachError, BoxesError, OSError.
    """
    read = read_any(path)
    used = {box.name for picture in read.pictures for box in picture.boxes}
    if strange := sorted(used - set(project.names)):
        raise TeachError(
            f"{path} has classes that games.{project.profile.name} has not: {', '.join(strange)} (it has {', '.join(project.names)});"
            " rename them there, or add them: secondseat games add --replace --class NAME=ROLE"
        )
    known = {p.id: p for p in project.pictures()}
    place = 1.0 + max((p.time_s for p in known.values() if not p.session), default=-1.0)
    confirmed = added = in_part = unknown = 0
    for labelled in read.pictures:
        boxes = tuple(replace(box, by="file", score=None) for box in labelled.boxes)
        state: State = "proposed" if labelled.dropped else "confirmed"
        if labelled.stem in known:
            project.save(labelled.stem, boxes, state)
            confirmed += state == "confirmed"
        elif labelled.picture is None:
            unknown += 1
            continue
        else:
            try:
                new = _take_in(project, labelled, boxes, state, place)
            except TeachError as error:
                read.corrupt += 1
                read.remark(str(error))
                continue
            added += new and state == "confirmed"
            place += 1.0
        in_part += state == "proposed"
    return Imported(read, confirmed, added, in_part, unknown)


def _take_in(project: TeachProject, labelled: Labelled, boxes: tuple[Box, ...], state: State, place: float) -> bool:
    """A picture from elsewhere, named by its content; whether it is new here. What is not plain RGB is kept as such. ``place``: its number
    among all that were taken in, by which those that follow one another stay on one side of the split.

    Raises TeachError when it cannot be decoded.
    """
    assert labelled.picture is not None
    image = read_picture(labelled.picture)
    content = labelled.picture.read_bytes()
    id = f"import-{hashlib.sha256(content).hexdigest()[:16]}"
    if id in {p.id for p in project.pictures()}:
        project.save(id, boxes, state)
        return False
    height, width = image.shape[:2]
    # augmented copies of one picture (Roboflow names them name.rf.hash) belong to one group, and so to one side of the split
    group = f"import-{labelled.stem.split('.rf.')[0]}" if ".rf." in labelled.stem else ""
    picture = Picture(id, width, height, group, place, state, boxes)
    if is_plain(labelled.picture):
        project.add(picture, content, labelled.picture.suffix.lower())
    else:  # the page, the training and the figures all have to see the same
        project.add(picture, png(image))
    return True


def read_any(path: Path) -> ReadLabels:
    """Labels from a YOLO folder, or from a JSON file (or a folder with one) of Label Studio or COCO. Raises BoxesError."""
    if path.is_dir():
        file = next((path / name for name in (TASKS, *NAMES) if (path / name).is_file()), None)
        if file is not None:
            return _read_json(file)
        parts = [path / part / NAMES[0] for part in ("train", "valid", "test")]
        if any(part.is_file() for part in parts):
            return _joined([read_coco(part) for part in parts if part.is_file()])
        return read_yolo(path)
    if path.suffix.lower() == ".json" and path.is_file():
        return _read_json(path)
    raise BoxesError(f"{path}: give a YOLO folder, or a JSON file of Label Studio or COCO")


def _read_json(path: Path) -> ReadLabels:
    try:
        raw: Any = from_json(read_text(path, LARGEST_JSON_BYTES))
    except ValueError as error:
        raise error if isinstance(error, BoxesError) else BoxesError(f"{path} is not JSON: {error}") from error
    if is_coco(raw):
        return read_coco(path)
    if is_label_studio(raw):
        return read_label_studio(path)
    raise BoxesError(f"{path} is neither Label Studio's JSON (a list of tasks) nor COCO's (images, annotations, categories)")


def _joined(parts: list[ReadLabels]) -> ReadLabels:
    whole = ReadLabels(parts[0].format, tuple(dict.fromkeys(name for part in parts for name in part.names)))
    for part in parts:
        whole.pictures += part.pictures
        for name in ("empty", "missing", "corrupt", "cut", "dropped", "useless"):
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
        for remark in part.remarks:
            whole.remark(remark)
    return whole
