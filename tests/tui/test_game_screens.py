"""Add a game, in the face: every screen and its empty states at both sizes, and the whole way to a saved profile."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until
from test_pictures import compare
from textual import events
from textual.pilot import Pilot

from data.geometry import Rect
from data.profile import GameProfile, Gauge, Region
from data.schema import Frame, Image
from data.settings import Settings, SettingsError
from data.settings_io import load_settings
from engine.game_builder import Draft
from engine.game_builder_rehearsal import Rehearsed
from engine.perception.gauges import GaugeReader
from engine.platforms.port import PlatformError, WindowInfo
from tests.support.bars import Bar
from tui.app import SecondseatApp
from tui.screens.game_flow import GameFlow, Ground, World
from tui.screens.game_gauges import GaugesScreen
from tui.screens.game_picture import PicturePane
from tui.screens.game_screen import GameScreen
from tui.screens.game_window import WindowScreen

SIZES = [(120, 36), (80, 24)]
BAR = Bar((20, 12, 100, 6), "right", (70, 210, 90), (40, 44, 60))
WINDOWS = [
    WindowInfo(3, "My Game – level 1", Rect(100, 80, 320, 180)),
    WindowInfo(4, "Mail", Rect(0, 0, 800, 600)),
    WindowInfo(5, "Old Game", None, visible=False),
]


@dataclass
class FakeEye:
    image: Image | None
    state: str = ""
    running: int = 0

    @property
    def frame(self) -> Frame | None:
        return None if self.image is None else Frame(0, 0, self.image)

    def start(self) -> None:
        self.running += 1

    def stop(self) -> None:
        self.running -= 1


@dataclass
class FakeWatch:
    presses: list[tuple[str, int]] = field(default_factory=lambda: [("w", 34), ("space", 12), ("tab", 1)])
    focused: bool = True
    failure: str = ""
    clicks: int = 8
    refusal: str = ""

    def start(self) -> None:
        if self.refusal:
            raise PlatformError(self.refusal)

    def stop(self) -> None: ...

    def focus(self) -> bool:
        return self.focused

    def counts(self) -> list[tuple[str, int]]:
        return self.presses


class FakeRehearsal:
    def __init__(self, profile: GameProfile, image: Image) -> None:
        self._profile, self._image = profile, image

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def look(self) -> Rehearsed:
        status = GaugeReader(self._profile).read(self._image)
        clicks = (("mouse_left", 0.25, 0.5),)
        return Rehearsed((320, 180), 30.0, True, {"w": 3, "other": 1}, ("w",), 1, clicks, (0.5, 0.5), status)


class Machine:
    """The machine as the screens see it; what it shows can be changed."""

    def __init__(self) -> None:
        self.windows: list[WindowInfo] | str = WINDOWS
        self.image: Image | None = BAR.draw(0.6)
        self.watch = FakeWatch()
        self.eyes: list[FakeEye] = []

    def world(self) -> World:
        return World(self._windows, self._eye, lambda _id, _keys: self.watch, self._rehearsal)

    def _windows(self) -> list[WindowInfo]:
        if isinstance(self.windows, str):
            raise PlatformError(self.windows)
        return self.windows

    def _eye(self, title: str, part: Region) -> FakeEye:
        self.eyes.append(FakeEye(self.image, "" if self.image is not None else f"window {title!r} is minimised; open it to go on"))
        return self.eyes[-1]

    def _rehearsal(self, profile: GameProfile, fps: float, keys: frozenset[str]) -> FakeRehearsal:
        assert self.image is not None
        return FakeRehearsal(profile, self.image)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SECONDSEAT_") and "SNAPSHOTS" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(app: SecondseatApp, machine: Machine, path: Path | None = None, settings: Settings | None = None) -> GameFlow:
    flow = GameFlow(app, Ground(settings or Settings(), path), machine.world())
    flow.begin()
    return flow


async def at(app: SecondseatApp, pilot: Pilot[int], text: str) -> None:
    await until(lambda: text in screen_text(app))
    await pilot.pause()


async def mark_the_bar(app: SecondseatApp, pilot: Pilot[int]) -> None:
    """With the keyboard alone: zoom in, one corner, the other corner."""
    view = app.screen.query_one(PicturePane).view
    view.point(16, 9)
    await pilot.press("plus", "plus", "plus", "space")
    view.point(123, 21)
    await pilot.press("space")
    await pilot.pause()


def without_seconds(text: str) -> str:
    """The countdown stands still in what is kept."""
    return re.sub(r"\d+ s left", "N s left", text)


@pytest.mark.parametrize("size", SIZES)
async def test_every_screen_on_the_way_and_what_is_saved(size: tuple[int, int], here: Path) -> None:
    machine, kept = Machine(), f"{size[0]}x{size[1]}"
    async with face(FakeCenter(idle_state()), size=size) as (app, pilot, center):
        path = here / "config.toml"
        path.write_text("# mine\n[capture]\nfps = 25\n", encoding="utf-8")
        flow = begin(app, machine, path)
        await at(app, pilot, "My Game")
        compare(f"game_window_{kept}", screen_text(app))
        await pilot.press(*"game", "enter")
        await at(app, pilot, "The whole inside")
        compare(f"game_part_{kept}", screen_text(app))
        await pilot.press("enter")
        await at(app, pilot, "34")
        await pilot.press("down", "down", "space")
        await at(app, pilot, "dropped")
        text = screen_text(app)
        assert "s left, counting in" in text
        compare(f"game_keys_{kept}", without_seconds(text))
        await pilot.press("enter")
        await at(app, pilot, "none yet")
        await mark_the_bar(app, pilot)
        await at(app, pilot, "46d25a")
        compare(f"game_gauge_{kept}", screen_text(app))
        await pilot.press("enter", "enter")
        await at(app, pilot, "hp is kept")
        await pilot.press("enter")
        await at(app, pilot, "What would be recorded")
        compare(f"game_summary_{kept}", without_seconds(screen_text(app)))
        await pilot.press("s")
        await at(app, pilot, "save, and watch this game")
        assert path.read_text(encoding="utf-8") == "# mine\n[capture]\nfps = 25\n", "nothing is written before the last answer"
        await pilot.press("y")
        await until(lambda: any(name == "game" for name, _ in center.commands))
    settings, notices = load_settings(path)
    profile = settings.profile()
    assert (profile.name, profile.window_title, profile.picture_size, profile.keys) == (
        "my-game-level-1",
        "My Game – level 1",
        (320, 180),
        ("w", "space"),
    )
    assert profile.gauges == (Gauge(name="hp", region=(0.0625, 0.066667, 0.375, 0.1), colour=(70, 210, 90)),)
    assert (settings.capture.fps, settings.capture.source, notices) == (25, "screen", ())
    assert dict(center.commands)["game"]["profile"] == profile.model_dump(mode="json")
    assert flow.draft.profile() == profile
    assert [eye.running for eye in machine.eyes] == [0, 0], "nothing looks on after its screen"


async def test_going_back_keeps_the_answers_and_leaving_writes_nothing(here: Path) -> None:
    machine = Machine()
    async with face(FakeCenter(idle_state())) as (app, pilot, center):
        begin(app, machine)
        await at(app, pilot, "My Game")
        await pilot.press("enter")
        await at(app, pilot, "The whole inside")
        view = app.screen.query_one(PicturePane).view
        view.point(0, 20)
        await pilot.press("space")
        view.point(319, 179)
        await pilot.press("space", "enter")
        await at(app, pilot, "34")
        await pilot.press("enter")
        await at(app, pilot, "none yet")
        await pilot.press("escape")
        await at(app, pilot, "the keys of the profile as it is")
        assert "[x] tab" in screen_text(app)
        await pilot.press("escape")
        await at(app, pilot, "at      0,20")
        await pilot.press("escape")
        await at(app, pilot, "type to filter")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, GameScreen))
        assert "nothing was written" in screen_text(app)
        assert center.commands == []
    assert [p.name for p in here.rglob("config.toml")] == []


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        ([], "Start the game: this list looks again by itself."),
        ("no display: DISPLAY is not set; run inside a desktop session", "What to do: run inside a desktop session."),
    ],
)
async def test_without_a_window_or_a_screen_it_says_what_to_do(windows: Any, words: str) -> None:
    machine = Machine()
    machine.windows = windows
    async with face(FakeCenter(idle_state()), size=(80, 24)) as (app, pilot, _):
        begin(app, machine)
        await at(app, pilot, words)
        compare(f"game_no_{'window' if isinstance(windows, list) else 'screen'}_80x24", screen_text(app))
        await pilot.press("enter")
        assert isinstance(app.screen, WindowScreen), "there is nothing to go on with"
        machine.windows = WINDOWS
        await at(app, pilot, "My Game")


async def test_a_window_that_is_away_is_told_in_each_picture(here: Path) -> None:
    machine = Machine()
    machine.image = None
    async with face(FakeCenter(idle_state()), size=(80, 24)) as (app, pilot, _):
        begin(app, machine)
        await at(app, pilot, "Old Game")
        await pilot.press(*"old", "enter")
        await at(app, pilot, "is not on the screen now")
        await pilot.press(*("backspace",) * 3, "up", "up", "enter")
        await at(app, pilot, "is minimised; open")
        await pilot.press("enter", "w", "n", "plus", "space")
        machine.eyes[-1].image = BAR.draw(0.6)
        await at(app, pilot, "The whole inside")


async def test_keys_that_cannot_be_heard_can_be_typed() -> None:
    machine = Machine()
    machine.watch = FakeWatch(refusal="this X server has no XInput extension")
    async with face(FakeCenter(idle_state()), size=(80, 24)) as (app, pilot, _):
        flow = begin(app, machine)
        await at(app, pilot, "My Game")
        await pilot.press("enter")
        await at(app, pilot, "The whole inside")
        await pilot.press("enter")
        await at(app, pilot, "has no XInput extension")
        assert "Only the names of keys are kept" in screen_text(app)
        await pilot.press("a", *"w f5", "enter")
        await at(app, pilot, "f5 steer Secondseat")
        await pilot.press("a", *"w a", "enter")
        await at(app, pilot, "[x] a")
        await pilot.press("enter")
        await at(app, pilot, "none yet")
        assert flow.draft.keys == ("w", "a")


async def gauges_screen(app: SecondseatApp, pilot: Pilot[int], eye: FakeEye, draft: Draft | None = None) -> GaugesScreen:
    screen = GaugesScreen(draft or Draft(title="My Game"), lambda part: eye)
    await app.push_screen(screen)
    await until(lambda: screen.picture.image is not None)
    await pilot.pause()
    return screen


async def test_a_mark_with_the_mouse_and_a_second_picture() -> None:
    eye = FakeEye(BAR.draw(1.0))
    async with face(FakeCenter(idle_state())) as (app, pilot, _):
        screen = await gauges_screen(app, pilot, eye)
        pane = screen.picture
        first, last = pane.view.px_to_cell(14, 7), pane.view.px_to_cell(126, 24)
        await pilot.mouse_down(pane, offset=first)
        await pilot.hover(pane, offset=(first[0] + 5, first[1] + 1))
        await pilot.mouse_up(pane, offset=last)
        await pilot.pause()
        assert screen.marking.mark is not None
        assert screen.marking.fit is not None
        assert "is a guess" in screen.marking.said
        eye.image = BAR.draw(0.3)
        await pilot.press("2")
        fit = screen.marking.fit
        assert fit is not None
        assert (fit.gauge.direction, fit.value, fit.less_value, fit.remark) == ("right", 1.0, 0.3, "")
        await until(lambda: "hp         0.30" in screen_text(app))
        await pilot._post_mouse_events([events.MouseScrollUp], pane, offset=first)
        await until(lambda: pane.view.scale == 1.0)
        await pilot.press("d")
        assert "cannot be read as a bar" in screen.marking.said, "the second picture contradicts that direction"
        await pilot.press("k", "c")
        assert screen.marking.fit is not None
        assert (screen.marking.fit.gauge.kind, screen.marking.fit.gauge.direction) == ("cooldown", "right")


async def test_what_is_no_bar_is_told_and_gauges_can_be_marked_anew_or_dropped() -> None:
    draft = Draft(title="My Game", gauges=(Gauge(name="hp", region=(0.0625, 0.066667, 0.375, 0.1), colour=(70, 210, 90)),))
    async with face(FakeCenter(idle_state())) as (app, pilot, _):
        screen = await gauges_screen(app, pilot, FakeEye(BAR.draw(0.6)), draft)
        view = screen.picture.view
        view.point(200, 100)
        await pilot.press("space")
        view.point(260, 120)
        await pilot.press("space")
        await at(app, pilot, "nothing stands out in the mark")
        await pilot.press("escape", "tab")
        await at(app, pilot, "hp: mark it anew")
        await mark_the_bar(app, pilot)
        await pilot.press("enter")
        await pilot.press(*("backspace",) * 2, *"life", "enter")
        await at(app, pilot, "life is kept")
        assert [gauge.name for gauge in draft.gauges] == ["life"]
        await pilot.press("tab", "x")
        assert draft.gauges == ()


def test_the_ground_of_a_damaged_file_is_refused(here: Path) -> None:
    (here / "config.toml").write_text("[capture\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="is not TOML"):
        Ground.find("")
    (here / "config.toml").write_text("[capture]\nfps = 25\n", encoding="utf-8")
    assert Ground.find("").path == here / "config.toml"
