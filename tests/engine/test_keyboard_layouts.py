"""Keyboards that print other letters: keys keep their places' names, and nothing strange ends the listening."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from data.profile import GameProfile
from data.schema import InputEvent
from engine.input.hotkeys import Hotkeys
from engine.input.listener import InputListener
from engine.platforms.x11 import X11Port
from tests.support.x11 import Person, TargetWindow, wait_until

pytestmark = pytest.mark.x11

W, A, DEAD_CIRCUMFLEX, AT, NAMELESS, RIGHT_ALT, F5, SPACE = 25, 38, 34, 11, 248, 108, 71, 65
"""Key codes. On a French keyboard they print z, q, a dead ^, é; 248 is no key of any keyboard."""
PROFILE = GameProfile(name="probe", keys=("w", "a", "[", "2", "space", "key248", "alt"))


@pytest.fixture
def layout(x_display: str) -> Iterator[Callable[[str], None]]:
    def choose(*words: str) -> None:
        subprocess.run(["setxkbmap", "-display", x_display, *words], check=True, timeout=20)
        time.sleep(0.1)

    yield choose
    choose("us")


def taps(events: list[InputEvent]) -> list[str]:
    return [e.name for e in events if e.kind == "press"]


def test_physical_keys_keep_their_names_whatever_the_layout_prints(
    layout: Callable[[str], None], target_window: Callable[..., TargetWindow], person: Person
) -> None:
    target = target_window()
    target.focus()
    events: list[InputEvent] = []
    fired: list[str] = []
    listener, hotkeys = InputListener(PROFILE, events.append), Hotkeys(fired.append)
    listener.start(target.id)
    hotkeys.start()
    try:
        for name in ("us", "fr", "de", "ru"):  # also while it listens
            layout(name)
            for code in (W, A, DEAD_CIRCUMFLEX, AT, RIGHT_ALT, NAMELESS, SPACE, F5):
                person.key(code)
            wait_until(lambda name=name: len(fired) == ("us", "fr", "de", "ru").index(name) + 1, 3)
            wait_until(lambda name=name: taps(events).count("space") == len(fired), 3)
        assert (listener.state, hotkeys.state) == ("", "x11")
    finally:
        listener.stop()
        hotkeys.stop()
    assert taps(events) == ["w", "a", "[", "2", "alt", "key248", "space"] * 4
    assert {e.name for e in events if e.kind == "release"} == set(PROFILE.keys)


def test_a_port_that_starts_on_another_layout_presses_the_same_places(
    layout: Callable[[str], None], target_window: Callable[..., TargetWindow], x_display: str
) -> None:
    layout("fr")
    target = target_window()
    target.focus()
    port = X11Port(x_display)
    injector = port.injector()
    for name in ("w", "[", "key248"):
        assert injector.knows(name)
        assert injector.inject(target.id, (), None, [name], 8).result == "sent"
        injector.release([name])
    wait_until(lambda: len(target.events("key_press")) == 3, 3)
    assert [row["code"] for row in target.events("key_press")] == [W, DEAD_CIRCUMFLEX, NAMELESS]
    injector.close()
    port.close()
