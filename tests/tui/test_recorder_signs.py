"""What is recorded or kept is always seen: the status line's signs, and the figures of the capture pane."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.state import Alert
from tests.tui.fake import FakeCenter, full_state, idle_state
from tests.tui.harness import face, screen_text, until


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_the_pre_buffer_has_a_sign_of_its_own(size: tuple[int, int]) -> None:
    state = idle_state()
    state = replace(state, recorder=replace(state.recorder, prebuffer_s=30, buffered_s=12.4))
    async with face(FakeCenter(state), size=size) as (app, pilot, _):
        await until(lambda: "● BUF" in screen_text(app).splitlines()[0])
        assert "not recording" in screen_text(app) or "rec off" in screen_text(app)
        await pilot.pause()


async def test_a_running_recording_shows_the_hours_that_the_disk_holds_and_what_is_wrong_with_the_picture() -> None:
    state = full_state()
    state = replace(state, capture=replace(state.capture, notice="the pictures have been all black for 3 s"))
    async with face(FakeCenter(state), size=(140, 45)) as (app, _, __):
        await until(lambda: "= 61 h" in screen_text(app))
        assert "BUF" not in screen_text(app)
        assert "all black" in screen_text(app).splitlines()[0]


async def test_little_room_is_told_in_minutes() -> None:
    state = full_state()
    state = replace(state, recorder=replace(state.recorder, disk_left_s=1500))
    async with face(FakeCenter(state), size=(140, 45)) as (app, _, __):
        await until(lambda: "= 25 min" in screen_text(app))


async def test_what_a_key_did_that_was_pressed_in_the_game_is_told_in_the_face_too() -> None:
    async with face() as (app, _, center):
        await until(lambda: app.newest.sequence >= 0)
        for number, kind, text in ((1, "save", "stopped (F8 was pressed): saved x"), (2, "failure", "disk full, recording stopped")):
            center.state = replace(center.state, alert=Alert(number, kind, text))  # type: ignore[arg-type]
            await until(lambda text=text: text in screen_text(app).splitlines()[-2])
        assert "×" in screen_text(app).splitlines()[-2]
