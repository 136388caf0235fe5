"""Last man standing on a real X screen under a window manager: a person's keys and mouse, and both ways to leave."""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.geometry import Rect
from league.arena.last_standing_board import flyers
from league.arena.last_standing_match import Matches
from league.arena.last_standing_rules import BURST
from league.arena.last_standing_view import SIZE, Painter
from league.arena.last_standing_window import TITLE, LastStandingWindow
from league.players import load_player
from tests.support import x11

# The window is one of this process. torch's optimisers, which other tests use, load Triton, and that ends the process when it comes
# after the OpenGL that SDL brings in.
with contextlib.suppress(ImportError):
    importlib.import_module("triton")

pytestmark = [pytest.mark.x11, pytest.mark.usefixtures("window_manager"), pytest.mark.timeout(120)]


def shown() -> Any:
    """The window, once it is on the screen."""
    from engine.platforms.x11 import X11Port

    port = X11Port()
    try:
        return next((w for w in port.windows() if w.title == TITLE and w.rect is not None), None)
    finally:
        port.close()


def captured(place: Rect) -> np.ndarray[Any, Any]:
    import mss

    with mss.MSS() as grabber:
        shot = grabber.grab({"left": place.left, "top": place.top, "width": place.width, "height": place.height})
        return np.array(shot)[:, :, 2::-1]


class Played:
    """A window in this thread; what a person does, in another."""

    def __init__(self, window: LastStandingWindow, person: x11.Person) -> None:
        self.window, self.person = window, person
        self.trouble: BaseException | None = None
        self.picture: np.ndarray[Any, Any] | None = None

    @property
    def state(self) -> Any:
        return self.window.matches.state

    def hold(self, name: str, until: Callable[[], Any], what: str) -> None:
        """Keep a key down until something has come of it."""
        from Xlib import XK

        code = self.person.connection.keysym_to_keycode(XK.string_to_keysym(name))
        self.person.key(code, True)
        try:
            x11.wait_until(until, 20, what)
        finally:
            self.person.key(code, False)

    def run(self, acts: Callable[[Played, Rect], None]) -> None:
        """Until the person has left; what went wrong in their thread is raised here."""

        def live() -> None:
            try:
                window = x11.wait_until(shown, 20, "the window")
                acts(self, window.rect)
            except BaseException as error:
                self.trouble = error
                self.window.closing.set()

        hand = threading.Thread(target=live)
        hand.start()
        try:
            self.window.run()
        finally:
            hand.join(60)
        if self.trouble is not None:
            raise self.trouble


def fly(played: Played, place: Rect) -> None:
    """Flies up and to the right, aims, fires, bursts, then leaves by Escape."""
    person, state = played.person, played.state
    person.move(place.left + place.width // 2, place.top + place.height // 2)
    x11.wait_until(lambda: int(state.tick[0]) > 20, 20, "the match to begin")
    start = state.ship_pos[0, 0].copy()
    rightwards = 1 if start[0] < SIZE[0] / 2 else -1
    played.hold("d" if rightwards > 0 else "a", lambda: (state.ship_pos[0, 0, 0] - start[0]) * rightwards > 25, "the ship to fly sideways")
    upwards = 1 if start[1] > SIZE[1] / 2 else -1
    played.hold("w" if upwards > 0 else "s", lambda: (start[1] - state.ship_pos[0, 0, 1]) * upwards > 25, "the ship to fly up or down")

    aim = (0.8, 0.2) if state.ship_pos[0, 0, 0] < SIZE[0] / 2 else (0.2, 0.8)
    person.move(place.left + round(aim[0] * place.width), place.top + round(aim[1] * place.height))
    person.button(1, True)
    x11.wait_until(lambda: state.shots_fired[0, 0] >= 2, 20, "two shots")
    offset = np.array([aim[0] * SIZE[0], aim[1] * SIZE[1]]) - state.ship_pos[0, 0]
    x11.wait_until(lambda: state.ship_gun[0, 0] @ (offset / np.hypot(*offset)) > 0.95, 20, "the gun to point at the mouse")
    played.picture = captured(place)
    person.button(1, False)
    played.hold("2", lambda: state.ship_ability[0, 0] == BURST or state.ship_cooldown_end[0, 0] > 0, "the burst")
    x11.wait_until(lambda: not played.window.matches.hand.held, 20, "everything to be let go")

    from Xlib import XK

    person.key(person.connection.keysym_to_keycode(XK.string_to_keysym("Escape")))
    x11.wait_until(played.window.closing.is_set, 20, "Escape to leave")


def test_a_person_flies_aims_fires_bursts_and_leaves(
    x_display: str, person: x11.Person, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")  # given back after the test
    monkeypatch.setenv("DISPLAY", x_display)
    names = ("person", "random", "novice")
    made = Matches(names, [None, load_player("random", 1, 4), load_player("novice", 1, 5)], 11)
    window = LastStandingWindow(made, 0, 1, driver="x11")
    played = Played(window, person)
    try:
        played.run(fly)
    finally:
        window.close()
    assert made.seed == 11, "the match was flown, not begun anew"
    assert played.picture is not None
    import cv2

    cv2.imwrite(str(tmp_path / "last_standing.png"), played.picture[:, :, ::-1])
    assert played.picture.shape == (360, 640, 3)
    # Of the same moment but for some steps: what is on the screen is what the painter draws.
    import pygame

    canvas = pygame.Surface(SIZE, 0, 32, (0xFF0000, 0xFF00, 0xFF, 0))
    Painter(flyers(names), 1).draw(canvas, made.state)
    drawn = pygame.surfarray.array3d(canvas).transpose(1, 0, 2).astype(int)
    assert np.abs(played.picture.astype(int) - drawn).mean() < 8


@pytest.mark.parametrize("how", ["Escape", "close button"])
def test_the_command_ends_when_its_window_is_left(how: str, x_display: str, person: x11.Person, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui.cli", "--workspace", str(tmp_path / "w"), "league", "watch", "person", "novice", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            window = x11.wait_until(shown, 60, "the command's window")
            time.sleep(0.3)  # until the window manager has given it the focus
            if how == "Escape":
                from Xlib import XK

                person.key(person.connection.keysym_to_keycode(XK.string_to_keysym("Escape")))
            else:
                _ask_to_close(x_display, window.id)
            said, errors = child.communicate(timeout=40)
        finally:
            if child.poll() is None:
                child.kill()
    assert (child.returncode, errors) == (0, "")
    assert json.loads(said)["matches"] == []


def _ask_to_close(display: str, window_id: int) -> None:
    """What a window manager sends when its close button is clicked."""
    from Xlib.display import Display
    from Xlib.protocol.event import ClientMessage

    connection = Display(display)
    window = connection.create_resource_object("window", window_id)
    data = (32, [connection.intern_atom("WM_DELETE_WINDOW"), 0, 0, 0, 0])
    window.send_event(ClientMessage(window=window, client_type=connection.intern_atom("WM_PROTOCOLS"), data=data))
    connection.sync()
    connection.close()
