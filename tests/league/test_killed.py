"""``kill -9`` with actors in processes, of everything at once, of the learner and of an actor alone: whatever goes on afterwards is,
to the bit, the run that was never killed."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data import checkpoint
from league.losses import UpdateSettings
from league.refine import RefineSettings
from tests.league.test_league import outcome, pi_sup, small

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(os.name != "posix", reason="needs fork and kill -9")]  # on a busy machine
__all__ = ["pi_sup"]

# One Python that has imported everything; each sitting is a fork of it, in a process group of its own with its actors.
DRIVER = """
    import os, pickle, signal, sys, time
    import psutil, torch
    torch.set_num_threads(1)
    from league.league import run_league
    from league.refine import refine

    first, work, folders, kills = pickle.load(sys.stdin.buffer)

    def sit(folder, work=work):
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            try:
                if work[0] == "league":
                    run_league(work[1], folder, resume=True)
                else:
                    refine(work[1], work[2], folder, resume=True)
            except BaseException as error:
                print("sitting:", repr(error), flush=True)
                os._exit(1)
            os._exit(0)
        return child

    def over(child):
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(child):
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), status

    def lines(folder):
        path = folder / "metrics.jsonl"
        return path.read_bytes().count(b"\\n") if path.exists() else 0

    def family(child):
        return psutil.Process(child).children(recursive=True)

    whole, folder = folders
    end(sit(whole, first))
    child = None
    for what, iterations, wait_s in kills:
        child = child or sit(folder)
        began = lines(folder)
        while lines(folder) < began + iterations and not over(child):
            time.sleep(0.001)
        time.sleep(wait_s)
        if over(child):
            break
        relatives = family(child)
        if what == "actor":
            actors = [p for p in relatives if p.ppid() != child]
            os.kill(actors[0].pid, signal.SIGKILL)
        elif what == "learner":
            os.kill(child, signal.SIGKILL)
        else:
            os.killpg(child, signal.SIGKILL)
        print("killed", what, "after", lines(folder) - began, flush=True)
        if what != "actor":
            end(child)
            child = None
            _, left = psutil.wait_procs(relatives, timeout=30)
            assert not left, left
    end(child or sit(folder))
"""


def killed(work: tuple[Any, ...], tmp_path: Path, kills: list[tuple[str, int, float]], first: tuple[Any, ...] = ()) -> None:
    """Does ``first`` (without: ``work``) in ``whole`` uninterrupted, and ``work`` in ``parts`` with all those kills."""
    told = pickle.dumps((first or work, work, (tmp_path / "whole", tmp_path / "parts"), kills))
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(DRIVER)]
    done = subprocess.run(command, input=told, capture_output=True, check=False, timeout=590)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stdout.count(b"killed ") == len(kills), done.stdout.decode()


def league_killed_thrice(pi_sup: Path, tmp_path: Path, **where: Any) -> None:
    """A league by the runner of ``where`` is, killed at three random moments, the one by processes that never was."""
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    kills = [("all", dice.randrange(1, 4), dice.random() * 0.1) for _ in range(3)]
    run = small(pi_sup, runner="processes", rounds=3, save_every_s=0.0)
    killed(("league", replace(run, **where)), tmp_path, kills, ("league", run))
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole"), f"moments of seed {seed}: {kills}"


def test_a_league_killed_at_three_random_moments(pi_sup: Path, tmp_path: Path) -> None:
    league_killed_thrice(pi_sup, tmp_path)


def test_a_refinement_loses_an_actor_then_the_learner_then_all(pi_sup: Path, tmp_path: Path) -> None:
    settings = RefineSettings(
        iterations=14,
        actor_rollouts=1,
        worlds=4,
        episode_steps=40,
        stagger=2,
        actors=2,
        update=UpdateSettings(unroll_steps=16, sequences=4),
        evaluate_every=0,
        checkpoint_every=2,
    )
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    kills = [(what, dice.randrange(2, 4), dice.random() * 0.05) for what in ("actor", "learner", "all")]
    killed(("refine", pi_sup, settings), tmp_path, kills)
    mine, theirs = (checkpoint.load(tmp_path / part / "checkpoint_iteration_14") for part in ("whole", "parts"))
    assert mine.tensors.keys() == theirs.tensors.keys()
    assert all(np.array_equal(values, theirs.tensors[name]) for name, values in mine.tensors.items()), f"seed {seed}: {kills}"
    counted = [[_timeless(line) for line in (tmp_path / part / "metrics.jsonl").read_text().splitlines()] for part in ("whole", "parts")]
    assert counted[0] == counted[1]
    assert [row["iteration"] for row in counted[1]] == list(range(1, 15))
    assert replace(settings, runner="in-process").fixed() == settings.fixed()


def _timeless(line: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if not name.endswith(("_s", "seconds"))}
