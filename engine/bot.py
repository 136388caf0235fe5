"""The bot: a policy's decisions through a pair of hands, under the rules of safety.

It starts disarmed. Arming is explicit and names the window; flying is a further step. It pauses while the game has
no focus, yields the moment a person touches the controls (resuming is explicit), and stops on the stop key.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol

from data.schema import NO_TARGET, Action, Frame, Observation
from engine.reaction import ReactionWatch
from engine.state import BotPhase, BotState

log = logging.getLogger(__name__)

HandsCondition = Literal["ok", "unfocused", "yielded", "stopped", "dead"]


@dataclass(frozen=True, slots=True)
class HandsState:
    """What the hands say: their condition, why, and what they counted since they were armed.

    ``place``: where they sent the cursor last, or would have, screen pixels.
    """

    condition: HandsCondition = "ok"
    reason: str = ""
    sent: int = 0
    refused: int = 0
    expired: int = 0
    focus_losses: int = 0
    place: tuple[int, int] | None = None


class Hands(Protocol):
    """Whatever carries an action out: the actuator's process, or the embedded arena itself."""

    def arm(self) -> str:
        """Take hold; returns the name of what will be driven. Raises when it cannot."""
        ...

    def send(self, sequence: int, expiry_ns: int, action: Action) -> None: ...

    def release(self) -> None:
        """Let go of every held key and button."""
        ...

    def disarm(self) -> None: ...

    def state(self) -> HandsState: ...


class Decision(Protocol):
    @property
    def action(self) -> Action: ...
    @property
    def mode(self) -> str: ...
    @property
    def target_id(self) -> int: ...


class Policy(Protocol):
    """What ``engine.policy.load_policy`` gives: ``act`` once per tick."""

    def reset(self) -> None: ...
    def act(self, observation: Observation) -> Decision: ...


class BotError(Exception):
    """The bot could not be armed or flown; the text says what to do."""


def _arm(hands: Hands) -> str:
    """Without the bot's lock: it may take seconds, in which whoever looks is not to wait, and the stop key is to be heard. Returns the
    window's name; raises what ``arm`` raises, and then nothing is armed."""
    try:
        return hands.arm()
    except Exception:
        hands.disarm()  # it may have been armed all the same, and only not have said so in time
        raise


class Bot:
    """``on_observation`` runs in the tick's thread; the commands may come from any other."""

    def __init__(self, tick_hz: float, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._tick_ns = round(1e9 / tick_hz)
        self._lock = threading.RLock()
        self._hands: Hands | None = None
        self._policy: Policy | None = None
        self._phase: BotPhase = "disarmed"
        self._reason = ""
        self._names = ("", "")
        self._dry_run = False
        self._called_off = 0
        """How often it was stopped or disarmed."""
        self._sequence = 0
        self._expired = 0
        self._last = ("", NO_TARGET)
        self._last_turn_ns = 0
        self._turns_ns = deque([self._tick_ns] * 5, maxlen=5)
        self._reaction = ReactionWatch()
        self.model_version = 0
        self.until_ns: int | None = None

    @property
    def phase(self) -> BotPhase:
        return self._phase

    @property
    def flies(self) -> bool:
        return self._phase == "flying"

    @property
    def acts(self) -> bool:
        """Whether what happens in the game is the bot's doing; in a dry run it only decides."""
        return self.flies and not self._dry_run

    def arm(self, policy: Policy, policy_name: str, hands: Hands, dry_run: bool = False, model_version: int = 1) -> str:
        with self._lock:
            if self._phase in ("flying", "paused"):
                raise BotError("the bot is flying already; disarm it first")
            self._end_hands()
            calls = self._called_off
        window = _arm(hands)
        with self._lock:
            if self._called_off == calls:
                policy.reset()
                self._hands, self._policy, self._dry_run = hands, policy, dry_run
                self._names, self.model_version = (policy_name, window), model_version
                self._sequence = self._expired = 0
                self._set("armed", "")
                return f"armed: {policy_name} may drive {window}{' (dry run: nothing is pressed)' if dry_run else ''}"
        hands.release()
        hands.disarm()
        raise BotError("it was stopped while it was armed; arm it again")

    def fly(self, for_s: float | None = None) -> str:
        """Begin, or resume after a yield."""
        with self._lock:
            hands, policy, again = self._hands, self._policy, self._phase in ("yielded", "stopped")
            calls = self._called_off
        if hands is None or policy is None:
            raise BotError("the bot is not armed; arm it first (it asks for the window and the policy)")
        window = _arm(hands) if again else ""
        with self._lock:
            if self._called_off != calls or self._hands is not hands:
                if again:
                    hands.release()
                    hands.disarm()
                raise BotError("it was stopped while it was armed; arm it again")
            if again:
                self._names = (self._names[0], window)
                policy.reset()
            self._last_turn_ns = self._clock_ns()
            self.until_ns = None if for_s is None else self._clock_ns() + round(for_s * 1e9)
            self._set("flying", "")
            return f"flying: {self._names[0]} drives {self._names[1]}"

    def disarm(self, reason: str = "") -> str:
        with self._lock:
            self._called_off += 1
            self._end_hands()
            self._policy = None
            self._set("disarmed", reason)
            return "disarmed"

    def stop(self, reason: str) -> str:
        """The emergency stop: everything is released at once; flying again takes arming anew."""
        with self._lock:
            self._called_off += 1
            was_active = self._hands is not None
            self._end_hands()
            self._policy = None
            self._set("stopped" if was_active else "disarmed", reason if was_active else "")
            return f"stopped: {reason}"

    def on_observation(self, observation: Observation) -> tuple[str, int, int]:
        """One tick: act when flying. Returns mode, target id and model version for the step."""
        nothing = ("", NO_TARGET, 0)
        with self._lock:
            if self._phase in ("flying", "paused") and self._hands is not None:
                self._follow_hands(self._hands.state())
            policy = self._flying_policy()
            if policy is None:
                return nothing
            if self.until_ns is not None and self._clock_ns() >= self.until_ns:
                self.disarm("the time asked for is over")
                return nothing
        # Outside the lock: inference may take long, and disarming must not wait for it.
        decision = policy.act(observation)
        now_ns = self._clock_ns()
        with self._lock:
            hands = self._hands
            if self._flying_policy() is not policy or hands is None:
                return nothing
            # Two achieved ticks: a machine that only reaches 8 Hz must still be able to act on what it sees, and
            # one slow turn must not make room for itself, hence the median of the turns before it.
            expiry_ns = observation.frame_time_ns + 2 * round(median(self._turns_ns))
            self._turns_ns.append(min(max(now_ns - self._last_turn_ns, self._tick_ns), 4 * self._tick_ns))
            self._last_turn_ns = now_ns
            if now_ns > expiry_ns:
                self._expired += 1
                return nothing
            self._sequence += 1
            hands.send(self._sequence, expiry_ns, decision.action)
            if decision.action.onsets or decision.action.held:
                self._reaction.acted(now_ns)
            self._last = (decision.mode, decision.target_id)
            return decision.mode, decision.target_id, self.model_version

    def on_frame(self, frame: Frame) -> None:
        """Each captured picture, from the capture thread: does the game react to what the bot does?"""
        if self.acts and self._reaction.see(frame.image, frame.time_ns):
            log.warning("bot: %s", self._reaction.hint)

    def _flying_policy(self) -> Policy | None:
        return self._policy if self._phase == "flying" and self._hands is not None else None

    def state(self) -> BotState:
        with self._lock:
            hands = self._hands.state() if self._hands is not None else HandsState()
            mode, target = self._last if self._phase in ("flying", "paused") else ("", NO_TARGET)
            return BotState(
                phase=self._phase,
                policy=self._names[0],
                window=self._names[1],
                dry_run=self._dry_run,
                mode=mode,
                target="" if target == NO_TARGET else f"#{target}",
                actions=self._sequence,
                refused=hands.refused,
                expired=self._expired + hands.expired,
                focus_losses=hands.focus_losses,
                model_version=self.model_version,
                reason=self._reason,
                place=hands.place,
                hint=self._reaction.hint if self.acts else "",
            )

    def _follow_hands(self, hands: HandsState) -> None:
        if hands.condition == "ok":
            if self._phase == "paused":
                self._set("flying", "")
        elif hands.condition == "unfocused":
            self._set("paused", hands.reason or "the game has no focus")
        elif hands.condition == "yielded":
            self._set("yielded", hands.reason or "a person touched the controls")
        elif hands.condition == "stopped":
            self.stop(hands.reason or "the stop key was pressed")
        else:
            self.stop(hands.reason or "the actuator has died; everything was released")

    def _set(self, phase: BotPhase, reason: str) -> None:
        if phase != self._phase:
            log.info("bot: %s -> %s%s", self._phase, phase, f" ({reason})" if reason else "")
            self._reaction.forget()
        self._phase, self._reason = phase, reason

    def _end_hands(self) -> None:
        if self._hands is not None:
            hands, self._hands = self._hands, None
            hands.release()
            hands.disarm()
