"""The recorder's queue: bounded, counted, and waited for only as far as what was put before."""

from __future__ import annotations

import threading
import time

import numpy as np

from data.schema import Frame, InputEvent
from engine.recorder_queue import QUEUE_ROWS, RecorderQueue, Remark


def test_pictures_are_bounded_by_bytes_and_rows_by_number() -> None:
    queue = RecorderQueue(limit_bytes=30_000)
    picture = Frame(0, 0, np.zeros((50, 100, 3), np.uint8))  # 15,000 bytes
    with queue.lock:
        taken = 0
        while queue.has_room(picture):
            queue.put(1, picture)
            taken += 1
    assert taken == 2
    assert queue.take(0.1) == (1, picture)
    row = InputEvent(0, "move")
    with queue.lock:
        assert queue.has_room(picture)
        for _ in range(QUEUE_ROWS):
            assert queue.has_room(row)
            queue.put(1, row)
        assert not queue.has_room(row)


def test_a_wait_ends_although_more_keeps_coming() -> None:
    queue = RecorderQueue()
    stop = threading.Event()

    def feed() -> None:
        while not stop.is_set():
            with queue.lock:
                queue.put(0, Remark("x"))
            time.sleep(0.001)

    def work() -> None:
        while not stop.is_set():
            if queue.take(0.05) is not None:
                time.sleep(0.002)  # slower than it comes: it is never idle again
            queue.done()

    threads = [threading.Thread(target=feed), threading.Thread(target=work)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.1)
        began = time.monotonic()
        assert queue.wait(5.0)
        assert time.monotonic() - began < 2.0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_wait_that_takes_too_long_says_so() -> None:
    queue = RecorderQueue()
    with queue.lock:
        queue.put(0, Remark("x"))
    assert not queue.wait(0.05)
    queue.take(0.1)
    assert not queue.wait(0.05)
    queue.done()
    assert queue.wait(0.05)
