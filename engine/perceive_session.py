"""Perceiving a recording anew: its pictures through the present detector, at the same tick times.

What was done (actions, actor, mode, model version) stays; what was seen (tracks, status) is replaced. A target that
a step names is found again by overlap, since the new tracks have new ids. A session recorded without a detector has
no steps yet: they are built at its tick rate from its events. The metadata says that the steps are from the video.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from data.files import replace_path
from data.locks import SessionLock
from data.metadata import Metadata, write_metadata
from data.profile import GameProfile
from data.recovery import keep_original
from data.schema import NO_TARGET, Action, Frame, Observation, Status, Step, Tracks
from data.session import Session, open_session
from data.steps import Steps, input_names
from data.steps_arrow import NO_FRAME, TableWriter, rows_batch, steps_schema
from data.vocabulary import ACTOR_KINDS, MODES, ActorKind
from engine.perception.perceive import Perceiver
from engine.runtime.progress import EtaReport, Progress, Report, ignore
from engine.step_assembler import StepAssembler

BATCH_ROWS: Final = 200
NEW_NAME: Final = "steps.arrows.new"
_NEAR: Final = 0.03
"""A target is found again within this distance (picture widths) when no box overlaps the old one."""


@dataclass(frozen=True, slots=True)
class PerceivedSession:
    """``pictures``: how many were looked at; ``targets_lost``: steps whose target was not found again."""

    session: str
    steps: int
    pictures: int
    tracks_per_step: float
    targets_lost: int

    def __str__(self) -> str:
        lost = f", {self.targets_lost} targets not found again" if self.targets_lost else ""
        return f"{self.session}: {self.steps} steps from {self.pictures} pictures, {self.tracks_per_step:.1f} tracks each{lost}"


def perceive_session(
    session: Path | Session,
    profile: GameProfile | None = None,
    device: str = "auto",
    report: Report = ignore,
    perceiver: Perceiver | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> PerceivedSession:
    """Rebuild the steps of a session from its video. Nothing is changed when it fails or is stopped.

    session: its folder, or the open session (closed by this call). profile: another version of the session's profile
    (the same keys); the stored one by default. Raises data.metadata.SessionError (no video, unreadable),
    data.locks.Locked (still being written), engine.perception.card.DetectorError, KeyboardInterrupt when stopped.
    """
    opened = session if isinstance(session, Session) else open_session(session)
    with opened:
        chosen = profile if profile is not None else opened.metadata.profile
        if chosen.keys != opened.metadata.profile.keys:
            raise ValueError(f"{opened.id}: its keys are {opened.metadata.profile.keys}; games.{chosen.name} has {chosen.keys}")
        eyes = perceiver if perceiver is not None else Perceiver(chosen, device, workspace=opened.folder.parent.parent)
        lock = SessionLock(opened.folder)
        new = opened.folder / NEW_NAME
        try:
            done = _rewrite(opened, chosen, eyes, new, EtaReport(report), should_stop or _never)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        finally:
            lock.release()
    return done


def _rewrite(
    session: Session, profile: GameProfile, eyes: Perceiver, new: Path, report: Report, should_stop: Callable[[], bool]
) -> PerceivedSession:
    old = session.steps()
    has_video = len(session.frame_times_ns()) > 0
    rows = _known_rows(session, old) if len(old) else _new_rows(session, eyes.profile)
    total = len(old) if len(old) else max(1, round(session.metadata.duration_s * (session.metadata.rates.asked_hz or 20.0)))
    new.unlink(missing_ok=True)  # left behind by a run that was killed
    writer = TableWriter(new, steps_schema(profile))
    pictures, tracks, lost, last = 0, 0, 0, -1
    batch: list[Step] = []
    pts: list[int] = []

    def write() -> None:
        if batch:
            writer.write(rows_batch(profile, batch, pts))
            batch.clear()
            pts.clear()

    try:
        for step, frame in rows:
            if should_stop():
                raise KeyboardInterrupt
            seen = step.observation
            fresh = eyes.perceive(frame, seen.time_ns, seen.cursor, seen.focus)
            if frame is not None and frame.number != last:
                pictures, last = pictures + 1, frame.number
            target = _target_again(seen.tracks, step.target_id, fresh.tracks)
            lost += target == NO_TARGET and step.target_id != NO_TARGET
            tracks += len(fresh.tracks)
            observation = replace(fresh, frame_time_ns=seen.frame_time_ns, frame_number=seen.frame_number)
            batch.append(replace(step, observation=observation, target_id=target))
            pts.append((frame.time_ns - session.metadata.clock.monotonic_ns) // 1_000_000 if frame is not None else NO_FRAME)
            if len(batch) >= BATCH_ROWS:
                write()
                report(Progress("perceiving", min(1.0, writer.rows / total), message=f"{writer.rows} of {total} steps"))
        write()
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    if writer.rows == 0 and not has_video:
        new.unlink(missing_ok=True)
        return PerceivedSession(session.id, 0, 0, 0.0, 0)
    stream, compacted = session.folder / "steps.arrows", session.folder / "steps.parquet"
    if session.damage:
        for path in (stream, compacted):
            if path.exists():
                keep_original(path)
    replace_path(new, stream)
    compacted.unlink(missing_ok=True)  # readers take it first; it can be compacted again
    write_metadata(session.folder, _told(session.metadata, profile, eyes, writer.rows))
    return PerceivedSession(session.id, writer.rows, pictures, tracks / max(1, writer.rows), lost)


def _told(metadata: Metadata, profile: GameProfile, eyes: Perceiver, steps: int) -> Metadata:
    told = metadata.model_copy(deep=True)
    told.profile = profile
    told.counts.steps = steps
    card = eyes.detector.card if eyes.detector is not None else None
    told.details = {**told.details, "steps": "from video", "detector": card.sha256[:16] if card is not None else ""}
    note = "steps: from video"
    if note not in told.notes:
        told.notes.append(note)
    return told


def _known_rows(session: Session, old: Steps) -> Iterator[tuple[Step, Frame | None]]:
    """The steps that are there, each with the picture it saw (or, where that is not in the video, the newest then)."""
    names = input_names(old.profile)
    pts = session.step_pts_ms()
    start_ns = session.metadata.clock.monotonic_ns
    wanted = np.where(pts >= 0, start_ns + pts * 1_000_000, old.frame_time_ns)
    actor_names = _actor_names(session)
    pictures = _Pictures(session)
    for row in range(len(old)):
        held = int(old.held[row])
        action = Action(
            float(old.action_xy[row, 0]),
            float(old.action_xy[row, 1]),
            old.onsets(row),
            frozenset(name for bit, name in enumerate(names) if held >> bit & 1),
        )
        mode = int(old.mode[row])
        step = Step(
            old.observation(row),
            action,
            ACTOR_KINDS[int(old.actor[row])],
            actor_names[row] if row < len(actor_names) else "",
            int(old.model_version[row]),
            MODES[mode] if mode >= 0 else "",
            int(old.target_id[row]),
        )
        yield step, pictures.at(int(wanted[row]))


def _new_rows(session: Session, profile: GameProfile) -> Iterator[tuple[Step, Frame | None]]:
    """Steps for a session that has none: at its tick rate, with what its events say was done."""
    times_ns = session.frame_times_ns()
    if not len(times_ns):
        return
    events = sorted(session.events(), key=lambda e: e.time_ns)
    gaps = [(g.start_ns, g.end_ns if g.end_ns is not None else int(times_ns[-1])) for g in session.metadata.gaps]
    period_ns = round(1e9 / (session.metadata.rates.asked_hz or 20.0))
    assembler, pictures = StepAssembler(profile, settle_ns=0), _Pictures(session)
    acted: list[ActorKind] = [e.actor for e in events if e.actor != "unknown"]
    actor: ActorKind = acted[0] if acted else "human"
    actor_name = next((e.actor_name for e in events if e.actor_name), "")
    waiting: deque[Frame | None] = deque()
    given = 0
    cursor: tuple[float, float] | None = None
    # one tick past the last picture closes the last step
    for time_ns in range(int(times_ns[0]), int(times_ns[-1]) + 2 * period_ns, period_ns):
        while given < len(events) and events[given].time_ns < time_ns:
            event = events[given]
            assembler.event(event)
            if event.x is not None and event.y is not None:
                cursor = event.x, event.y
            given += 1
        if any(start <= time_ns < end for start, end in gaps):
            assembler.gap()
            waiting.clear()
            continue
        frame = pictures.at(time_ns)
        seen_ns, number = (frame.time_ns, frame.number) if frame is not None else (time_ns, -1)
        empty = Observation(time_ns, seen_ns, number, Status(), Tracks.empty(), cursor)
        waiting.append(frame)
        for step in assembler.tick(empty, actor, actor_name):
            yield step, waiting.popleft()


class _Pictures:
    """The newest picture at growing times, decoding each once."""

    def __init__(self, session: Session) -> None:
        self._times_ns = session.frame_times_ns()
        self._frames = session.frames() if len(self._times_ns) else iter(())
        self._now: Frame | None = None

    def at(self, time_ns: int) -> Frame | None:
        """The newest picture not later than ``time_ns`` (the first when all are later); None without a video."""
        number = max(0, int(np.searchsorted(self._times_ns, time_ns, side="right")) - 1)
        while self._now is None or self._now.number < number:
            following = next(self._frames, None)
            if following is None:
                break
            self._now = following
        return self._now


def _target_again(before: Tracks, target_id: int, now: Tracks) -> int:
    """The new track that is where the old target was: the same class, the largest overlap, else the nearest."""
    rows = np.flatnonzero(before.ids == target_id)
    if target_id == NO_TARGET or not len(rows) or not len(now):
        return NO_TARGET
    from engine.perception.detections import overlaps

    box, kind = before.boxes[rows[0]][None], before.classes[rows[0]]
    same = now.classes == kind
    iou = np.where(same, overlaps(box, now.boxes)[0], 0.0)
    if iou.max() > 0.1:
        return int(now.ids[int(iou.argmax())])
    distance = np.where(same, np.hypot(*(now.boxes[:, :2] - box[0, :2]).T), np.inf)
    return int(now.ids[int(distance.argmin())]) if distance.min() < _NEAR else NO_TARGET


def _actor_names(session: Session) -> list[str]:
    """The acting pilot's name per step, which ``Steps`` has no column for."""
    from data.steps_arrow import read_table

    table = read_table(session.folder, "steps", steps_schema(session.metadata.profile)).table
    return [str(name or "") for name in table.column("actor_name").to_pylist()]


def _never() -> bool:
    return False
