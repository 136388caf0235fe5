"""What a person says of a session afterwards: a title, tags, a note. In a file of its own: the recording stays untouched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json, set_aside, write_json
from data.locks import edit_lock
from data.text import text_refusal

ANNOTATIONS_NAME: Final = "annotations.json"
LONGEST_TITLE: Final = 120
LONGEST_TAG: Final = 40
LONGEST_NOTE: Final = 4000


class AnnotationError(ValueError):
    """A title, tag or note that cannot be kept; says why."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """``tags`` are in the order they were given, none twice. ``problem``: why the file could not be read, else empty."""

    title: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "tags": list(self.tags), "note": self.note}


def read(folder: Path) -> Annotations:
    """What is said of a session folder; nothing when nobody said anything. Never raises for what the file holds."""
    path = folder / ANNOTATIONS_NAME
    try:
        value: Any = from_json(path.read_bytes())
    except FileNotFoundError:
        return Annotations()
    except OSError as error:
        return Annotations(problem=f"{ANNOTATIONS_NAME}: {error.strerror or error}")
    except ValueError:
        return Annotations(problem=f"{ANNOTATIONS_NAME}: is not whole JSON; it is set aside when something new is said")
    if not isinstance(value, dict):
        return Annotations(problem=f"{ANNOTATIONS_NAME}: holds no JSON object; it is set aside when something new is said")
    said = cast("Mapping[str, Any]", value)
    title, tags, note = said.get("title", ""), said.get("tags", []), said.get("note", "")
    if not isinstance(title, str) or not isinstance(note, str) or not isinstance(tags, list):
        return Annotations(problem=f"{ANNOTATIONS_NAME}: title and note must be text, tags a list")
    given = cast("list[Any]", tags)
    return Annotations(title, tuple(str(tag) for tag in given), note)


def write(folder: Path, annotations: Annotations) -> None:
    """Replaces what is said of a session. A file that cannot be read is kept as ``annotations.json.corrupt``.

    Raises AnnotationError for text that cannot be kept, OSError when the disk refuses.
    """
    _check(annotations)
    with edit_lock(folder):
        _replace(folder, annotations)


def update(
    folder: Path, *, title: str | None = None, note: str | None = None, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Annotations:
    """Changes a part of what is said and leaves the rest, also when two do so at once. Returns what is said now.

    Raises as ``write`` does, and AnnotationError for a tag to remove that is not there.
    """
    with edit_lock(folder):
        said = read(folder)
        gone = tuple(remove)
        if absent := [tag for tag in gone if tag not in said.tags]:
            raise AnnotationError(f"{folder.name} has no tag {', '.join(absent)}; it has {', '.join(said.tags) or 'none'}")
        tags = tuple(dict.fromkeys([*(tag for tag in said.tags if tag not in gone), *(tag.strip() for tag in add)]))
        new = Annotations(said.title if title is None else title.strip(), tags, said.note if note is None else note.strip())
        _check(new)
        _replace(folder, new)
    return new


def _replace(folder: Path, annotations: Annotations) -> None:
    if read(folder).problem:
        set_aside(folder / ANNOTATIONS_NAME)
    write_json(folder / ANNOTATIONS_NAME, annotations.to_json())


def _check(said: Annotations) -> None:
    if len(said.title) > LONGEST_TITLE or not said.title.isprintable():
        raise AnnotationError(f"a title is one line of at most {LONGEST_TITLE} letters")
    if len(said.note) > LONGEST_NOTE:
        raise AnnotationError(f"a note has at most {LONGEST_NOTE} letters, not {len(said.note)}")
    if refusal := text_refusal(said.note):
        raise AnnotationError(f"the note cannot be kept: {refusal}")
    for tag in said.tags:
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable() or any(letter.isspace() or letter == "," for letter in tag):
            raise AnnotationError(f"tag {tag!r}: a tag is one word of at most {LONGEST_TAG} letters, without commas")
