"""Being part of a Ray cluster: one that stands somewhere, or one of this process alone.

Ray's own client waits for minutes when nobody answers, cannot be interrupted meanwhile, and fills the terminal. So another process
tries the address first, and is ended when its time is over.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Generator, Mapping
from types import ModuleType
from typing import Any, Final

import psutil

from league.runners.base import RunnerError

ANSWER_S: Final = 60.0
"""Within which a cluster has to take us in. Most of it is for starting Python on a busy machine."""
CONNECT_S: Final = 10.0
"""Within which the machine at an address has to answer at all."""
LEAST_STORE_BYTES: Final = 80 * 2**20
"""Ray's own minimum is a little less."""
MOST_STORE_SHARE: Final = 0.3
"""Of the memory of this machine, as Ray does it."""
_SETTINGS: Final = {
    "RAY_raylet_start_wait_time_s": "120",  # a machine may be busy
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to Ray's makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # no hint about graphics cards
}
_PROBE: Final = "league.runners.ray_probe"

_users = 0
"""Runners that need this process's connection, of which Ray allows one: the last one out ends it."""


def need_ray() -> ModuleType:
    """Ray itself, told to be quiet. Raises RunnerError saying how to install it."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if importlib.util.find_spec("ray") is None:
        raise RunnerError(
            "runner ray: Ray is not installed; from the folder of Secondseat type: "
            f"{sys.executable} -m pip install -c constraints.txt -e '.[ray]'  (or leave out --runner ray: processes need nothing)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
    return ray


def join(address: str, cores: int, store_bytes: int) -> ModuleType:
    """Ray, connected to the cluster at ``address`` (``HOST:PORT``; ``auto``: the one that this machine is part of), or to a new one of
    this machine with at least ``cores`` cores and room for ``store_bytes`` of objects; ``leave`` ends it.

    A process that is connected already stays where it is. Raises RunnerError when Ray is missing, nobody answers in time, or the
    cluster has fewer cores.
    """
    global _users
    ray = need_ray()
    if not ray.is_initialized():
        if address:
            try_address(address)
        with _signals_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _connect(ray, address, cores, store_bytes)
        _users = 0
    elif _users == 0:
        _users = 1  # who connected before us keeps the connection
    _users += 1
    found = int(ray.cluster_resources().get("CPU", 0))
    if found < cores:
        leave()
        raise RunnerError(
            f"runner ray: {cores} actors were asked for, the cluster has {found} cores; use --actors {found}, or add machines"
        )
    return ray


def leave() -> None:
    """One runner less needs the connection."""
    global _users
    _users -= 1
    if _users == 0:
        ray = need_ray()
        with warnings.catch_warnings(), _signals_kept():
            warnings.simplefilter("ignore")
            ray.shutdown()


def _connect(ray: Any, address: str, cores: int, store_bytes: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "include_dashboard": None if address else False}
    mine: dict[str, Any] = (
        {} if address else {"num_cpus": max(os.cpu_count() or 1, cores), "num_gpus": 0, "object_store_memory": store_bytes}
    )
    try:
        ray.init(address=address or "local", **quiet, **mine)
    except (RuntimeError, OSError, ValueError) as error:
        what = f"the cluster at {address}" if address else "a Ray of this machine's own"
        raise RunnerError(f"runner ray: {what} cannot be joined ({_first_line(error)})") from error
    # Ray writes deaths of its processes to our stdout whatever it was told; the runner says itself what matters.
    worker = sys.modules.get("ray._private.worker")
    if hasattr(worker, "_worker_logs_enabled"):
        setattr(worker, "_worker_logs_enabled", False)  # noqa: B010 - not Ray's public interface


def store_bytes_for(held_bytes: int) -> int:
    """Size of an own object store that ``held_bytes`` at once are to fit into."""
    most = int(psutil.virtual_memory().total * MOST_STORE_SHARE)
    return max(LEAST_STORE_BYTES, min(2 * held_bytes, most))


def try_address(address: str, answer_s: float = ANSWER_S, connect_s: float = CONNECT_S) -> Mapping[str, Any]:
    """What a cluster that takes us in tells of itself. Raises RunnerError, within both times together, when it does not."""
    if address != "auto":
        _knock(address, connect_s)
    command = [sys.executable, "-W", "ignore", "-m", _PROBE, address]
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=answer_s,
            check=False,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise RunnerError(f"runner ray: {address} does not answer as Ray does within {answer_s:.0f} s; {_ADVICE}") from error
    try:
        told = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        told = {"error": f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[-300:]}"}
    if "error" in told:
        raise RunnerError(f"runner ray: {address}: {told['error']}. {_ADVICE_JOIN}")
    return told


_ADVICE: Final = "start Ray there with: ray start --head --port=6379, and look at the address and the firewall"
_ADVICE_JOIN: Final = (
    "This machine has to be part of the cluster, with the same Ray and Python: ray start --address=HOST:6379 (docs/many-machines.md)"
)


def _knock(address: str, connect_s: float) -> None:
    """Raises RunnerError when nothing listens there."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536 or "/" in host:
        raise RunnerError(f"runner ray: address {address!r} is not HOST:PORT or auto; Ray's port is 6379 unless it was told another")
    try:
        socket.create_connection((host.strip("[]"), int(port)), connect_s).close()
    except OSError as error:
        raise RunnerError(f"runner ray: {address} does not answer ({error.strerror or error}); {_ADVICE}") from error


@contextlib.contextmanager
def _signals_kept() -> Generator[None]:
    """Ray puts handlers of its own in place of ours."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
