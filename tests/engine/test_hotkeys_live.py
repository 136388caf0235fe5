"""Hotkeys and hands with the whole engine on a real screen: what the state says of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data.schema import Action, Observation
from data.settings import Settings
from data.workspace import Workspace
from engine.control_center import ControlCenter
from engine.platforms.x11_listen import X11EventReader
from tests.support.x11 import Person, TargetWindow, wait_until, x_server

pytestmark = pytest.mark.x11
CTRL, F7, F9 = 37, 73, 75


def started(folder: Path, **tables: Any) -> ControlCenter:
    center = ControlCenter(Settings.model_validate(tables), Workspace(folder / "ws"))
    center.start()
    assert center.wait_ready()
    return center


@pytest.fixture
def center(x_display: str, tmp_path: Path) -> Iterator[ControlCenter]:
    center = started(tmp_path)
    yield center
    assert center.stop(30.0) == []


def test_the_state_names_the_last_hotkey_and_says_when_the_screen_takes_them_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with x_server() as display:
        monkeypatch.setenv("DISPLAY", display)
        center = started(tmp_path, keys={"discard": "f9"})  # a key of the person's own choice
        person = Person(display)
        assert (center.snapshot().system.hotkeys, center.snapshot().system.last_hotkey) == ("x11", "")
        person.key(CTRL, True)
        person.key(F9)
        person.key(CTRL, False)
        person.key(F7)
        person.key(F9)
        wait_until(lambda: center.snapshot().system.last_hotkey.startswith("F9 "), 3)
        assert center.snapshot().system.last_hotkey.endswith("(x11)")
        person.close()
    wait_until(lambda: center.snapshot().system.hotkeys.startswith("dead: "), 5)
    assert any("global hotkeys are dead" in n.text for n in center.snapshot().notices)
    time.sleep(0.3)  # no longer the press of before
    center.command("key", pressed="f9").result(10)
    wait_until(lambda: center.snapshot().system.last_hotkey.endswith("(terminal)"), 3)
    assert center.stop(30.0) == []


def test_a_listener_that_ends_on_an_error_is_told_and_started_again(
    center: ControlCenter, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_reader: X11EventReader) -> None:
        raise RuntimeError("_ThreadHandle is not callable")

    with monkeypatch.context() as patch:
        patch.setattr(X11EventReader, "read", fail)
        person.key(F7)
        wait_until(lambda: center.snapshot().system.hotkeys.startswith("dead: listening failed (RuntimeError: _ThreadHandle"), 5)
    wait_until(lambda: center.snapshot().system.hotkeys == "x11", 6)
    person.key(F7)
    wait_until(lambda: center.snapshot().system.last_hotkey.startswith("F7 "), 3)


class PressesSpace:
    def reset(self) -> None: ...

    def act(self, observation: Observation) -> Any:
        del observation
        return SimpleNamespace(action=Action(0.5, 0.5, ("space",)), mode="FIGHT", target_id=-1)


@pytest.mark.parametrize("corner", [(640, 360), (0, 0)])
def test_a_game_that_shows_nothing_of_the_bots_keys_is_told_of(
    center: ControlCenter, window_manager: None, target_window: Callable[..., TargetWindow], person: Person, corner: tuple[int, int]
) -> None:
    """Also with the pointer in the screen's corner at the start, which is no alarm."""
    person.move(*corner)
    game = target_window("Still game")
    game.focus()
    center.command("source", kind="screen", window="Still game").result(30)
    rig = center.rig
    assert rig is not None
    center.bot.arm(PressesSpace(), "presses", rig.hands(dry_run=False))
    rig.set_pilot(center.bot)
    game.focus()
    center.bot.fly()
    wait_until(lambda: center.snapshot().bot.actions > 20, 10, "the bot acts")
    assert center.snapshot().bot.hint == ""
    hint = wait_until(lambda: center.snapshot().bot.hint, 12)
    assert "has not changed for 5 s while the bot acts" in hint
    assert center.snapshot().bot.phase == "flying"
    assert [n.level for n in center.snapshot().notices if "has not changed" in n.text] == ["warning"]
    assert not [n for n in center.snapshot().notices if "yield" in n.text or "stopped" in n.text]
    assert len(game.events("key_press")) > 10, "the keys did arrive"
    center.command("disarm").result(10)
