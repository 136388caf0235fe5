"""Object classes out of a file: a YOLO data set's names, a list of names, or a detector's card."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from data.files import from_json
from data.profile import ObjectClass
from engine.game_builder import DraftError, classes_of_names

LARGEST_BYTES: Final = 1_000_000


def classes_of_file(path: Path) -> tuple[ObjectClass, ...]:
    """The classes that a file names, in its order: ``names`` of a YOLO ``data.yaml``, ``classes`` of a detector's card
    (``.json``), else one name a line. Roles are guessed from the names. Raises DraftError."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise DraftError(f"{path} is too large for a list of names")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DraftError(f"{path} is not text; give a data.yaml, a detector's .json card, or a file with one name a line") from error
    except OSError as error:
        raise DraftError(f"{path}: cannot be read: {error.strerror or error}") from error
    if path.suffix.lower() in (".yaml", ".yml"):
        names = _of_yaml(path, text)
    elif path.suffix.lower() == ".json":
        names = _of_card(path, text)
    else:
        names = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not names:
        raise DraftError(f"{path} names no class")
    return classes_of_names(names)


def _of_yaml(path: Path, text: str) -> list[str]:
    yaml: Any = import_module("yaml")
    try:
        raw: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DraftError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    names: Any = cast("dict[str, Any]", raw).get("names") if isinstance(raw, dict) else None
    if isinstance(names, dict):  # {0: me, 1: foe}, in the order of the numbers
        numbered = cast("dict[Any, Any]", names)
        if sorted(numbered, key=str) != sorted(range(len(numbered)), key=str):
            raise DraftError(f"{path}: names are not numbered from 0 without a gap")
        return [str(numbered[number]) for number in range(len(numbered))]
    if isinstance(names, list):
        return [str(name) for name in cast("list[Any]", names)]
    raise DraftError(f"{path} has no list `names`, as a YOLO data set's data.yaml has")


def _of_card(path: Path, text: str) -> list[str]:
    try:
        raw: Any = from_json(text)
    except ValueError as error:
        raise DraftError(f"{path} is not JSON: {error}") from error
    classes: Any = cast("dict[str, Any]", raw).get("classes") if isinstance(raw, dict) else None
    if not isinstance(classes, list):
        raise DraftError(f"{path} has no list `classes`, as a detector's card has")
    return [str(name) for name in cast("list[Any]", classes)]
