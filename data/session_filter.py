"""Which sessions are meant, and in which order: the filter and the columns that lists of sessions offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, get_args

from data.catalog import SessionInfo

Column = Literal["id", "started", "kind", "game", "state", "length", "frames", "events", "steps", "size", "labels", "title", "tags"]
COLUMNS: Final[tuple[str, ...]] = get_args(Column)

_KEYS: Final[dict[str, Callable[[SessionInfo], Any]]] = {
    "id": lambda s: s.id,
    "started": lambda s: (s.started_at, s.id),
    "kind": lambda s: s.kind,
    "game": lambda s: s.game,
    "state": lambda s: s.state,
    "length": lambda s: s.duration_s,
    "frames": lambda s: s.frames,
    "events": lambda s: s.events,
    "steps": lambda s: s.steps,
    "size": lambda s: s.size_bytes,
    "labels": lambda s: s.labels,
    "title": lambda s: (not s.title, s.title.casefold()),  # those without one come last
    "tags": lambda s: (not s.tags, s.tags),
}


class FilterError(ValueError):
    """A filter that cannot be understood; says why and what can be."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a session must be; an empty part lets all through. ``tags``: all of these. ``text``: each of its words in the
    id, title, tags or note, whatever the case. ``since``, ``until``: days (UTC) on which it may have begun, both included.
    """

    kind: str = ""
    game: str = ""
    state: str = ""
    tags: tuple[str, ...] = ()
    text: str = ""
    since: date | None = None
    until: date | None = None

    def passes(self, info: SessionInfo) -> bool:
        said = " ".join((info.id, info.title, *info.tags, info.note)).casefold()
        return (
            self.kind in ("", info.kind)
            and self.game in ("", info.game)
            and self.state in ("", "recording" if info.live else info.state)
            and set(self.tags) <= set(info.tags)
            and all(word in said for word in self.text.casefold().split())
            and self._began_in_time(info)
        )

    def _began_in_time(self, info: SessionInfo) -> bool:
        if self.since is None and self.until is None:
            return True
        try:
            began = datetime.fromisoformat(info.started_at).astimezone(UTC).date()
        except ValueError:
            return False
        return (self.since is None or began >= self.since) and (self.until is None or began <= self.until)


def ordered(infos: Iterable[SessionInfo], column: Column = "id", *, reverse: bool = False) -> list[SessionInfo]:
    """The sessions in the order of a column; equal ones stay by id."""
    return sorted(sorted(infos, key=lambda s: s.id), key=_KEYS[column], reverse=reverse)


def chosen(infos: Sequence[SessionInfo], wanted: SessionFilter) -> list[SessionInfo]:
    return [info for info in infos if wanted.passes(info)]


def day(text: str, today: date | None = None) -> date:
    """A day: ``2026-11-28``, ``today``, ``yesterday``, or ``7d`` (so many days ago). Raises FilterError."""
    now = today or datetime.now(UTC).date()
    given = text.strip().casefold()
    if given in ("today", "yesterday"):
        return now - timedelta(days=given == "yesterday")
    try:
        return now - timedelta(days=int(given[:-1])) if given.endswith("d") else date.fromisoformat(given)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{text!r} is not a day; write 2026-11-28, today, yesterday or 7d") from error
