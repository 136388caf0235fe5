"""One actor on some machine of a Ray cluster: a class that Ray makes an actor of. It knows nothing of Ray but how to fetch weights.

Its caller numbers the rollouts. An actor that Ray has started anew knows no number and says that it is lost; then the caller tells
it where to begin. So a rollout may safely be asked for twice.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch
from numpy.typing import NDArray

from league.arena.last_standing_rules import RULES_VERSION
from league.rollout import Actor, Chunk, Match
from league.runners.apart import Failed, play
from league.runners.base import Policies, RunnerSettings
from league.trajectories import observation_version

LOST: Final = "lost"
Fetch = Callable[[Any], Any]
"""``ray.get``."""


class Hello(NamedTuple):
    """Of an actor that is ready."""

    machine: str
    rules: str
    observation: str


class Before(NamedTuple):
    """Where an actor has to begin."""

    worlds: Mapping[str, NDArray[Any]]
    matches: Sequence[Match | None]
    """All None: the worlds do not matter."""


class Fresh(NamedTuple):
    """Weights that the actor has not seen. Objects of Ray stand in tuples of one, so that only who lacks them fetches them."""

    players: Mapping[str, tuple[tuple[Any], int]]
    """Weights and version."""
    reference: tuple[Any] | None
    """As ``Policies.set_reference`` takes it; None: it is as it was."""


class Rolled(NamedTuple):
    """One rollout: one large object."""

    chunk: Chunk
    worlds: Mapping[str, NDArray[Any]]
    """As it left them."""


def hello() -> Hello:
    """What this machine's code would say."""
    return Hello(socket.gethostname(), str(RULES_VERSION), str(observation_version()))


class RolloutServer:
    """See the module."""

    def __init__(self, settings: RunnerSettings, fetch: Fetch | None = None) -> None:
        torch.set_num_threads(1)
        self._fetch = fetch or _ray_get
        self._actor = Actor(settings.rollout)
        self._policies = Policies()
        self._serial: int | None = None
        """Of the last rollout; None: it is nowhere."""

    def ready(self) -> Hello:
        """Returns when the actor can play."""
        return hello()

    def play(self, serial: int, before: Before | None, fresh: Fresh, matches: Mapping[int, Match], unroll: int) -> Rolled | Failed | str:
        """Rollout ``serial``. ``before`` None: from where rollout ``serial - 1`` ended, or ``LOST`` when the actor is not there."""
        if before is None and self._serial != serial - 1:
            return LOST
        self._serial = None
        for player, ((weights,), version) in fresh.players.items():
            self._policies.set(player, self._fetch(weights), version)
        if fresh.reference is not None:
            (weights,) = fresh.reference
            self._policies.set_reference(None if weights is None else self._fetch(weights))
        if before is not None and any(before.matches):
            self._actor.restore(before.worlds, before.matches)
        elif before is not None:
            self._actor.clear()
        chunk = play(self._actor, self._policies, matches, unroll)
        if isinstance(chunk, Failed):
            return chunk
        self._serial = serial
        return Rolled(chunk, self._actor.arrays())


def _ray_get(what: Any) -> Any:
    import ray

    return ray.get(what)
