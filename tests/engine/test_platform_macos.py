"""What only macOS has: permissions, a scale between pictures and positions, keys told twice."""

from __future__ import annotations

import sys

import pytest

from data.geometry import Rect
from engine.platforms import PlatformError, current_port
from engine.platforms.macos import MacPort
from engine.platforms.port import RawInput
from tests.support.macos import FakeMac


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> FakeMac:
    fake = FakeMac()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_it_is_the_port_of_a_mac(mac: FakeMac, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    port = current_port()
    assert (port.name, port.scale()) == ("macos", 2.0)


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        ("CGPreflightPostEventAccess", "not granted Accessibility, which pressing keys and moving the pointer need; allow it"),
        ("CGPreflightListenEventAccess", "not granted Input Monitoring, which hotkeys and recorded input need; allow it"),
    ],
)
def test_a_missing_permission_is_said_before_anything_is_tried(mac: FakeMac, permission: str, words: str) -> None:
    mac.granted.discard(permission)
    port = MacPort()
    assert words in port.obstacle(1)
    needs = port.injector if "Post" in permission else port.listener(lambda _event: None).start
    with pytest.raises(PlatformError, match=words):
        needs()


def test_without_screen_recording_a_window_goes_by_its_programs_name(mac: FakeMac) -> None:
    mac.open("Game", Rect(0, 0, 640, 360))
    assert [w.title for w in MacPort().windows()] == ["Game"]
    mac.granted.discard("CGPreflightScreenCaptureAccess")
    assert [w.title for w in MacPort().windows()] == ["Program"]


def test_a_key_that_is_told_twice_counts_once_and_an_ended_listener_says_so(mac: FakeMac) -> None:
    events: list[RawInput] = []
    listener = MacPort().listener(events.append)
    listener.start()
    for down in (True, True, False):
        mac.key(54, down)  # the right command key
    assert [(e.kind, e.name) for e in events] == [("press", "meta_right"), ("release", "meta_right")]
    mac.listeners[0].stop()
    assert listener.failure.startswith("macOS ended the listening; allow it")


def test_what_slipped_into_another_window_is_let_go_at_once(mac: FakeMac) -> None:
    game, notes = mac.open("Game", Rect(-1400, -50, 640, 360)), mac.open("Notes", Rect(600, 0, 300, 300))
    mac.focus(game)
    port = MacPort()
    mac.on_press = lambda: mac.focus(notes)
    done = port.injector().inject(game.number, (), (0.5, 0.5), ["w"], 8)
    assert (done.result, done.x, done.y) == ("no_focus", -1080, 130)
    assert not port.pressed()
