"""Actors in processes of their own, their trajectories in shared memory: the default.

With ``ahead`` the actors play the next rollout while the learner learns from the last one; weights are then one ``collect`` older.
Nothing depends on which actor is faster: matches are handed out when all are back, in the order of actors and worlds, so that the
same run gives the same numbers as in one process.

An actor that dies, or is silent for too long, is started anew from its worlds as they were before the rollout and plays that
rollout again with the same weights: nothing is lost, and nothing is counted twice.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Final, NamedTuple

from league.rollout import Chunk, Match, checked_match
from league.runners import actor_process
from league.runners.base import (
    NextMatches,
    RunnerError,
    RunnerSettings,
    RunnerState,
    Weights,
    checked_weights,
    from_state,
    match_from_json,
    match_to_json,
    share_out,
    state_of,
)
from league.runners.shared import Shared, Summary, memory_of

MOST_RESTARTS: Final = 3
"""Times that one rollout is begun anew before the runner gives up."""
_PRELOADED: Final = "league.runners.preload"
_STOP_S: Final = 2.0
_START_S: Final = 120.0
"""What a process may need until its first answer."""


def _context() -> BaseContext:
    """Processes forked from one that has imported everything, where the system can do that; a fresh Python each elsewhere.

    Never forked from this process: torch's threads would not survive it.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


class _Told(NamedTuple):
    """Weights as they were when a rollout was posted; replaced, never changed."""

    players: Mapping[str, tuple[Weights, int]]
    reference: Weights | None


class _Posted(NamedTuple):
    """A rollout that an actor is playing."""

    matches: dict[int, Match]
    unroll: int
    told: _Told


class _Worker:
    """One actor's process, from this side."""

    def __init__(self, number: int, context: BaseContext, settings: RunnerSettings) -> None:
        self.number, self._context, self._settings = number, context, settings
        self._memory = memory_of(context, settings)
        self.shared = Shared(self._memory, settings)
        self.matches: list[Match | None] = [None] * settings.rollout.worlds
        """As of the last rollout that came back."""
        self.serial = 0
        """Of that rollout: its worlds are in slot ``serial % 2``."""
        self.posted: _Posted | None = None
        self.begun: dict[int, Match] = {}
        """Matches handed out that no rollout has begun yet: after a restored state, or a rollout that failed."""
        self.restarts = 0
        self._start()

    def _start(self) -> None:
        self.connection, theirs = self._context.Pipe()
        arguments = (theirs, self._memory, self._settings)
        name = f"league actor {self.number}"
        make: Any = getattr(self._context, "Process")  # noqa: B009 - every context has its own class
        self.process: BaseProcess = make(target=actor_process.serve, args=arguments, name=name, daemon=True)
        self.process.start()
        theirs.close()
        self._players: dict[str, tuple[Weights, int]] = {}
        self._reference: Weights | None = None
        self._fresh = self._silent = True

    @property
    def idle(self) -> list[int]:
        return [w for w, match in enumerate(self.matches) if match is None]

    def post(self, posted: _Posted) -> None:
        """Begin a rollout; what goes wrong is noticed when it is waited for."""
        self.posted = posted
        with contextlib.suppress(OSError):  # it is dead: ``result`` starts it anew
            self._send(posted)

    def _send(self, posted: _Posted) -> None:
        send = self.connection.send
        if self._fresh:
            send(("load", self.serial % 2, self.matches) if any(self.matches) else ("clear",))
        self._fresh = False
        for player, told in posted.told.players.items():
            if self._players.get(player) is not told:
                send(("weights", player, *told))
                self._players[player] = told
        if posted.told.reference is not self._reference:
            send(("reference", posted.told.reference))
            self._reference = posted.told.reference
        send(("play", self.serial + 1, posted.matches, posted.unroll))

    def result(self) -> Chunk:
        """What the posted rollout gave; dead actors are started anew meanwhile."""
        begun = 0
        while True:
            answer = self._answer()
            if answer is not None:
                break
            begun += 1
            if begun > MOST_RESTARTS:
                raise RunnerError(
                    f"actor {self.number}: died {begun} times in one rollout (exit {self._exit}); free memory or ask for fewer worlds"
                )
            self.restart()
        if answer[0] == "failed":
            if self.posted is not None:
                self.begun, self.posted = self.posted.matches, None
            self._fresh = True
            raise {"KeyError": KeyError, "ValueError": ValueError}[answer[1]](answer[2])
        return self._take(answer[2])

    def _answer(self) -> tuple[Any, ...] | None:
        """The actor's message, or None when it is dead or silent for too long."""
        patience_s = max(self._settings.patience_s, _START_S) if self._silent else self._settings.patience_s
        with contextlib.suppress(OSError, EOFError):
            ready = wait([self.connection, self.process.sentinel], patience_s)
            if self.connection in ready or (ready and self.connection.poll()):
                answer = self.connection.recv()
                self._silent = False
                return answer
        return None

    def _take(self, told: Summary) -> Chunk:
        posted = self.posted
        assert posted is not None
        for world, match in posted.matches.items():
            self.matches[world] = match
        over = {one.match.number for one in told.played}
        self.matches = [None if m is not None and m.number in over else m for m in self.matches]
        self.serial, self.posted = self.serial + 1, None
        return Chunk(self.shared.read_sequence(told), told.played, told.frames, told.agent_steps)

    def restart(self) -> None:
        """Start it anew where the last rollout that came back ended; what is posted is played again."""
        self.stop(0.0)
        self.restarts += 1
        self._start()
        if self.posted is not None:
            self.post(self.posted)

    def load(self, worlds: Mapping[str, Any], matches: list[Match | None]) -> None:
        """Go on from other worlds."""
        self.shared.write_worlds(self.serial % 2, worlds)
        self.matches, self._fresh = matches, True

    @property
    def handed_out(self) -> dict[int, Match]:
        """Matches since the last rollout that came back."""
        return self.posted.matches if self.posted else self.begun

    def clear(self) -> None:
        """Forget all matches."""
        self.matches, self.begun, self._fresh = [None] * len(self.matches), {}, True

    def stop(self, patience_s: float) -> None:
        """End the process, in kindness for ``patience_s``."""
        if patience_s and self.posted is None:
            with contextlib.suppress(OSError):
                self.connection.send(("stop",))
            self.process.join(patience_s)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self._exit = self.process.exitcode
        self.connection.close()
        self.process.close()

    connection: Connection
    _exit: int | None = None


class ProcessRunner:
    """See ``league.runners.base.Runner``. ``state`` is that of the last rollout that was collected: the matches handed out since then
    are part of it, and are played by whatever weights are set when it goes on."""

    def __init__(self, settings: RunnerSettings | None = None) -> None:
        self.settings = settings or RunnerSettings(ahead=True)
        self._told = _Told({}, None)
        context = _context()
        self._workers = [_Worker(i, context, self.settings) for i in range(self.settings.actors)]

    @property
    def restarts(self) -> int:
        """How often actors were started anew."""
        return sum(worker.restarts for worker in self._workers)

    @property
    def process_ids(self) -> list[int | None]:
        """Of the actors, in their order."""
        return [worker.process.pid for worker in self._workers]

    def set_weights(self, player: str, weights: Weights, version: int) -> None:
        self._told = self._told._replace(players={**self._told.players, player: (checked_weights(weights), version)})

    def set_reference(self, weights: Weights | None) -> None:
        self._told = self._told._replace(reference=None if weights is None else checked_weights(weights))

    def collect(self, matches: NextMatches, unroll: int) -> list[Chunk]:
        """See ``Runner``. With ``ahead``, ``unroll`` is that of the next rollout."""
        self._post(matches, unroll)
        chunks = [worker.result() for worker in self._workers]
        if self.settings.ahead:
            self._post(matches, unroll)
        return chunks

    def _post(self, matches: NextMatches, unroll: int) -> None:
        """Begin a rollout in all actors that have none."""
        free = [worker for worker in self._workers if worker.posted is None]
        if not free:
            return
        if not 1 <= unroll <= self.settings.unroll:
            raise ValueError(f"runner: unroll {unroll}; its memory holds 1 to {self.settings.unroll} steps")
        shared = share_out([[] if worker.begun else self.settings.to_begin(worker.idle) for worker in free], matches)
        for mine in shared:
            for match in mine.values():
                checked_match(match, self.settings.rollout.ships)
        for worker, mine in zip(free, shared, strict=True):
            begun, worker.begun = worker.begun or mine, {}
            worker.post(_Posted(begun, unroll, self._told))

    def drop(self) -> list[Match]:
        """See ``Runner``. A rollout that is being played is thrown away, and its matches are told as dropped."""
        forgotten: list[Match] = []
        for worker in self._workers:
            running = {w: m for w, m in enumerate(worker.matches) if m is not None} | worker.handed_out
            forgotten += [running[w] for w in sorted(running)]
            if worker.posted:
                with contextlib.suppress(KeyError, ValueError):  # it is thrown away, broken or not
                    worker.result()
            worker.clear()
        return forgotten

    def state(self) -> RunnerState:
        worlds = [worker.shared.worlds(worker.serial % 2) for worker in self._workers]
        arrays, head = state_of(self.settings, worlds, [worker.matches for worker in self._workers])
        head["begun"] = [[[w, match_to_json(m)] for w, m in worker.handed_out.items()] for worker in self._workers]
        return RunnerState(arrays, head)

    def restore(self, state: RunnerState) -> None:
        found = from_state(self.settings, state)
        begun = [{int(w): match_from_json(told) for w, told in mine} for mine in state.head.get("begun") or [[]] * len(found)]
        self.drop()
        for worker, (worlds, matches), mine in zip(self._workers, found, begun, strict=True):
            worker.load(worlds, matches)
            worker.begun = {w: match for w, match in mine.items() if match is not None}

    def close(self) -> None:
        for worker in self._workers:
            worker.stop(_STOP_S)
        self._workers = []
