"""The pipe to the actuator, as each system has it: whole messages, in order, and never a wait."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import pytest

from engine.actuator.pipe import MOST_WAITING, AtomicPipe, Pipe, ThreadedPipe, open_pipe
from engine.actuator.protocol import Decoder, encode
from tests.support.x11 import wait_until


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


@pytest.mark.parametrize("make", [AtomicPipe, ThreadedPipe])
def test_a_reader_that_does_not_read_costs_messages_and_no_time(ends: tuple[int, int], make: Callable[[int], Pipe]) -> None:
    reader, writer = ends
    pipe = make(writer)
    messages = [{"op": "intent", "sequence": n, "padding": "x" * 2_000} for n in range(200)]
    began_s = time.monotonic()
    taken = [message for message in messages if pipe.write(encode(message))]
    assert time.monotonic() - began_s < 0.5
    assert 8 <= len(taken) < 200, "a full pipe refuses"
    decoder, got = Decoder(), []
    while len(got) < len(taken):
        got += decoder.feed(os.read(reader, 3_000))
    assert got == taken, "whole and in order"
    wait_until(lambda: pipe.write(encode({"op": "quit"})), 1, "there is room again")
    pipe.close()
    assert decoder.feed(os.read(reader, 3_000)) == [{"op": "quit"}]


@pytest.mark.parametrize("make", [AtomicPipe, ThreadedPipe])
def test_a_reader_that_is_gone_is_no_full_pipe(ends: tuple[int, int], make: Callable[[int], Pipe]) -> None:
    reader, writer = ends
    os.close(reader)
    pipe = make(writer)
    for _ in range(3 * MOST_WAITING):
        assert pipe.write(b"x")
        time.sleep(0.002)
    pipe.close()


def test_each_system_gets_the_pipe_that_it_can_have(ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_pipe(ends[1]), AtomicPipe)
    monkeypatch.setattr("sys.platform", "win32")
    pipe = open_pipe(ends[1])
    assert isinstance(pipe, ThreadedPipe)
    pipe.close()
