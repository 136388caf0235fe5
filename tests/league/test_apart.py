"""Actors apart, without the processes: they die at any moment, and runs that are gone on with are those that never stopped."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from league.league import run_league
from league.league_run import LeagueRun
from league.rollout import Chunk, Match
from league.runners.apart import MOST_RESTARTS, Failed, Posted, RunnerApart
from league.runners.base import RunnerError, RunnerSettings, weights_of
from league.runners.in_process import InProcessRunner
from league.runners.ray_actor import LOST, Before, Fresh, Rolled, RolloutServer
from tests.league.test_league import outcome, pi_sup, small, stop_after
from tests.league.test_rollout import network
from tests.league.test_runners import SMALL, lister, ready, same

pytestmark = pytest.mark.timeout(180)  # on a busy machine
__all__ = ["pi_sup"]


class Near:
    """A link to an actor in this process, which dies as ``dice`` say."""

    def __init__(self, settings: RunnerSettings, dice: random.Random | None = None, often: float = 0.5) -> None:
        self.settings, self.dice, self.often = settings, dice, often
        self.kept: Mapping[str, Any] = {}
        self.begin_anew()

    def begin_anew(self) -> None:
        self.server = RolloutServer(self.settings, lambda held: held)
        self.known: dict[str, Any] = {}
        self.reference: Any = object()

    def dies(self) -> bool:
        return self.dice is not None and self.dice.random() < self.often

    def send(self, posted: Posted, serial: int, before: Sequence[Match | None] | None) -> None:
        if before is not None:
            self.known, self.reference = {}, object()
        new = {p: ((held,), version) for p, (held, version) in posted.told.players.items() if self.known.get(p) is not held}
        reference = None if posted.told.reference is self.reference else (posted.told.reference,)
        self.known |= {player: held for player, (held, _) in posted.told.players.items()}
        self.reference = posted.told.reference
        if self.dies():  # and another comes in its place that knows nothing
            self.server = RolloutServer(self.settings, lambda held: held)
        start = None if before is None else Before(self.kept, list(before))
        self.rolled = self.server.play(serial, start, Fresh(new, reference), posted.matches, posted.unroll)

    def answer(self) -> Chunk | Failed | None:
        if isinstance(self.rolled, Failed):
            return self.rolled
        if not isinstance(self.rolled, Rolled) or self.dies():
            assert isinstance(self.rolled, Rolled) or self.rolled == LOST
            return None
        self.keep(0, self.rolled.worlds)
        return self.rolled.chunk

    def why_dead(self) -> str:
        return "by chance"

    def worlds(self, serial: int) -> Mapping[str, Any]:
        return self.kept

    def keep(self, serial: int, worlds: Mapping[str, Any]) -> None:
        self.kept = {name: values.copy() for name, values in worlds.items()}

    def close(self, busy: bool) -> None: ...


def test_actors_that_die_all_the_time_play_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.runners.apart.MOST_RESTARTS", 1000)
    dice = random.Random(5)
    apart = ready(RunnerApart(SMALL, [Near(SMALL, dice) for _ in range(SMALL.actors)]))
    alone = ready(InProcessRunner(SMALL))
    mine, theirs = lister(), lister()
    for i in range(12):
        for runner in (alone, apart):
            runner.set_weights("a", weights_of(network(i)), i)
            runner.set_reference(weights_of(network(i // 4)))
        same(alone.collect(mine, 16), apart.collect(theirs, 16))
        if i % 3 == 2:  # a learner is reset; nobody's weights are new, and who comes in its place lacks them all
            assert alone.drop() == apart.drop()
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
    assert apart.restarts > 10
    assert alone.drop() == apart.drop()


def test_an_actor_that_dies_too_often_is_an_error_that_says_why() -> None:
    apart = ready(RunnerApart(replace(SMALL, actors=1), [Near(SMALL, random.Random(0), often=1.0)]))
    with pytest.raises(RunnerError, match=rf"actor 0: died {MOST_RESTARTS + 1} times in one rollout \(by chance\)"):
        apart.collect(lister(), 16)


def near(run: LeagueRun) -> RunnerApart:
    settings = run.runner_settings()
    assert settings.ahead
    return RunnerApart(settings, [Near(settings) for _ in range(settings.actors)])


def test_a_league_with_actors_ahead_goes_on_as_if_it_had_never_stopped(pi_sup: Path, tmp_path: Path) -> None:
    run = small(pi_sup, runner="processes", rounds=3)
    run_league(run, tmp_path / "whole", runner_for=near)
    result = run_league(run, tmp_path / "parts", stop=stop_after(1), runner_for=near)
    sittings = 0
    while result.interrupted:
        result = run_league(run, tmp_path / "parts", stop=stop_after(1 + sittings % 4), resume=True, runner_for=near)
        sittings += 1
    assert sittings > 5
    assert any("starts anew" in note for note in result.notes) or result.snapshots > 3
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")
