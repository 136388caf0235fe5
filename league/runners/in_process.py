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
        self._begun: list[dict[int, Match]] = [{} for _ in self._actors]
        """Matches that a runner of another kind had handed out ahead; they begin first."""

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        self._policies.set(player, weights, version)

    def set_reference(self, weights: Weights | None) -> None:
        self._policies.set_reference(weights)

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        free = [[] if begun else self.settings.to_begin(actor.idle) for actor, begun in zip(self._actors, self._begun, strict=True)]
        for i, mine in enumerate(share_out(free, matches)):
            self._actors[i].begin(self._begun[i] or mine)
            self._begun[i] = {}
        return [actor.rollout(self._policies.by_player, unroll, self._policies.reference) for actor in self._actors]

    def drop(self) -> list[Match]:
        forgotten: list[Match] = []
        for i, actor in enumerate(self._actors):
            running = {w: match for w, match in enumerate(actor.matches) if match is not None} | self._begun[i]
            forgotten += [running[w] for w in sorted(running)]
            actor.clear()
            self._begun[i] = {}
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
