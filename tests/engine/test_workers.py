"""Worker processes: results in order, and nobody waits for one that was killed."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import active_children

import pytest

from engine.runtime.workers import worker_processes
from tests.support.served import wait_for


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    return number


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def test_results_come_in_the_order_of_the_work() -> None:
    with worker_processes(2) as pool:
        assert list(pool.map(double, range(6))) == [0, 2, 4, 6, 8, 10]


def test_a_worker_that_is_killed_is_an_error_and_no_wait() -> None:
    with pytest.raises(RuntimeError, match=r"ended from outside.*fewer at once"), worker_processes(1) as pool:
        list(pool.map(die, range(3)))


def test_workers_end_with_the_block() -> None:
    before = {*active_children()}

    def stopped() -> None:
        with worker_processes(1) as pool:
            pool.submit(sleep, 300.0)
            wait_for(lambda: bool({*active_children()} - before))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    wait_for(lambda: not {*active_children()} - before)
