"""YOLO label folders, in and out: ``data.yaml`` (or ``classes.txt``), ``images`` and ``labels``, a text file a picture.

A line is ``class x_center y_center width height`` in 0..1. More numbers are a polygon (its bounding box is taken), a sixth
one is a confidence. An empty file says that nothing is there; a missing one says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from data.boxes import MOST_BOXES, PICTURE_SUFFIXES, Box, BoxesError, Labelled, ReadLabels, clipped, files_below, picture_size, read_text
from data.files import write_whole

PARTS: Final = ("", "train", "val", "valid", "test")


def read_yolo(folder: Path) -> ReadLabels:
    """Everything that a YOLO folder labels. Nothing outside the folder is opened, whatever its data.yaml says.

    Raises BoxesError when it is no such folder.
    """
    found = ReadLabels("yolo", _names(folder))
    places = [(folder / "images" / part, folder / "labels" / part) for part in PARTS]
    places += [(folder / part / "images", folder / part / "labels") for part in PARTS if part]
    if not any(labels.is_dir() for _, labels in places):
        places = [(folder, folder)]  # pictures and texts side by side, as labelImg leaves them
    seen = 0
    for images, labels in places:
        pictures = {path.stem: path for path in files_below(images, PICTURE_SUFFIXES)}
        texts = {path.stem: path for path in files_below(labels, (".txt",)) if path.name != "classes.txt"}
        seen += len(pictures) + len(texts)
        found.missing += len(pictures.keys() - texts.keys())
        for stem, text in texts.items():
            picture = pictures.get(stem)
            try:
                size = picture_size(picture) if picture is not None else None
                before = found.dropped
                boxes = tuple(_boxes(text, found))
                found.add(Labelled(stem, boxes, picture, size, found.dropped - before))
            except BoxesError as error:
                found.corrupt += 1
                found.remark(str(error))
    if not seen:
        raise BoxesError(f"{folder} holds no pictures and no labels; a YOLO folder has images/ and labels/ (and data.yaml)")
    return found


def _names(folder: Path) -> tuple[str, ...]:
    for name in ("data.yaml", "data.yml"):
        if (folder / name).is_file():
            return _yaml_names(folder / name)
    for path in (folder / "classes.txt", folder / "labels" / "classes.txt"):
        if path.is_file():
            return tuple(line.strip() for line in read_text(path).splitlines() if line.strip())
    raise BoxesError(f"{folder} has neither data.yaml nor classes.txt, so that the numbers of its classes mean nothing")


def _yaml_names(path: Path) -> tuple[str, ...]:
    yaml: Any = import_module("yaml")
    try:
        raw: Any = yaml.safe_load(read_text(path))
        names: Any = cast("dict[str, Any]", raw)["names"]
        if isinstance(names, dict):
            numbered = {int(number): str(name) for number, name in cast("dict[Any, Any]", names).items()}
            return tuple(numbered[number] for number in range(len(numbered)))
        if not isinstance(names, list):
            raise TypeError("names is neither a list nor numbered")
        return tuple(str(name) for name in cast("list[Any]", names))
    except (yaml.YAMLError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise BoxesError(f"{path}: no list `names` of its classes ({' '.join(str(error).split())[:100]})") from error


def _boxes(path: Path, found: ReadLabels) -> list[Box]:
    lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
    if len(lines) > MOST_BOXES:
        raise BoxesError(f"{path.name}: {len(lines)} boxes in one picture; at most {MOST_BOXES} are taken")
    boxes: list[Box] = []
    for number, words in enumerate(lines, 1):
        try:
            kind, values = int(words[0]), [float(word) for word in words[1:]]
        except ValueError as error:
            raise BoxesError(f"{path.name} line {number}: {' '.join(words)[:60]!r} is not `class x y width height`") from error
        if not 0 <= kind < len(found.names):
            found.dropped += 1
            found.remark(f"{path.name} line {number}: class {kind} has no name (there are {len(found.names)})")
            continue
        score = None
        if len(values) in (4, 5):
            x, y, width, height = values[:4]
            edges = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            score = min(max(values[4], 0.0), 1.0) if len(values) == 5 else None
        elif len(values) >= 6 and len(values) % 2 == 0:
            edges = (min(values[::2]), min(values[1::2]), max(values[::2]), max(values[1::2]))
            found.remark("polygons: their bounding boxes are taken")
        else:
            raise BoxesError(f"{path.name} line {number}: {len(values)} numbers after the class; a box has 4")
        boxes += found.keep(clipped(found.names[kind], edges, "file", score), edges)
    return boxes


def yolo_lines(boxes: Sequence[Box], names: Sequence[str], scales: Sequence[float] | None = None) -> str:
    """The text file of one picture. Boxes without a class are left out. ``scales``: by class, factors for width and height."""
    lines: list[str] = []
    for box in boxes:
        if box.name in names:
            kind = list(names).index(box.name)
            x, y, width, height = box.centre_size
            by = 1.0 if scales is None else scales[kind]
            lines.append(f"{kind} {x:.6f} {y:.6f} {width * by:.6f} {height * by:.6f}\n")
    return "".join(lines)


def write_yolo(folder: Path, names: Sequence[str], parts: Sequence[tuple[str, Path, Sequence[Box] | None]]) -> int:
    """Write a YOLO folder: for each picture its part (``train`` or ``val``), its file and its boxes (None: not labelled, no
    text file). A folder that holds something else already is refused. Returns the number of boxes.

    Raises BoxesError and OSError.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "data.yaml").is_file())):
        raise BoxesError(f"{folder} holds something else; choose a new or empty folder")
    total = 0
    for part in ("train", "val"):
        (folder / "images" / part).mkdir(parents=True, exist_ok=True)
        (folder / "labels" / part).mkdir(parents=True, exist_ok=True)
    for part, picture, boxes in parts:
        write_whole(folder / "images" / part / picture.name, picture.read_bytes())
        if boxes is not None:
            text = yolo_lines(boxes, names)
            write_whole(folder / "labels" / part / f"{picture.stem}.txt", text.encode())
            total += text.count("\n")
    write_whole(folder / "classes.txt", "".join(f"{name}\n" for name in names).encode())
    yaml: Any = import_module("yaml")
    described = {"train": "images/train", "val": "images/val", "names": dict(enumerate(names))}
    write_whole(folder / "data.yaml", yaml.safe_dump(described, sort_keys=False, allow_unicode=True).encode())
    return total
