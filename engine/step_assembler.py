"""Joins what was seen at a tick with what was done until the next one: the row that is recorded and learnt from.

Pure: events and observations go in, steps come out. An event belongs to the tick in whose time it happened, whenever
it arrives, so a step is complete only some time after the next tick has begun.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from data.profile import GameProfile
from data.schema import NO_TARGET, Action, InputEvent, Observation, Step
from data.steps import input_names
from data.vocabulary import ActorKind

SETTLE_NS: Final = 350_000_000
"""How long events of a tick may still come in: a listener waits up to 300 ms to learn whether an event was the bot's,
and the arena's own events come with the next picture."""


@dataclass(slots=True)
class _Open:
    """A tick whose time is over or running, waiting for its events."""

    seen: Observation
    flies: ActorKind
    flies_name: str
    intent: tuple[str, int, int] = ("", NO_TARGET, 0)


class StepAssembler:
    """One thread calls ``tick``, ``intent`` and ``gap``; any thread may call ``event``."""

    def __init__(self, profile: GameProfile, settle_ns: int = SETTLE_NS) -> None:
        self._names = frozenset(input_names(profile))
        self._settle_ns = settle_ns
        self._arrived: deque[InputEvent] = deque(maxlen=20_000)
        self._events: list[InputEvent] = []
        self._open: deque[_Open] = deque()
        self._held: set[str] = set()
        self._cursor: tuple[float, float] | None = None

    def event(self, event: InputEvent) -> None:
        self._arrived.append(event)

    def intent(self, mode: str, target_id: int, model_version: int) -> None:
        """What the acting pilot or policy meant in the newest tick."""
        if self._open:
            self._open[-1].intent = (mode, target_id, model_version)

    def tick(self, observation: Observation, flies: ActorKind, flies_name: str = "") -> list[Step]:
        """A new tick has begun, and ``flies`` has the controls in it: the steps that are complete now, oldest first."""
        self._open.append(_Open(observation, flies, flies_name))
        finished: list[Step] = []
        while len(self._open) > 1 and observation.time_ns - self._open[1].seen.time_ns >= self._settle_ns:
            tick = self._open.popleft()
            finished.append(self._close(tick, self._open[0].seen.time_ns))
        return finished

    def gap(self) -> list[Step]:
        """Time passed unseen (pause, focus lost): nothing is held any more. The steps that had ended before it."""
        finished = [self._close(tick, after.seen.time_ns) for tick, after in pairwise(self._open)]
        self._open.clear()
        self._arrived.clear()
        self._events.clear()
        self._held.clear()
        return finished

    def _close(self, tick: _Open, until_ns: int) -> Step:
        while self._arrived:
            self._events.append(self._arrived.popleft())
        self._events.sort(key=lambda event: event.time_ns)  # stable: what came together stays in order
        count = sum(event.time_ns < until_ns for event in self._events)
        within, self._events = self._events[:count], self._events[count:]
        onsets: list[str] = []
        actor, actor_name = tick.flies, tick.flies_name
        for event in within:
            if event.x is not None and event.y is not None and math.isfinite(event.x) and math.isfinite(event.y):
                self._cursor = (event.x, event.y)
            if event.actor == "human" and event.kind != "release":
                actor, actor_name = "human", event.actor_name
            if event.name not in self._names:
                continue
            if event.kind == "press":
                if event.name not in self._held and event.note != "held_at_start":
                    onsets.append(event.name)
                self._held.add(event.name)
            elif event.kind == "release":
                self._held.discard(event.name)
        x, y = self._cursor or tick.seen.cursor or (0.5, 0.5)
        mode, target_id, version = tick.intent
        action = Action(x, y, tuple(onsets), frozenset(self._held))
        return Step(tick.seen, action, actor, actor_name, version if actor == "bot" else 0, mode, target_id)  # pyright: ignore[reportArgumentType]
