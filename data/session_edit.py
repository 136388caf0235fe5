"""Making new sessions out of recorded ones: a stretch of one, or several joined. The originals stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from data.annotations import Annotations
from data.annotations import read as read_annotations
from data.catalog import SessionInfo, describe, find
from data.locks import writer_alive
from data.metadata import Clock, Counts, Metadata, Stretch, View
from data.progress import Report, ignore
from data.recovery import clear_unfinished
from data.session_parts import Part, SessionEditError, assemble
from data.session_reader import Session, open_session

SEAM_NS: Final = 1_000_000_000
"""Between two joined sessions; a recorded gap, which no window bridges."""
_MS_NS: Final = 1_000_000

__all__ = ["SessionEditError", "cut", "merge"]


def cut(workspace: Path, name: str, start_s: float, end_s: float | None, report: Report = ignore) -> SessionInfo:
    """A new session of what happened between two moments, in s from the session's start (None: to its end). The original
    is kept.

    name: id, unambiguous beginning, or "last". Times, labels and marks stay what they were. Raises SessionNotFound,
    data.metadata.SessionError, SessionEditError (still being recorded, nothing in that stretch, no room), OSError.
    """
    if start_s < 0 or (end_s is not None and end_s <= start_s):
        until = "the end" if end_s is None else f"{end_s:g} s"
        raise SessionEditError(f"from {start_s:g} s to {until} is no stretch; give two times, the later one second")
    with open_session(find(workspace, name)) as session:
        _check_finished(session)
        end_s = session.length_s + 1e-9 if end_s is None else end_s
        start_ns, end_ns = (session.start_ns + round(at_s * 1e9) for at_s in (start_s, end_s))
        part = Part(session, start_ns, end_ns)
        if not part.pictures():
            length_s = session.metadata.duration_s
            raise SessionEditError(f"{session.id}: no picture lies between {start_s:g} s and {end_s:g} s; it is {length_s:.1f} s long")
        times = session.frame_times_ns()
        metadata = _described([part], int(times[times >= start_ns][0]))
        metadata.notes.append(f"cut from {session.id}, {start_s:g} s to {end_s:g} s")
        metadata.details["cut_from"] = {"session": session.id, "start_s": start_s, "end_s": round(end_s, 3)}
        clear_unfinished(workspace)
        return describe(assemble(workspace, metadata, [part], read_annotations(session.folder), report))


def merge(workspace: Path, names: Sequence[str], report: Report = ignore) -> SessionInfo:
    """A new session of several, in the order in which they were recorded, with a recorded gap at each seam.

    They must be of one kind, game, profile, picture size and (in the arena) of one version of the rules. Raises as
    ``cut`` does; SessionEditError names what differs.
    """
    folders = [find(workspace, name) for name in names]
    if len(folders) < 2 or len(set(folders)) < len(folders):
        raise SessionEditError("name two or more different sessions to merge")
    with ExitStack() as stack:
        sessions = sorted((stack.enter_context(open_session(folder)) for folder in folders), key=lambda s: s.metadata.clock.wall_s)
        for session in sessions:
            _check_finished(session)
            if not len(session.frame_times_ns()):
                raise SessionEditError(f"{session.id}: holds no picture")
            _check_alike(sessions[0], session)
        parts = _in_a_row(sessions)
        metadata = _described(parts, parts[0].session.metadata.clock.monotonic_ns)
        ids = [session.id for session in sessions]
        metadata.notes.append(f"merged from {', '.join(ids)}")
        metadata.details["merged_from"] = ids
        clear_unfinished(workspace)
        return describe(assemble(workspace, metadata, parts, _said_together(sessions), report))


def _check_finished(session: Session) -> None:
    if writer_alive(session.folder):
        raise SessionEditError(f"{session.id} is being recorded now; stop it first")
    if session.metadata.state in ("recording", "unsaved"):
        raise SessionEditError(f"{session.id} was cut off; run 'secondseat sessions recover' first")


def _check_alike(first: Session, other: Session) -> None:
    """Raises SessionEditError that names the first thing in which two sessions differ too much."""
    mine, theirs = first.metadata, other.metadata
    for what, a, b in (
        ("kind", mine.kind, theirs.kind),
        ("game", mine.game, theirs.game),
        ("picture size", f"{mine.width_px}x{mine.height_px}", f"{theirs.width_px}x{theirs.height_px}"),
        ("rules_version", mine.details.get("rules_version", "none"), theirs.details.get("rules_version", "none")),
    ):
        if a != b:
            raise SessionEditError(f"these cannot be merged: {first.id} has {what} {a}, {other.id} has {b}")
    differ = [name for name in type(mine.profile).model_fields if getattr(mine.profile, name) != getattr(theirs.profile, name)]
    if differ:
        raise SessionEditError(f"these cannot be merged: {first.id} and {other.id} were made with different profiles ({', '.join(differ)})")


def _in_a_row(sessions: Sequence[Session]) -> list[Part]:
    """Each session whole, shifted so that it begins ``SEAM_NS`` after the one before, to the ms."""
    parts: list[Part] = []
    for session in sessions:
        start_ns, end_ns = _span_ns(session)
        shift_ns = 0
        if parts:
            anchor_ns = parts[0].session.metadata.clock.monotonic_ns
            wanted_ns = parts[-1].end_ns + parts[-1].shift_ns + SEAM_NS - start_ns
            own_ns = session.metadata.clock.monotonic_ns
            shift_ns = anchor_ns - own_ns - (anchor_ns - own_ns - wanted_ns) // _MS_NS * _MS_NS  # whole ms between the two clocks' zeros
        parts.append(Part(session, start_ns, end_ns, shift_ns))
    return parts


def _span_ns(session: Session) -> tuple[int, int]:
    """From the first to just after the last of everything in a session."""
    frames, steps, events = session.frame_times_ns(), session.steps(), session.event_times_ns()
    columns = [column for column in (frames, steps.time_ns, steps.frame_time_ns, events) if len(column)]
    gap_ends = [gap.end_ns for gap in session.metadata.gaps if gap.end_ns is not None]
    return min(int(column.min()) for column in columns), max([int(column.max()) + 1 for column in columns] + gap_ends)


def _described(parts: Sequence[Part], anchor_ns: int) -> Metadata:
    """The metadata of what the parts make; counts, rates and duration are filled in when it is on disk.

    anchor_ns: the new session's time zero, which is also that of its video.
    """
    first = parts[0].session.metadata
    wall_s = first.clock.wall_s + (anchor_ns - first.clock.monotonic_ns - parts[0].shift_ns) / 1e9
    metadata = first.model_copy(deep=True)
    metadata.state, metadata.recovery = "saved", None
    metadata.details["made_of"] = sorted({name for part in parts for name in (part.session.id, *part.session.metadata.originals())})
    metadata.clock = Clock(monotonic_ns=anchor_ns, wall_s=wall_s)
    metadata.started_at = datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds")
    metadata.counts = Counts(
        dropped_frames=sum(part.session.metadata.counts.dropped_frames for part in parts),
        refused_events=sum(part.session.metadata.counts.refused_events for part in parts),
    )
    metadata.views = [view for part in parts for view in _views(part)]
    for name in ("gaps", "perturbed", "interesting"):
        setattr(metadata, name, [new for part in parts for old in getattr(part.session.metadata, name) for new in _stretch(old, part)])
    metadata.gaps += [_seam(before, after) for before, after in pairwise(parts)]
    metadata.gaps.sort(key=lambda gap: gap.start_ns)
    metadata.notes = list(dict.fromkeys(note for part in parts for note in part.session.metadata.notes))
    return metadata


def _seam(before: Part, after: Part) -> Stretch:
    return Stretch(
        start_ns=before.end_ns + before.shift_ns, end_ns=after.start_ns + after.shift_ns, reason=f"joined: {after.session.id} begins"
    )


def _stretch(old: Stretch, part: Part) -> list[Stretch]:
    start_ns, end_ns = max(old.start_ns, part.start_ns), min(part.end_ns if old.end_ns is None else old.end_ns, part.end_ns)
    return [Stretch(start_ns=start_ns + part.shift_ns, end_ns=end_ns + part.shift_ns, reason=old.reason)] if start_ns < end_ns else []


def _views(part: Part) -> list[View]:
    """How the game stood on the screen during the part: the last view before it holds at its start."""
    views = part.session.metadata.views
    before = [view for view in views if view.time_ns <= part.start_ns][-1:]
    within = [view for view in views if part.start_ns < view.time_ns < part.end_ns]
    return [view.model_copy(update={"time_ns": max(view.time_ns, part.start_ns) + part.shift_ns}) for view in (*before, *within)]


def _said_together(sessions: Sequence[Session]) -> Annotations:
    """Title of the first that has one, everybody's tags, the notes one below the other."""
    said = [read_annotations(session.folder) for session in sessions]
    notes = "\n".join(dict.fromkeys(one.note for one in said if one.note))
    return Annotations(
        next((one.title for one in said if one.title), ""), tuple(dict.fromkeys(t for one in said for t in one.tags)), notes[:4000]
    )
