"""COCO detection JSON, in: boxes ``[x, y, width, height]`` in px, category and image ids of any numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from data.boxes import MOST_BOXES, Box, BoxesError, Labelled, ReadLabels, clipped, read_json

NAMES: Final = ("_annotations.coco.json", "annotations.json", "instances.json")


def is_coco(raw: Any) -> bool:
    return isinstance(raw, dict) and {"images", "annotations", "categories"} <= cast("dict[str, Any]", raw).keys()


def read_coco(path: Path) -> ReadLabels:
    """A COCO file; its pictures are looked for by their bare names beside it and in ``images``. Raises BoxesError."""
    raw = read_json(path)
    if not is_coco(raw):
        raise BoxesError(f"{path} is not COCO's JSON (images, annotations, categories)")
    found = ReadLabels("coco")
    try:
        categories = {int(c["id"]): str(c["name"]) for c in raw["categories"]}
        images = {int(i["id"]): (_bare(str(i["file_name"])), int(i["width"]), int(i["height"])) for i in raw["images"]}
        boxes: dict[int, list[Box]] = {number: [] for number in images}
        dropped: Counter[int] = Counter()
        for note in cast("list[dict[str, Any]]", raw["annotations"]):
            before = found.dropped
            _take(note, images, categories, boxes, found)
            dropped[int(note["image_id"])] += found.dropped - before
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise BoxesError(f"{path}: a field is missing or of another kind ({type(error).__name__}: {error})") from error
    used = {box.name for listed in boxes.values() for box in listed}
    found.names = tuple(name for name in categories.values() if name in used)
    for number, (name, width, height) in images.items():
        if len(boxes[number]) > MOST_BOXES:
            found.corrupt += 1
            found.remark(f"{name}: {len(boxes[number])} boxes in one picture; at most {MOST_BOXES} are taken")
            continue
        picture = next((p for p in (path.parent / name, path.parent / "images" / name) if p.is_file() and not p.is_symlink()), None)
        found.add(Labelled(PurePosixPath(name).stem, tuple(boxes[number]), picture, (width, height), dropped[number]))
    return found


def _take(
    note: dict[str, Any],
    images: dict[int, tuple[str, int, int]],
    categories: dict[int, str],
    boxes: dict[int, list[Box]],
    found: ReadLabels,
) -> None:
    number, kind = int(note["image_id"]), int(note["category_id"])
    if number not in images or kind not in categories:
        found.dropped += 1
        found.remark("annotations of pictures or categories that the file does not list are left out")
        return
    if note.get("iscrowd"):
        found.dropped += 1
        found.remark("annotations of crowds are left out")
        return
    _, across, down = images[number]
    x, y, width, height = (float(v) for v in note["bbox"])
    edges = (x / across, y / down, (x + width) / across, (y + height) / down)
    boxes[number] += found.keep(clipped(categories[kind], edges, "file"), edges)


def _bare(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]
