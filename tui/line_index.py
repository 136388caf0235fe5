"""Lines of large log files by number, without reading the files whole: offsets in a table, filters in a thread.

A file of half a million lines is indexed in parts of a quarter megabyte, so that no other thread waits for it; what
is looked at is read when it is looked at.
"""

from __future__ import annotations

import os
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PART_BYTES: Final = 262_144
PART_LINES: Final = 2_000
TAIL_BYTES: Final = 65_536
LONGEST_LINE: Final = 4_000
"""What is read of one line at most."""
POLL_S: Final = 0.5
TELL_S: Final = 0.05
"""How often a search tells what it has found so far."""
LEVELS: Final = ("debug", "info", "warning", "error")
_BELOW: Final = {0: b"", 1: b"D", 2: b"DI", 3: b"DIW"}
"""How the words of the levels begin that a level leaves out."""
_LEVEL_AT: Final = 24
"""Where the level stands in a line of our log: behind ``2026-11-27 20:31:07,123 ``."""


@dataclass(slots=True)
class _File:
    """One file: where its whole lines begin, and how far it has been looked through."""

    path: Path
    identity: tuple[int, int]
    starts: array[int] = field(default_factory=lambda: array("Q"))
    size: int = 0
    """Bytes of whole lines."""
    searched: tuple[int, int] = (0, 0)
    """The numbers of the lines that the filter has looked at, first and behind the last."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are shown: those with ``words`` (in any case), from ``level`` on."""

    words: str = ""
    level: int = 0

    @property
    def keeps_all(self) -> bool:
        return not self.words and self.level == 0


class LineIndex:
    """``paths`` are asked anew each time, oldest first; the last one grows. ``changed`` is called from the thread."""

    def __init__(self, paths: Callable[[], Sequence[Path]], changed: Callable[[], object] = lambda: None) -> None:
        self._paths = paths
        self._changed = changed
        self._lock = threading.Lock()
        self._files: list[_File] = []
        self._filter = Filter()
        self._older = array("Q")
        """Matches from where the filter began backwards, falling; ``_newer`` those behind it, growing."""
        self._newer = array("Q")
        self._ready = False
        self._searched_for = Filter()
        self._told_s = 0.0
        self._ending = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="secondseat-lines", daemon=True)

    # ---- from the face

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._wake.set()

    @property
    def ready(self) -> bool:
        """Whether everything that was there at the beginning is in the table."""
        return self._ready

    @property
    def settled(self) -> bool:
        """Whether all of it has been looked through for the filter."""
        return self._ready and self._searched_for == self._filter

    def count(self) -> int:
        """How many lines can be shown."""
        with self._lock:
            return self._count()

    def at_end(self) -> int:
        """Grows by one with each line that comes to stand below the others; for who looks at older ones."""
        with self._lock:
            return self._count() if self._filter.keeps_all else len(self._newer)

    def _count(self) -> int:
        if self._filter.keeps_all:
            return sum(len(file.starts) for file in self._files)
        return len(self._older) + len(self._newer)

    def set_filter(self, wanted: Filter) -> None:
        """Show other lines. Those at the end are found first."""
        with self._lock:
            if wanted == self._filter:
                return
            self._filter = wanted
            self._begin_search()
        self._wake.set()

    def _begin_search(self) -> None:
        self._older, self._newer = array("Q"), array("Q")
        for file in self._files:
            file.searched = (len(file.starts), len(file.starts))

    def lines(self, back: int, count: int) -> list[str]:
        """``count`` lines that end ``back`` lines before the last one; fewer where there are fewer."""
        with self._lock:
            end = max(0, self._count() - max(0, back))
            numbers = [self._number(i) for i in range(max(0, end - count), end)]
            places = [place for number in numbers if (place := self._place(number)) is not None]
        return list(_read(places))

    def _number(self, shown: int) -> int:
        if self._filter.keeps_all:
            return shown
        older = len(self._older)
        return self._older[older - 1 - shown] if shown < older else self._newer[shown - older]

    def newest(self, count: int) -> list[str]:
        """The last lines, for the moment before the table is made."""
        found: list[bytes] = []
        for path in reversed(self._paths()):
            try:
                with path.open("rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - TAIL_BYTES))
                    lines = file.read(TAIL_BYTES).split(b"\n")
            except OSError:
                continue
            found = [*lines[1 if size > TAIL_BYTES else 0 : -1], *found]
            if len(found) >= count:
                break
        return [line.decode("utf-8", "replace") for line in found[-count:]]

    def _place(self, number: int) -> tuple[Path, int, int] | None:
        for file in self._files:
            if number < len(file.starts):
                start = file.starts[number]
                end = file.starts[number + 1] if number + 1 < len(file.starts) else file.size
                return file.path, start, min(end - start, LONGEST_LINE)
            number -= len(file.starts)
        return None

    # ---- the thread

    def _run(self) -> None:
        while not self._ending:
            if self.update():
                self._changed()
            self._wake.wait(POLL_S)
            self._wake.clear()

    def update(self) -> bool:
        """Take up new lines and look through the rest for the filter, the end first; whether anything changed."""
        changed = self._follow_files()
        for file in list(self._files):
            changed |= self._index(file)
        wanted = self._filter
        if not wanted.keeps_all:
            for number in reversed(range(len(self._files))):
                changed |= self._search_back(number, wanted)
            for number in range(len(self._files)):
                changed |= self._search_on(number, wanted)
        changed |= not self.settled
        self._ready, self._searched_for = True, wanted
        return changed

    def _follow_files(self) -> bool:
        """Begin anew when files were rotated or replaced."""
        found: list[tuple[Path, tuple[int, int], int]] = []
        for path in self._paths():
            try:
                stat = path.stat()
            except OSError:
                continue
            found.append((path, (stat.st_dev, stat.st_ino), stat.st_size))
        same = [(f.path, f.identity) for f in self._files] == [(path, identity) for path, identity, _ in found]
        if same and all(size >= file.size for file, (_, _, size) in zip(self._files, found, strict=True)):
            return False
        with self._lock:
            self._files = [_File(path, identity) for path, identity, _ in found]
            self._older, self._newer = array("Q"), array("Q")
        return True

    def _index(self, file: _File) -> bool:
        import numpy as np

        changed = False
        for offset, data in _parts(file.path, file.size):
            if self._ending:
                return changed
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10).astype(np.uint64) + np.uint64(offset + 1)
            begins = np.concatenate([np.array([file.size], np.uint64), ends[:-1]])
            with self._lock:
                file.starts.frombytes(begins.tobytes())
                file.size = int(ends[-1])
            changed = True
        return changed

    def _search_back(self, number: int, wanted: Filter) -> bool:
        """From where the filter began towards the beginning of the file."""
        changed = False
        while not self._ending:
            with self._lock:
                file, base = self._files[number], self._base(number)
                first, last = file.searched
            if self._filter != wanted or first == 0:
                return changed
            begin = max(0, first - PART_LINES)
            found = _matching(file, begin, first, wanted)
            with self._lock:
                if self._filter != wanted:
                    return True
                self._older.extend(base + line for line in reversed(found))
                file.searched = (begin, last)
            changed = True
            if found and time.monotonic() - self._told_s > TELL_S:
                self._told_s = time.monotonic()
                self._changed()
        return changed

    def _search_on(self, number: int, wanted: Filter) -> bool:
        """From where the filter has looked to the end of the file."""
        changed = False
        while not self._ending:
            with self._lock:
                file, base = self._files[number], self._base(number)
                first, last = file.searched
                end = min(len(file.starts), last + PART_LINES)
            if self._filter != wanted or end == last:
                return changed
            found = _matching(file, last, end, wanted)
            with self._lock:
                if self._filter != wanted:
                    return True
                self._newer.extend(base + line for line in found)
                file.searched = (first, end)
            changed = changed or bool(found)
        return changed

    def _base(self, number: int) -> int:
        return sum(len(file.starts) for file in self._files[:number])


def _matching(file: _File, first: int, last: int, wanted: Filter) -> list[int]:
    """The numbers of the lines first..last-1 of a file that the filter keeps."""
    import numpy as np

    end = file.starts[last] if last < len(file.starts) else file.size
    offset = file.starts[first]
    starts = np.array(file.starts[first:last], np.int64) - offset
    try:
        with file.path.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(end - offset)
    except OSError:
        return []
    keep = np.ones(len(starts), np.bool_)
    if wanted.level:
        letters = np.frombuffer(data, np.uint8)
        at = np.minimum(starts + _LEVEL_AT, len(letters) - 1)
        told = np.diff(starts, append=len(data)) > _LEVEL_AT
        told &= (letters[at - 1] == ord(" ")) & (letters[np.minimum(starts + 4, len(letters) - 1)] == ord("-"))
        below = told & np.isin(letters[at], np.frombuffer(_BELOW[wanted.level], np.uint8))
        # A line without a level of its own (a traceback's) goes with the one before it.
        before = np.maximum.accumulate(np.where(told, np.arange(len(starts)), -1))
        keep &= (before < 0) | ~below[before]
    if wanted.words:
        hits = np.array(_hits(data.lower(), wanted.words.lower().encode()), np.int64)
        with_words = np.zeros(len(starts), np.bool_)
        with_words[np.searchsorted(starts, hits, side="right") - 1] = True
        keep &= with_words
    return (np.flatnonzero(keep) + first).tolist()


def _hits(data: bytes, word: bytes) -> list[int]:
    """Where the word stands, one place a line."""
    found: list[int] = []
    at = data.find(word)
    while at >= 0:
        found.append(at)
        at = data.find(b"\n", at)
        at = data.find(word, at) if at >= 0 else -1
    return found


def _parts(path: Path, start: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file from an offset on, in parts."""
    try:
        with path.open("rb") as file:
            while True:
                file.seek(start)
                data = file.read(PART_BYTES)
                whole = data.rfind(b"\n") + 1
                while not whole and data and (more := file.read(PART_BYTES)):
                    data += more  # one line that is longer than a part
                    whole = data.rfind(b"\n") + 1
                if not whole:
                    return
                yield start, data[:whole]
                start += whole
    except OSError:
        return


def _read(places: list[tuple[Path, int, int]]) -> Iterator[str]:
    handles: dict[Path, int] = {}
    try:
        for path, start, length in places:
            if path not in handles:
                handles[path] = os.open(path, os.O_RDONLY)
            os.lseek(handles[path], start, os.SEEK_SET)
            yield os.read(handles[path], length).decode("utf-8", "replace").rstrip("\r\n")
    except OSError:
        return
    finally:
        for handle in handles.values():
            os.close(handle)
