"""Which sessions a list shows, and in which order."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from data.catalog import SessionInfo
from data.session_filter import COLUMNS, FilterError, SessionFilter, chosen, day, ordered


def info(number: int, **values: object) -> SessionInfo:
    given: dict[str, object] = {
        "kind": "play", "game": "arena", "state": "saved", "duration_s": float(number), "frames": 10 * number, "events": 5, "steps": 5,
        "size_bytes": 1000 - number, "started_at": f"2026-11-{number:02}T23:30:00.000+00:00", **values,
    }  # fmt: skip
    return SessionInfo(id=f"202611{number:02}T233000Z_play_arena", folder=Path(), **given)  # type: ignore[arg-type]


SESSIONS = [
    info(3, title="Big fight", tags=("good", "boss")),
    info(1, kind="bot", note="lost at once", labels=4),
    info(2, game="space", state="recovered", tags=("good",), started_at=""),
    info(4, state="recording", live=True),
]


def days(wanted: SessionFilter) -> list[int]:
    return [int(session.id[6:8]) for session in chosen(SESSIONS, wanted)]


def test_each_part_of_the_filter_narrows_the_list() -> None:
    assert days(SessionFilter()) == [3, 1, 2, 4]
    assert days(SessionFilter(kind="bot")) == [1]
    assert days(SessionFilter(game="space")) == [2]
    assert days(SessionFilter(state="recording")) == [4]
    assert days(SessionFilter(tags=("good",))) == [3, 2]
    assert days(SessionFilter(tags=("good", "boss"))) == [3]
    assert days(SessionFilter(text="BIG good")) == [3]
    assert days(SessionFilter(text="lost")) == [1]
    assert days(SessionFilter(text="20261104")) == [4]
    assert days(SessionFilter(since=date(2026, 11, 3))) == [3, 4]
    assert days(SessionFilter(until=date(2026, 11, 3))) == [3, 1]  # what has no date lies in no stretch of days
    assert days(SessionFilter(kind="play", tags=("good",), until=date(2026, 11, 3))) == [3]


@pytest.mark.parametrize("column", COLUMNS)
def test_any_column_sorts_and_reversed_is_the_other_way_round(column: str) -> None:
    keys = {
        "length": lambda s: s.duration_s, "size": lambda s: s.size_bytes, "started": lambda s: s.started_at,
        "title": lambda s: (not s.title, s.title), "tags": lambda s: (not s.tags, s.tags),
    }  # fmt: skip
    key = keys.get(column, lambda s: getattr(s, column))
    up = ordered(SESSIONS, column)  # type: ignore[arg-type]
    down = ordered(SESSIONS, column, reverse=True)  # type: ignore[arg-type]
    assert [key(s) for s in up] == sorted(key(s) for s in SESSIONS)
    assert [key(s) for s in down] == [key(s) for s in reversed(up)]


def test_days_are_understood() -> None:
    today = date(2026, 3, 1)
    assert day("2026-02-11") == date(2026, 2, 11)
    assert [day(text, today) for text in ("today", "Yesterday", "7d")] == [today, date(2026, 2, 28), date(2026, 2, 22)]
    for text in ("", "d", "tomorrow", "11.2.2026", "99999999999d"):
        with pytest.raises(FilterError, match="is not a day; write"):
            day(text)
