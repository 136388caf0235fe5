"""Hotkeys: once per press from wherever it is heard, and plain words where nothing can be heard."""

from __future__ import annotations

import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.input.hotkeys import Hotkeys, check_hotkey
from engine.platforms.port import PlatformError, RawInput
from tests.support.x11 import Child, Person, TargetWindow, wait_until, x_server

MS = 1_000_000
SDL_GAME = Path(__file__).resolve().parents[1] / "support" / "sdl_game.py"
CTRL, SHIFT, F5, F6, F7, F8, F9 = 37, 50, 71, 72, 73, 74, 75


class FakeListener:
    failure = ""

    def __init__(self, callback: Callable[[RawInput], None]) -> None:
        self.callback = callback

    def start(self) -> None: ...

    def stop(self) -> None: ...


class FakePort:
    name = "fake"

    def __init__(self) -> None:
        self.made: FakeListener | None = None
        self.down: frozenset[str] = frozenset()
        self.why_not = ""
        self.refuses = ""
        self.tries = 0

    def listener(self, callback: Callable[[RawInput], None]) -> FakeListener:
        self.tries += 1
        if self.refuses:
            raise PlatformError(self.refuses)
        self.made = FakeListener(callback)
        return self.made

    def pressed(self) -> frozenset[str]:
        return self.down

    def obstacle(self, window_id: int | None = None) -> str:
        return self.why_not

    def close(self) -> None: ...


class Rig:
    def __init__(self, port: Any = None) -> None:
        self.now_ns = 10_000 * MS
        self.fired: list[str] = []
        self.port = port or FakePort()
        self.hotkeys = Hotkeys(self.fired.append, make_port=lambda: self.port, clock_ns=lambda: self.now_ns)
        assert self.hotkeys.start() == "fake"

    def key(self, name: str, down: bool = True) -> None:
        self.port.made.callback(RawInput(self.now_ns, "press" if down else "release", name))

    def tap(self, name: str) -> None:
        self.key(name)
        self.key(name, False)

    def wait(self, ms: int) -> None:
        self.now_ns += ms * MS


def check(hotkeys: Hotkeys) -> None:
    """What the engine does twice a second."""
    if hotkeys.look():
        hotkeys.revive()


def no_port() -> Any:
    raise PlatformError("no display: DISPLAY is not set")


def test_a_key_with_a_modifier_is_another_key_but_the_stop_key_always_works() -> None:
    rig = Rig()
    for modifier in ("ctrl", "ctrl_right", "shift", "alt", "meta"):
        rig.key(modifier)
        rig.tap("f5")
        rig.tap("f8")
        rig.key(modifier, False)
        rig.wait(100)
    rig.tap("f5")
    rig.tap("w")
    assert rig.fired == ["f8"] * 5 + ["f5"]


def test_one_press_heard_twice_fires_once_in_either_order() -> None:
    rig = Rig()
    rig.key("f5")
    rig.wait(20)
    assert not rig.hotkeys.terminal_press("f5")
    rig.key("f5", False)
    rig.wait(2_000)
    assert rig.hotkeys.terminal_press("F6")
    rig.wait(20)
    rig.tap("f6")
    assert rig.fired == ["f5", "f6"]
    last = rig.hotkeys.last
    assert last is not None
    assert (last.name, last.by) == ("f6", "terminal")
    assert re.fullmatch(r"F6 \d\d:\d\d:\d\d \(terminal\)", last.text)


def test_a_slow_terminal_tells_each_press_once_and_a_second_press_there_counts() -> None:
    rig = Rig()
    rig.tap("f5")
    rig.wait(1_200)
    assert not rig.hotkeys.terminal_press("f5"), "the press of before, told late"
    rig.wait(800)
    assert rig.hotkeys.terminal_press("f5"), "another keyboard: nothing was heard globally"
    assert rig.fired == ["f5", "f5"]


def test_a_worn_key_that_bounces_fires_once() -> None:
    rig = Rig()
    for gap_ms in (8, 15, 60):
        rig.tap("f5")
        rig.wait(gap_ms)
    rig.tap("f5")
    assert rig.fired == ["f5", "f5"]


def test_a_modifier_whose_release_was_swallowed_does_not_stay_down() -> None:
    rig = Rig()
    rig.key("ctrl")
    rig.port.down = frozenset({"ctrl"})
    rig.wait(2_500)
    rig.tap("f5")
    assert rig.fired == [], "it is really held"
    rig.wait(2_500)
    rig.port.down = frozenset()  # the lock screen got its release
    rig.tap("f5")
    assert rig.fired == ["f5"]


def test_a_key_held_in_the_terminal_fires_once() -> None:
    rig = Rig()
    rig.key("f5")
    for _ in range(30):
        rig.wait(60)
        rig.hotkeys.terminal_press("f5")  # the terminal's auto-repeat; globally the key is known to be down
    rig.key("f5", False)
    assert rig.fired == ["f5"]


def test_quick_presses_all_count_where_releases_are_known() -> None:
    rig = Rig()
    for _ in range(3):
        rig.tap("f5")
        rig.wait(120)
    assert rig.fired == ["f5"] * 3


def test_without_a_global_backend_the_terminal_folds_repeats_itself() -> None:
    fired: list[str] = []
    now = [0]
    hotkeys = Hotkeys(fired.append, make_port=no_port, clock_ns=lambda: now[0])
    for gap_ms in (0, 500, 40, 40, 2_000):
        now[0] += gap_ms * MS
        hotkeys.terminal_press("f5")
    assert fired == ["f5", "f5"]
    assert not hotkeys.terminal_press("w")


def test_a_dead_listener_is_told_and_the_terminal_goes_on_until_it_listens_again(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    dead = rig.port.made
    assert dead is not None
    rig.key("ctrl")
    dead.failure = "the X server is gone"
    assert rig.hotkeys.state == "dead: the X server is gone; keys work in this terminal only"
    check(rig.hotkeys)
    assert "global hotkeys are dead: the X server is gone" in caplog.text
    assert rig.hotkeys.terminal_press("f5")
    rig.port.refuses = "no display"
    for _ in range(4):  # it is tried again after 1, 2 and 4 s, and not at each look
        rig.wait(1_000)
        check(rig.hotkeys)
    assert rig.hotkeys.state == "dead: no display; keys work in this terminal only"
    assert rig.port.tries == 3
    rig.port.refuses = ""
    rig.wait(4_000)
    check(rig.hotkeys)
    assert rig.hotkeys.state == "fake"
    assert rig.port.made is not dead
    rig.tap("f6")
    assert rig.fired == ["f5", "f6"], "what was held when it died is forgotten"


def test_a_window_that_cannot_be_heard_is_told_while_it_has_the_focus() -> None:
    rig = Rig()
    rig.port.why_not = "its program runs with more rights"
    check(rig.hotkeys)
    assert rig.hotkeys.state == "fake, but not now: its program runs with more rights"
    rig.port.why_not = ""
    check(rig.hotkeys)
    assert rig.hotkeys.state == "fake"


def test_a_failing_command_does_not_end_the_listening(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_name: str) -> None:
        raise RuntimeError("full disk")

    port = FakePort()
    hotkeys = Hotkeys(fail, make_port=lambda: port)  # type: ignore[arg-type,return-value]
    hotkeys.start()
    assert port.made is not None
    port.made.callback(RawInput(0, "press", "f5"))
    assert "F5 was heard but not carried out" in caplog.text


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ImportError("You must be root to use this library on linux."), "keyboard: You must be root"),
        (AssertionError(), "keyboard: there is no /dev/input to read"),
        (FileNotFoundError(2, "No such file", "dumpkeys"), "keyboard: dumpkeys is missing"),
    ],
)
def test_the_keyboard_packages_failures_are_words(problem: Exception, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("keyboard")

    def hook(_callback: Any) -> None:
        raise problem

    package.hook = hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyboard", package)
    hotkeys = Hotkeys(lambda _name: None, make_port=no_port)
    assert hotkeys.start().startswith("off: no display: DISPLAY is not set; ")
    assert words in hotkeys.state


def test_the_keyboard_package_is_used_where_it_works_and_its_death_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = types.ModuleType("keyboard")
    callbacks: list[Any] = []
    package.hook = lambda callback: callbacks.append(callback) or callback
    package.unhook = callbacks.remove
    alive = [True]
    package._listener = types.SimpleNamespace(listening_thread=types.SimpleNamespace(is_alive=lambda: alive[0]))
    monkeypatch.setitem(sys.modules, "keyboard", package)
    fired: list[str] = []
    hotkeys = Hotkeys(fired.append, make_port=no_port)
    assert hotkeys.start() == "keyboard"
    presses = (("right ctrl", "down"), ("f5", "down"), ("f5", "up"), ("right ctrl", "up"), ("F5", "down"), ("F5", "down"), ("F5", "up"))
    for name, kind in presses:
        callbacks[0](types.SimpleNamespace(name=name, event_type=kind))
    assert fired == ["f5"]
    alive[0] = False
    assert hotkeys.state.startswith("dead: ")
    hotkeys.stop()
    assert callbacks == []
    assert hotkeys.state == "off: stopped"


def test_names_that_cannot_be_hotkeys_are_refused_with_the_list() -> None:
    assert check_hotkey(" F12 ") == "f12"
    with pytest.raises(ValueError, match=r"'F99' cannot be a hotkey; use one of f1 to f24"):
        Hotkeys(lambda _name: None, keys=("F99",))


@pytest.mark.x11
class TestOnAScreen:
    @pytest.fixture
    def fired(self, x_display: str) -> Iterator[list[str]]:
        fired: list[str] = []
        hotkeys = Hotkeys(fired.append)
        assert hotkeys.start() == "x11"
        yield fired
        hotkeys.stop()

    def test_each_key_fires_once_from_another_windows_focus(
        self, fired: list[str], window_manager: None, target_window: Callable[..., TargetWindow], person: Person
    ) -> None:
        target_window().focus()
        for code in (F5, F6, F7):
            person.key(code)
        person.key(CTRL, True)
        person.key(F5)
        person.key(CTRL, False)
        person.key(SHIFT, True)
        person.key(F8)
        person.key(SHIFT, False)
        person.key(F9)
        wait_until(lambda: "f8" in fired, 2)
        time.sleep(0.1)
        person.key(F5)
        wait_until(lambda: len(fired) == 5, 2)
        assert fired == ["f5", "f6", "f7", "f8", "f5"]

    def test_a_game_that_grabs_the_keyboard_cannot_swallow_them(
        self, fired: list[str], target_window: Callable[..., TargetWindow], person: Person
    ) -> None:
        from Xlib import X

        target = target_window()
        target.focus()
        assert target.window.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime) == X.GrabSuccess
        assert target.window.grab_pointer(True, 0, X.GrabModeAsync, X.GrabModeAsync, X.NONE, X.NONE, X.CurrentTime) == X.GrabSuccess
        target.connection.sync()
        person.key(F8)
        wait_until(lambda: fired == ["f8"], 2)

    def test_a_server_that_ends_is_told_and_its_return_is_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fired: list[str] = []
        with x_server() as display:
            monkeypatch.setenv("DISPLAY", display)
            hotkeys = Hotkeys(fired.append)
            assert hotkeys.start() == "x11"
        began_s = time.monotonic()
        wait_until(lambda: hotkeys.state.startswith("dead: the X server is gone"), 5)
        check(hotkeys)
        with x_server() as display:
            monkeypatch.setenv("DISPLAY", display)
            wait_until(lambda: check(hotkeys) or hotkeys.state == "x11", 5)
            person = Person(display)
            person.key(F5)
            wait_until(lambda: fired == ["f5"], 2)
            person.close()
            hotkeys.stop()
        assert time.monotonic() - began_s < 8

    def test_an_sdl_game_that_grabs_everything_in_full_screen_cannot_swallow_them(
        self, fired: list[str], x_display: str, window_manager: None, person: Person, tmp_path: Path
    ) -> None:
        from Xlib import X

        ready, got = tmp_path / "ready", tmp_path / "got"
        with Child([sys.executable, str(SDL_GAME), str(ready), str(got)], x_display):
            wait_until(ready.exists, 20, "the game has the focus")
            root = person.connection.screen().root
            assert root.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime) == X.AlreadyGrabbed
            for code in (F5, F6, F8):
                person.key(code)
            wait_until(lambda: len(fired) == 3, 3)
            wait_until(lambda: got.exists() and "F8" in got.read_text(), 5, "the game gets them too")
        assert fired == ["f5", "f6", "f8"]
