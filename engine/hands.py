"""The bot's hands: the actuator's process for a real window, the world itself for the embedded arena. The rules of
expiry and range are the same."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from data.profile import GameProfile, Region
from data.schema import Action
from engine.actuator.client import Actuator, Intent
from engine.bot import HandsCondition, HandsState
from engine.platforms.port import WindowInfo


class ArenaHands:
    """``apply`` puts an action into the in-process arena; ``dry_run`` counts but does nothing. Thread-safe enough:
    one thread sends, any thread reads the counters."""

    def __init__(
        self, apply: Callable[[Action], None], name: str, dry_run: bool = False, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._apply, self._name, self._dry_run, self._clock_ns = apply, name, dry_run, clock_ns
        self._armed = False
        self._sent = self._refused = self._expired = 0
        self._last = (0.5, 0.5)

    def arm(self) -> str:
        self._armed = True
        return self._name

    def send(self, sequence: int, expiry_ns: int, action: Action) -> None:
        del sequence
        if not self._armed:
            return
        if not (math.isfinite(action.x) and math.isfinite(action.y) and 0.0 <= action.x <= 1.0 and 0.0 <= action.y <= 1.0):
            self._refused += 1
        elif self._clock_ns() > expiry_ns:
            self._expired += 1
        else:
            self._sent += 1
            self._last = (action.x, action.y)
            if not self._dry_run:
                self._apply(action)

    def release(self) -> None:
        if self._armed and not self._dry_run:
            self._apply(Action(*self._last))

    def disarm(self) -> None:
        self._armed = False

    def state(self) -> HandsState:
        return HandsState("ok", "", self._sent, self._refused, self._expired)


class ActuatorHands:
    """The actuator's process as the bot's hands, for one window of one game.

    ``window`` finds the window anew each time the bot is armed, since it may have been closed and opened again.
    """

    def __init__(self, actuator: Actuator, window: Callable[[], WindowInfo], profile: GameProfile, dry_run: bool = False) -> None:
        self._actuator, self._window, self._profile, self._dry_run = actuator, window, profile, dry_run
        self._name = ""

    def arm(self) -> str:
        """After a yield the same window goes on; else the window is looked for and armed."""
        if self._actuator.status().condition == "yielded":
            self._actuator.resume()
            return self._name
        self._actuator.start()
        window = self._window()
        self._actuator.arm(window, self._profile, self._dry_run)
        self._name = window.title
        return self._name

    def send(self, sequence: int, expiry_ns: int, action: Action) -> None:
        x, y = _in_window(action.x, action.y, self._profile.window_part)
        self._actuator.send(Intent(sequence, expiry_ns, x, y, action.onsets, action.held))

    def release(self) -> None:
        self._actuator.release_all()

    def disarm(self) -> None:
        self._actuator.disarm("the bot was disarmed")

    def state(self) -> HandsState:
        status = self._actuator.status()
        condition: HandsCondition = _CONDITIONS[status.condition]
        expired = status.expired + status.unsent
        return HandsState(condition, status.reason, status.sent, status.refused, expired, status.focus_losses, status.place)


def _in_window(x: float, y: float, part: Region) -> tuple[float, float]:
    """A point of the game's picture as one of the window's inside. A point outside stays one, for the actuator to refuse."""
    if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
        return x, y
    left, top, right, bottom = part
    return left + x * (right - left), top + y * (bottom - top)


_CONDITIONS: Final[dict[str, HandsCondition]] = {
    "armed": "ok",
    "paused": "unfocused",
    "yielded": "yielded",
    "stopped": "stopped",
    "disarmed": "stopped",
    "off": "dead",
    "dead": "dead",
}
