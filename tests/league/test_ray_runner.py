"""Actors on the machines of a Ray cluster, here several on one machine: whoever dies, the same matches are played to the same numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from league.runners import ray_cluster
from league.runners.base import RunnerError, RunnerState, weights_of
from league.runners.choose import make_runner
from league.runners.in_process import InProcessRunner
from league.runners.ray_runner import RayRunner
from league.trajectories import read_arrays, write_arrays
from tests.league.test_killed import league_killed_thrice, pi_sup
from tests.league.test_rollout import network
from tests.league.test_runners import SMALL, lister, ready, same

__all__ = ["pi_sup"]

try:
    ray_cluster.need_ray()  # it reads its settings as it is imported
except RunnerError:
    pytest.skip("Ray is not installed (extra: ray)", allow_module_level=True)
pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]  # on a busy machine; Ray's warnings are not ours


class Machines:
    """A cluster of a head and two more with a core each, as processes here."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": ray_cluster.LEAST_STORE_BYTES}
        # A machine that answers nothing is given up after some seconds, not half a minute.
        soon = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}
        head = {**small, "include_dashboard": False, "_system_config": soon}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.more = [self.cluster.add_node(**small) for _ in range(2)]
        self.address: str = self.cluster.address

    def lose_one_of(self, nodes: list[str]) -> None:
        """Kill all processes of a machine that is not the learner's."""
        lost = next(node for node in self.more if node.node_id in nodes)
        self.cluster.remove_node(lost, allow_graceful=False)
        self.more.remove(lost)


def none_left(before: set[int]) -> None:
    """All processes that came since are gone."""
    new = [process for process in psutil.Process().children(recursive=True) if process.pid not in before]
    _, left = psutil.wait_procs(new, timeout=30)
    assert not left


@pytest.fixture
def machines() -> Iterator[Machines]:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    made = Machines()
    yield made
    made.cluster.shutdown()
    none_left(before)


def places(runner: RayRunner) -> tuple[list[str], list[int]]:
    """Nodes and processes of the actors."""
    from ray._private import state

    told = [state.actors(link.actor._actor_id.hex())["Address"] for link in runner._links]
    found = [state.actors(link.actor._actor_id.hex())["Pid"] for link in runner._links]
    return [one["NodeID"] for one in told], found


def test_an_actor_killed_and_a_machine_lost_in_mid_run_lose_nothing_and_count_nothing_twice(
    machines: Machines, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def ours(number: int, frame: Any) -> None: ...

    before = signal.signal(signal.SIGTERM, ours)
    reference = weights_of(network(3))
    alone, apart = ready(InProcessRunner(SMALL)), ready(make_runner("ray", replace(SMALL, ahead=True, patience_s=60.0), machines.address))
    try:
        assert signal.getsignal(signal.SIGTERM) is ours
        for runner in (alone, apart):
            runner.set_reference(reference)
        mine, theirs = lister(), lister()
        same(alone.collect(mine, 16), apart.collect(theirs, 16))
        nodes, (pid, other) = places(apart)
        assert len(set(nodes)) == 2
        assert pid > 0 < other  # 0 would be all of us
        for i in range(6):
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
            if i == 1:  # it does not begin the rollout that is posted next, and so dies within it
                time.sleep(1.0)
                os.kill(pid, signal.SIGSTOP)
            if i == 2:
                os.kill(pid, signal.SIGKILL)
            if i == 4:
                write_arrays(tmp_path / "state.npz", *apart.state())
                machines.lose_one_of(places(apart)[0])
        patient_until_s = time.monotonic() + 120
        while apart.restarts < 2 and time.monotonic() < patient_until_s:  # an actor outlives its machine's Ray for some moments
            time.sleep(0.2)
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
        assert apart.restarts >= 2
        for runner in (alone, apart):
            runner.restore(RunnerState(*read_arrays(tmp_path / "state.npz")))
        mine, theirs = lister(100), lister(100)
        for _ in range(2):
            same(alone.collect(mine, 16), apart.collect(theirs, 16))
        assert {m.number for m in alone.drop()} <= {m.number for m in apart.drop()}
        os.kill(places(apart)[1][0], signal.SIGKILL)  # nobody's weights are new: the one in its place lacks them all
        mine, theirs = lister(150), lister(150)
        same(alone.collect(mine, 16), apart.collect(theirs, 16))
        apart.drop()
        with pytest.raises(KeyError, match="players c: no weights are set"):
            apart.collect(lister(200, players=("c", "b", "expert", "a")), 16)
        with pytest.raises(RunnerError, match=r"4 actors were asked for, the cluster has 2 cores; use --actors 2"):
            make_runner("ray", replace(SMALL, actors=4), machines.address)
    finally:
        apart.close()
        apart.close()
        signal.signal(signal.SIGTERM, before)
    assert not ray_cluster.need_ray().is_initialized()
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="needs fork and kill -9")
def test_a_league_on_a_cluster_killed_at_three_random_moments(machines: Machines, pi_sup: Path, tmp_path: Path) -> None:
    league_killed_thrice(pi_sup, tmp_path, runner="ray", address=machines.address)


def test_the_command_plays_by_a_ray_of_its_own_and_ends_it(tmp_path: Path) -> None:
    import torch

    from league.learner import LeagueLearner
    from league.network import ActorCritic

    torch.manual_seed(0)
    LeagueLearner(ActorCritic(16)).save(tmp_path / "pi_sup", role="pi_sup")
    options = "--runner ray --iterations 2 --worlds 2 --unroll 16 --sequences 4 --evaluate-every 0 --json --output pi_rl"
    command = [sys.executable, "-c", "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))", "--workspace", str(tmp_path)]
    words = ["league", "refine", "--supervised-checkpoint", str(tmp_path / "pi_sup"), *options.split()]
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # a short path: Ray makes sockets in it
        environment = {**os.environ, "RAY_TMPDIR": folder}
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=500, cwd=tmp_path, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["iterations"] == 2
        assert "ray" not in done.stderr.lower().replace(str(tmp_path), "")
        assert list(Path(folder).glob("**/session_*"))
        left = [p for p in psutil.process_iter(["cmdline"]) if folder in " ".join(p.info["cmdline"] or [])]
        assert not psutil.wait_procs(left, timeout=30)[1]
