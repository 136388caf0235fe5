"""One learner of the league with all that is its own: network and optimiser, replay, and the worlds its matches are played in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.checkpoint import CheckpointError
from data.files import from_json, write_json
from league import replay as replays
from league.league_run import LeagueRun
from league.learner import LeagueLearner
from league.replay import Replay
from league.rollout import Chunk, Match
from league.runners.base import Runner, RunnerState, network_of
from league.store import StoreError
from league.trajectories import read_arrays, write_arrays

Weights = Mapping[str, NDArray[Any]]
MakeRunner = Callable[[LeagueRun], Runner]
"""New worlds for one learner."""
_LEARNER, _REPLAY, _WORLDS, _CARD = "learner", "replay.npz", "worlds.npz", "trainee.json"


class Trainee:
    """Not for several threads at once. ``losses`` are the last update's parts, and ``lag``, the mean age in versions of what was learnt."""

    def __init__(self, name: str, supervised: Weights, run: LeagueRun, make_runner: MakeRunner) -> None:
        self.name, self._supervised, self._run = name, supervised, run
        self.runner = make_runner(run)
        if run.losses.kl_weight or run.losses.kl_weight_end:
            self.runner.set_reference(supervised)
        self.learner = self._new_learner()
        self.replay = self._new_replay()
        self.losses: dict[str, float] = {}
        self._shown: dict[str, int] = {}

    def _new_learner(self) -> LeagueLearner:
        reference, run = network_of(self._supervised), self._run
        pseudo_rewards = run.pseudo_reward_scale > 0
        network, reuse = network_of(self._supervised), run.replay_settings(0).reuse
        return LeagueLearner(network, reference, run.losses, run.updates, pseudo_rewards=pseudo_rewards, reuse=reuse)

    def _new_replay(self) -> Replay:
        return Replay(self._run.replay_settings(zlib.crc32(self.name.encode()) + self._run.seed))  # each draws for itself

    @property
    def version(self) -> int:
        """Of the weights: one more with every update and every reset."""
        return self.learner.version

    def weights(self) -> dict[str, NDArray[Any]]:
        """A copy of the weights as they are now."""
        return self.learner.weights()

    def show(self, player: str, weights: Callable[[], Weights], version: int) -> None:
        """Give the worlds a player's weights, unless they have that version."""
        if self._shown.get(player) != version:
            self.runner.set_weights(player, weights(), version)
            self._shown[player] = version

    def collect(self, matches: Callable[[int], Sequence[Match]]) -> list[Chunk]:
        """One unroll of all worlds; what was seen goes into the replay."""
        chunks = self.runner.collect(matches, self._run.updates.unroll_steps)
        for chunk in chunks:
            if chunk.sequence is not None:
                self.replay.add(chunk.sequence)
        return chunks

    def learn(self) -> int:
        """Updates until the replay has no batch left; how many there were."""
        done = 0
        while (batch := self.replay.draw(self.version)) is not None:
            lag = float(np.mean(self.version - batch.versions))
            self.losses = {**self.learner.update(batch.sequence), "lag": lag}
            done += 1
        return done

    def restart(self) -> list[Match]:
        """Start anew from the supervised policy; the matches that were under way."""
        self.learner.reset(self._supervised)
        self.replay.clear()
        return self.runner.drop()

    def save(self, folder: Path) -> None:
        """Write everything into ``folder``. Raises OSError."""
        self.learner.save(folder / _LEARNER)
        self.replay.save(folder / _REPLAY)
        write_arrays(folder / _WORLDS, *self.runner.state())
        write_json(folder / _CARD, {"losses": self.losses})

    def restore(self, folder: Path, *, worlds: bool) -> None:
        """Go on from what ``save`` wrote; without ``worlds`` its matches begin anew. Raises StoreError when it does not fit."""
        try:
            card = from_json((folder / _CARD).read_bytes())
            self.learner.restore(folder / _LEARNER)
            self.replay = replays.restore(folder / _REPLAY)
            if worlds:
                self.runner.restore(RunnerState(*read_arrays(folder / _WORLDS)))
            self.losses = {str(part): float(value) for part, value in card["losses"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, CheckpointError) as error:
            raise StoreError(
                f"{self.name}: what is saved of it cannot be gone on from ({error}); use the settings it was made with"
            ) from error
