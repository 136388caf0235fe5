"""Recordings of the earlier scripts: sequences, shadow recordings, and their NPZ and PKL twins.

Each is read into the same plain rows (``OldRecording``). What a field may be called and how it may be written differs from
version to version; whatever is assumed or left out is counted and said.

- a sequence: an object with ``states``, ``actions``, ``objects`` (and perhaps ``modes``), one entry a picture
- a shadow recording: an object with ``demos``, a list of them, or one a line; each has its ``state``, ``action``, ``objects``
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from data.files import from_json
from data.importers.old_fields import aim, as_list, corners_of, in_px, listed_in, number_of
from data.importers.old_times import LEAST_TIMES, LONGEST_STEP_S, SHORTEST_STEP_S, UNITS, filled, growing, median_step, unit_of
from data.importers.pickles import LARGEST_BYTES, looks_like_pickle, read_npz, read_pickle
from data.vocabulary import MODES

OldKind = Literal["sequence", "shadow", "corrections", "labels"]
DEFAULT_FPS: Final = 30.0
HOTKEYS: Final = ("", *"123456789", "q", "e", "r", "space", "ctrl")
"""What the numbers of ``hotkey_id`` stand for: 0 none, 1 to 9 the digits, then q, e, r, space and ctrl."""
LONGEST_S: Final = 366 * 86_400.0
"""What spans more than a year has a wrong time in it."""
_CLICKS: Final[Mapping[str, tuple[str, ...]]] = {
    "none": (),
    "left": ("left",),
    "right": ("right",),
    "double": ("left", "left"),
    "double_left": ("left", "left"),
}


MOST_VALUES: Final = 20_000_000
"""In one file; half an hour of play has some three million."""


class OldFormatError(ValueError):
    """The file is none of the earlier scripts', or cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class OldObject:
    """box: centre x, y, width, height in 0..1. track: the file's own id, or None."""

    name: str
    box: tuple[float, float, float, float]
    confidence: float = 1.0
    track: int | None = None


@dataclass(frozen=True, slots=True)
class OldRow:
    """One picture. ``clicks``: buttons that the row says are clicked; ``keys``: keys that it says are down."""

    time_s: float
    objects: tuple[OldObject, ...]
    point: tuple[float, float] | None
    clicks: tuple[str, ...]
    keys: tuple[str, ...]
    levels: Mapping[str, float]
    mode: str = ""


@dataclass(slots=True)
class OldRecording:
    """``defaulted``: what was assumed; ``dropped``: what was left out and how often."""

    kind: OldKind
    rows: list[OldRow] = field(default_factory=list[OldRow])
    defaulted: list[str] = field(default_factory=list[str])
    dropped: Counter[str] = field(default_factory=Counter[str])


def read_old(path: Path, picture_size: tuple[int, int] | None = None) -> OldRecording:
    """One file. picture_size: what pixels are measured in, where the file does not say.

    Corrections and labels are recognised, and come back without rows. Raises OldFormatError, UnsafePickle, ValueError
    for a damaged file, OSError.
    """
    content = _content(path)
    kind, entries, head = _recognised(content, path.name)
    found = OldRecording(kind)
    if kind in ("sequence", "shadow"):
        _Reader(found, head, picture_size, path.name).read(entries)
        if not found.rows:
            raise OldFormatError(f"{path.name}: holds no picture with an action")
    else:
        found.dropped[kind] = len(entries)
    return found


def _content(path: Path) -> Any:
    if path.stat().st_size > LARGEST_BYTES:
        raise OldFormatError(f"{path.name}: larger than {LARGEST_BYTES / 1e9:.0f} GB; split it")
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"PK":
        plain = _Plain(path.name)
        return {name: plain(values) for name, values in read_npz(path).items()}
    if start[:1] == b"\x80":
        return _Plain(path.name)(read_pickle(path))
    if looks_like_pickle(path):
        raise OldFormatError(
            f"{path.name}: is a pickle of protocol 0 or 1, which is not read; write it anew with pickle.dump(recording, file, protocol=4), "
            "or as JSON"
        )
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if not text.strip():
        raise OldFormatError(f"{path.name}: is empty")
    try:
        return from_json(text)
    except json.JSONDecodeError as error:
        return _lines(text, path.name, error)


def _lines(text: str, name: str, as_one: json.JSONDecodeError) -> list[Any]:
    """One object a line; the last line may be cut off. as_one: why the text is no single JSON value."""
    rows: list[Any] = []
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            rows.append(from_json(line))
        except json.JSONDecodeError as error:
            if not rows and text.lstrip()[:1] in ("{", "["):
                raise OldFormatError(f"{name}: {_damage(as_one)}") from None
            if not rows:
                raise OldFormatError(f"{name}: is not JSON, nor a pickle or an .npz file; it is none of the earlier recordings") from None
            if number < len(lines):
                raise OldFormatError(f"{name}: line {number} of {len(lines)} is broken at column {error.colno} ({error.msg})") from None
    return rows


def _damage(error: json.JSONDecodeError) -> str:
    """Where JSON is cut off or wrong."""
    where = f"line {error.lineno}, column {error.colno}"
    rest = error.doc[error.pos :].strip()
    if error.msg.startswith("Unterminated") or (len(rest) < 10 and rest[-1:] not in ("}", "]")):  # a number or word cut off, or nothing
        return f"is torn at {where}: its end is missing; take a whole copy of it"
    return f"is no whole JSON: {error.msg} at {where}"


class _Plain:
    """Makes plain values of what a file holds. A list that is named a thousand times is a thousand lists then, and some of bytes can be
    made to hold more than any memory: what grows beyond ``MOST_VALUES`` is refused."""

    def __init__(self, name: str) -> None:
        self._name, self._left = name, MOST_VALUES

    def __call__(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            array = cast("NDArray[Any]", value)
            # counted before it is written out: one of nothing but noughts takes no room in a file, one of rows without columns none at all
            if max(math.prod(array.shape[:axes]) for axes in range(array.ndim + 1)) > self._left:
                self._too_many()
            return self(array.tolist())
        if isinstance(value, np.generic):
            return cast("Any", value).item()
        if isinstance(value, Mapping):
            self._count(cast("Any", value))
            return {str(k): self(v) for k, v in cast("Mapping[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            values = cast("Sequence[Any]", value)
            self._count(values)
            numbers = all(type(v) is float or type(v) is int for v in values)
            return list(values) if numbers else [self(v) for v in values]
        return value

    def _count(self, values: Sequence[Any]) -> None:
        self._left -= len(values) + 1
        if self._left < 0:
            self._too_many()

    def _too_many(self) -> NoReturn:
        raise OldFormatError(f"{self._name}: holds more than {MOST_VALUES / 1e6:.0f} million values; cut it into several files")


def _recognised(content: Any, name: str) -> tuple[OldKind, list[dict[str, Any]], dict[str, Any]]:
    head: dict[str, Any] = {}
    if isinstance(content, dict):
        head = cast("dict[str, Any]", content)
        demos = head.get("demos", head.get("demonstrations"))
        if isinstance(demos, list):
            return "shadow", _objects(cast("list[Any]", demos)), head
        if isinstance(head.get("states", head.get("objects")), list) and isinstance(head.get("actions"), list):
            return "sequence", _columns(head), head
        frames = head.get("frames")
        listed = cast("list[Any]", frames) if isinstance(frames, list) else [head]
    else:
        listed = cast("list[Any]", content) if isinstance(content, list) else []
    rows = _objects(listed)
    first = rows[0] if rows else {}
    if "vlm_correction" in first or "bot_action" in first:
        return "corrections", rows, head
    if "action" in first and ("state" in first or "objects" in first):
        return ("sequence" if "frames" in head else "shadow"), rows, head
    if "intent" in first or "tactic" in first:
        return "labels", rows, head
    raise OldFormatError(f"{name}: is none of the earlier recordings (no states and actions, no demos)")


def _objects(values: list[Any]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", v) for v in values if isinstance(v, dict)]


def _columns(head: dict[str, Any]) -> list[dict[str, Any]]:
    """A sequence's parallel lists as rows; the shortest of those that have more than one entry tells how many."""
    names = {"states": "state", "actions": "action", "objects": "objects", "modes": "mode", "intents": "mode", "timestamps": "timestamp"}
    columns = {ours: cast("list[Any]", head[theirs]) for theirs, ours in names.items() if isinstance(head.get(theirs), list)}
    count = min((len(values) for name, values in columns.items() if name in ("state", "action", "objects") and values), default=0)
    head["_longest"] = max((len(values) for values in columns.values()), default=0)
    return [{name: values[i] for name, values in columns.items() if i < len(values)} for i in range(count)]


class _Reader:
    def __init__(self, found: OldRecording, head: Mapping[str, Any], picture_size: tuple[int, int] | None, name: str) -> None:
        self._found, self._name = found, name
        self._fps = number_of(head.get("fps")) or 0.0
        self._size = _size_of(head) or picture_size
        self._longest = int(head.get("_longest", 0))
        self._said: set[str] = set()
        self._points_in_px = self._boxes_in_px = False
        self._in_percent: set[str] = set()

    def read(self, entries: list[dict[str, Any]]) -> None:
        if self._longest > len(entries):
            self._found.dropped["entries without a partner in the other lists"] += self._longest - len(entries)
        times = self._times(entries)
        self._decide_units(entries)
        for entry, time_s in zip(entries, times, strict=True):
            action = entry.get("action")
            if action is None:
                self._found.dropped["pictures without an action"] += 1
                continue
            point, clicks, keys = self._action(action)
            state = entry.get("state")
            row = OldRow(time_s, self._objects(listed_in(entry)), point, clicks, keys, self._levels(state), self._mode(entry))
            self._found.rows.append(row)

    def _decide_units(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """One unit for all places of a file, one for all its boxes and one for each level: by what most are, not one by one. A pixel in the
        corner is no share of the picture, and of percents 1 is the least."""
        points = [[number_of(v) for v in aim(entry.get("action"))] for entry in entries]
        self._points_in_px = in_px([max(x, y) for x, y in points if x is not None and y is not None])
        corners = [corners_of(one) for entry in entries for one in as_list(listed_in(entry))]
        self._boxes_in_px = in_px([max(box) for box in corners if box is not None])
        for entry in entries:
            state = entry.get("state")
            for name, value in cast("Mapping[str, Any]", state).items() if isinstance(state, Mapping) else ():
                number = number_of(value)
                if number is not None and 1 < number <= 100:
                    self._in_percent.add(str(name).lower())

    def _times(self, entries: list[dict[str, Any]]) -> list[float]:
        """When each picture was taken, in s from the first; times of no use are taken from their neighbours, unless most are."""
        given = [number_of(e.get("timestamp", e.get("time", e.get("t")))) for e in entries]
        kept = growing(given)
        if len(kept) == len(given) == 1:
            return [0.0]
        bad = len(given) - len(kept)
        if len(kept) < 2 or bad > len(kept):
            return self._evenly(given, kept)
        step = median_step(kept)
        unit = unit_of(step)
        if unit is None:
            raise OldFormatError(
                f"{self._name}: the median step between its times is {step:g}, which is a picture's in none of {', '.join(UNITS)}; "
                "correct the times, or leave them out and give fps"
            )
        if unit != "s":
            self._assume(f"times are in {unit}")
        if bad:
            were, whose = ("1 time that was", "its neighbours") if bad == 1 else (f"{bad} times that were", "their neighbours")
            self._assume(f"{were} missing or did not grow: taken from {whose}")
        times = filled([(row, (time - kept[0][1]) / UNITS[unit]) for row, time in kept], step / UNITS[unit], len(given))
        if times[-1] > LONGEST_S:
            raise OldFormatError(f"{self._name}: spans {times[-1] / 86_400:.0f} days; correct the times, or split it where it pauses")
        return times

    def _evenly(self, given: Sequence[float | None], kept: Sequence[tuple[int, float]]) -> list[float]:
        """Times at a steady rate: that of the file, else the median one of the times that are of use, else an assumed one."""
        if kept:
            self._assume(
                f"{len(given) - len(kept)} of {len(given)} times are missing or do not grow: a steady rate stands in for all of them"
            )
        step = median_step(kept) if len(kept) >= LEAST_TIMES else 0.0
        unit = unit_of(step)
        if not self._fps and unit is not None:
            if unit != "s":
                self._assume(f"times are in {unit}")
            self._fps = UNITS[unit] / step
            self._assume(f"{self._fps:g} pictures a second, the median of the other {len(kept)} times")
        elif not self._fps:
            self._fps = DEFAULT_FPS
            self._assume(f"{DEFAULT_FPS:g} pictures a second")
        if not 1 / LONGEST_STEP_S <= self._fps <= 1 / SHORTEST_STEP_S:
            raise OldFormatError(f"{self._name}: fps {self._fps:g} is not a rate; use {1 / LONGEST_STEP_S:g} to {1 / SHORTEST_STEP_S:g}")
        return [i / self._fps for i in range(len(given))]

    def _action(self, action: Any) -> tuple[tuple[float, float] | None, tuple[str, ...], tuple[str, ...]]:
        if isinstance(action, Mapping):
            values = cast("Mapping[str, Any]", action)
            click = values.get("click", values.get("click_type", values.get("should_click")))
            key = values.get("key", values.get("hotkey", values.get("hotkey_id", values.get("ability"))))
        elif isinstance(action, Sequence) and not isinstance(action, str):
            click, key = (*cast("Sequence[Any]", action), None, None, None, None)[2:4]
        else:
            self._found.dropped[f"actions of kind {type(action).__name__}"] += 1
            return None, (), ()
        return self._point(*aim(action)), self._clicks(click), self._keys(key)

    def _point(self, x: Any, y: Any) -> tuple[float, float] | None:
        px, py = number_of(x), number_of(y)
        if px is None or py is None:
            self._found.dropped["positions that are no numbers"] += 1
            return None
        if self._points_in_px:
            width, height = self._picture()
            px, py = px / width, py / height
        if not (-0.001 <= px <= 1.001 and -0.001 <= py <= 1.001):
            self._found.dropped["positions outside the picture"] += 1
            return None
        return min(max(px, 0.0), 1.0), min(max(py, 0.0), 1.0)

    def _clicks(self, click: Any) -> tuple[str, ...]:
        if isinstance(click, str):
            if click.lower() in _CLICKS:
                return _CLICKS[click.lower()]
        elif isinstance(click, bool) or click is None:
            return ("left",) if click else ()
        elif (number := number_of(click)) is not None and number in (0.0, 1.0, 2.0):
            return ((), ("left",), ("right",))[int(number)]
        elif number is not None and 0 < number < 1:
            return ("left",) if number >= 0.5 else ()
        self._found.dropped["clicks of an unknown kind"] += 1
        return ()

    def _keys(self, key: Any) -> tuple[str, ...]:
        if key is None or key == "" or key is False:
            return ()
        if isinstance(key, str):
            name = key.lower().strip()
            return () if name == "none" else (name,)
        number = number_of(key)
        if number is not None and number == int(number) and 0 <= number < len(HOTKEYS):
            if number:
                self._assume("hotkey numbers: 0 none, 1 to 9 the digits, then q, e, r, space, ctrl")
            return (HOTKEYS[int(number)],) if number else ()
        self._found.dropped["keys that are no name and no number of a hotkey"] += 1
        return ()

    def _objects(self, listed: Any) -> tuple[OldObject, ...]:
        if not isinstance(listed, list):
            return ()
        found: list[OldObject] = []
        for entry in cast("list[Any]", listed):
            read = self._object(entry)
            if read is None:
                self._found.dropped["objects without a class or a box"] += 1
            else:
                found.append(read)
        return tuple(found)

    def _object(self, entry: Any) -> OldObject | None:
        if isinstance(entry, Mapping):
            values = cast("Mapping[str, Any]", entry)
            name = values.get("class", values.get("class_name", values.get("name", values.get("label"))))
            sure = number_of(values.get("conf", values.get("confidence", values.get("score"))))
            track = number_of(values.get("track_id", values.get("id")))
        elif isinstance(entry, Sequence) and not isinstance(entry, str):
            listed = cast("Sequence[Any]", entry)
            sure, name = (*listed, None, None)[4:6] if len(listed) >= 5 else (None, None)
            sure, track = number_of(sure), None
        else:
            return None
        corners = corners_of(entry)
        if name is None or corners is None:
            return None
        left, top, right, bottom = corners
        if self._boxes_in_px:
            width, height = self._picture()
            left, right, top, bottom = left / width, right / width, top / height, bottom / height
        if right <= left or bottom <= top:
            return None
        shown = name if isinstance(name, str) else f"class_{name:g}" if isinstance(name, float) else f"class_{name}"
        centre = ((left + right) / 2, (top + bottom) / 2)
        if not (0 <= centre[0] <= 1 and 0 <= centre[1] <= 1):
            return None
        confidence = 1.0 if sure is None else min(max(sure, 0.0), 1.0)
        return OldObject(shown, (*centre, right - left, bottom - top), confidence, None if track is None else int(track))

    def _levels(self, state: Any) -> dict[str, float]:
        """Levels in 0..1 by name; a state without names says nothing that could be trusted."""
        if not isinstance(state, Mapping):
            if state is not None:
                self._found.dropped["states without names"] += 1
            return {}
        found: dict[str, float] = {}
        for name, value in cast("Mapping[str, Any]", state).items():
            number, level = number_of(value), str(name).lower()
            if number is None:
                continue
            if not 0 <= number <= 100:
                self._found.dropped["levels outside 0 to 100"] += 1
            else:
                found[level] = number / 100 if level in self._in_percent else number
        return found

    def _mode(self, entry: Mapping[str, Any]) -> str:
        value = entry.get("mode", entry.get("intent"))
        if not isinstance(value, str):
            return ""
        if value.upper() not in MODES:
            self._found.dropped[f"modes called {value!r}"] += 1
            return ""
        return value.upper()

    def _picture(self) -> tuple[int, int]:
        if self._size is None:
            raise OldFormatError(
                f"{self._name}: places are in pixels, and the size of the picture is not said; give it with --picture-size 1920x1080"
            )
        return self._size

    def _assume(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._found.defaulted.append(what)


def _size_of(head: Mapping[str, Any]) -> tuple[int, int] | None:
    for name in ("resolution", "screen_size", "picture_size", "screen"):
        value = head.get(name)
        if isinstance(value, Sequence) and len(cast("Any", value)) == 2:
            width, height = (number_of(v) for v in cast("Sequence[Any]", value))
            if width and height and min(width, height) >= 1:
                return int(width), int(height)
    width, height = number_of(head.get("width", head.get("screen_width"))), number_of(head.get("height", head.get("screen_height")))
    return (int(width), int(height)) if width and height and min(width, height) >= 1 else None
