"""The ways out: what is offered when, and what each does with the engine."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fake import FakeCenter, full_state, idle_state
from harness import face, screen_text, until

from tui.actions import REGISTRY
from tui.registry import Registry


def ids(registry: Registry) -> set[str]:
    return {action.id for action in registry.actions}


def test_detaching_exists_only_where_there_is_something_to_detach_from() -> None:
    own, attached = REGISTRY.present(attached=False), REGISTRY.present(attached=True)
    assert ids(attached) - ids(own) == {"detach"}
    assert attached["detach"].key_text() == "D"
    for width in (80, 120):
        assert ("D", "detach") in attached.footer("app", width)
        assert ("D", "detach") not in own.footer("app", width)


async def test_a_face_of_its_own_has_no_detach_and_keeps_the_engine() -> None:
    async with face() as (app, pilot, center):
        await pilot.press("D")
        await pilot.pause()
        assert not app.leaving
        assert center.stopped == 0
        assert "detach" not in screen_text(app)


@pytest.mark.parametrize("state", [idle_state(), full_state()], ids=["idle", "busy"])
async def test_detaching_asks_nothing_and_leaves_the_engine(state: object) -> None:
    async with face(FakeCenter(state, attached=True)) as (app, pilot, center):
        assert "attached" in screen_text(app)
        await pilot.press("D")
        await until(lambda: app._exit)
        assert center.commands == []
        assert app.farewell == "detached; the engine goes on: secondseat attach looks at it again, secondseat stop ends it"


async def test_what_this_face_does_by_itself_is_not_ended_without_asking() -> None:
    """A clip that is exported, say: it is no work of the engine, which goes on."""
    async with face(FakeCenter(idle_state(), attached=True)) as (app, pilot, _):
        go = threading.Event()
        app.desk.long("exporting a clip", lambda report: go.wait(20), lambda found: None, lambda error: None)
        await pilot.press("q")
        await pilot.pause()
        shown = screen_text(app)
        assert "nothing is at work." in shown
        assert "At work in this face, and ended with it:" in shown
        assert "exporting a clip" in shown
        await pilot.press("escape", "D")
        await pilot.pause()
        assert "exporting a clip" in screen_text(app)
        assert not app.leaving
        await pilot.press("d")
        go.set()
        await until(lambda: app._exit)
        assert app.farewell.startswith("detached")


async def test_quitting_attached_asks_whether_the_engine_is_to_end() -> None:
    center = FakeCenter(replace(full_state(), viewers=3, name="lab"), attached=True)
    async with face(center, size=(200, 36)) as (app, pilot, _):
        assert "attached to lab, 3 faces" in screen_text(app)
        await pilot.press("q")
        await pilot.pause()
        shown = screen_text(app)
        assert "is at work:" in shown
        assert "2 other faces are attached to it." in shown
        await pilot.press("enter")
        assert not app.leaving
        await pilot.press("s")
        await until(lambda: app._exit)
        assert center.commands == [("stop the engine", {})]
        assert "was told to stop" in app.farewell


async def test_an_engine_that_does_not_answer_is_named_and_left_without_asking() -> None:
    center = FakeCenter(idle_state(), attached=True)
    async with face(center) as (app, pilot, _):
        center.link = "the engine has not answered for 4 s; asking again"
        shown = screen_text(app)
        assert shown.splitlines()[0].strip() == "Secondseat │ × the engine has not answered for 4 s; asking again"
        assert "asking again; q leaves" in shown
        await pilot.press("q")
        await until(lambda: app._exit)


async def test_a_face_says_when_others_look_at_its_engine() -> None:
    center = FakeCenter(idle_state())
    async with face(center) as (app, _, _):
        assert "attached" not in screen_text(app)
        center.state = replace(center.state, viewers=1)
        assert "1 face attached" in screen_text(app).splitlines()[0]
        center.state = replace(center.state, viewers=2)
        assert "2 faces attached" in screen_text(app).splitlines()[0]


async def test_handing_over_is_offered_where_it_can_be_done() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, center):
        await pilot.press("q")
        await pilot.pause()
        assert "hand over" not in screen_text(app)
        await pilot.press("escape")
        handed: list[bool] = []
        app.hand_over = lambda: handed.append(True) or "handed over to process 5"
        await pilot.press("q")
        await pilot.pause()
        assert "h   hand over: a headless engine goes on with it, the bot disarmed" in screen_text(app)
        await pilot.press("h")
        await until(lambda: app._exit)
        assert (handed, app.farewell, app.left_undone) == ([True], "handed over to process 5", "")
        assert center.stopped == 0, "handing over ends the engine itself"


async def test_a_hand_over_that_fails_still_ends_the_engine_and_says_why() -> None:
    async with face(FakeCenter(full_state())) as (app, pilot, center):

        def fails() -> str:
            raise RuntimeError("the headless engine did not start: no room")

        app.hand_over = fails
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("h")
        await until(lambda: app._exit)
        assert app.left_undone == "the headless engine did not start: no room"
        assert center.stopped == 1


async def test_an_engine_that_was_ended_from_elsewhere_takes_its_face_along() -> None:
    async with face() as (app, _, center):
        center.state = replace(center.state, ending="asked to stop")
        await until(lambda: app._exit)
        assert app.farewell == "the engine of this face has ended: asked to stop"
