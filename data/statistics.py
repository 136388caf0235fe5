"""What the recordings hold, in figures: hours, ticks, windows, modes, keys, idle time, detections, gaps, actors, oddities.

Each figure says of which rows it is: everything about learning counts learnable rows only (played by a person or a
demonstrator, the window in focus), as the trainers do. Sums count play once: a session that holds play of another that is there
too is left out of them.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.copies import SAME_PLAY as SAME_PLAY
from data.copies import Copy, Origin, made_from_others
from data.copies import copies as copies_of
from data.hindsight import label_modes
from data.labels import labelled_and_unread
from data.metadata import Metadata
from data.session_reader import open_session
from data.steps import Steps, input_names
from data.vocabulary import ACTOR_KINDS, MODES
from data.windows import STRATEGIST_HISTORY, learnt_windows, sample_rows, stretches

IDLE_S: Final = 3.0
"""Nothing pressed, nothing held and the cursor still for longer than this is idle."""
STILL_WIDTHS: Final = 0.002

MANY_IDLE: Final = 0.6
ONE_MODE: Final = 0.95
SLOW: Final = 0.8
MANY_GAPS: Final = 0.2
FEW_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """One session. Shares are of its learnable ticks, ``hours`` of its whole length; counts of nothing are 0.

    ``windows``: the Strategist's, one summary a second, by the sum in ``windows_formula``. ``keys``: the presses of learnable ticks by
    name, which are fewer than all that the events hold. ``made_of``: ids of what it was cut, merged or replayed from;
    ``clock``, ``first_ns``, ``last_ns``: when its ticks lie (see ``data.copies.Origin``).
    """

    id: str
    game: str
    kind: str
    hours: float
    ticks: int
    learnable_ticks: int
    windows: int
    windows_formula: str
    modes: dict[str, int]
    keys: dict[str, int]
    actors: dict[str, int]
    idle_share: float
    detections_per_tick: float
    empty_ticks: int
    gaps: int
    gap_s: float
    fingerprint: str
    suspicious: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    clock: tuple[str, ...] = ()
    first_ns: int = 0
    last_ns: int = 0

    @property
    def origin(self) -> Origin:
        return Origin(frozenset(self.made_of), self.first_ns, self.last_ns, self.clock, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Statistics:
    """All sessions that were looked at, and their sums. ``unreadable``: id and reason of those that could not be."""

    sessions: tuple[SessionStatistics, ...] = ()
    unreadable: dict[str, str] = field(default_factory=dict[str, str])

    def total(self) -> SessionStatistics:
        """The sums of all but the copies; shares and means are weighted by ticks."""
        twice = copies(self.sessions)
        parts = [s for s in self.sessions if s.id not in twice]
        ticks, learnable = sum(s.ticks for s in parts), sum(s.learnable_ticks for s in parts)
        return SessionStatistics(
            id=f"{len(parts)} session{'' if len(parts) == 1 else 's'}" + (f" without {copies_text(len(twice))}" if twice else ""),
            game=", ".join(sorted({s.game for s in parts})),
            kind=", ".join(sorted({s.kind for s in parts})),
            hours=sum(s.hours for s in parts),
            ticks=ticks,
            learnable_ticks=learnable,
            windows=sum(s.windows for s in parts),
            windows_formula=parts[0].windows_formula if len(parts) == 1 else f"the sum over {len(parts)} sessions",
            modes=_summed(s.modes for s in parts),
            keys=_summed(s.keys for s in parts),
            actors=_summed(s.actors for s in parts),
            idle_share=_mean([(s.idle_share, s.learnable_ticks) for s in parts]),
            detections_per_tick=_mean([(s.detections_per_tick, s.ticks) for s in parts]),
            empty_ticks=sum(s.empty_ticks for s in parts),
            gaps=sum(s.gaps for s in parts),
            gap_s=sum(s.gap_s for s in parts),
            fingerprint="",
            suspicious=tuple(f"{s.id}: {what}" for s in parts for what in s.suspicious),
        )

    def to_json(self) -> dict[str, Any]:
        twice = {name: dataclasses.asdict(copy) for name, copy in copies(self.sessions).items()}
        return {"total": dataclasses.asdict(self.total()), "copies": twice, **dataclasses.asdict(self)}


def session_statistics(folder: Path, history: int = STRATEGIST_HISTORY) -> SessionStatistics:
    """The figures of one session. history: seconds of the Strategist's windows. Raises SessionError, OSError."""
    session = open_session(folder)
    try:
        steps, unread = labelled_and_unread(session.steps(), folder)
        return steps_statistics(session.id, session.metadata, steps, history, session.damage, unread)
    finally:
        session.close()


def steps_statistics(
    name: str, metadata: Metadata, steps: Steps, history: int = STRATEGIST_HISTORY, damage: str = "", unread: str = ""
) -> SessionStatistics:
    """The figures of the steps of one session. ``damage``, ``unread``: what is wrong with its steps and its labels, in words."""
    usable = stretches(steps)
    rows = np.concatenate([np.arange(a, b) for a, b in usable]) if usable else np.zeros(0, np.int64)
    windows, formula = learnt_windows([len(sample_rows(steps.time_ns[a:b], 1.0)) for a, b in usable], history)
    modes = np.bincount(label_modes(steps)[rows], minlength=len(MODES))
    codes: Counter[int] = Counter(steps.onset_codes[_onsets_in(steps, usable)].tolist())
    names = input_names(metadata.profile)
    per_tick = np.diff(steps.track_offsets)
    actors = np.bincount(steps.actor, minlength=len(ACTOR_KINDS))
    origin = Origin.of(metadata, steps)
    gaps_ns = [(gap.end_ns or gap.start_ns) - gap.start_ns for gap in metadata.gaps]
    found = SessionStatistics(
        id=name,
        game=metadata.game,
        kind=metadata.kind,
        hours=metadata.duration_s / 3600,
        ticks=len(steps),
        learnable_ticks=len(rows),
        windows=windows,
        windows_formula=formula,
        modes={mode: int(n) for mode, n in zip(MODES, modes, strict=True) if n},
        keys={names[code]: n for code, n in codes.most_common()},
        actors={kind: int(n) for kind, n in zip(ACTOR_KINDS, actors, strict=True) if n},
        idle_share=float(_idle(steps, usable).mean()) if len(rows) else 0.0,
        detections_per_tick=float(per_tick.mean()) if len(steps) else 0.0,
        empty_ticks=int((per_tick == 0).sum()),
        gaps=len(metadata.gaps),
        gap_s=sum(gaps_ns) / 1e9,
        fingerprint=origin.fingerprint,
        made_of=tuple(sorted(origin.originals)),
        clock=origin.clock,
        first_ns=origin.first_ns,
        last_ns=origin.last_ns,
    )
    return dataclasses.replace(found, suspicious=tuple(_oddities(found, metadata, damage, unread)))


def copies(sessions: Sequence[SessionStatistics]) -> dict[str, Copy]:
    """Which of the sessions hold play of others of them: those that training leaves out for that, and those without ticks that were made
    from others."""
    found = copies_of({s.id: s.origin for s in sessions if s.ticks})
    unseen = {s.id for s in sessions if not s.ticks}
    return found | {name: copy for name, copy in made_from_others({s.id: s.origin for s in sessions}).items() if name in unseen}


def copies_text(count: int) -> str:
    return f"{count} {'copy' if count == 1 else 'copies'}"


def _onsets_in(steps: Steps, usable: list[tuple[int, int]]) -> NDArray[np.int64]:
    parts = [np.arange(int(steps.onset_offsets[a]), int(steps.onset_offsets[b]), dtype=np.int64) for a, b in usable]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _idle(steps: Steps, usable: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """[R] whether each learnable row lies in a stretch of more than ``IDLE_S`` in which nothing was done."""
    moved = np.zeros(len(steps), np.bool_)
    with np.errstate(invalid="ignore"):  # where the cursor is unknown it did not move
        moved[1:] = np.hypot(*np.diff(steps.cursor, axis=0).T) > STILL_WIDTHS
    done = moved | (steps.held > 0) | (np.diff(steps.onset_offsets) > 0)
    out: list[NDArray[np.bool_]] = []
    for start, stop in usable:
        times, acts = steps.time_ns[start:stop], np.flatnonzero(done[start:stop])
        edges = np.concatenate([[times[0]], times[acts], [times[-1]]])
        after = np.searchsorted(times[acts], times, side="right") + 1
        out.append(np.diff(edges)[np.minimum(after, len(edges) - 1) - 1] > IDLE_S * 1e9)
    return np.concatenate(out) if out else np.zeros(0, np.bool_)


def _oddities(found: SessionStatistics, metadata: Metadata, damage: str, unread: str) -> list[str]:
    """What a person should look at before learning from it, each with its figure."""
    odd = [unread] if unread else list[str]()
    if not found.ticks and damage:
        return [f"no ticks: its steps are damaged ({damage}); take them from a copy, or make new ones: secondseat data perceive", *odd]
    if not found.ticks:
        return ["no ticks: it was recorded without perception; secondseat data perceive makes them from the pictures", *odd]
    odd += [f"only what is whole is counted: {damage}"] if damage else []
    if not found.learnable_ticks:
        return [*odd, f"nothing to learn from: 0 of {found.ticks} ticks were played by a person or demonstrator in a focused window"]
    if found.learnable_ticks < FEW_ROWS:
        odd.append(f"only {found.learnable_ticks} learnable ticks")
    if metadata.profile.classes and found.empty_ticks == found.ticks:
        odd.append("not one object was found in any tick: is the detector right for this game?")
    elif found.empty_ticks > 0.5 * found.ticks:
        odd.append(f"no object in {found.empty_ticks} of {found.ticks} ticks")
    if found.idle_share > MANY_IDLE:
        odd.append(f"{found.idle_share:.0%} idle (nothing done for more than {IDLE_S:g} s)")
    if not found.keys:
        odd.append("not one click or key")
    most = max(found.modes.values(), default=0)
    if most > ONE_MODE * found.learnable_ticks:
        odd.append(f"{most / found.learnable_ticks:.0%} of one mode: {max(found.modes, key=lambda m: found.modes[m])}")
    rates = metadata.rates
    for what, asked, measured in (("pictures", rates.asked_fps, rates.measured_fps), ("ticks", rates.asked_hz, rates.measured_hz)):
        if asked and 0 < measured < SLOW * asked:
            odd.append(f"{measured:.1f} {what} a second instead of {asked:g}")
    if found.gap_s > MANY_GAPS * found.hours * 3600:
        odd.append(f"{found.gap_s:.0f} s of gaps in {found.hours * 3600:.0f} s")
    return odd


def _summed(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total.most_common())


def _mean(weighted: Sequence[tuple[float, int]]) -> float:
    weight = sum(w for _, w in weighted)
    return sum(value * w for value, w in weighted) / weight if weight else 0.0
