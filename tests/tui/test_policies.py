"""Which policy flies: the hint and the question before a flight name it; a newer one is promoted there, or in the list of runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake import FakeCenter, idle_state
from harness import face, screen_text, until

from data.checkpoint import make_card, save
from data.models import LEVELS, models_dir, promote, promoted_name, write_policy
from data.profile import ARENA_PROFILE
from engine.state import JobState
from tui.panes.actions import ActionsPane
from tui.screens.form import ParametersForm
from tui.screens.runs import RunsScreen

TRAINED = JobState("j", "train", "train all", "done")


def put(workspace: Path, name: str, created: str) -> None:
    for level in LEVELS:
        save(models_dir(workspace) / level / name / "best_model", {"w": np.zeros(2, np.float32)}, make_card(level, ARENA_PROFILE, epoch=1))
    levels = {level: models_dir(workspace) / level / name / "best_model" for level in LEVELS}
    write_policy(models_dir(workspace) / "policies" / name, levels, ARENA_PROFILE, created=created)


def with_policies(workspace: Path) -> FakeCenter:
    """Two policies, of which the older flies."""
    put(workspace, "older", "2026-11-27T10:00:00Z")
    promote(workspace, "older")
    put(workspace, "newer", "2026-11-28T10:00:00Z")
    return FakeCenter(replace(idle_state(str(workspace)), sessions=1, jobs=(TRAINED,), policies=2))


async def test_the_hint_and_the_question_name_the_policy_and_the_newer_one(tmp_path: Path) -> None:
    async with face(with_policies(tmp_path), size=(80, 24)) as (app, pilot, center):
        await until(lambda: "Next: Trained. a flies older, not newer: promote it there first." in screen_text(app))
        await pilot.press("a")
        text = screen_text(app)
        assert "The policy older will move the pointer" in text
        assert "newer is newer, and flies only when it is promoted." in text
        await pilot.press("p")
        await until(lambda: "The policy newer will move the pointer" in screen_text(app))
        assert "then ask again" not in screen_text(app)
        assert promoted_name(tmp_path) == "newer"
        assert center.commands == []
        await pilot.press("escape")
        await until(lambda: app.flier == ("newer", ""))


async def test_a_promoted_policy_that_is_gone_is_named_and_another_offered(tmp_path: Path) -> None:
    center = with_policies(tmp_path)
    shutil.rmtree(models_dir(tmp_path) / "policies" / "older")
    async with face(center, size=(80, 24)) as (app, pilot, _):
        await until(lambda: app.flier == ("older", "newer"))
        await until(lambda: "Next: Trained. a flies older, not newer: promote it there first." in screen_text(app))
        await pilot.press("a")
        await until(lambda: "The policy older is promoted, but it is gone or broken." in screen_text(app))
        assert "It would move the pointer and press keys in:" in screen_text(app)
        assert "newer is newer, and flies only when it is promoted." in screen_text(app)
        await pilot.press("p")
        await until(lambda: "The policy newer will move the pointer" in screen_text(app))
        assert promoted_name(tmp_path) == "newer"


async def test_a_policy_is_promoted_in_the_list_of_runs(tmp_path: Path) -> None:
    center = with_policies(tmp_path)
    run = models_dir(tmp_path) / "executor" / "newer"
    (run / "metrics.jsonl").write_text(json.dumps({"step": 1, "train_loss": 1.0}) + "\n")
    async with face(center) as (app, pilot, _):
        await until(lambda: app.runs.policies and app.runs.found)
        app.open_screen(RunsScreen)
        await until(lambda: "policy older" in screen_text(app))
        lines = screen_text(app).splitlines()
        assert any("policy older" in line and "promoted: it flies" in line for line in lines)
        assert not any("policy newer" in line and "promoted" in line for line in lines)
        await pilot.press("P")
        await until(lambda: "this row is no policy" in screen_text(app))
        await pilot.press("down", "P")  # a run of the same name
        await until(lambda: promoted_name(tmp_path) == "newer")
        await until(lambda: any("policy newer" in line and "promoted: it flies" in line for line in screen_text(app).splitlines()))
        await pilot.press("end", "enter")
        await until(lambda: "a policy is made of three runs; P promotes it" in screen_text(app))
        await pilot.press("P")
        await until(lambda: promoted_name(tmp_path) == "older")


@pytest.mark.parametrize("action", ["train_executor", "train_all", "demo"])
async def test_a_form_opens_with_the_name_of_its_first_field_in_sight(action: str) -> None:
    async with face(size=(80, 24)) as (app, pilot, _):
        app.screen.query_one(ActionsPane).selected = [a.id for a in app.registry.launcher()].index(action)
        await pilot.press("e")
        form = app.screen
        assert isinstance(form, ParametersForm)
        await pilot.pause()
        first = "pilot  who plays" if action == "demo" else "quick  fewer epochs: for a first look"
        await until(lambda: first in screen_text(app))
        if action == "train_all":
            await pilot.press(*["tab"] * 7)
            await until(lambda: "name  of the run and of the policy" in screen_text(app))
            await pilot.press(*["shift+tab"] * 6)
            await until(lambda: "epochs  passes over the sessions" in screen_text(app))
            assert "each level's own, by the preset auto" in screen_text(app)
