"""The screens of evaluations: the list, the page of one, two compared, a new one as a job, the page of plots."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake import FakeCenter, idle_state
from harness import FULL, face, screen_text, until
from test_pictures import PLAIN, _same_clock, compare  # noqa: F401 - the fixture holds for this module too
from textual.pilot import Pilot

from engine.state import EngineState, JobState
from tests.support.evaluations import keep, keep_judged, some
from tui import theme
from tui.app import SecondseatApp
from tui.opening import opener
from tui.screens import evaluation_deeds
from tui.screens.details import DetailsPane
from tui.screens.evaluation import ComparisonPane, EvaluationPane
from tui.screens.evaluations import EvaluationsPane
from tui.screens.form import ParametersForm

SIZES = [(120, 36), (80, 24)]
LOOKS = [*((size, FULL) for size in SIZES), ((80, 24), PLAIN)]


def running(state: EngineState, phase: str = "running", **more: object) -> EngineState:
    job = JobState("j9", "evaluate", "evaluate night-4", phase, "flying: policy from pixels", 0.43, 250.0)  # type: ignore[arg-type]
    return replace(state, jobs=(replace(job, **more),))  # type: ignore[arg-type]


def state_of(workspace: Path) -> EngineState:
    """The workspace's path is in no picture, so it may be any."""
    return replace(idle_state(str(workspace)), sessions=3)


async def open_list(app: SecondseatApp, pilot: Pilot[int]) -> EvaluationsPane:
    app.update_all()
    await pilot.press("E")
    pane = app.screen.query_one(EvaluationsPane)
    await until(lambda: pane.all is not None)
    return pane


async def compared(app: SecondseatApp) -> ComparisonPane:
    await until(lambda: app.screen.query(ComparisonPane))
    pane = app.screen.query_one(ComparisonPane)
    await until(lambda: pane.found is not None)
    return pane


def name_of(size: tuple[int, int], look: theme.Look) -> str:
    return "ascii" if look is PLAIN else f"{size[0]}x{size[1]}"


@pytest.mark.parametrize(("size", "look"), LOOKS)
async def test_the_screens(size: tuple[int, int], look: theme.Look, tmp_path: Path) -> None:
    some(tmp_path)
    name = name_of(size, look)
    center = FakeCenter(running(state_of(tmp_path)))
    async with face(center, size=size, look=look) as (app, pilot, _):
        await open_list(app, pilot)
        compare(f"evaluations_{name}", screen_text(app))
        await pilot.press("enter")
        await pilot.pause()
        compare(f"evaluation_{name}", screen_text(app))
        if look is PLAIN:
            assert all(line.plain.isascii() for line in app.screen.query_one(EvaluationPane).compose_all(app.newest))
        await pilot.press("end")
        compare(f"evaluation_end_{name}", screen_text(app))
        await pilot.press("escape", "down", "space", "home", "space")
        compare(f"evaluations_marked_{name}", screen_text(app))
        await pilot.press("escape", "home", "down", "down", "space", "home", "space", "c")
        await compared(app)
        compare(f"evaluations_compared_{name}", screen_text(app))
        if look is PLAIN:
            assert screen_text(app).isascii()


@pytest.mark.parametrize("size", SIZES)
async def test_without_any_it_says_what_to_do(size: tuple[int, int], tmp_path: Path) -> None:
    async with face(FakeCenter(state_of(tmp_path)), size=size) as (app, pilot, center):
        await open_list(app, pilot)
        compare(f"evaluations_empty_{size[0]}x{size[1]}", screen_text(app))
        center.state = replace(center.state, policies=0)
        app.screen.query_one(EvaluationsPane).redraw()
        app.update_all()
        app.screen.query_one(EvaluationsPane).redraw()
        assert "no policy: t trains one" in screen_text(app)
        await pilot.press("n")
        assert "there is no policy to evaluate yet: t trains one" in screen_text(app)


async def test_a_new_one_is_asked_for_runs_as_a_job_and_then_stands_in_the_list(tmp_path: Path) -> None:
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, center):
        pane = await open_list(app, pilot)
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(app.screen, ParametersForm)
        await pilot.press("tab", "tab", *["backspace"] * 2, "8", "ctrl+r")
        await pilot.pause()
        name, params = center.commands[-1]
        assert name == "evaluate"
        assert params == {"episodes": 8, "rungs": "state,emulated,pixels", "minutes": 3.0}
        center.state = running(center.state)
        text = screen_text(app)
        assert "evaluate night-4: flying: policy from pixels" in text
        assert "43%  4:10 left  K stops it" in text
        keep(tmp_path, "20261128T150000Z", "night-4", 0.9)
        center.state = running(center.state, "done")
        await until(lambda: (app.update_all(), len(pane.shown) == 1)[1])
        assert "night-4" in screen_text(app)
        assert "left  K stops it" not in screen_text(app)


@pytest.mark.parametrize(("size", "look"), LOOKS)
async def test_what_was_judged_on_recordings_stands_in_the_list_and_is_opened_and_compared(
    size: tuple[int, int], look: theme.Look, tmp_path: Path
) -> None:
    some(tmp_path)
    keep_judged(tmp_path, "20261129T101500Z", "mine-2", 0.74)
    keep_judged(tmp_path, "20261129T080000Z", "mine-1", 0.6, more=False)
    name = name_of(size, look)
    async with face(FakeCenter(state_of(tmp_path)), size=size, look=look) as (app, pilot, _):
        await open_list(app, pilot)
        compare(f"evaluations_judged_{name}", screen_text(app))
        await pilot.press("enter")
        await pilot.pause()
        compare(f"evaluation_judged_{name}", screen_text(app))
        await pilot.press("escape", "c")
        await compared(app)
        compare(f"evaluations_judged_compared_{name}", screen_text(app))
        if look is PLAIN:
            assert screen_text(app).isascii()


async def test_what_was_not_flown_is_ordered_filtered_and_compared_with_its_like(tmp_path: Path) -> None:
    some(tmp_path)
    keep_judged(tmp_path, "20261129T101500Z", "mine-2")
    keep_judged(tmp_path, "20261129T090000Z", "night-3", game="arena", rules=2)
    keep(tmp_path, "20261129T120000Z", "night-4", 0.8)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        pane = await open_list(app, pilot)
        for column in ("rules", "n", "pixels"):
            pane.order_by(column)
            assert pane.shown[-1].policy in ("mine-2", "night-3", "looks-only")
        pane.order_by("when")
        await pilot.press("home", "c")
        two = await compared(app)
        assert (two.first.id[:9], two.first.policy) == ("20261128T", "night-3"), "the newest that flew, not the newest"
        await pilot.press("escape", "space", "space", "c")
        await pilot.pause()
        assert "A plays arena, B mine: they cannot be compared" in screen_text(app)
        pane.filter("mine not flown")
        assert [kept.policy for kept in pane.shown] == ["mine-2"]
        pane.marked.clear()
        await pilot.press("c")
        await pilot.pause()
        assert "two are compared: mark them with space" in screen_text(app)


@pytest.mark.parametrize(("size", "look"), LOOKS)
async def test_the_form_takes_recordings(size: tuple[int, int], look: theme.Look, tmp_path: Path) -> None:
    async with face(FakeCenter(state_of(tmp_path)), size=size, look=look) as (app, pilot, center):
        await open_list(app, pilot)
        await pilot.press("n")
        await pilot.pause()
        compare(f"evaluate_form_{name_of(size, look)}", screen_text(app))
        await pilot.press("tab", *"last,20261128T10", "ctrl+r")
        await pilot.pause()
        name, params = center.commands[-1]
        assert (name, params["sessions"]) == ("evaluate", "last,20261128T10")


async def test_the_running_one_is_stopped_after_a_question(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(running(state_of(tmp_path)))) as (app, pilot, center):
        await open_list(app, pilot)
        await pilot.press("K", "escape")
        assert not center.commands
        await pilot.press("K", "y")
        await pilot.pause()
        assert center.commands == [("job_stop", {"id": "j9"})]
        center.state = replace(center.state, jobs=())
        app.update_all()
        await pilot.press("K")
        assert "no evaluation runs" in screen_text(app)


async def test_one_that_failed_says_why_and_tells_more(tmp_path: Path) -> None:
    failed = running(state_of(tmp_path), "failed", message="policy night-4: made for rules 1, these are rules 2")
    async with face(FakeCenter(failed)) as (app, pilot, _):
        await open_list(app, pilot)
        assert "× the last evaluation failed: policy night-4: made for rules 1, these are rules 2  d tells more" in screen_text(app)
        await pilot.press("d")
        await pilot.pause()
        assert app.screen.query_one(DetailsPane)


async def test_order_filter_and_marks(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        pane = await open_list(app, pilot)

        def policies() -> list[str]:
            return [kept.policy for kept in pane.shown]

        assert policies() == ["night-3", "night-2", "quick-1", "looks-only", "first"]
        pane.order_by("pixels")
        assert policies() == ["first", "night-3", "night-2", "quick-1", "looks-only"]
        pane.order_by("pixels")
        assert policies()[0] == "looks-only", "the second time the other way round"
        pane.order_by("policy")
        assert policies()[0] == "first"
        await pilot.press("slash", *"night", "enter")
        assert sorted(policies()) == ["night-2", "night-3"]
        await pilot.press("escape")
        assert len(policies()) == 5
        pane.filter("-night rules2")
        assert sorted(policies()) == ["looks-only", "quick-1"]
        await pilot.press("escape", "home", "space", "space", "space")
        assert len(pane.marked) == 2, "two at most"
        first, second = pane.pair() or (None, None)
        assert first is not None
        assert second is not None
        assert [first.id, second.id] == pane.marked


async def test_the_mouse_chooses_orders_and_opens(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        pane = await open_list(app, pilot)
        await pilot.click(EvaluationsPane, offset=(4, 4))
        assert pane.chosen is not None
        assert pane.chosen.policy == "quick-1"
        await pilot.click(EvaluationsPane, offset=(5, 1))
        assert pane.order.id == "policy"
        await pilot.click(EvaluationsPane, offset=(4, 2), times=2)
        await pilot.pause()
        assert app.screen.query_one(EvaluationPane).kept.policy == "first"


async def test_without_marks_the_chosen_one_is_compared_with_the_one_before(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        await open_list(app, pilot)
        await pilot.press("c")
        pane = await compared(app)
        assert (pane.first.policy, pane.second.policy) == ("night-2", "night-3")
        assert "! Not enough evidence that either flies better from pixels" in screen_text(app)
        await pilot.press("escape", "home", "down", "down", "space", "home", "c")
        pane = await compared(app)
        assert "✓ B is better than A from pixels" in screen_text(app)
        await pilot.press("O")
        pane = await compared(app)
        assert (pane.first.policy, pane.second.policy) == ("night-3", "quick-1")
        assert "× B is worse than A from pixels" in screen_text(app)


@pytest.mark.parametrize("rungs", [("state", "pixels"), ("pixels",)])
async def test_two_looks_are_not_compared_from_pixels(rungs: tuple[str, ...], tmp_path: Path) -> None:
    keep(tmp_path, "20261128T140500Z", "night-3", 0.82, rungs=rungs, look="blueprint")
    keep(tmp_path, "20261128T121000Z", "night-2", 0.5, rungs=rungs)
    async with face(FakeCenter(state_of(tmp_path)), size=(120, 36)) as (app, pilot, _):
        await open_list(app, pilot)
        await pilot.press("c")
        await compared(app)
        text = screen_text(app)
        assert "A saw the look classic, B blueprint: from pixels they cannot be compared" in text
        assert ("B is better than A from the exact state" in text) == ("state" in rungs)


async def test_three_episodes_are_too_few_for_a_verdict(tmp_path: Path) -> None:
    keep(tmp_path, "20261128T140500Z", "night-3", 0.9, episodes=3)
    keep(tmp_path, "20261128T121000Z", "night-2", 0.2, episodes=3)
    async with face(FakeCenter(state_of(tmp_path)), size=(120, 36)) as (app, pilot, _):
        await open_list(app, pilot)
        await pilot.press("c")
        await compared(app)
        text = screen_text(app)
        assert "Not enough evidence that either flies better from pixels" in text
        assert "3 episodes: too few for a verdict, which takes 5 a side" in text
        assert "B is better" not in text


async def test_what_was_played_by_other_rules_is_not_compared(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        pane = await open_list(app, pilot)
        await pilot.press("space", "end", "space", "c")
        await pilot.pause()
        assert "A was played by rules 2, B by rules 1: they cannot be compared" in screen_text(app)
        pane.marked.clear()
        await pilot.press("end", "c")
        await pilot.pause()
        assert "two are compared: mark them with space" in screen_text(app), "there is no older one of these rules"


async def test_what_an_older_version_kept_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path = keep(tmp_path, "20261101T100000Z", "old")
    value = json.loads(path.read_text())
    del (
        value["levels"]["play"],
        value["levels"]["target"],
        value["levels"]["lag_sweep"],
        value["levels"]["mode"]["confusion"],
        value["seconds"],
    )
    value["levels"]["mode"]["calibration"] = None
    value["levels"]["mode"]["top_two"] = 0.912
    for rung in value["rungs"]:
        del rung["counters_per_episode"]
    path.write_text(json.dumps(value))
    (path.parent / "20261102T100000Z_torn.json").write_text("{")
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        await open_list(app, pilot)
        assert "× 20261102T100000Z_torn.json: cannot be read" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        lines = "\n".join(line.plain for line in app.screen.query_one(EvaluationPane).compose_all(app.newest))
        assert "top two: 0.912" in lines
        assert "Tactician" not in lines
        assert "Reaction lag" not in lines
        assert "Each level on 5.0 min of play (not told)" in lines
        assert "balanced accuracy" in lines


async def test_the_page_of_plots_is_saved_and_its_path_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some(tmp_path)
    monkeypatch.setenv("SSH_CONNECTION", "1")
    async with face(FakeCenter(state_of(tmp_path)), size=(160, 36)) as (app, pilot, _):
        await open_list(app, pilot)
        await pilot.press("P")
        await pilot.pause()
        await pilot.press("end", *["backspace"] * 3, *"png", "enter")
        made = tmp_path / "logs" / "evaluations" / "20261128T140500Z_night-3.png"
        await until(lambda: made.exists() and app.desk.doing is None, 60)
        assert made.read_bytes().startswith(b"\x89PNG")
        assert "plots in" in app._answer[1]
        await pilot.press("enter", "V")
        await until(lambda: "there is no desktop here to show them" in app._answer[1], 60)
        assert made.with_suffix(".svg").exists()
        await pilot.press("P")
        await pilot.pause()
        await pilot.press("end", *["backspace"] * 3, *"txt", "enter")
        await until(lambda: "a page is .png, .svg, .pdf" in app._answer[1], 60)


async def test_the_desktop_shows_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some(tmp_path)
    shown: list[Path] = []
    monkeypatch.setattr(evaluation_deeds, "open_file", lambda path: shown.append(path) or True)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        await open_list(app, pilot)
        await pilot.press("V")
        await until(lambda: shown and app.desk.doing is None, 60)
        assert shown[0].name == "20261128T140500Z_night-3.svg"
        assert app._answer[1].endswith(", opened")


def test_files_are_opened_only_where_somebody_sees_them(tmp_path: Path) -> None:
    program = tmp_path / "xdg-open"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    here = {"PATH": str(tmp_path)}
    assert opener({**here, "DISPLAY": ":0"}, "linux") == ["xdg-open"]
    assert opener({**here, "WAYLAND_DISPLAY": "wayland-0"}, "linux") == ["xdg-open"]
    assert opener(here, "linux") == []
    assert opener({**here, "DISPLAY": ":0", "SSH_CONNECTION": "1"}, "linux") == []
    assert opener({"PATH": "", "DISPLAY": ":0"}, "linux") == []
    assert opener({}, "darwin") == ["open"]
    assert opener({}, "win32")[:2] == ["cmd", "/c"]
