"""One place, whatever the screen: monitors left of the first one, scaled ones, and windows of other sizes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.geometry import Rect
from data.metadata import Source
from data.profile import GameProfile
from data.schema import Action, Frame, InputEvent
from data.session import SessionWriter, open_session
from data.settings import Settings
from data.settings_io import load_settings, save_settings
from engine.actuator.client import Actuator
from engine.bot import Bot
from engine.hands import ActuatorHands
from engine.headless import state_line
from engine.input.listener import InputListener
from engine.platforms.port import WindowInfo
from engine.source_spec import SourceSpec, region_from_text
from engine.state import EngineState
from tests.engine.test_bot import Clock, FakeDecision, FakePolicy, seen
from tests.support.win32 import FakeWin32
from tests.support.x11 import wait_until

PROFILE = GameProfile(name="probe", keys=("w",))
REGION = {"left": -1920, "top": -200, "width": 640, "height": 360}


def test_a_region_left_of_and_above_the_first_monitor_keeps_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[capture]\nsource = "screen"\n', encoding="utf-8")
    save_settings(path, {"capture.region": REGION})
    settings, _ = load_settings(path, environ={})
    assert settings.capture.region is not None
    assert settings.capture.region.model_dump() == REGION
    spec = SourceSpec.from_settings(settings)
    assert spec.region == Rect(-1920, -200, 640, 360) == region_from_text("-1920,-200,640,360")
    assert spec.describe() == "the region -1920,-200,640,360"


def recorded_click(workspace: Path, scale: float, rect: Rect, place: tuple[int, int]) -> tuple[Any, list[InputEvent]]:
    """A session of one click in a window on a Windows desktop of this scale; what it says when it is read again."""
    from engine.platforms.windows import WindowsPort
    from engine.platforms.windows_api import Api

    desk = FakeWin32()
    desk.monitors = (Rect(-3840, -2160, 3840, 2160), Rect(0, 0, 3840, 2160))
    window = desk.open("Game", rect, dpi=round(96 * scale))
    desk.focus(window)
    port = WindowsPort(Api(desk.calls()))
    events: list[InputEvent] = []
    listener = InputListener(PROFILE, events.append, make_port=lambda: port)
    listener.start(window.handle)
    desk.move(*place)
    desk.button(1, True)
    desk.button(1, False)
    wait_until(lambda: any(e.kind == "release" for e in events), 3)
    listener.stop()
    size = (rect.width, rect.height)
    source = Source(kind="screen", description="window 'Game'")
    writer = SessionWriter.create(workspace, "play", PROFILE, source, 30.0, size, scale=port.scale())
    for number in range(2):
        image = np.zeros((rect.height, rect.width, 3), np.uint8)
        writer.write_frame(Frame(number, writer.metadata.clock.monotonic_ns + number * 33_000_000, image, port.client_rect(window.handle)))
    for event in events:
        writer.write_event(event)
    writer.close("saved")
    with open_session(writer.folder) as session:
        return session.metadata, [e for e in session.events() if e.kind == "press"]


@pytest.mark.parametrize(
    ("scale", "rect", "place"),
    [
        (1.0, Rect(0, 0, 1280, 720), (640, 360)),
        (2.0, Rect(0, 0, 2560, 1440), (1280, 720)),
        (2.0, Rect(-3840, -2160, 2560, 1440), (-2560, -1440)),
    ],
)
def test_the_same_click_is_the_same_point_at_every_scale_and_origin(
    tmp_path: Path, scale: float, rect: Rect, place: tuple[int, int]
) -> None:
    metadata, presses = recorded_click(tmp_path, scale, rect, place)
    assert [(e.name, e.x, e.y) for e in presses] == [("mouse_left", 0.5, 0.5)]
    assert (metadata.scale, metadata.width_px, metadata.height_px) == (scale, rect.width, rect.height)
    assert [(v.left_px, v.top_px, v.width_px, v.scale) for v in metadata.views] == [(rect.left, rect.top, rect.width, scale)]


def test_a_dry_run_tells_the_pixel_of_the_window_that_is_there() -> None:
    actuator = Actuator(backend="null")
    window = WindowInfo(1, "Game", Rect(0, 0, 1920, 1080))
    clock = Clock(0)
    policy = FakePolicy(clock)
    policy.decision = FakeDecision(Action(0.5, 0.5, ("w",)))
    bot = Bot(20.0, clock)
    try:
        bot.arm(policy, "mine", ActuatorHands(actuator, lambda: window, PROFILE, dry_run=True), dry_run=True)
        clock.now_ns = time.monotonic_ns()
        bot.fly()
        bot.on_observation(seen(clock))
        wait_until(lambda: bot.state().place is not None, 3)
        assert bot.state().place == (960, 540)
        assert "would go to 960, 540 px" in state_line(EngineState(bot=bot.state()))
    finally:
        bot.disarm()
        actuator.stop()


def test_a_place_that_is_named_replaces_the_one_before() -> None:
    spec = SourceSpec("screen", window="My Game")
    region = spec.changed(region="-1920,-200,640,360")
    assert (region.window, region.monitor, region.region) == ("", 0, Rect(-1920, -200, 640, 360))
    assert region.changed(monitor=2).region is None
    assert region.changed(window="My Game") == spec
    assert region.changed(fps=50).region == region.region


def test_the_screen_without_a_place_is_the_one_that_the_settings_name() -> None:
    named = SourceSpec("screen", window="Elsewhere")
    own = Settings.model_validate({"capture": {"source": "screen", "window": "My Game"}})
    assert named.chosen(own, kind="screen").window == "My Game"
    assert named.chosen(own, kind="screen", monitor=2).monitor == 2
    assert named.chosen(own, fps=50).window == "Elsewhere"
    back = named.chosen(Settings(), kind="screen")
    assert (back.window, back.monitor, back.region) == ("", 1, None)
    region = Settings.model_validate({"capture": {"source": "screen", "region": REGION}})
    assert named.chosen(region, kind="screen").region == Rect(-1920, -200, 640, 360)
