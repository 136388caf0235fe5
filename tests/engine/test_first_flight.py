"""The whole way on a real screen: the arena's window, a person's real keys, F5 and F6, training, and the bot flying it
through the actuator.

A server nested in another makes the test's own key presses arrive as a person's devices, and the bot's as injected.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.schema import InputEvent, Observation
from data.session import open_session
from data.settings import Settings
from data.workspace import Workspace
from engine.control_center import ControlCenter
from engine.training import train_levels
from tests.conftest import NestedDisplay
from tests.support import x11
from tests.support.x11 import wait_until

KEYCODES = {"space": 65, "1": 10, "2": 11, "q": 24, "e": 26, "z": 52, "f5": 71, "f6": 72, "f8": 74}
TICK_NS = 50_000_000


class PilotAsPolicy:
    """A scripted pilot where a policy is expected: it flies from what is perceived on the screen."""

    def __init__(self) -> None:
        from league.arena.pilots import make_pilot

        self.pilot = make_pilot("expert", 0)

    def reset(self) -> None:
        self.pilot.reset(0)

    def act(self, observation: Observation) -> Any:
        return self.pilot.act(observation)


@pytest.fixture
def center(nested_display: NestedDisplay, tmp_path: Path) -> Iterator[ControlCenter]:
    with x11.openbox(nested_display.inner):
        engine = ControlCenter(Settings(), Workspace(tmp_path / "workspace"))
        engine.start()
        assert engine.wait_ready()
        yield engine
        assert engine.stop() == []


def do(center: ControlCenter, name: str, **params: Any) -> str:
    return center.command(name, **params).result(120)


def press(nested: NestedDisplay, key: str, hold_s: float = 0.06) -> int:
    at_ns = nested.person.key(KEYCODES[key], True)
    time.sleep(hold_s)
    nested.person.key(KEYCODES[key], False)
    return at_ns


def click(nested: NestedDisplay, x: int, y: int) -> int:
    nested.person.move(x, y)
    time.sleep(0.08)
    at_ns = nested.person.button(1, True)
    time.sleep(0.06)
    nested.person.button(1, False)
    return at_ns


def recorded(events: list[InputEvent], kind: str) -> list[InputEvent]:
    return [e for e in events if e.kind == kind]


@pytest.mark.x11
@pytest.mark.timeout(180)
def test_a_person_plays_it_trains_and_the_bot_flies(center: ControlCenter, nested_display: NestedDisplay) -> None:
    do(center, "arena_window", scale=1)
    rig = center.rig
    assert rig is not None
    wait_until(rig.focus, 20, "the arena's window has the focus")
    wait_until(lambda: center.snapshot().tick.hz > 10, 60, "ticks come")
    rect = rig._screen.rect  # type: ignore[union-attr]
    assert rect is not None
    assert (rect.width, rect.height) == (640, 360)

    # A person plays: F5, clicks and keys, F6.
    press(nested_display, "f5")
    wait_until(lambda: center.snapshot().recorder.phase == "recording", 5, "F5 records")
    wait_until(lambda: center.snapshot().recorder.steps > 0, 10, "steps are recorded")
    done: list[tuple[str, int, tuple[float, float] | None]] = []
    for place in ((100, 90), (500, 250), (320, 180)):
        at_ns = click(nested_display, rect.left + place[0], rect.top + place[1])
        done.append(("mouse_left", at_ns, (place[0] / 640, place[1] / 360)))
        time.sleep(0.2)
        for key in ("space", "2", "q"):
            done.append((key, press(nested_display, key), None))
            time.sleep(0.1)
    press(nested_display, "z")  # outside the vocabulary: that something was pressed is kept, not what
    time.sleep(1.0)
    press(nested_display, "f6")
    wait_until(lambda: center.snapshot().recorder.phase == "idle", 5, "F6 saves")
    name = center.snapshot().recorder.last_session

    with open_session(center.workspace.sessions / name) as session:
        events, steps = session.events(), session.steps()
        assert session.metadata.state == "saved"
    presses = recorded(events, "press")
    assert [e.name for e in presses] == [name for name, _, _ in done] + ["other"]
    assert {e.actor for e in events} == {"human"}
    assert not {"f5", "f6", "z"} & {e.name for e in events}
    for event, (_, at_ns, place) in zip(presses, done, strict=False):
        assert abs(event.time_ns - at_ns) < TICK_NS
        if place is not None:
            assert (event.x, event.y) == pytest.approx(place, abs=0.004)
    onsets = [(n, row) for row in range(len(steps)) for n in steps.onsets(row)]
    assert [n for n, _ in onsets] == [n for n, _, _ in done]
    for (_, row), (_, at_ns, _) in zip(onsets, done, strict=True):
        # A loaded machine skips ticks: a step then lasts until the next one that there is.
        ends_ns = int(steps.time_ns[min(row + 1, len(steps) - 1)])
        assert int(steps.time_ns[row]) - TICK_NS <= at_ns <= max(ends_ns, int(steps.time_ns[row]) + TICK_NS) + TICK_NS

    # It trains on what the person did, and the policy flies the same window through the actuator.
    trained = train_levels(center.workspace.root, "all", quick=True, epochs=1)
    assert trained.policy is not None
    assert trained.promoted
    flight = center.bot
    do(center, "source", kind="arena_window")  # a fresh world: the score counts from 0
    rig = center.rig
    assert rig is not None
    wait_until(rig.focus, 20, "the new window has the focus")
    wait_until(lambda: center.snapshot().tick.hz > 5, 60, "ticks come")
    assert "Secondseat Arena" in do(center, "arm")
    do(center, "fly")
    wait_until(lambda: center.snapshot().bot.actions > 10, 30, "the trained policy acts")
    assert center.snapshot().bot.policy == trained.policy.name
    do(center, "disarm")

    # So little play teaches it no skill: that the score moves is shown with a pilot who has some, through the same hands.
    flight.arm(PilotAsPolicy(), "expert", rig.hands(dry_run=False))
    rig.set_pilot(flight)
    do(center, "record_toggle")
    do(center, "fly")
    wait_until(lambda: center.snapshot().arena.score > 0.5, 60, "the bot scores through the actuator")
    state = center.snapshot()
    assert state.bot.phase == "flying"
    assert state.bot.actions > 20
    do(center, "record_save")
    name = center.snapshot().recorder.last_session
    with open_session(center.workspace.sessions / name) as session:
        events, steps = session.events(), session.steps()
    presses = recorded(events, "press")
    assert presses
    assert {e.actor for e in presses} == {"bot"}
    assert (steps.model_version > 0).any()

    # A person's touch takes the controls back at once, and nothing stays held.
    press(nested_display, "e")
    wait_until(lambda: center.snapshot().bot.phase == "yielded", 2, "a key yields")
    inner = x11.Person(nested_display.inner)
    try:
        wait_until(lambda: not inner.held_codes() and not inner.held_buttons(), 2, "nothing is held")
    finally:
        inner.close()
