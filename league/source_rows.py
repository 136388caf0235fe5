"""Lines of recorded play as plain rows, whatever they are: nothing in a file is trusted, and nothing in it stops the reading.

A line is an object: a step (an observation and an action), several seats of one step (``agents``), a whole episode
(``steps``), or an end (an outcome alone). Rows of the same episode and seat belong together; without names, an episode ends
where a step says so or where the count of steps falls.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from data.files import from_json
from league.codec import HEADS
from league.outcomes import outcome_of
from league.projection import NotANumber, number, read_action, read_observation

LONGEST_LINE: Final = 64 * 2**20
MOST_ROWS: Final = 5_000_000
"""Of one file; what is beyond is left out and told."""
_OBSERVATIONS: Final = ("observation", "obs", "vector", "features", "state", "world_state")
_ACTIONS: Final = ("action", "act", "bot_action", "player_action", "heads", "action_indices")
_STEPS: Final = ("steps", "frames", "transitions", "trajectory", "samples", "rows")
_SEATS: Final = ("agents", "players", "seats")
_EPISODE: Final = ("episode_id", "episode", "match_id", "match", "round_id", "game_id", "run_id", "session_id")
_SEAT: Final = ("agent_id", "agent", "player_id", "player", "seat", "bot_id")
_COUNT: Final = ("step", "tick", "frame", "t", "index")
_LOG_PROB: Final = ("behaviour_log_prob", "behavior_log_prob", "log_prob", "logp")
_METRICS: Final = ("metrics", "ocr", "ocr_metrics")
_ENDS: Final = ("done", "terminated", "truncated")


@dataclass(slots=True)
class Row:
    observation: NDArray[np.float64]
    """[19], NaN where not told."""
    action: NDArray[np.float64]
    """[7], NaN where not told."""
    reward: float
    log_prob: NDArray[np.float32] | None
    metrics: dict[str, float]


@dataclass(slots=True)
class RawEpisode:
    """Rows of one seat, in order. ``end``: how the last step says that it ended, or ``""``. ``outcome``: -1..1, or None."""

    episode: str
    seat: str
    rows: list[Row] = field(default_factory=list[Row])
    end: str = ""
    outcome: float | None = None
    count: float = -np.inf


@dataclass(slots=True)
class RawFile:
    episodes: list[RawEpisode] = field(default_factory=list[RawEpisode])
    dropped: Counter[str] = field(default_factory=Counter[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    """Keys that are not read, by name, and how often they were met."""
    notes: list[str] = field(default_factory=list[str])


def lines_of(path: Path, dropped: Counter[str], notes: list[str]) -> Iterator[Mapping[str, Any]]:
    """The objects of a JSONL file, gzipped or not. Torn ends, bad lines and too long ones are counted; raises OSError alone."""
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=plain) if packed else plain)
        number = 0
        while True:
            try:
                line = stream.readline(LONGEST_LINE)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                notes.append(f"torn after line {number} ({error}); what was before is used")
                return
            if not line:
                return
            number += 1
            if len(line) == LONGEST_LINE:
                notes.append(f"line {number} is longer than {LONGEST_LINE // 2**20} MB; the rest is left out")
                return
            if not line.strip():
                continue
            try:
                value = from_json(line, any_number=True)
            except ValueError:
                dropped["lines that are no JSON" if line.endswith(b"\n") else "a last line cut off"] += 1
                continue
            if isinstance(value, dict):
                yield value
            else:
                dropped["lines that are no object"] += 1


def read_rows(path: Path) -> RawFile:
    """All episodes of a file. Raises OSError when it cannot be opened."""
    reader = _Reader()
    for line in lines_of(path, reader.file.dropped, reader.file.notes):
        reader.take(line, {}, 0)
        if reader.rows >= MOST_ROWS:
            reader.file.notes.append(f"more than {MOST_ROWS} rows; the rest is left out: split the file")
            break
    reader.file.episodes = [e for e in reader.file.episodes if e.rows]
    return reader.file


class _Reader:
    def __init__(self) -> None:
        self.file = RawFile()
        self.rows = 0
        self._open: dict[tuple[str, str], RawEpisode] = {}
        self._begun: Counter[tuple[str, str]] = Counter()
        self._seats: dict[str, set[str]] = {}
        """By the name of a match: who played in it since it last ended."""

    def take(self, line: Mapping[str, Any], inherited: Mapping[str, Any], depth: int) -> None:
        merged = {**inherited, **{k: line[k] for k in (*_EPISODE, *_SEAT, *_COUNT) if k in line}}
        nested = _first(line, _STEPS) if depth == 0 else None
        seats = _first(line, _SEATS) if depth <= 1 else None
        if isinstance(nested, list):
            rows = [row for row in nested if isinstance(row, dict)]
            self.file.dropped["steps that are no object"] += len(nested) - len(rows)
            for row in rows:
                self.take(row, merged, 1)
            self._end(line, merged, whole=True)
        elif isinstance(line.get("observations"), list) and isinstance(line.get("actions"), list):
            for observation, action in zip(line["observations"], line["actions"], strict=False):
                self._row({"observation": observation, "action": action}, merged)
            self._end(line, merged, whole=True)
        elif isinstance(seats, dict | list) and _first(line, _ACTIONS) is None:
            listed = seats.items() if isinstance(seats, dict) else enumerate(seats)
            for name, seat in listed:
                if isinstance(seat, dict):
                    self.take(seat, {"seat": name, **merged}, 2)
        elif _first(line, _OBSERVATIONS) is None and _first(line, _ACTIONS) is None:
            self._end(line, merged, whole=False)
        else:
            self._row(line, merged)

    def _key(self, merged: Mapping[str, Any]) -> tuple[str, str]:
        return _name(_first(merged, _EPISODE)), _name(_first(merged, _SEAT))

    def _end(self, line: Mapping[str, Any], merged: Mapping[str, Any], *, whole: bool) -> None:
        """A line that ends an episode: by its outcome, or since it held the whole of it. An outcome that names no seat is that of a match
        with one; of several nobody knows whose it is."""
        outcome = outcome_of(line)
        episode, seat = self._key(merged)
        found = [e for (name, place), e in self._open.items() if name == episode and (not seat or place == seat)]
        if outcome is None and not whole:
            self.file.dropped["lines without observation and action"] += 1
            return
        if not seat and len(self._seats.pop(episode, ())) > 1 and outcome is not None:
            self.file.dropped["outcomes without a seat of matches with several"] += 1
            outcome = None
        for one in found:
            one.outcome = one.outcome if outcome is None else outcome
            del self._open[episode, one.seat]

    def _episode(self, merged: Mapping[str, Any]) -> RawEpisode:
        key = self._key(merged)
        count = _first(merged, _COUNT)
        count = float(count) if isinstance(count, int | float) and abs(count) < 1e15 else None
        found = self._open.get(key)
        if found is None or (count is not None and count < found.count):
            number = self._begun[key]
            self._begun[key] += 1
            found = RawEpisode(f"{key[0]}#{number}" if number or not key[0] else key[0], key[1])
            self._open[key] = found
            self._seats.setdefault(key[0], set()).add(key[1])
            self.file.episodes.append(found)
        found.count = found.count if count is None else count
        return found

    def _row(self, line: Mapping[str, Any], merged: Mapping[str, Any]) -> None:
        self.rows += 1
        dropped, unknown = self.file.dropped, self.file.unknown
        known = {*_OBSERVATIONS, *_ACTIONS, *_EPISODE, *_SEAT, *_COUNT, *_LOG_PROB, *_METRICS, *_ENDS, "reward"}
        unknown.update(str(key)[:60] for key in line if key not in known)
        episode = self._episode(merged)
        try:
            observation = read_observation(_first(line, _OBSERVATIONS), unknown)
            said = _first(line, _ACTIONS)
            action = None if said is None else read_action(said, unknown)
            reward = number(line.get("reward")) or 0.0
        except NotANumber:
            dropped["rows with NaN or infinite numbers"] += 1
        else:
            if observation is None:
                dropped["rows without a known field of the observation"] += 1
            elif said is None:
                dropped["rows without an action"] += 1
            elif action is None:
                dropped["rows with an unknown action"] += 1
            else:
                episode.rows.append(Row(observation, action, reward, _log_prob(line), _metrics(line)))
        self._close(line, episode, merged)

    def _close(self, line: Mapping[str, Any], episode: RawEpisode, merged: Mapping[str, Any]) -> None:
        truncated = _is_true(line.get("truncated"))
        if not any(_is_true(line.get(name)) for name in _ENDS):
            return
        episode.end = "truncated" if truncated else "terminated"
        outcome = outcome_of(line)
        episode.outcome = outcome if outcome is not None else episode.outcome
        self._open.pop(self._key(merged), None)


def _first(line: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((line[name] for name in names if line.get(name) is not None), None)


def _is_true(value: Any) -> bool:
    """Of true, 1 and "true"."""
    return value == 1 or (isinstance(value, str) and value.strip().lower() == "true")


def _name(value: Any) -> str:
    return str(value)[:120] if isinstance(value, str | int) else ""


def _log_prob(line: Mapping[str, Any]) -> NDArray[np.float32] | None:
    """[7], when seven log-probabilities are told."""
    value = _first(line, _LOG_PROB)
    if not isinstance(value, list) or len(value) != len(HEADS):
        return None
    try:
        told = [number(v) for v in value]
    except NotANumber:
        return None
    return np.array(told, np.float32) if all(v is not None and v <= 0 for v in told) else None


def _metrics(line: Mapping[str, Any]) -> dict[str, float]:
    """Figures that came along (read from the screen), finite ones only."""
    told = _first(line, _METRICS)
    found: dict[str, float] = {}
    for name, value in told.items() if isinstance(told, dict) else ():
        try:
            read = number(value)
        except NotANumber:
            continue
        if read is not None:
            found[str(name)[:60]] = read
    return found
