"""Worker processes that leave nobody waiting: one that is killed is an error, and all end with the block that they are for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any


@contextmanager
def worker_processes(count: int, begin: Callable[..., object] | None = None, told: tuple[Any, ...] = ()) -> Generator[ProcessPoolExecutor]:
    """``count`` freshly started processes, each after ``begin(*told)``; terminated at the end of the block, however that is left.

    Raises RuntimeError when one of them was ended from outside: its work is lost, and would be waited for for ever.
    """
    before = {*active_children()}
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=begin, initargs=told)
    try:
        yield pool
    except BrokenProcessPool as error:
        raise RuntimeError("a worker process was ended from outside, perhaps for want of memory; try fewer at once") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in {*active_children()} - before:
            process.terminate()
