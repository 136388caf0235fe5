"""Watching a game's window on a real screen: keys that count, what would be recorded, and a new game taken up at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from data.profile import GameProfile, Icon
from data.settings import Settings
from data.workspace import Workspace
from engine.control_center import ControlCenter
from engine.game_builder_check import check, look, unknown_keys
from engine.game_builder_keys import KeyWatch
from engine.game_builder_rehearsal import Rehearsal
from engine.game_builder_window import WindowEye, find_window, open_windows
from engine.platforms.port import PlatformError
from tests.support.x11 import Person, TargetWindow, wait_until

pytestmark = pytest.mark.x11

W, Q, P, F5, CTRL_RIGHT = 25, 24, 33, 71, 105
MINE = GameProfile(
    name="mine",
    window_title="Mine",
    window_part=(0.0, 0.25, 1.0, 1.0),
    picture_size=(400, 225),
    keys=("w", "ctrl"),
    icons=(Icon(name="red", region=(0.1, 0.1, 0.9, 0.9), colour=(0xC8, 0x1E, 0x1E)),),
)


def test_keys_count_only_in_the_window_and_the_steering_ones_never(target_window: Callable[..., TargetWindow], person: Person) -> None:
    mine, other = target_window("Mine"), target_window("Mail", x=600)
    assert {w.title for w in open_windows()} == {"Mine", "Mail"}
    watch = KeyWatch(find_window("mine").id, {"q"})
    watch.start()
    try:
        mine.focus()
        for code in (W, CTRL_RIGHT, F5, Q, W):
            person.key(code)
        wait_until(lambda: watch.counts() == [("w", 2), ("ctrl", 1)], 10, "two keys are counted")
        other.focus()
        assert not watch.focus()
        person.key(P)
        time.sleep(0.1)  # whose key it is is asked when it is heard
        mine.focus()
        person.key(W)
        wait_until(lambda: dict(watch.counts())["w"] == 3, 10, "the third w")
    finally:
        watch.stop()
    assert "p" not in dict(watch.counts())


def test_the_rehearsal_shows_what_would_be_recorded_and_writes_nothing(
    target_window: Callable[..., TargetWindow], person: Person, tmp_path: Path
) -> None:
    mine = target_window("Mine", width=400, height=300)
    mine.focus()
    left, top = mine.origin()
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with Rehearsal(MINE, 30.0) as rehearsal:
        person.move(left + 200, top + 75 + 112)
        for code in (W, P, CTRL_RIGHT):
            person.key(code)
        person.button(1)
        person.key(W, True)
        wait_until(lambda: "w" in rehearsal.look().held and rehearsal.look().click_count, 10, "the keys and the click")
        seen = rehearsal.look()
        person.key(W, False)
        assert (seen.size, seen.focus, seen.trouble) == ((400, 225), True, "")
        assert dict(seen.keys) == {"w": 2, "other": 1, "ctrl": 1}
        ((button, x, y),) = seen.clicks
        assert (button, x, y) == ("mouse_left", pytest.approx(0.5, abs=0.01), pytest.approx(0.5, abs=0.01))
        assert seen.status.flags == {"red": True}
        wait_until(lambda: rehearsal.look().fps > 15, 10, "pictures come")
        mine.hide()
        wait_until(lambda: "hidden" in rehearsal.look().trouble, 10, "it says that the window is hidden")
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


def test_the_check_looks_at_the_real_window(target_window: Callable[..., TargetWindow], tmp_path: Path) -> None:
    target_window("Mine", width=400, height=300)
    states = {f.name: f.state for f in check(MINE, set(), look(MINE, tmp_path))}
    assert states == {"window": "ok", "size": "ok", "keys": "ok", "red": "ok", "detector": "ok"}
    assert unknown_keys(MINE.model_copy(update={"keys": ("w", "key9000")})) == ("key9000",)
    broken = MINE.model_copy(update={"detector": "models/nowhere.onnx", "window_title": "Yours"})
    found = {f.name: f for f in check(broken, set(), look(broken, tmp_path))}
    assert (found["window"].state, found["detector"].state) == ("wrong", "wrong")
    assert "window 'Yours' not found, 1 candidate: 'Mine'" in found["window"].text
    with pytest.raises(PlatformError, match="not found"), WindowEye("Yours") as eye:
        eye.wait(0.5)


def test_the_engine_takes_up_a_game_that_was_just_described(target_window: Callable[..., TargetWindow], tmp_path: Path) -> None:
    target_window("Mine", width=400, height=300)
    center = ControlCenter(Settings(), Workspace(tmp_path / "workspace"))
    center.start()
    try:
        assert center.wait_ready()
        said = center.command("game", profile=MINE.model_dump(mode="json")).result(60)
        assert said == "watching the window 'Mine'"
        assert center.settings.profile() == MINE
        wait_until(lambda: (center.snapshot().capture.width_px, center.snapshot().capture.height_px) == (400, 225), 20, "its part is seen")
    finally:
        assert center.stop() == []
