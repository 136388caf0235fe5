"""What a person says of a session stands beside the recording, and a damaged file of it costs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data.annotations import ANNOTATIONS_NAME, AnnotationError, Annotations, read, update, write
from data.catalog import list_sessions
from tests.support.sessions import write_session


def test_what_is_said_is_read_back_and_the_recording_is_not_touched(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 5)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert read(folder) == Annotations()
    said = Annotations("Erster Flug – ほし", ("good", "für-später"), "zwei\nZeilen 🎮")
    write(folder, said)
    assert read(folder) == said
    assert {name: (folder / name).read_bytes() for name in before} == before
    (info,) = list_sessions(tmp_path)
    assert (info.title, info.tags, info.note) == (said.title, said.tags, said.note)


def test_a_part_is_changed_and_the_rest_stays(tmp_path: Path) -> None:
    folder = write_session(tmp_path, 5)
    update(folder, title="one", add=["a", "b"])
    update(folder, note=" a note ")
    assert update(folder, add=["c", "a"], remove=["b"]) == Annotations("one", ("a", "c"), "a note")
    assert update(folder, title="", note="") == Annotations("", ("a", "c"), "")
    with pytest.raises(AnnotationError, match=r"has no tag z; it has a, c"):
        update(folder, remove=["z"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"title": "x" * 121}, "one line of at most 120"),
        ({"title": "two\nlines"}, "one line"),
        ({"note": "x" * 4001}, "at most 4000 letters, not 4001"),
        ({"note": "\x1b[31mred"}, "the note cannot be kept: it has a control character"),
        ({"note": "half a letter \udcc3"}, "the note cannot be kept: it is no UTF-8 text"),
        ({"title": "half a letter \udcc3"}, "one line"),
        ({"add": ["two words"]}, "a tag is one word"),
        ({"add": ["a,b"]}, "without commas"),
        ({"add": [""]}, "a tag is one word"),
        ({"add": ["\x1b[31m"]}, "a tag is one word"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(tmp_path: Path, said: dict[str, list[str]], told: str) -> None:
    folder = write_session(tmp_path, 5)
    write(folder, Annotations("one"))
    with pytest.raises(AnnotationError, match=told):
        update(folder, **said)  # type: ignore[arg-type]
    assert read(folder) == Annotations("one")


@pytest.mark.parametrize("content", [b"", b'{"title": "on', bytes(40), b"[]", b'{"tags": 5}', b'{"title": 5}'])
def test_a_damaged_file_is_told_and_kept_when_something_new_is_said(tmp_path: Path, content: bytes) -> None:
    folder = write_session(tmp_path, 5)
    (folder / ANNOTATIONS_NAME).write_bytes(content)
    (info,) = list_sessions(tmp_path)
    assert (info.state, info.frames) == ("saved", 5)
    assert info.reason.startswith("annotations.json: ")
    update(folder, title="new")
    assert read(folder) == Annotations("new")
    assert (folder / f"{ANNOTATIONS_NAME}.corrupt").read_bytes() == content
    assert list_sessions(tmp_path)[0].reason == ""
    assert json.loads((folder / ANNOTATIONS_NAME).read_bytes())["title"] == "new"
