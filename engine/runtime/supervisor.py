"""Starts services in order, stops them in the reverse order, restarts what failed, names what would not stop."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from engine.runtime.service import Service
from engine.state import ServiceState

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restart:
    """At most ``limit`` restarts within ``window_s``, each after a growing pause."""

    limit: int = 3
    window_s: float = 60.0
    pause_s: float = 0.5


NEVER = Restart(limit=0)


@dataclass(slots=True)
class _Entry:
    service: Service
    restart: Restart
    wanted: bool = False
    restarts: list[float] = field(default_factory=list[float])
    next_try_s: float = 0.0


class Supervisor:
    """Owns the services of one engine. All methods run on the engine's loop."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def add(self, service: Service, restart: Restart = NEVER) -> None:
        if service.name in self._entries:
            raise ValueError(f"a service named {service.name} is there already")
        self._entries[service.name] = _Entry(service, restart)

    def start(self, name: str) -> None:
        entry = self._entries[name]
        entry.wanted = True
        entry.restarts.clear()
        entry.service.start()

    async def stop(self, name: str, deadline_s: float = 3.0) -> bool:
        """Stop one service; False when it did not stop in time."""
        entry = self._entries[name]
        entry.wanted = False
        entry.service.request_stop()
        return await entry.service.stopped(deadline_s)

    async def remove(self, name: str, deadline_s: float = 3.0) -> bool:
        if name not in self._entries:
            return True
        stopped = await self.stop(name, deadline_s)
        del self._entries[name]
        return stopped

    async def stop_all(self, deadline_s: float = 5.0) -> list[str]:
        """Stop everything within one deadline, last started first; the names of those that did not stop."""
        until = time.monotonic() + deadline_s
        entries = list(reversed(self._entries.values()))
        for entry in entries:
            entry.wanted = False
            entry.service.request_stop()
        stopped = await asyncio.gather(*(e.service.stopped(max(0.05, until - time.monotonic())) for e in entries))
        return [e.service.name for e, done in zip(entries, stopped, strict=True) if not done]

    def check(self) -> None:
        """Restart what failed, as its policy allows. Called about twice a second."""
        now = time.monotonic()
        for entry in self._entries.values():
            if not entry.wanted or entry.service.health().health != "failed" or now < entry.next_try_s:
                continue
            entry.restarts = [t for t in entry.restarts if now - t < entry.restart.window_s]
            if len(entry.restarts) >= entry.restart.limit:
                continue
            reason = entry.service.reason
            entry.restarts.append(now)
            entry.next_try_s = now + entry.restart.pause_s * 2 ** len(entry.restarts)
            log.warning("%s is started again (%d of %d): %s", entry.service.name, len(entry.restarts), entry.restart.limit, reason)
            entry.service.start()

    def states(self) -> tuple[ServiceState, ...]:
        return tuple(e.service.health() for e in self._entries.values())
