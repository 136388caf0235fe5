"""A session along its time: keys, clicks, modes, actors, gaps and pictures, for whoever draws it.

Read as columns: an hour with a million mouse movements takes about a second. All times are monotonic ns, as in the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.labels import ModeStretch, mode_stretches
from data.labels import read as read_labels
from data.metadata import SessionError, Stretch
from data.schema import NO_TARGET
from data.session_reader import Session, open_session
from data.steps import Steps
from data.untyped import arrow_compute, pyarrow
from data.vocabulary import ACTOR_KINDS, MODES, MOUSE_BUTTONS, ActorKind

I64 = NDArray[np.int64]

BREAK_NS: Final = 500_000_000
"""Neighbouring ticks further apart than this do not belong to one stretch."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One key or button: when it was down. ``starts_ns``, ``ends_ns``: int64 [N], in order; ``actors``: int8 [N],
    index into ACTOR_KINDS of who pressed."""

    name: str
    starts_ns: I64
    ends_ns: I64
    actors: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.starts_ns)

    def down_at(self, time_ns: int, least_ns: int = 0) -> bool:
        """Whether it is down at a time, or was pressed less than ``least_ns`` before."""
        last = int(np.searchsorted(self.starts_ns, time_ns, side="right")) - 1
        return last >= 0 and time_ns < max(int(self.ends_ns[last]), int(self.starts_ns[last]) + least_ns)


@dataclass(frozen=True, slots=True)
class ActorStretch:
    """Who had the controls from ``start_ns`` up to ``end_ns``."""

    start_ns: int
    end_ns: int
    actor: ActorKind
    name: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch that the recording itself tells of, with the reason it gives."""

    start_ns: int
    end_ns: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """``modes``: what training takes each moment for; ``source`` tells a person's word (human), a coach's (vlm) and
    that of the rules apart. ``targets``: ticks per class of the target that training learns. ``problems``: what could
    not be read."""

    start_ns: int
    end_ns: int
    keys: tuple[Lane, ...]
    clicks: tuple[Lane, ...]
    modes: tuple[ModeStretch, ...]
    actors: tuple[ActorStretch, ...]
    targets: dict[str, int]
    gaps: tuple[Span, ...]
    perturbed: tuple[Span, ...]
    interesting: tuple[Span, ...]
    frame_times_ns: I64
    problems: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class CursorTrack:
    """Where the pointer was. ``times_ns``: int64 [N], in order; ``places``: float64 [N, 2], x and y in 0..1."""

    times_ns: I64
    places: NDArray[np.float64]

    def at(self, time_ns: int) -> tuple[float, float] | None:
        """The newest place not later; None before the first."""
        row = int(np.searchsorted(self.times_ns, time_ns, side="right")) - 1
        return None if row < 0 else (float(self.places[row, 0]), float(self.places[row, 1]))


def read_cursor(session: Session) -> CursorTrack:
    """The pointer by the events; where none of them tells it, by the steps."""
    table = session.table("events")
    times = np.asarray(table["time_ns"].to_numpy(), np.int64)
    places = np.stack([np.asarray(table[axis].to_numpy(zero_copy_only=False), np.float64) for axis in ("x", "y")], axis=1)
    if not np.isfinite(places).all(axis=1).any():
        steps = session.steps()
        times, places = steps.time_ns, steps.cursor.astype(np.float64)
    known = np.isfinite(places).all(axis=1)
    order = np.argsort(times[known], kind="stable")
    return CursorTrack(times[known][order], places[known][order])


def read_timeline(folder: Path) -> Timeline:
    """The timeline of a session folder, as far as it can be read. Raises SessionError when its metadata cannot."""
    with open_session(folder) as session:
        metadata = session.metadata
        frames, problems = _frame_times(session)
        steps = _steps(session, problems)
        start_ns, end_ns = _bounds(session, frames, steps)
        keys, clicks = _lanes(session, end_ns)
        labels, bad = read_labels(folder)
        if bad:
            problems.append(f"labels.jsonl: {bad} lines cannot be read")
        problems += session.problems
        return Timeline(
            start_ns,
            end_ns,
            keys,
            clicks,
            tuple(_modes(steps, mode_stretches(labels))),
            read_actors(session),
            _targets(steps),
            _spans(metadata.gaps, end_ns),
            _spans(metadata.perturbed, end_ns),
            _spans(metadata.interesting, end_ns),
            frames,
            tuple(dict.fromkeys(problems)),
        )


def _frame_times(session: Session) -> tuple[I64, list[str]]:
    try:
        return session.frame_times_ns(), []
    except SessionError as error:
        return np.zeros(0, np.int64), [str(error)]


def _steps(session: Session, problems: list[str]) -> Steps | None:
    try:
        return session.steps()
    except SessionError as error:
        problems.append(str(error))
        return None


def _bounds(session: Session, frames: I64, steps: Steps | None) -> tuple[int, int]:
    """From where the session's own time begins to the last picture or step; by the metadata when there is neither."""
    ticks = steps.time_ns if steps is not None else frames[:0]
    begins = [int(times[0]) for times in (frames, ticks) if len(times)]
    if not begins:
        start_ns = session.metadata.clock.monotonic_ns
        return start_ns, start_ns + round(session.metadata.duration_s * 1e9)
    return begins[0], max(int(times[-1]) for times in (frames, ticks) if len(times))


def _spans(stretches: Sequence[Stretch], end_ns: int) -> tuple[Span, ...]:
    return tuple(Span(s.start_ns, end_ns if s.end_ns is None else s.end_ns, s.reason) for s in stretches)


def _lanes(session: Session, end_ns: int) -> tuple[tuple[Lane, ...], tuple[Lane, ...]]:
    """Keys and buttons, each in the profile's order, others behind; only those that were pressed."""
    rows = session.table("events")
    table: Any = rows.filter(arrow_compute().is_in(rows["kind"], value_set=pyarrow().array(["press", "release"])))
    names, kinds, actors = (np.asarray(table[column].to_numpy(zero_copy_only=False), object) for column in ("name", "kind", "actor"))
    times = np.asarray(table["time_ns"].to_numpy(), np.int64)
    order = [*MOUSE_BUTTONS, *session.metadata.profile.keys]
    found = sorted(set(names.tolist()), key=lambda name: (order.index(name) if name in order else len(order), name))
    codes = {kind: code for code, kind in enumerate(ACTOR_KINDS)}
    lanes = [_lane(name, times[mine], kinds[mine] == "press", actors[mine], codes, end_ns) for name in found for mine in [names == name]]
    shown = [lane for lane in lanes if len(lane)]
    return tuple(lane for lane in shown if lane.name not in MOUSE_BUTTONS), tuple(lane for lane in shown if lane.name in MOUSE_BUTTONS)


def _lane(name: str, times: I64, presses: NDArray[np.bool_], actors: NDArray[Any], codes: dict[str, int], end_ns: int) -> Lane:
    """A press of what is down already (auto-repeat) and a release of what is up count for nothing."""
    order = np.argsort(times, kind="stable")
    times, presses, actors = times[order], presses[order], actors[order]
    change = presses != np.concatenate([[False], presses[:-1]])
    starts, ends = times[change & presses], times[change & ~presses]
    if len(ends) < len(starts):  # still down at the end
        ends = np.append(ends, max(end_ns, int(starts[-1])))
    who = np.array([codes.get(actor, codes["unknown"]) for actor in actors[change & presses]], np.int8)
    return Lane(name, starts, ends, who)


def _modes(steps: Steps | None, said: list[ModeStretch]) -> list[ModeStretch]:
    """What is said in the journal, and between it what the rules say of the ticks."""
    if steps is None or not len(steps):
        return said
    from data.hindsight import label_modes

    times = steps.time_ns
    ends = np.append(times[1:], times[-1])
    whole = np.diff(times, append=times[-1]) <= BREAK_NS
    ends = np.where(whole, ends, times)
    runs = _runs(label_modes(steps), whole)
    ruled = [ModeStretch(int(times[first]), int(ends[last]), MODES[code], "rules") for code, first, last in runs]
    return sorted([*said, *_without(ruled, said)], key=lambda stretch: stretch.start_ns)


def _runs(codes: NDArray[Any], whole: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """(code, first, last row) of neighbouring rows with one code and no break between them."""
    cut = np.flatnonzero((codes[1:] != codes[:-1]) | ~whole[:-1]) + 1
    firsts = [0, *cut.tolist()]
    lasts = [*(cut - 1).tolist(), len(codes) - 1]
    return [(int(codes[first]), first, last) for first, last in zip(firsts, lasts, strict=True)]


def _without(stretches: list[ModeStretch], taken: list[ModeStretch]) -> list[ModeStretch]:
    """What remains of ``stretches`` where ``taken`` (in order, without overlap) says nothing."""
    left: list[ModeStretch] = []
    for stretch in stretches:
        start = stretch.start_ns
        for other in taken:
            if other.end_ns <= start or other.start_ns >= stretch.end_ns:
                continue
            if other.start_ns > start:
                left.append(ModeStretch(start, other.start_ns, stretch.mode, stretch.source))
            start = max(start, other.end_ns)
        if start < stretch.end_ns:
            left.append(ModeStretch(start, stretch.end_ns, stretch.mode, stretch.source))
    return left


def read_actors(session: Session) -> tuple[ActorStretch, ...]:
    """Who acted, tick by tick; without steps, by the input events."""
    ticked = session.table("steps").num_rows > 0
    table = session.table("steps" if ticked else "events").select(["time_ns", "actor", "actor_name"]).sort_by("time_ns")
    times = np.asarray(table["time_ns"].to_numpy(), np.int64)
    if not len(times):
        return ()
    actors: list[Any] = table["actor"].to_pylist()
    names: list[Any] = table["actor_name"].to_pylist()
    kinds: list[ActorKind] = [ACTOR_KINDS[actor] for actor in actors] if ticked else actors
    who = list(zip(kinds, (str(name or "") for name in names), strict=True))
    known = list(dict.fromkeys(who))
    codes = {pair: code for code, pair in enumerate(known)}
    whole = np.diff(times, append=times[-1]) <= (BREAK_NS if ticked else np.iinfo(np.int64).max)
    stretches: list[ActorStretch] = []
    for code, first, last in _runs(np.array([codes[pair] for pair in who], np.int64), whole):
        until = times[last + 1] if whole[last] and last + 1 < len(times) else times[last]
        stretches.append(ActorStretch(int(times[first]), int(until), *known[code]))
    return tuple(stretches)


def _targets(steps: Steps | None) -> dict[str, int]:
    if steps is None or not len(steps):
        return {}
    from data.hindsight import label_targets
    from data.track_lookup import TrackIndex

    targets = label_targets(steps)
    flat = TrackIndex(steps).find(np.arange(len(steps)), targets[:, None])[:, 0]
    counts = np.bincount(steps.track_classes[flat[(targets != NO_TARGET) & (flat >= 0)]], minlength=len(steps.profile.classes))
    return {name: int(count) for name, count in zip(steps.profile.class_names(), counts.tolist(), strict=True) if count}
