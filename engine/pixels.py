"""The arena flown from its pictures, in lockstep: render, perceive, act, as fast as the machine can.

The picture is taken two world steps (33 ms) before the tick that acts on it, which is how old it is in real time
(36 ms were measured), so that a policy learns from and is scored on what it will see live.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from data.profile import ARENA_PROFILE
from data.schema import Frame, Observation, Step, Tracks
from data.steps import Steps, StepsBuilder
from engine.lockstep import Actor, Decision, Disturb, EpisodeResult, known_mode, same_track
from league.arena import skirmish
from league.arena.emulated import TruthObserver
from league.arena.episode import CLICK_CODES, TICK_NS
from league.arena.flight import STEP_NS
from league.arena.looks import CLASSIC, look_named
from league.arena.pilots import make_pilot
from league.arena.score import counters as counters_of
from league.arena.score import score
from league.arena.world import STEPS_PER_TICK

if TYPE_CHECKING:
    from data.schema import Action
    from league.arena.render import Renderer

PICTURE_AGE_STEPS: Final = 2


class Perceives(Protocol):
    def perceive(self, frame: Frame, time_ns: int, cursor: tuple[float, float] | None, focus: bool) -> Observation: ...


OnTick = Callable[[Frame, Observation, Decision], None]


class PixelEpisode:
    """One episode from pictures. ``sees_truth``: the actor is a demonstrator that reads the world itself (late, by its
    own reaction time) while what is perceived goes to ``on_tick`` only."""

    def __init__(self, renderer: Renderer, perceiver: Perceives, seed: int, start_ns: int = 0) -> None:
        self._renderer, self._perceiver = renderer, perceiver
        self.state = skirmish.new_worlds(1, [seed])
        self.seed, self._start_ns = seed, start_ns
        self.cursor = (0.5, 0.5)
        self.exact = Tracks.empty()
        """What a demonstrator saw last."""
        self._tick = 0
        self._image = renderer.picture(self.state, 0)

    def run(
        self,
        actor: Actor,
        ticks: int = skirmish.EPISODE_TICKS,
        sees_truth: bool = False,
        on_tick: OnTick | None = None,
        disturb: Disturb | None = None,
    ) -> EpisodeResult:
        """Fly ``ticks`` ticks. ``disturb(tick, cursor)`` may put the cursor elsewhere before a tick is seen."""
        truth = TruthObserver() if sees_truth else None
        for _ in range(ticks):
            if disturb is not None:
                self.cursor = disturb(self._tick, self.cursor)
            time_ns = self.time_ns(self._tick)
            frame = Frame(self._tick, time_ns - PICTURE_AGE_STEPS * STEP_NS, self._image)
            seen = self._perceiver.perceive(frame, time_ns, self.cursor, True)
            exact = None if truth is None else truth.observe(self.state, 0, time_ns, self.cursor)
            if exact is not None:
                self.exact = exact.tracks
            decision = actor.act(seen if exact is None else exact)
            if on_tick is not None:
                on_tick(frame, seen, decision)
            self._advance(decision.action)
        counters = counters_of(self.state, 0)
        return EpisodeResult(self.seed, self._tick, float(score(self.state)[0]), counters)

    def time_ns(self, tick: int) -> int:
        """When the episode's tick ``tick`` (from 0) is seen and answered."""
        return self._start_ns + (tick + 1) * TICK_NS

    def _advance(self, action: Action) -> None:
        key = skirmish.KEYS.index(action.hotkey) if action.hotkey in skirmish.KEYS else -1
        place = np.array([[action.x, action.y]], np.float32)
        first = STEPS_PER_TICK - PICTURE_AGE_STEPS
        skirmish.advance(self.state, np.array([CLICK_CODES[action.click]], np.int8), place, np.array([key], np.int8), first)
        self._image = self._renderer.picture(self.state, 0)
        skirmish.advance(self.state, None, None, None, PICTURE_AGE_STEPS)
        self.cursor = (action.x, action.y)
        self._tick += 1


class PixelEyes:
    """Renderer and detector of the arena, kept from one episode to the next. Raises ValueError for an unknown look."""

    def __init__(self, look: str = CLASSIC.name) -> None:
        from engine.perception.perceive import Perceiver
        from league.arena.render import Renderer

        self._renderer, self._perceiver = Renderer(look_named(look)), Perceiver(ARENA_PROFILE)

    def episode(self, seed: int) -> PixelEpisode:
        """A fresh world, and a perceiver that remembers nothing of the one before."""
        self._perceiver.reset()
        return PixelEpisode(self._renderer, self._perceiver, seed)

    def record(self, pilot: str, seed: int, disturb: Disturb | None = None, ticks: int = skirmish.EPISODE_TICKS) -> Steps:
        """An episode of a scripted demonstrator, as ``engine.lockstep.record_episode``: it flies by exact eyes, and what was perceived in
        the pictures is kept. Raises ValueError for an unknown pilot."""
        rows, episode = StepsBuilder(ARENA_PROFILE), self.episode(seed)

        def keep(frame: Frame, seen: Observation, decision: Decision) -> None:
            del frame
            target = same_track(episode.exact, decision.target_id, seen.tracks)
            rows.append(Step(seen, decision.action, "demonstrator", pilot, 0, known_mode(decision.mode), target))

        episode.run(make_pilot(pilot, seed), ticks, True, keep, disturb)
        return rows.build()
