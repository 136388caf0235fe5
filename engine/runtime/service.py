"""One lifecycle for everything that runs: start, stop with a deadline, health, and a reason when it does no work.

A service runs as a thread (``ThreadService``) or as a task on the engine's loop (``TaskService``); processes are
wrapped by the service that owns them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod

from engine.state import ServiceHealth, ServiceState

log = logging.getLogger(__name__)


class Service(ABC):
    """Base of all services. ``reason`` says why it is not doing its work; empty when it is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reason = ""
        self._health: ServiceHealth = "off"

    @abstractmethod
    def start(self) -> None:
        """Start; returns at once. Starting a running service does nothing."""

    @abstractmethod
    def request_stop(self) -> None:
        """Ask it to stop; returns at once."""

    @abstractmethod
    async def stopped(self, deadline_s: float) -> bool:
        """Wait until it has stopped; False when it has not within ``deadline_s``."""

    def health(self) -> ServiceState:
        health = self._health
        if health == "running" and self.reason:
            health = "waiting"
        return ServiceState(self.name, health, self.reason)


class ThreadService(Service):
    """Runs ``run`` in a thread of its own. ``run`` returns soon after ``self.stopping`` is set."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def run(self) -> None: ...

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        if self.alive:
            return
        self.stopping.clear()
        self.reason = ""
        self._health = "running"
        self._thread = threading.Thread(target=self._guarded_run, name=self.name, daemon=True)
        self._thread.start()

    def _guarded_run(self) -> None:
        try:
            self.run()
        except Exception as error:
            self.reason = str(error) or type(error).__name__
            self._health = "failed"
            log.exception("%s failed: %s", self.name, self.reason)
        else:
            self._health = "off"

    def request_stop(self) -> None:
        if self.alive:
            self._health = "stopping"
        self.stopping.set()

    async def stopped(self, deadline_s: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + deadline_s
        while self.alive:
            if loop.time() >= until:
                return False
            await asyncio.sleep(0.01)
        return True


class TaskService(Service):
    """Runs ``run`` as a task on the loop that calls ``start``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def run(self) -> None: ...

    def start(self) -> None:
        if self._task is not None and not self._task.done():
            return
        self.reason = ""
        self._health = "running"
        self._task = asyncio.get_running_loop().create_task(self._guarded_run(), name=self.name)

    async def _guarded_run(self) -> None:
        try:
            await self.run()
        except asyncio.CancelledError:
            self._health = "off"
            raise
        except Exception as error:
            self.reason = str(error) or type(error).__name__
            self._health = "failed"
            log.exception("%s failed: %s", self.name, self.reason)
        else:
            self._health = "off"

    def request_stop(self) -> None:
        if self._task is not None and not self._task.done():
            self._health = "stopping"
            self._task.cancel()

    async def stopped(self, deadline_s: float) -> bool:
        if self._task is None:
            return True
        done, _ = await asyncio.wait({self._task}, timeout=deadline_s)
        return bool(done)
