"""The figures of sessions that were counted before: reading every step of every session takes minutes, listing them none.

A file in the workspace's cache, which may be deleted at any time. An entry holds while the session's folder and small
files are as they were, and the code that counts is the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from data import copies, hindsight, labels, purposes, statistics, track_lookup, windows
from data.catalog import SessionInfo
from data.files import from_json, write_whole
from data.progress import Progress, Report, ignore
from data.session_index import stamps
from data.statistics import STRATEGIST_HISTORY, SessionStatistics, Statistics, session_statistics

CACHE_NAME: Final = "statistics.json"
SAVE_EVERY: Final = 20
_FIELDS: Final = tuple(field.name for field in dataclasses.fields(SessionStatistics))


class StatisticsCache:
    """Used by one thread, for one look at the sessions. A file that cannot be read or written costs only time."""

    def __init__(self, cache: Path, history: int = STRATEGIST_HISTORY) -> None:
        self._path = cache / CACHE_NAME
        self._history = history
        self._made_by = _made_by(history)
        self._entries = _load(self._path, self._made_by)
        self._changed = False

    def known(self, folder: Path) -> SessionStatistics | None:
        """What was counted of a session that has not changed since; None when it must be counted."""
        entry = self._entries.get(folder.name)
        try:
            if entry is None or entry["key"] != stamps(folder):
                return None
            said: dict[str, Any] = dict(zip(_FIELDS, entry["said"], strict=True))
            said |= {name: tuple(said[name]) for name in ("suspicious", "made_of", "clock")}
            return SessionStatistics(**said)
        except (OSError, LookupError, ValueError, TypeError):
            return None

    def forget(self) -> None:
        """Believe nothing that was counted before."""
        self._entries, self._changed = {}, True

    def count(self, folder: Path) -> SessionStatistics:
        """Count a session and remember it. Raises SessionError, OSError."""
        key = stamps(folder)  # what changes while it is read is read anew the next time
        found = session_statistics(folder, self._history)
        self._entries[folder.name] = {"key": key, "said": [getattr(found, name) for name in _FIELDS]}
        self._changed = True
        return found

    def save(self, keep: Iterable[str] | None = None) -> None:
        """Write what is known; with ``keep`` only of the sessions of these names."""
        entries = self._entries if keep is None else {name: self._entries[name] for name in keep if name in self._entries}
        if not self._changed and entries.keys() == self._entries.keys():
            return
        content = json.dumps({"made_by": self._made_by, "sessions": entries}, ensure_ascii=False, separators=(",", ":"))
        with suppress(OSError):  # a workspace that cannot be written is counted all the same
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, content.encode("utf-8"))
            self._entries, self._changed = entries, False


def gather(
    sessions: Sequence[Path],
    cache: StatisticsCache,
    report: Report = ignore,
    each: Callable[[SessionStatistics], object] | None = None,
) -> Statistics:
    """Count what is not known yet, session by session. each: called as soon as one is there. What was counted is kept, also
    when ``report`` raises to stop it; a session that cannot be read is named and left out."""
    done: list[SessionStatistics] = []
    unreadable: dict[str, str] = {}
    try:
        for number, folder in enumerate(sessions):
            report(Progress(f"{number + 1} of {len(sessions)}: {folder.name}", number / max(1, len(sessions))))
            try:
                found = cache.known(folder) or cache.count(folder)
            except (OSError, ValueError, RuntimeError) as error:
                unreadable[folder.name] = str(error)
                continue
            done.append(found)
            if each is not None:
                each(found)
            if number % SAVE_EVERY == SAVE_EVERY - 1:
                cache.save()
    finally:
        cache.save()
    return Statistics(tuple(done), unreadable)


def countable(sessions: Iterable[SessionInfo]) -> list[Path]:
    """The folders of sessions that are not being recorded now, which have no figures yet."""
    return [info.folder for info in sessions if not info.live]


def _made_by(history: int) -> str:
    """Tells apart what counts: other rules for modes or windows give other figures for the same session."""
    digest = hashlib.sha256(f"{history} {_FIELDS}".encode())
    for module in (statistics, copies, hindsight, purposes, track_lookup, windows, labels):
        with suppress(OSError):
            digest.update(Path(module.__file__ or "").read_bytes())
    return digest.hexdigest()[:16]


def _load(path: Path, made_by: str) -> dict[str, dict[str, Any]]:
    """The entries of a file that is whole and made by the same code; none of any other."""
    try:
        value: Any = from_json(path.read_bytes())
        if value["made_by"] != made_by:
            return {}
        return {str(name): entry for name, entry in value["sessions"].items() if isinstance(entry, dict)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
