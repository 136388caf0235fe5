"""The doctor's look at the desktop: Wayland, monitors left of the first one, and what no X server means."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from data.settings import Settings
from engine import doctor_desktop

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="X11 only")


@pytest.mark.x11
def test_an_x_server_inside_a_wayland_session_is_no_safe_ground(x_display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor_desktop.display().state == "ok"
    monkeypatch.setenv("XDG_SESSION_TYPE", "wayland")
    check = doctor_desktop.display()
    assert (check.state, check.name) == ("warn", "display")
    assert "in a Wayland session (XDG_SESSION_TYPE=wayland): the screen may be all black" in check.text
    assert "log in to an X11 session" in check.remedy


@pytest.mark.x11
def test_monitors_are_shown_with_their_signs(x_display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Grabber:
        monitors = ({}, {"width": 1920, "height": 1080, "left": 0, "top": 0}, {"width": 2560, "height": 1440, "left": -2560, "top": -200})

        def __enter__(self) -> Grabber:
            return self

        def __exit__(self, *_: object) -> None: ...

    mss: Any = ModuleType("mss")
    mss.MSS = Grabber
    monkeypatch.setitem(sys.modules, "mss", mss)
    assert doctor_desktop.capture().text == "mss, 2 monitors: 1920x1080+0+0, 2560x1440-2560-200"


@pytest.mark.x11
def test_hotkeys_say_how_to_test_them_and_an_old_server_is_named(x_display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check = doctor_desktop.hotkeys(Settings.model_validate({"keys": {"record": "f9"}}))
    assert check.text.startswith("F9, F6, F7, F8 from any focus, XInput 2.")
    assert check.text.endswith("`secondseat doctor --keys` tests them")
    xinput = sys.modules["Xlib.ext.xinput"]
    monkeypatch.setattr(xinput, "XIQueryVersion", lambda **_: SimpleNamespace(major_version=2, minor_version=0))
    check = doctor_desktop.hotkeys(Settings())
    assert (check.state, check.text) == ("warn", "XInput 2.0 misses events while a game grabs the keyboard")


def test_without_a_screen_each_part_says_so_and_points_to_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    looks = (doctor_desktop.display, doctor_desktop.capture, lambda: doctor_desktop.hotkeys(Settings()), doctor_desktop.injection)
    assert [look().state for look in looks] == ["missing", "missing", "warn", "missing"]
    assert all(look().remedy for look in looks)
