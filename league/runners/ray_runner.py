"""Actors on the machines of a Ray cluster. ``league.runners.apart`` says how they play.

Weights are put into Ray's object store once, whoever needs them; a rollout comes back as one large object. Ray starts an actor
that died anew, on another machine when its own is gone (``max_restarts``); this side then tells it where to begin.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.rollout import Chunk, Match
from league.runners.apart import START_S, Failed, Posted, RunnerApart
from league.runners.base import RunnerError, RunnerSettings, Weights
from league.runners.ray_actor import LOST, Before, Fresh, Hello, RolloutServer, hello
from league.runners.ray_cluster import join, leave, store_bytes_for
from league.runners.shared import memory_bytes
from league.trajectories import TrajectorySequence

_PARTS: Final = 10_000
"""Of a core, that Ray counts in."""
_UNKNOWN: Final = object()
"""What an actor may have been told."""


class _Put(NamedTuple):
    """Weights in Ray's object store."""

    ref: Any
    weights: Weights


class _RayActor:
    """The way to one actor: see ``league.runners.apart.Link``."""

    def __init__(self, number: int, ray: Any, make: Callable[[], Any], settings: RunnerSettings) -> None:
        self._number, self._ray, self._make, self._settings = number, ray, make, settings
        self._worlds: Mapping[str, NDArray[Any]] = {}
        self._why = ""
        self._start()

    def _start(self) -> None:
        self.actor = self._make()
        self._meet()

    def _meet(self) -> None:
        """Nothing is known of the actor any more."""
        self._hello: Any = self.actor.ready.remote()
        self._rolling: Any = None
        self._forget()

    def _forget(self) -> None:
        self._players: dict[str, tuple[Any, int]] = {}
        self._reference: Any = _UNKNOWN

    def send(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        told = posted.told
        if before is not None:  # Ray may have started it anew meanwhile, and asks that one: it is told all that it needs
            self._forget()
        new = {player: ((held.ref,), version) for player, (held, version) in told.players.items() if self._is_new(player, held)}
        reference = None if told.reference is self._reference else (told.reference and told.reference.ref,)
        self._players.update(told.players)
        self._reference = told.reference
        start = None if before is None else Before(self._worlds if any(before) else {}, list(before))
        self._rolling = self.actor.play.remote(serial, start, Fresh(new, reference), posted.matches, posted.unroll)

    def _is_new(self, player: str, held: Any) -> bool:
        known = self._players.get(player)
        return known is None or known[0] is not held

    def answer(self) -> Chunk | Failed | None:
        ray = self._ray
        try:
            if self._hello is not None:
                self._greet()
            done, _ = ray.wait([self._rolling], timeout=self._settings.patience_s)
            if not done:
                self._why = f"silent for {self._settings.patience_s:.0f} s"
                ray.kill(self.actor, no_restart=False)
                return None
            told = ray.get(self._rolling, timeout=self._settings.patience_s)  # it may go with its machine after all
        except ray.exceptions.RayError as error:
            self._why = _last_line(error)
            return None
        self._rolling = None
        if isinstance(told, str):
            assert told == LOST
            self._why = "it ended in the middle of a rollout"
            return None
        if isinstance(told, Failed):
            return told
        self._worlds = {name: np.array(values) for name, values in told.worlds.items()}
        return told.chunk._replace(sequence=_copied(told.chunk.sequence))

    def _greet(self) -> None:
        """The actor is there, and plays by the same rules. Raises RunnerError when there is no place for it, or it does not."""
        ray = self._ray
        done, _ = ray.wait([self._hello], timeout=START_S)
        if not done:
            free = ray.available_resources().get("CPU", 0)
            raise RunnerError(
                f"actor {self._number}: no machine of the cluster had room for it within {START_S:.0f} s ({free:g} cores are free); "
                "use fewer actors, add machines, or look at: ray status"
            )
        theirs: Hello = ray.get(self._hello, timeout=START_S)
        self._hello = None
        if theirs[1:] != hello()[1:]:
            raise RunnerError(
                f"actor {self._number}: {theirs.machine} has another version of the game ({theirs.rules}, {theirs.observation}) than this "
                f"machine ({', '.join(hello()[1:])}); install the same version of Secondseat on all machines"
            )

    def begin_anew(self) -> None:
        """Ray has started it anew already, unless it is gone for good."""
        try:
            self._meet()
            self._ray.wait([self._hello], timeout=START_S)
            self._ray.get(self._hello, timeout=0)
        except self._ray.exceptions.GetTimeoutError:
            pass  # there is no place for it: ``answer`` tells
        except self._ray.exceptions.RayError as error:
            self._why = _last_line(error)
            self._start()

    def why_dead(self) -> str:
        return self._why

    def worlds(self, serial: int) -> Mapping[str, NDArray[Any]]:
        return self._worlds

    def keep(self, serial: int, worlds: Mapping[str, NDArray[Any]]) -> None:
        self._worlds = {name: np.array(values) for name, values in worlds.items()}

    def close(self, busy: bool) -> None:
        if self._ray.is_initialized():  # else Ray would start a cluster to kill it in
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.kill(self.actor)


class RayRunner(RunnerApart):
    """See ``league.runners.base.Runner``. ``address``: see ``league.runners.ray_cluster.join``."""

    def __init__(self, settings: RunnerSettings | None = None, address: str = "") -> None:
        settings = settings or RunnerSettings(ahead=True)
        held = 2 * settings.actors * memory_bytes(settings)
        self._ray: Any = join(address, settings.actors, store_bytes_for(held))
        self._open = True
        # A core is shared by runners that take turns. Asking twice does no harm, so that Ray may ask an actor again.
        cores = max(1, int(settings.cores * _PARTS)) / _PARTS
        how = {"num_cpus": cores, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": "SPREAD"}
        remote = self._ray.remote(**how)(RolloutServer)
        self._links = [_RayActor(i, self._ray, lambda: remote.remote(settings), settings) for i in range(settings.actors)]
        super().__init__(settings, self._links)

    def _handed_on(self, weights: Weights) -> Any:
        return _Put(self._ray.put(dict(weights)), weights)

    def _weights_of(self, handed_on: _Put) -> Weights:
        return handed_on.weights

    def close(self) -> None:
        super().close()
        if self._open:
            self._open = False
            leave()


def _copied(sequence: TrajectorySequence | None) -> TrajectorySequence | None:
    """What comes from Ray lies in its store, and cannot be written to."""
    if sequence is None:
        return None
    arrays = {f.name: np.array(value) for f in dataclasses.fields(sequence) if isinstance(value := getattr(sequence, f.name), np.ndarray)}
    return dataclasses.replace(sequence, **arrays, extras={name: np.array(values) for name, values in sequence.extras.items()})


def _last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
