"""Teaching a detector from the face: pictures, the page, training as a job, into the profile and back."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until
from test_pictures import _same_clock, compare  # noqa: F401 - the fixture holds for this module too
from textual.pilot import Pilot

from data.settings_games import save_game
from data.settings_io import load_settings
from engine.perception.card import DetectorCard
from engine.state import CaptureState, JobState
from engine.teach import TeachProject
from tests.support.teaching import PROFILE, Squares, blank, record
from tui import teach_serving
from tui.app import SecondseatApp
from tui.screens import teach_deeds
from tui.screens.dialogs import AskLetter
from tui.screens.form import ParametersForm
from tui.screens.teach import TeachPane

SIZES = [(120, 36), (80, 24)]
ADDRESS = "http://127.0.0.1:40123/?token=dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxsLCByZWF"


class StillPage:
    """A page with the same address each time, which nobody can reach."""

    def __init__(self, project: TeachProject, changed: Callable[[], object]) -> None:
        self.project, self.address, self.tunnel, self.problem = (
            project,
            "",
            "from another machine: ssh -L 40123:127.0.0.1:40123 me@desk",
            "",
        )
        self.going = self.finished = False
        self._changed = changed

    def start(self) -> None:
        self.address, self.going = ADDRESS, True
        self._changed()

    def stop(self) -> None:
        self.address, self.going = "", False
        self._changed()

    def close(self) -> bool:
        return True


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file with one game, and its workspace ``w``; nothing of this machine's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "etc"))
    save_game(tmp_path / "config.toml", PROFILE)
    (tmp_path / "w").mkdir()
    return tmp_path


def with_pictures(place: Path, confirmed: int, more: int = 0) -> TeachProject:
    project = TeachProject(place / "w", PROFILE)
    truth = Squares(1)
    picture = (truth.picture(0.0)[..., ::-1] * 1).copy()
    import cv2

    content = cv2.imencode(".png", picture)[1].tobytes()
    for number in range(confirmed + more):
        state = "confirmed" if number < confirmed else "new"
        project.add(
            blank(f"p{number:03d}", state, "s1", float(number), tuple(truth.boxes(number)) if state == "confirmed" else ()), content
        )
    return project


def with_model(place: Path, complete: bool = True) -> str:
    """A trained detector as far as the screen looks at it."""
    folder = place / "w" / "models" / "detector" / "20261128T101112Z_squares"
    folder.mkdir(parents=True)
    (folder / "squares_detector.onnx").write_bytes(b"weights")
    row = {"n": 14, "ap50": 0.91, "ap50_95": 0.62, "recall": 0.88, "precision": 0.93}
    figures = {
        "map50": 0.88,
        "map50_95": 0.6,
        "classes": {"me": row, "foe": {**row, "n": 0}},
        "words": ["12 pictures are too few to judge by"],
    }
    training = {"pictures": 48, "held_out": 12, "epochs": 16, "complete": complete}
    card = DetectorCard("squares", ("me", "foe"), (160, 96), "yolo", 0.25, "", 0, "", training=training, figures=figures)
    card.write(folder / "squares_detector.json")
    name = f"models/detector/{folder.name}/squares_detector.onnx"
    TeachProject(place / "w", PROFILE).remember({"model": name})
    return name


def center_of(place: Path, jobs: tuple[JobState, ...] = ()) -> FakeCenter:
    state = replace(idle_state(str(place / "w")), jobs=jobs, capture=CaptureState("screen", "squares", "Squares", 320, 192))
    return FakeCenter(state)


async def opened(app: SecondseatApp, pilot: Pilot[int], place: Path) -> TeachPane:
    app.config = str(place / "config.toml")
    app.update_all()
    app.run_action_id("teach")
    await pilot.pause()
    pane = app.screen.query_one(TeachPane)
    await until(lambda: pane.teaching.subject is not None or pane.teaching.problem)
    await pilot.pause()
    return pane


def seen(app: SecondseatApp, place: Path) -> str:
    return screen_text(app).replace(str(place), "/home/me")


# ---- what is seen


@pytest.mark.parametrize("size", SIZES)
async def test_without_a_game_of_ones_own_it_says_what_to_do(size: tuple[int, int], place: Path, caplog: pytest.LogCaptureFixture) -> None:
    (place / "config.toml").write_text('game = "arena"\n')
    async with face(center_of(place), size=size) as (app, pilot, _):
        await opened(app, pilot, place)
        compare(f"teach_no_game_{size[0]}x{size[1]}", screen_text(app))
    assert [record for record in caplog.records if record.name == "tui.desk"] == []


@pytest.mark.parametrize("size", SIZES)
async def test_without_a_recording_it_says_which_key_records(size: tuple[int, int], place: Path) -> None:
    async with face(center_of(place), size=size) as (app, pilot, _):
        await opened(app, pilot, place)
        compare(f"teach_no_recording_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("enter")
        await until(lambda: "no recording of games.squares" in app._answer[1])
        await pilot.press("p")
        assert "no detector was trained here yet" in app._answer[1]


async def test_a_game_without_classes_is_told_how_it_gets_some(place: Path) -> None:
    save_game(place / "config.toml", PROFILE.model_copy(update={"classes": ()}))
    async with face(center_of(place), size=(80, 24)) as (app, pilot, _):
        await opened(app, pilot, place)
        text = " ".join(screen_text(app).replace("│", " ").split())
        assert "games.squares names no classes" in text
        assert "secondseat games add squares --replace --class me=self" in text


@pytest.mark.parametrize("size", SIZES)
async def test_the_page_its_address_and_how_many_are_labelled(size: tuple[int, int], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teach_deeds, "ServedPage", StillPage)
    monkeypatch.setattr("engine.teach_prepare.propose", lambda *rest: None)
    project = with_pictures(place, 9, 3)
    running = JobState("j1", "teach", "teach squares", "running", "epoch 12/40", 0.31, 95.0, "loss 0.41 mAP50 0.62")
    async with face(center_of(place, (running,)), size=size) as (app, pilot, _):
        pane = await opened(app, pilot, place)
        await pilot.press("enter")
        await until(lambda: pane.teaching.page is not None and pane.teaching.page.going and app.desk.doing is None)
        await until(lambda: "9 of 12 labelled" in screen_text(app))
        app._answer = (0.0, "", "info")
        compare(f"teach_page_{size[0]}x{size[1]}", seen(app, place))
        assert f"│ {ADDRESS} " in screen_text(app)
        shared = pane.teaching.page.project
        shared.save("p010", Squares(1).boxes(0.0), "confirmed")  # as the page does
        await until(lambda: "10 of 12 labelled" in screen_text(app))
        assert project.get("p010").state == "new"  # another reader's copy: the page's own was counted


@pytest.mark.parametrize("size", SIZES)
async def test_figures_of_the_newest_model_and_the_question_before_it_goes_into_the_profile(size: tuple[int, int], place: Path) -> None:
    with_pictures(place, 12)
    with_model(place)
    async with face(center_of(place), size=size) as (app, pilot, _):
        await opened(app, pilot, place)
        compare(f"teach_trained_{size[0]}x{size[1]}", seen(app, place))
        await pilot.press("p")
        await pilot.pause()
        assert "in place of none" in " ".join(screen_text(app).replace("│", " ").split())


async def test_a_training_that_failed_says_why(place: Path) -> None:
    with_pictures(place, 12)
    failed = JobState("j1", "teach", "teach squares", "failed", "failed", 0.1, None, "no box is confirmed in the pictures to train on")
    async with face(center_of(place, (failed,)), size=(80, 24)) as (app, pilot, _):
        await opened(app, pilot, place)
        assert "no box is confirmed in the pictures to train on" in screen_text(app)
        await pilot.press("d")
        await pilot.pause()
        assert "teach squares: failed" in screen_text(app)


# ---- what the keys do


async def test_pictures_are_taken_and_the_page_is_served_to_its_person_alone(place: Path) -> None:
    record(place / "w", Squares(1), 6.0)
    async with face(center_of(place)) as (app, pilot, _):
        pane = await opened(app, pilot, place)
        assert "1 recording to take them from" in screen_text(app)
        await pilot.press("enter")
        await until(lambda: pane.teaching.page is not None and pane.teaching.page.address, 30)
        page = pane.teaching.page
        assert page is not None
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

        def get(address: str) -> str:
            with opener.open(address, timeout=10) as answer:
                return answer.read().decode()

        import asyncio

        first = await asyncio.to_thread(get, page.address)
        assert "Teach" in first
        with pytest.raises(urllib.error.HTTPError, match="403"):
            await asyncio.to_thread(urllib.request.urlopen, page.address.split("?")[0], None, 10)
        assert page.address in screen_text(app).replace("│", "")
        assert "0 of " in screen_text(app)
        await pilot.press("enter")
        assert "open already" in app._answer[1]
        await pilot.press("K")
        await until(lambda: not page.going)
        assert "closed" in screen_text(app)
    assert len(TeachProject(place / "w", PROFILE).pictures()) > 3


async def test_taking_pictures_can_be_stopped(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(place / "w", Squares(1), 2.0)

    def slow(project: TeachProject, wanted: int, report: Callable[..., None]) -> None:
        from data.progress import Progress

        while True:
            report(Progress("looking", 0.5))
            time.sleep(0.01)

    monkeypatch.setattr("engine.teach_prepare.prepare", slow)
    async with face(center_of(place)) as (app, pilot, _):
        pane = await opened(app, pilot, place)
        await pilot.press("n")
        await until(lambda: "looking" in screen_text(app))
        await pilot.press("K")
        await until(lambda: app.desk.doing is None)
        assert "stopped" in app._answer[1]
        assert pane.teaching.page is None


async def test_leaving_the_screen_leaves_the_page_open_and_leaving_the_face_ends_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.teach_prepare.propose", lambda *rest: None)
    with_pictures(place, 2, 1)
    async with face(center_of(place)) as (app, pilot, _):
        pane = await opened(app, pilot, place)
        await pilot.press("enter")
        await until(lambda: pane.teaching.page is not None and pane.teaching.page.address)
        page = pane.teaching.page
        assert isinstance(page, teach_serving.ServedPage)
        await pilot.press("escape")
        await pilot.pause()
        assert page.going
        again = await opened(app, pilot, place)
        assert again.teaching.page is page
        assert page.address in screen_text(app).replace("│", "")
    assert not page.going


async def test_training_is_asked_for_with_the_profile_as_it_is_now(place: Path) -> None:
    with_pictures(place, 7)
    async with face(center_of(place)) as (app, pilot, center):
        pane = await opened(app, pilot, place)
        await pilot.press("t")
        assert "7 pictures are confirmed; at least 8 are needed" in app._answer[1]
        pane.teaching.subject.project.add(blank("last", "confirmed", "s2", 1.0), b"")  # type: ignore[union-attr]
        pane.teaching.count(pane.again)
        await until(lambda: pane.teaching.subject.facts.confirmed == 8)  # type: ignore[union-attr]
        await pilot.press("t")
        await pilot.pause()
        form = app.screen
        assert isinstance(form, ParametersForm)
        form.query_one("#field-epochs").value = "3"  # type: ignore[attr-defined]
        form.accept()
        await until(lambda: center.commands)
        name, told = center.commands[-1]
        assert name == "teach"
        assert told["epochs"] == 3
        assert told["profile"]["name"] == "squares"
        json.dumps(told)


async def test_the_training_is_stopped_after_a_question(place: Path) -> None:
    with_pictures(place, 12)
    running = JobState("j7", "teach", "teach squares", "running", "epoch 2/40", 0.05, 300.0)
    async with face(center_of(place, (running,))) as (app, pilot, center):
        await opened(app, pilot, place)
        await pilot.press("t")
        assert "still going on" in app._answer[1]
        await pilot.press("K")
        await pilot.pause()
        assert isinstance(app.screen, AskLetter)
        await pilot.press("y")
        await until(lambda: ("job_stop", {"id": "j7"}) in center.commands)


async def test_into_the_profile_and_back(place: Path) -> None:
    with_pictures(place, 12)
    name = with_model(place)
    file = place / "config.toml"
    file.write_text("# mine\n" + file.read_text())

    def detector() -> str:
        return load_settings(file, strict=True)[0].games["squares"].detector

    async with face(center_of(place)) as (app, pilot, center):
        await opened(app, pilot, place)
        await pilot.press("p")
        await pilot.pause()
        save_game(file, PROFILE.model_copy(update={"window_title": "Squares, edited meanwhile"}))
        await pilot.press("y")
        await until(lambda: any(command == "game" for command, _ in center.commands))
        assert detector() == name
        assert center.commands[-1][1]["profile"]["detector"] == name
        assert load_settings(file, strict=True)[0].games["squares"].window_title == "Squares, edited meanwhile"
        assert file.read_text().startswith("# mine\n")
        await pilot.press("p")
        assert "has it already" in app._answer[1]
        center.commands.clear()
        await pilot.press("u")
        await until(lambda: any(command == "game" for command, _ in center.commands))
        assert detector() == ""
        await pilot.press("u")
        await until(lambda: "nothing can be taken back" in app._answer[1])


async def test_what_was_stopped_early_is_put_nowhere(place: Path) -> None:
    with_pictures(place, 12)
    with_model(place, complete=False)
    async with face(center_of(place)) as (app, pilot, center):
        await opened(app, pilot, place)
        await pilot.press("p")
        assert "stopped early: t goes on with it" in app._answer[1]
        await pilot.press("t")
        await pilot.pause()
        assert app.screen.query_one("#field-resume").value is True  # type: ignore[attr-defined]
        assert center.commands == []


async def test_another_game_of_ones_own_is_one_key_away(place: Path) -> None:
    save_game(place / "config.toml", PROFILE.model_copy(update={"name": "circles"}))
    async with face(center_of(place)) as (app, pilot, _):
        pane = await opened(app, pilot, place)
        assert "Teach a detector: squares" in screen_text(app)
        await pilot.press("G")
        await until(lambda: pane.teaching.subject is not None and pane.teaching.subject.facts.game == "circles")
        assert "Teach a detector: circles" in screen_text(app)
