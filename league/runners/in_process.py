"""Actors in the learner's own process, one after another: nothing overlaps, and a resumed run is bit-equal to one that never stopped."""

from __future__ import annotations

from league.rollout import Actor, Chunk, Match
from league.runners.base import NextMatches, Policies, RunnerSettings, RunnerState, Weights, from_state, share_out, state_of


class InProcessRunner:
    """See ``league.runners.base.Runner``."""

    def __init__(self, settings: RunnerSettings | None = None) -> None:
        self.settings = settings or RunnerSettings()
        self._policies = Policies()
        self._actors = [Actor(self.settings.rollout) for _ in range(self.settings.actors)]

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        self._policies.set(player, weights, version)

    def set_reference(self, weights: Weights | None) -> None:
        self._policies.set_reference(weights)

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        for actor, mine in zip(self._actors, share_out([self.settings.to_begin(a.idle) for a in self._actors], matches), strict=True):
            actor.begin(mine)
        return [actor.rollout(self._policies.by_player, unroll, self._policies.reference) for actor in self._actors]

    def drop(self) -> list[Match]:
        return [match for actor in self._actors for match in actor.clear()]

    def state(self) -> RunnerState:
        return state_of(self.settings, [a.arrays() for a in self._actors], [a.matches for a in self._actors])

    def restore(self, state: RunnerState) -> None:
        for actor, (worlds, matches) in zip(self._actors, from_state(self.settings, state), strict=True):
            actor.restore(worlds, matches)

    def close(self) -> None:
        """Nothing runs on."""
