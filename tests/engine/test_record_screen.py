"""A whole recording of a real window: hotkeys from its focus, keys held before, windows that move, hide and close."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.catalog import list_sessions
from data.session import open_session
from data.settings import Settings
from data.verify import verify
from data.workspace import Workspace
from engine.control_center import ControlCenter
from tests.support.x11 import Person, TargetWindow, wait_until

pytestmark = [pytest.mark.x11, pytest.mark.timeout(60)]
W, F5, F6 = 25, 71, 72
RED = (0xC8, 0x1E, 0x1E)


def settings(**tables: dict[str, Any]) -> Settings:
    game: dict[str, Any] = {"name": "probe", "window_title": "Game", "picture_size": [320, 180], "keys": ["w", "q", "space"]}
    game["classes"] = [{"name": "foe", "role": "enemy"}]
    capture = {"source": "screen", "window": "Game", **tables.pop("capture", {})}
    return Settings.model_validate({"game": "probe", "games": {"probe": game}, "capture": capture, **tables})


MakeCenter = Callable[..., ControlCenter]


@pytest.fixture
def center(x_display: str, tmp_path: Path) -> Iterator[MakeCenter]:
    running: list[ControlCenter] = []

    def make(**tables: dict[str, Any]) -> ControlCenter:
        engine = ControlCenter(settings(**tables), Workspace(tmp_path / "Spiel – Ünï ほし" / "run 1"))
        engine.start()
        running.append(engine)
        assert engine.wait_ready()
        assert engine.snapshot().system.hotkeys.startswith("x11")
        return engine

    yield make
    for engine in running:
        assert engine.stop(20.0) == []


def do(center: ControlCenter, name: str, **params: Any) -> str:
    return center.command(name, **params).result(40)


def phase(center: ControlCenter) -> str:
    return center.recorder.state().phase


def newest(center: ControlCenter) -> Any:
    return open_session(center.workspace.sessions / center.recorder.state().last_session)


@pytest.fixture
def target(window_manager: None, target_window: Callable[..., TargetWindow]) -> TargetWindow:
    window = target_window("Game", x=200, y=150, width=320, height=180)
    window.focus()
    return window


def test_control_keys_from_the_games_focus_are_no_play_and_what_was_down_is_marked(
    center: MakeCenter, target: TargetWindow, person: Person
) -> None:
    engine = center()
    do(engine, "source")
    person.move(*(place + 50 for place in target.origin()))
    person.key(W, True)
    person.key(F5)
    wait_until(lambda: phase(engine) == "recording", 5)
    time.sleep(1.2)  # longer than the server's repeat delay
    person.key(W, False)
    person.button(4)
    person.button(5)
    for _ in range(3):
        person.key(W)
        time.sleep(0.05)
    person.key(F6)
    wait_until(lambda: phase(engine) == "idle", 5)
    with newest(engine) as session:
        events = [(e.kind, e.name, e.note, e.dy) for e in session.events() if e.kind != "move"]
        assert events == [
            ("press", "w", "held_at_start", 0),
            ("release", "w", "", 0),
            ("scroll", "", "", 1),
            ("scroll", "", "", -1),
            *[("press", "w", "", 0), ("release", "w", "", 0)] * 3,
        ]
        assert session.metadata.counts.frames > 20
        assert {frame.image.shape for frame in session.frames()} == {(180, 320, 3)}
        assert len(session.steps()) > 5
    assert [f for f in verify(session.folder) if f.severity == "error"] == []


def test_the_toggle_has_one_meaning_although_the_game_has_lost_the_focus(
    center: MakeCenter, target: TargetWindow, target_window: Callable[..., TargetWindow], person: Person
) -> None:
    engine = center(keys={"record": "f9"})
    f9 = 75
    do(engine, "source")
    person.key(f9)
    wait_until(lambda: phase(engine) == "recording" and engine.recorder.state().frames > 5, 5)
    person.key(W, True)
    wait_until(lambda: engine.recorder.state().events > 0, 2)
    elsewhere = target_window("Elsewhere", x=700, y=400)
    elsewhere.focus()
    wait_until(lambda: phase(engine) == "paused", 1)
    person.key(W, False)  # the game never sees it
    person.key(f9)
    wait_until(lambda: phase(engine) == "unsaved", 2)
    target.focus()
    time.sleep(0.4)
    assert phase(engine) == "unsaved"
    person.key(F6)
    wait_until(lambda: phase(engine) == "idle", 2)
    with newest(engine) as session:
        assert [(e.name, e.note) for e in session.events() if e.kind in ("press", "release")] == [("w", ""), ("w", "forced_release")]
        assert session.metadata.gaps[0].reason == "the window is not in focus"
    kinds = [notice.text for notice in engine.snapshot().notices]
    assert any("recording paused: the window is not in focus" in text for text in kinds)


def test_a_window_that_dies_with_a_key_down_is_a_whole_session_and_keys_go_on(
    center: MakeCenter, target: TargetWindow, person: Person
) -> None:
    engine = center()
    do(engine, "record_toggle")
    wait_until(lambda: engine.recorder.state().frames > 3, 5)
    person.key(W, True)
    wait_until(lambda: engine.recorder.state().events > 0 and engine.recorder.state().frames > 10, 5)
    target.kill()
    wait_until(lambda: phase(engine) == "idle", 4)
    person.key(W, False)
    with newest(engine) as session:
        assert session.metadata.state == "saved"
        assert "window closed" in session.metadata.notes
        assert [(e.kind, e.name, e.note) for e in session.events() if e.name] == [("press", "w", ""), ("release", "w", "forced_release")]
    assert "the window was closed: saved" in engine.recorder.state().note
    rig = engine.rig
    assert rig is not None
    person.key(F6)
    wait_until(lambda: "nothing to save" in engine.recorder.state().note, 2)


def test_a_hidden_window_pauses_and_its_place_stays_and_a_moved_one_is_followed(center: MakeCenter, target: TargetWindow) -> None:
    engine = center()
    do(engine, "record_toggle")
    wait_until(lambda: engine.recorder.state().frames > 10, 5)
    target.hide()
    wait_until(lambda: phase(engine) == "paused", 1)
    assert "hidden" in engine.recorder.state().note
    hidden_ns, frames = time.monotonic_ns(), engine.recorder.state().frames
    time.sleep(1.5)
    assert engine.recorder.state().frames <= frames + 1
    shown_ns = time.monotonic_ns()
    target.show()
    target.focus()
    wait_until(lambda: phase(engine) == "recording", 2)
    place = target.origin()
    wait_until(lambda: engine.recorder.state().frames > frames + 10, 5)
    target.move(500, 300)
    time.sleep(0.5)
    target.move(400, 200, 400, 240)
    time.sleep(0.5)
    do(engine, "record_save")
    with newest(engine) as session:
        times = session.frame_times_ns()
        assert not ((times > hidden_ns) & (times < shown_ns)).any()
        assert any("hidden" in gap.reason for gap in session.metadata.gaps)
        views = [(v.left_px, v.top_px, v.width_px, v.height_px) for v in session.metadata.views]
        assert place in [v[:2] for v in views]
        assert (-32000, -32000) not in [v[:2] for v in views]
        assert views[-1][2:] == (400, 240)
        assert len({v.time_ns for v in session.metadata.views}) == len(views) >= 3
        for number in range(0, len(times), 5):
            image = session.frame_at(int(times[number])).image
            assert np.abs(image.astype(int) - RED).mean() < 12, "not what lies behind the window"


def test_the_desktops_scale_and_the_windows_place_are_in_the_header(
    center: MakeCenter, target: TargetWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.platforms.x11.X11Port.scale", lambda _port: 1.5)
    engine = center()
    do(engine, "record_toggle")
    wait_until(lambda: engine.recorder.state().frames > 3, 5)
    do(engine, "record_save")
    with newest(engine) as session:
        (view,) = session.metadata.views
        assert (view.scale, session.metadata.scale) == (1.5, 1.5)
        assert (view.left_px, view.top_px, view.width_px, view.height_px) == (*target.origin(), 320, 180)


def test_nothing_captured_says_why_and_leaves_nothing(center: MakeCenter, target: TargetWindow) -> None:
    target.hide()
    engine = center()
    do(engine, "record_toggle")
    assert phase(engine) == "paused"
    said = do(engine, "record_save")
    assert said.startswith("nothing was captured, because window 'Game' is hidden")
    assert list_sessions(engine.workspace.root) == []
    assert [p.name for p in engine.workspace.sessions.iterdir() if p.is_dir()] == []


@pytest.mark.parametrize("before", [True, False], ids=["noticed before F5", "noticed while recording"])
def test_black_pictures_are_told_within_five_seconds_and_in_the_header(center: MakeCenter, x_display: str, before: bool) -> None:
    engine = center(capture={"window": "", "region": {"left": 0, "top": 0, "width": 64, "height": 64}})
    began_s = time.monotonic()
    do(engine, "source")
    if not before:
        do(engine, "record_toggle")
    wait_until(lambda: engine.snapshot().capture.notice, 6)
    assert time.monotonic() - began_s < 6
    if before:
        do(engine, "record_toggle")
        wait_until(lambda: engine.recorder.state().frames > 3, 3)
    do(engine, "record_save")
    with newest(engine) as session:
        assert any("all black" in note for note in session.metadata.notes)
        assert session.metadata.source.description == engine.snapshot().capture.detail == "fixed region 64x64 at 0, 0"


def test_starting_and_stopping_capture_from_anywhere_leaves_nothing_behind(
    center: MakeCenter, target: TargetWindow, person: Person
) -> None:
    engine = center()

    def once(turn: int) -> None:
        do(engine, "source", window="Game") if turn % 2 else do(engine, "source", monitor=1, window="")
        person.key(F5)
        wait_until(lambda: engine.recorder.state().frames > 2, 5)
        person.key(F6) if turn % 3 else do(engine, "record_save")
        wait_until(lambda: phase(engine) == "idle", 5)
        do(engine, "source_off")

    def alive() -> tuple[list[str], int]:
        wait_until(lambda: phase(engine) == "idle")
        # asyncio's own helpers come one by one up to their limit, whenever all of them happen to be busy.
        names = sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith("asyncio_"))
        return names, len(os.listdir("/proc/self/fd"))

    for turn in range(3):
        once(turn)
    before = alive()
    for turn in range(6):
        once(turn)
    assert alive() == before
    assert len(list_sessions(engine.workspace.root)) == 9
    assert [notice.text for notice in engine.snapshot().notices if notice.level == "error"] == []
