"""Runners: the same matches and frames whoever plays them, and nothing lost or counted twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from league.rollout import Chunk, Match, RolloutSettings
from league.runners.base import NextMatches, RunnerSettings, RunnerState, network_of, weights_of
from league.runners.in_process import InProcessRunner
from league.runners.processes import ProcessRunner
from league.trajectories import read_arrays, write_arrays
from tests.league.test_rollout import network

SETTINGS = RunnerSettings(RolloutSettings(worlds=3, seed=2, episode_steps=150), actors=2, unroll=32)


def lister(first: int = 0, players: tuple[str, ...] = ("a", "b", "expert", "a")) -> NextMatches:
    """Matches in order, the learning ones marked."""
    count = first

    def matches(n: int) -> Sequence[Match]:
        nonlocal count
        count += n
        return [Match(i, players, tuple(p == "a" for p in players)) for i in range(count - n, count)]

    return matches


def ready(runner: Any) -> Any:
    runner.set_weights("a", weights_of(network(0)), 4)
    runner.set_weights("b", weights_of(network(1)), 9)
    return runner


def same(one: Sequence[Chunk], other: Sequence[Chunk]) -> None:
    """Bit for bit."""
    for a, b in zip(one, other, strict=True):
        assert a[1:] == b[1:]
        assert (a.sequence is None) == (b.sequence is None)
        if a.sequence is None or b.sequence is None:
            continue
        assert a.sequence.weights_version == b.sequence.weights_version
        for name in ("observation", "action", "behaviour_log_prob", "reward", "terminated", "living", "bootstrap_observation"):
            np.testing.assert_array_equal(getattr(a.sequence, name), getattr(b.sequence, name), err_msg=name)


def test_in_process_resume_is_bit_equal(tmp_path: Path) -> None:
    whole = ready(InProcessRunner(SETTINGS))
    matches = lister()
    for _ in range(7):
        last = whole.collect(matches, 32)
    assert any(c.frames for c in last)
    state = whole.state()
    write_arrays(tmp_path / "runner.npz", state.arrays, state.head)
    resumed = ready(InProcessRunner(SETTINGS))
    resumed.restore(RunnerState(*read_arrays(tmp_path / "runner.npz")))
    mine, theirs = lister(1000), lister(1000)
    for _ in range(6):
        same(whole.collect(mine, 32), resumed.collect(theirs, 32))


def test_each_match_is_played_once_and_frames_add_up() -> None:
    runner = ready(InProcessRunner(SETTINGS))
    matches, played, versions = lister(), [], set[int]()
    for _ in range(12):
        for chunk in runner.collect(matches, 32):
            played += [p.match.number for p in chunk.played]
            versions |= {chunk.sequence.weights_version} if chunk.sequence else set()
            assert chunk.frames == (chunk.sequence.frames if chunk.sequence else 0)
    running = [m.number for m in runner.drop()]
    assert len(running) <= 6
    assert sorted(played + running) == list(range(len(played) + len(running)))
    assert played
    assert versions == {4}


def test_dropped_matches_are_over_and_new_ones_begin() -> None:
    runner = ready(InProcessRunner(SETTINGS))
    runner.collect(lister(), 8)
    assert [m.number for m in runner.drop()] == list(range(6))
    assert runner.drop() == []
    chunks = runner.collect(lister(50), 8)
    assert sum(c.steps for c in chunks) == 6 * 4 * 8
    assert [m.number for m in runner.drop()] == list(range(50, 56))


def test_fewer_matches_than_asked_leave_worlds_idle_and_more_are_refused() -> None:
    runner = ready(InProcessRunner(SETTINGS))
    one = Match(0, ("a", "b", "expert", "a"), (True, False, False, True))
    first, second = runner.collect(lambda n: [one], 8)
    assert (first.steps, second.steps, second.sequence) == (32, 0, None)
    with pytest.raises(ValueError, match="7 matches given, 5 asked for"):
        runner.collect(lambda n: [one] * 7, 8)


def test_staggered_worlds_begin_one_after_another() -> None:
    runner = ready(InProcessRunner(replace(SETTINGS, rollout=replace(SETTINGS.rollout, worlds=5), stagger=3)))
    matches = lister()
    living = [sum(c.steps for c in runner.collect(matches, 2)) // (4 * 2) for _ in range(4)]
    assert living == [4, 8, 10, 10]
    assert [m.number for m in runner.drop()] == [0, 1, 4, 5, 8, 2, 3, 6, 7, 9]


def test_weights_are_copied_and_those_that_fit_nothing_are_refused() -> None:
    weights = weights_of(network(0))
    runner = ready(InProcessRunner(SETTINGS))
    runner.set_weights("a", weights, 4)
    weights["actor.4.weight"][:] = np.nan
    runner.collect(lister(), 4)
    with pytest.raises(ValueError, match="state dict of an ActorCritic is needed"):
        network_of({"x": np.zeros(3)})
    with pytest.raises(ValueError, match=r"actor.4.bias': \(5,\)"):
        network_of({**weights, "actor.4.bias": np.zeros(5, np.float32)})


def test_a_state_of_other_settings_or_torn_is_refused() -> None:
    state = ready(InProcessRunner(SETTINGS)).state()
    with pytest.raises(ValueError, match="resume with the same settings"):
        InProcessRunner(RunnerSettings(RolloutSettings(worlds=4, seed=2), actors=2)).restore(state)
    with pytest.raises(ValueError, match="2 actors, here 1"):
        InProcessRunner(RunnerSettings(SETTINGS.rollout, actors=1)).restore(state)
    with pytest.raises(ValueError, match="is no match"):
        InProcessRunner(SETTINGS).restore(RunnerState(state.arrays, {**state.head, "matches": [["x"] * 3] * 2}))
    del state.arrays["1/tick"]
    with pytest.raises(ValueError, match="saved tick is missing"):
        InProcessRunner(SETTINGS).restore(state)


# Processes. One start takes seconds (more on a busy machine), so that a runner serves several checks.
SMALL = replace(SETTINGS, rollout=replace(SETTINGS.rollout, worlds=2, episode_steps=40), unroll=16)


@pytest.mark.timeout(300)
def test_processes_play_bit_for_bit_what_one_process_plays_and_tell_what_is_wrong() -> None:
    reference = weights_of(network(3))
    alone, apart = ready(InProcessRunner(SMALL)), ready(ProcessRunner(SMALL))
    try:
        with pytest.raises(KeyError, match="players c: no weights are set"):
            apart.collect(lister(players=("c", "b", "expert", "a")), 16)
        assert [m.number for m in apart.drop()] == list(range(4))
        alone.set_reference(reference)
        apart.set_reference(reference)
        mine, theirs = lister(), lister()
        for i in range(4):
            alone.set_weights("a", weights_of(network(i)), i)
            apart.set_weights("a", weights_of(network(i)), i)
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
        with pytest.raises(ValueError, match="unroll 17; its memory holds 1 to 16"):
            apart.collect(theirs, 17)
        broken = {name: values * np.nan for name, values in weights_of(network(0)).items()}
        apart.set_weights("a", broken, 8)
        with pytest.raises(ValueError, match="player a: its logits are not finite"):
            apart.collect(theirs, 16)
    finally:
        apart.close()
        apart.close()


@pytest.mark.timeout(300)
def test_dead_and_silent_actors_are_begun_anew_and_nothing_is_lost_or_counted_twice() -> None:
    alone, apart = ready(InProcessRunner(SMALL)), ready(ProcessRunner(replace(SMALL, ahead=True, patience_s=5.0)))
    try:
        mine, theirs = lister(), lister()
        for i in range(8):
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
            if i in (2, 4):
                os.kill(apart.process_ids[i // 4], signal.SIGKILL)
            if i == 5:
                os.kill(apart.process_ids[0], signal.SIGSTOP)
        assert apart.restarts >= 3
    finally:
        apart.close()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")
@pytest.mark.timeout(300)
def test_an_actor_that_hangs_and_reads_no_weights_is_begun_anew() -> None:
    """Weights that do not fit into a pipe: what is posted to it waits for nobody."""
    alone, apart = ready(InProcessRunner(SMALL)), ready(ProcessRunner(replace(SMALL, patience_s=3.0)))
    try:
        mine, theirs = lister(), lister()
        same(alone.collect(mine, 16), apart.collect(theirs, 16))
        stopped = apart.process_ids[0]
        os.kill(stopped, signal.SIGSTOP)
        large = weights_of(network(5, hidden=256))
        assert sum(values.nbytes for values in large.values()) > 500_000
        for runner in (alone, apart):
            runner.set_weights("a", large, 9)
        same(alone.collect(mine, 16), apart.collect(theirs, 16))
        assert apart.restarts == 1
        assert apart.process_ids[0] != stopped
    finally:
        apart.close()


@pytest.mark.timeout(300)
def test_a_state_of_processes_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    """Weights change with every rollout; the one that was begun ahead is played again with those that it was begun with."""
    settings = replace(SMALL, actors=1, ahead=True)
    whole, other, alone = ready(ProcessRunner(settings)), ready(ProcessRunner(settings)), ready(InProcessRunner(replace(settings)))
    try:
        matches = lister()
        for i in range(5):
            whole.set_weights("a", weights_of(network(10 + i)), i)
            whole.collect(matches, 16)
        write_arrays(tmp_path / "runner.npz", *whole.state())
        state = RunnerState(*read_arrays(tmp_path / "runner.npz"))
        alone.restore(state)
        other.restore(state)
        again = other.state()  # before anything was played
        assert again.head == state.head
        assert again.arrays.keys() == state.arrays.keys()
        mine, theirs = lister(100), lister(100)
        for i in range(5, 9):
            for runner in (whole, other):
                runner.set_weights("a", weights_of(network(10 + i)), i)
            same(whole.collect(mine, 16), other.collect(theirs, 16))
        assert [m.number for m in whole.drop()] == [m.number for m in other.drop()]
        # In one process, begun with other weights, at least the matches are the same and none is missing.
        begun = {number for (_, (number, *_)) in state.head["begun"][0]}
        running = {told[0] for told in state.head["matches"][0] if told}
        played = {p.match.number for _ in range(6) for chunk in alone.collect(lister(100), 16) for p in chunk.played}
        assert begun | running <= played
    finally:
        whole.close()
        other.close()
