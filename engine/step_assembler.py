"""Joins what was seen at a tick with what was done until the next one: the row that is recorded and learnt from.

Pure: events and observations go in, steps come out. An event belongs to the tick in whose time it happened, so a
step is complete only when the next tick begins.
"""

from __future__ import annotations

import math
from collections import deque

from data.profile import GameProfile
from data.schema import NO_TARGET, Action, InputEvent, Observation, Step
from data.steps import input_names
from data.vocabulary import ActorKind


class StepAssembler:
    """One thread calls ``tick``; any thread may call ``event``. Events come in time order."""

    def __init__(self, profile: GameProfile) -> None:
        self._names = frozenset(input_names(profile))
        self._events: deque[InputEvent] = deque(maxlen=20_000)
        self._pending: Observation | None = None
        self._intent: tuple[str, int, int] = ("", NO_TARGET, 0)
        self._held: set[str] = set()
        self._cursor: tuple[float, float] | None = None

    def event(self, event: InputEvent) -> None:
        self._events.append(event)

    def intent(self, mode: str, target_id: int, model_version: int) -> None:
        """What the acting pilot or policy meant in the present tick."""
        self._intent = (mode, target_id, model_version)

    def tick(self, observation: Observation, flies: ActorKind, flies_name: str = "") -> Step | None:
        """A new tick has begun: the finished step of the tick before it (None for the first)."""
        finished = self._close(self._pending, observation.time_ns, flies, flies_name) if self._pending is not None else None
        self._pending = observation
        self._intent = ("", NO_TARGET, 0)
        return finished

    def gap(self) -> None:
        """Time passed unseen (pause, focus lost): the open step is dropped, nothing is held any more."""
        self._pending = None
        self._events.clear()
        self._held.clear()

    def _close(self, seen: Observation, until_ns: int, flies: ActorKind, flies_name: str) -> Step:
        onsets: list[str] = []
        actor, actor_name = flies, flies_name
        while self._events and self._events[0].time_ns < until_ns:
            event = self._events.popleft()
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
        x, y = self._cursor or seen.cursor or (0.5, 0.5)
        mode, target_id, version = self._intent
        action = Action(x, y, tuple(onsets), frozenset(self._held))
        return Step(seen, action, actor, actor_name, version if actor == "bot" else 0, mode, target_id)  # pyright: ignore[reportArgumentType]
