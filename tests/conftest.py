"""Fixtures for real X screens. Tests that use them are marked ``x11``.

``x_display`` sets DISPLAY for the test to a virtual screen of its module; ``window_manager`` runs openbox on it;
``target_window(title=..., ...)`` opens windows that log their input; ``person`` presses keys on it;
``nested_display`` gives a pair of servers where what ``person`` does outside arrives inside as real devices.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import x11

MakeTarget = Callable[..., x11.TargetWindow]
GRACE_S = 60.0  # for a test that is over its time to fail by itself
_stderr = -1


# The same examples every time, so that a fault that was there before does not show by chance in somebody's clone;
# HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("same", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure() -> None:
    global _stderr
    _stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Ends this process, and says where each of its threads was, when a test outlasts its time limit by ``GRACE_S``.

    The limit itself is an exception in the main thread: one that waits in compiled code never sees it, and one that runs a loop of
    tasks may lose it in a task. Without this such a test would hold up all others for ever and not even be named.
    """
    marker = item.get_closest_marker("timeout")
    limit_s = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit_s + GRACE_S, exit=True, file=_stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _need_x11() -> None:
    missing = x11.missing_programs()
    if not missing:
        return
    reason = f"X11 tests need {', '.join(missing)} (Debian: apt-get install xvfb xserver-xephyr openbox xdotool)"
    if os.environ.get("SECONDSEAT_REQUIRE_X11") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compiles the arena's kernels before the first test, so that no test's time limit pays for it."""
    needs = {"league", "engine", "trainers", "terminal", "tui"}
    if session.config.option.collectonly or not any(needs.intersection(item.path.parts) for item in session.items):
        return
    from league.arena import world

    world.warm("skirmish_kernel")
    # In a process of its own: this one does not need what that imports.
    subprocess.run([sys.executable, "-c", "from league.warm_up import warm_up; warm_up()"], cwd=Path(__file__).parents[1], check=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("x11"):
        _need_x11()


def _on_display(monkeypatch: pytest.MonkeyPatch, display: str) -> None:
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("XDG_SESSION_TYPE", "x11")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.fixture(scope="module")
def x_server_display() -> Iterator[str]:
    """One virtual screen of 1280x720 for all tests of a module."""
    _need_x11()
    with x11.x_server() as display:
        yield display


@pytest.fixture
def x_display(x_server_display: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The module's virtual screen as DISPLAY, with no key or button down at the start and the pointer at 640, 360."""
    _on_display(monkeypatch, x_server_display)
    human = x11.Person(x_server_display)
    try:
        for code in human.held_codes():
            human.key(code, False)
        for number in human.held_buttons():
            human.button(number, False)
        human.focus_nothing()
        human.move(640, 360)
        yield x_server_display
    finally:
        human.close()


@pytest.fixture
def fresh_display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A virtual screen for this test alone."""
    _need_x11()
    with x11.x_server() as display:
        _on_display(monkeypatch, display)
        yield display


@pytest.fixture
def window_manager(x_display: str) -> Iterator[None]:
    with x11.openbox(x_display):
        yield


@pytest.fixture
def person(x_display: str) -> Iterator[x11.Person]:
    human = x11.Person(x_display)
    yield human
    human.close()


@pytest.fixture
def target_window(x_display: str, tmp_path: Path) -> Iterator[MakeTarget]:
    """Opens windows: ``target_window(title="Target", x=100, y=80, width=400, height=300, colour="c81e1e", display=None)``."""
    opened: list[x11.TargetWindow] = []

    def make(
        title: str = "Target",
        x: int = 100,
        y: int = 80,
        width: int = 400,
        height: int = 300,
        colour: str = "c81e1e",
        display: str | None = None,
    ) -> x11.TargetWindow:
        opened.append(x11.TargetWindow(display or x_display, title, x, y, width, height, colour, tmp_path))
        return opened[-1]

    yield make
    for window in opened:
        window.close()


@dataclass(frozen=True)
class NestedDisplay:
    """A server inside a server. ``person`` acts on the outer one, which is a real device for the inner one."""

    outer: str
    inner: str
    person: x11.Person


@pytest.fixture
def nested_display(x_display: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[NestedDisplay]:
    """Xephyr (800x600 at 0, 0, with the outer focus) inside the virtual screen; DISPLAY is the inner one."""
    from Xlib import X

    with x11.x_server("Xephyr", "800x600", parent_display=x_display) as inner:
        human = x11.Person(x_display)
        try:
            root = human.connection.screen().root
            window = x11.wait_until(
                lambda: next((w for w in root.query_tree().children if w.get_geometry().width == 800), None), 10, "Xephyr's window"
            )
            x11.wait_until(lambda: window.get_attributes().map_state == X.IsViewable, 10, "Xephyr is mapped")
            window.configure(x=0, y=0)
            window.set_input_focus(X.RevertToParent, X.CurrentTime)
            human.move(400, 300)
            _on_display(monkeypatch, inner)
            yield NestedDisplay(x_display, inner, human)
        finally:
            human.close()
