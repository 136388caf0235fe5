"""JSON that may come from anywhere: a value, or ValueError."""

from __future__ import annotations

import json

import pytest

from data.files import from_json


def test_what_is_ours_comes_back() -> None:
    value = {"a": [1, -2, 2**64 - 1, 2**127], "b": {"c": None, "d": [1.5, "é"]}}
    assert from_json(json.dumps(value)) == from_json(json.dumps(value).encode()) == value


def test_who_looks_at_each_number_gets_them_all() -> None:
    assert from_json("[" + "9" * 400 + "]", any_number=True) == [int("9" * 400)]
    with pytest.raises(ValueError, match="nested too deep"):
        from_json("[" * 100_000, any_number=True)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 400, f"[-{'9' * 41}]", str(2**128), "9" * 5000, b"\xff", b"\xff\xfe["]
)
def test_what_cannot_be_read_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)
