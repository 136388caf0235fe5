"""Plain JSON back into frozen dataclasses, for what another process sent.

Only what a snapshot is made of: dataclasses, tuples, dictionaries, literals, optional values and plain scalars. Fields
that are not known here are left out and missing ones keep their defaults, so that two versions that differ a little
understand each other; a value of the wrong kind is an error that names its place.
"""

from __future__ import annotations

import dataclasses
import types
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def restored(kind: type[T], value: object, where: str = "") -> T:
    """``value`` as a ``kind``. Raises ValueError."""
    return cast("T", _restored(kind, value, where or kind.__name__))


@cache
def _fields(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _restored(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise _wrong(where, value, "an object")
        given = cast("dict[str, Any]", value)
        known = {name: _restored(hint, given[name], f"{where}.{name}") for name, hint in _fields(kind).items() if name in given}
        try:
            return cast("Any", kind)(**known)
        except TypeError as error:  # a field without a default is missing
            raise ValueError(f"{where}: {error}") from error
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(where, value, f"one of {', '.join(map(str, arguments))}")
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _restored(next(a for a in arguments if a is not type(None)), value, where)
    if origin is tuple:
        return _restored_tuple(arguments, value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(where, value, "an object")
        return {str(k): _restored(arguments[1], v, f"{where}.{k}") for k, v in cast("dict[Any, Any]", value).items()}
    return _restored_scalar(kind, value, where)


def _restored_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(where, cast("object", value), "a list")
    values = cast("list[Any]", value)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(values)
    if len(kinds) != len(values):
        raise _wrong(where, values, f"a list of {len(kinds)}")
    return tuple(_restored(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, values, strict=True)))


def _restored_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _wrong(where, value, f"of kind {kind.__name__}")
    return value


def _wrong(where: str, value: object, wanted: str) -> ValueError:
    return ValueError(f"{where}: {str(value)[:60]!r} is not {wanted}")
