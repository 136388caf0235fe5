"""An evaluation as a job: on recordings of the policy's own game nothing is flown, and what does not fit is said before it starts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from data.catalog import SessionNotFound
from data.profile import ARENA_PROFILE
from data.settings import Settings
from data.workspace import Workspace
from engine import work
from engine.commands import COMMANDS, EngineError
from engine.comparison import read_evaluations
from tests.support.policies import as_if_of
from tests.support.sessions import write_play
from tests.trainers.synthetic import session

MINE = ARENA_PROFILE.model_copy(update={"name": "mine"})


class Center:
    """As much of an engine as the command needs; ``started``: the arguments of the jobs, as their processes get them."""

    def __init__(self, folder: Path, policy: Path) -> None:
        self.started: list[dict[str, Any]] = []
        self.workspace, self.settings, self._policy = Workspace(folder), Settings(), policy
        self.jobs = SimpleNamespace(start=self._start, states=tuple)

    def _start(self, kind: str, title: str, arguments: dict[str, Any]) -> str:
        assert (kind, title) == ("evaluate", f"evaluate {self._policy.name}")
        self.started.append(json.loads(json.dumps(arguments)))
        return "job-1"

    def policy_path(self, name: str) -> Path:
        return self._policy

    def evaluate(self, **asked: Any) -> str:
        return asyncio.run(COMMANDS["evaluate"](cast("Any", self), **asked))


def test_a_policy_of_another_game_needs_recordings_before_a_job_starts(bundle: Path, tmp_path: Path) -> None:
    center = Center(tmp_path, as_if_of(bundle, tmp_path / "theirs", MINE))
    arena = write_play(tmp_path, session(6, seed=5))
    with pytest.raises(EngineError, match=r"theirs plays mine, not the arena: .* name some of mine as its sessions"):
        center.evaluate(sessions=" , ")
    with pytest.raises(ValueError, match=f"{arena} does not fit theirs: game arena instead of mine"):
        center.evaluate(sessions="last")
    with pytest.raises(SessionNotFound, match="there is no session 'nothing'"):
        center.evaluate(sessions=f"nothing,{arena}")
    assert center.started == []


def test_it_judges_on_the_recordings_and_keeps_what_it_found(bundle: Path, tmp_path: Path) -> None:
    names = [write_play(tmp_path, session(6, seed=seed), MINE) for seed in range(4)]
    theirs = as_if_of(bundle, tmp_path / "theirs", MINE, session_ids=names)
    later = write_play(tmp_path, session(6, seed=6), MINE)
    center = Center(tmp_path, theirs)
    assert center.evaluate(episodes=50, sessions=f"last, {names[0]},{later}") == "started: evaluate theirs (job-1)"
    (asked,) = center.started
    assert asked == {"workspace": str(tmp_path), "policy": str(theirs), "sessions": [later, names[0]]}, "what last was then"
    stages: list[str] = []
    told = work.WORK["evaluate"](lambda progress: stages.append(progress.stage), **asked)
    assert told.startswith(f"judged on 0.2 min of {later}, {names[0]} (")
    assert "; not flown; theirs learnt from" in told or f"; not flown; {names[0]} was held out" in told
    assert "judging" in stages
    (kept,), wrong = read_evaluations(tmp_path)
    assert wrong == []
    assert (kept.policy, kept.game, kept.rungs) == ("theirs", "mine", ())
    assert kept.play.startswith(f"{later}, {names[0]} (")
