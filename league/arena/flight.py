"""One skirmish world being flown: commands wait for the next world step, episodes are counted, actions become events.

The window and the off-screen source both stand on this, so that a click means the same in both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.schema import Action, InputEvent
from data.vocabulary import ActorKind
from league.arena import sizes, skirmish
from league.arena.score import counters, score
from league.arena.world import DT_S, STEPS_PER_TICK, WorldState

EPISODE_STEPS: Final = skirmish.EPISODE_TICKS * STEPS_PER_TICK
STEP_NS: Final = round(DT_S * 1e9)
TICK_NS: Final = STEP_NS * STEPS_PER_TICK
_CLICKS: Final = {"mouse_left": 1, "mouse_right": 2}


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """How one episode ended. ``counters`` as ``score.counters`` names them."""

    episode: int
    seed: int
    score: float
    counters: dict[str, float]


class Flight:
    """A world of its own with episodes of ``episode_steps`` world steps. Not thread-safe."""

    def __init__(self, seed: int, episode_steps: int = EPISODE_STEPS) -> None:
        if episode_steps < 1:
            raise ValueError(f"arena: an episode of {episode_steps} world steps cannot be flown; use at least 1 (60 a second)")
        self.episode_steps = episode_steps
        self.episode = 0
        self.results: list[EpisodeResult] = []
        self._start(seed)

    def _start(self, seed: int) -> None:
        self.seed = seed
        self.state: WorldState = skirmish.new_worlds(1, [seed])
        self._commands: list[tuple[int, float, float, int]] = []

    @property
    def tick(self) -> int:
        """World steps since the episode began."""
        return int(self.state.tick[0])

    @property
    def over(self) -> bool:
        return self.tick >= self.episode_steps

    def command(self, name: str, x: float, y: float) -> bool:
        """A button or key goes down at (x, y) in 0..1; it acts at the next world step. False: it means nothing here."""
        click = _CLICKS.get(name, 0)
        key = skirmish.KEYS.index(name) if name in skirmish.KEYS else -1
        if self.over or (click == 0 and key < 0) or not (math.isfinite(x) and math.isfinite(y)):
            return False
        self._commands.append((click, x, y, key))
        return True

    def drop_commands(self) -> None:
        """Forget what has not acted yet (the window lost its focus)."""
        self._commands.clear()

    def advance(self, world_steps: int) -> None:
        """Apply waiting commands in their order, then move the world, at most to the end of the episode."""
        for click, x, y, key in self._commands:
            place = np.array([[x, y]], np.float32)
            skirmish.advance(self.state, np.array([click], np.int8), place, np.array([key], np.int8), 0)
        self._commands.clear()
        steps = min(world_steps, self.episode_steps - self.tick)
        if steps > 0:
            skirmish.advance(self.state, None, None, None, steps)
            if self.over:
                self.results.append(self.result())

    def restart(self, seed: int) -> None:
        """Begin the next episode in the world of ``seed``."""
        self.episode += 1
        self._start(seed)

    def score(self) -> float:
        return float(score(self.state)[0])

    def counters(self) -> dict[str, float]:
        return counters(self.state, 0)

    def result(self) -> EpisodeResult:
        return EpisodeResult(self.episode, self.seed, self.score(), self.counters())


class Controls:
    """Turns actions into input events: one cursor, and a ledger of what is down.

    A key pressed by one action is released by the first later action that neither holds nor presses it.
    """

    def __init__(self, actor: ActorKind, actor_name: str = "") -> None:
        self.actor, self.actor_name = actor, actor_name
        self.cursor = (0.5, 0.5)
        self.held: set[str] = set()

    def act(self, action: Action, time_ns: int) -> list[InputEvent]:
        """The events of one action, in order: releases, the move, presses.

        Raises ValueError for a place that is not finite; places outside 0..1 are moved to the border.
        """
        if not (math.isfinite(action.x) and math.isfinite(action.y)):
            raise ValueError(f"arena: ({action.x}, {action.y}) is not a place; use 0 to 1")
        events = [self._event(time_ns, "release", name) for name in sorted(self.held) if name not in action.held or name in action.onsets]
        self.held.difference_update(event.name for event in events)
        place = (min(1.0, max(0.0, action.x)), min(1.0, max(0.0, action.y)))
        if place != self.cursor:
            self.cursor = place
            events.append(self._event(time_ns, "move", ""))
        for name in action.onsets:
            events.append(self._event(time_ns, "press", name))
            self.held.add(name)
        return events

    def displace(self, x: float, y: float, time_ns: int) -> InputEvent:
        """The cursor is elsewhere, by no will of the actor's; places in 0..1."""
        self.cursor = (x, y)
        return self._event(time_ns, "move", "")

    def release_all(self, time_ns: int) -> list[InputEvent]:
        events = [self._event(time_ns, "release", name) for name in sorted(self.held)]
        self.held.clear()
        return events

    def _event(self, time_ns: int, kind: str, name: str) -> InputEvent:
        x, y = self.cursor
        return InputEvent(time_ns, kind, name, x, y, actor=self.actor, actor_name=self.actor_name, device="arena")  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a scripted pilot means in one tick; known for judging labels, never shown to a policy. ``target_class``
    and ``target_box`` (centre x, centre y, width, height in 0..1) are None without a target."""

    time_ns: int
    mode: str
    target_class: str | None = None
    target_box: tuple[float, float, float, float] | None = None


class Autopilot:
    """A scripted pilot with its eyes and its hand on the controls. It sees what the picture shows; its own delay is inside the pilot."""

    def __init__(self, name: str, seed: int) -> None:
        """name: "expert", "novice" or "random"."""
        self.name = name
        self.controls = Controls("demonstrator", name)
        self.restart(seed)

    def restart(self, seed: int) -> None:
        """A fresh pilot for a fresh world; its cursor stays where it is."""
        from league.arena.emulated import TruthObserver
        from league.arena.pilots import make_pilot

        self._pilot = make_pilot(self.name, seed)
        self._observer = TruthObserver()
        self.intent: Intent | None = None

    def act(self, state: WorldState, time_ns: int) -> list[InputEvent]:
        """One decision (every 3 world steps): what it does, as events at ``time_ns``."""
        observation = self._observer.observe(state, 0, time_ns, self.controls.cursor)
        decision = self._pilot.act(observation)
        target_class, target_box = None, None
        rows = np.flatnonzero(observation.tracks.ids == decision.target_id)
        if len(rows):
            x, y, w, h = observation.tracks.boxes[rows[0]].tolist()
            target_class, target_box = sizes.CLASSES[int(observation.tracks.classes[rows[0]])], (x, y, w, h)
        self.intent = Intent(time_ns, decision.mode, target_class, target_box)
        return self.controls.act(decision.action, time_ns)
