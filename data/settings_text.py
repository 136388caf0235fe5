"""What is said of a setting: its place, its value, and what is allowed there."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from data.settings import Settings

Path = tuple[str | int, ...]
"""Where a value stands: table, key, and indices inside lists."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One value that cannot be used, or a key that is not known."""

    path: Path
    saying: str
    culprit: Path = ()
    """What to leave out, where that is not the value at ``path`` itself."""

    def place(self) -> str:
        """``[table] key``"""
        keys = [str(key) for key in self.path]
        if not keys:
            return ""
        if len(keys) == 1:
            return f"[{keys[0]}]" if keys[0] in Settings.model_fields and keys[0] != "game" else keys[0]
        named = 2 if keys[0] == "games" else len([k for k in self.path[:-1] if isinstance(k, str)])
        named = min(named, len(keys))
        return f"[{'.'.join(keys[:named])}] {'.'.join(keys[named:])}".strip()

    def text(self, file: str, origins: Mapping[Path, str]) -> str:
        """The whole line. ``origins`` tells which values did not come from the file."""
        for length in range(len(self.path), 0, -1):
            if self.path[:length] in origins:
                return f"{origins[self.path[:length]]}: {self.saying}"
        place = self.place()
        return f"{file} {place}: {self.saying}" if place else f"{file}: {self.saying}"


def problem_of(raw: Mapping[str, Any], error: ErrorDetails) -> Problem:
    """What one validation error means to a person. ``raw`` are the values that were checked."""
    path = tuple(key for key in error["loc"] if key != "[key]")
    if error["type"] == "value_error":
        cause = error.get("ctx", {}).get("error")
        return Problem(path, str(cause if cause is not None else error["msg"]), getattr(cause, "path", ()))
    field = _field_at(path)
    if error["type"] == "missing":
        return Problem(path, f"is missing; use {allowed(field)}" if field else "is missing")
    if error["type"] in {"model_type", "model_attributes_type", "dict_type"}:
        return Problem(path, f"{_shown(error['input'])} is not a table; write its keys below a [{'.'.join(map(str, path))}] line")
    if field is None:
        return Problem(path, f"{_shown(error['input'])}: {error['msg'][:1].lower()}{error['msg'][1:]}")
    return Problem(path, f"{_shown(error['input'])} is not {noun(field)}; use {allowed(field)}")


def sift(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The values without the keys that no model knows, and a line for each of those keys."""
    unknown: list[Problem] = []
    return _sift(raw, Settings, (), unknown), unknown


def _sift(raw: Mapping[str, Any], model: type[BaseModel], path: Path, unknown: list[Problem]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key, value in raw.items():
        field = model.model_fields.get(key)
        if field is None:
            what = "table" if isinstance(value, dict) else "key"
            unknown.append(Problem((*path, key), f"no such {what}, it is left alone; known: {', '.join(sorted(model.model_fields))}"))
            continue
        known[key] = _sift_value(value, field.annotation, (*path, key), unknown)
    return known


def _sift_value(value: Any, annotation: Any, path: Path, unknown: list[Problem]) -> Any:
    annotation = _bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and isinstance(value, dict):
        return _sift(cast(dict[str, Any], value), annotation, path, unknown)
    inner = get_args(annotation)
    if get_origin(annotation) is tuple and isinstance(value, list | tuple):
        return [_sift_value(one, inner[0], (*path, n), unknown) for n, one in enumerate(cast(list[Any], value))]
    if get_origin(annotation) is dict and isinstance(value, dict):
        return {k: _sift_value(v, inner[1], (*path, k), unknown) for k, v in cast(dict[str, Any], value).items()}
    if isinstance(value, bool) and annotation in (int, float):
        return str(value).lower()  # Python takes true for 1; a person who writes it means something else
    return value


def _bare(annotation: Any) -> Any:
    """The type without ``| None``."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next((a for a in get_args(annotation) if a is not type(None)), annotation)
    return annotation


def annotation_at(path: Path) -> Any:
    """The type of the setting at a place, or None when there is none."""
    field = _field_at(path)
    return _bare(field.annotation) if field else None


def _field_at(path: Path) -> FieldInfo | None:
    annotation: Any = Settings
    field: FieldInfo | None = None
    for key in path:
        annotation = _bare(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(key))
            if field is None:
                return None
            annotation = field.annotation
        elif get_origin(annotation) is dict:
            field, annotation = None, get_args(annotation)[1]
        else:
            return None  # inside a list: the model's own words serve
    return field


def noun(field: FieldInfo) -> str:
    """What a value of this field is: "a rate", "a whole number" …"""
    extra: Any = field.json_schema_extra
    if isinstance(extra, dict) and "noun" in extra:
        return str(cast(dict[str, Any], extra)["noun"])
    annotation = _bare(field.annotation)
    if annotation is bool:
        return "true or false"
    if annotation is int:
        return "a whole number" if not field.metadata else "in range"
    if annotation is float:
        return "a number" if not field.metadata else "in range"
    return "text" if annotation is str else "possible here"


def allowed(field: FieldInfo) -> str:
    """What may stand there: "1 to 240", "one of auto, cpu, cuda" …"""
    annotation = _bare(field.annotation)
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if annotation is bool:
        return "true or false"
    low = next((m for m in field.metadata if isinstance(m, Ge | Gt)), None)
    high = next((m for m in field.metadata if isinstance(m, Le | Lt)), None)
    if annotation in (int, float):
        what = "a whole number" if annotation is int else "a number"
        floor = None if low is None else (f"{_limit(low)}" if isinstance(low, Ge) else f"above {_limit(low)}")
        ceiling = None if high is None else (f"{_limit(high)}" if isinstance(high, Le) else f"below {_limit(high)}")
        if floor is not None and ceiling is not None:
            return f"{floor} to {ceiling}" if isinstance(low, Ge) else f"a number {floor}, at most {ceiling}"
        if floor is not None:
            return f"{what} of at least {floor}"
        return what if ceiling is None else f"{what} of at most {ceiling}"
    if annotation is str:
        longest = next((m.max_length for m in field.metadata if isinstance(m, MaxLen)), None)
        shortest = next((m.min_length for m in field.metadata if isinstance(m, MinLen)), 0)
        ends = f" of at most {longest} characters" if longest else ""
        return f"text{ends}{', not empty' if shortest else ''}"
    return field.description or "what the documentation says"


def _limit(bound: Ge | Gt | Le | Lt) -> Any:
    return next(getattr(bound, name) for name in ("ge", "gt", "le", "lt") if hasattr(bound, name))


def _shown(value: Any) -> str:
    text = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
