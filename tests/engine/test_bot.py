"""The bot's rules: armed explicitly, paused out of focus, yields to a person, drops what is too old."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from data.schema import Action, Frame, Observation, Status, Tracks
from engine.bot import Bot, BotError, HandsState

MS = 1_000_000


@dataclass
class Clock:
    now_ns: int = 0

    def __call__(self) -> int:
        return self.now_ns


@dataclass
class FakeHands:
    condition: HandsState = field(default_factory=HandsState)
    sent: list[tuple[int, int, Action]] = field(default_factory=list)
    released: int = 0
    disarmed: int = 0
    armed: int = 0

    def arm(self) -> str:
        self.armed += 1
        self.condition = HandsState()
        return "My Game"

    def send(self, sequence: int, expiry_ns: int, action: Action) -> None:
        self.sent.append((sequence, expiry_ns, action))

    def release(self) -> None:
        self.released += 1

    def disarm(self) -> None:
        self.disarmed += 1

    def state(self) -> HandsState:
        return self.condition


@dataclass(frozen=True)
class FakeDecision:
    action: Action = field(default_factory=lambda: Action(0.5, 0.5))
    mode: str = "FIGHT"
    target_id: int = 4


@dataclass
class FakePolicy:
    clock: Clock
    takes_ms: int = 5
    resets: int = 0
    acts: int = 0
    decision: FakeDecision = field(default_factory=FakeDecision)

    def reset(self) -> None:
        self.resets += 1

    def act(self, observation: Observation) -> FakeDecision:
        self.acts += 1
        self.clock.now_ns += self.takes_ms * MS
        return self.decision


def seen(clock: Clock, age_ms: int = 30) -> Observation:
    return Observation(clock.now_ns, clock.now_ns - age_ms * MS, 0, Status(), Tracks.empty(), (0.5, 0.5))


@pytest.fixture
def clock() -> Clock:
    return Clock(10**9)


def flying(clock: Clock) -> tuple[Bot, FakePolicy, FakeHands]:
    bot, policy, hands = Bot(20.0, clock), FakePolicy(clock), FakeHands()
    bot.arm(policy, "mine", hands)
    bot.fly()
    return bot, policy, hands


def test_it_starts_disarmed_and_needs_both_steps(clock: Clock) -> None:
    bot, policy, hands = Bot(20.0, clock), FakePolicy(clock), FakeHands()
    assert bot.on_observation(seen(clock)) == ("", -1, 0)
    with pytest.raises(BotError, match="arm it first"):
        bot.fly()
    assert "My Game" in bot.arm(policy, "mine", hands)
    bot.on_observation(seen(clock))
    assert policy.acts == 0  # armed is not flying
    bot.fly()
    assert bot.on_observation(seen(clock)) == ("FIGHT", 4, 1)
    assert len(hands.sent) == 1


@dataclass
class SlowHands(FakeHands):
    """Something happens while they are armed."""

    meanwhile: Callable[[], object] = lambda: None
    fails: bool = False

    def arm(self) -> str:
        found = super().arm()
        self.meanwhile()
        if self.fails:
            raise BotError("no answer within 1.5 s")
        return found


def test_who_stops_while_it_is_armed_is_heard_at_once(clock: Clock) -> None:
    bot, hands = Bot(20.0, clock), SlowHands()
    other: list[threading.Thread] = []

    def stop() -> None:
        other.append(threading.Thread(target=lambda: (bot.state(), bot.stop("F8 was pressed"))))
        other[0].start()
        other[0].join(5)
        assert not other[0].is_alive(), "whoever looks or stops does not wait for it"

    hands.meanwhile = stop
    with pytest.raises(BotError, match="it was stopped while it was armed"):
        bot.arm(FakePolicy(clock), "mine", hands)
    assert (bot.phase, hands.disarmed) == ("disarmed", 1)
    assert hands.released == 1


def test_hands_that_do_not_answer_in_time_are_not_left_armed(clock: Clock) -> None:
    bot, hands = Bot(20.0, clock), SlowHands(fails=True)
    with pytest.raises(BotError, match="no answer"):
        bot.arm(FakePolicy(clock), "mine", hands)
    assert (bot.phase, hands.disarmed) == ("disarmed", 1)


def test_a_flight_that_is_resumed_while_it_is_stopped_stays_so(clock: Clock) -> None:
    bot, policy, hands = Bot(20.0, clock), FakePolicy(clock), SlowHands()
    bot.arm(policy, "mine", hands)
    bot.fly()
    hands.condition = HandsState("yielded", "a person used a key")
    bot.on_observation(seen(clock))
    assert bot.phase == "yielded"
    hands.meanwhile = lambda: bot.stop("F8 was pressed")
    with pytest.raises(BotError, match="it was stopped while it was armed"):
        bot.fly()
    assert bot.phase == "stopped"


def test_an_action_on_something_older_than_two_ticks_is_dropped_and_counted(clock: Clock) -> None:
    bot, policy, hands = flying(clock)
    bot.on_observation(seen(clock, age_ms=30))
    policy.takes_ms = 200
    bot.on_observation(seen(clock, age_ms=30))
    assert len(hands.sent) == 1
    assert bot.state().expired == 1
    sequence, expiry_ns, _ = hands.sent[0]
    assert sequence == 1
    assert expiry_ns == 10**9 - 30 * MS + 100 * MS


def test_a_slow_machine_still_acts_on_two_of_its_own_ticks(clock: Clock) -> None:
    bot, policy, hands = flying(clock)
    policy.takes_ms = 120  # reaches about 8 Hz
    for _ in range(10):
        bot.on_observation(seen(clock, age_ms=10))
        clock.now_ns += 5 * MS
    assert len(hands.sent) >= 6


def test_lost_focus_pauses_and_its_return_resumes(clock: Clock) -> None:
    bot, policy, hands = flying(clock)
    hands.condition = HandsState("unfocused", "the game has no focus", focus_losses=1)
    bot.on_observation(seen(clock))
    assert (bot.phase, policy.acts) == ("paused", 0)
    assert bot.state().focus_losses == 1
    hands.condition = HandsState()
    bot.on_observation(seen(clock))
    assert (bot.phase, policy.acts) == ("flying", 1)


def test_a_persons_touch_yields_and_only_an_explicit_word_resumes(clock: Clock) -> None:
    bot, policy, hands = flying(clock)
    hands.condition = HandsState("yielded", "mouse moved")
    bot.on_observation(seen(clock))
    assert bot.phase == "yielded"
    hands.condition = HandsState()
    for _ in range(5):
        bot.on_observation(seen(clock))
    assert (bot.phase, policy.acts) == ("yielded", 0)
    bot.fly()
    bot.on_observation(seen(clock))
    assert (bot.phase, policy.acts, hands.armed) == ("flying", 1, 2)


@pytest.mark.parametrize("condition", ["stopped", "dead"])
def test_the_stop_key_and_a_dead_actuator_end_it_until_it_is_armed_anew(clock: Clock, condition: str) -> None:
    bot, policy, hands = flying(clock)
    hands.condition = HandsState(condition)  # pyright: ignore[reportArgumentType]
    bot.on_observation(seen(clock))
    assert (bot.phase, policy.acts, hands.released) == ("stopped", 0, 1)
    with pytest.raises(BotError):
        bot.fly()


def test_disarming_while_the_policy_thinks_sends_nothing(clock: Clock) -> None:
    bot, policy, hands = flying(clock)
    slow_act = policy.act

    def disarm_meanwhile(observation: Observation) -> FakeDecision:
        bot.disarm()
        return slow_act(observation)

    policy.act = disarm_meanwhile  # type: ignore[method-assign]
    assert bot.on_observation(seen(clock)) == ("", -1, 0)
    assert hands.sent == []
    assert hands.released == 1


def test_it_flies_no_longer_than_it_was_told(clock: Clock) -> None:
    bot, policy, hands = Bot(20.0, clock), FakePolicy(clock), FakeHands()
    bot.arm(policy, "mine", hands)
    bot.fly(for_s=1.0)
    bot.on_observation(seen(clock))
    clock.now_ns += 1001 * MS
    bot.on_observation(seen(clock))
    assert (bot.phase, len(hands.sent), hands.released) == ("disarmed", 1, 1)
    assert bot.state().reason == "the time asked for is over"


class TestAGameThatDoesNotReact:
    """A still picture, and a bot that presses Space once a second."""

    @pytest.fixture
    def seconds(self, clock: Clock) -> Callable[..., Bot]:
        def play(count: int, moving: bool = False, keys: tuple[str, ...] = ("space",), **options: bool) -> Bot:
            bot, policy, hands = Bot(20.0, clock), FakePolicy(clock), FakeHands()
            policy.decision = FakeDecision(Action(0.5, 0.5, keys))
            bot.arm(policy, "mine", hands, **options)
            bot.fly()
            image = np.full((90, 160, 3), 7, np.uint8)
            for second in range(count):
                bot.on_observation(seen(clock))
                if moving:
                    image[40, 40] = second
                for _ in range(4):
                    clock.now_ns += 250 * MS
                    bot.on_frame(Frame(second, clock.now_ns, image.copy()))
            return bot

        return play

    def test_it_is_told_after_five_seconds_and_taken_back_when_it_reacts(
        self, seconds: Callable[..., Bot], clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert seconds(4).state().hint == ""
        bot = seconds(8)
        assert "has not changed for 5 s while the bot acts" in bot.state().hint
        assert caplog.text.count("has not changed for 5 s") == 1
        clock.now_ns += 10**9
        bot.on_frame(Frame(99, clock.now_ns, np.zeros((90, 160, 3), np.uint8)))
        assert bot.state().hint == ""

    def test_one_changed_pixel_is_a_reaction(self, seconds: Callable[..., Bot]) -> None:
        assert seconds(10, moving=True).state().hint == ""

    def test_a_bot_that_does_nothing_expects_nothing(self, seconds: Callable[..., Bot]) -> None:
        assert seconds(10, keys=()).state().hint == ""

    def test_a_dry_run_expects_nothing(self, seconds: Callable[..., Bot]) -> None:
        assert seconds(10, dry_run=True).state().hint == ""

    def test_a_flight_that_is_over_expects_nothing(self, seconds: Callable[..., Bot]) -> None:
        bot = seconds(8)
        bot.disarm()
        assert bot.state().hint == ""
