"""Mailboxes, pacing, services, supervisor: the parts everything else stands on."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from engine.runtime.mailbox import Newest
from engine.runtime.pacing import Pacer, Rate, Schedule
from engine.runtime.service import TaskService, ThreadService
from engine.runtime.supervisor import Restart, Supervisor

MS = 1_000_000


def test_newest_keeps_only_the_last_value_and_counts_what_was_replaced() -> None:
    slot: Newest[int] = Newest()
    assert slot.peek() == (None, 0)
    slot.put(1)
    slot.put(2)
    assert slot.peek() == (2, 2)
    assert slot.replaced == 1
    assert slot.wait_newer(2, 0.01) == (2, 2)


def test_newest_wakes_a_waiter() -> None:
    slot: Newest[str] = Newest()
    threading.Timer(0.02, slot.put, ("new",)).start()
    assert slot.wait_newer(0, 2.0) == ("new", 1)


def test_a_late_turn_skips_to_the_newest_slot_and_stays_on_the_grid() -> None:
    schedule = Schedule(20.0, start_ns=0)
    assert schedule.begin(0).skipped == 0
    assert schedule.next_deadline_ns == 50 * MS
    turn = schedule.begin(212 * MS)  # 50, 100 and 150 have passed; 200 is the newest
    assert (turn.deadline_ns, turn.late_ns, turn.skipped) == (200 * MS, 12 * MS, 3)
    assert schedule.next_deadline_ns == 250 * MS
    assert (schedule.turns, schedule.skipped) == (2, 3)


def test_a_turn_begun_a_little_late_is_not_a_skip() -> None:
    schedule = Schedule(20.0, start_ns=0)
    schedule.begin(0)
    turn = schedule.begin(99 * MS)
    assert (turn.deadline_ns, turn.skipped) == (50 * MS, 0)


def test_a_grid_that_began_before_the_first_turn_counts_no_skips() -> None:
    schedule = Schedule(20.0, start_ns=0)
    turn = schedule.begin(3_004 * MS)
    assert (turn.deadline_ns, turn.late_ns, turn.skipped) == (3_000 * MS, 4 * MS, 0)
    assert schedule.next_deadline_ns == 3_050 * MS


@pytest.mark.parametrize("hz", [0.0, -1.0, 2000.0, float("nan")])
def test_impossible_rates_are_refused(hz: float) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        Schedule(hz, 0)


def test_a_pacer_does_not_drift_when_the_work_takes_time() -> None:
    pacer, stop = Pacer(50.0), threading.Event()
    began = time.monotonic()
    while pacer.schedule.turns + pacer.schedule.skipped < 25:
        pacer.wait(stop)
        time.sleep(0.005)
    assert 0.45 < time.monotonic() - began < 0.80  # a loop that sleeps after its work would need 0.63 s without load
    stop.set()
    assert pacer.wait(stop) is None


def test_a_stopped_loop_shows_no_old_rate() -> None:
    rate = Rate(window_s=5.0)
    for i in range(20):
        rate.mark(i * 50 * MS)
    assert rate.hz(19 * 50 * MS) == pytest.approx(20.0)
    assert rate.hz(19 * 50 * MS + 2_000 * MS) == 0.0


class Counting(ThreadService):
    def __init__(self, fail_times: int = 0) -> None:
        super().__init__("counting")
        self.runs, self._fail_times = 0, fail_times

    def run(self) -> None:
        self.runs += 1
        if self.runs <= self._fail_times:
            raise RuntimeError("the camera is unplugged")
        self.stopping.wait(10)


class Deaf(ThreadService):
    """Does not hear that it should stop."""

    def __init__(self) -> None:
        super().__init__("deaf")
        self.release = threading.Event()

    def run(self) -> None:
        self.release.wait(10)


class Forever(TaskService):
    async def run(self) -> None:
        await asyncio.sleep(100)


async def test_a_failed_service_says_why_and_is_started_again() -> None:
    supervisor, service = Supervisor(), Counting(fail_times=1)
    supervisor.add(service, Restart(limit=2, pause_s=0.0))
    supervisor.start("counting")
    while service.health().health != "failed":
        await asyncio.sleep(0.005)
    assert service.health().reason == "the camera is unplugged"
    supervisor.check()
    await asyncio.sleep(0.05)
    assert (service.runs, service.health().health) == (2, "running")
    assert await supervisor.stop("counting")
    assert service.health().health == "off"


async def test_restarts_end_at_their_limit() -> None:
    supervisor, service = Supervisor(), Counting(fail_times=99)
    supervisor.add(service, Restart(limit=2, pause_s=0.0))
    supervisor.start("counting")
    for _ in range(20):
        await asyncio.sleep(0.01)
        supervisor.check()
    assert service.runs == 3
    assert service.health().health == "failed"


async def test_what_would_not_stop_is_named() -> None:
    supervisor, deaf = Supervisor(), Deaf()
    supervisor.add(Forever("forever"))
    supervisor.add(deaf)
    supervisor.start("forever")
    supervisor.start("deaf")
    await asyncio.sleep(0.02)
    assert await supervisor.stop_all(0.2) == ["deaf"]
    deaf.release.set()
    assert await deaf.stopped(1.0)


async def test_a_waiting_service_shows_its_reason() -> None:
    service = Counting()
    service.start()
    service.reason = "window not in focus"
    assert service.health().health == "waiting"
    service.request_stop()
    assert await service.stopped(1.0)
