"""Actors in the learner's own process, one after another: nothing overlaps, and a resumed run is bit-equal to one that never stopped."""

from __future__ import annotations

from league.rollout import Actor, Chunk, Match
from league.runners.base import (
    NextMatches,
    Policies,
    RunnerSettings,
    RunnerState,
    Weights,
    begun_from_state,
    from_state,
    share_out,
    state_of,
)


class InProcessRunner:
    """See ``league.runners.base.Runner``."""

    def __init__(self, settings: RunnerSettings | None = None) -> None:
        self.settings = settings or RunnerSettings()
        self._policies = Policies()
        self._actors = [Actor(self.settings.rollout) for _ in range(self.settings.actors)]
        self._begun: list[dict[int, Match] | None] = [None] * len(self._actors)
        """New matches of a rollout that a runner of another kind had begun ahead; that one is played first."""

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        self._policies.set(player, weights, version)

    def set_reference(self, weights: Weights | None) -> None:
        self._policies.set_reference(weights)

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        begun, self._begun = self._begun, [None] * len(self._actors)
        free = [self.settings.to_begin(actor.idle) if mine is None else [] for actor, mine in zip(self._actors, begun, strict=True)]
        for actor, mine, fresh in zip(self._actors, begun, share_out(free, matches), strict=True):
            actor.begin(fresh if mine is None else mine)
        return [actor.rollout(self._policies.by_player, unroll, self._policies.reference) for actor in self._actors]

    def drop(self) -> list[Match]:
        forgotten: list[Match] = []
        for actor, begun in zip(self._actors, self._begun, strict=True):
            running = {w: match for w, match in enumerate(actor.matches) if match is not None} | (begun or {})
            forgotten += [running[w] for w in sorted(running)]
            actor.clear()
        self._begun = [None] * len(self._actors)
        return forgotten

    def state(self) -> RunnerState:
        return state_of(self.settings, [a.arrays() for a in self._actors], [a.matches for a in self._actors], self._begun)

    def restore(self, state: RunnerState) -> None:
        begun = begun_from_state(self.settings, state)
        for actor, (worlds, matches) in zip(self._actors, from_state(self.settings, state), strict=True):
            actor.restore(worlds, matches)
        self._begun = begun

    def close(self) -> None:
        """Nothing runs on."""
