"""Boxes that a person (or a guess) has drawn on pictures, and what reading files of them from elsewhere must guard against."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from data.files import from_json

LARGEST_TEXT_BYTES: Final = 2_000_000
LARGEST_JSON_BYTES: Final = 64_000_000
LARGEST_PICTURE_BYTES: Final = 64_000_000
LARGEST_SIDE_PX: Final = 16_384
MOST_BOXES: Final = 500
"""In one picture; more is damage."""
MOST_FILES: Final = 20_000
PICTURE_SUFFIXES: Final = (".png", ".jpg", ".jpeg")

By = Literal["person", "tracks", "motion", "model", "file"]
BY: Final[tuple[By, ...]] = get_args(By)


class BoxesError(ValueError):
    """Boxes, or a file of them, cannot be used; the text says which, why and what to do."""


@dataclass(frozen=True, slots=True)
class Box:
    """One thing in a picture. ``name``: its class, empty while nobody has said. Edges in 0..1 of the picture, left before
    right and top before bottom. ``by``: who drew it; ``score`` 0..1 how sure that was, None for a person."""

    name: str
    left: float
    top: float
    right: float
    bottom: float
    by: By = "person"
    score: float | None = None

    @property
    def centre_size(self) -> tuple[float, float, float, float]:
        """Centre x, centre y, width, height in 0..1."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2, self.right - self.left, self.bottom - self.top

    def to_json(self) -> dict[str, Any]:
        edges = [round(v, 6) for v in (self.left, self.top, self.right, self.bottom)]
        return {"class": self.name, "box": edges, "by": self.by, **({"score": round(self.score, 4)} if self.score is not None else {})}


def clipped(name: str, edges: tuple[float, float, float, float], by: By, score: float | None = None) -> Box | None:
    """A box cut to the picture; None when nothing of it lies inside, or a number is none."""
    if not all(math.isfinite(v) for v in edges):
        return None
    left, top, right, bottom = (min(max(v, 0.0), 1.0) for v in edges)
    return Box(name, left, top, right, bottom, by, score) if right - left > 1e-6 and bottom - top > 1e-6 else None


def from_centre(name: str, centre: tuple[float, float, float, float], by: By, score: float | None = None) -> Box | None:
    """The box of centre x, centre y, width, height in 0..1, cut to the picture; None when nothing is left."""
    x, y, width, height = centre
    return clipped(name, (x - width / 2, y - height / 2, x + width / 2, y + height / 2), by, score) if width > 0 and height > 0 else None


@dataclass(frozen=True, slots=True)
class Labelled:
    """One picture of a folder of labels. ``stem``: its file's name without the ending; ``picture``: the file itself, None when
    the folder does not hold it; ``size``: width, height in px where it is known; ``dropped``: boxes of it that were of no use."""

    stem: str
    boxes: tuple[Box, ...]
    picture: Path | None = None
    size: tuple[int, int] | None = None
    dropped: int = 0


@dataclass(slots=True)
class ReadLabels:
    """What was found in a folder or file of labels, and what was not used. ``names``: the classes that it knows.

    ``empty``: pictures with nothing in them, which is a label too; ``missing``: pictures without labels; ``corrupt``:
    files that cannot be read; ``cut``: boxes that were cut to the picture; ``dropped``: boxes that were of no use;
    ``useless``: pictures with no other boxes, which are not among ``pictures``: something is there, and nobody knows where.
    """

    format: str
    names: tuple[str, ...] = ()
    pictures: list[Labelled] = field(default_factory=list[Labelled])
    empty: int = 0
    missing: int = 0
    corrupt: int = 0
    cut: int = 0
    dropped: int = 0
    useless: int = 0
    remarks: list[str] = field(default_factory=list[str])

    def remark(self, text: str) -> None:
        if text not in self.remarks and len(self.remarks) < 20:
            self.remarks.append(text)

    def keep(self, box: Box | None, edges: tuple[float, float, float, float]) -> list[Box]:
        """The box as a list of one, or of none, counted."""
        if box is None:
            self.dropped += 1
            return []
        self.cut += any(abs(a - b) > 2e-3 for a, b in zip((box.left, box.top, box.right, box.bottom), edges, strict=True))
        return [box]

    def add(self, picture: Labelled) -> None:
        """Count a picture and keep it, unless all of its boxes were dropped."""
        if picture.dropped and not picture.boxes:
            self.useless += 1
            return
        self.pictures.append(picture)
        self.empty += not picture.boxes


def read_text(path: Path, limit: int = LARGEST_TEXT_BYTES) -> str:
    """A text file whose size was looked at first. Raises BoxesError."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise BoxesError(f"{path} has {size / 1e6:.1f} MB; such a file has at most {limit / 1e6:.0f}")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BoxesError(f"{path} is not text in UTF-8") from error
    except OSError as error:
        raise BoxesError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_json(path: Path) -> Any:
    """A JSON file whose size was looked at first. Raises BoxesError."""
    text = read_text(path, LARGEST_JSON_BYTES)
    try:
        return from_json(text)
    except ValueError as error:
        raise BoxesError(f"{path} is not JSON: {error}") from error


def files_below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The plain files of a folder with these endings, by name. Links are passed over: they lead elsewhere.

    Raises BoxesError when there are more than ``MOST_FILES``.
    """
    if not folder.is_dir() or folder.is_symlink():
        return
    for number, path in enumerate(sorted(folder.iterdir())):
        if number >= MOST_FILES:
            raise BoxesError(f"{folder} holds more than {MOST_FILES} files; give a smaller one")
        if path.suffix.lower() in suffixes and path.is_file() and not path.is_symlink():
            yield path


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height in px of a PNG or JPEG file, from its head, before anything is decoded. Raises BoxesError."""
    try:
        if path.stat().st_size > LARGEST_PICTURE_BYTES:
            raise BoxesError(f"{path.name}: a picture of more than {LARGEST_PICTURE_BYTES // 1_000_000} MB is not taken")
        with path.open("rb") as file:
            head = file.read(262_144)
    except OSError as error:
        raise BoxesError(f"{path}: cannot be read: {error.strerror or error}") from error
    size = struct.unpack(">II", head[16:24]) if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24 else _jpeg_size(head)
    if size is None:
        raise BoxesError(f"{path.name} is neither a PNG nor a JPEG file")
    width, height = int(size[0]), int(size[1])
    if not (1 <= width <= LARGEST_SIDE_PX and 1 <= height <= LARGEST_SIDE_PX) or width * height > 64_000_000:
        raise BoxesError(f"{path.name} says that it has {width}x{height} px; at most 64 million are taken")
    return width, height


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """From the frame header (ISO/IEC 10918-1, B.2.2), skipping the segments before it."""
    at = 2
    while head[:2] == b"\xff\xd8" and at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 1 if marker == 0xFF else 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return None
