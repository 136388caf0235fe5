"""The screens of leagues: the list, the live picture of a running one at every size, refinement, imitation, and what their keys ask."""

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
from tests.support.leagues import keep_league, moment, some
from tui import theme
from tui.app import SecondseatApp
from tui.screens.form import ParametersForm
from tui.screens.league import LeaguePane
from tui.screens.leagues import LeaguesPane

SIZES = [(120, 36), (80, 24)]
LOOKS = [*((size, FULL) for size in SIZES), ((80, 24), PLAIN)]


def state_of(workspace: Path, *jobs: JobState) -> EngineState:
    return replace(idle_state(str(workspace)), sessions=3, jobs=jobs)


def running(folder: Path, phase: str = "running") -> JobState:
    told = "4,440,000 frames, 81,234/s, 12,310 matches"
    return JobState("j9", "league", f"league {folder.name}", phase, "round 3/20, main-1", 0.13, 3120.0, told, str(folder))  # type: ignore[arg-type]


async def open_list(app: SecondseatApp, pilot: Pilot[int]) -> LeaguesPane:
    app.update_all()
    await pilot.press("L")
    pane = app.screen.query_one(LeaguesPane)
    await until(lambda: pane.all is not None, 40.0)
    return pane


async def page(app: SecondseatApp, pilot: Pilot[int], words: str) -> LeaguePane:
    """The chosen run's page, when these words stand on it."""
    await pilot.press("enter")
    await until(lambda: app.screen.query(LeaguePane))
    pane = app.screen.query_one(LeaguePane)
    await shown(app, words)
    return pane


async def shown(app: SecondseatApp, words: str) -> None:
    await until(lambda: words in screen_text(app), 40.0)


def hide(folder: Path, text: str) -> str:
    """The workspace's path is another one each time."""
    return "\n".join(line if str(folder)[:12] not in line else "<folder>" for line in text.splitlines()) + "\n"


@pytest.mark.parametrize(("size", "look"), LOOKS)
async def test_the_screens(size: tuple[int, int], look: theme.Look, tmp_path: Path) -> None:
    some(tmp_path, "running")
    name = "ascii" if look is PLAIN else f"{size[0]}x{size[1]}"
    job = running(tmp_path / "league" / "20261128T120000Z")
    async with face(FakeCenter(state_of(tmp_path, job)), size=size, look=look) as (app, pilot, _):
        await open_list(app, pilot)
        compare(f"leagues_{name}", hide(tmp_path, screen_text(app)))
        await page(app, pilot, "self play")
        compare(f"league_{name}", screen_text(app))
        await pilot.press("space")
        await shown(app, "too few games")
        compare(f"league_map_{name}", screen_text(app))
        await pilot.press("v")
        await shown(app, "newest first")
        compare(f"league_losses_{name}", screen_text(app))
        await pilot.press("escape", "down", "down")
        await page(app, pilot, "parity")
        compare(f"league_refinement_{name}", screen_text(app))
        await pilot.press("escape", "down")
        await page(app, pilot, "most frequent")
        compare(f"league_imitation_{name}", screen_text(app))
        if look is PLAIN:
            assert screen_text(app).isascii()


@pytest.mark.parametrize("size", SIZES)
async def test_without_any_it_says_how_to_begin(size: tuple[int, int], tmp_path: Path) -> None:
    async with face(FakeCenter(state_of(tmp_path)), size=size) as (app, pilot, center):
        await open_list(app, pilot)
        compare(f"leagues_empty_{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("n")
        assert center.commands == []
        await shown(app, "no first policy yet: i makes one")


async def test_a_running_league_moves(tmp_path: Path) -> None:
    folder = keep_league(tmp_path, "now", moment(), state="running")
    async with face(FakeCenter(state_of(tmp_path, running(folder)))) as (app, pilot, _):
        await open_list(app, pilot)
        await page(app, pilot, "round 3/20")
        told = json.loads((folder / "live.json").read_text())
        told["progress"] |= {"round": 4, "learner": "main_exploiter-1", "notes": ["main-1@7 frozen after 2730000 frames"]}
        (folder / "live.json").write_text(json.dumps(told))
        await shown(app, "round 4/20  main_exploiter-1")
        await shown(app, "main-1@7 frozen")


async def test_a_league_is_begun_stopped_and_gone_on_with(tmp_path: Path) -> None:
    some(tmp_path)
    folder = tmp_path / "league" / "20261128T120000Z"
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, center):
        await open_list(app, pilot)
        await pilot.press("n")
        await until(lambda: isinstance(app.screen, ParametersForm))
        await pilot.press("ctrl+r")
        await until(lambda: center.commands)
        name, asked = center.commands.pop()
        assert name == "league"
        assert (asked["rounds"], asked["mains"], asked.get("worlds")) == (20, 1, None)
        await pilot.press("R")
        await pilot.press("enter")
        await until(lambda: center.commands)
        assert center.commands.pop() == ("league", {"folder": str(folder), "resume": True, "rounds": 20})
        center.state = replace(center.state, jobs=(running(folder),))
        app.update_all()
        await pilot.press("R")
        await shown(app, "is going on already")
        await pilot.press("K", "y")
        await until(lambda: center.commands)
        assert center.commands.pop() == ("job_stop", {"id": "j9"})


async def test_a_refinement_goes_on_for_as_many_iterations_as_are_said(tmp_path: Path) -> None:
    some(tmp_path)
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, center):
        await open_list(app, pilot)
        await pilot.press("down", "down", "R")
        await pilot.press("ctrl+u", *"many", "enter")
        await shown(app, "many is no number of iterations")
        assert center.commands == []
        await pilot.press("R", "enter")
        await until(lambda: center.commands)
        folder = tmp_path / "models" / "league" / "20261128T110000Z"
        assert center.commands.pop() == ("refine", {"folder": str(folder), "resume": True, "iterations": 80})


async def test_a_league_of_another_terminal_is_not_stopped_from_here(tmp_path: Path) -> None:
    keep_league(tmp_path, "elsewhere", moment(), state="running")
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, center):
        pane = await open_list(app, pilot)
        assert pane.chosen is not None
        await pilot.press("K")
        await shown(app, f"process {pane.chosen.pid}")
        assert center.commands == []


async def test_a_failed_job_says_why(tmp_path: Path) -> None:
    some(tmp_path)
    folder = tmp_path / "league" / "20261128T120000Z"
    job = replace(running(folder, "failed"), message="pi_sup: neither a scripted pilot nor a policy")
    async with face(FakeCenter(state_of(tmp_path, job))) as (app, pilot, _):
        await open_list(app, pilot)
        assert "pi_sup: neither a scripted pilot nor a policy" in screen_text(app)
        await pilot.press("V")
        await shown(app, "has no report")


async def test_a_torn_run_is_told_and_hides_nothing(tmp_path: Path) -> None:
    some(tmp_path)
    path = tmp_path / "models" / "league" / "20261128T110000Z" / "metrics.jsonl"
    path.write_text('{"iteration": 3, "losses": 5}\n')
    async with face(FakeCenter(state_of(tmp_path))) as (app, pilot, _):
        pane = await open_list(app, pilot)
        assert pane.all is not None
        assert len(pane.all) == 4
        torn = next(k for k, row in enumerate(pane.shown) if row.kind == "refinement")
        pane.move(torn - pane.selected)
        await page(app, pilot, "cannot be shown")
