"""Teaching as the engine's job, and what stands before it: pictures and proposals, and how far it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from data.profile import GameProfile
from data.workspace import Workspace
from engine.commands import COMMANDS
from engine.runtime.jobs import ONE_AT_A_TIME
from engine.state import JobState
from engine.teach import TeachProject
from engine.teach_facts import facts_of
from engine.teach_prepare import prepare
from engine.work import WORK
from tests.support.teaching import PROFILE, Squares, record


class Jobs:
    def __init__(self) -> None:
        self.started: list[tuple[str, str, dict[str, Any]]] = []

    def start(self, kind: str, title: str, arguments: dict[str, Any]) -> str:
        self.started.append((kind, title, arguments))
        return "j1"

    def states(self) -> tuple[JobState, ...]:
        return (JobState("j1", "teach", "teach squares", "running"),)


def test_the_command_starts_the_job_with_the_profile_it_was_given(tmp_path: Path) -> None:
    jobs = Jobs()
    center = cast("Any", SimpleNamespace(jobs=jobs, workspace=Workspace(tmp_path)))
    told = asyncio.run(COMMANDS["teach"](center, profile=PROFILE.model_dump(mode="json"), epochs=3))
    assert told == "started: teach squares (j1)"
    kind, title, arguments = jobs.started[0]
    assert (kind, title) == ("teach", "teach squares")
    assert kind in WORK
    assert kind in ONE_AT_A_TIME  # it takes the whole machine, as every training
    assert GameProfile.model_validate(arguments["profile"]) == PROFILE
    assert arguments["epochs"] == 3
    with pytest.raises(ValueError, match="name"):
        asyncio.run(COMMANDS["teach"](center, profile={}))


def test_preparing_takes_what_is_missing_and_tells_how_far_it_is(tmp_path: Path) -> None:
    project = TeachProject(tmp_path, PROFILE)
    facts = facts_of(project)
    assert (facts.pictures, facts.recordings, facts.missing, facts.model) == (0, 0, 8, None)
    assert "no recording of games.squares" in facts.no_recordings
    record(tmp_path, Squares(1), 4.0)
    shares: list[float] = []
    prepared = prepare(project, 5, report=lambda progress: shares.append(progress.done))
    assert (prepared.asked, prepared.taken) == (5, 5)
    assert prepared.lines()[0] == "5 pictures taken from the recordings"
    assert "boxes proposed in 5 pictures" in prepared.lines()[1]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    again = prepare(project, 5)
    assert (again.asked, again.taken) == (0, 0)
    for picture in project.pictures():
        project.save(picture.id, (), "confirmed")
    assert prepare(project, 5).lines() == []
    facts = facts_of(project)
    assert (facts.pictures, facts.confirmed, facts.to_look_at, facts.missing, facts.recordings) == (5, 5, 0, 3, 1)


def test_preparing_can_be_stopped_and_keeps_what_was_taken(tmp_path: Path) -> None:
    record(tmp_path, Squares(1), 4.0)
    project = TeachProject(tmp_path, PROFILE)
    with pytest.raises(KeyboardInterrupt):
        prepare(project, 5, should_stop=lambda: len(project.pictures()) == 2)
    assert len(TeachProject(tmp_path, PROFILE).pictures()) == 2
