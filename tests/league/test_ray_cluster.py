"""Joining a Ray cluster: what goes wrong there is said in time, in one line."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from league.league_run import LeagueError, LeagueRun
from league.refine_settings import RefineError, RefineSettings
from league.rollout import RolloutSettings
from league.runners import ray_cluster
from league.runners.base import RunnerError, RunnerSettings, weights_of
from league.runners.ray_actor import LOST, Before, Fresh, Rolled, RolloutServer
from league.runners.ray_cluster import LEAST_STORE_BYTES, store_bytes_for, try_address
from tests.league.test_rollout import network
from tests.league.test_runners import lister

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra: ray)")


@pytest.mark.parametrize("address", ["10.0.0.1", "ray://10.0.0.1:10001", ":6379", "host:port", "host:0", "host:70000"])
def test_what_is_no_address_is_said_at_once(address: str) -> None:
    with pytest.raises(RunnerError, match="is not HOST:PORT or auto"):
        try_address(address)


def test_an_address_where_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    began_s = time.monotonic()
    with pytest.raises(RunnerError, match=f"{address} does not answer .*ray start --head"):
        try_address(address)
    assert time.monotonic() - began_s < 10


@needs_ray
@pytest.mark.timeout(120)
def test_an_address_that_is_silent_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        began_s = time.monotonic()
        with pytest.raises(RunnerError, match=f"{address} does not answer as Ray does within 4 s"):
            try_address(address, answer_s=4.0)
        assert 4 <= time.monotonic() - began_s < 20


def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(ray_cluster.importlib.util, "find_spec", lambda name, *more: None if name == "ray" else find(name, *more))
    with pytest.raises(RunnerError, match=r"Ray is not installed; .* -m pip install -c constraints.txt -e '.\[ray\]'"):
        ray_cluster.need_ray()


@pytest.mark.timeout(300)  # on a busy machine
def test_our_code_needs_no_ray_until_it_is_asked_for() -> None:
    code = "import sys; import league.runners.ray_runner, league.runners.ray_probe; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"False"


@needs_ray
def test_the_probe_says_what_goes_wrong_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    from league.runners import ray_probe

    class Broken:
        @staticmethod
        def init(**how: Any) -> None:
            raise RuntimeError("Version mismatch: The cluster was started with\nRay: 1.0")

    monkeypatch.setattr(ray_probe, "need_ray", Broken)
    assert json.loads(json.dumps(ray_probe.probe("auto"))) == {"error": "Version mismatch: The cluster was started with"}


def test_an_address_is_for_ray_alone_and_changes_no_run() -> None:
    with pytest.raises(LeagueError, match="only for runner ray, not for processes"):
        LeagueRun(address="auto")
    with pytest.raises(RefineError, match="only for runner ray, not for in-process"):
        RefineSettings(runner="in-process", address="auto")
    assert LeagueRun(runner="ray", address="auto").recipe() == LeagueRun().recipe()
    assert RefineSettings(runner="ray", address="auto").fixed() == RefineSettings().fixed()
    told = LeagueRun(runner="ray", actors=2).runner_settings()
    assert (told.ahead, told.actors, told.cores) == (True, 2, pytest.approx(1 / 3))
    assert RefineSettings(runner="ray").runner_settings().cores == 1


def test_the_object_store_is_large_enough_and_not_too_large() -> None:
    assert store_bytes_for(0) == LEAST_STORE_BYTES
    assert store_bytes_for(10**8) == 2 * 10**8
    assert store_bytes_for(10**15) < 10**15


def test_an_actor_that_was_started_anew_says_that_it_is_lost() -> None:
    settings = RunnerSettings(RolloutSettings(worlds=2, seed=1, episode_steps=40), unroll=8)
    weights = {"w": weights_of(network(0)), "v": weights_of(network(1))}
    fetched: list[str] = []

    def fetch(ref: str) -> Any:
        fetched.append(ref)
        return weights[ref]

    matches = dict(enumerate(lister(players=("a", "b", "expert", "a"))(2)))
    all_new = Fresh({"a": (("w",), 1), "b": (("v",), 1)}, None)
    first, anew = (RolloutServer(settings, fetch) for _ in range(2))
    assert anew.play(1, None, all_new, matches, 8) == LOST
    one = first.play(1, Before({}, [None, None]), all_new, matches, 8)
    assert isinstance(one, Rolled)
    before = {name: values.copy() for name, values in one.worlds.items()}
    assert fetched == ["w", "v"]  # who is lost fetches nothing
    two = first.play(2, None, Fresh({}, ("w",)), {}, 8)
    assert first.play(2, None, Fresh({}, None), {}, 8) == LOST  # a rollout that was asked for twice is not played twice
    again = anew.play(2, Before(before, list(matches.values())), Fresh(all_new.players, ("w",)), {}, 8)
    assert isinstance(two, Rolled)
    assert isinstance(again, Rolled)
    assert again.chunk[1:] == two.chunk[1:]
    assert all((again.worlds[name] == values).all() for name, values in two.worlds.items())
    failed = first.play(3, Before(before, list(matches.values())), Fresh({"a": (("w",), 1)}, None), {0: matches[0]}, 8)
    assert failed == ("ValueError", f"world 0: match {matches[0]} is not over; begin match 0 in another world")
    assert first.play(4, None, Fresh({}, None), {}, 8) == LOST
