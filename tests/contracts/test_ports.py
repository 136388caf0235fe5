"""What every platform's port promises, run against each: X11 on a real server, Windows and macOS on stand-ins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.input.hotkeys import Hotkeys
from engine.platforms.port import Injector, RawInput, describe_missing_window, find_windows
from tests.support.desktops import Desktop, MacDesktop, WindowsDesktop, x_desktop
from tests.support.x11 import wait_until

KEYS = ("w", "left", "up", "ctrl", "ctrl_right", "shift_right", "alt", "kp_enter", "space", "delete", "f9", "1")
BUTTONS = ("mouse_left", "mouse_right", "mouse_middle")


@pytest.fixture(params=[pytest.param("x11", marks=pytest.mark.x11), "windows", "macos"])
def desktop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desktop]:
    if request.param == "x11":
        with x_desktop(request.getfixturevalue("x_display"), tmp_path) as real:
            yield real
    else:
        yield WindowsDesktop() if request.param == "windows" else MacDesktop()


@pytest.fixture
def game(desktop: Desktop) -> int:
    window = desktop.open("Game – Ünï", 100, 80, 400, 300)
    desktop.focus(window)
    return window


@pytest.fixture
def injector(desktop: Desktop) -> Iterator[Injector]:
    made = desktop.port.injector()
    yield made
    made.close()


class Heard(list[RawInput]):
    """What the port's listener tells."""

    def __init__(self, desktop: Desktop) -> None:
        super().__init__()
        self._listener = desktop.port.listener(self.append)

    def __enter__(self) -> Heard:
        self._listener.start()
        assert self._listener.failure == ""
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.stop()

    def names(self, *kinds: str) -> list[tuple[str, str]]:
        return [(e.kind, e.name) for e in self if e.kind in (kinds or ("press", "release"))]


def test_windows_are_found_by_part_of_their_title_with_their_client_area(desktop: Desktop, game: int) -> None:
    notes = desktop.open("Notes", 600, 400, 200, 100)
    desktop.focus(game)
    assert {game, notes} <= {w.id for w in desktop.port.windows()}
    found = find_windows(desktop.port, "game – ÜNÏ")
    assert [(w.id, w.title, w.visible, w.minimised) for w in found] == [(game, "Game – Ünï", True, False)]
    assert found[0].rect is not None
    assert (found[0].rect.width, found[0].rect.height) == (400, 300)
    assert found[0].rect == desktop.port.client_rect(game)
    assert "'Notes'" in describe_missing_window("Tetris", desktop.port.windows())
    assert (desktop.port.focused_window(), desktop.port.has_focus(game), desktop.port.has_focus(notes)) == (game, True, False)
    assert desktop.port.scale() == desktop.scale
    assert desktop.port.obstacle(game) == ""


def test_a_window_is_where_it_is_now(desktop: Desktop, game: int, injector: Injector) -> None:
    before = desktop.port.client_rect(game)
    desktop.move(game, 300, 200)
    after = desktop.port.client_rect(game)
    assert before is not None
    assert after is not None
    assert (after.left, after.top) != (before.left, before.top)
    assert (after.width, after.height) == (400, 300)
    done = injector.inject(game, (), (0.0, 0.0), (), 10)
    assert (done.x, done.y) == (after.left + 10, after.top + 10)


@pytest.mark.parametrize("how", ["minimise", "hide", "close"])
def test_a_window_that_cannot_be_seen_has_no_place_and_gets_nothing(desktop: Desktop, game: int, injector: Injector, how: str) -> None:
    getattr(desktop, how)(game)
    assert desktop.port.client_rect(game) is None
    info = desktop.port.window(game)
    if how == "close":
        assert info is None
    else:
        assert info is not None
        assert (info.rect, info.visible) == (None, False)
    result = injector.inject(game, (), (0.5, 0.5), ["w", "mouse_left"], 8).result
    assert result == ("closed" if how == "close" else "hidden")
    assert injector.focus(game) == result
    assert not desktop.port.pressed()


def test_what_is_injected_arrives_in_order_where_it_should_and_is_heard(desktop: Desktop, game: int, injector: Injector) -> None:
    injector.inject(game, (), None, ["w"], 8)
    with Heard(desktop) as heard:
        done = injector.inject(game, ["w"], (0.25, 0.5), ["left", "ctrl_right", "mouse_left"], 8)
        wait_until(lambda: ("press", "mouse_left") in heard.names(), 3, "the click is heard")
    rect = desktop.port.client_rect(game)
    assert rect is not None
    assert (done.result, done.x, done.y) == ("sent", rect.left + 100, rect.top + 150)
    assert desktop.port.pointer() == (done.x, done.y)
    assert done.before_ns <= done.after_ns
    order = [("release", "w"), ("press", "left"), ("press", "ctrl_right"), ("press", "mouse_left")]
    wait_until(lambda: desktop.got(game)[-4:] == order, 3, "the window gets it")
    assert heard.names() == order
    assert all(e.injected for e in heard)
    click = next(e for e in heard if e.name == "mouse_left")
    assert (click.x, click.y) == (done.x, done.y)
    assert desktop.port.pressed() == {"left", "ctrl_right", "mouse_left"}
    injector.release(["left", "ctrl_right", "mouse_left", "d"])
    wait_until(lambda: not desktop.port.pressed(), 3)


@pytest.mark.parametrize("name", [*KEYS, *BUTTONS])
def test_each_key_and_button_is_the_same_thing_on_the_way_out_and_in(desktop: Desktop, game: int, injector: Injector, name: str) -> None:
    assert injector.knows(name)
    with Heard(desktop) as heard:
        injector.inject(game, (), (0.5, 0.5), [name], 8)
        assert wait_until(desktop.port.pressed, 3) == {name}
        injector.release([name])
        wait_until(lambda: ("release", name) in heard.names(), 3)
    assert heard.names() == [("press", name), ("release", name)]
    assert not desktop.port.pressed()


def test_without_the_focus_nothing_goes_out_but_letting_go_does(desktop: Desktop, game: int, injector: Injector) -> None:
    injector.inject(game, (), None, ["w"], 8)
    desktop.focus_elsewhere()
    assert not desktop.port.has_focus(game)
    before, pointer = desktop.got(game), desktop.port.pointer()
    assert injector.inject(game, (), (0.5, 0.5), ["space", "mouse_left"], 8).result == "no_focus"
    assert (desktop.got(game), desktop.port.pointer(), desktop.port.pressed()) == (before, pointer, {"w"})
    injector.release(["w"])
    wait_until(lambda: not desktop.port.pressed(), 3)


def test_a_click_that_another_window_would_get_is_not_made(desktop: Desktop, game: int, injector: Injector) -> None:
    desktop.cover(game)
    assert injector.inject(game, (), (0.5, 0.5), ["mouse_left"], 8).result == "covered"
    assert ("press", "mouse_left") not in desktop.got(game)
    assert injector.inject(game, (), None, ["w"], 8).result == "sent", "keys go by the focus"
    injector.release(["w"])


def test_a_place_beyond_the_screen_is_not_gone_to(desktop: Desktop, game: int, injector: Injector) -> None:
    desktop.move(game, 1200, 600)
    rect = desktop.port.client_rect(game)
    assert rect is not None
    pointer = desktop.port.pointer()
    outside = desktop.name == "windows"  # its stand-in has wider monitors
    if outside:
        desktop.move(game, 1800, 900)
    assert injector.inject(game, (), (0.95, 0.95), ["w"], 2).result == "off_screen"
    assert desktop.port.pointer() == pointer
    assert not desktop.port.pressed()


def test_a_dry_run_tells_the_place_and_touches_nothing(desktop: Desktop, game: int, injector: Injector) -> None:
    pointer = desktop.port.pointer()
    done = injector.inject(game, (), (0.5, 0.5), ["w", "mouse_left"], 8, dry_run=True)
    rect = desktop.port.client_rect(game)
    assert rect is not None
    assert (done.result, done.x, done.y) == ("sent", rect.left + 200, rect.top + 150)
    assert (desktop.port.pointer(), desktop.port.pressed()) == (pointer, frozenset())


def test_the_person_is_heard_whatever_has_the_focus(desktop: Desktop, game: int) -> None:
    desktop.focus_elsewhere()
    with Heard(desktop) as heard:
        desktop.point(333, 222)
        desktop.key("w", True)
        desktop.key("w", True)  # auto-repeat
        assert wait_until(desktop.port.pressed, 3) == {"w"}
        desktop.key("w", False)
        desktop.button("mouse_right", True)
        desktop.button("mouse_right", False)
        desktop.wheel_up()
        wait_until(lambda: heard.names("scroll"), 3)
    assert heard.names() == [("press", "w"), ("release", "w"), ("press", "mouse_right"), ("release", "mouse_right")]
    assert [(e.dx, e.dy) for e in heard if e.kind == "scroll"] == [(0, 1)]
    moved = [e for e in heard if e.kind == "move"]
    assert (moved[-1].x, moved[-1].y) == (333, 222)
    assert [e.time_ns for e in heard] == sorted(e.time_ns for e in heard)
    if desktop.tells_programs:
        assert not any(e.injected for e in heard)


def test_a_callback_that_fails_does_not_end_the_listening(desktop: Desktop, game: int, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def fail_once(event: RawInput) -> None:
        heard.append(event.name)
        if len(heard) == 1:
            raise RuntimeError("full disk")

    listener = desktop.port.listener(fail_once)
    listener.start()
    for name in ("w", "space"):
        desktop.key(name, True)
        desktop.key(name, False)
    wait_until(lambda: "space" in heard, 3)
    assert listener.failure == ""
    assert "was not handled" in caplog.text
    listener.stop()
    assert listener.failure


def test_listeners_leave_no_thread_behind(desktop: Desktop) -> None:
    before = threading.active_count()
    for _ in range(5):
        listener = desktop.port.listener(lambda _event: None)
        listener.start()
        listener.stop()
    assert threading.active_count() == before


def test_hotkeys_fire_once_from_any_focus_and_not_with_a_modifier(desktop: Desktop, game: int) -> None:
    fired: list[str] = []

    def tap(*names: str) -> None:
        for name in names:
            desktop.key(name, True)
        for name in reversed(names):
            desktop.key(name, False)

    make_port: Callable[[], object] = lambda: desktop.port  # noqa: E731
    hotkeys = Hotkeys(fired.append, make_port=make_port)  # type: ignore[arg-type]
    assert hotkeys.start() == desktop.name
    tap("f5")
    tap("ctrl", "f5")
    tap("ctrl_right", "f6")
    tap("f7")
    tap("w")
    tap("shift", "f8")  # the emergency stop, whatever is held
    wait_until(lambda: "f8" in fired, 3)
    assert fired == ["f5", "f7", "f8"]
    assert not hotkeys.terminal_press("f8"), "the terminal hears the same press a little later"
    hotkeys.stop()
