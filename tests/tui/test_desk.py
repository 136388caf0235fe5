from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from data.progress import Progress, Report
from tui.desk import Cancelled, Desk


class Loop:
    """What is posted is run by the test's own thread."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Callable[[], object]] = queue.Queue()

    def run_one(self) -> None:
        self.calls.get(timeout=5)()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def desk(loop: Loop) -> Iterator[Desk]:
    desk = Desk(loop.calls.put)
    yield desk
    assert desk.close() == []


def test_quick_changes_keep_their_order_and_an_error_does_not_stop_the_next(loop: Loop, desk: Desk) -> None:
    said: list[Any] = []

    def broken() -> None:
        raise OSError("disk full")

    desk.quick(lambda: time.sleep(0.05) or 1, said.append, said.append)
    desk.quick(broken, said.append, lambda error: said.append(str(error)))
    desk.quick(lambda: 3, said.append, said.append)
    for _ in range(3):
        loop.run_one()
    assert said == [1, "disk full", 3]


def test_long_work_is_one_at_a_time_tells_its_progress_and_can_be_stopped(loop: Loop, desk: Desk) -> None:
    reported, said = threading.Event(), list[Any]()

    def work(report: Report) -> None:
        for share in range(1000):
            report(Progress("copying", share / 1000, 2.0))
            reported.set()
            time.sleep(0.005)

    assert desk.long("merging", work, said.append, said.append)
    assert not desk.long("another", work, said.append, said.append)
    assert reported.wait(5)
    doing = desk.doing
    assert doing is not None
    assert (doing.title, doing.stage, doing.eta_s) == ("merging", "copying", 2.0)
    assert desk.busy() == ["merging"]
    assert desk.cancel()
    loop.run_one()
    assert len(said) == 1
    assert isinstance(said[0], Cancelled)
    assert desk.doing is None
    assert desk.long("the next", lambda report: 5, said.append, said.append)
    loop.run_one()
    assert said[-1] == 5


def test_closing_stops_long_work_and_leaves_no_thread(loop: Loop) -> None:
    before = threading.active_count()
    desk = Desk(loop.calls.put)
    begun = threading.Event()

    def work(report: Report) -> None:
        while True:
            report(Progress("", 0.5))
            begun.set()
            time.sleep(0.005)

    desk.long("exporting", work, lambda _: None, lambda _: None)
    desk.quick(lambda: None, lambda _: None, lambda _: None)
    assert begun.wait(5)
    assert desk.close() == []
    assert threading.active_count() == before
