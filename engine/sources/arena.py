"""The embedded arena as a source of pictures: no window, no screen, no GPU.

In real time the world follows the wall clock whenever it is grabbed from; otherwise each grab is exactly one
capture interval later on a clock of its own, as fast as the machine can.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from data.schema import Action, Frame, Image, InputEvent
from league.arena.flight import EPISODE_STEPS, Autopilot, Controls, EpisodeResult, Flight, Intent
from league.arena.looks import CLASSIC, look_named
from league.arena.world import STEPS_PER_TICK, WorldState

if TYPE_CHECKING:
    from league.arena.render import Renderer

STEPS_PER_S: Final = 60
LONGEST_CATCH_UP_STEPS: Final = STEPS_PER_S
"""A source that was not grabbed from for longer lets time pass it by: its world stood still meanwhile."""
EVENTS_KEPT: Final = 20_000
_SLACK_NS: Final = 1_000
"""So that a capture interval rounded to ns is not one world step short."""


class ArenaSource:
    """One skirmish world seen through the off-screen renderer. ``open``, ``grab`` and ``close`` belong to one thread;
    everything else may be used from any.

    A scripted pilot acts at 20 Hz of world time as "demonstrator", its name in ``actor_name``; what ``apply`` brings
    is the bot's. A pilot's events bear the time of the world step before which they act.
    """

    kind = "arena"

    def __init__(
        self,
        pilot: str | None = None,
        seed: int = 0,
        fps: float = 30.0,
        real_time: bool = True,
        latency_frames: int = 0,
        show_cursor: bool = False,
        auto_restart: bool = True,
        episode_steps: int = EPISODE_STEPS,
        look: str = CLASSIC.name,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """pilot: "expert", "novice", "random" or None. latency_frames: 0 or 1 pictures between the world and what is
        grabbed. show_cursor: draw the pointer (screen capture leaves it out). auto_restart: after an episode the next
        one begins in the world of the next seed; else the world stands still and ``episode_over`` is true. look: how
        it is drawn, a name of ``league.arena.looks``; ValueError when there is none of that name.
        """
        if not 1.0 <= fps <= 240.0:
            raise ValueError(f"arena source: {fps} pictures per second is not a rate; use 1 to 240")
        if latency_frames not in (0, 1):
            raise ValueError(f"arena source: a latency of {latency_frames} pictures is not offered; use 0 or 1")
        self.fps, self.real_time, self.auto_restart = fps, real_time, auto_restart
        self._look = look_named(look)
        self._show_cursor, self._episode_steps, self._first_seed = show_cursor, episode_steps, seed
        self._clock_ns = clock_ns
        self._lock = threading.RLock()
        self._events: deque[InputEvent] = deque(maxlen=EVENTS_KEPT)
        self._bot = Controls("bot")
        self._pilot_name = pilot
        self._autopilot: Autopilot | None = None
        self._flight: Flight | None = None
        self._renderer: Renderer | None = None
        self._images: deque[Image] = deque(maxlen=latency_frames + 1)
        self._grabs = self._steps = self._start_ns = 0

    @property
    def description(self) -> str:
        drawn = "" if self._look is CLASSIC else f", look {self._look.name}"
        return f"skirmish 640x360, off screen{drawn}{f', {self._pilot_name} flies' if self._pilot_name else ''}"

    @property
    def size(self) -> tuple[int, int]:
        return (640, 360)

    @property
    def state(self) -> str:
        if self._flight is None:
            return "the arena is not open"
        return "the episode is over" if self.episode_over else ""

    @property
    def pilot(self) -> str | None:
        return self._pilot_name

    @property
    def episode_over(self) -> bool:
        """Only without ``auto_restart``: the world stands still until ``reset``."""
        return self._flight is not None and self._flight.over

    @property
    def episode(self) -> int:
        return self._flight.episode if self._flight is not None else 0

    @property
    def seed(self) -> int:
        return self._flight.seed if self._flight is not None else self._first_seed

    @property
    def results(self) -> tuple[EpisodeResult, ...]:
        """The finished episodes, oldest first."""
        return tuple(self._flight.results) if self._flight is not None else ()

    @property
    def cursor(self) -> tuple[float, float]:
        """Where the pointer of whoever flies is, in 0..1."""
        autopilot = self._autopilot
        return autopilot.controls.cursor if autopilot is not None else self._bot.cursor

    @property
    def intent(self) -> Intent | None:
        """What the scripted pilot meant at its last decision; for labels' truth, never for a policy."""
        autopilot = self._autopilot
        return autopilot.intent if autopilot is not None else None

    @property
    def time_ns(self) -> int:
        """The source's clock: the wall's in real time, else that of the last grab."""
        return self._clock_ns() if self.real_time else self._grab_time_ns(max(0, self._grabs - 1))

    def open(self) -> None:
        """Lay out the world. Compiles the rules if no cache of them exists (some 20 s, once per user)."""
        from league.arena.render import Renderer

        renderer, flight = Renderer(self._look), Flight(self._first_seed, self._episode_steps)
        with self._lock:
            self._renderer, self._flight = renderer, flight
            self._images.clear()
            self._events.clear()
            self._grabs = self._steps = 0
            self._start_ns = self._clock_ns()
            self.set_pilot(self._pilot_name)

    def close(self) -> None:
        with self._lock:
            self._flight = self._renderer = self._autopilot = None

    def grab(self) -> Frame | None:
        """The picture now (real time) or one capture interval after the last one. None: not open."""
        with self._lock:
            flight, renderer = self._flight, self._renderer
            if flight is None or renderer is None:
                return None
            now_ns = self._clock_ns() if self.real_time else self._grab_time_ns(self._grabs)
            self._advance(flight, now_ns)
            cursor = self.cursor if self._show_cursor else None
            self._images.append(renderer.picture(flight.state, 0, cursor))
            self._grabs += 1
            return Frame(self._grabs - 1, now_ns, self._images[0])

    def _grab_time_ns(self, number: int) -> int:
        return self._start_ns + round(number * 1e9 / self.fps)

    def _step_time_ns(self, step: int) -> int:
        return self._start_ns + step * 1_000_000_000 // STEPS_PER_S

    def _advance(self, flight: Flight, until_ns: int) -> None:
        """Bring the world to ``until_ns``; the pilot decides every third step, before it."""
        due = (until_ns - self._start_ns + _SLACK_NS) * STEPS_PER_S // 1_000_000_000 - self._steps
        if self.real_time and due > LONGEST_CATCH_UP_STEPS:
            missed = due - LONGEST_CATCH_UP_STEPS
            self._start_ns += missed * 1_000_000_000 // STEPS_PER_S
            due = LONGEST_CATCH_UP_STEPS
        while due > 0:
            if flight.over:
                if not self.auto_restart:
                    self._steps += due
                    return
                self._restart(flight, flight.seed + 1)
            into_tick = flight.tick % STEPS_PER_TICK
            if into_tick == 0 and self._autopilot is not None:
                self._take(flight, self._autopilot.act(flight.state, self._step_time_ns(self._steps)))
            steps = min(due, STEPS_PER_TICK - into_tick)
            flight.advance(steps)
            self._steps += steps
            due -= steps

    def _take(self, flight: Flight, events: list[InputEvent]) -> None:
        for event in events:
            self._events.append(event)
            if event.kind == "press" and event.x is not None and event.y is not None:
                flight.command(event.name, event.x, event.y)

    def _restart(self, flight: Flight, seed: int) -> None:
        old = self._autopilot.controls if self._autopilot is not None else self._bot
        self._events.extend(old.release_all(self._step_time_ns(self._steps)))
        flight.restart(seed)
        if self._autopilot is not None:
            self._autopilot.restart(seed)

    def apply(self, action: Action) -> None:
        """The bot acts: at the next world step. It takes over from a scripted pilot.

        Raises ValueError for a place that is not finite.
        """
        with self._lock:
            flight = self._flight
            if flight is None:
                return
            if self._autopilot is not None:
                self.set_pilot(None)
            time_ns = self._clock_ns() if self.real_time else self._step_time_ns(self._steps)
            self._take(flight, self._bot.act(action, time_ns))

    def set_pilot(self, name: str | None) -> None:
        """Let a scripted pilot fly from now on, or (None) nobody until the bot acts."""
        with self._lock:
            self._pilot_name = name
            if self._flight is None:
                return
            old = self._autopilot.controls if self._autopilot is not None else self._bot
            self._events.extend(old.release_all(self._step_time_ns(self._steps)))
            self._autopilot = Autopilot(name, self._flight.seed) if name else None
            new = self._autopilot.controls if self._autopilot is not None else self._bot
            new.cursor = old.cursor

    def reset(self, seed: int) -> None:
        """Begin an episode in the world of ``seed`` now; the unfinished one is not counted."""
        with self._lock:
            if self._flight is None:
                self._first_seed = seed
            else:
                self._restart(self._flight, seed)

    def events(self) -> list[InputEvent]:
        """The input events since the last call, in the order they act."""
        with self._lock:
            found = list(self._events)
            self._events.clear()
            return found

    def score(self) -> float:
        """The score of the running episode."""
        with self._lock:
            return self._flight.score() if self._flight is not None else 0.0

    def counters(self) -> dict[str, float]:
        """Kills, deaths, loot and damage of the running episode, as ``league.arena.score.counters`` names them."""
        with self._lock:
            return self._flight.counters() if self._flight is not None else {}

    def world(self) -> WorldState:
        """A copy of the world: truth, for scoring and tests only."""
        with self._lock:
            if self._flight is None:
                raise RuntimeError("arena source: the arena is not open; open it first")
            return self._flight.state.copy()
