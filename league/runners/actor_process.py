"""One actor in a process of its own: it does what the pipe says, and ends when nobody is at the other end any more.

Messages to it: ``("weights", player, weights, version)``, ``("reference", weights | None)``, ``("clear",)``,
``("load", slot, matches)``, ``("play", serial, {world: match}, unroll)``, ``("stop",)``. From it, for each rollout:
``Summary``, its arrays then lie in the shared memory and its worlds in slot ``serial % 2``; or ``Failed`` for what the caller has to
mend.
"""

from __future__ import annotations

import signal
from multiprocessing.connection import Connection
from typing import Any

from league.losses import REFERENCE_LOGITS
from league.rollout import Actor, Match
from league.runners.apart import Failed, play
from league.runners.base import Policies, RunnerSettings
from league.runners.shared import Shared, Summary
from league.threads import one_thread


def serve(connection: Connection, memory: Any, settings: RunnerSettings) -> None:
    """The process's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the learner's process decides
    one_thread()
    one = _Served(connection, Shared(memory, settings), Actor(settings.rollout))
    try:
        while one.obey(*connection.recv()):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the learner's process is gone


class _Served:
    def __init__(self, connection: Connection, shared: Shared, actor: Actor) -> None:
        self._connection, self._shared, self._actor = connection, shared, actor
        self._policies = Policies()

    def obey(self, what: str, *told: Any) -> bool:
        """False: it was the last message."""
        if what == "weights":
            self._policies.set(*told)
        elif what == "reference":
            self._policies.set_reference(*told)
        elif what == "clear":
            self._actor.clear()
        elif what == "load":
            slot, matches = told
            self._actor.restore(self._shared.worlds(slot), matches)
        elif what == "play":
            self._connection.send(self._play(*told))
        return what != "stop"

    def _play(self, serial: int, matches: dict[int, Match], unroll: int) -> Summary | Failed:
        chunk = play(self._actor, self._policies, matches, unroll)
        if isinstance(chunk, Failed):
            return chunk
        sequence, shape, finals, stored, version = chunk.sequence, (0, 0), 0, False, 0
        if sequence is not None:
            self._shared.write_sequence(sequence)
            shape, finals, version = sequence.living.shape, len(sequence.final_at), sequence.weights_version
            stored = REFERENCE_LOGITS in sequence.extras
        self._shared.write_worlds(serial % 2, self._actor.arrays())
        return Summary(shape[1], shape[0], finals, stored, version, chunk.frames, chunk.steps, chunk.played)
