"""Label Studio's JSON, in and out: a list of tasks, boxes in percent of the picture.

Of several annotations of a task the last one that was not cancelled counts. An annotation without results says that
nothing is there. Polygons give their bounding box; turned boxes the box round them; key points and other shapes are of no use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import quoteattr

from data.boxes import MOST_BOXES, Box, BoxesError, Labelled, ReadLabels, clipped, picture_size, read_json
from data.files import write_json, write_whole

TASKS: Final = "tasks.json"
CONFIG: Final = "label_config.xml"
_WORDS: Final = frozenset({"choices", "datetime", "number", "pairwise", "ranker", "rating", "relation", "taxonomy", "textarea"})
"""Types of results that say something of a picture or of another result, and draw nothing."""


def read_label_studio(path: Path) -> ReadLabels:
    """An export of Label Studio (format JSON, not JSON-MIN). Pictures are looked for by their bare names beside the file
    and in ``images`` beside it. Raises BoxesError."""
    raw = read_json(path)
    if not is_label_studio(raw):
        raise BoxesError(f"{path} is not Label Studio's JSON (a list of tasks with data and annotations); export it as JSON, not JSON-MIN")
    found = ReadLabels("label studio")
    names: dict[str, None] = {}
    for task in cast("list[dict[str, Any]]", raw):
        try:
            _read_task(task, path.parent, found, names)
        except (BoxesError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            found.corrupt += 1
            found.remark(f"task {task.get('id', '?')}: {type(error).__name__ if not isinstance(error, BoxesError) else ''} {error}".strip())
    found.names = tuple(names)
    return found


def is_label_studio(raw: Any) -> bool:
    """Whether a JSON value is a list of tasks."""
    if not isinstance(raw, list):
        return False
    tasks = cast("list[Any]", raw)
    return all(isinstance(t, dict) and isinstance(cast("dict[str, Any]", t).get("data"), dict) for t in tasks)


def _read_task(task: dict[str, Any], folder: Path, found: ReadLabels, names: dict[str, None]) -> None:
    name = picture_name(task)
    annotations = [a for a in cast("list[dict[str, Any]]", task.get("annotations") or []) if not a.get("was_cancelled")]
    if not annotations:
        found.missing += 1
        return
    if len(annotations) > 1:
        found.remark(f"{name}: {len(annotations)} annotations; the last one is taken")
    picture = next((p for p in (folder / name, folder / "images" / name) if p.is_file() and not p.is_symlink()), None)
    results = cast("list[dict[str, Any]]", annotations[-1].get("result") or [])
    if len(results) > MOST_BOXES:
        raise BoxesError(f"{name}: {len(results)} boxes in one picture; at most {MOST_BOXES} are taken")
    size = picture_size(picture) if picture is not None else None
    boxes: list[Box] = []
    before = found.dropped
    for result in results:
        said = (int(result.get("original_width") or 0), int(result.get("original_height") or 0))
        size = size or (said if min(said) > 0 else None)
        boxes += _read_result(result, said, found, names)
    found.add(Labelled(PurePosixPath(name).stem, tuple(boxes), picture, size, found.dropped - before))


def _read_result(result: dict[str, Any], size: tuple[int, int], found: ReadLabels, names: dict[str, None]) -> list[Box]:
    kind, value = str(result.get("type")), cast("dict[str, Any]", result.get("value") or {})
    if kind == "rectanglelabels":
        x, y, width, height = (float(value[key]) / 100 for key in ("x", "y", "width", "height"))
        edges = _turned(x, y, width, height, float(value.get("rotation") or 0), size)
    elif kind == "polygonlabels":
        points = [(float(x) / 100, float(y) / 100) for x, y in value["points"]]
        edges = (min(x for x, _ in points), min(y for _, y in points), max(x for x, _ in points), max(y for _, y in points))
        found.remark("polygons: their bounding boxes are taken")
    else:
        found.remark(f"results of type {kind} are passed over")
        found.dropped += kind not in _WORDS
        return []
    labels = cast("list[Any]", value.get(kind) or [])
    if not labels:
        found.dropped += 1
        return []
    name = str(labels[0])
    names[name] = None
    return found.keep(clipped(name, edges, "file"), edges)


def _turned(x: float, y: float, width: float, height: float, degrees: float, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """The upright box round one that is turned clockwise about its left top corner; the turn is in px, hence the size."""
    if not degrees:
        return x, y, x + width, y + height
    across, down = size if min(size) > 0 else (1, 1)
    turn = math.radians(degrees)
    corners = [
        (
            x + (dx * width * across * math.cos(turn) - dy * height * down * math.sin(turn)) / across,
            y + (dx * width * across * math.sin(turn) + dy * height * down * math.cos(turn)) / down,
        )
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1))
    ]
    return min(c[0] for c in corners), min(c[1] for c in corners), max(c[0] for c in corners), max(c[1] for c in corners)


def picture_name(task: dict[str, Any]) -> str:
    """The bare name of a task's picture: of its address, of ``?d=`` in it, decoded; never a path. Raises BoxesError."""
    data = cast("dict[str, Any]", task.get("data") or {})
    address = next((v for v in (data.get("image"), *data.values(), task.get("file_upload")) if isinstance(v, str) and v), "")
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d", [""])[0]
    name = unquote(local or parts.path).replace("\\", "/").rsplit("/", 1)[-1]
    if name in ("", ".", "..") or "\x00" in name:
        raise BoxesError("it names no picture")
    return name


def label_config(names: Sequence[str]) -> str:
    """The labelling interface for these classes, to be pasted into a Label Studio project."""
    labels = "".join(f"    <Label value={quoteattr(name)}/>\n" for name in names)
    return (
        '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
        f'  <RectangleLabels name="label" toName="image">\n{labels}  </RectangleLabels>\n</View>\n'
    )


def write_label_studio(folder: Path, names: Sequence[str], pictures: Sequence[tuple[Path, tuple[int, int], Sequence[Box], bool]]) -> int:
    """Write ``images``, ``tasks.json`` and ``label_config.xml``. For each picture its file, its size in px, its boxes and
    whether a person has confirmed them (else they are predictions). Returns the number of boxes.

    Raises BoxesError and OSError.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / TASKS).is_file())):
        raise BoxesError(f"{folder} holds something else; choose a new or empty folder")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    tasks: list[dict[str, Any]] = []
    total = 0
    for number, (path, size, boxes, confirmed) in enumerate(pictures, 1):
        write_whole(folder / "images" / path.name, path.read_bytes())
        result = [_result(k, box, size) for k, box in enumerate(boxes) if box.name]
        total += len(result)
        task: dict[str, Any] = {
            "id": number,
            "data": {"image": f"/data/local-files/?d=images/{path.name}"},
            "annotations": [],
            "predictions": [],
        }
        if confirmed:
            task["annotations"] = [{"id": number, "was_cancelled": False, "ground_truth": False, "result": result}]
        elif result:
            scores = [box.score for box in boxes if box.score is not None]
            task["predictions"] = [{"model_version": "secondseat", "score": round(min(scores, default=0.0), 4), "result": result}]
        tasks.append(task)
    write_json(folder / TASKS, tasks)
    write_whole(folder / CONFIG, label_config(names).encode())
    return total


def _result(number: int, box: Box, size: tuple[int, int]) -> dict[str, Any]:
    value = {
        "x": box.left * 100,
        "y": box.top * 100,
        "width": (box.right - box.left) * 100,
        "height": (box.bottom - box.top) * 100,
        "rotation": 0,
        "rectanglelabels": [box.name],
    }
    return {
        "id": f"b{number}",
        "type": "rectanglelabels",
        "from_name": "label",
        "to_name": "image",
        "image_rotation": 0,
        "original_width": size[0],
        "original_height": size[1],
        "value": value,
    }
