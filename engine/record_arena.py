"""Sessions of a scripted demonstrator in the embedded arena, faster than real time: real pictures, real video, the
steps perceived from the pictures. Several worker processes, one session each."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.profile import ARENA_PROFILE
from data.schema import Frame, InputEvent, Observation, Step
from data.vocabulary import MODES
from engine.runtime.progress import EtaReport, Progress, Report, ignore
from engine.runtime.workers import worker_processes

if TYPE_CHECKING:
    from data.session import SessionWriter
    from engine.lockstep import Decision, Disturb, EpisodeResult
    from engine.pixels import PixelEpisode

PERTURBED_TICKS: Final = 8
"""What a displaced cursor disturbs: the longest reach back, and its click."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One finished session of a demonstrator."""

    session: str
    pilot: str
    seed: int
    duration_s: float
    scores: tuple[float, ...]


def record_session(
    workspace: Path,
    pilot: str,
    seed: int,
    duration_s: float,
    on_second: Callable[[float], None] | None = None,
    look: str = "classic",
    displaced: float = 0.0,
) -> Recorded:
    """One session of whole episodes (the last one may be cut short), seeds counted up from ``seed``.

    ``displaced``: the share of the play in which the cursor is put elsewhere now and then (``lockstep.displaced_cursor``); the
    session notes those stretches as perturbed. ``on_second`` gets the seconds of play recorded so far. Raises ValueError for an
    unknown look, with those there are.
    """
    from data.metadata import Source
    from data.session import SessionWriter
    from engine.lockstep import displaced_cursor
    from engine.perception.perceive import Perceiver
    from engine.pixels import PixelEpisode
    from league.arena.episode import TICK_NS
    from league.arena.looks import look_named
    from league.arena.pilots import make_pilot
    from league.arena.render import Renderer
    from league.arena.skirmish import EPISODE_TICKS, RULES_VERSION
    from league.arena.world import TICK_HZ

    renderer, perceiver = Renderer(look_named(look)), Perceiver(ARENA_PROFILE)
    drawn = "" if look == "classic" else f"look {look}, "
    start_ns = time.monotonic_ns()
    writer = SessionWriter.create(
        workspace,
        "play",
        ARENA_PROFILE,
        Source(kind="arena", description=f"skirmish 640x360, {drawn}off screen, {pilot} flies, faster than real time"),
        float(TICK_HZ),
        ARENA_PROFILE.picture_size,
        tick_hz=float(TICK_HZ),
        start_ns=start_ns,
        details={"rules_version": RULES_VERSION, "pilot": pilot, "seed": seed, "look": look, "perception": "pixels, in lockstep"},
    )
    total = max(1, round(duration_s * TICK_HZ))
    results: list[EpisodeResult] = []
    done = 0
    try:
        while done < total:
            ticks = min(EPISODE_TICKS, total - done)
            perceiver.reset()
            episode = PixelEpisode(renderer, perceiver, seed + len(results), start_ns + done * TICK_NS)
            sink = _Sink(writer, episode, pilot, done, on_second)
            disturb = sink.noting(displaced_cursor(seed + len(results), displaced))
            results.append(episode.run(make_pilot(pilot, seed + len(results)), ticks, True, sink, disturb))
            sink.end()
            done += ticks
        details = writer.metadata.details
        details["episode_scores"] = [r.score for r in results]
    except BaseException:
        writer.close("unsaved")
        raise
    writer.close("saved")
    return Recorded(writer.id, pilot, seed, total / TICK_HZ, tuple(r.score for r in results if r.ticks == EPISODE_TICKS))


class _Sink:
    """Writes what one episode gives: pictures, input events as a person's hand would make them, and steps."""

    def __init__(
        self, writer: SessionWriter, episode: PixelEpisode, pilot: str, first: int, on_second: Callable[[float], None] | None
    ) -> None:
        from league.arena.flight import Controls
        from league.arena.world import TICK_HZ

        self._writer, self._episode, self._pilot = writer, episode, pilot
        self._controls = Controls("demonstrator", pilot)
        self._number, self._hz, self._on_second = first, TICK_HZ, on_second
        self._last_ns = 0

    def noting(self, disturb: Disturb) -> Disturb:
        """The same, with what it does to the cursor written down: as a move, and as a perturbed stretch."""
        from league.arena.episode import TICK_NS

        def noted(tick: int, cursor: tuple[float, float]) -> tuple[float, float]:
            place = disturb(tick, cursor)
            if place != cursor:
                time_ns = self._episode.time_ns(tick)
                self._writer.write_event(self._controls.displace(*place, time_ns - 1))
                self._writer.mark("perturbed", time_ns - 1, time_ns + PERTURBED_TICKS * TICK_NS, "cursor displaced")
            return place

        return noted

    def __call__(self, frame: Frame, seen: Observation, decision: Decision) -> None:
        from dataclasses import replace

        from engine.lockstep import same_track

        self._writer.write_frame(replace(frame, number=self._number))
        for event in self._controls.act(decision.action, seen.time_ns):
            self._writer.write_event(event)
        mode: Any = next((m for m in MODES if m == decision.mode), "")
        target = same_track(self._episode.exact, decision.target_id, seen.tracks)
        observation = replace(seen, frame_number=self._number)
        self._writer.write_step(Step(observation, decision.action, "demonstrator", self._pilot, 0, mode, target))
        self._number += 1
        self._last_ns = seen.time_ns
        if self._on_second is not None and self._number % self._hz == 0:
            self._on_second(self._number / self._hz)

    def end(self) -> list[InputEvent]:
        """A new world begins: nothing stays held across it."""
        events = self._controls.release_all(self._last_ns + 1)
        for event in events:
            self._writer.write_event(event)
        return events


def record_demonstrations(
    workspace: Path,
    pilot: str,
    minutes: float,
    seed: int,
    sessions: int = 2,
    workers: int = 2,
    report: Report = ignore,
    look: str = "classic",
    displaced: float = 0.0,
) -> list[Recorded]:
    """``minutes`` of play in ``sessions`` equal sessions by ``workers`` processes; ``displaced`` as in ``record_session``. Ends early
    on KeyboardInterrupt (finished sessions stay). Raises ValueError for impossible numbers and an unknown look."""
    from engine.lockstep import displaced_cursor
    from league.arena.looks import look_named

    look_named(look)  # before any process is started
    displaced_cursor(seed, displaced)
    if minutes <= 0 or sessions < 1 or workers < 1:
        raise ValueError(f"{minutes} minutes in {sessions} sessions by {workers} workers: use positive numbers")
    report = EtaReport(report)
    share_s = minutes * 60.0 / sessions
    from league.arena.score import seeds

    # Worlds of the training list: consecutive within a session, and the sessions' ranges do not meet.
    starts: list[int] = seeds("train", 1000 * sessions, 1000 * seed)[::1000].tolist()
    jobs = [(str(workspace), pilot, start, share_s, look, displaced) for start in starts]
    with get_context("spawn").Manager() as manager:
        told: Any = manager.Queue()
        with worker_processes(min(workers, sessions), _start_worker, (told,)) as pool:
            pending = [pool.submit(_record, *job) for job in jobs]
            seconds: dict[int, float] = {}
            while wait(pending, 0.2, FIRST_EXCEPTION).not_done and not any(one.done() and one.exception() for one in pending):
                while not told.empty():
                    job_seed, second = told.get()
                    seconds[job_seed] = second
                done_s = sum(seconds.values())
                report(
                    Progress("recording", min(done_s / (minutes * 60.0), 0.999), message=f"{done_s / 60:.1f} of {minutes:g} min of play")
                )
            recorded = [one.result() for one in pending]
    report(Progress("recording", 1.0, message=f"{minutes:g} min of play in {sessions} sessions"))
    return recorded


_told: Any = None


def _start_worker(told: Any) -> None:
    global _told
    _told = told


def _record(workspace: str, pilot: str, seed: int, duration_s: float, look: str, displaced: float) -> Recorded:
    return record_session(Path(workspace), pilot, seed, duration_s, lambda second: _told.put((seed, second)), look, displaced)
