"""The input listener: filtering and actors with a fake platform, then real keys on a real screen."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from data.geometry import Rect
from data.profile import GameProfile
from data.schema import InputEvent
from engine.actuator.client import Actuator, Intent
from engine.actuator.journal import Journal
from engine.input.listener import CLAIM_NS, InputListener
from engine.platforms.port import RawInput, WindowInfo
from tests.support.x11 import Person, TargetWindow, wait_until, x_server

PROFILE = GameProfile(name="probe", keys=("w", "q", "space", "ctrl"))
MS = 1_000_000
W, Q, A, F5, CTRL_RIGHT, NAMELESS = 25, 24, 38, 71, 105, 248


class FakePort:
    """A platform with one window; ``say`` is a device."""

    name = "fake"

    def __init__(self) -> None:
        self.focus, self.rect, self.down = True, Rect(100, 100, 200, 100), frozenset[str]()
        self.place = (0, 0)
        self.failure = ""
        self.why_not = ""
        self.callback: Callable[[RawInput], None] = lambda _raw: None

    def client_rect(self, window_id: int) -> Rect | None:
        return self.rect

    def has_focus(self, window_id: int) -> bool:
        return self.focus

    def obstacle(self, window_id: int) -> str:
        return self.why_not

    def pointer(self) -> tuple[int, int]:
        return self.place

    def pressed(self) -> frozenset[str]:
        return self.down

    def listener(self, callback: Callable[[RawInput], None]) -> FakePort:
        self.callback = callback
        return self

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...

    def say(self, kind: Any, name: str = "", x: int | None = None, y: int | None = None, injected: bool = False, dy: int = 0) -> None:
        if kind in ("press", "release"):
            self.down = self.down | {name} if kind == "press" else self.down - {name}
        self.callback(RawInput(time.monotonic_ns(), kind, name, x, y, 0, dy, "XTEST" if injected else "USB", injected))


@pytest.fixture
def port() -> FakePort:
    return FakePort()


class Heard(list[InputEvent]):
    def brief(self) -> list[tuple[str, str, str]]:
        return [(e.kind, e.name, e.note) for e in self]


@pytest.fixture
def listening(port: FakePort) -> Iterator[Callable[..., tuple[InputListener, Heard]]]:
    running: list[InputListener] = []

    def start(window_id: int | None = 1, **arguments: Any) -> tuple[InputListener, Heard]:
        heard = Heard()
        rect = arguments.pop("rect", None)
        listener = InputListener(PROFILE, heard.append, make_port=lambda: port, **arguments)  # type: ignore[arg-type,return-value]
        listener.start(window_id, rect)
        running.append(listener)
        return listener, heard

    yield start
    for listener in running:
        listener.stop()


Listening = Callable[..., tuple[InputListener, Heard]]


def test_a_window_that_cannot_be_heard_is_told_and_another_can_be_followed(port: FakePort, listening: Listening) -> None:
    port.why_not = "its program runs with more rights"
    listener, _ = listening()
    assert listener.state == "its program runs with more rights"
    port.why_not = ""
    listener.follow(2)
    assert listener.state == ""
    port.failure = "the X server is gone"
    assert listener.state == "the X server is gone"


def test_keys_outside_the_vocabulary_are_nameless_and_control_keys_are_none(port: FakePort, listening: Listening) -> None:
    _, heard = listening(control_keys=("pause",))
    for name in ("w", "p", "f5", "pause", "key248"):
        port.say("press", name)
        port.say("release", name)
    assert heard.brief() == [
        ("press", "w", ""),
        ("release", "w", ""),
        ("press", "other", ""),
        ("release", "other", ""),
        ("press", "other", ""),
        ("release", "other", ""),
    ]
    assert all(e.device == "USB" and e.actor == "human" for e in heard)


def test_positions_are_those_of_the_profiles_part_of_the_window(port: FakePort) -> None:
    heard = Heard()
    part = PROFILE.model_copy(update={"window_part": (0.5, 0.2, 1.0, 1.0)})
    listener = InputListener(part, heard.append, make_port=lambda: port)  # type: ignore[arg-type,return-value]
    listener.start(1)
    try:
        port.say("press", "mouse_left", 250, 160)  # the window lies at 100, 100 and is 200 wide, 100 high
        port.say("press", "mouse_right", 150, 160)  # inside the window, beside the picture
    finally:
        listener.stop()
    assert [(e.name, e.x, e.y) for e in heard] == [("mouse_left", 0.5, 0.5)]


def test_nothing_passes_without_the_focus(port: FakePort, listening: Listening) -> None:
    _, heard = listening()
    port.focus = False
    port.say("press", "w")
    port.say("press", "mouse_left", 150, 150)
    port.say("scroll", "", 150, 150, dy=1)
    port.focus = True
    port.say("release", "w")
    assert heard == []


def test_without_a_window_only_the_mouse_inside_the_region_passes(port: FakePort, listening: Listening) -> None:
    _, heard = listening(None, rect=Rect(-200, -100, 100, 100))
    port.say("press", "w")
    port.say("press", "mouse_left", 50, 50)
    port.say("press", "mouse_left", -150, -50)
    assert [(e.name, e.x, e.y) for e in heard] == [("mouse_left", 0.5, 0.5)]


def test_places_are_of_the_picture_and_clicks_beside_it_are_not_the_games(port: FakePort, listening: Listening) -> None:
    listener, heard = listening()
    port.say("move", "", 150, 125)
    assert listener.cursor == (0.25, 0.25)
    port.say("press", "mouse_left", 99, 125)
    port.say("press", "mouse_left", 200, 150)
    port.rect = Rect(0, 0, 200, 100)
    port.say("release", "mouse_left", 260, 50)
    port.say("scroll", "", 100, 50, dy=-1)
    assert [(e.kind, e.x, e.y, e.dy) for e in heard] == [
        ("move", 0.25, 0.25, 0),
        ("press", 0.5, 0.5, 0),
        ("release", 1.0, 0.5, 0),
        ("scroll", 0.5, 0.5, -1),
    ]


def test_a_lost_focus_ends_what_is_held(port: FakePort, listening: Listening) -> None:
    listener, heard = listening()
    port.say("press", "w")
    port.say("press", "p")
    assert listener.held == ("w", "other")
    port.focus = False
    wait_until(lambda: len(heard) == 4, 1)
    assert heard.brief()[2:] == [("release", "w", "forced_release"), ("release", "other", "forced_release")]
    port.focus = True
    port.say("release", "w")
    assert len(heard) == 4
    assert listener.held == ()


def test_a_release_that_was_missed_does_not_hold_a_key_for_ever(port: FakePort, listening: Listening) -> None:
    listener, heard = listening()
    port.say("press", "w")
    port.say("press", "q")
    port.down = frozenset({"q"})  # as after a locked screen
    wait_until(lambda: len(heard) == 3, 3)
    assert heard.brief()[2:] == [("release", "w", "forced_release")]
    assert listener.held == ("q",)


def test_what_is_down_at_the_start_is_flagged(port: FakePort, listening: Listening) -> None:
    port.down = frozenset({"w", "mouse_left", "f5", "p"})
    listener, heard = listening()
    assert heard.brief() == [("press", "mouse_left", "held_at_start"), ("press", "w", "held_at_start")]
    port.say("press", "w")  # auto-repeat of a press that was never seen
    port.say("press", "space")
    assert len(heard) == 3
    assert [(e.name, e.note) for e in listener.held_events()] == [(n, "held_at_start") for n in ("mouse_left", "w", "space")]


def test_both_ctrl_keys_are_one_where_the_profile_names_one(port: FakePort, listening: Listening) -> None:
    _, heard = listening()
    for kind, name in (("press", "ctrl"), ("press", "ctrl_right"), ("release", "ctrl"), ("release", "ctrl_right")):
        port.say(kind, name)
    assert heard.brief() == [("press", "ctrl", ""), ("release", "ctrl", "")]


def test_a_programs_event_is_the_bots_only_when_the_journal_says_so(port: FakePort, listening: Listening) -> None:
    journal = Journal()
    _, heard = listening(journal=journal)
    now = time.monotonic_ns()
    port.say("press", "w", injected=True)
    port.say("press", "q")
    assert heard == [], "order is kept while the journal's word is awaited"
    journal.add([[1, "press", "w", None, None, now, now + MS, False]])
    wait_until(lambda: len(heard) == 2, 1)
    assert [(e.name, e.actor) for e in heard] == [("w", "bot"), ("q", "human")]
    port.say("press", "space", injected=True)  # a remote desktop or an on-screen keyboard
    time.sleep(CLAIM_NS / 1e9 / 2)
    assert len(heard) == 2
    wait_until(lambda: len(heard) == 3, 1)
    assert (heard[2].name, heard[2].actor, heard[2].device) == ("space", "human", "XTEST")


def test_forced_releases_belong_to_whoever_pressed(port: FakePort, listening: Listening) -> None:
    journal = Journal()
    _, heard = listening(journal=journal)
    now = time.monotonic_ns()
    journal.add([[1, "press", "w", None, None, now, now + MS, False]])
    port.say("press", "w", injected=True)
    port.say("press", "q")
    port.focus = False
    wait_until(lambda: len(heard) == 4, 1)
    assert {(e.name, e.actor) for e in heard if e.kind == "release"} == {("w", "bot"), ("q", "human")}


def test_a_broken_platform_call_closes_the_gate_and_not_the_listener(
    port: FakePort, listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, heard = listening()

    def fail(_window_id: int) -> Rect:
        raise ConnectionError("gone")

    monkeypatch.setattr(port, "client_rect", fail)
    wait_until(lambda: not listener.focus, 1)
    monkeypatch.undo()
    wait_until(lambda: listener.focus, 1)
    port.say("press", "w")
    assert heard.brief() == [("press", "w", "")]


@pytest.mark.x11
class TestOnAScreen:
    @pytest.fixture
    def target(self, x_display: str, target_window: Callable[..., TargetWindow]) -> TargetWindow:
        target = target_window(x=100, y=100, width=400, height=200)
        target.focus()
        return target

    def listen(self, target: TargetWindow, journal: Journal | None = None) -> tuple[InputListener, Heard]:
        heard = Heard()
        listener = InputListener(PROFILE, heard.append, journal)
        listener.start(target.id)
        return listener, heard

    def test_names_are_physical_whatever_the_layout_and_odd_keys_harm_nothing(
        self, target: TargetWindow, person: Person, x_display: str
    ) -> None:
        listener, heard = self.listen(target)
        try:
            subprocess.run(["setxkbmap", "-display", x_display, "fr"], check=True, capture_output=True)
            for code in (W, NAMELESS, 35, CTRL_RIGHT, Q):  # 35 is a dead key in this layout
                person.key(code)
            wait_until(lambda: len(heard) == 10, 2)
        finally:
            subprocess.run(["setxkbmap", "-display", x_display, "us"], check=True, capture_output=True)
            listener.stop()
        assert [e.name for e in heard if e.kind == "press"] == ["w", "other", "other", "ctrl", "q"]

    def test_the_platform_keeps_codes_of_nameless_keys_and_folds_repeat(self, target: TargetWindow, person: Person) -> None:
        from engine.platforms import current_port

        port = current_port()
        heard: list[RawInput] = []
        listener = port.listener(heard.append)
        listener.start()
        try:
            person.key(NAMELESS, True)
            time.sleep(0.9)  # longer than the server's repeat delay
            person.key(NAMELESS, False)
            person.button(5)
            wait_until(lambda: len(heard) >= 3, 2)
        finally:
            listener.stop()
            port.close()
        assert [(e.kind, e.name, e.dy) for e in heard] == [("press", "key248", 0), ("release", "key248", 0), ("scroll", "", -1)]
        assert listener.failure == "stopped"

    def test_times_and_places_are_right(self, target: TargetWindow, person: Person) -> None:
        listener, heard = self.listen(target)
        try:
            person.move(200, 150)
            pressed_ns = person.button(1, True)
            time.sleep(0.05)
            person.move(300, 200)
            person.button(1, False)
            key_ns = person.key(W)
            wait_until(lambda: any(e.name == "w" and e.kind == "release" for e in heard), 2)
        finally:
            listener.stop()
        press, release, key = (
            next(e for e in heard if (e.kind, e.name) == what)
            for what in (("press", "mouse_left"), ("release", "mouse_left"), ("press", "w"))
        )
        assert (press.x, press.y, release.x, release.y) == (0.25, 0.25, 0.5, 0.5)
        assert abs(press.time_ns - pressed_ns) < 40 * MS
        assert abs(key.time_ns - key_ns) < 40 * MS
        assert [e.time_ns for e in heard] == sorted(e.time_ns for e in heard)

    def test_a_window_that_dies_with_a_key_down_ends_the_hold(
        self, target: TargetWindow, person: Person, target_window: Callable[..., TargetWindow]
    ) -> None:
        listener, heard = self.listen(target)
        try:
            person.key(W, True)
            wait_until(lambda: listener.held == ("w",), 2)
            target.kill()
            wait_until(lambda: listener.held == (), 2)
            target_window("Other").focus()
            person.key(W, False)
            person.key(A)
            time.sleep(0.1)
            assert listener.state == ""
        finally:
            listener.stop()
        assert heard.brief() == [("press", "w", ""), ("release", "w", "forced_release")]

    def test_the_bots_keys_are_the_bots_and_the_persons_the_persons(
        self, nested_display: Any, target_window: Callable[..., TargetWindow]
    ) -> None:
        target = target_window(display=nested_display.inner, x=50, y=50)
        target.focus()
        hands = Actuator().start()
        listener, heard = self.listen(target, hands.journal)
        try:
            hands.arm(WindowInfo(target.id, target.title, None), PROFILE)
            for sequence in range(1, 31):
                onsets = ("q",) if sequence % 6 == 0 else ("mouse_left",) if sequence % 6 == 3 else ()
                x = 0.2 + 0.02 * sequence
                hands.send(Intent(sequence, time.monotonic_ns() + 500 * MS, x, 0.5, onsets, frozenset({"w"} if sequence > 15 else ())))
                time.sleep(0.05)
            nested_display.person.key(65)  # space, and the bot yields
            wait_until(lambda: hands.status().condition == "yielded", 2)
            foreign = Person(nested_display.inner)
            foreign.key(Q)  # a program, but not ours
            foreign.close()
            time.sleep(0.4)
        finally:
            listener.stop()
            hands.stop()
        acted = [(e.kind, e.name, e.actor) for e in heard if e.kind != "move"]
        assert acted.count(("press", "q", "bot")) == acted.count(("press", "mouse_left", "bot")) == 5
        assert acted.count(("press", "w", "bot")) == acted.count(("release", "w", "bot")) == 1
        assert acted.count(("press", "space", "human")) == 1
        assert acted.count(("press", "q", "human")) == 1
        assert {(e.actor, e.dx, e.dy) for e in heard if e.kind == "move"} == {("bot", 0, 0)}  # it sets places: no motion
        assert next(e.device for e in heard if e.name == "space") == "Xephyr virtual keyboard"

    def test_a_lost_server_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from engine.platforms import current_port

        with x_server() as display:
            monkeypatch.setenv("DISPLAY", display)
            port = current_port()
            listener = port.listener(lambda _raw: None)
            listener.start()
            assert listener.failure == ""
        wait_until(lambda: "the X server is gone" in listener.failure, 3)
        listener.stop()
        port.close()

    def test_a_game_that_re_centres_the_pointer_leaves_relative_motion(self, target: TargetWindow, person: Person, x_display: str) -> None:
        listener, heard = self.listen(target)
        try:
            for _ in range(40):
                person.warp(300, 200)
                person.nudge(12, -5)
                time.sleep(0.02)
            wait_until(lambda: listener.centre.noticed, 2)
        finally:
            listener.stop()
        moves = [e for e in heard if e.kind == "move"]
        assert sum(e.dx for e in moves) == 40 * 12
        assert sum(e.dy for e in moves) == 40 * -5
        assert listener.centre.count >= 20
