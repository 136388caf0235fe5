"""The bot's hands: the arena's own, and what the actuator's conditions mean to the bot."""

from __future__ import annotations

import pytest

from data.profile import ARENA_PROFILE
from data.schema import Action
from engine.actuator.client import Actuator, ActuatorStatus
from engine.hands import ActuatorHands, ArenaHands
from engine.platforms.port import PlatformError, WindowInfo


def test_the_arena_gets_what_is_in_time_and_in_range_and_nothing_else() -> None:
    done: list[Action] = []
    now_ns = 1_000
    hands = ArenaHands(done.append, "the arena", clock_ns=lambda: now_ns)
    hands.send(1, 2_000, Action(0.5, 0.5))
    assert done == []  # not armed
    assert hands.arm() == "the arena"
    hands.send(2, 2_000, Action(0.5, 0.5, ("space",)))
    for x in (float("nan"), float("inf"), -0.1, 1.1):
        hands.send(3, 2_000, Action(x, 0.5))
    hands.send(4, 999, Action(0.5, 0.5))
    state = hands.state()
    assert [a.onsets for a in done] == [("space",)]
    assert (state.sent, state.refused, state.expired) == (1, 4, 1)
    hands.release()
    assert done[-1].held == frozenset()
    hands.disarm()
    hands.send(5, 2_000, Action(0.5, 0.5))
    assert len(done) == 2


def test_a_dry_run_counts_and_does_nothing() -> None:
    done: list[Action] = []
    hands = ArenaHands(done.append, "the arena", dry_run=True, clock_ns=lambda: 0)
    hands.arm()
    hands.send(1, 1, Action(0.5, 0.5, ("mouse_left",)))
    hands.release()
    assert done == []
    assert hands.state().sent == 1


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("armed", "ok"),
        ("paused", "unfocused"),
        ("yielded", "yielded"),
        ("stopped", "stopped"),
        ("disarmed", "stopped"),
        ("off", "dead"),
        ("dead", "dead"),
    ],
)
def test_every_condition_of_the_actuator_means_something_to_the_bot(said: str, means: str, monkeypatch: pytest.MonkeyPatch) -> None:
    actuator = Actuator("null")
    status = ActuatorStatus(said, "why", sent=3, refused=1, expired=2, unsent=4, focus_losses=5)  # type: ignore[arg-type]
    monkeypatch.setattr(actuator, "status", lambda: status)
    hands = ActuatorHands(actuator, lambda: WindowInfo(1, "Game", None), ARENA_PROFILE)
    state = hands.state()
    assert state.condition == means
    assert (state.reason, state.sent, state.refused, state.expired, state.focus_losses) == ("why", 3, 1, 6, 5)


def test_a_point_of_the_picture_goes_to_its_part_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[float | None, float | None]] = []
    actuator = Actuator("null")
    monkeypatch.setattr(actuator, "send", lambda intent: sent.append((intent.x, intent.y)))
    profile = ARENA_PROFILE.model_copy(update={"window_part": (0.25, 0.5, 0.75, 1.0)})
    hands = ActuatorHands(actuator, lambda: WindowInfo(1, "Game", None), profile)
    for x, y in ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (1.2, 0.5)):
        hands.send(1, 1, Action(x, y))
    assert sent == [(0.25, 0.5), (0.75, 1.0), (0.5, 0.75), (1.2, 0.5)], "what lies outside stays outside: the actuator refuses it"


def test_a_window_that_is_not_there_is_not_armed() -> None:
    def missing() -> WindowInfo:
        raise PlatformError("window 'Game' not found")

    actuator = Actuator("null")
    hands = ActuatorHands(actuator, missing, ARENA_PROFILE)
    try:
        with pytest.raises(PlatformError, match="not found"):
            hands.arm()
        assert hands.state().condition == "stopped"
    finally:
        actuator.stop()
