"""Actors in processes of their own, their trajectories in shared memory: the default. ``league.runners.apart`` says how they play."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Final

from numpy.typing import NDArray

from league.rollout import Chunk, Match
from league.runners import actor_process
from league.runners.apart import START_S, Failed, Posted, RunnerApart
from league.runners.base import RunnerSettings, Weights
from league.runners.shared import Shared, memory_of

_PRELOADED: Final = "league.runners.preload"
_STOP_S: Final = 2.0


def _context() -> BaseContext:
    """Processes forked from one that has imported everything, where the system can do that; a fresh Python each elsewhere.

    Never forked from this process: torch's threads would not survive it.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


class _Process:
    """The way to one actor's process: see ``league.runners.apart.Link``."""

    def __init__(self, number: int, context: BaseContext, settings: RunnerSettings) -> None:
        self._number, self._context, self._settings = number, context, settings
        self._memory = memory_of(context, settings)
        self._shared = Shared(self._memory, settings)
        self._exit: int | None = None
        self._start()

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        arguments = (theirs, self._memory, self._settings)
        name = f"league actor {self._number}"
        make: Any = getattr(self._context, "Process")  # noqa: B009 - every context has its own class
        self.process: BaseProcess = make(target=actor_process.serve, args=arguments, name=name, daemon=True)
        self.process.start()
        theirs.close()
        self._players: dict[str, tuple[Weights, int]] = {}
        self._reference: Weights | None = None
        self._silent = True

    def send(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        # From a thread: an actor that hangs reads nothing, and what does not fit into the pipe would wait for that for ever.
        sender = threading.Thread(target=self._send_to_the_living, args=(posted, serial, before), daemon=True)
        sender.start()
        sender.join(self._patience_s)
        if sender.is_alive():
            self.process.kill()
            sender.join()

    def _send_to_the_living(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        with contextlib.suppress(OSError):  # it is dead: ``answer`` says so
            self._send(posted, serial, before)

    @property
    def _patience_s(self) -> float:
        return max(self._settings.patience_s, START_S) if self._silent else self._settings.patience_s

    def _send(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        send = self._connection.send
        if before is not None:
            send(("load", (serial - 1) % 2, list(before)) if any(before) else ("clear",))
        for player, told in posted.told.players.items():
            if self._players.get(player) is not told:
                send(("weights", player, *told))
                self._players[player] = told
        if posted.told.reference is not self._reference:
            send(("reference", posted.told.reference))
            self._reference = posted.told.reference
        send(("play", serial, posted.matches, posted.unroll))

    def answer(self) -> Chunk | Failed | None:
        with contextlib.suppress(OSError, EOFError):
            ready = wait([self._connection, self.process.sentinel], self._patience_s)
            if self._connection in ready or (ready and self._connection.poll()):
                told = self._connection.recv()
                self._silent = False
                if isinstance(told, Failed):
                    return told
                return Chunk(self._shared.read_sequence(told), told.played, told.frames, told.agent_steps)
        return None

    def begin_anew(self) -> None:
        self._stop(0.0)
        self._start()

    def why_dead(self) -> str:
        return f"exit {self._exit}"

    def worlds(self, serial: int) -> Mapping[str, NDArray[Any]]:
        return self._shared.worlds(serial % 2)

    def keep(self, serial: int, worlds: Mapping[str, NDArray[Any]]) -> None:
        self._shared.write_worlds(serial % 2, worlds)

    def close(self, busy: bool) -> None:
        self._stop(0.0 if busy else _STOP_S)

    def _stop(self, patience_s: float) -> None:
        """End the process, in kindness for ``patience_s``."""
        if patience_s:
            with contextlib.suppress(OSError):
                self._connection.send(("stop",))
            self.process.join(patience_s)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self._exit = self.process.exitcode
        self._connection.close()
        self.process.close()

    _connection: Connection


class ProcessRunner(RunnerApart):
    """See ``league.runners.base.Runner``."""

    def __init__(self, settings: RunnerSettings | None = None) -> None:
        settings = settings or RunnerSettings(ahead=True)
        context = _context()
        self._processes = [_Process(i, context, settings) for i in range(settings.actors)]
        super().__init__(settings, self._processes)

    @property
    def process_ids(self) -> list[int | None]:
        """Of the actors, in their order."""
        return [one.process.pid for one in self._processes]
